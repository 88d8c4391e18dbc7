import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { someCustomer, startTestService, type Reply, type TestService } from '../../tests/support/service.ts';
import { knownCaller } from './intake.ts';
import { eventually } from '../../tests/support/webhooks.ts';

let service: TestService;
let lock: pg.Client;

before(async () => {
  service = await startTestService({ settings: { SVC_MAX_EVENT_LOOP_DELAY_MS: '1000' } });
  lock = new pg.Client({ connectionString: service.companyUrls.connectionString });
  await lock.connect();
});
after(async () => {
  await lock.end();
  await service.stop();
});

interface Sent {
  readonly idempotencyKey: string;
  readonly body: Record<string, unknown>;
  readonly reply: Reply;
}

async function send(): Promise<Sent> {
  const [idempotencyKey, body] = [randomUUID(), someCustomer()];
  return { idempotencyKey, body, reply: await service.call('POST', '/v1/customers', { idempotencyKey, body }) };
}

const count = async (sql: string, values: readonly unknown[]): Promise<number> =>
  (await service.db.query<{ count: number }>(sql, values))[0]?.count ?? -1;

describe('more requests than the database takes', () => {
  let refused: Sent[];
  let served: Sent[];
  let known = 0;

  before(async () => {
    service.app.server.on(knownCaller, () => {
      known += 1;
    });
    await lock.query('BEGIN');
    await lock.query('LOCK TABLE customers IN ACCESS EXCLUSIVE MODE');
    let refusals = 0;
    const sent = Array.from({ length: 700 }, async () => {
      const one = await send();
      if (one.reply.status === 503) refusals += 1;
      return one;
    });
    // A burst waits for a second; then most of them are refused.
    try {
      await eventually('most are refused', async () => refusals > 300, 20_000);
    } finally {
      await lock.query('ROLLBACK');
    }
    const all = await Promise.all(sent);
    // On a slow machine, some that were let in wait too long for a connection to the database. They are not refused.
    const isRefusal = ({ reply }: Sent): boolean => reply.status === 503 && /busy/.test(reply.body.error.message);
    refused = all.filter(isRefusal);
    served = all.filter(({ reply }) => reply.status === 201);
    assert.deepEqual(new Set(all.map(({ reply }) => reply.status)), new Set([201, 503]));
  });

  test('are refused with 503 service_unavailable and Retry-After', () => {
    assert.ok(refused.length > 300, `${refused.length} were refused`);
    for (const { reply } of refused) {
      assert.equal(reply.body.error.code, 'service_unavailable');
      assert.equal(reply.headers.get('retry-after'), '1');
      assert.equal(reply.body.error.request_id, reply.headers.get('svc-request-id'));
      assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8');
    }
  });

  test('do not count their connections as those of strangers', () => {
    assert.ok(known > 0, 'no request was rejected early');
  });

  test('leave no trace when they are refused: no object, no key, no entry in a log', async () => {
    const emails = refused.map(({ body }) => body.email);
    assert.equal(await count('SELECT count(*) FROM customers WHERE email = ANY($1)', [emails]), 0);
    const keys = refused.map(({ idempotencyKey }) => idempotencyKey);
    assert.equal(await count('SELECT count(*) FROM idempotency_keys WHERE key = ANY($1)', [keys]), 0);
    const ids = refused.map(({ reply }) => reply.headers.get('svc-request-id'));
    assert.equal(await count('SELECT count(*) FROM requests WHERE request_id = ANY($1)', [ids]), 0);
    const lines = service.logLines.filter((line) => ids.some((id) => line.includes(String(id))));
    assert.deepEqual(lines, []);
    assert.ok(service.logLines.some((line) => line.includes('overloaded')));
  });

  test('succeed when they are repeated with the same key', async () => {
    for (const { idempotencyKey, body } of refused.slice(0, 20)) {
      const reply = await service.call('POST', '/v1/customers', { idempotencyKey, body });
      assert.equal(reply.status, 201);
      assert.equal(reply.headers.get('svc-idempotent-replayed'), null);
    }
  });

  test('are served as usual when they are let in', async () => {
    const ids = served.map(({ reply }) => reply.body.id);
    assert.equal(await count('SELECT count(*) FROM customers WHERE id = ANY($1)', [ids]), served.length);
  });

  test('show in the metrics', async () => {
    const text = await (await fetch(`${service.baseUrl}/metrics`)).text();
    const shown = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
    assert.equal(shown('svc_http_requests_refused_total'), refused.length);
    assert.equal(shown('svc_http_admission_running'), 0);
    assert.equal(shown('svc_http_admission_waiting'), 0);
    assert.ok(shown('svc_http_admission_limit') >= 16);
  });
});

describe('a client that does not wait after a 429', () => {
  test('is read again after a tenth of a second on the same connection, and others are not slowed down', async (context) => {
    const limited = await startTestService({ settings: { SVC_RATE_LIMIT_READ: '1/60' } });
    context.after(() => limited.stop());
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const get = (path: string, by = agent): Promise<{ status: number; ms: number }> =>
      new Promise((resolve, reject) => {
        const startedAtMs = performance.now();
        const headers = { authorization: `Bearer ${limited.key}` };
        httpRequest(limited.baseUrl + path, { agent: by, headers }, (response) => {
          response.resume();
          response.on('end', () => resolve({ status: response.statusCode ?? 0, ms: performance.now() - startedAtMs }));
        })
          .on('error', reject)
          .end();
      });
    assert.equal((await get('/v1/customers')).status, 200);
    const startedAtMs = performance.now();
    const answers = [await get('/v1/customers'), await get('/v1/customers'), await get('/v1/customers')];
    const elapsedMs = performance.now() - startedAtMs;
    assert.deepEqual(
      answers.map(({ status }) => status),
      [429, 429, 429],
    );
    // Together: a busy machine notices the first answer late, and the next one then seems to come sooner.
    assert.ok(elapsedMs >= 190, `the two that followed were read after ${elapsedMs} ms`);
    const other = new Agent();
    let least = Infinity;
    for (let round = 0; round < 5; round += 1) least = Math.min(least, (await get('/v1/products', other)).ms);
    const held = Math.max(...answers.slice(1).map(({ ms }) => ms));
    assert.ok(least < held, `another connection took ${least} ms, this one ${held} ms`);
    agent.destroy();
  });
});
