import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { bankFailpoints, type Failpoint } from '../server/platform/failpoints.ts';
import {
  atBank,
  bankCards,
  browser,
  continueTills,
  endCustomerTime,
  openTill,
  runBankJobs,
  switchAuthentication,
  type Till,
} from './support/bank.ts';
import { dieOf as dieByPage, endDoomed, launch, publicUrl } from './support/doomed.ts';
import { openShop, type Shop } from './support/orders.ts';
import { startTestService, type TestService } from './support/service.ts';

/**
 * A process dies at every named moment between the redirect to the bank and the return. A second one is on the same database:
 * the page asks it, and its worker goes on. Afterwards at most one order of the session is paid, and only one that the bank has
 * confirmed.
 */

let survivor: TestService;
let shop: Shop;
before(async () => {
  const limits = Object.fromEntries(
    ['CAPTURE', 'WRITE', 'READ', 'REFUSED_CARDS'].map((name) => [`SVC_RATE_LIMIT_${name}`, 'off']),
  );
  survivor = await startTestService({ settings: limits, baseUrl: publicUrl });
  await switchAuthentication(survivor);
  shop = await openShop(survivor);
});
after(async () => {
  endDoomed();
  await survivor.stop();
});

const dieOf = (failpoint: Failpoint, { token }: Till, path: string, body: object): Promise<void> =>
  dieByPage(survivor, failpoint, `/checkout/${token}/${path}`, body);

/** A worker that dies of the first customer at a bank whom it asks about. */
async function dieAsWorker(failpoint: Failpoint): Promise<void> {
  await survivor.db.query('UPDATE open_transactions SET customer_check_at = now() WHERE customer_step IS NOT NULL');
  const { child, exited } = await launch(survivor, failpoint, 'worker,api,vault');
  await exited;
  assert.equal(child.signalCode, 'SIGKILL');
}

/** As if the time had come: no process holds what is open, and what waits for no customer is looked up. */
async function recover(): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await survivor.db.query(
      `UPDATE open_transactions SET locked_until = now(), next_check_at = now(), valid_until = now() - interval '1 minute'
       WHERE customer_step IS NULL`,
    );
    await survivor.orders.reconcileDue(100);
    await runBankJobs(survivor);
  }
}

async function payment(till: Till, number: string): Promise<object> {
  const card = { number, exp_month: '12', exp_year: '2032', cvc: '999' };
  const made = await till.onPage('card_tokens', { card });
  const { attempt, total } = await till.session();
  return { attempt, total, card_token: made.body.id, customer: till.customer, browser };
}

async function asked(): Promise<{ till: Till; url: string }> {
  const till = await openTill(survivor, shop.productId);
  const { next_action } = await till.pay(bankCards.challenge);
  return { till, url: next_action.url };
}

/** What has to be true of every session. */
async function check(till: Till, ...expected: string[]): Promise<void> {
  const orders = await till.orders();
  assert.deepEqual(
    orders.map(({ status }) => status),
    expected,
  );
  assert.ok(expected.filter((status) => status === 'succeeded').length <= 1);
  for (const { transactions } of orders)
    assert.ok(transactions.filter(({ status }: { status: string }) => status === 'succeeded').length <= 1);
}

describe('a process dies while the customer is on the way', () => {
  it('after the bank wanted to ask, before it is recorded: the try ends, and the next one is paid', async () => {
    const till = await openTill(survivor, shop.productId);
    await dieOf('charge.after_processor', till, 'pay', await payment(till, bankCards.challenge));
    assert.equal((await till.session()).status, 'processing');
    await recover();
    assert.equal((await till.session()).status, 'open');
    assert.equal((await till.pay('4242424242424242')).status, 'completed');
    const orders = await till.orders();
    assert.deepEqual(
      orders.map(({ status, authentication_url }) => [status, authentication_url]),
      [
        ['failed', null],
        ['succeeded', null],
      ],
    );
  });

  it('before the charge is sent: nothing is charged without the bank, and there is one way to pay', async () => {
    const till = await openTill(survivor, shop.productId);
    await dieOf('charge.after_intent', till, 'pay', await payment(till, bankCards.challenge));
    await recover();
    const { status, failure } = await till.session();
    assert.deepEqual([status, failure.code], ['open', 'not_confirmed']);
    assert.deepEqual(
      (await till.orders()).map(({ authentication_url }) => authentication_url),
      [null],
    );
    await check(till, 'failed');
  });

  it('at bank.after_step: the page leads there again', async () => {
    const till = await openTill(survivor, shop.productId);
    await dieOf('bank.after_step', till, 'pay', await payment(till, bankCards.challenge));
    const { status, next_action } = await till.session();
    assert.equal(status, 'processing');
    await atBank(survivor, next_action.url, 'confirm');
    assert.equal((await till.resume()).status, 'completed');
    await check(till, 'succeeded');
  });

  for (const failpoint of ['bank.before_resume', 'bank.after_resume', 'bank.after_record'] as const) {
    it(`at ${failpoint}, when the customer comes back`, async () => {
      const { till, url } = await asked();
      await atBank(survivor, url, 'confirm');
      await dieOf(failpoint, till, 'resume', { returned: { returned: '0' } });
      assert.ok(['processing', 'completed'].includes((await till.resume()).status));
      await recover();
      assert.equal((await till.session()).status, 'completed');
      await check(till, 'succeeded');
    });

    it(`at ${failpoint}, when the worker asks after a closed browser`, async () => {
      const { till, url } = await asked();
      await atBank(survivor, url, 'confirm');
      await dieAsWorker(failpoint);
      await recover();
      await check(till, 'succeeded');
      assert.equal((await till.session()).status, 'completed');
    });

    it(`at ${failpoint}, and then the customer refuses or the time is over`, async () => {
      const { till, url } = await asked();
      if (failpoint === 'bank.after_record') await atBank(survivor, url, 'refuse');
      await dieOf(failpoint, till, 'resume', { returned: { returned: '0' } });
      await endCustomerTime(survivor);
      await recover();
      await check(till, 'failed');
      await atBank(survivor, url, 'confirm');
      await recover();
      await check(till, 'failed');
    });
  }

  for (const failpoint of ['bank.before_end', 'reconcile.after_lookup'] as const) {
    it(`at ${failpoint}, when the customer wants to pay otherwise`, async () => {
      const { till, url } = await asked();
      await dieOf(failpoint, till, 'abandon', { attempt: 0 });
      assert.equal((await till.session()).status, 'processing', 'until it is certain, nothing else can be paid');
      await recover();
      await continueTills(survivor);
      assert.equal((await till.session()).status, 'open');
      await atBank(survivor, url, 'confirm');
      assert.equal((await till.pay('4242424242424242')).status, 'completed');
      await check(till, 'failed', 'succeeded');
    });
  }

  it('every failpoint has a case', async () => {
    const here = ['bank.after_step', 'bank.before_resume', 'bank.after_resume', 'bank.after_record', 'bank.before_end'];
    assert.deepEqual([...bankFailpoints], here);
  });
});
