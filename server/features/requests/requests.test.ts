import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { type Reply, someCustomer, startTestService, type TestService } from '../../../tests/support/service.ts';
import { eventually } from '../../../tests/support/webhooks.ts';
import { maintainRequestPartitions } from './jobs.ts';
import type { AnsweredRequest } from '../../http/observers.ts';
import { getRequest, listRequests, startRecorder } from './service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const rawCard = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '9876' };
const idOf = (reply: Reply): string => reply.headers.get('svc-request-id') ?? '';

/** The log is written a moment after the answer. */
const logged = (requestId: string): Promise<Record<string, any>> =>
  eventually('it is logged', async () => {
    const found = await service.call('GET', `/v1/requests/${requestId}`);
    return found.status === 200 && found.body;
  });

describe('a request is logged', () => {
  test('with who asked, what, and what came of it', async () => {
    const body = someCustomer({ email: 'logged@example.com' });
    const idempotencyKey = randomUUID();
    const reply = await service.call('POST', '/v1/customers', { body, idempotencyKey });
    const found = await logged(idOf(reply));
    assert.deepEqual(found.request_body, body);
    assert.deepEqual(found.response_body, reply.body);
    assert.equal(found.idempotency_key, idempotencyKey);
    assert.equal(found.actor.name, 'test');
    const { method, path, status, address, query, api_version } = found;
    assert.deepEqual(
      { method, path, status, address, query, api_version },
      {
        method: 'POST',
        path: '/v1/customers',
        status: 201,
        address: '127.0.0.1',
        query: null,
        api_version: '2026-02-11',
      },
    );
    assert.ok(found.duration_ms >= 0 && found.duration_ms < 60_000);
    assert.ok(Math.abs(Date.parse(found.created_at) - Date.now()) < 60_000);
  });

  test('also when it was refused: a field, a permission, an id, the key of an operation', async () => {
    const narrow = await service.createKey(service.company, { permissions: ['plans:read'] });
    const refused = [
      await service.call('POST', '/v1/customers', { body: { email: 'invalid' } }),
      await service.call('GET', '/v1/customers', { key: narrow }),
      await service.call('GET', `/v1/customers/${randomUUID()}`),
      await service.call('POST', '/v1/orders', { body: {} }),
    ];
    for (const reply of refused) {
      const found = await logged(idOf(reply));
      assert.deepEqual([found.status, found.response_body], [reply.status, reply.body]);
    }
  });

  test('but not one without a valid key, one that came too often, or a look at the log', async () => {
    const limited = await startTestService({ settings: { SVC_RATE_LIMIT_READ: '3/60' } });
    const count = async (): Promise<number> =>
      (await limited.db.query<{ count: number }>('SELECT count(*) FROM requests'))[0]?.count ?? 0;
    await limited.call('GET', '/v1/customers', { key: null });
    await limited.call('GET', '/v1/requests');
    const statuses: number[] = [];
    for (const _ of [1, 2, 3]) statuses.push((await limited.call('GET', '/v1/customers')).status);
    assert.deepEqual(statuses, [200, 200, 429]);
    await eventually('two are logged', async () => (await count()) === 2);
    await sleep(250);
    assert.equal(await count(), 2);
    await limited.stop();
  });

  test('unless the setting says off', async () => {
    const silent = await startTestService({ settings: { SVC_REQUEST_LOG: 'off' } });
    await silent.call('GET', '/v1/customers');
    await sleep(300);
    assert.deepEqual((await silent.call('GET', '/v1/requests')).body.data, []);
    await silent.stop();
  });

  test('before the service ends', async () => {
    const ending = await startTestService({ database: service.database });
    const reply = await ending.call('GET', '/v1/customers?limit=1');
    await ending.stop();
    const [row] = await service.db.query<{ query: string }>('SELECT query FROM requests WHERE request_id = $1', [
      idOf(reply),
    ]);
    assert.equal(row?.query, '{"limit":"1"}');
  });
});

