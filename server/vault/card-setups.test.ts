import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { answerBank } from '../../tests/support/bank-page.ts';
import { connectTo } from '../../tests/support/connect.ts';
import { capture, openShop, order, type Shop } from '../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { type Simulator, startSimulator } from '../../tests/support/simulator.ts';
import type { VaultSetUp } from './card-setups.ts';
import { presence } from './processors/conformance-customers.ts';

/** Cards that a customer confirms with the bank when they are saved, at the simulated Stripe. */

const secretKey = 'sk_test_51NotARealKey00000000';
let stripe: Simulator;
let service: TestService;
let companyId: string;
let connectionId: string;
let key: string;
let shop: Shop;

before(async () => {
  stripe = await startSimulator('stripe', secretKey, { 'request-life-ms': 200 });
  service = await startTestService({ settings: { SVC_PROCESSOR_ORIGINS: stripe.url } });
  const { live } = await service.createMerchant();
  companyId = live.id;
  connectionId = await connectTo(service, live.id, {
    kind: 'stripe',
    configuration: { secret_key: secretKey, api_url: stripe.url },
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
beforeEach(() => stripe.control({ next: [], faults: {}, wants_authentication: true }));

async function newSetUp(paymentMethodId: string): Promise<VaultSetUp> {
  const [row] = await service.db.query<{ card_id: string; exp_month: number; exp_year: number }>(
    'SELECT card_id, exp_month, exp_year FROM payment_methods WHERE id = $1',
    [paymentMethodId],
  );
  assert.ok(row);
  return {
    ...{ companyId, mode: 'live', connectionId, reference: randomUUID(), validUntilMs: Date.now() + 60_000, presence },
    card: { cardId: row.card_id, expMonth: row.exp_month, expYear: row.exp_year },
  };
}

const savedTokens = (cardId: string) =>
  service.vaultDb.query('SELECT 1 FROM vault.saved_cards WHERE card_id = $1', [cardId]);

describe('a card that the customer confirms', () => {
  it('is saved at the processor, once, and charged by the merchant without the customer', async () => {
    const paymentMethodId = await capture(service, shop.customerId, '4000002500003155', { key });
    const request = await newSetUp(paymentMethodId);
    const asked = await service.vault.setUp(request);
    assert.ok(asked.outcome === 'needs_customer' && asked.action, inspect(asked));
    const again = await service.vault.setUp(request);
    assert.ok(again.outcome === 'needs_customer' && again.handle === asked.handle, inspect(again));
    const { presence: _, ...known } = request;
    const resumed = { ...known, handle: asked.handle };
    assert.equal((await service.vault.resumeSetUp(resumed)).outcome, 'needs_customer');
    const returned = (await answerBank(asked.action.url, 'pass')) ?? {};
    const found = await service.vault.resumeSetUp({ ...resumed, returned });
    assert.ok(found.outcome === 'set_up' && found.authentication?.status === 'authenticated', inspect(found));
    assert.equal((await savedTokens(request.card.cardId)).length, 1);
    await stripe.control({ wants_authentication: false });
    const paid = await order(service, shop, { payment_method_id: paymentMethodId }, { key });
    assert.deepEqual([paid.status, paid.body.status], [201, 'succeeded'], paid.text);
  });

  it('is given up, and stays a card without a confirmation', async () => {
    const paymentMethodId = await capture(service, shop.customerId, '4242424242424242', { key });
    const { presence: _, ...request } = await newSetUp(paymentMethodId);
    const asked = await service.vault.setUp({ ...request, presence });
    assert.ok(asked.outcome === 'needs_customer' && asked.action, inspect(asked));
    const known = { ...request, handle: asked.handle };
    assert.equal((await service.vault.endSetUp(known)).outcome, 'ended');
    await answerBank(asked.action.url, 'pass');
    assert.equal((await service.vault.resumeSetUp(known)).outcome, 'ended');
  });

  it('is not saved without its card, its connection, or an answer', async () => {
    const request = await newSetUp(shop.paymentMethodId);
    const gone = await service.vault.setUp({ ...request, card: { ...request.card, cardId: randomUUID() } });
    assert.equal(gone.outcome, 'not_sent', inspect(gone));
    const elsewhere = await service.vault.setUp({ ...request, connectionId: randomUUID() });
    assert.equal(elsewhere.outcome, 'not_sent', inspect(elsewhere));
    await stripe.control({ next: ['prepare_reset'] });
    const lost = await service.vault.setUp(request);
    assert.ok(['not_sent', 'unknown'].includes(lost.outcome), inspect(lost));
    assert.equal((await service.vault.setUp(request)).outcome, 'needs_customer');
  });
});
