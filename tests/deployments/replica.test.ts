import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadConfig } from '../../server/config.ts';
import { type DatabasePool, openDatabase } from '../../server/platform/database.ts';
import { silentLog } from '../support/silent-log.ts';
import { openReplica, replicaState } from '../../server/platform/replica.ts';
import { type Service, startService } from '../../server/service.ts';
import { svc } from '../support/command.ts';
import { type Person, signUp } from '../support/dashboard.ts';
import { waitUntil } from '../support/embedded-postgres.ts';
import { type FreezingProxy, startFreezingProxy } from '../support/freezing-proxy.ts';
import { callAt, type Reply, someCustomer, type TestService } from '../support/service.ts';
import { type Pair, startPair } from '../support/standby.ts';

/** A real standby that answers reads, behind a network that can fail. Two API processes share both servers. */

let folder: string;
let pair: Pair;
let proxy: FreezingProxy;
let services: [Service, Service];
let key: string;
let member: Person;
const pools: DatabasePool[] = [];
let [primary, standby] = [{} as DatabasePool, {} as DatabasePool];
let settings: Record<string, string>;

function open(connectionString: string, statementTimeoutMs = 1_000): DatabasePool {
  const options = { connectionString, poolSize: 2, applicationName: 'svc tests', isReplica: true };
  const pool = openDatabase({ ...options, onError: () => undefined, statementTimeoutMs });
  pools.push(pool);
  return pool;
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-replica-'));
  pair = await startPair(folder);
  proxy = await startFreezingProxy(pair.standby.connectionString);
  [primary, standby] = [open(pair.primary.connectionString), open(pair.standby.connectionString)];
  settings = {
    PORT: '0',
    DATABASE_URL: pair.primary.connectionString,
    SVC_READ_URL: proxy.through(pair.standby.connectionString),
    // A busy machine must not make the standby look late.
    SVC_READ_WAIT_MS: '1000',
    SVC_DATABASE_TIMEOUT_MS: '1500',
    SVC_MASTER_SECRET: 'the master secret of the tests of replicas',
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_DEMO: 'empty',
    SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
  };
  const start = (): Promise<Service> => startService(loadConfig(settings), silentLog, assert.fail);
  services = [await start(), await start()];
  const [{ demo, baseUrl }] = services;
  assert.ok(demo);
  key = demo.secret_key;
  const at = { baseUrl, call: (...call: Parameters<TestService['call']>) => callOn(0, ...call) };
  member = await signUp(at as TestService);
});

after(async () => {
  await Promise.all((services ?? []).map((service) => service.stop()));
  await Promise.all(pools.map((pool) => pool.close()));
  await proxy?.stop();
  await pair?.stop();
  await rm(folder, { recursive: true, force: true });
});

const callOn = (index: 0 | 1, method: string, path: string, options = {}): Promise<Reply> =>
  callAt(services[index].baseUrl, key, method, path, options);

async function metric(name: string): Promise<number | undefined> {
  const text = await (await fetch(`${services[0].baseUrl}/metrics`)).text();
  const value = text.split('\n').find((line) => line.startsWith(name));
  return value === undefined ? undefined : Number(value.split(' ').at(-1));
}

// Both services are in this process, which has one registry of metrics.
const readsOn = async (server: 'replica' | 'primary'): Promise<number> =>
  (await metric(`svc_replica_reads_total{server="${server}"}`)) ?? 0;

/** Creates a customer at one process, and returns the newest of the list at the other. */
async function writeAndList(): Promise<{ created: string; newest: string }> {
  const made = await callOn(0, 'POST', '/v1/customers', { body: someCustomer() });
  assert.equal(made.status, 201, made.text);
  const list = await callOn(1, 'GET', '/v1/customers?limit=1');
  assert.equal(list.status, 200, list.text);
  return { created: made.body.id, newest: list.body.data[0].id };
}

/** Repeats a read until the replica answers it: on a busy machine, the primary answers for a second now and then. */
async function untilUsed(read = (): Promise<Reply> => callOn(1, 'GET', '/v1/customers?limit=1')): Promise<void> {
  const before = await readsOn('replica');
  await waitUntil(async () => {
    const { status, text } = await read();
    assert.equal(status, 200, text);
    return (await readsOn('replica')) > before;
  }, 20_000);
}

