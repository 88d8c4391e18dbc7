import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { signUp, type Person } from '../../../tests/support/dashboard.ts';
import { someCoupon } from '../../../tests/support/coupons.ts';
import { createProduct } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { limits } from '../../limits.ts';
import { createMemoryRateLimiter } from '../../platform/rate-limiter/memory.ts';

/** Thieves who try cards on checkout pages, and the honest customers beside them. */

let service: TestService;
let product: string;
const limiter = createMemoryRateLimiter();
// Limits recover with time, and a busy machine takes long. So time stands still.
const nowMs = Date.now();
const clock = { nowMs: () => nowMs };
before(async () => {
  service = await startTestService({
    clock,
    limiter,
    settings: { SVC_TRUST_PROXY: '127.0.0.1', SVC_RATE_LIMIT_CAPTURE: 'off' },
  });
  product = await createProduct(service, 100);
});
after(() => service.stop());

const declined = '4000000000000002';

async function newPage(): Promise<string> {
  const items = [{ product_id: product, quantity: 1 }];
  const { body } = await service.call('POST', '/v1/checkout_sessions', { body: { mode: 'payment', items } });
  return body.url.split('/').at(-1);
}

async function pay(token: string, address: string, number: string, proof?: object): Promise<Reply> {
  const headers = { origin: service.baseUrl, 'x-forwarded-for': address };
  const ask = (path: string, body?: object): Promise<Reply> =>
    service.call(body ? 'POST' : 'GET', `/checkout/${token}/${path}`, { key: null, headers, ...(body && { body }) });
  const card = { number, exp_month: '12', exp_year: '2032', cvc: '999' };
  const { body: session } = await ask('session');
  const cardToken = (await ask('card_tokens', { card })).body.id;
  const phone = `+1555${String(Math.floor(Math.random() * 1e7)).padStart(7, '0')}`;
  const customer = { email: `${randomUUID()}@example.com`, first_name: 'Ada', last_name: 'Lovelace', phone };
  return ask('pay', {
    attempt: session.attempt,
    total: session.total,
    card_token: cardToken,
    customer,
    ...(proof && { proof }),
  });
}

function solve({ challenge, difficulty }: { challenge: string; difficulty: number }): object {
  for (let answer = 0; ; answer += 1) {
    const hash = createHash('sha256').update(`${challenge}.${answer}`).digest();
    if (hash.readUInt32BE(0) >>> (32 - difficulty) === 0) return { challenge, answer: String(answer) };
  }
}

/** Counts payments of the company as declined, until only this number more may be. */
function declineUntil(remaining: number): void {
  const limit = limits.declinedPaymentsOfCompany;
  const bucket = { key: `{${service.company.id}}:declined_payments:company`, limit };
  for (;;) {
    const [decision] = limiter.consume([bucket], nowMs);
    if (!decision || decision.remaining <= remaining) return;
  }
}

