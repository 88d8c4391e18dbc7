import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type Reply, someCustomer, startTestService, type TestService } from '../../tests/support/service.ts';
import { loadConfig } from '../config.ts';
import { createMemoryRateLimiter } from '../platform/rate-limiter/memory.ts';
import { rateLimitsOf, takeRequest } from './rate-limits.ts';

// Windows so long that nothing flows back while a test runs: one request returns every 100 seconds.
const secondsPerRequest = 100;
const reads = 4;
const writes = 3;
const inAll = 6;
const setting = (count: number): string => `${count}/${count * secondsPerRequest}`;

let service: TestService;

before(async () => {
  service = await startTestService({
    settings: {
      SVC_RATE_LIMIT_GLOBAL: setting(inAll),
      SVC_RATE_LIMIT_READ: setting(reads),
      SVC_RATE_LIMIT_WRITE: setting(writes),
      SVC_TRUST_PROXY: '127.0.0.1',
    },
  });
});
after(() => service.stop());

const freshKey = async (): Promise<string> => (await service.createMerchant()).key;
const read = (key: string): Promise<Reply> => service.call('GET', '/v1/customers', { key });
const write = (key: string): Promise<Reply> => service.call('POST', '/v1/customers', { key, body: someCustomer() });
const waitSeconds = (seconds: number): void => service.clock.advance(seconds * 1000);

async function statuses(count: number, request: () => Promise<Reply>): Promise<number[]> {
  const seen: number[] = [];
  for (let index = 0; index < count; index += 1) seen.push((await request()).status);
  return seen;
}

let addresses = 0;
function freshAddress(): Record<string, string> {
  addresses += 1;
  return { 'x-forwarded-for': `203.0.113.${addresses}` };
}

function rateHeaders(reply: Reply): (string | null)[] {
  return ['limit', 'remaining', 'reset', 'policy'].map((name) => reply.headers.get(`ratelimit-${name}`));
}

describe('limits of a company', () => {
  test('too many reads are 429 rate_limit_exceeded', async () => {
    const key = await freshKey();
    assert.deepEqual(await statuses(reads, () => read(key)), [200, 200, 200, 200]);
    const refused = await read(key);
    assert.equal(refused.status, 429);
    const { message, request_id, doc_url, ...rest } = refused.body.error;
    assert.deepEqual(rest, { type: 'rate_limit_error', code: 'rate_limit_exceeded', param: null, field_errors: [] });
    assert.ok(message.length > 0);
    assert.match(doc_url, /\/docs\/errors#rate_limit_exceeded$/);
    assert.equal(request_id, refused.headers.get('svc-request-id'));
  });

  test('too many writes are 429 rate_limit_exceeded, and reads go on', async () => {
    const key = await freshKey();
    assert.deepEqual(await statuses(writes, () => write(key)), [201, 201, 201]);
    const refused = await write(key);
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limit_exceeded']);
    assert.equal((await read(key)).status, 200);
  });

  test('too many requests in all are 429 global_rate_limit_exceeded', async () => {
    const key = await freshKey();
    await statuses(reads, () => read(key));
    await statuses(inAll - reads, () => write(key));
    const refused = await write(key);
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'global_rate_limit_exceeded']);
    assert.equal(refused.body.error.type, 'rate_limit_error');
  });

  test('a refused request takes nothing from the other limit', async () => {
    const key = await freshKey();
    await statuses(reads, () => read(key));
    assert.deepEqual(new Set(await statuses(10, () => read(key))), new Set([429]));
    assert.deepEqual(await statuses(inAll - reads, () => write(key)), [201, 201]);
  });

  test('companies do not share a budget, not even those of one merchant', async () => {
    const [first, second] = [await service.createMerchant(), await service.createMerchant()];
    assert.equal((await statuses(reads + 1, () => read(first.key))).at(-1), 429);
    assert.equal((await read(second.key)).status, 200);
    assert.equal((await read(await service.createKey(first.live))).status, 200);
  });

  test('the keys of a company share its budget', async () => {
    const { sandbox, key } = await service.createMerchant();
    const other = await service.createKey(sandbox);
    await statuses(reads, () => read(key));
    assert.equal((await read(other)).status, 429);
  });

  test('Retry-After says after how many seconds the next request is served', async () => {
    const key = await freshKey();
    await statuses(reads, () => read(key));
    const retryAfter = (await read(key)).headers.get('retry-after') ?? '';
    assert.match(retryAfter, /^[1-9]\d*$/);
    assert.ok(Number(retryAfter) <= secondsPerRequest);
    waitSeconds(Number(retryAfter) - 5);
    assert.equal((await read(key)).status, 429);
    waitSeconds(5);
    assert.equal((await read(key)).status, 200);
  });

  test('the whole budget is back after the window', async () => {
    const key = await freshKey();
    await statuses(reads + 1, () => read(key));
    waitSeconds(reads * secondsPerRequest);
    assert.deepEqual(await statuses(reads + 1, () => read(key)), [200, 200, 200, 200, 429]);
  });

  test('limits go by real time, not by the clock of the sandbox', async () => {
    const { sandbox, key } = await service.createMerchant();
    await statuses(reads, () => read(key));
    await service.db.query('UPDATE companies SET clock_offset_ms = $2 WHERE id = $1', [sandbox.id, 31_536_000_000]);
    assert.equal((await read(key)).status, 429);
  });

  test('a refused write does nothing, and its idempotency key can be sent again', async () => {
    const key = await freshKey();
    await statuses(writes, () => write(key));
    const options = { key, body: someCustomer(), idempotencyKey: randomUUID() };
    assert.equal((await service.call('POST', '/v1/customers', options)).status, 429);
    assert.equal((await read(key)).body.data.length, writes);
    waitSeconds(secondsPerRequest);
    const repeated = await service.call('POST', '/v1/customers', options);
    assert.deepEqual([repeated.status, repeated.headers.get('svc-idempotent-replayed')], [201, null]);
  });
});

