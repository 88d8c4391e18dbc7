import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cloneDatabase, type TestDatabase } from '../../tests/support/database.ts';
import { type FreezingProxy, startFreezingProxy } from '../../tests/support/freezing-proxy.ts';
import { type DatabasePool, isAway, isUnavailable, openDatabase } from './database.ts';
import { createBatcher } from './batcher.ts';

/** What happens when the network to the database stops carrying packets, in a tenth of the usual times. */

const statementTimeoutMs = 1_500;
/** A fifth longer, and some time for a busy machine. */
const givenUpMs = statementTimeoutMs * 1.2 + 700;

let database: TestDatabase;
let proxy: FreezingProxy;
let db: DatabasePool;

before(async () => {
  database = await cloneDatabase(1);
});

after(() => database.drop());

beforeEach(async () => {
  proxy = await startFreezingProxy(database.connectionString);
  db = open();
});

afterEach(async () => {
  db.abort();
  await db.close();
  await proxy.stop();
});

function open(more: { poolSize?: number; connectionString?: string } = {}): DatabasePool {
  return openDatabase({
    connectionString: proxy.through(database.connectionString),
    poolSize: 4,
    applicationName: 'svc tests',
    onError: () => undefined,
    statementTimeoutMs,
    ...more,
  });
}

async function timed<Result>(work: Promise<Result>): Promise<{ ms: number; outcome: Result | Error }> {
  const startedMs = performance.now();
  const outcome = await work.catch((error: Error) => error);
  return { ms: performance.now() - startedMs, outcome };
}

/** Leaves this many connections open and idle. */
async function warm(count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => db.query('SELECT pg_sleep(0.05)')));
  assert.equal(db.stats().idle, count);
}

describe('a network that carries nothing any more', () => {
  it('costs a statement a bounded time, and the next one gets a connection that works', async () => {
    await warm(1);
    proxy.freeze();
    const lost = await timed(db.query('SELECT 1'));
    assert.ok(isUnavailable(lost.outcome));
    assert.ok(lost.ms < givenUpMs, `${lost.ms} ms`);
    assert.deepEqual(await db.query('SELECT 1 AS one'), [{ one: 1 }]);
  });

  it('costs a transaction that time once: nothing waits for a ROLLBACK', async () => {
    await warm(1);
    const lost = await timed(
      db.transaction(async (transaction) => {
        await transaction.query('SELECT 1');
        proxy.loseAnswers();
      }),
    );
    assert.ok(isUnavailable(lost.outcome));
    assert.ok(lost.ms < givenUpMs, `${lost.ms} ms`);
  });

  it('is noticed on idle connections too, before they are needed', async () => {
    await warm(3);
    proxy.freeze();
    await sleep(statementTimeoutMs);
    const { ms, outcome } = await timed(db.query('SELECT 1 AS one'));
    assert.deepEqual(outcome, [{ one: 1 }]);
    // Without the check, the statement would wait for its own timeout.
    assert.ok(ms < statementTimeoutMs, `${ms} ms`);
  });

  it('is noticed by a listener, which reconnects and reports the gap', async () => {
    const heard: string[] = [];
    await db.listen(
      'drill',
      (payload) => heard.push(payload),
      () => heard.push('gap'),
    );
    proxy.freeze();
    const deadlineMs = performance.now() + 4 * statementTimeoutMs;
    while (!heard.includes('gap') && performance.now() < deadlineMs) await sleep(20);
    await db.query(`SELECT pg_notify('drill', 'news')`);
    await sleep(100);
    assert.deepEqual(heard, ['gap', 'news']);
  });

  it('does not hold up the end of a process: a pool that is cut ends at once', async () => {
    await warm(2);
    await db.listen(
      'drill',
      () => undefined,
      () => undefined,
    );
    proxy.freeze();
    const running = db.query('SELECT 1').catch((error: unknown) => error);
    await sleep(50);
    db.abort();
    const { ms } = await timed(db.close());
    assert.ok(ms < 200, `${ms} ms`);
    assert.ok((await running) instanceof Error);
    await assert.rejects(db.query('SELECT 1'), { name: 'Error', message: /connections of this process are closed/ });
  });

  it('fails a whole batch at once, not each of its members after the other', async () => {
    await warm(1);
    const lane = createBatcher('facts', async (items: readonly number[]) => {
      await db.query('SELECT 1');
      return items;
    });
    proxy.freeze();
    proxy.accept(false);
    const { ms, outcome } = await timed(Promise.allSettled(Array.from({ length: 64 }, (_, index) => lane(index))));
    assert.ok(Array.isArray(outcome) && outcome.every(({ status }) => status === 'rejected'));
    assert.ok(ms < givenUpMs, `${ms} ms`);
  });
});

