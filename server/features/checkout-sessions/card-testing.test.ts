import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { signUp, type Person } from '../../../tests/support/dashboard.ts';
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

/** Counts payments of the company as declined, until so many more may be. */
function declineUntil(remaining: number): void {
  const limit = limits.declinedPaymentsOfCompany;
  const bucket = { key: `{${service.company.id}}:declined_payments:company`, limit };
  while (limiter.peek(bucket, nowMs).remaining > remaining) limiter.consume([bucket], nowMs);
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

  it('and a flood from one address leave the pages open for others', async () => {
    const flooded = await startTestService({
      clock,
      settings: { SVC_TRUST_PROXY: '127.0.0.1', SVC_RATE_LIMIT_GLOBAL: '1000/10' },
    });
    try {
      const items = [{ product_id: await createProduct(flooded, 100), quantity: 1 }];
      const { body } = await flooded.call('POST', '/v1/checkout_sessions', { body: { mode: 'payment', items } });
      const path = `/checkout/${body.url.split('/').at(-1)}/quote`;
      const ask = (address: string, token = path): Promise<Reply> =>
        flooded.call('POST', token, {
          key: null,
          headers: { origin: flooded.baseUrl, 'x-forwarded-for': address },
          body: {},
        });
      const { count } = limits.pageRequests.coupon_validation;
      const replies = await Promise.all(Array.from({ length: count + 20 }, () => ask('192.0.2.9')));
      assert.equal(replies.filter(({ status }) => status === 429).length, 20);
      const other = await flooded.call('POST', '/v1/checkout_sessions', { body: { mode: 'payment', items } });
      const otherPath = `/checkout/${other.body.url.split('/').at(-1)}/quote`;
      assert.equal((await ask('192.0.2.10', otherPath)).status, 200);
    } finally {
      await flooded.stop();
    }
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
