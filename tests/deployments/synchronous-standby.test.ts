import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { loadConfig } from '../../server/config.ts';
import { type AnyQueryable, openDatabase } from '../../server/platform/database.ts';
import { silentLog } from '../support/silent-log.ts';
import { type StandbyState, standbyState } from '../../server/platform/synchronous-standby.ts';
import { type Service, startService } from '../../server/service.ts';
import { svc } from '../support/command.ts';
import { waitUntil } from '../support/embedded-postgres.ts';
import { type Pair, startPair } from '../support/standby.ts';

/** A server whose commits wait for a standby, and what an operator sees when that standby is away. */

let folder: string;
let pair: Pair;
let service: Service;
let settings: Record<string, string>;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-synchronous-standby-'));
  pair = await startPair(folder);
  settings = {
    PORT: '0',
    DATABASE_URL: pair.primary.connectionString,
    SVC_MASTER_SECRET: 'the master secret of the tests of standbys',
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
  };
  service = await startService(loadConfig(settings), silentLog, assert.fail);
  await query(
    'CREATE ROLE ordinary LOGIN',
    'CREATE TABLE written (at timestamptz)',
    'GRANT ALL ON written TO ordinary',
  );
});

after(async () => {
  await nameStandby('');
  await service?.stop();
  await pair?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function query(...statements: string[]): Promise<pg.QueryResult[]> {
  const client = new pg.Client({ connectionString: pair.primary.connectionString });
  await client.connect();
  const results = [];
  for (const statement of statements) results.push(await client.query(statement));
  await client.end();
  return results;
}

async function nameStandby(names: string): Promise<void> {
  await query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`, 'SELECT pg_reload_conf()');
  await waitUntil(async () => {
    const [result] = await query(`SELECT current_setting('synchronous_standby_names') AS names`);
    return result?.rows[0].names === names;
  });
}

/** The URL of a login that may not see the sessions of others. */
function ordinary(): string {
  const url = new URL(pair.primary.connectionString);
  url.username = 'ordinary';
  url.password = rolePassword;
  return url.href;
}
const rolePassword = 'the password of an ordinary login';

async function stateFor(connectionString: string): Promise<StandbyState | undefined> {
  const db = openDatabase({ connectionString, poolSize: 1, applicationName: 'svc tests', onError: () => undefined });
  try {
    return await standbyState(db);
  } finally {
    await db.close();
  }
}

const readiness = async (): Promise<Record<string, unknown>> =>
  (await (await fetch(`${service.baseUrl}/readyz`)).json()) as Record<string, unknown>;

async function blocked(): Promise<string | undefined> {
  const text = await (await fetch(`${service.baseUrl}/metrics`)).text();
  return /^svc_shard_writes_blocked\{shard="a"\} (\d)$/m.exec(text)?.[1];
}

describe('a synchronous standby', () => {
  it('that is connected, or not required, is no problem', async () => {
    assert.equal(await stateFor(pair.primary.connectionString), undefined);
    assert.equal(await blocked(), '0');
    await nameStandby('*');
    await waitUntil(async () => (await stateFor(pair.primary.connectionString))?.problem === undefined);
    assert.match((await svc(settings, 'status')).stdout, /^Standby of a +connected$/m);
    const { stdout, stderr } = await svc(settings, 'doctor');
    assert.match(stdout, /No problems found/, stderr);
    assert.equal((await readiness()).status, 'ready');
  });

  it('that is missing is named by status, doctor, readiness and the metrics, with what to do', async () => {
    await nameStandby('pg_2');
    const problem =
      /synchronous_standby_names is 'pg_2', and 0 of 1 synchronous standbys are connected, so every write waits\. Start the standby, or run ALTER SYSTEM SET synchronous_standby_names = ''/;
    assert.match(
      (await svc(settings, 'status')).stdout,
      new RegExp(`^Standby of a +writes wait: ${problem.source}`, 'm'),
    );
    const { code, stderr } = await svc(settings, 'doctor');
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`1 × shard a whose writes wait for a synchronous standby: ${problem.source}`));
    const { status, standby } = await readiness();
    assert.equal(status, 'degraded');
    assert.match(String(standby), /^writes wait for a synchronous standby \(shard a\)/);
    assert.equal(await blocked(), '1');
    const { shards } = JSON.parse((await svc(settings, 'status', '--json')).stdout);
    assert.match(shards[0].standby.problem, problem);
  });

  it('is one of as many as the setting requires', async () => {
    await nameStandby('ANY 2 (*)');
    const [first] = await query(`SELECT application_name FROM pg_stat_replication`);
    assert.equal(first?.rows.length, 1);
    assert.match(String((await stateFor(pair.primary.connectionString))?.problem), /1 of 2 synchronous standbys/);
    await nameStandby('FIRST 1 (*)');
    // The writes that waited continue.
    await waitUntil(async () => (await stateFor(pair.primary.connectionString))?.problem === undefined);
  });

  it('that is connected and does not respond is seen by the writes that wait', async () => {
    await nameStandby('');
    await query(`ALTER ROLE ordinary PASSWORD '${rolePassword}'`);
    await nameStandby('pg_2');
    // A login without rights sees that a server is connected, and not which.
    assert.deepEqual(await stateFor(ordinary()), { names: 'pg_2', isSeen: false, waiting: 0, problem: undefined });
    const writer = new pg.Client({ connectionString: ordinary() });
    await writer.connect();
    const written = writer.query('INSERT INTO written VALUES (now())');
    await waitUntil(async () => (await stateFor(ordinary()))?.waiting === 1);
    const { problem } = (await stateFor(ordinary())) ?? {};
    assert.match(String(problem), /'pg_2', and 1 session has waited for a standby for more than 2 s/);
    await nameStandby('');
    await written;
    await writer.end();
    assert.equal(await blocked(), '0');
  });

  it('is not missed by a long statement that waits only for a moment', async () => {
    const waiters = [['7 10:00', '8 10:00'], ['8 10:00', '9 10:01'], ['9 10:01'], []];
    const row = { names: 'pg_2', needed: 1, connected: 1, synchronous: 1, is_seen: true };
    const answers = { query: async () => [{ ...row, waiters: waiters.shift() }] } as unknown as AnyQueryable;
    assert.equal((await standbyState(answers))?.waiting, 1);
    assert.equal((await standbyState(answers))?.problem, undefined);
  });

  it('that is not connected at all is missed by every login', async () => {
    await nameStandby('pg_2');
    await pair.standby.stop();
    await waitUntil(async () => (await stateFor(ordinary()))?.problem !== undefined);
    assert.match(String((await stateFor(ordinary()))?.problem), /0 of 1 standbys are connected/);
  });
});