describe('the log shows', () => {
  test('no card, no code, no key, no secret, wherever they were put', async () => {
    const [number, spaced] = ['4929123456781234', '4929 1234-5678 1234'];
    const { key } = await service.createMerchant();
    const bodies = [
      { customer_id: randomUUID(), card: { ...rawCard, number } },
      { [number]: 1, nested: [{ n: Number(number), text: `card ${spaced}, cvc: 4321` }] },
      { password: 'hunter-2-hunter', authorization: `Bearer ${key}`, note: `my key is ${key}`, cvc: 4321 },
      [spaced],
    ];
    const ids: string[] = [];
    for (const body of bodies) ids.push(idOf(await service.call('POST', '/capture', { body })));
    ids.push(idOf(await service.call('GET', `/v1/customers/%34${number.slice(1)}?q=${spaced.replaceAll(' ', '%20')}`)));
    const idempotencyKey = number;
    ids.push(idOf(await service.call('POST', '/v1/customers', { body: someCustomer(), idempotencyKey })));
    const url = 'https://receiver.example/hook';
    const endpoint = await service.call('POST', '/v1/webhook_endpoints', { body: { url, enabled_events: ['*'] } });
    ids.push(idOf(endpoint));
    const token = await service.call('POST', '/v1/card_tokens', { body: { card: rawCard } });
    ids.push(idOf(token));
    for (const id of ids) await logged(id);
    const [row] = await service.db.query<{ text: string }>(
      `SELECT string_agg(r::text, ' ') AS text FROM requests r WHERE request_id = ANY($1)`,
      [ids],
    );
    const text = row?.text ?? '';
    for (const secret of [number, spaced, rawCard.number, '4321', 'hunter', key.slice(-12), token.body.id]) {
      assert.ok(!text.includes(secret), secret);
    }
    assert.ok(!text.includes(endpoint.body.signing_secret.slice(6)));
    assert.match(text, /"password":"\*\*\*"|""password"":""\*\*\*""/);
  });

  test('ids as they are', async () => {
    // Twelve digits and more in a row, as a UUID may have by chance.
    const id = '01234567-8901-7234-8901-234567890123';
    const found = await logged(idOf(await service.call('GET', `/v1/customers/${id}`)));
    assert.equal(found.path, `/v1/customers/${id}`);
  });

  test('the beginning of what is too long, and of a file nothing', async () => {
    const long = { note: '🫖'.repeat(limits.requestBodyLength) };
    const found = await logged(idOf(await service.call('POST', '/v1/customers', { body: long })));
    assert.equal(typeof found.request_body, 'string');
    assert.ok(found.request_body.length <= limits.requestBodyLength);
    const product = randomUUID();
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const raw = '--x\r\ncontent-disposition: form-data; name="image"; filename="a"\r\n\r\nsecret bytes\r\n--x--\r\n';
    const uploaded = await service.call('POST', `/v1/products/${product}/images`, { raw, headers });
    assert.equal((await logged(idOf(uploaded))).request_body, null);
  });
});

