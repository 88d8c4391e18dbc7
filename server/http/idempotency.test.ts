import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { ServiceProcess } from '../../tests/support/process.ts';
import { planOf } from '../../tests/support/plans.ts';
import { raceRounds } from '../../tests/support/random.ts';
import {
  type CallOptions,
  type Merchant,
  type Reply,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from '../../tests/support/service.ts';
import { type KeyedRequest, reapIdempotencyKeys } from './key-queries.ts';
import { hashFields, runOnce } from './idempotency.ts';
import type { definePhased } from './route.ts';
import { Secret } from '../platform/secret.ts';
import { originalKeys, type ServiceKey } from '../platform/service-keys.ts';

const header = 'x-svc-idempotency-key';
const hourMs = 3_600_000;

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

function assertRefused(reply: Reply, status: number, code: string): void {
  assert.deepEqual([reply.status, reply.body.error?.code], [status, code], reply.text);
}

function assertExecuted(reply: Reply, status: number): void {
  assert.equal(reply.status, status, reply.text);
  assert.equal(reply.headers.get('svc-idempotent-replayed'), null);
}

function assertReplayOf(first: Reply, again: Reply): void {
  assert.deepEqual([again.status, again.text], [first.status, first.text]);
  assert.equal(first.headers.get('svc-idempotent-replayed'), null);
  assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
}

async function countCustomers(email: unknown): Promise<number> {
  const rows = await service.db.query('SELECT 1 FROM customers WHERE email = $1', [email]);
  return rows.length;
}

async function createdProduct(): Promise<string> {
  const { body } = await service.call('POST', '/v1/products', { body: someProduct(), idempotencyKey: randomUUID() });
  return body.id;
}

async function createdCustomer(overrides: Record<string, unknown> = {}): Promise<string> {
  const { body } = await service.call('POST', '/v1/customers', { body: someCustomer(overrides) });
  return body.id;
}

describe('a missing key', () => {
  it('is refused where the contract requires one', async () => {
    const id = await createdProduct();
    for (const [method, path, body] of [
      ['POST', '/v1/products', someProduct()],
      ['PATCH', `/v1/products/${id}`, { name: 'Kettle' }],
    ] as const) {
      const reply = await service.call(method, path, { body });
      assertRefused(reply, 400, 'missing_idempotency_key');
      assert.equal(reply.body.error.type, 'invalid_request_error');
      assert.equal(reply.body.error.param, 'X-SVC-Idempotency-Key');
    }
  });

  it('is fine on every other call', async () => {
    const customer = await service.call('POST', '/v1/customers', { body: someCustomer() });
    assertExecuted(customer, 201);
    const path = `/v1/customers/${customer.body.id}`;
    assertExecuted(await service.call('PATCH', path, { body: { company: 'Engines' } }), 200);
    assertExecuted(await service.call('DELETE', path), 200);
    assertExecuted(await service.call('DELETE', `/v1/products/${await createdProduct()}`), 200);
  });

  it('is reported after authentication and before the schema of the body', async () => {
    assertRefused(await service.call('POST', '/v1/products', { key: null, body: {} }), 401, 'missing_api_key');
    assertRefused(await service.call('POST', '/v1/products', { body: {} }), 400, 'missing_idempotency_key');
  });
});

describe('an invalid key', () => {
  it('is empty, too long or has wrong characters', async () => {
    const keys = ['', 'a'.repeat(256), 'with space', 'dot.', 'a,b', 'caf\u00e9', "o'clock", '{}', 'a/b', 'a:b'];
    for (const key of keys) {
      const body = someCustomer();
      const reply = await service.call('POST', '/v1/customers', { body, headers: { [header]: key } });
      assertRefused(reply, 400, 'invalid_idempotency_key');
      assert.equal(reply.body.error.type, 'invalid_request_error');
      assert.equal(await countCustomers(body.email), 0, `${key} was executed`);
    }
  });

  it('is one that was sent twice, even with the same value', async () => {
    const body = JSON.stringify(someCustomer());
    for (const values of [
      ['one', 'two'],
      ['same', 'same'],
    ]) {
      // fetch would join the two lines before they reach the wire.
      const request = httpRequest(`${service.baseUrl}/v1/customers`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json', [header]: values },
      });
      request.end(body);
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      assert.equal(response.statusCode, 400);
      assert.match(await text(response), /"invalid_idempotency_key"/);
    }
  });

  it('is rejected unless it has 1 to 255 characters of A-Z a-z 0-9 _ -', async () => {
    for (const key of ['a', 'Z_-09', randomBytes(128).toString('hex').slice(1), randomUUID()]) {
      assertExecuted(await service.call('POST', '/v1/customers', { body: someCustomer(), idempotencyKey: key }), 201);
    }
  });
});