async function failedOrders(): Promise<number> {
  const [row] = await service.db.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM orders WHERE company_id = $1 AND status = 'failed'`,
    [service.company.id],
  );
  return row?.count ?? 0;
}

const cardTesting = async (person: Person): Promise<Reply['body']> =>
  (await person.in('GET', '/dashboard/card_testing')).body;

describe('card testing on checkout pages', () => {
  it('is stopped for one address, and for no other', async () => {
    const token = await newPage();
    for (let count = 0; count < limits.declinedPayments.count; count += 1) {
      assert.equal((await pay(token, '192.0.2.1', declined)).status, 200);
    }
    const stopped = await pay(await newPage(), '192.0.2.1', '4242424242424242');
    assert.deepEqual([stopped.status, stopped.body.error.code], [429, 'too_many_requests']);
    assert.ok(Number(stopped.headers.get('retry-after')) > 0);
    assert.equal((await pay(await newPage(), '192.0.2.2', '4242424242424242')).body.status, 'completed');
  });

  it('with 45 payments at once from one address reaches the bank 10 times', async () => {
    const pages = await Promise.all(Array.from({ length: 45 }, () => newPage()));
    const before = await failedOrders();
    const replies = await Promise.all(pages.map((token) => pay(token, '192.0.2.3', declined)));
    const stopped = replies.filter(({ status }) => status === 429);
    assert.equal(stopped.length, 35);
    for (const { body } of stopped) assert.match(body.error.message, /were declined/);
    const paid = replies.filter(({ status }) => status === 200);
    assert.ok(paid.every(({ body }) => body.attempt === 1 && body.failure));
    assert.equal((await failedOrders()) - before, 10);
  });

  it('is not confused with 50 customers of one office who pay at once', async () => {
    const pages = await Promise.all(Array.from({ length: 50 }, () => newPage()));
    // On a slow machine those before them may take so long that the last ones have to try again.
    const payPatiently = async (token: string): ReturnType<typeof pay> => {
      const reply = await pay(token, '192.0.2.4', '4242424242424242');
      return reply.text.includes('still in progress') ? payPatiently(token) : reply;
    };
    const replies = await Promise.all(pages.map(payPatiently));
    assert.deepEqual([...new Set(replies.map(({ body }) => body.status))], ['completed']);
    // What succeeded does not count: as many may be declined as before.
    const token = await newPage();
    for (let count = 0; count < limits.declinedPayments.count; count += 1) {
      assert.equal((await pay(token, '192.0.2.4', declined)).status, 200);
    }
    assert.equal((await pay(await newPage(), '192.0.2.4', declined)).status, 429);
  });

  it('from many addresses makes the pages of the company ask for a proof of work', async () => {
    // All but the last of the declined payments that the company may have.
    declineUntil(1);
    await pay(await newPage(), '198.51.100.1', declined);
    const token = await newPage();
    const refused = await pay(token, '203.0.113.7', '4242424242424242');
    assert.deepEqual([refused.status, refused.body.status, refused.body.attempt], [200, 'open', 0]);
    const { proof } = refused.body;
    assert.ok(proof.difficulty > 10);
    const wrong = await pay(token, '203.0.113.7', '4242424242424242', { challenge: proof.challenge, answer: 'x' });
    assert.equal(wrong.body.status, 'open');
    const solved = solve(proof);
    const paid = await pay(token, '203.0.113.7', '4242424242424242', solved);
    assert.equal(paid.body.status, 'completed', paid.text);
    const other = await pay(await newPage(), '203.0.113.7', '4242424242424242', solved);
    assert.equal(other.body.status, 'open', 'a proof is for one payment');
  });

  it('is shown to the merchant', async () => {
    const person = await signUp(service);
    const calm = await cardTesting(person);
    assert.deepEqual([calm.under_attack, calm.declined], [false, 0]);
    const companyId = person.companies.find(({ mode }) => mode === 'sandbox')?.id;
    await service.db.query('UPDATE card_testing SET company_id = $1', [companyId]);
    const attacked = await cardTesting(person);
    assert.deepEqual([attacked.under_attack, attacked.declined > 0], [true, true]);
  });
});

describe('where requests are limited', () => {
  let flooded: TestService;
  let goods: string;
  before(async () => {
    const settings = { SVC_TRUST_PROXY: '127.0.0.1', SVC_RATE_LIMIT_GLOBAL: '1000/10' };
    flooded = await startTestService({ clock, settings });
    goods = await createProduct(flooded, 100);
  });
  after(() => flooded.stop());

  async function openPage(): Promise<string> {
    const body = { mode: 'payment', items: [{ product_id: goods, quantity: 1 }], allow_coupons: true };
    const { body: session } = await flooded.call('POST', '/v1/checkout_sessions', { body });
    return `/checkout/${session.url.split('/').at(-1)}`;
  }

  const ask = (address: string, path: string, body: object = {}): Promise<Reply> =>
    flooded.call('POST', path, {
      key: null,
      headers: { origin: flooded.baseUrl, 'x-forwarded-for': address },
      body,
    });

  const { count } = limits.pageRequests.coupon_validation;

  it('a flood from one address leaves the pages open for others', async () => {
    const path = await openPage();
    const replies = await Promise.all(Array.from({ length: count + 20 }, () => ask('192.0.2.9', `${path}/quote`)));
    assert.equal(replies.filter(({ status }) => status === 429).length, 20);
    assert.equal((await ask('192.0.2.10', `${await openPage()}/quote`)).status, 200);
  });

  it('codes that are guessed by paying and by asking for the price count together', async () => {
    const path = await openPage();
    const customer = { email: 'eve@example.com', first_name: 'Eve', last_name: 'Lo', phone: '+15555550100' };
    const payment = { attempt: 0, total: 0, card_token: 'cct_none', customer };
    const guess = (index: number): Promise<Reply> =>
      index % 3 === 0
        ? ask('192.0.2.11', `${path}/pay`, { ...payment, coupon_code: `GUESS${index}` })
        : ask('192.0.2.11', `${path}/quote`, { coupon_code: `GUESS${index}` });
    const replies = await Promise.all(Array.from({ length: count + 30 }, (_, index) => guess(index)));
    const wrong = replies.filter(({ body }) => body.error?.param === 'coupon_code');
    assert.deepEqual([wrong.length, replies.filter(({ status }) => status === 429).length], [count, 30]);
  });

  it('a code that is right does not count, nor does a payment without one', async () => {
    const { code } = await someCoupon(flooded);
    const path = await openPage();
    const customer = { email: 'ann@example.com', first_name: 'Ann', last_name: 'Lo', phone: '+15555550101' };
    const payment = { attempt: 0, total: 0, card_token: 'cct_none', customer };
    for (let index = 0; index < 20; index += 1) {
      const right = await ask('192.0.2.12', `${path}/pay`, { ...payment, coupon_code: code });
      assert.deepEqual([right.body.notice, right.body.total], ['total_changed', 90], right.text);
      assert.equal((await ask('192.0.2.12', `${path}/pay`, payment)).status, 200);
    }
    const replies = await Promise.all(
      Array.from({ length: count + 1 }, () => ask('192.0.2.12', `${path}/quote`, { coupon_code: 'WRONG' })),
    );
    assert.equal(replies.filter(({ status }) => status === 429).length, 1);
  });
});
