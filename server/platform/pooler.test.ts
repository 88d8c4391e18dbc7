import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findProgram } from '../../tests/drills/support/programs.ts';
import { cloneDatabase, type TestDatabase } from '../../tests/support/database.ts';
import { listen } from '../../tests/support/listen.ts';
import { until } from '../../tests/support/orders.ts';
import { startPooler, throughPooler } from '../../tests/support/pooler.ts';
import { type DatabaseOptions, type DatabasePool, openDatabase } from './database.ts';
import { byKeySettings } from './database-settings.ts';
import { migrate } from './migrations.ts';
import { type Pooler, poolerAt, refusePooler, refusePoolerOf } from './pooler.ts';

/** A pooler between the service and PostgreSQL. */

let database: TestDatabase;
before(async () => {
  database = await cloneDatabase(1);
});
after(() => database.drop());

const opened: DatabasePool[] = [];
after(() => Promise.all(opened.map((one) => one.close())));

function open(options: Partial<DatabaseOptions> = {}): DatabasePool {
  const db = openDatabase({
    connectionString: database.connectionString,
    poolSize: 2,
    applicationName: 'svc pooler test',
    onError: () => undefined,
    settings: byKeySettings,
    ...options,
  });
  opened.push(db);
  return db;
}

const settingOf = async (db: Pick<DatabasePool, 'query'>, name: string): Promise<string | undefined> =>
  (await db.query<{ value: string }>('SELECT current_setting($1) AS value', [name]))[0]?.value;

it('a connection begins with nothing that a pooler refuses', async () => {
  const server = createServer();
  const url = new URL(await listen(server));
  const db = open({ connectionString: `postgres://svc@${url.host}/svc` });
  const connected = once(server, 'connection');
  const refused = db.query('SELECT 1').catch(() => undefined);
  const [socket] = await connected;
  const [message] = (await once(socket, 'data')) as [Buffer];
  const words = message.subarray(8).toString().split('\0').filter(Boolean);
  const names = words.filter((_, index) => index % 2 === 0);
  assert.deepEqual(names.toSorted(), ['application_name', 'client_encoding', 'database', 'user']);
  socket.destroy();
  server.close();
  await refused;
});

it('a connection of the server has its settings from the first statement on', async () => {
  const db = open();
  assert.equal(await settingOf(db, 'statement_timeout'), '15s');
  assert.equal(await settingOf(db, 'enable_seqscan'), 'off');
});

it('all channels of a pool share one connection, which hears each of them again when it was lost', async () => {
  const db = open({ applicationName: 'svc many channels' });
  const heard: string[] = [];
  await Promise.all(
    ['one', 'two', 'three'].map((channel) =>
      db.listen(
        channel,
        (text) => void heard.push(`${channel} ${text}`),
        () => void heard.push(`${channel} gap`),
      ),
    ),
  );
  const listeners = `FROM pg_stat_activity WHERE application_name = 'svc many channels' AND query LIKE 'LISTEN%'`;
  const owner = open();
  assert.equal((await owner.query(`SELECT 1 ${listeners}`)).length, 1);
  await owner.query(`SELECT pg_notify('two', 'hello')`);
  await until('it is heard', async () => heard.includes('two hello'));
  await owner.query(`SELECT pg_terminate_backend(pid) ${listeners}`);
  await until('each has a gap', async () => heard.filter((text) => text.endsWith('gap')).length === 3);
  await owner.query(`SELECT pg_notify('three', 'again')`);
  await until('it is heard again', async () => heard.includes('three again'));
});

function throughOwn(keepsStatements: boolean): Pooler {
  return {
    connectionString: database.connectionString,
    keepsStatements: () => keepsStatements,
    examine: async () => {},
  };
}

