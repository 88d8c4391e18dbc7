import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { shardChecks, examineShards } from '../../cli/doctor-shards.ts';
import { reapLookups } from '../../server/features/api-keys/service.ts';
import { reapMemberships, reapSignUps } from '../../server/features/users/service.ts';
import { accountFailpoints, type Failpoint } from '../../server/platform/failpoints.ts';
import { hourMs } from '../../server/platform/durations.ts';
import { freePorts } from '../chaos/chaos.ts';
import { shardForNew } from '../../server/shards/placement.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { companyOf, invitationOf, inviteAs, newPerson, type Person, signUp } from '../support/dashboard.ts';
import { type FreezingProxy, startFreezingProxy } from '../support/freezing-proxy.ts';
import { type FleetProcess, startProcess, thisRoot } from '../support/fleet.ts';
import { openShop, type Shop, succeeded } from '../support/orders.ts';
import { programPath } from '../support/programs.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { callAt, type Reply, someCustomer, startTestService, type TestService } from '../support/service.ts';

/** Companies on two PostgreSQL servers. The network to the second one can fail. */

const statementMs = 1_000;
/** Of the process that runs beside the tests. */
const processTimeoutMs = 3_000;
let database: TestDatabase;
let proxy: FreezingProxy;
let service: TestService;
/** Whose companies are on the first and on the second shard. */
let [first, second] = [{} as Person, {} as Person];
/** The companies that they signed up with. */
const own = { first: { sandbox: '', live: '' }, second: { sandbox: '', live: '' } };
const companiesOf = (person: Person): typeof own.first => ({
  sandbox: companyOf(person, 'sandbox'),
  live: companyOf(person, 'live'),
});

/** New companies go to this shard. */
async function placeOn(shard: 'a' | 'b'): Promise<void> {
  await service.control.query('DELETE FROM draining_shards');
  await service.control.query(`INSERT INTO draining_shards (shard) VALUES ($1)`, [shard === 'a' ? 'b' : 'a']);
}

before(async () => {
  database = await cloneDatabase(2);
  const [other] = database.others;
  assert.ok(other);
  proxy = await startFreezingProxy(other.apiUrl);
  service = await startTestService({
    database: { ...database, others: [{ ...other, apiUrl: proxy.through(other.apiUrl) }] },
    settings: { SVC_DATABASE_TIMEOUT_MS: String(statementMs) },
  });
  await placeOn('a');
  first = await signUp(service);
  await placeOn('b');
  second = await signUp(service);
  Object.assign(own, { first: companiesOf(first), second: companiesOf(second) });
});

after(async () => {
  await service?.stop();
  await proxy?.stop();
  await database?.drop();
});

const shardOf = async (id: string): Promise<string> => {
  const held = await Promise.all(
    service.shards.all.map(async ({ name, db }) =>
      (await db.query('SELECT 1 FROM companies WHERE id = $1', [id])).length > 0 ? [name] : [],
    ),
  );
  return held.flat().join();
};

const keyOf = async (person: Person, company: string): Promise<string> => {
  const made = await person.in('POST', '/dashboard/api_keys', { name: 'K', kind: 'secret' }, { company });
  assert.equal(made.status, 201, made.text);
  return made.body.key;
};

