import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  browser,
  endCustomerTime,
  openTill,
  returnedWith,
  runBankJobs,
  type Till,
} from '../../../tests/support/bank.ts';
import { type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';
import { openShop, type Shop } from '../../../tests/support/orders.ts';
import { connectMerchant, openAcquirer, type OwnAcquirer } from '../../../tests/support/own-acquirer.ts';
import { type Reply, someCustomer } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { waitUntil } from '../../../tests/support/embedded-postgres.ts';
import { continueSetups } from '../card-setups/jobs.ts';
import { applyDueNotices } from '../processors/notices.ts';
import { completeSetupSession } from './setup.ts';

/** Customers are led to the banks of cards at processors, through the whole service. */

let live: LiveService;
let acquirer: OwnAcquirer;
const kinds = ['stripe', 'adyen', 'acquirer'] as const;
type Kind = (typeof kinds)[number];
interface Merchant {
  readonly key: string;
  readonly shop: Shop;
}
const merchants = new Map<Kind, Merchant>();
const merchantOf = (kind: Kind): Merchant => merchants.get(kind) as Merchant;
before(async () => {
  acquirer = await openAcquirer();
  const limits = ['CAPTURE', 'WRITE', 'READ', 'REFUSED_CARDS'].map((name) => [`SVC_RATE_LIMIT_${name}`, 'off']);
  live = await startLiveService({ settings: Object.fromEntries(limits) });
  for (const kind of ['stripe', 'adyen'] as const) {
    const merchant = await live.openMerchant(kind);
    merchants.set(kind, merchant);
    const notice_url = `${live.service.baseUrl}/processors/${merchant.connections[0]}/notices`;
    if (kind === 'adyen') await live.fakes.adyen.control({ notice_url });
    await live.fakes[kind].control({ wants_authentication: true });
  }
  const { key } = await connectMerchant(live.service, acquirer);
  merchants.set('acquirer', { key, shop: await openShop(live.service, undefined, { key }) });
  await acquirer.control({ wants_authentication: true } as object);
});
after(async () => {
  await live.stop();
  await acquirer.stop();
});

async function answer(url: string, choice: string): Promise<URL | undefined> {
  const body = new URLSearchParams({ choice });
  const reply = await fetch(url, { method: 'POST', body, redirect: 'manual' });
  const location = reply.headers.get('location');
  return location ? new URL(location) : undefined;
}

for (const kind of kinds) {
  describe(`a payment that the bank wants to confirm at ${kind}`, () => {
    async function asked(): Promise<{ till: Till; url: string }> {
      const { key, shop } = merchantOf(kind);
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
  for (const where of ['a session', 'the customer page'] as const) {
    describe(`a card that is saved on ${where} at ${kind}`, () => conformanceOfSaving(kind, where));
  }
}

const call = (kind: Kind, method: string, path: string, body?: object): Promise<Reply> =>
  live.service.call(method, path, {
    key: merchantOf(kind).key,
    idempotencyKey: randomUUID(),
    ...(body && { body }),
  });

const pages = {
  'a session': {
    make: { path: '/v1/checkout_sessions', mode: 'setup' },
    at: '/checkout',
    part: 'setup/save',
    back: 'setup/resume',
  },
  'the customer page': { make: { path: '/v1/customer_sessions' }, at: '/customer', part: 'card', back: 'card/resume' },
} as const;

/** The customer has typed a card, and was led to the bank. */
async function saving(kind: Kind, where: keyof typeof pages) {
  const { id: customer_id } = (await call(kind, 'POST', '/v1/customers', someCustomer())).body;
  const { make, at, part, back } = pages[where];
  const { path, ...more } = make;
  const made = await call(kind, 'POST', path, { customer_id, ...more });
  assert.equal(made.status, 201, made.text);
  const headers = { origin: live.service.baseUrl, 'user-agent': 'Mozilla/5.0 (test)' };
  const onPage = (place: string, body: object): Promise<Reply> =>
    live.service.call('POST', `${at}/${made.body.url.split('/').at(-1)}/${place}`, { key: null, headers, body });
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2036', cvc: '999' };
  const { id: card_token } = (await onPage('card_tokens', { card })).body;
  const asked = await onPage(part, { card_token, browser });
  assert.equal(asked.status, 200, asked.text);
  const url: string = where === 'a session' ? asked.body.bank_url : asked.body.card_at_bank.bank_url;
  const cards = async (): Promise<Reply['body'][]> =>
    (await call(kind, 'GET', `/v1/customers/${customer_id}/payment_methods`)).body.data;
  return {
    ...{ customer_id, url, cards },
    resume: (returned: Record<string, string>) => onPage(back, { returned }),
    /** What is saved, each with a mandate; a session is completed with it. */
    async saved(): Promise<number> {
      const found = await cards();
      assert.ok(found.every(({ mandate }) => mandate !== null));
      if (where === 'the customer page') return found.length;
      const { status, payment_method_id } = (await call(kind, 'GET', `/v1/checkout_sessions/${made.body.id}`)).body;
      assert.deepEqual([status, payment_method_id], found[0] ? ['completed', found[0].id] : ['open', null]);
      return found.length;
    },
  };
}

/** The worker asks the processor about each card, or ends it because the customer's time is over. */
async function runSetups(isOver = false): Promise<void> {
  const until = isOver ? `now() - interval '1 s'` : 'customer_until';
  await live.service.db.query(`UPDATE card_setups SET check_at = now(), customer_until = ${until}`);
  const { db, clock, orders, vault, company } = live.service;
  await continueSetups({ db, clock, name: company.shard, orders, vault, log: silentLog }, completeSetupSession, 10);
}

/** Adyen tells those who did not come back in a notice only. */
async function deliver(kind: Kind): Promise<void> {
  if (kind !== 'adyen') return;
  const { db, vault, orders } = live.service;
  await waitUntil(async () => {
    await sleep(20);
    return (await live.fakes.adyen.call('GET', '/healthz')).undelivered === 0;
  }, 30_000);
  while ((await applyDueNotices({ db, vault, orders, log: silentLog }, 200)) > 0);
}

function conformanceOfSaving(kind: Kind, where: keyof typeof pages): void {
  it('is charged later without the customer, once the bank has confirmed it', async () => {
    const { url, resume, saved, cards, customer_id } = await saving(kind, where);
    const back = await answer(url, 'pass');
    assert.ok(back, 'the bank leads back');
    const returned = returnedWith(back);
    await Promise.all([resume(returned), resume(returned)]);
    assert.equal(await saved(), 1);
    const payment_method_id = (await cards())[0]?.id;
    // The bank wants to confirm every payment, and none of a merchant that it does not know.
    const items = [{ product_id: merchantOf(kind).shop.productId, quantity: 1 }];
    const order = await call(kind, 'POST', '/v1/orders', { customer_id, payment_method_id, items, off_session: true });
    assert.deepEqual([order.status, order.body.status], [201, 'succeeded'], order.text);
  });

  it('is saved, too, if the customer confirmed it and closed the browser', async () => {
    const { url, saved } = await saving(kind, where);
    // Some accounts ask the bank for the result without the customer.
    if (kind === 'adyen') await live.fakes.adyen.control({ completes_alone: true });
    await answer(url, 'pass_and_close');
    await deliver(kind);
    if (kind === 'adyen') await live.fakes.adyen.control({ completes_alone: false });
    await runSetups();
    assert.equal(await saved(), 1);
  });

  it('is saved, too, if the customer came back before the bank had decided', async () => {
    const { url, resume, saved } = await saving(kind, where);
    const back = await answer(url, 'pass_later');
    assert.ok(back);
    await resume(returnedWith(back));
    assert.equal(await saved(), 0);
    // So long the bank takes.
    await sleep(500);
    await deliver(kind);
    await runSetups();
    assert.equal(await saved(), 1);
  });

  it('is not saved if the customer went away, and ends at the processor when the time is over', async () => {
    const { url, resume, saved } = await saving(kind, where);
    assert.equal(await answer(url, 'close'), undefined);
    await runSetups();
    const open = () => live.service.db.query('SELECT 1 FROM card_setups');
    assert.notEqual((await open()).length, 0);
    await runSetups(true);
    assert.equal((await open()).length, 0);
    const late = await answer(url, 'pass');
    if (late) await resume(returnedWith(late));
    assert.equal(await saved(), 0);
  });

  it('is not saved if the bank refused it, or was never asked', async () => {
    const { url, resume, saved } = await saving(kind, where);
    const forged = await answer(url, 'forge');
    assert.ok(forged);
    await resume(returnedWith(forged));
    assert.equal(await saved(), 0);
    const back = await answer(url, 'fail');
    assert.ok(back);
    const refused = await resume(returnedWith(back));
    assert.deepEqual([refused.status, refused.body.error?.param], [400, 'card_token']);
    assert.equal(await saved(), 0);
  });

  if (kind !== 'adyen') return;
  it('is removed if the bank refused it after the customer had closed the browser', async () => {
    const { url, saved } = await saving(kind, where);
    await live.fakes.adyen.control({ completes_alone: true });
    await answer(url, 'fail');
    await deliver(kind);
    await live.fakes.adyen.control({ completes_alone: false });
    await runSetups();
    assert.equal(await saved(), 0);
    assert.equal((await live.service.db.query('SELECT 1 FROM card_setups WHERE noticed IS NOT NULL')).length, 0);
  });
}