describe('a replay', () => {
  it('is byte-identical, says so, and creates nothing', async () => {
    const request = { body: someCustomer({ metadata: { b: 1, a: ['\u00fc', null] } }), idempotencyKey: randomUUID() };
    const first = await service.call('POST', '/v1/customers', request);
    assertExecuted(first, 201);
    assertReplayOf(first, await service.call('POST', '/v1/customers', request));
    assertReplayOf(first, await service.call('POST', '/v1/customers', request));
    assert.equal(await countCustomers(request.body.email), 1);
  });

  it('has a request id of its own', async () => {
    const request = { body: someCustomer(), idempotencyKey: randomUUID() };
    const first = await service.call('POST', '/v1/customers', request);
    const again = await service.call('POST', '/v1/customers', request);
    assert.notEqual(again.headers.get('svc-request-id'), first.headers.get('svc-request-id'));
  });

  it('does not depend on the order of body keys, at any depth', async () => {
    const idempotencyKey = randomUUID();
    const { sku } = someProduct();
    const first = await service.call('POST', '/v1/products', {
      idempotencyKey,
      raw: `{"name":"Pot","description":null,"pricing":{"amount":1,"currency":"usd"},"requires_shipping":true,"sku":"${sku}","metadata":{"a":{"x":1,"y":2},"b":3}}`,
    });
    assertExecuted(first, 201);
    const again = await service.call('POST', '/v1/products', {
      idempotencyKey,
      raw: `{ "metadata":{"b":3,"a":{"y":2,"x":1}},"sku":"${sku}","requires_shipping":true,"pricing":{"currency":"usd","amount":1},"description":null,"name":"Pot" }`,
    });
    assertReplayOf(first, again);
  });

  it('answers although the product was changed, archived or deleted meanwhile', async () => {
    const create = { body: someProduct(), idempotencyKey: randomUUID() };
    const created = await service.call('POST', '/v1/products', create);
    const path = `/v1/products/${created.body.id}`;
    const change = { body: { name: 'Kettle', sku: create.body.sku }, idempotencyKey: randomUUID() };
    const changed = await service.call('PATCH', path, change);
    const removal = { idempotencyKey: randomUUID() };
    const steps = [
      () => service.call('PATCH', path, { body: { name: 'Jug' }, idempotencyKey: randomUUID() }),
      () => service.call('PATCH', path, { body: { active: false }, idempotencyKey: randomUUID() }),
      () => service.call('DELETE', path, removal),
    ];
    let last: Reply | undefined;
    for (const step of steps) {
      last = await step();
      assertExecuted(last, 200);
      assertReplayOf(created, await service.call('POST', '/v1/products', create));
      assertReplayOf(changed, await service.call('PATCH', path, change));
    }
    assert.ok(last);
    assertReplayOf(last, await service.call('DELETE', path, removal));
    assertRefused(await service.call('GET', path), 404, 'resource_not_found');
  });

  it('changes nothing back', async () => {
    const id = await createdCustomer();
    const request = { body: { company: 'First' }, idempotencyKey: randomUUID() };
    await service.call('PATCH', `/v1/customers/${id}`, request);
    await service.call('PATCH', `/v1/customers/${id}`, { body: { company: 'Second' } });
    await service.call('PATCH', `/v1/customers/${id}`, request);
    assert.equal((await service.call('GET', `/v1/customers/${id}`)).body.company, 'Second');
  });
});