describe('companies on two shards', () => {
  it('are placed on one of them, with all of their data', async () => {
    assert.deepEqual([await shardOf(own.first.sandbox), await shardOf(own.second.sandbox)], ['a', 'b']);
    const keys = [await keyOf(first, own.first.sandbox), await keyOf(second, own.second.sandbox)];
    for (const [index, key] of keys.entries()) {
      const order = await succeeded(service, await openShop(service, undefined, { key }), { key });
      const counts = await Promise.all(
        service.shards.all.map(async ({ db }) => {
          const rows = await db.query('SELECT 1 FROM orders WHERE id = $1', [order.id]);
          return rows.length;
        }),
      );
      assert.deepEqual(counts, index === 0 ? [1, 0] : [0, 1]);
    }
  });

  it('are placed where the directory has the fewest, without a connection to any other shard', async () => {
    await service.control.query('DELETE FROM draining_shards');
    const [a, b] = service.shards.all;
    assert.ok(a && b);
    let asked = 0;
    const unused = {
      name: 'c',
      db: { ...b.db, ping: async () => assert.fail('c was asked'), query: async () => assert.fail() },
    };
    const empty = { name: 'd', db: { ...b.db, ping: async () => void (asked += 1), query: async () => assert.fail() } };
    await service.control.query(`INSERT INTO company_shards (company_id, shard) VALUES (uuidv7(), 'c')`);
    try {
      // Another object, for which nothing was counted before.
      const control = { ...service.control };
      const chosen = await shardForNew({ ...service.shards, control, all: [a, b, unused, empty] });
      assert.deepEqual([chosen.name, asked], ['d', 1]);
    } finally {
      await service.control.query(`DELETE FROM company_shards WHERE shard = 'c'`);
    }
  });

  it('belong to one user, who sees and uses them all', async () => {
    const token = await inviteAs(service, first, second.email, 'Admin');
    const body = { password: second.password };
    assert.equal((await second.call('POST', `/dashboard/invitations/${token}/accept`, { body })).status, 200);
    const { companies } = (await second.call('GET', '/dashboard/session')).body;
    assert.equal(companies.length, 3);
    for (const company of [own.first.sandbox, own.second.live]) {
      const made = await second.in('POST', '/v1/customers', someCustomer(), { company });
      assert.equal(made.status, 201, made.text);
      const list = await second.in('GET', '/v1/customers?limit=100', undefined, { company });
      assert.ok(list.body.data.some(({ id }: { id: string }) => id === made.body.id));
    }
    // The account is audited in the companies of both shards.
    await second.call('PATCH', '/dashboard/user', { body: { first_name: 'Augusta' } });
    for (const { db } of service.shards.all) {
      const rows = await db.query(`SELECT 1 FROM audit_entries WHERE action = 'updateUser'`);
      assert.notEqual(rows.length, 0);
    }
  });

  it('of a shard that is away answer 503; all others go on', async () => {
    const [alive, dead] = [await keyOf(first, own.first.sandbox), await keyOf(second, own.second.sandbox)];
    const call = (key: string) => service.call('POST', '/v1/customers', { key, body: someCustomer() });
    assert.deepEqual([(await call(alive)).status, (await call(dead)).status], [201, 201]);
    proxy.accept(false);
    proxy.freeze();
    try {
      const [broken, ...others] = await Promise.all([call(dead), call(alive), call(alive), call(alive)]);
      assert.equal(broken.status, 503, broken.text);
      assert.ok(broken.headers.get('retry-after'));
      assert.deepEqual(
        others.map(({ status }) => status),
        [201, 201, 201],
      );
      const { status, body } = await service.call('GET', '/readyz', { key: null });
      assert.deepEqual([status, body.status, body.shards], [200, 'degraded', { a: 'up', b: 'down' }]);
      const { companies } = (await second.call('GET', '/dashboard/session')).body;
      assert.deepEqual(
        companies.map(({ id }: { id: string }) => id),
        [own.first.sandbox],
      );
      await placeOn('b');
      const refused = await newPerson(service).call('POST', '/dashboard/sign_up', { body: signUpBody() });
      assert.equal(refused.status, 503, refused.text);
      // The other shard has fewer companies, but does not respond.
      await service.control.query('DELETE FROM draining_shards');
      assert.equal((await shardForNew(service.shards)).name, 'a');
    } finally {
      proxy.accept(true);
    }
    for (let tries = 0; (await call(dead)).status !== 201; tries += 1) assert.ok(tries < 20, 'it stays away');
  });

  it('of a shard that hangs take no places of requests for the others', async (test) => {
    const alive = await keyOf(first, own.first.sandbox);
    const busy = await startTestService({ database, settings: { SVC_MAX_EVENT_LOOP_DELAY_MS: '1000' } });
    const hanging = new pg.Client({ connectionString: database.others[0]?.connectionString });
    await hanging.connect();
    test.after(async () => {
      await hanging.end();
      await busy.stop();
    });
    // Many companies, because each has only its share of the places.
    const merchants = await Promise.all(Array.from({ length: 80 }, () => busy.createMerchant()));
    assert.equal(await shardOf(merchants[0]?.sandbox.id ?? ''), 'b');
    const call = async (key: string): Promise<number> =>
      (await busy.call('POST', '/v1/customers', { key, body: someCustomer() })).status;
    assert.equal(await call(alive), 201);
    await hanging.query('BEGIN');
    await hanging.query('LOCK TABLE customers IN ACCESS EXCLUSIVE MODE');
    const stuck = Promise.all([...merchants, ...merchants].map(({ key }) => call(key)));
    await sleep(1_200);
    const others = await Promise.all(Array.from({ length: 10 }, () => call(alive)));
    await hanging.query('ROLLBACK');
    await stuck;
    assert.deepEqual(new Set(others), new Set([201]));
  });
});

