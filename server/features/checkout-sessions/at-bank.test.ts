import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  atBank,
  bankCards,
  browser,
  continueTills,
  endCustomerTime,
  openTill,
  returnedWith,
  runBankJobs,
  switchAuthentication,
  type Till,
  tillAt,
} from '../../../tests/support/bank.ts';
import { created, moveTo, openScene, ordersOf } from '../../../tests/support/billing.ts';
import { eventTypes, openShop, order, readOrder, retry, type Shop } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { advance } from '../../../tests/support/subscriptions.ts';
import { operationStatistics } from '../orders/service.ts';

/** Payments of a checkout page whose bank asks the customer. */

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService({
    settings: {
      SVC_RATE_LIMIT_CAPTURE: 'off',
      SVC_RATE_LIMIT_WRITE: 'off',
      SVC_RATE_LIMIT_READ: 'off',
      SVC_RATE_LIMIT_REFUSED_CARDS: 'off',
    },
  });
  await switchAuthentication(service);
  shop = await openShop(service);
});
after(() => service.stop());

const open = (): Promise<Till> => openTill(service, shop.productId);

/** A payment whose customer is at the bank. */
async function asked(number: string = bankCards.challenge): Promise<{ till: Till; url: string; orderId: string }> {
  const till = await open();
  const { status, next_action } = await till.pay(number);
  assert.equal(status, 'processing');
  assert.ok(next_action, 'the page is led to the bank');
  const [made] = await till.orders();
  return { till, url: next_action.url, orderId: String(made?.id) };
}

const bankPage = (url: string): URL => new URL(url.slice(new URL(url).origin.length), service.baseUrl);

const statesOf = async (till: Till): Promise<string[]> => (await till.orders()).map(({ status }) => status);
const openStateOf = async (orderId: string): Promise<string | undefined> => {
  const rows = await service.db.query<{ state: string }>('SELECT state FROM open_transactions WHERE order_id = $1', [
    orderId,
  ]);
  return rows[0]?.state;
};