describe('a conflict', () => {
  async function conflict(first: Record<string, unknown>, second: Record<string, unknown>): Promise<string> {
    const idempotencyKey = randomUUID();
    const original = await service.call('POST', '/v1/customers', { body: first, idempotencyKey });
    assertExecuted(original, 201);
    const reply = await service.call('POST', '/v1/customers', { body: second, idempotencyKey });
    assertRefused(reply, 422, 'idempotency_key_conflict');
    assert.equal(reply.body.error.type, 'idempotency_error');
    const requestId = original.headers.get('svc-request-id') ?? '';
    assert.ok(reply.body.error.message.includes(requestId), 'the message names the first request');
    assertReplayOf(original, await service.call('POST', '/v1/customers', { body: first, idempotencyKey }));
    return reply.body.error.message;
  }

  it('names the fields that changed, and only those', async () => {
    const body = someCustomer({ company: 'Engines' });
    const message = await conflict(body, { ...body, phone: '+15559999999', email: 'other@example.com' });
    assert.match(message, /these fields differ: email, phone\./);
  });

  it('names fields that were added or left out', async () => {
    const body = someCustomer();
    assert.match(await conflict(body, { ...body, tags: ['vip'] }), /differ: tags\./);
    const other = someCustomer();
    assert.match(await conflict({ ...other, company: 'Engines' }, other), /differ: company\./);
  });

  it('names the top-level field of a nested change', async () => {
    const body = someCustomer();
    const original = { ...body, metadata: { a: { b: [1, 2] } }, shipping_address: { city: 'Paris' } };
    const message = await conflict(original, { ...original, metadata: { a: { b: [1, '2'] } } });
    assert.match(message, /differ: metadata\./);
  });

  it('distinguishes null from an absent field', async () => {
    const body = someCustomer();
    assert.match(await conflict({ ...body, company: null }, body), /differ: company\./);
  });

  it('is also another method or path, which the message names', async () => {
    const id = await createdProduct();
    const idempotencyKey = randomUUID();
    const first = await service.call('PATCH', `/v1/products/${id}`, { body: { name: 'Jug' }, idempotencyKey });
    assertExecuted(first, 200);
    const others = [
      await service.call('PATCH', `/v1/products/${await createdProduct()}`, { body: { name: 'Jug' }, idempotencyKey }),
      await service.call('DELETE', `/v1/products/${id}`, { idempotencyKey }),
      await service.call('POST', '/v1/customers', { body: someCustomer(), idempotencyKey }),
    ];
    for (const reply of others) {
      assertRefused(reply, 422, 'idempotency_key_conflict');
      assert.ok(reply.body.error.message.includes(`PATCH /v1/products/${id}`));
      assert.ok(reply.body.error.message.includes(first.headers.get('svc-request-id') ?? ''));
    }
    assert.equal((await service.call('GET', `/v1/products/${id}`)).status, 200);
  });

  it('is looked for after the schema of the body', async () => {
    const body = someCustomer();
    const idempotencyKey = randomUUID();
    await service.call('POST', '/v1/customers', { body, idempotencyKey });
    const reply = await service.call('POST', '/v1/customers', { body: { ...body, email: 'nonsense' }, idempotencyKey });
    assertRefused(reply, 400, 'validation_error');
  });
});

describe('the scope of a key', () => {
  it('is the company: other merchants, and sandbox and live, use the same key independently', async () => {
    const [one, two] = [await service.createMerchant(), await service.createMerchant()];
    const request = { body: someCustomer(), idempotencyKey: randomUUID() };
    const ids = new Set<string>();
    for (const key of [one.key, two.key, await service.createKey(one.live)]) {
      const reply = await service.call('POST', '/v1/customers', { ...request, key });
      assertExecuted(reply, 201);
      ids.add(reply.body.id);
    }
    assert.equal(ids.size, 3);
  });

  it('is the whole company: another API key of it gets the replay', async () => {
    const request = { body: someCustomer(), idempotencyKey: randomUUID() };
    const first = await service.call('POST', '/v1/customers', request);
    const key = await service.createKey(service.company);
    assertReplayOf(first, await service.call('POST', '/v1/customers', { ...request, key }));
  });
});

