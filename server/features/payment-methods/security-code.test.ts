import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';
import { type LiveKind, liveKinds } from '../../../tests/support/live-processors.ts';
import { assertRefused, order } from '../../../tests/support/orders.ts';
import { type Reply, someCustomer, type TestService } from '../../../tests/support/service.ts';
import { arrangedAccount, newAccount } from '../../../simulators/adyen/state.ts';
import { eventually } from '../../../tests/support/webhooks.ts';

/**
 * A security code serves one message to the bank: the verification of the card, or its first charge if the caller said that it
 * follows. The simulators answer M for the code that they got, and N for a wrong one.
 */

let live: LiveService;
let service: TestService;

before(async () => {
  live = await startLiveService();
  ({ service } = live);
});
after(() => live.stop());

const wrongCodes: Readonly<Record<LiveKind, string>> = { stripe: '000', nmi: '999', adyen: '000' };
const card = (cvc = '123') => ({ number: '4242424242424242', exp_month: '12', exp_year: '2031', cvc });

/** Cleared again, because a simulator is shared by all tests. */
const arranged = { ...arrangedAccount, requires_cvv: false, rejected_cvv: '' };

async function setAccount(kind: LiveKind, settings: object): Promise<void> {
  const own = Object.entries({ ...arranged, ...settings }).filter(
    ([name]) => kind !== 'stripe' && Object.hasOwn(newAccount, name) === (kind === 'adyen'),
  );
  await live.fakes[kind].control(Object.fromEntries(own));
}

async function capture({ key }: ConnectedMerchant, body: object): Promise<{ customerId: string; reply: Reply }> {
  const { id: customerId } = (await service.call('POST', '/v1/customers', { key, body: someCustomer() })).body;
  const whole = { customer_id: customerId, ...body };
  return { customerId, reply: await service.call('POST', '/capture', { key, body: whole }) };
}

/** Captures a card, and pays with it as often as wanted. Returns the orders. */
async function paying(merchant: ConnectedMerchant, body: object, times: number): Promise<Reply['body'][]> {
  const { customerId, reply } = await capture(merchant, body);
  assert.equal(reply.status, 201, reply.text);
  const shop = { ...merchant.shop, customerId, paymentMethodId: reply.body.id };
  const orders: Reply['body'][] = [];
  for (let count = 0; count < times; count += 1) {
    const { key } = merchant;
    orders.push((await order(service, shop, {}, { key, idempotencyKey: randomUUID() })).body);
  }
  return orders;
}

async function cvvOf({ key }: ConnectedMerchant, paid: Reply['body'] | undefined): Promise<string | null> {
  const { body } = await service.call('GET', `/v1/transactions/${paid?.transactions.at(-1).id}`, { key });
  return body.processor_response?.cvv_result ?? null;
}

async function verificationOf({ companyId }: ConnectedMerchant): Promise<unknown> {
  const [row] = await service.vaultDb.query<{ verification: unknown }>(
    'SELECT verification FROM vault.cards WHERE company_id = $1 ORDER BY id DESC LIMIT 1',
    [companyId],
  );
  return row?.verification;
}

const attentionOf = async ({ owner, companyId }: ConnectedMerchant): Promise<string[]> =>
  (await owner.in('GET', '/dashboard/attention', undefined, { company: companyId })).body.data.map(
    ({ kind }: { kind: string }) => kind,
  );

for (const kind of liveKinds) {
  describe(`a security code of a card that is charged at ${kind}`, () => {
    it('is sent with the first charge if the caller announced it, and never again', async () => {
      const merchant = await live.openMerchant(kind);
      const orders = await paying(merchant, { card: card(), payment_follows: true }, 2);
      assert.deepEqual(
        orders.map(({ status }) => status),
        ['succeeded', 'succeeded'],
      );
      assert.equal(await verificationOf(merchant), null, 'the card was not verified');
      const [first, second] = orders;
      assert.equal(await cvvOf(merchant, first), 'M');
      assert.notEqual(await cvvOf(merchant, second), 'M');
    });

    it('is used up by the verification if no charge was announced', async () => {
      const merchant = await live.openMerchant(kind);
      const wrong = await paying(merchant, { card: card(wrongCodes[kind]) }, 1);
      assert.equal(wrong[0]?.status, 'succeeded', 'a charge with the wrong code would fail');
      assert.notEqual(await verificationOf(merchant), null);
    });

    it('is gone after a decline', async () => {
      const merchant = await live.openMerchant(kind);
      await live.fakes[kind].control({
        next: [{ stripe: 'decline:card_declined', nmi: 'decline:200', adyen: 'decline:2' }[kind]],
      });
      const [declined, paid] = await paying(merchant, { card: card(), payment_follows: true }, 2);
      assert.deepEqual([declined?.status, paid?.status], ['failed', 'succeeded']);
      assert.notEqual(await cvvOf(merchant, paid), 'M');
    });
  });
}