describe('a process', () => {
  let networks: FreezingProxy[] = [];
  let running: FleetProcess | undefined;
  let keys = ['', ''];
  let shops: Shop[] = [];

  /** An order of the company on the first or on the second shard. */
  const charge = async (index: 0 | 1): Promise<Reply> => {
    const shop = shops[index] as Shop;
    const body = { customer_id: shop.customerId, items: [{ product_id: shop.productId, quantity: 1 }] };
    const options = { body, idempotencyKey: randomUUID() };
    return callAt(running?.url ?? '', keys[index] ?? '', 'POST', '/v1/orders', options);
  };
  const stateOf = async (): Promise<Reply['body']> =>
    (await callAt(running?.url ?? '', '', 'GET', '/readyz', { key: null })).body;

  before(async () => {
    const [other] = database.others;
    networks = [
      await startFreezingProxy(database.connectionString),
      await startFreezingProxy(other?.connectionString ?? ''),
    ];
    keys = [await keyOf(first, own.first.sandbox), await keyOf(second, own.second.sandbox)];
    shops = await Promise.all(keys.map((key) => openShop(service, undefined, { key })));
    const [toFirst, toSecond] = networks as [FreezingProxy, FreezingProxy];
    toSecond.accept(false);
    const [port = 0] = await freePorts(seededRandom(process.pid), 1);
    running = await startProcess({
      name: 'process',
      root: thisRoot,
      port,
      environment: {
        DATABASE_URL: toFirst.through(database.connectionString),
        SVC_SHARDS: `b=${toSecond.through(other?.connectionString ?? '')}`,
        SVC_DATABASE_TIMEOUT_MS: String(processTimeoutMs),
        SVC_DATA_DIR: service.config.dataDir,
        SVC_MASTER_SECRET: Buffer.alloc(32, 7).toString('latin1'),
      },
    });
  });

  after(async () => {
    await running?.stop();
    await Promise.all(networks.map((network) => network.stop()));
  });

  it('starts while a shard is away, serves the others, and serves it once it is there', async () => {
    assert.equal((await charge(0)).status, 201);
    const refused = await charge(1);
    assert.equal(refused.status, 503, refused.text);
    assert.ok(refused.headers.get('retry-after'));
    const { status, shards } = await stateOf();
    assert.deepEqual([status, shards], ['degraded', { a: 'up', b: 'down' }]);
    // Its company may be on the shard that is away, so the processor must send the notice again.
    const notice = `${running?.url}/processors/${randomUUID()}/notices`;
    assert.equal((await fetch(notice, { method: 'POST', body: '{}' })).status, 503);
    assert.equal(running?.warnings().filter((line) => line.includes('the shard is away')).length, 1);
    networks[1]?.accept(true);
    await eventually(async () => (await charge(1)).status === 201);
    assert.deepEqual((await stateOf()).shards, { a: 'up', b: 'up' });
    // Its jobs run too.
    const worked = (): Promise<object[]> => service.shards.of({ shard: 'b' }).db.query('SELECT 1 FROM workers');
    await eventually(async () => (await worked()).length > 0);
  });

  it('charges for the keys in use while the control plane is away', async (test) => {
    const unseen = await keyOf(second, own.second.sandbox);
    assert.deepEqual([(await charge(0)).status, (await charge(1)).status], [201, 201]);
    networks[0]?.accept(false);
    networks[0]?.freeze();
    try {
      // Longer than keys and companies are cached. A change on the shard of the company makes the process read again.
      const untilMs = performance.now() + Number(process.env.SVC_CONTROL_AWAY_SECONDS ?? 6) * 1_000;
      let [slowestMs, orders] = [0, 0];
      for (; performance.now() < untilMs; orders += 1) {
        const startedMs = performance.now();
        const reply = await charge(1);
        assert.deepEqual([reply.status, reply.body.status], [201, 'succeeded'], reply.text);
        slowestMs = Math.max(slowestMs, performance.now() - startedMs);
        await sleep(200);
      }
      test.diagnostic(`${orders} orders, the slowest in ${Math.round(slowestMs)} ms`);
      const refused = await callAt(running?.url ?? '', unseen, 'GET', '/v1/customers', {});
      assert.equal(refused.status, 503, refused.text);
      assert.ok(slowestMs < processTimeoutMs, `an order took ${slowestMs} ms: it waited for the control plane`);
      await service.shards.of({ shard: 'b' }).db.query(`SELECT pg_notify('access_changed', $1)`, [own.second.sandbox]);
      await sleep(100);
      assert.equal((await charge(1)).status, 201);
      assert.equal((await charge(0)).status, 503);
      assert.equal((await stateOf()).shards.b, 'up');
    } finally {
      networks[0]?.accept(true);
    }
    await eventually(async () => (await charge(0)).status === 201);
  });

  it('is not ready once no shard responds', async () => {
    for (const network of networks) {
      network.accept(false);
      network.freeze();
    }
    await eventually(async () => (await stateOf()).message === 'Not ready: no shard responds.');
  });
});