describe('a decided refusal is stored and replayed after its cause is gone', () => {
  it('409 email_already_exists', async () => {
    const taken = someCustomer();
    const { body: holder } = await service.call('POST', '/v1/customers', { body: taken });
    const request = { body: someCustomer({ email: taken.email }), idempotencyKey: randomUUID() };
    const first = await service.call('POST', '/v1/customers', request);
    assertRefused(first, 409, 'email_already_exists');
    await service.call('DELETE', `/v1/customers/${holder.id}`);
    assertReplayOf(first, await service.call('POST', '/v1/customers', request));
    assert.equal(await countCustomers(taken.email), 0);
  });

  it('404 resource_not_found', async () => {
    const id = await createdCustomer();
    const move = (from: string, to: string) =>
      service.db.query('UPDATE customers SET company_id = $2 WHERE company_id = $1 AND id = $3', [from, to, id]);
    const elsewhere = (await service.createMerchant()).sandbox.id;
    await move(service.company.id, elsewhere);
    const request = { body: { company: 'Engines' }, idempotencyKey: randomUUID() };
    const first = await service.call('PATCH', `/v1/customers/${id}`, request);
    assertRefused(first, 404, 'resource_not_found');
    await move(elsewhere, service.company.id);
    assertReplayOf(first, await service.call('PATCH', `/v1/customers/${id}`, request));
  });

  it('400 validation_error of a business rule', async () => {
    const many = (prefix: string) => Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${prefix}${n}`, n]));
    const id = await createdCustomer({ metadata: many('a') });
    const request = { body: { metadata: many('b') }, idempotencyKey: randomUUID() };
    const first = await service.call('PATCH', `/v1/customers/${id}`, request);
    assertRefused(first, 400, 'validation_error');
    await service.call('PATCH', `/v1/customers/${id}`, { body: { metadata: null } });
    assertReplayOf(first, await service.call('PATCH', `/v1/customers/${id}`, request));
  });
});

describe('not stored, so that the same key then succeeds, is', () => {
  it('401', async () => {
    const request = { body: someCustomer(), idempotencyKey: randomUUID() };
    assert.equal((await service.call('POST', '/v1/customers', { ...request, key: null })).status, 401);
    assertExecuted(await service.call('POST', '/v1/customers', request), 201);
  });

  it('403', async () => {
    const request = { body: someCustomer(), idempotencyKey: randomUUID() };
    const key = await service.createKey(service.company, { permissions: ['customers:read'] });
    assert.equal((await service.call('POST', '/v1/customers', { ...request, key })).status, 403);
    assertExecuted(await service.call('POST', '/v1/customers', request), 201);
  });

  it('429', async () => {
    const limited = await startTestService({ settings: { SVC_RATE_LIMIT_WRITE: '1/10' } });
    try {
      const request = { body: someCustomer(), idempotencyKey: randomUUID() };
      assertExecuted(await limited.call('POST', '/v1/customers', { body: someCustomer() }), 201);
      assert.equal((await limited.call('POST', '/v1/customers', request)).status, 429);
      limited.clock.advance(10_000);
      assertExecuted(await limited.call('POST', '/v1/customers', request), 201);
    } finally {
      await limited.stop();
    }
  });

  it('a schema error', async () => {
    const body = someCustomer();
    const idempotencyKey = randomUUID();
    const wrong = await service.call('POST', '/v1/customers', { body: { ...body, emial: 'typo' }, idempotencyKey });
    assertRefused(wrong, 400, 'validation_error');
    const broken = await service.call('POST', '/v1/customers', { raw: '{"email":', idempotencyKey });
    assertRefused(broken, 400, 'invalid_request');
    assertExecuted(await service.call('POST', '/v1/customers', { body, idempotencyKey }), 201);
  });

  it('5xx', async () => {
    await service.db.query(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no luck'; END $$`);
    // After the row, so that there is something to roll back.
    await service.db.query(`CREATE TRIGGER fail AFTER INSERT ON customers FOR EACH ROW EXECUTE FUNCTION fail()`);
    const request = { body: someCustomer(), idempotencyKey: randomUUID() };
    try {
      assertRefused(await service.call('POST', '/v1/customers', request), 500, 'internal_error');
    } finally {
      await service.db.query('DROP FUNCTION fail CASCADE');
    }
    assert.equal(await countCustomers(request.body.email), 0);
    const first = await service.call('POST', '/v1/customers', request);
    assertExecuted(first, 201);
    assertReplayOf(first, await service.call('POST', '/v1/customers', request));
    assert.equal(await countCustomers(request.body.email), 1);
  });
});

