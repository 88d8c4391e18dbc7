import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, it } from 'node:test';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../tests/support/live-merchants.ts';
import { order, retry } from '../../tests/support/orders.ts';
import type { Reply } from '../../tests/support/service.ts';
import { somePlan } from '../../tests/support/subscriptions.ts';
import type { VaultCharge } from './vault.ts';

/** Processors get the IP address of a customer who is on a page, and of nothing else. */

const customer = '198.41.0.4';

let live: LiveService;
let merchant: ConnectedMerchant;
let charges: VaultCharge[] = [];

before(async () => {
  live = await startLiveService({ settings: { SVC_TRUST_PROXY: '127.0.0.1' } }, () => ({
    charge: (request) => {
      charges.push(request);
      return live.vault.charge(request);
    },
  }));
  merchant = await live.openMerchant('nmi');
});
after(() => live.stop());
beforeEach(() => {
  charges = [];
});

const call = (path: string, body: object): Promise<Reply> =>
  live.service.call('POST', path, { key: merchant.key, body, headers: { 'x-forwarded-for': customer } });

/** Pays a new session on its page, from this address. */
async function payFrom(address: string, session: object): Promise<void> {
  const made = await call('/v1/checkout_sessions', session);
  assert.equal(made.status, 201, made.text);
  const token = made.body.url.split('/').at(-1);
  const headers = { origin: live.service.baseUrl, 'x-forwarded-for': address };
  const onPage = (path: string, body?: object): Promise<Reply> =>
    live.service.call(body ? 'POST' : 'GET', `/checkout/${token}/${path}`, {
      key: null,
      headers,
      ...(body && { body }),
    });
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };
  const { body: shown } = await onPage('session');
  const { body: cardToken } = await onPage('card_tokens', { card });
  const person = { email: `${randomUUID()}@example.com`, first_name: 'Ada', last_name: 'Byron', phone: '+15550001111' };
  const { attempt, total } = shown;
  const paid = await onPage('pay', { attempt, total, card_token: cardToken.id, customer: person });
  assert.equal(paid.body.status, 'completed', paid.text);
}

const addresses = (): (string | undefined)[] => charges.map(({ customerIp }) => customerIp);
const cart = () => ({ mode: 'payment', items: [{ product_id: merchant.shop.productId, quantity: 1 }] });

it('a payment on a page has the address of the customer, if it is a public one', async () => {
  await payFrom(customer, cart());
  await payFrom('10.0.0.7', cart());
  assert.deepEqual(addresses(), [customer, undefined]);
});

it('the first payment of a subscription has it too', async () => {
  const plan = await somePlan(live.service, {}, merchant.company);
  await payFrom(customer, { mode: 'subscription', plan_id: plan.id });
  assert.deepEqual(addresses(), [customer]);
});

it('an order and a retry by the API have no address: it would be the one of the server of the merchant', async () => {
  await live.fakes.nmi.control({ next: ['decline:202'] });
  const placed = await order(
    live.service,
    merchant.shop,
    {},
    { key: merchant.key, headers: { 'x-forwarded-for': customer } },
  );
  assert.equal(placed.body.status, 'failed', placed.text);
  await retry(live.service, placed.body.id, { key: merchant.key, headers: { 'x-forwarded-for': customer } });
  assert.deepEqual(addresses(), [undefined, undefined]);
});