describe('a payment that the bank wants to confirm', () => {
  it('leaves the order pending, says so, and is paid when the customer comes back', async () => {
    const { till, url, orderId } = await asked();
    const pending = await readOrder(service, orderId);
    assert.deepEqual(
      [pending.status, pending.transactions.map(({ status }: Reply['body']) => status)],
      ['pending', ['in_progress']],
    );
    const { next_action, status } = await till.read();
    assert.equal(status, 'open');
    assert.equal(next_action.type, 'confirm_with_bank');
    const leftMs = Date.parse(next_action.expires_at) - service.clock.nowMs();
    assert.ok(leftMs > 29 * 60_000 && leftMs <= 30 * 60_000, `${leftMs} ms are left`);
    const page = await fetch(bankPage(url));
    const html = await page.text();
    assert.equal(page.status, 200);
    assert.match(html, /Bank of the sandbox/);
    assert.match(html, /ends in 3315/);
    const back = await atBank(service, url, 'confirm');
    assert.equal(back.pathname, `/checkout/${till.token}`);
    const paid = await till.resume(returnedWith(back));
    assert.equal(paid.status, 'completed');
    assert.deepEqual(await statesOf(till), ['succeeded']);
    assert.deepEqual(await eventTypes(service, orderId), ['order.created', 'order.succeeded']);
    assert.deepEqual([(await till.read()).status, (await till.read()).next_action], ['completed', null]);
  });

  it('is paid once, however often and with any parameters the browser comes back', async () => {
    const { till, url, orderId } = await asked();
    const before = await till.resume({ returned: '0', redirect_status: 'succeeded', sandbox_bank: 'done' });
    assert.deepEqual([before.status, before.next_action.url], ['processing', url], 'a forged return pays nothing');
    await atBank(service, url, 'confirm');
    const back = await atBank(service, url, 'refuse');
    await Promise.all(Array.from({ length: 5 }, () => till.resume(returnedWith(back))));
    assert.equal((await till.resume()).status, 'completed');
    const { transactions, status } = await readOrder(service, orderId);
    assert.deepEqual([status, transactions.length], ['succeeded', 1]);
  });

  it('fails if the customer refuses, and the next payment is another order', async () => {
    const { till, url, orderId } = await asked();
    const refused = await till.resume(returnedWith(await atBank(service, url, 'refuse')));
    assert.deepEqual([refused.status, refused.attempt, refused.failure.code], ['open', 1, 'not_confirmed']);
    assert.match(refused.failure.message, /did not confirm/);
    const failed = await readOrder(service, orderId);
    assert.deepEqual([failed.status, failed.failure_code], ['failed', 'transaction_not_allowed']);
    assert.equal((await till.pay('4242424242424242')).status, 'completed');
    assert.deepEqual(await statesOf(till), ['failed', 'succeeded']);
  });

  it('is paid although the browser was closed at the bank', async () => {
    const { till, url, orderId } = await asked();
    await runBankJobs(service);
    assert.equal((await readOrder(service, orderId)).status, 'pending');
    await atBank(service, url, 'confirm');
    await runBankJobs(service);
    assert.equal((await readOrder(service, orderId)).status, 'succeeded');
    assert.equal((await till.session()).status, 'completed');
  });

  it('stays open while the bank is late, and is paid when it has decided', async () => {
    const { till, url, orderId } = await asked(bankCards.late);
    const back = returnedWith(await atBank(service, url, 'confirm'));
    assert.equal((await till.resume(back)).status, 'processing');
    await service.vaultDb.query(
      `UPDATE vault.sandbox_challenges SET answered_at = answered_at - interval '6 seconds' WHERE behaviour = 'late'`,
    );
    assert.equal((await till.resume(back)).status, 'completed');
    assert.equal((await readOrder(service, orderId)).status, 'succeeded');
  });

  it('is neither in doubt nor ended by recovery, reads or repeated requests', async () => {
    const { till, orderId } = await asked();
    await service.orders.reconcileDue(1_000);
    await service.orders.reconcile(service.company.id, orderId);
    await service.orders.probeConnections();
    await readOrder(service, orderId);
    await continueTills(service);
    assert.equal(await openStateOf(orderId), 'with_customer');
    assert.equal((await operationStatistics(service.db)).inDoubt, 0);
    assert.equal((await retry(service, orderId)).status, 400);
    assert.equal((await till.session()).status, 'processing');
  });

  it('ends after half an hour, at the processor first, and cannot be paid afterwards', async () => {
    const { till, url, orderId } = await asked();
    await endCustomerTime(service);
    const failed = await readOrder(service, orderId);
    assert.deepEqual([failed.status, failed.failure_code], ['failed', 'transaction_not_allowed']);
    assert.match(failed.failure_reason, /did not confirm/);
    const back = await atBank(service, url, 'confirm');
    const shown = await till.resume(returnedWith(back));
    assert.deepEqual([shown.status, shown.attempt], ['open', 1]);
    await runBankJobs(service);
    assert.deepEqual(await statesOf(till), ['failed']);
  });

  it('is paid if the bank confirmed it before the end, and no one came back', async () => {
    const { till, url } = await asked();
    await atBank(service, url, 'confirm');
    await endCustomerTime(service);
    assert.deepEqual(await statesOf(till), ['succeeded']);
    assert.equal((await till.session()).status, 'completed');
  });

  it('ends when the clock of the sandbox passes its time', async () => {
    const { till, orderId } = await asked(bankCards.abandoned);
    const early = await advance(service, { by: { minutes: 29 } });
    assert.equal(early.status, 200, early.text);
    assert.equal((await readOrder(service, orderId)).status, 'pending');
    const late = await advance(service, { by: { minutes: 2 } });
    assert.deepEqual(
      late.body.happened
        .filter(({ object_id }: Reply['body']) => object_id === orderId)
        .map((one: Reply['body']) => one.type),
      ['order.failed'],
    );
    await continueTills(service);
    assert.equal((await till.session()).status, 'open');
  });
});