/** Customers called Held wait in their INSERT while the gate is closed. */
class Gate {
  readonly #client = new pg.Client({ connectionString: service.companyUrls.connectionString });

  static async install(): Promise<void> {
    await service.db.query(`CREATE FUNCTION pass_gate() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NEW; END $$`);
    await service.db.query(`CREATE TRIGGER gate BEFORE INSERT ON customers FOR EACH ROW
      WHEN (NEW.first_name = 'Held') EXECUTE FUNCTION pass_gate()`);
  }

  static async close(): Promise<Gate> {
    const gate = new Gate();
    await gate.#client.connect();
    await gate.#client.query('SELECT pg_advisory_lock(4711)');
    return gate;
  }

  /** Resolves to the backend of the request that stands before the gate. */
  async reached(): Promise<number> {
    for (;;) {
      const { rows } = await this.#client.query<{ pid: number }>(
        `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted`,
      );
      if (rows[0]) return rows[0].pid;
      await wait(2);
    }
  }

  async open(): Promise<void> {
    await this.#client.end();
  }
}

const heldRequest = () => ({ body: someCustomer({ first_name: 'Held' }), idempotencyKey: randomUUID() });

describe('a key in flight', () => {
  before(() => Gate.install());
  after(() => service.db.query('DROP FUNCTION pass_gate CASCADE'));

  it('gives 409 request_in_progress with Retry-After, then the replay', async () => {
    const gate = await Gate.close();
    const request = heldRequest();
    const pending = service.call('POST', '/v1/customers', request);
    await gate.reached();
    const meanwhile = await service.call('POST', '/v1/customers', request);
    const other = await service.call('POST', '/v1/customers', { body: someCustomer(), idempotencyKey: randomUUID() });
    await gate.open();
    const first = await pending;
    assertRefused(meanwhile, 409, 'request_in_progress');
    assert.equal(meanwhile.body.error.type, 'idempotency_error');
    assert.match(meanwhile.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assertExecuted(other, 201);
    assertExecuted(first, 201);
    assertReplayOf(first, await service.call('POST', '/v1/customers', request));
    assert.equal(await countCustomers(request.body.email), 1);
  });

  it('is free again, with nothing half done, when the database connection dies', async () => {
    const gate = await Gate.close();
    const request = heldRequest();
    const pending = service.call('POST', '/v1/customers', request);
    await service.db.query('SELECT pg_terminate_backend($1)', [await gate.reached()]);
    const first = await pending;
    await gate.open();
    assertRefused(first, 503, 'service_unavailable');
    assert.equal(await countCustomers(request.body.email), 0);
    assertExecuted(await service.call('POST', '/v1/customers', request), 201);
    assert.equal(await countCustomers(request.body.email), 1);
  });
});

describe('two processes', () => {
  let one: ServiceProcess;
  let two: ServiceProcess;
  before(async () => {
    [one, two] = await Promise.all([ServiceProcess.start(service), ServiceProcess.start(service)]);
    await Gate.install();
  });
  after(async () => {
    await Promise.all([one.kill(), two.kill()]);
    await service.db.query('DROP FUNCTION pass_gate CASCADE');
  });

  const create = (by: ServiceProcess, request: CallOptions): Promise<Reply> =>
    by.call('POST', '/v1/customers', request);
  const race = (bodies: readonly unknown[], idempotencyKey: string): Promise<Reply[]> =>
    Promise.all(bodies.map((body, index) => create(index % 2 ? one : two, { body, idempotencyKey })));

  it('execute a key once, in each race of 100 requests', async () => {
    for (let round = 0; round < raceRounds; round += 1) {
      const body = someCustomer();
      const replies = await race(Array(100).fill(body), randomUUID());
      const done = replies.filter((reply) => reply.status === 201);
      const executed = done.filter((reply) => !reply.headers.has('svc-idempotent-replayed'));
      assert.deepEqual([executed.length, new Set(done.map((reply) => reply.text)).size], [1, 1]);
      for (const reply of replies) if (reply.status !== 201) assertRefused(reply, 409, 'request_in_progress');
      assert.equal(await countCustomers(body.email), 1);
    }
  });

  it('execute one of the bodies that race for a key', async () => {
    const bodies = Array.from({ length: 40 }, () => someCustomer());
    const replies = await race(bodies, randomUUID());
    const done = replies.filter((reply) => reply.status === 201);
    assert.equal(done.length, 1);
    for (const { status, body } of replies.filter((reply) => reply.status !== 201)) {
      assert.ok(status === 409 || status === 422, JSON.stringify(body));
      assert.equal(body.error.type, 'idempotency_error');
    }
    const emails = bodies.map((body) => body.email);
    assert.equal((await service.db.query('SELECT 1 FROM customers WHERE email = ANY($1)', [emails])).length, 1);
  });

  it('decide a refusal once when many race for it', async () => {
    const taken = someCustomer();
    await service.call('POST', '/v1/customers', { body: taken });
    const replies = await race(Array(40).fill(taken), randomUUID());
    const decided = replies.filter(({ body }) => body.error.code === 'email_already_exists');
    assert.equal(new Set(decided.map((reply) => reply.text)).size, 1);
    for (const reply of replies) {
      if (!decided.includes(reply)) assertRefused(reply, 409, 'request_in_progress');
    }
  });

  it('leave a key usable and nothing half done when the one that works on it is killed', async () => {
    const gate = await Gate.close();
    const request = heldRequest();
    const lost = assert.rejects(create(one, request));
    await gate.reached();
    await one.kill();
    await lost;
    await gate.open();
    let reply = await create(two, request);
    while (reply.status === 409) {
      assertRefused(reply, 409, 'request_in_progress');
      await wait(5);
      reply = await create(two, request);
    }
    assertExecuted(reply, 201);
    assert.equal(await countCustomers(request.body.email), 1);
  });
});

describe('the life of a key', () => {
  const never = () => undefined;

  function keyed(companyId: string, nowMs: number, key: string = randomUUID()): KeyedRequest {
    return {
      companyId,
      key,
      method: 'POST',
      path: '/v1/things',
      apiVersion: '2026-02-11',
      versionNamed: false,
      fieldHashes: {},
      requestId: 'req_test',
      nowMs,
    };
  }

  /** Work that leaves a trace in the database and a different answer each time. */
  function tracedWork() {
    const marker = randomUUID();
    return {
      work: async (db: { query: TestService['db']['query'] }) => {
        const id = randomUUID();
        await db.query(`INSERT INTO tombstones (company_id, id, object_type, sort_values) VALUES ($1, $2, $3, '{}')`, [
          service.company.id,
          id,
          marker,
        ]);
        return { status: 201, body: id, apiVersion: '2026-02-11' };
      },
      count: async () => (await service.db.query('SELECT 1 FROM tombstones WHERE object_type = $1', [marker])).length,
    };
  }

  it('is 24 hours to the millisecond', async () => {
    const { work, count } = tracedWork();
    const request = keyed(service.company.id, Date.now());
    const at = (ms: number) => runOnce(service.db, { ...request, nowMs: request.nowMs + ms }, { work }, never);
    const first = await at(0);
    assert.deepEqual(await at(24 * hourMs - 1), { ...first, replayed: true });
    const second = await at(24 * hourMs);
    assert.equal(second.replayed, false);
    assert.notEqual(second.body, first.body);
    assert.deepEqual(await at(48 * hourMs - 1), { ...second, replayed: true });
    assert.equal(await count(), 2);
  });

  it('goes by the company\u2019s own clock', async () => {
    const merchant = await service.createMerchant();
    const { key } = merchant;
    const { body } = await service.call('POST', '/v1/customers', { key, body: someCustomer() });
    const path = `/v1/customers/${body.id}`;
    const request = { key, body: { company: 'Engines' }, idempotencyKey: randomUUID() };
    const first = await service.call('PATCH', path, request);
    await moveClock(merchant, 24 * hourMs - 60_000);
    assertReplayOf(first, await service.call('PATCH', path, request));
    await moveClock(merchant, 24 * hourMs);
    await service.call('PATCH', path, { key, body: { company: 'Looms' } });
    const second = await service.call('PATCH', path, request);
    assertExecuted(second, 200);
    assert.ok(Date.parse(second.body.updated_at) - Date.parse(first.body.updated_at) >= 24 * hourMs);
  });

  /** Returns when the service has seen the change. */
  async function moveClock({ sandbox, key }: Merchant, offsetMs: number): Promise<void> {
    await service.db.query('UPDATE companies SET clock_offset_ms = $2 WHERE id = $1', [sandbox.id, offsetMs]);
    for (;;) {
      const { body } = await service.call('POST', '/v1/customers', { key, body: someCustomer() });
      if (Date.parse(body.created_at) >= Date.now() + offsetMs - 10_000) return;
    }
  }

  it('is executed once, however many requests use the expired key', async () => {
    const { work, count } = tracedWork();
    const request = keyed(service.company.id, Date.now());
    await runOnce(service.db, request, { work }, never);
    const later = { ...request, nowMs: request.nowMs + 24 * hourMs };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, () => runOnce(service.db, later, { work }, never)),
    );
    const answers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    assert.equal(new Set(answers.map((answer) => answer.body)).size, 1);
    assert.equal(answers.filter((answer) => !answer.replayed).length, 1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'request_in_progress');
    }
    assert.equal(await count(), 2);
  });

  it('ends for the reaper by the clock of the company, not before', async () => {
    const { sandbox: ahead } = await service.createMerchant();
    await service.db.query('UPDATE companies SET clock_offset_ms = $2 WHERE id = $1', [ahead.id, 48 * hourMs]);
    const { work } = tracedWork();
    const now = Date.now();
    const expired = [
      keyed(service.company.id, now - 25 * hourMs),
      keyed(ahead.id, now),
      keyed(ahead.id, now + 23 * hourMs),
    ];
    const alive = [
      keyed(service.company.id, now - 23 * hourMs),
      keyed(service.company.id, now),
      keyed(ahead.id, now + 25 * hourMs),
    ];
    for (const request of [...expired, ...alive]) await runOnce(service.db, request, { work }, never);
    while ((await reapIdempotencyKeys(service.db, 1)) > 0);
    const rows = await service.db.query<{ key: string }>('SELECT key FROM idempotency_keys');
    const left = new Set(rows.map((row) => row.key));
    assert.deepEqual(
      [expired, alive].map((requests) => requests.map((request) => left.has(request.key))),
      [
        [false, false, false],
        [true, true, true],
      ],
    );
  });
});