describe('a new account at Adyen', () => {
  it('refuses card numbers until it has the role for them, which is the configuration of the merchant', async () => {
    const merchant = await live.openMerchant('adyen');
    await setAccount('adyen', newAccount);
    const [failed] = await paying(merchant, { card: card(), payment_follows: true }, 1);
    await setAccount('adyen', {});
    assert.deepEqual([failed?.status, failed?.failure_code], ['failed', 'invalid_merchant_configuration']);
  });
});

const insisting = [
  ['adyen', { requires_cvc: true }],
  ['nmi', { requires_cvv: true }],
  ['nmi', { rejected_cvv: 'P' }],
] as const;

for (const [kind, settings] of insisting) {
  describe(`an account at ${kind} that insists on the security code (${JSON.stringify(settings)})`, () => {
    it('takes the charge that has it, and refuses the next one as a mistake in the configuration', async () => {
      const merchant = await live.openMerchant(kind);
      await setAccount(kind, settings);
      const [paid, failed] = await paying(merchant, { card: card(), payment_follows: true }, 2);
      await setAccount(kind, {});
      assert.equal(paid?.status, 'succeeded');
      assert.deepEqual([failed?.status, failed?.failure_code], ['failed', 'invalid_merchant_configuration']);
      assert.match(failed?.failure_reason, /requires the security code/);
    });

    it('is passed over for the next processor, and needs attention until a customer pays without a code', async () => {
      const merchant = await live.openMerchant(kind, 'stripe');
      await setAccount(kind, settings);
      const [paid] = await paying(merchant, { card: card() }, 1);
      await setAccount(kind, {});
      assert.equal(paid?.status, 'succeeded', 'at Stripe');
      await eventually('it needs attention', async () =>
        (await attentionOf(merchant)).includes('processors_wanting_codes'),
      );
      const { owner, companyId, connections } = merchant;
      const path = `/dashboard/processors/${connections[0]}`;
      const shown = (await owner.in('GET', path, undefined, { company: companyId })).body;
      assert.ok(shown.code_wanted_at !== null && shown.code_request.length > 0);
      const [again] = await paying(merchant, { card: card() }, 1);
      assert.equal(again?.status, 'succeeded');
      await eventually('it needs no attention', async () => (await attentionOf(merchant)).length === 0);
    });
  });
}

describe('the test of a connection', () => {
  it('says beforehand that an NMI account insists on the code, and that Adyen may', async () => {
    const adviceOf = async (kind: LiveKind): Promise<string | null> => {
      const { owner, companyId, connections } = await live.connectMerchant(kind);
      const path = `/dashboard/processors/${connections[0]}/test`;
      const { body, text } = await owner.in('POST', path, {}, { company: companyId });
      assert.equal(body.works, true, text);
      return body.advice;
    };
    assert.equal(await adviceOf('nmi'), null);
    await setAccount('nmi', { requires_cvv: true });
    assert.match((await adviceOf('nmi')) ?? '', /Require CVV/);
    await setAccount('nmi', {});
    assert.match((await adviceOf('adyen')) ?? '', /14_029/);
    assert.equal(await adviceOf('stripe'), null);
  });
});

describe('the field payment_follows', () => {
  it('is taken with a card token, whose card is then charged with its code', async () => {
    const merchant = await live.openMerchant('adyen');
    const { key, shop, company } = merchant;
    const pageKey = await service.createKey(company, { kind: 'publishable' });
    const body = { card: card(), payment_follows: true };
    const token = (await service.call('POST', '/v1/card_tokens', { key: pageKey, body })).body.id;
    const path = `/v1/customers/${shop.customerId}/payment_methods`;
    const method = (await service.call('POST', path, { key, body: { card_token: token } })).body.id;
    const paid = await order(service, { ...shop, paymentMethodId: method }, {}, { key, idempotencyKey: randomUUID() });
    assert.equal(await cvvOf(merchant, paid.body), 'M');
    assertRefused(
      await service.call('POST', '/v1/card_tokens', { key, body: { ...body, payment_follows: 'yes' } }),
      400,
      'validation_error',
    );
  });
});