describe('headers', () => {
  test('count down the limit that is closest to empty', async () => {
    const key = await freshKey();
    const seen = [];
    for (let index = 0; index <= reads; index += 1) seen.push(rateHeaders(await read(key)));
    assert.deepEqual(seen, [
      ['4', '3', '100', '4;w=400'],
      ['4', '2', '200', '4;w=400'],
      ['4', '1', '300', '4;w=400'],
      ['4', '0', '400', '4;w=400'],
      ['4', '0', '400', '4;w=400'],
    ]);
    assert.deepEqual(rateHeaders(await write(key)), ['6', '1', '500', '6;w=600']);
  });

  test('Retry-After comes with a 429 only', async () => {
    const key = await freshKey();
    assert.equal((await read(key)).headers.get('retry-after'), null);
    assert.equal((await service.call('GET', '/v1/customers?nonsense=1', { key })).headers.get('retry-after'), null);
  });

  const id = randomUUID();
  const key = (): Promise<string> => freshKey();
  const responses: [what: string, status: number, request: () => Promise<Reply>][] = [
    ['a read', 200, async () => read(await key())],
    ['a creation', 201, async () => write(await key())],
    ['a bad parameter', 400, async () => service.call('GET', '/v1/customers?nonsense=1', { key: await key() })],
    ['a body that is not JSON', 400, async () => service.call('POST', '/v1/customers', { key: await key(), raw: '{' })],
    [
      'a bad version',
      400,
      async () => service.call('GET', '/v1/customers', { key: await key(), headers: { 'svc-version': 'x' } }),
    ],
    [
      'a missing idempotency key',
      400,
      async () => service.call('POST', '/v1/products', { key: await key(), body: {} }),
    ],
    ['no key', 401, () => service.call('GET', '/v1/customers', { key: null, headers: freshAddress() })],
    ['a bad key', 401, () => service.call('GET', '/v1/customers', { key: 'x', headers: freshAddress() })],
    [
      'a missing permission',
      403,
      async () => {
        const restricted = await service.createKey(service.company, { permissions: ['products:read'] });
        return service.call('GET', '/v1/customers', { key: restricted, headers: freshAddress() });
      },
    ],
    ['an unknown object', 404, async () => service.call('GET', `/v1/customers/${id}`, { key: await key() })],
    ['an unknown path', 404, () => service.call('GET', '/v1/nothing', { headers: freshAddress() })],
    ['a wrong method', 405, () => service.call('PUT', '/v1/customers', { headers: freshAddress(), body: {} })],
    [
      'a body that is too large',
      413,
      async () => service.call('POST', '/v1/customers', { key: await key(), raw: Buffer.alloc(1024 * 1024 + 1, 32) }),
    ],
    ['a malformed URL', 400, () => service.call('GET', '/v1/customers/%E0%A4%A', { headers: freshAddress() })],
    ['an endless id', 404, () => service.call('GET', `/v1/customers/${'a'.repeat(200)}`, { headers: freshAddress() })],
  ];
  for (const [what, status, request] of responses) {
    test(`every response carries them: ${what}`, async () => {
      const reply = await request();
      assert.equal(reply.status, status, reply.text);
      const [limit, remaining, reset, policy] = rateHeaders(reply);
      for (const number of [limit, remaining, reset]) assert.match(number ?? 'missing', /^\d+$/);
      assert.match(policy ?? 'missing', /^\d+;w=\d+$/);
    });
  }
});