describe('the reaper', () => {
  it('reads no key if no clock is ahead and no key has expired, with any statistics of the tables', async () => {
    const prepare = [
      'UPDATE companies SET clock_offset_ms = 0',
      `UPDATE idempotency_keys SET expires_at = now() + interval '1 hour'`,
      'SET LOCAL enable_seqscan = on',
      'ANALYZE idempotency_keys',
    ];
    const plan = await planOf(service.db, (db) => reapIdempotencyKeys(db, 1000), prepare, 'EXPLAIN (ANALYZE)');
    const reads = plan.split('\n').filter((line) => / on idempotency_keys k /.test(line));
    assert.equal(reads.length, 3, plan);
    for (const read of reads) assert.match(read, /rows=0\.00 loops=1|never executed/);
  });
});

describe('what is kept of a body', () => {
  it('is nothing that can be read or recomputed without the service\u2019s secret', async () => {
    const body = someCustomer({ company: 'Analytical Engines', metadata: { iban: 'DE89370400440532013000' } });
    const idempotencyKey = randomUUID();
    await service.call('POST', '/v1/customers', { body, idempotencyKey });
    const [row] = await service.db.query<{ field_hashes: Record<string, string> }>(
      'SELECT field_hashes FROM idempotency_keys WHERE key = $1',
      [idempotencyKey],
    );
    assert.deepEqual(Object.keys(row?.field_hashes ?? {}).toSorted(), Object.keys(body).toSorted());
    const kept = JSON.stringify(Object.values(row?.field_hashes ?? {}));
    for (const value of Object.values(body)) {
      const plain = typeof value === 'string' ? value : JSON.stringify(value);
      assert.ok(!kept.includes(plain), `${plain} can be read`);
      for (const written of [plain, JSON.stringify(value)]) {
        const digest = createHash('sha256').update(written).digest('base64url');
        assert.ok(!kept.includes(digest.slice(0, 12)), `${plain} can be guessed`);
      }
    }
  });

  it('depends on the key of the hash', () => {
    const newKey = (): ServiceKey => originalKeys(new Secret(randomBytes(32))).idempotency;
    const [one, two] = [newKey(), newKey()];
    assert.deepEqual(hashFields(one, 'company', { a: 1 }), hashFields(one, 'company', { a: 1 }));
    assert.notDeepEqual(hashFields(one, 'company', { a: 1 }), hashFields(two, 'company', { a: 1 }));
  });
});