async function eventually(condition: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 15_000;
  while (!(await condition())) {
    assert.ok(performance.now() < deadlineMs, 'it does not happen');
    await sleep(100);
  }
}

const signUpBody = (email = `person-${randomUUID()}@example.com`): Record<string, string> => ({
  email,
  password: 'correct horse battery',
  first_name: 'Ada',
  last_name: 'Lovelace',
  phone_number: '+15551234567',
  company_name: 'Engines',
});

/** Starts the program with a failpoint, makes a request, and waits until it has died. */
async function dieAt(failpoint: Failpoint, request: (baseUrl: string) => Promise<unknown>): Promise<void> {
  const child = spawn(process.execPath, [programPath('main')], {
    env: {
      ...process.env,
      ...database.settings,
      SVC_FAILPOINT: failpoint,
      SVC_ROLES: 'api,vault',
      PORT: '0',
      SVC_DATA_DIR: service.config.dataDir,
      SVC_MASTER_SECRET: Buffer.alloc(32, 7).toString('latin1'),
      SVC_SIGN_UP: 'on',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  for await (const line of createInterface(child.stdout)) {
    const url = /"url.full":"(http[^"]+)".*"body":"ready"/.exec(line)?.[1];
    if (!url) continue;
    void request(url).catch(() => undefined);
    break;
  }
  child.stdout.resume();
  const [, signal] = (await exited) as [number | null, string | null];
  assert.equal(signal, 'SIGKILL', failpoint);
}

const post =
  (path: string, body: object, headers: Record<string, string> = {}) =>
  (baseUrl: string) =>
    fetch(baseUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: baseUrl, 'sec-fetch-site': 'same-origin', ...headers },
      body: JSON.stringify(body),
    });

/** Lets time pass for what two servers have not finished. */
async function reap(): Promise<void> {
  const nowMs = Date.now() + 2 * hourMs;
  for (const shard of service.shards.all) await reapSignUps(service.control, shard, nowMs, 100);
  await reapMemberships(service.shards, nowMs);
  await reapLookups(service.shards, nowMs);
}

const findings = async (): Promise<string[]> => (await examineShards(service.shards)).map(({ check }) => check);

/** `doctor` reports only what is older than an hour. */
async function age(): Promise<void> {
  for (const table of ['memberships', 'api_key_lookups'])
    await service.control.query(`UPDATE ${table} SET created_at = created_at - interval '2 hours'`);
  for (const { db } of service.shards.all)
    await db.query(`UPDATE unfinished_sign_ups SET started_at = started_at - interval '2 hours'`);
}