describe('a replica', () => {
  it('answers lists, searches, counts and figures', async () => {
    const lists = ['orders', 'customers', 'products', 'plans', 'coupons', 'subscriptions', 'transactions', 'events'];
    for (const list of [...lists, 'requests', 'team_members', 'webhook_endpoints', 'payment_links'])
      await untilUsed(() => callOn(0, 'GET', `/v1/${list}`));
    for (const path of [
      'statistics',
      'attention',
      'in_doubt',
      'waiting_charges',
      'search?q=tea',
      'counts/orders',
      'audit_log',
    ])
      await untilUsed(() => member.in('GET', `/dashboard/${path}`));
  });

  it('shows every write that was answered before, whichever process answered it', async () => {
    await untilUsed();
    const before = await readsOn('replica');
    // Repeated until the metrics show it: their text is shared for 200 ms, and after a slow read the primary answers for
    // a second.
    await waitUntil(async () => {
      const { created, newest } = await writeAndList();
      assert.equal(newest, created);
      return (await readsOn('replica')) >= before + 20;
    }, 20_000);
  });

  it('is not used while it is behind, and used again once it has caught up', async () => {
    await untilUsed();
    await standby.query('SELECT pg_wal_replay_pause()');
    await waitUntil(async () => {
      const [row] = await standby.query<{ state: string }>('SELECT pg_get_wal_replay_pause_state() AS state');
      return row?.state === 'paused';
    });
    const before = await readsOn('primary');
    const { created, newest } = await writeAndList();
    assert.equal(newest, created);
    assert.equal(await readsOn('primary'), before + 1);
    const { lagSeconds } = await replicaState({ primary, standby });
    assert.ok((lagSeconds ?? 0) > 0, `${lagSeconds}`);
    await standby.query('SELECT pg_wal_replay_resume()');
    await untilUsed();
    assert.equal(await metric('svc_replica_up{shard="a"}'), 1);
  });

  it('that hangs delays a read by at most the configured wait', async () => {
    await untilUsed();
    proxy.accept(false);
    proxy.freeze();
    const startedMs = performance.now();
    const { created, newest } = await writeAndList();
    assert.equal(newest, created);
    assert.ok(performance.now() - startedMs < 5_000);
    const { status, text } = await callOn(0, 'GET', '/readyz', { key: null });
    assert.equal(status, 200, text);
    assert.equal(await metric('svc_replica_up{shard="a"}'), 0);
    proxy.accept(true);
    await untilUsed();
  });

  it('that is lost is noticed by the metrics and by the commands', async () => {
    assert.match((await svc(settings, 'status')).stdout, /Replica of a +used, \d+\.\d s behind/);
    const away = { ...settings, SVC_READ_URL: 'postgres://svc@127.0.0.1:9/svc' };
    assert.match((await svc(away, 'status')).stdout, /Replica of a +not used: it does not respond/);
    const { code, stderr } = await svc(away, 'doctor');
    assert.equal(code, 1);
    assert.match(stderr, /replica of the shard a that is not used: it does not respond/);
  });

  it('is refused as DATABASE_URL when a process starts', async () => {
    const config = loadConfig({ ...settings, DATABASE_URL: pair.standby.connectionString });
    await assert.rejects(
      startService(config, silentLog, () => undefined),
      /DATABASE_URL is a standby.*Set DATABASE_URL to its primary/,
    );
  });

  it('is refused if it is not a standby of the database', async () => {
    const template = open(pair.primary.connectionString.replace('/postgres?', '/template1?'));
    assert.deepEqual(
      (await replicaState({ primary, standby: primary })).problem,
      'it accepts writes, so it is not a standby',
    );
    assert.equal((await replicaState({ primary, standby: template })).problem, 'it is not a standby of this database');
    const replica = openReplica({ primary, standby: template }, { waitMs: 1_000 });
    assert.equal(await replica.read(async (db) => db), primary);
  });

  it('that fails during a read leaves the read to the primary, and passes other errors on', async () => {
    const replica = openReplica({ primary, standby }, { waitMs: 1_000 });
    const tried: string[] = [];
    const name = (db: unknown): string => (db === primary ? 'primary' : 'replica');
    const isReadOnly = await replica.read(async (db) => {
      tried.push(name(db));
      if (db !== primary) await db.query('CREATE TABLE refused_by_a_standby ()');
      return true;
    });
    assert.ok(isReadOnly);
    assert.deepEqual(tried, ['replica', 'primary']);
    const other = openReplica({ primary, standby }, { waitMs: 1_000 });
    const asked: string[] = [];
    const failing = other.read(async (db) => {
      asked.push(name(db));
      throw new Error('not about the database');
    });
    await assert.rejects(failing, /not about the database/);
    assert.deepEqual(asked, ['replica']);
  });

  it('of a further shard answers for the companies there', async () => {
    await open(pair.primary.connectionString, 30_000).query('CREATE DATABASE shard_b TEMPLATE template0');
    const inShard = (url: string): string => url.replace('/postgres?', '/shard_b?');
    const { SVC_READ_URL: _, ...others } = settings;
    const sharded = {
      ...others,
      SVC_SHARDS: `b=${inShard(pair.primary.connectionString)}`,
      SVC_READ_SHARDS: `b=${inShard(pair.standby.connectionString)}`,
    };
    const third = await startService(loadConfig(sharded), silentLog, assert.fail);
    try {
      const call: TestService['call'] = (method, path, options = {}) =>
        callAt(third.baseUrl, key, method, path, options);
      // The shard with the fewest companies takes the new one.
      const there = await signUp({ baseUrl: third.baseUrl, call } as TestService);
      await untilUsed(() => there.in('GET', '/v1/customers'));
      for (let round = 0; round < 5; round += 1) {
        const made = await there.in('POST', '/v1/customers', someCustomer());
        const list = await there.in('GET', '/v1/customers?limit=1');
        assert.equal(list.body.data[0].id, made.body.id);
      }
      assert.equal((await call('GET', '/v1/customers')).status, 200);
      const { stdout } = await svc(sharded, 'status');
      assert.match(stdout, /Replica of b +used, \d+\.\d s behind/);
      assert.doesNotMatch(stdout, /Replica of a/);
    } finally {
      await third.stop();
    }
  });

  it('that was promoted is not used any more', async () => {
    await untilUsed();
    await standby.query('SELECT pg_promote()');
    const before = await readsOn('replica');
    for (let round = 0; round < 5; round += 1) {
      const { created, newest } = await writeAndList();
      assert.equal(newest, created);
    }
    assert.equal(await readsOn('replica'), before);
    assert.equal(await metric('svc_replica_up{shard="a"}'), 0);
  });
});