describe('a phased route', () => {
  it('cannot declare a secret answer, which its phases would store as plain text', () => {
    type SecretAnswer = NonNullable<Parameters<typeof definePhased>[0]['secretAnswer']>;
    const isForbidden: [SecretAnswer] extends [never] ? true : false = true;
    assert.ok(isForbidden, 'checked by the compiler');
  });
});

describe('an upload with a key', () => {
  const red = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const dot = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

  async function upload(productId: string, file: string, idempotencyKey: string): Promise<Reply> {
    const form = new FormData();
    form.set('file', new Blob([Buffer.from(file, 'base64')]), 'picture');
    // The boundary is random: the same file is never the same bytes on the wire.
    const encoded = new Response(form);
    const raw = Buffer.from(await encoded.arrayBuffer());
    const headers = { 'content-type': encoded.headers.get('content-type') ?? '' };
    return service.call('POST', `/v1/products/${productId}/images`, { raw, headers, idempotencyKey });
  }

  it('is replayed for the same file and adds no second image', async () => {
    const id = await createdProduct();
    const key = randomUUID();
    const first = await upload(id, red, key);
    assertExecuted(first, 201);
    assertReplayOf(first, await upload(id, red, key));
    const { body } = await service.call('GET', `/v1/products/${id}?expand=images`);
    assert.equal(body.images.length, 1);
  });

  it('conflicts on `file` with another file', async () => {
    const id = await createdProduct();
    const key = randomUUID();
    const first = await upload(id, red, key);
    const reply = await upload(id, dot, key);
    assertRefused(reply, 422, 'idempotency_key_conflict');
    assert.match(reply.body.error.message, /differ: file\./);
    assert.ok(reply.body.error.message.includes(first.headers.get('svc-request-id') ?? ''));
  });

  it('is replayed also when the product was deleted meanwhile', async () => {
    const id = await createdProduct();
    const key = randomUUID();
    const first = await upload(id, red, key);
    assertExecuted(first, 201);
    await service.call('DELETE', `/v1/products/${id}`);
    assertReplayOf(first, await upload(id, red, key));
  });

  it('stores the refusal 404 like any other call', async () => {
    const [missing, key] = [randomUUID(), randomUUID()];
    const first = await upload(missing, red, key);
    assertRefused(first, 404, 'resource_not_found');
    assertReplayOf(first, await upload(missing, red, key));
  });

  it('is not stored when the file is no image: the same key then takes one', async () => {
    const id = await createdProduct();
    const key = randomUUID();
    assertRefused(await upload(id, Buffer.from('no image').toString('base64'), key), 400, 'validation_error');
    assertExecuted(await upload(id, red, key), 201);
  });

  it('leaves no second file behind when it is replayed', async () => {
    const id = await createdProduct();
    const key = randomUUID();
    await upload(id, red, key);
    await upload(id, red, key);
    const left = await service.db.query('SELECT 1 FROM unreferenced_files WHERE file_key LIKE $1', [`%/${id}/%`]);
    assert.equal(left.length, 0);
  });
});
