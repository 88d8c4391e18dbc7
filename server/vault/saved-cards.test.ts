import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { openCheckout } from '../../tests/support/checkout.ts';
import { connectTo } from '../../tests/support/connect.ts';
import { capture, openShop, order, type Shop } from '../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { type Simulator, startSimulator } from '../../tests/support/simulator.ts';
import { removeUnreferencedCards } from '../features/payment-methods/jobs.ts';
import { keepSaved } from './saved-card-queries.ts';
import { rewrapSavedCards } from './saved-cards.ts';

/** Cards of a live company that are saved at the simulated Stripe, and what the vault stores of that. */

const secretKey = 'sk_test_51NotARealKey00000000';
let stripe: Simulator;
let service: TestService;
let companyId: string;
let connectionId: string;
let key: string;
let shop: Shop;

const configuration = () => ({ secret_key: secretKey, api_url: stripe.url });

before(async () => {
  stripe = await startSimulator('stripe', secretKey, { 'request-life-ms': 200 });
  service = await startTestService({ settings: { SVC_PROCESSOR_ORIGINS: stripe.url } });
  const { live } = await service.createMerchant();
  companyId = live.id;
  connectionId = await connectTo(service, live.id, {
    kind: 'stripe',
    configuration: configuration(),
    timeoutMs: 1_000,
    requestLifeMs: 60_000,
    extraOrigins: [stripe.url],
  });
  key = await service.createKey({ ...live, processor: 'connected' });
  shop = await openShop(service, undefined, { key });
});
after(async () => {
  await Promise.all([stripe.stop(), service.stop()]);
});
beforeEach(() => stripe.control({ next: [], faults: {} }));

async function pay(paymentMethodId: string): Promise<void> {
  const { status, body, text } = await order(service, shop, { payment_method_id: paymentMethodId }, { key });
  assert.deepEqual([status, body.status], [201, 'succeeded'], text);
}

/** Returns the card. */
async function payOnPage(number: string): Promise<string> {
  const items = [{ product_id: shop.productId, quantity: 1 }];
  const checkout = await openCheckout(
    service,
    { mode: 'payment', items, customer_id: shop.customerId },
    { key, number },
  );
  const paid = await checkout.pay({ save_card: false });
  assert.equal(paid.body.status, 'completed', paid.text);
  return (await checkout.order()).payment_method.id;
}

async function savedAtStripe(): Promise<{ id: string; methods: string[] }[]> {
  return (await stripe.call('GET', '/customers')).customers as { id: string; methods: string[] }[];
}

interface Row {
  card_id: string;
  connection_id: string;
  key_version: number;
  sealed: Buffer;
}
const rows = (): Promise<Row[]> =>
  service.vaultDb.query<Row>('SELECT * FROM vault.saved_cards WHERE company_id = $1 ORDER BY card_id', [companyId]);

async function removeDeleted(): Promise<void> {
  await service.db.query('UPDATE unreferenced_cards SET due_at = now()');
  await removeUnreferencedCards(service.db, service.vault, 100);
}

async function deleteCard(id: string): Promise<void> {
  const body = { replacement_payment_method_id: shop.paymentMethodId };
  const reply = await service.call('DELETE', `/v1/customers/${shop.customerId}/payment_methods/${id}`, { key, body });
  assert.equal(reply.status, 200, reply.text);
}

describe('a card that a processor saves', () => {
  it('is stored sealed for its connection by its first order, and once', async () => {
    await pay(shop.paymentMethodId);
    await pay(shop.paymentMethodId);
    const [row, ...others] = await rows();
    assert.deepEqual([row?.connection_id, others], [connectionId, []]);
    const [customer, ...more] = await savedAtStripe();
    assert.deepEqual([customer?.methods.length, more], [1, []]);
    assert.ok(!row?.sealed.includes(String(customer?.id)), 'the row does not show the customer');
  });

  it('cannot be read with the row of another card', async () => {
    const other = await capture(service, shop.customerId, '4111111111111111', { key });
    await pay(other);
    const [one, two] = await rows();
    assert.ok(one && two);
    await service.vaultDb.query(
      `UPDATE vault.saved_cards s SET sealed = o.sealed, wrapped_key = o.wrapped_key FROM vault.saved_cards o
       WHERE s.card_id = $1 AND o.card_id = $2`,
      [two.card_id, one.card_id],
    );
    await pay(other);
    const { operations } = await stripe.call('GET', '/journal');
    assert.equal(operations.at(-1).last4, '1111', 'it is charged, and not the card of the other row');
    await service.vaultDb.query('DELETE FROM vault.saved_cards WHERE card_id = $1', [two.card_id]);
  });

  it('is not saved if the customer did not agree on the checkout page, until the merchant says so', async () => {
    const before = (await rows()).length;
    const visitor = await payOnPage('4000056655665556');
    assert.equal((await rows()).length, before);
    const path = `/v1/customers/${shop.customerId}/payment_methods/${visitor}`;
    const saved = await service.call('PATCH', path, { key, body: { set_as_default: false } });
    assert.equal(saved.status, 200, saved.text);
    await pay(visitor);
    assert.equal((await rows()).length, before + 1);
  });

  it('is removed from the vault at once, and from Stripe as soon as it confirms', async () => {
    const card = await capture(service, shop.customerId, '5555555555554444', { key });
    await pay(card);
    const saved = (await savedAtStripe()).length;
    await deleteCard(card);
    await stripe.control({ next: ['save_error'] });
    await removeDeleted();
    const left = await service.db.query<{ card_id: string }>('SELECT card_id FROM unreferenced_cards WHERE deleting');
    assert.equal(left.length, 1, 'the removal is repeated');
    const cards = await service.vaultDb.query('SELECT 1 FROM vault.cards WHERE id = $1', [left[0]?.card_id]);
    assert.deepEqual(cards, [], 'the number is gone');
    assert.equal((await savedAtStripe()).length, saved);
    // The answer is lost, or the vault dies before it has stored the confirmation.
    await stripe.control({ next: ['save_reset_after'] });
    await removeDeleted();
    assert.equal((await savedAtStripe()).length, saved - 1);
    await removeDeleted();
    assert.deepEqual(await service.db.query('SELECT 1 FROM unreferenced_cards WHERE deleting'), []);
    assert.ok((await rows()).every(({ card_id }) => card_id !== left[0]?.card_id));
  });

  it('is charged with rotated keys', async () => {
    const before = (await rows()).map(({ key_version }) => key_version);
    await service.keys.addKeys();
    await rewrapSavedCards(service.vaultDb, service.keys);
    const after = (await rows()).map(({ key_version }) => key_version);
    assert.deepEqual(
      after,
      before.map((version) => version + 1),
    );
    const saved = await savedAtStripe();
    await pay(shop.paymentMethodId);
    assert.deepEqual(await savedAtStripe(), saved);
  });

  it('is forgotten with the credentials of its connection', async () => {
    assert.ok((await rows()).length > 0);
    await service.vault.forget({ companyId, connectionId });
    assert.deepEqual(await rows(), []);
  });
});

it('a card that was deleted is not kept by a charge that is still under way', async () => {
  const sealed = { keyVersion: 1, wrappedKey: Buffer.alloc(1), sealed: Buffer.alloc(1) };
  const gone = { companyId, cardId: randomUUID(), connectionId, sealed };
  assert.equal(await keepSaved(service.vaultDb, gone), false);
});