describe('the list of requests', () => {
  test('is found by id, method, status, path and actor', async () => {
    const merchant = await service.createMerchant();
    const { key } = merchant;
    const made = await service.call('POST', '/v1/customers', { key, body: someCustomer() });
    await service.call('GET', '/v1/products', { key });
    await service.call('GET', `/v1/products/${randomUUID()}`, { key });
    const list = async (query: string): Promise<Record<string, any>[]> =>
      (await service.call('GET', `/v1/requests?${query}`, { key })).body.data;
    const [first] = await eventually('three are logged', async () => {
      const all = await list('');
      return all.length === 3 && all;
    });
    const found = {
      [`request_id=${idOf(made)}`]: ['POST 201'],
      'method=GET': ['GET 404', 'GET 200'],
      'status=4xx': ['GET 404'],
      'status=201': ['POST 201'],
      'path=/v1/products': ['GET 404', 'GET 200'],
      [`actor_id=${first?.actor.id}`]: ['GET 404', 'GET 200', 'POST 201'],
      [`actor_id=${randomUUID()}`]: [],
      'created_at[gt]=2100-01-01': [],
    };
    for (const [query, expected] of Object.entries(found)) {
      assert.deepEqual(
        (await list(query)).map(({ method, status }) => `${method} ${status}`),
        expected,
        query,
      );
    }
    assert.equal((await service.call('GET', '/v1/requests?status=often', { key })).status, 400);
    const context = { requestId: 'req_x', company: merchant.sandbox, nowMs: 0, db: service.db };
    const page = { limit: 2, sort: { field: 'created_at', descending: true }, cursor: null };
    assert.equal((await listRequests(context, {}, page)).hasMore, true);
    assert.equal((await getRequest(context, idOf(made))).status, 201);
  });

  test('needs the permission requests:read, which no older key has gained', async () => {
    const key = await service.createKey(service.company, { permissions: ['events:read'] });
    const reply = await service.call('GET', '/v1/requests', { key });
    assert.deepEqual([reply.status, reply.body.error.code], [403, 'insufficient_permissions']);
  });
});

const someRequest = (over: Partial<AnsweredRequest> = {}): AnsweredRequest => ({
  company: service.company,
  requestId: `req_${'a'.repeat(24)}`,
  method: 'GET',
  path: '/v1/customers',
  query: undefined,
  status: 200,
  durationMs: 1,
  actor: { kind: 'key', id: randomUUID(), name: 'test' },
  address: '127.0.0.1',
  apiVersion: null,
  idempotencyKey: null,
  requestBody: undefined,
  requestBeginning: null,
  responseBody: null,
  ...over,
});

describe('the recorder', () => {
  test('keeps the newest 5,000 when the database does not follow, and says how many are missing', async () => {
    const companyId = randomUUID();
    let dropped = 0;
    const onDropped = (count: number): void => {
      dropped += count;
    };
    const recorder = startRecorder({ shards: service.shards, clock: service.clock, log: silentLog, onDropped });
    await service.db.transaction(async (transaction) => {
      await transaction.query('LOCK TABLE requests');
      for (let number = 0; number < 6_000; number += 1)
        recorder.record(someRequest({ company: { ...service.company, id: companyId }, path: `/${number}` }));
    });
    assert.equal(dropped, 800);
    await recorder.stop();
    const [row] = await service.db.query(
      `SELECT count(*), max(substr(path, 2)::integer) AS newest FROM requests WHERE company_id = $1`,
      [companyId],
    );
    assert.deepEqual(row, { count: 5_200, newest: 5_999 });
  });

  test('loses a batch that the database rejects, and continues', async () => {
    let dropped = 0;
    const onDropped = (count: number): void => {
      dropped += count;
    };
    const recorder = startRecorder({ shards: service.shards, clock: service.clock, log: silentLog, onDropped });
    recorder.record(someRequest({ company: { ...service.company, id: 'nonsense' } }));
    await eventually('it is counted', async () => dropped === 1);
    recorder.record(someRequest({ path: '/v1/after\0wards' }));
    await recorder.stop();
    const rows = await service.db.query(`SELECT 1 FROM requests WHERE path = E'/v1/after\\uFFFDwards'`);
    assert.deepEqual([rows.length, dropped], [1, 1]);
  });
});

test('pieces are made for each day, and go after seven', async () => {
  await service.db.query(
    `CREATE TABLE requests_20200101 PARTITION OF requests FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')`,
  );
  await maintainRequestPartitions(service.db);
  const pieces = await service.db.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'requests'::regclass ORDER BY 1`,
  );
  const day = (ahead: number): string =>
    `requests_${new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')}`;
  assert.deepEqual(
    pieces.map(({ name }) => name),
    [day(0), day(1), day(2), day(3), 'requests_default'],
  );
});