describe('through a pooler in transaction mode', () => {
  it('each transaction makes its own settings, and leaves none', async () => {
    const db = open({ pooler: throughOwn(false), poolSize: 1 });
    assert.equal(await settingOf(db, 'statement_timeout'), '15s');
    await db.transaction(async (transaction) => {
      assert.equal(await settingOf(transaction, 'lock_timeout'), '10s');
      assert.equal(await settingOf(transaction, 'plan_cache_mode'), 'force_generic_plan');
    });
    await assert.rejects(db.query('SELECT 1 / 0'), /division by zero/);
    assert.equal(await settingOf(db, 'enable_seqscan'), 'off', 'the connection is used again after an error');
  });

  it('a statement that fails only at its COMMIT fails', async () => {
    const db = open({ pooler: throughOwn(false), poolSize: 1 });
    await db.query('CREATE TABLE committed_late (id integer UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    await assert.rejects(db.query('INSERT INTO committed_late VALUES (1), (1)'), { code: '23505' });
    assert.deepEqual(await db.query('SELECT id FROM committed_late'), []);
  });

  for (const keeps of [true, false]) {
    it(`statements are ${keeps ? '' : 'not '}prepared if it ${keeps ? 'keeps' : 'does not keep'} them`, async () => {
      const db = open({ pooler: throughOwn(keeps), poolSize: 1 });
      await settingOf(db, 'work_mem');
      const prepared = await db.query(`SELECT 1 FROM pg_prepared_statements WHERE statement LIKE '%current_setting%'`);
      assert.equal(prepared.length > 0, keeps);
    });
  }
});

/**
 * What a pooler is recognized by, without one: it names a process of its own. In transaction mode no message reaches a
 * client that only waits; in session mode a late one comes with the next answer.
 */
async function imitate(messages: 'lost' | 'late'): Promise<{ url: string; close(): void }> {
  const { hostname, port } = new URL(database.connectionString);
  const server = createServer((client) => {
    const postgres = connect(Number(port), hostname);
    let buffered = Buffer.alloc(0);
    const kept: Buffer[] = [];
    client.pipe(postgres);
    postgres.on('data', (data) => {
      buffered = Buffer.concat([buffered, data]);
      while (buffered.length > 4 && buffered.length > buffered.readUInt32BE(1)) {
        const end = buffered.readUInt32BE(1) + 1;
        const message = Buffer.from(buffered.subarray(0, end));
        buffered = buffered.subarray(end);
        const type = String.fromCharCode(message[0] ?? 0);
        if (type === 'K') message.writeUInt32BE(1, 5);
        if (type === 'A') kept.push(message);
        else
          client.write(Buffer.concat(type === 'D' && messages === 'late' ? [...kept.splice(0), message] : [message]));
      }
    });
    postgres.on('close', () => client.destroy());
    client.on('error', () => undefined).on('close', () => postgres.destroy());
  });
  const url = new URL(database.connectionString);
  url.port = new URL(await listen(server)).port;
  return { url: url.href, close: () => server.close() };
}

describe('the address of a server', () => {
  it('that leads to a pooler in transaction mode is refused', async () => {
    const { url, close } = await imitate('lost');
    await assert.rejects(refusePooler(url, 'DATABASE_URL', 'SVC_POOL_URL'), /DATABASE_URL leads to a pooler/);
    close();
  });

  it('that leads to a pooler in session mode is not refused, also if its messages are late', async () => {
    const { url, close } = await imitate('late');
    await refusePooler(url, 'DATABASE_URL', 'SVC_POOL_URL');
    close();
  });

  it('is refused before anything is migrated', async () => {
    const { url, close } = await imitate('lost');
    const address = { connectionString: url, setting: 'The shard "b" of SVC_SHARDS', poolSetting: 'SVC_POOL_SHARDS' };
    const migrated = migrate(url, [], { examine: (client) => refusePoolerOf(client, address) });
    await assert.rejects(
      migrated,
      /The shard "b" of SVC_SHARDS leads to a pooler.* SVC_POOL_SHARDS to that of the pooler/,
    );
    close();
  });
});

const hasPgBouncer = findProgram('pgbouncer') !== undefined;

describe('with PgBouncer', { skip: !hasPgBouncer && 'pgbouncer is not installed' }, () => {
  const logins = {};
  async function start(mode: 'session' | 'transaction'): Promise<{ url: string; stop(): Promise<void> }> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-pooler-'));
    const { port, stop } = await startPooler({ folder, serverUrl: database.connectionString, mode, logins });
    return { url: throughPooler(database.connectionString, port), stop };
  }

  it('in session mode everything works as without it', async () => {
    const { url, stop } = await start('session');
    await refusePooler(url, 'DATABASE_URL', 'SVC_POOL_URL');
    const db = open({ connectionString: url });
    assert.equal(await settingOf(db, 'lock_timeout'), '10s');
    await db.close();
    await stop();
  });

  it('in transaction mode its address is refused as that of the server, and works as that of a pooler', async () => {
    const { url, stop } = await start('transaction');
    await assert.rejects(refusePooler(url, 'DATABASE_URL', 'SVC_POOL_URL'), /^\S+ DATABASE_URL leads to a pooler/);
    const pooler = poolerAt(url);
    await pooler.examine();
    const db = open({ pooler, poolSize: 8 });
    const all = Array.from({ length: 50 }, (_, index) => settingOf(db, index % 2 ? 'lock_timeout' : 'work_mem'));
    assert.deepEqual(new Set((await Promise.all(all)).filter((_, index) => index % 2)), new Set(['10s']));
    let heard = '';
    await db.listen(
      'through',
      (text) => {
        heard = text;
      },
      () => undefined,
    );
    await db.query(`SELECT pg_notify('through', 'it')`);
    await until('it is heard', async () => heard === 'it');
    await db.close();
    await stop();
  });
});
