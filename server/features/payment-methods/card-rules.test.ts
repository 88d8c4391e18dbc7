import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';
import { assertInvalid, assertRefused, createProduct } from '../../../tests/support/orders.ts';
import { type Reply, someCustomer, type TestService } from '../../../tests/support/service.ts';

/** A company can refuse new cards by what the processor answers when they are verified. */

let live: LiveService;
let service: TestService;

before(async () => {
  live = await startLiveService();
  ({ service } = live);
});
after(() => live.stop());

type Merchant = Omit<ConnectedMerchant, 'shop'> & { readonly pageKey: string; readonly customerId: string };

async function openMerchant(card_rules?: object): Promise<Merchant> {
  const merchant = await live.connectMerchant('nmi');
  const { company, companyId, owner, key } = merchant;
  if (card_rules) {
    const reply = await owner.in('PATCH', '/dashboard/company', { card_rules }, { company: companyId });
    assert.equal(reply.status, 200, reply.text);
  }
  const pageKey = await service.createKey(company, { kind: 'publishable' });
  const customerId = (await service.call('POST', '/v1/customers', { key, body: someCustomer() })).body.id;
  return { ...merchant, pageKey, customerId };
}

/** At NMI, the code 999 does not match, and the postal code 00000 neither. */
const card = (cvc = '123') => ({ number: '4242424242424242', exp_month: '12', exp_year: '2031', cvc });
const address = (postal_code: string) => ({ billing_details: { address: { line1: '1 Road', postal_code } } });

const capture = ({ key, customerId }: Merchant, body: object): Promise<Reply> =>
  service.call('POST', '/capture', { key, body: { customer_id: customerId, ...body } });

async function attach({ key, pageKey, customerId }: Merchant, body: object): Promise<Reply> {
  const token = await service.call('POST', '/v1/card_tokens', { key: pageKey, body });
  assert.equal(token.status, 201, 'a page does not learn the result');
  const path = `/v1/customers/${customerId}/payment_methods`;
  return service.call('POST', path, { key, body: { card_token: token.body.id } });
}

const checksOf = async ({ owner, companyId, customerId }: Merchant): Promise<Reply['body'][]> =>
  (await owner.in('GET', `/dashboard/customers/${customerId}/card_checks`, undefined, { company: companyId })).body
    .data;

const rules = { refuse_declined: true, refuse_wrong_cvc: true, refuse_wrong_address: true };

describe('a company without rules for cards', () => {
  it('takes cards whose code and address do not match, and shows it with the card', async () => {
    const merchant = await openMerchant();
    assert.equal((await capture(merchant, { card: card('999'), ...address('00000') })).status, 201);
    const [check] = await checksOf(merchant);
    assert.deepEqual([check?.outcome, check?.avs_result, check?.cvv_result], ['verified', 'N', 'N']);
  });
});

describe('a company that refuses cards', () => {
  it('refuses them at the capture, which counts as a rejected card, and keeps none', async () => {
    for (const [rule, body] of [
      [{ refuse_wrong_cvc: true }, { card: card('999'), ...address('12345') }],
      [{ refuse_wrong_address: true }, { card: card(), ...address('00000') }],
    ] as const) {
      const merchant = await openMerchant(rule);
      const refused = await capture(merchant, body);
      assertInvalid(refused, 'card');
      assert.doesNotMatch(refused.text, /declined|mismatch/);
      const path = `/v1/customers/${merchant.customerId}/payment_methods`;
      assert.equal((await service.call('GET', path, { key: merchant.key })).body.data.length, 0);
      assert.equal((await capture(merchant, { card: card(), ...address('12345') })).status, 201);
    }
  });

  it('refuses a card whose verification the bank declined, also if a payment was announced', async () => {
    const merchant = await openMerchant({ refuse_declined: true });
    await live.fakes.nmi.control({ next: ['decline:200'] });
    assertInvalid(await capture(merchant, { card: card(), payment_follows: true }), 'card');
  });

  it('verifies cards from pages too, and refuses their tokens when they are used', async () => {
    const merchant = await openMerchant(rules);
    for (let time = 0; time < 2; time += 1) {
      assertRefused(await attach(merchant, { card: card('999') }), 400, 'invalid_request', 'card_token');
    }
    assert.equal((await attach(merchant, { card: card(), ...address('12345') })).status, 201);
    const [check] = await checksOf(merchant);
    assert.deepEqual([check?.outcome, check?.cvv_result], ['verified', 'M']);
  });

  it('takes a card that could not be verified', async () => {
    const merchant = await openMerchant(rules);
    await live.fakes.nmi.control({ is_revoked: true });
    const taken = await capture(merchant, { card: card('999') });
    await live.fakes.nmi.control({ is_revoked: false });
    assert.equal(taken.status, 201);
    assert.deepEqual(await checksOf(merchant), []);
  });

  it('can change each rule by itself, and only in the dashboard', async () => {
    const { owner, companyId } = await openMerchant({ refuse_wrong_cvc: true });
    const inLive = (method: string, body?: object): Promise<Reply> =>
      owner.in(method, '/dashboard/company', body, { company: companyId });
    await inLive('PATCH', { card_rules: { refuse_declined: true } });
    assert.deepEqual((await inLive('GET')).body.card_rules, { ...rules, refuse_wrong_address: false });
    assertInvalid(await inLive('PATCH', { card_rules: { refuse_declined: 'yes' } }), 'card_rules.refuse_declined');
  });
});

describe('a checkout page of a company that refuses cards', () => {
  it('charges nothing, and takes the next card', async () => {
    const merchant = await openMerchant(rules);
    const { key, customerId } = merchant;
    const product = await createProduct(service, 900, { key });
    const session = (
      await service.call('POST', '/v1/checkout_sessions', {
        key,
        body: { mode: 'payment', customer_id: customerId, items: [{ product_id: product, quantity: 1 }] },
      })
    ).body;
    assert.ok(session.url, JSON.stringify(session));
    const path = new URL(session.url).pathname;
    const page = (name: string, body: object): Promise<Reply> =>
      service.call('POST', `${path}/${name}`, { key: null, headers: { origin: service.baseUrl }, body });
    const pay = async (cvc: string): Promise<Reply> => {
      const card_token = (await page('card_tokens', { card: card(cvc), ...address('12345') })).body.id;
      return page('pay', { attempt: 0, total: 900, card_token });
    };
    assertRefused(await pay('999'), 400, 'invalid_request', 'card_token');
    const paid = await pay('123');
    assert.equal(paid.body.status, 'completed', paid.text);
  });
});