describe('requests without a company', () => {
  test('a flood of bad keys is limited by the address it comes from', async () => {
    const headers = freshAddress();
    const attempt = (): Promise<Reply> => service.call('GET', '/v1/customers', { key: 'guess', headers });
    assert.deepEqual(await statuses(inAll, attempt), [401, 401, 401, 401, 401, 401]);
    const refused = await attempt();
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'global_rate_limit_exceeded']);
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  });

  test('a flood of unknown paths is limited by the address it comes from', async () => {
    const headers = freshAddress();
    const attempt = (): Promise<Reply> => service.call('GET', `/${randomUUID()}`, { key: null, headers });
    assert.equal((await statuses(inAll + 1, attempt)).at(-1), 429);
  });

  test('a flood of malformed URLs is limited by the address it comes from', async () => {
    const headers = freshAddress();
    const attempt = (): Promise<Reply> => service.call('GET', '/%E0%A4%A', { key: null, headers });
    assert.equal((await statuses(inAll + 1, attempt)).at(-1), 429);
  });

  test('a flood neither touches other addresses nor a good key from the same address', async () => {
    const headers = freshAddress();
    await statuses(inAll + 1, () => service.call('GET', '/v1/customers', { key: 'guess', headers }));
    const elsewhere = await service.call('GET', '/v1/customers', { key: 'guess', headers: freshAddress() });
    assert.equal(elsewhere.status, 401);
    assert.equal((await service.call('GET', '/v1/customers', { key: await freshKey(), headers })).status, 200);
  });

  test('recover after the window', async () => {
    const headers = freshAddress();
    const attempt = (): Promise<Reply> => service.call('GET', '/v1/customers', { key: 'guess', headers });
    await statuses(inAll + 1, attempt);
    waitSeconds(secondsPerRequest);
    assert.deepEqual(await statuses(2, attempt), [401, 429]);
  });
});

describe('settings', () => {
  test('the defaults are those that are documented', () => {
    const per10Seconds = (count: number): object => ({ count, windowSeconds: 10 });
    assert.deepEqual(rateLimitsOf(loadConfig({})), {
      global: per10Seconds(1000),
      read: per10Seconds(800),
      write: per10Seconds(500),
      coupon_validation: per10Seconds(200),
      capture: per10Seconds(200),
    });
  });

  test('off means no limit and no headers', async () => {
    const unlimited = await startTestService({ database: service.database });
    try {
      const replies = await Promise.all(Array.from({ length: 50 }, () => unlimited.call('GET', '/v1/customers')));
      for (const reply of replies) {
        assert.equal(reply.status, 200);
        assert.deepEqual(rateHeaders(reply), [null, null, null, null]);
      }
    } finally {
      await unlimited.stop();
    }
  });

  test('a category that is off still counts for the limit of all requests', async () => {
    const limits = rateLimitsOf(loadConfig({ SVC_RATE_LIMIT_GLOBAL: '1/10', SVC_RATE_LIMIT_READ: 'off' }));
    const limiter = createMemoryRateLimiter();
    assert.equal((await takeRequest(limiter, limits, 'company', ['global', 'read'], 0)).refusal, undefined);
    const { refusal } = await takeRequest(limiter, limits, 'company', ['global', 'read'], 0);
    assert.equal(refusal?.code, 'global_rate_limit_exceeded');
  });
});

describe('categories that have their own code', () => {
  const refusalOf = async (category: 'coupon_validation' | 'capture') => {
    const limits = rateLimitsOf(
      loadConfig({ SVC_RATE_LIMIT_COUPON_VALIDATION: '1/10', SVC_RATE_LIMIT_CAPTURE: '1/10' }),
    );
    const limiter = createMemoryRateLimiter();
    await takeRequest(limiter, limits, 'company', ['global', category], 0);
    return (await takeRequest(limiter, limits, 'company', ['global', category], 0)).refusal;
  };

  test('too many coupon validations are 429 too_many_requests', async () => {
    const refusal = await refusalOf('coupon_validation');
    assert.deepEqual([refusal?.status, refusal?.code, refusal?.type], [429, 'too_many_requests', 'rate_limit_error']);
    assert.equal(refusal?.headers['Retry-After'], '10');
  });

  test('too many captures are 429 rate_limit_exceeded', async () => {
    const refusal = await refusalOf('capture');
    assert.deepEqual([refusal?.status, refusal?.code], [429, 'rate_limit_exceeded']);
  });
});