describe('a process that dies between two servers', () => {
  const email = `person-${randomUUID()}@example.com`;
  const accept = async (address: string): Promise<ReturnType<typeof post>> => {
    const token = await inviteAs(service, first, address, 'Viewer');
    return post(`/dashboard/invitations/${token}/accept`, { password: 'correct horse battery' });
  };
  const invited = [`person-${randomUUID()}@example.com`, `person-${randomUUID()}@example.com`];
  const requests: Readonly<Record<(typeof accountFailpoints)[number], () => Promise<ReturnType<typeof post>>>> = {
    'sign_up.after_companies': async () => post('/dashboard/sign_up', signUpBody(email)),
    'sign_up.after_user': async () => post('/dashboard/sign_up', signUpBody(email)),
    'invitation.after_user': () => accept(invited[0] ?? ''),
    'invitation.after_member': () => accept(invited[1] ?? ''),
    'api_key.after_lookup': async () =>
      post(
        '/dashboard/api_keys',
        { name: 'K', kind: 'secret' },
        { cookie: first.cookie, 'svc-company': own.first.live },
      ),
  };

  before(async () => {
    await placeOn('b');
    await reap();
    assert.deepEqual(await findings(), []);
  });

  it('leaves companies without a user, which are removed; the sign-up can be repeated', async () => {
    const before = await companies();
    await dieAt('sign_up.after_companies', await requests['sign_up.after_companies']());
    assert.equal(await companies(), before + 2);
    await age();
    assert.deepEqual(await findings(), ['sign_up_unfinished']);
    await reap();
    assert.equal(await companies(), before);
    assert.deepEqual(await findings(), []);
  });

  it('leaves a complete account after the user was recorded', async () => {
    await dieAt('sign_up.after_user', await requests['sign_up.after_user']());
    const person = newPerson(service, email);
    const reply = await person.call('POST', '/dashboard/session', { body: { email, password: person.password } });
    assert.deepEqual([reply.status, person.companies.length], [200, 2]);
    await age();
    await reap();
    assert.deepEqual(await findings(), []);
    assert.equal((await person.in('GET', '/v1/customers')).status, 200);
  });

  it('leaves an invitation that can be accepted again', async () => {
    const [address = ''] = invited;
    await dieAt('invitation.after_user', await requests['invitation.after_user']());
    await age();
    await reap();
    const person = newPerson(service, address);
    const token = await invitationOf(service, address);
    const path = `/dashboard/invitations/${token}/accept`;
    assert.equal((await person.call('POST', path, { body: { password: person.password } })).status, 200);
    assert.equal(person.companies.length, 1);
  });

  it('leaves a member who can sign in', async () => {
    const [, address = ''] = invited;
    await dieAt('invitation.after_member', await requests['invitation.after_member']());
    const person = newPerson(service, address);
    const body = { email: address, password: person.password };
    assert.equal((await person.call('POST', '/dashboard/session', { body })).status, 200);
    assert.equal(person.companies.length, 1);
  });

  it('leaves a reserved key that does not exist, and is removed', async () => {
    await dieAt('api_key.after_lookup', await requests['api_key.after_lookup']());
    await age();
    assert.deepEqual(await findings(), ['lookup_without_key']);
    await reap();
    assert.deepEqual(await findings(), []);
  });

  it('was killed at every failpoint of accounts', () => {
    assert.deepEqual(Object.keys(requests), [...accountFailpoints]);
  });
});

const companies = async (): Promise<number> => {
  const counts = await Promise.all(service.shards.all.map(({ db }) => db.query('SELECT 1 FROM companies')));
  return counts.flat().length;
};