describe('a customer who wants to pay otherwise', () => {
  it('ends the payment at the bank first, so that one order can be paid', async () => {
    const { till, url, orderId } = await asked();
    const shown = await till.abandon(0);
    assert.deepEqual([shown.status, shown.attempt], ['open', 1]);
    assert.equal((await readOrder(service, orderId)).status, 'failed');
    await atBank(service, url, 'confirm');
    assert.equal((await till.pay('4242424242424242')).status, 'completed');
    await till.resume();
    await runBankJobs(service);
    assert.deepEqual(await statesOf(till), ['failed', 'succeeded']);
  });

  it('is charged once if the bank has confirmed the payment meanwhile', async () => {
    const { till, url } = await asked();
    await atBank(service, url, 'confirm');
    assert.equal((await till.abandon(0)).status, 'completed');
    assert.deepEqual(await statesOf(till), ['succeeded']);
  });

  it('does not end a later payment with a page that was opened before', async () => {
    const { till } = await asked();
    await till.abandon(0);
    const again = await till.pay(bankCards.challenge);
    assert.equal(again.status, 'processing');
    assert.equal((await till.abandon(0)).status, 'processing');
    assert.deepEqual(await statesOf(till), ['failed', 'pending']);
  });

  it('is asked before the tab with the other card goes to the bank of the first', async () => {
    const till = await open();
    const card = { number: bankCards.challenge, exp_month: '12', exp_year: '2032', cvc: '999' };
    const tokens = [await till.onPage('card_tokens', { card }), await till.onPage('card_tokens', { card })];
    const first = await till.pay(bankCards.challenge, { card_token: tokens[0]?.body.id });
    assert.equal(first.next_action.is_own, true);
    const repeated = await till.pay(bankCards.challenge, { card_token: tokens[0]?.body.id });
    assert.deepEqual(repeated.next_action, first.next_action);
    const other = await till.pay(bankCards.challenge, { card_token: tokens[1]?.body.id });
    assert.deepEqual(other.next_action, { ...first.next_action, is_own: false });
    assert.deepEqual(await statesOf(till), ['pending']);
  });
});

describe('the bank of the sandbox', () => {
  it('authenticates without asking, or cannot be reached', async () => {
    const quick = await open();
    assert.equal((await quick.pay(bankCards.frictionless)).status, 'completed');
    const away = await open();
    const failed = await away.pay(bankCards.unavailable);
    assert.deepEqual([failed.status, failed.failure.code], ['open', 'issuer_unavailable']);
  });

  it('refuses with any answer of the customer, or never decides', async () => {
    const { till, url } = await asked(bankCards.refused);
    const refused = await till.resume(returnedWith(await atBank(service, url, 'confirm')));
    assert.equal(refused.failure.code, 'not_confirmed');
    const silent = await asked(bankCards.abandoned);
    const page = await fetch(bankPage(silent.url));
    assert.doesNotMatch(await page.text(), /id="confirm"/);
    assert.equal((await silent.till.resume()).status, 'processing');
  });

  it('pays nothing that it wants to confirm without the customer, and then only with a mandate', async () => {
    const absent = await openShop(service, bankCards.challenge);
    const declined = await order(service, absent);
    assert.deepEqual([declined.body.status, declined.body.failure_code], ['failed', 'transaction_not_allowed']);
    const again = await retry(service, declined.body.id);
    assert.equal(again.body.status, 'failed');
    const [charge] = await service.db.query<{ reference: string }>(
      'SELECT reference FROM transactions WHERE order_id = $1 LIMIT 1',
      [declined.body.id],
    );
    await service.vaultDb.query(
      `INSERT INTO vault.sandbox_challenges (company_id, reference, token, card_id, behaviour, state, amount, currency,
         last4, answered_at)
       SELECT company_id, uuidv7(), 'mandate', card_id, 'challenge', 'passed', 1, 'usd', '3315', now()
       FROM vault.sandbox_operations WHERE company_id = $1 AND reference = $2`,
      [service.company.id, charge?.reference],
    );
    assert.equal((await retry(service, declined.body.id)).body.status, 'succeeded');
  });

  it('asks nothing in a company that has not switched it on', async () => {
    await switchAuthentication(service, false);
    try {
      const till = await open();
      assert.equal((await till.pay(bankCards.challenge)).status, 'completed');
    } finally {
      await switchAuthentication(service);
    }
  });

  it('has no page for an unknown token', async () => {
    const { url } = await asked();
    const other = bankPage(url);
    other.pathname = other.pathname.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    assert.equal((await fetch(other)).status, 404);
  });

  it('leads nowhere but to pages of this service', async () => {
    const { url } = await asked();
    for (const target of ['https://evil.example/', 'http://service.test.evil.example/', 'javascript:alert(1)', '']) {
      const page = bankPage(url);
      page.searchParams.set('return', target);
      assert.equal((await fetch(page)).status, 404, target);
    }
  });
});

