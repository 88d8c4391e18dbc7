import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import {
  browser,
  endCustomerTime,
  openTill,
  returnedWith,
  runBankJobs,
  type Till,
} from '../../../tests/support/bank.ts';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';
import { type Reply, someCustomer } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { continueSetups } from '../card-setups/jobs.ts';
import { completeSetupSession } from './setup.ts';

/** Customers are led to the banks of cards at processors, through the whole service. */

let live: LiveService;
const kinds = ['stripe', 'adyen'] as const;
const merchants = new Map<string, ConnectedMerchant>();
before(async () => {
  const limits = ['CAPTURE', 'WRITE', 'READ', 'REFUSED_CARDS'].map((name) => [`SVC_RATE_LIMIT_${name}`, 'off']);
  live = await startLiveService({ settings: Object.fromEntries(limits) });
  for (const kind of kinds) {
    merchants.set(kind, await live.openMerchant(kind));
    await live.fakes[kind].control({ wants_authentication: true });
  }
});
after(() => live.stop());

async function answer(url: string, choice: string): Promise<URL | undefined> {
  const body = new URLSearchParams({ choice });
  const reply = await fetch(url, { method: 'POST', body, redirect: 'manual' });
  const location = reply.headers.get('location');
  return location ? new URL(location) : undefined;
}

for (const kind of kinds) {
  describe(`a payment that the bank wants to confirm at ${kind}`, () => {
    async function asked(): Promise<{ till: Till; url: string }> {
      const { key, shop } = merchants.get(kind) as ConnectedMerchant;
      const till = await openTill(live.service, shop.productId, {}, { key });
      const { status, next_action } = await till.pay('4242424242424242');
      assert.equal(status, 'processing');
      assert.ok(next_action, 'the page is led to the bank');
      return { till, url: next_action.url };
    }
    const statusesOf = async (till: Till): Promise<string[]> => (await till.orders()).map(({ status }) => status);

    it('is paid when the customer has confirmed it and comes back, once', async () => {
      const { till, url } = await asked();
      const back = await answer(url, 'pass');
      assert.ok(back, 'the bank leads back');
      const returned = returnedWith(back);
      await Promise.all([till.resume(returned), till.resume(returned)]);
      await runBankJobs(live.service);
      assert.equal((await till.session()).status, 'completed');
      assert.deepEqual(await statusesOf(till), ['succeeded']);
    });

    it('fails when the customer refuses, and is not paid by a forged return', async () => {
      const { till, url } = await asked();
      const forged = await answer(url, 'forge');
      assert.ok(forged);
      await till.resume(returnedWith(forged));
      assert.deepEqual(await statusesOf(till), ['pending']);
      const back = await answer(url, 'fail');
      assert.ok(back);
      await till.resume(returnedWith(back));
      await runBankJobs(live.service);
      assert.deepEqual(await statusesOf(till), ['failed']);
      assert.equal((await till.session()).status, 'open');
    });

    it('ends at the processor before another payment can begin', async () => {
      const { till, url } = await asked();
      await till.abandon(0);
      await endCustomerTime(live.service);
      assert.deepEqual(await statusesOf(till), ['failed']);
      const back = await answer(url, 'pass');
      if (back) await till.resume(returnedWith(back));
      await runBankJobs(live.service);
      assert.deepEqual(await statusesOf(till), ['failed']);
    });
  });
  describe(`a card that is saved at ${kind}`, () => {
    const call = (method: string, path: string, body?: object): Promise<Reply> =>
      live.service.call(method, path, {
        key: (merchants.get(kind) as ConnectedMerchant).key,
        idempotencyKey: randomUUID(),
        ...(body && { body }),
      });

    /** The customer has typed a card, and was led to the bank. */
    async function saving() {
      const { id: customer_id } = (await call('POST', '/v1/customers', someCustomer())).body;
      const made = await call('POST', '/v1/checkout_sessions', { mode: 'setup', customer_id });
      assert.equal(made.status, 201, made.text);
      const headers = { origin: live.service.baseUrl, 'user-agent': 'Mozilla/5.0 (test)' };
      const onPage = (path: string, body: object): Promise<Reply> => {
        const page = `/checkout/${made.body.url.split('/').at(-1)}`;
        return live.service.call('POST', `${page}/${path}`, { key: null, headers, body });
      };
      const card = { number: '4242424242424242', exp_month: '12', exp_year: '2036', cvc: '999' };
      const { id: card_token } = (await onPage('card_tokens', { card })).body;
      const asked = await onPage('setup/save', { card_token, browser });
      assert.deepEqual([asked.status, asked.body.status], [200, 'at_bank'], asked.text);
      return {
        customer_id,
        url: asked.body.bank_url as string,
        resume: (returned: Record<string, string>) => onPage('setup/resume', { returned }),
        session: async () => (await call('GET', `/v1/checkout_sessions/${made.body.id}`)).body,
        cards: async () => (await call('GET', `/v1/customers/${customer_id}/payment_methods`)).body.data,
      };
    }

    /** The bank wants to confirm every payment, and none of a merchant that it does not know. */
    async function chargeLater(customer_id: string, payment_method_id: string): Promise<void> {
      const { shop } = merchants.get(kind) as ConnectedMerchant;
      const items = [{ product_id: shop.productId, quantity: 1 }];
      const order = await call('POST', '/v1/orders', { customer_id, payment_method_id, items, off_session: true });
      assert.deepEqual([order.status, order.body.status], [201, 'succeeded'], order.text);
    }

    it('is charged later without the customer, once the bank has confirmed it', async () => {
      const { url, resume, session, cards, customer_id } = await saving();
      const back = await answer(url, 'pass');
      assert.ok(back, 'the bank leads back');
      const returned = returnedWith(back);
      await Promise.all([resume(returned), resume(returned)]);
      const { status, payment_method_id } = await session();
      assert.equal(status, 'completed');
      const [saved, ...others] = await cards();
      assert.ok(saved.mandate && saved.id === payment_method_id && others.length === 0);
      await chargeLater(customer_id, payment_method_id);
    });

    it('is saved, too, if the customer confirmed it and closed the browser', async () => {
      const { url, session, cards } = await saving();
      await answer(url, 'pass_and_close');
      await live.service.db.query('UPDATE card_setups SET check_at = now()');
      const { db, clock, orders, vault, company } = live.service;
      await continueSetups({ db, clock, name: company.shard, orders, vault, log: silentLog }, completeSetupSession, 10);
      const { status } = await session();
      const mandates = (await cards()).map(({ mandate }: { mandate: unknown }) => mandate !== null);
      // Adyen tells nothing about a check of a card to those who did not come back.
      assert.deepEqual([status, mandates], kind === 'adyen' ? ['open', []] : ['completed', [true]]);
    });

    it('is not saved if the bank refused it, or was never asked', async () => {
      const { url, resume, session, cards } = await saving();
      const forged = await answer(url, 'forge');
      assert.ok(forged);
      await resume(returnedWith(forged));
      assert.deepEqual([(await session()).status, await cards()], ['open', []]);
      const back = await answer(url, 'fail');
      assert.ok(back);
      const refused = await resume(returnedWith(back));
      assert.deepEqual([refused.status, refused.body.error?.param], [400, 'card_token']);
      assert.deepEqual([(await session()).status, await cards()], ['open', []]);
    });
  });
}