describe('doctor --all-shards', () => {
  const onB = () => service.shards.of({ shard: 'b' }).db;
  const onA = () => service.shards.of({ shard: 'a' }).db;
  const id = randomUUID();
  const planted: Readonly<Record<keyof typeof shardChecks, readonly [() => Promise<unknown>, () => Promise<unknown>]>> =
    {
      company_on_two_shards: [
        () => copyCompany(own.second.sandbox),
        () => onA().query('DELETE FROM companies WHERE id = $1', [own.second.sandbox]),
      ],
      company_elsewhere: [
        () => service.control.query('DELETE FROM company_shards WHERE company_id = $1', [own.second.live]),
        () => service.control.query(`INSERT INTO company_shards VALUES ($1, 'b')`, [own.second.live]),
      ],
      company_missing: [
        () => service.control.query(`INSERT INTO company_shards VALUES ($1, 'b')`, [id]),
        () => service.control.query('DELETE FROM company_shards WHERE company_id = $1', [id]),
      ],
      shard_unknown: [
        () => service.control.query(`INSERT INTO company_shards VALUES ($1, 'z')`, [id]),
        () => service.control.query('DELETE FROM company_shards WHERE company_id = $1', [id]),
      ],
      move_unfinished: [
        () =>
          service.control.query(
            `UPDATE company_shards SET moving_to = 'a', moving_since = now() - interval '2 hours' WHERE company_id = $1`,
            [own.second.live],
          ),
        () => service.control.query('UPDATE company_shards SET moving_to = NULL, moving_since = NULL'),
      ],
      fence_forgotten: [
        () => onB().query(`INSERT INTO company_fences VALUES ($1, 'leaving')`, [own.second.live]),
        () => onB().query('DELETE FROM company_fences'),
      ],
      sign_up_unfinished: [
        () => onB().query(`INSERT INTO unfinished_sign_ups VALUES ($1, now() - interval '2 hours')`, [id]),
        () => onB().query('DELETE FROM unfinished_sign_ups'),
      ],
      membership_without_member: [
        () =>
          service.control.query(
            `INSERT INTO memberships SELECT id, $1, $1, now() - interval '2 hours' FROM users LIMIT 1`,
            [id],
          ),
        () => service.control.query('DELETE FROM memberships WHERE company_id = $1', [id]),
      ],
      lookup_without_key: [
        () =>
          service.control.query(`INSERT INTO api_key_lookups VALUES ('x', $1, $1, now() - interval '2 hours')`, [id]),
        () => service.control.query(`DELETE FROM api_key_lookups WHERE lookup_id = 'x'`),
      ],
      key_without_lookup: [
        () =>
          onB().query(`UPDATE api_keys SET lookup_id = lookup_id || 'x' WHERE company_id = $1`, [own.second.sandbox]),
        () =>
          onB().query(`UPDATE api_keys SET lookup_id = left(lookup_id, -1) WHERE company_id = $1`, [
            own.second.sandbox,
          ]),
      ],
    };

  async function copyCompany(companyId: string): Promise<void> {
    const [row] = await onB().query('SELECT * FROM companies WHERE id = $1', [companyId]);
    await onA().query('INSERT INTO companies SELECT * FROM json_populate_record(NULL::companies, $1)', [
      JSON.stringify(row),
    ]);
  }

  it('reports no move that begins while it compares the servers', async () => {
    await age();
    await reap();
    const { control, ...others } = service.shards;
    let hasBegun = false;
    const query: typeof control.query = async (text, values) => {
      const rows = await control.query(text, values);
      if (!hasBegun && text.includes('moving_to')) {
        hasBegun = true;
        await control.query(`UPDATE company_shards SET moving_to = 'a', moving_since = now() WHERE company_id = $1`, [
          own.second.live,
        ]);
        await onB().query(`INSERT INTO company_fences VALUES ($1, 'leaving')`, [own.second.live]);
      }
      return rows as never;
    };
    const found = await examineShards({ ...others, control: Object.assign(Object.create(control), { query }) });
    await control.query('UPDATE company_shards SET moving_to = NULL, moving_since = NULL');
    await onB().query('DELETE FROM company_fences');
    assert.ok(hasBegun);
    assert.deepEqual(found, []);
  });

  for (const [check, [plant, clear]] of Object.entries(planted)) {
    it(`finds: ${shardChecks[check as keyof typeof shardChecks]}`, async () => {
      await age();
      await reap();
      assert.deepEqual(await findings(), []);
      await plant();
      const found = await findings();
      await clear();
      assert.ok(found.includes(check), found.join());
    });
  }
});
