import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { signUp } from '../../tests/support/dashboard.ts';
import {
  type CallOptions,
  type Reply,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from '../../tests/support/service.ts';
import { generateKey } from '../features/api-keys/key-format.ts';
import { limits } from '../limits.ts';
import { newPageToken } from './page-token.ts';
import { costOf, newWork } from './work.ts';

// Nothing flows back while the tests run: one request returns every 1,000 seconds.
const limit = '900/900000';

let service: TestService;
let id: string;

before(async () => {
  service = await startTestService({
    settings: {
      SVC_RATE_LIMIT_GLOBAL: limit,
      SVC_RATE_LIMIT_READ: 'off',
      SVC_RATE_LIMIT_WRITE: 'off',
      SVC_TRUST_PROXY: '127.0.0.1',
    },
  });
  const heavy = { text: 'x'.repeat(limits.metadataBytes - 20) };
  const rows = Array.from({ length: 60 }, () =>
    service.call('POST', '/v1/customers', { body: someCustomer({ metadata: heavy }) }),
  );
  id = (await Promise.all(rows))[0]?.body.id ?? '';
});
after(() => service.stop());

/** What a request takes from the limit of its company, measured by two small requests around it. */
async function costTo(
  request: () => Promise<Reply>,
  headers: Record<string, string> = {},
  key?: null,
): Promise<number> {
  const remaining = async (): Promise<number> => {
    const reply = await service.call('GET', '/v1/sandbox/clock', { headers, ...(key === null && { key }) });
    return Number(reply.headers.get('ratelimit-remaining'));
  };
  const before = await remaining();
  await request();
  // The rest is taken when the answer is out.
  await new Promise((resolve) => setTimeout(resolve, 20));
  return before - (await remaining()) - 1;
}

const call =
  (method: string, path: string, options: CallOptions = {}): (() => Promise<Reply>) =>
  () =>
    service.call(method, path, options);

describe('a request of the usual size costs exactly 1', () => {
  const usual: Record<string, () => Promise<Reply>> = {
    'a list without parameters, of 10 rows with 16 KiB each': () => service.call('GET', '/v1/customers'),
    'a list of 25 rows': call('GET', '/v1/customers?limit=25&fields[customers]=email'),
    'a customer': () => service.call('GET', `/v1/customers/${id}`),
    'a new customer with as much metadata as there may be': () =>
      service.call('POST', '/v1/customers', { body: someCustomer({ metadata: { text: 'x'.repeat(16_000) } }) }),
    'a new product': () => service.call('POST', '/v1/products', { body: someProduct(), idempotencyKey: randomUUID() }),
    'an order of 25 items that is refused': () =>
      service.call('POST', '/v1/orders', {
        idempotencyKey: randomUUID(),
        body: {
          customer_id: randomUUID(),
          items: Array.from({ length: 25 }, () => ({ product_id: randomUUID(), quantity: 1 })),
        },
      }),
    'a body that is refused': call('POST', '/v1/customers', { body: { nmae: 'Ada' } }),
    'an unknown object': call('GET', `/v1/orders/${randomUUID()}`),
  };
  for (const [what, request] of Object.entries(usual)) {
    test(what, async () => assert.equal(await costTo(request), 1));
  }
});

describe('what makes more work costs more', () => {
  const body = (bytes: number): string => JSON.stringify({ first_name: 'x'.repeat(bytes - 17) });
  const costly: Record<string, [request: () => Promise<Reply>, cost: number]> = {
    'a list of 60 rows, 1 MB': [call('GET', '/v1/customers?limit=60'), 2 + 1 + 12],
    'a list of 60 short rows': [call('GET', '/v1/customers?limit=60&fields[customers]=email'), 3],
    'a search': [call('GET', '/v1/customers?q=nothing'), 10],
    'a body of 1 MiB that is refused': [call('POST', '/v1/customers', { raw: body(1024 * 1024) }), 61],
    'a body of 9,000 fields that is refused': [
      call('POST', '/v1/customers', {
        raw: JSON.stringify(Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`k${index}`, 1]))),
      }),
      1 + 2 + 17,
    ],
    'a body that is too large': [call('POST', '/v1/customers', { raw: body(5 * 1024 * 1024) }), 20],
  };
  for (const [what, [request, cost]] of Object.entries(costly)) {
    test(`${what}: ${cost}`, async () => assert.equal(await costTo(request), cost));
  }

  test('a filter that reads 2,900 rows', async () => {
    const { id: company } = service.company;
    await service.db.query(
      `INSERT INTO products (company_id, id, name, amount, currency, requires_shipping, sku, availability, metadata, active, updated_at)
       SELECT $1, uuidv7(), 'Cup', 1, 'usd', false, 'CUP' || n, 'in_stock', '{}', true, now() FROM generate_series(1, 2900) n`,
      [company],
    );
    const [{ count } = { count: 0 }] = await service.db.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM products WHERE company_id = $1',
      [company],
    );
    const cost = costOf({ ...newWork(), isSearch: true, scannedRows: count });
    assert.equal(cost, 10 + 8);
    assert.equal(await costTo(call('GET', '/v1/products?q=nothing')), cost);
  });

  test('a count and an export of the dashboard, like a search', async () => {
    const owner = await signUp(service);
    const remaining = async (): Promise<number> =>
      Number((await owner.in('GET', '/v1/sandbox/clock')).headers.get('ratelimit-remaining'));
    const requests = [
      () => owner.in('GET', '/dashboard/counts/orders'),
      () => owner.in('POST', '/dashboard/exports', { list: 'orders' }),
    ];
    for (const request of requests) {
      const before = await remaining();
      assert.ok((await request()).status < 300);
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal(before - (await remaining()) - 1, 10);
    }
  });

  test('a large page, for the address that asks for it', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.77' };
    const asked = async (): Promise<Reply> => service.call('GET', '/openapi.json', { headers, key: null });
    const { length } = (await asked()).text;
    assert.equal(await costTo(asked, headers, null), costOf({ ...newWork(), answerBytes: length }));
  });

  test('a body sent with a wrong key, for the address that sends it', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.78' };
    const raw = 'x'.repeat(5 * 1024 * 1024);
    assert.equal(await costTo(call('POST', '/v1/customers', { raw, key: 'wrong', headers }), headers, null), 20);
  });
});