describe('a batch', () => {
  it('stops being tried one by one as soon as the database is away', async () => {
    let calls = 0;
    const lane = createBatcher('facts', async (items: readonly number[]) => {
      calls += 1;
      if (calls === 1) throw new Error('one of them is wrong');
      if (items[0] === 2) throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
      return items;
    });
    const outcomes = await Promise.allSettled([0, 1, 2, 3, 4].map((item) => lane(item)));
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'rejected', 'rejected'],
    );
    assert.equal(calls, 4);
  });

  it('is tried one by one after a deadlock, since each may go through alone', async () => {
    const held = db.transaction(async (transaction) => {
      await transaction.query('SELECT pg_advisory_xact_lock(1)');
      await sleep(100);
      await transaction.query('SELECT pg_advisory_xact_lock(2)');
    });
    const lane = createBatcher('facts', async (items: readonly number[]) => {
      if (items.length > 1) {
        await db.transaction(async (transaction) => {
          await transaction.query('SELECT pg_advisory_xact_lock(2)');
          await sleep(100);
          await transaction.query(`SET LOCAL deadlock_timeout = '10ms'`);
          await transaction.query('SELECT pg_advisory_xact_lock(1)');
        });
      }
      return items;
    });
    assert.deepEqual(await Promise.all([lane(1), lane(2)]), [1, 2]);
    await held;
  });
});

describe('an error', () => {
  const failure = (facts: object): Error => Object.assign(new Error('it failed'), facts);

  it('of any way of not getting to the database says that it is away', async () => {
    const codes = ['EACCES', 'EPERM', 'EADDRNOTAVAIL', 'ENETUNREACH', 'EHOSTUNREACH', 'ECONNREFUSED', 'ETIMEDOUT'];
    for (const code of codes) assert.ok(isAway(failure({ code, syscall: 'connect' })), code);
    for (const code of ['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL']) {
      assert.ok(isAway(failure({ code, syscall: 'getaddrinfo' })), code);
    }
    for (const code of ['ECONNRESET', 'EHOSTUNREACH', 'ENETDOWN', 'EHOSTDOWN', 'ENETRESET', 'EPIPE', 'ETIMEDOUT']) {
      assert.ok(isAway(failure({ code, syscall: 'read' })), code);
    }
    const several = [failure({ code: 'EACCES', syscall: 'connect' }), failure({ code: 'EPERM', syscall: 'connect' })];
    assert.ok(isAway(new AggregateError(several)));
    for (const address of ['127.0.0.1:1', '255.255.255.255:5432', 'localhost:1']) {
      const nowhere = open({ connectionString: `postgres://svc@${address}/svc` });
      const lost = await nowhere.query('SELECT 1').catch((error: unknown) => error);
      assert.ok(isUnavailable(lost), `${address}: ${String(lost)}`);
      await nowhere.close();
    }
  });

  it('of our own does not', () => {
    for (const error of [new Error('a mistake'), failure({ code: 'ENOSPC', syscall: 'write' }), 'a text', undefined]) {
      assert.equal(isAway(error), false);
    }
    assert.equal(isAway(new AggregateError([new Error('a mistake')])), false);
  });
});

describe('a ping', () => {
  it('fails within its deadline when nothing answers, for each pool separately', async () => {
    await warm(1);
    const other = open({ connectionString: database.connectionString });
    proxy.freeze();
    proxy.accept(false);
    await sleep(1_100);
    const { ms, outcome } = await timed(db.ping(300));
    assert.match(String(outcome), /did not respond within 300 ms|read timeout/);
    assert.ok(ms < 500, `${ms} ms`);
    await other.ping(300);
    await other.close();
  });

  it('passes while every connection is busy and the database answers', async () => {
    const small = open({ poolSize: 1 });
    let stopped = false;
    const busy = (async () => {
      while (!stopped) {
        await Promise.all([small.query('SELECT pg_sleep(0.3)'), small.query('SELECT pg_sleep(0.3)')]);
      }
    })();
    await sleep(700);
    await small.ping(400);
    stopped = true;
    await busy;
    await small.close();
  });

  it('fails from a write that the disk refused until one succeeds, even if reads succeed meanwhile', async () => {
    const owner = open({ connectionString: database.connectionString });
    await owner.query(`CREATE FUNCTION refuse_writes() RETURNS event_trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`);
    await db.ping(1_000);
    await owner.query('CREATE EVENT TRIGGER full_disk ON ddl_command_start EXECUTE FUNCTION refuse_writes()');
    const refused = await db.query('CREATE TABLE more ()').catch((error: unknown) => error);
    assert.ok(isUnavailable(refused));
    for (let count = 0; count < 3; count += 1) {
      await db.query('SELECT 1');
      await assert.rejects(db.ping(1_000), /No space left/);
    }
    await owner.query('DROP EVENT TRIGGER full_disk');
    await db.ping(1_000);
    await db.query('CREATE TABLE more ()');
    await owner.close();
  });

  it('fails when the database takes no writes', async () => {
    const readOnly = new URL(database.connectionString);
    readOnly.searchParams.set('options', '-c default_transaction_read_only=on');
    const standby = open({ connectionString: readOnly.href });
    await assert.rejects(standby.ping(1_000), /read-only/);
    const refused = await standby.query('CREATE TABLE no_such_luck ()').catch((error: unknown) => error);
    assert.ok(isAway(refused));
    await assert.rejects(standby.ping(1_000), /read-only/);
    await standby.close();
  });
});
