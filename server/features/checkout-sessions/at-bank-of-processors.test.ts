import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endCustomerTime, openTill, returnedWith, runBankJobs, type Till } from '../../../tests/support/bank.ts';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';

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
}