it('a payment link leads to the bank and back in the same way', async () => {
  const items = [{ product_id: shop.productId, quantity: 1 }];
  const link = await service.call('POST', '/v1/payment_links', { body: { mode: 'payment', items, name: 'Tea' } });
  assert.equal(link.status, 201, link.text);
  const visit = await fetch(service.baseUrl + new URL(link.body.url).pathname, { redirect: 'manual' });
  const token = visit.headers.get('location')?.split('/').at(-1) ?? '';
  const till = tillAt(service, '', token);
  const { next_action } = await till.pay(bankCards.challenge);
  const paid = await till.resume(returnedWith(await atBank(service, next_action.url, 'confirm')));
  assert.equal(paid.status, 'completed');
});

it('the customer page leads to the bank and back when a declined renewal is paid', async () => {
  const scene = await openScene(service, {}, bankCards.challenge);
  const { id, current_period_end } = await created(service, scene);
  await switchAuthentication(service);
  await moveTo(service, scene.key, new Date(Date.parse(current_period_end) + 60_000).toISOString());
  const link = await service.call('POST', '/v1/customer_sessions', {
    body: { customer_id: scene.customer_id },
    key: scene.key,
  });
  const page = `/customer/${link.body.url.split('/').at(-1)}`;
  const post = async (path: string, body: object): Promise<Reply['body']> => {
    const headers = { origin: service.baseUrl, 'user-agent': 'Mozilla/5.0 (test)' };
    const reply = await service.call('POST', `${page}/${path}`, { key: null, headers, body });
    assert.equal(reply.status, 200, reply.text);
    return reply.body.subscriptions[0];
  };
  const before = (await service.call('GET', `${page}/account`, { key: null })).body.subscriptions[0];
  assert.deepEqual([before.status, before.overdue.declines], ['past_due', 1]);
  const asked = await post(`subscriptions/${id}/pay`, { declines: 1, browser });
  assert.equal(asked.overdue.in_progress, true);
  const back = await atBank(service, asked.overdue.bank_url, 'confirm');
  assert.deepEqual([back.pathname, back.searchParams.get('returned')], [page, id]);
  const paid = await post(`subscriptions/${id}/resume`, { returned: returnedWith(back) });
  assert.deepEqual([paid.status, paid.overdue], ['active', null]);
  const again = await post(`subscriptions/${id}/resume`, { returned: returnedWith(back) });
  assert.equal(again.status, 'active');
  const orders = await ordersOf(service, scene);
  assert.deepEqual(
    orders.map(({ status }) => status),
    ['succeeded', 'succeeded'],
  );
  await moveTo(service, scene.key, new Date(Date.parse(paid.current_period_end) + 60_000).toISOString());
  assert.equal((await ordersOf(service, scene)).at(-1)?.status, 'succeeded', 'the card has a mandate now');
});