test('a company that owes is refused until it has paid, and says so in its headers', async () => {
  const { key } = await service.createMerchant();
  const refuse = call('POST', '/v1/customers', {
    key,
    raw: JSON.stringify({ first_name: 'x'.repeat(1024 * 1024 - 17) }),
  });
  for (let sent = 0; sent < 15; sent += 1) {
    assert.equal((await refuse()).status, 400);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const reply = await service.call('GET', '/v1/customers', { key });
  assert.equal(reply.status, 429);
  assert.equal(reply.headers.get('ratelimit-remaining'), '0');
  assert.ok(Number(reply.headers.get('retry-after')) >= 1_000);
});

describe('what does not exist is looked up a hundred times a second at most, for all requests of an address', () => {
  const unknown: Record<string, (headers: Record<string, string>) => Promise<Reply>> = {
    'API keys': (headers) =>
      service.call('GET', '/v1/customers', { key: generateKey('sandbox', 'secret').text.reveal(), headers }),
    'links of pages': (headers) =>
      service.call('GET', `/checkout/${newPageToken(service.company.id)}/session`, { key: null, headers }),
  };
  for (const [index, [what, ask]] of Object.entries(unknown).entries()) {
    test(what, async () => {
      const headers = { 'x-forwarded-for': `203.0.113.${90 + index}` };
      const refused = async (): Promise<void> => assert.match(String((await ask(headers)).status), /401|404/);
      // Each of them delays the next by 10 ms. On a slow machine, it takes more of them to leave a delay.
      let leftMs = 0;
      for (let count = 40; leftMs < 60 && count <= 320; count *= 2) {
        const startMs = performance.now();
        await Promise.all(Array.from({ length: count }, refused));
        leftMs = count * 10 - (performance.now() - startMs) - 10;
      }
      const startMs = performance.now();
      await refused();
      const tookMs = performance.now() - startMs;
      assert.ok(tookMs >= leftMs, `${tookMs} ms instead of ${leftMs} ms`);
      assert.equal((await service.call('GET', '/v1/customers', { headers })).status, 200);
    });
  }
});
