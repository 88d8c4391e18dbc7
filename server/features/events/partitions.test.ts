import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DatabasePool, openDatabase } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { cloneDatabase, type TestDatabase } from '../../../tests/support/database.ts';
import { maintainPartitions } from './jobs.ts';
import { emitEvents, newEvent } from './service.ts';

const tables = ['events', 'webhook_deliveries', 'webhook_delivery_logs'];
const weekMs = 7 * 86_400_000;
const companyId = newId(Date.now());

let database: TestDatabase;
let owner: DatabasePool;
/** With the rights of the service. */
let api: DatabasePool;

const open = (connectionString: string): DatabasePool =>
  openDatabase({ connectionString, poolSize: 4, applicationName: 'svc tests', onError: () => undefined });

beforeEach(async () => {
  database = await cloneDatabase(1);
  owner = open(database.connectionString);
  api = open(database.apiUrl);
});
afterEach(async () => {
  await Promise.all([owner.close(), api.close()]);
  await database.drop();
});

async function piecesOf(table: string): Promise<string[]> {
  const rows = await owner.query<{ name: string }>(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::regclass ORDER BY 1`,
    [table],
  );
  return rows.map(({ name }) => name);
}

async function happen(db: DatabasePool, count = 1): Promise<void> {
  const events = Array.from({ length: count }, () => {
    const nowMs = Date.now();
    return newEvent(companyId, nowMs, 'customer.created', { id: newId(nowMs) }, 1, null);
  });
  await emitEvents(db, events);
}

const countIn = async (table: string): Promise<number> =>
  (await owner.query<{ count: number }>(`SELECT count(*)::integer AS count FROM ${table}`))[0]?.count ?? -1;

/** A piece as it was made that many weeks ago, with one event in it. */
async function oldPiece(weeksAgo: number): Promise<string> {
  const [week] = await owner.query<{ name: string; from: string; to: string }>(
    `SELECT 'events_' || to_char(w, 'YYYYMMDD') AS name, w::text AS from, (w + interval '1 week')::text AS to
     FROM (SELECT date_trunc('week', now()) - $1 * interval '1 week' AS w) AS weeks`,
    [weeksAgo],
  );
  assert.ok(week);
  await owner.query(`CREATE TABLE ${week.name} PARTITION OF events FOR VALUES FROM ('${week.from}') TO ('${week.to}')`);
  await owner.query(
    `INSERT INTO events (company_id, id, type, object_id, sequence, object, inserted_at)
     VALUES ($1, $2, 'customer.created', $2, 1, '{}', $3::timestamptz + interval '1 hour')`,
    [companyId, newId(Date.now() - weeksAgo * weekMs), week.from],
  );
  return week.name;
}

describe('growing tables', () => {
  it('accept rows before any partition was created, also from the role of the service', async () => {
    for (const table of tables) assert.deepEqual(await piecesOf(table), [`${table}_default`]);
    await happen(api);
    assert.equal(await countIn('events_default'), 1);
  });

  it('get a partition for this week and the next ones from the service itself', async () => {
    await maintainPartitions(api);
    for (const table of tables) {
      const pieces = await piecesOf(table);
      const weeks = pieces.filter((name) => /_\d{8}$/.test(name));
      assert.ok(weeks.length >= 3 && weeks.length <= 4, table);
      assert.ok(pieces.includes(`${table}_default`));
    }
    await happen(api);
    assert.equal(await countIn('events_default'), 0);
    assert.equal(await countIn('events'), 1);
    const before = await piecesOf('events');
    await maintainPartitions(api);
    assert.deepEqual(await piecesOf('events'), before, 'once');
  });

  it('move rows that came before their partition was created, and lose none', async () => {
    await happen(api, 50);
    const rows = await owner.query('SELECT * FROM events ORDER BY id');
    await maintainPartitions(api);
    assert.equal(await countIn('events_default'), 0);
    assert.deepEqual(await owner.query('SELECT * FROM events ORDER BY id'), rows);
  });

  it('drop partitions older than 30 days, and nothing younger', async () => {
    const [old, recent] = [await oldPiece(6), await oldPiece(3)];
    await owner.query(
      `INSERT INTO events_default (company_id, id, type, object_id, sequence, object, inserted_at)
       SELECT $1, id, 'customer.created', id, 1, '{}', now() - days * interval '1 day'
       FROM (VALUES ($2::uuid, 31), ($3::uuid, 29)) AS v (id, days)`,
      [companyId, newId(1), newId(2)],
    );
    await maintainPartitions(api);
    const pieces = await piecesOf('events');
    assert.ok(!pieces.includes(old));
    assert.ok(pieces.includes(recent));
    const left = await owner.query<{ id: string }>('SELECT id FROM events ORDER BY id');
    assert.equal(left.length, 2, 'one of the recent piece and one of 29 days');
    assert.equal(left[0]?.id.startsWith('00000000-0002'), true);
  });

  it('are maintained by two services at once', async () => {
    await Promise.all([maintainPartitions(api), maintainPartitions(owner), maintainPartitions(api)]);
    assert.ok((await piecesOf('events')).length >= 4);
  });

  it('drop deliveries that wait for a retry and have outlived their event', async () => {
    await maintainPartitions(api);
    await happen(api);
    const replayed = async (of: string): Promise<void> => {
      await owner.query(
        `INSERT INTO webhook_deliveries (company_id, endpoint_id, event_id, event_inserted_at, next_attempt_at)
         SELECT company_id, uuidv7(), id, inserted_at, now() FROM (${of}) AS e`,
      );
    };
    await replayed('SELECT company_id, id, inserted_at FROM events');
    await replayed(
      `SELECT '${companyId}'::uuid AS company_id, uuidv7() AS id, now() - interval '38 days' AS inserted_at`,
    );
    await maintainPartitions(api);
    const rows = await owner.query<{ status: string; next_attempt_at: Date | null }>(
      'SELECT status, next_attempt_at FROM webhook_deliveries ORDER BY event_inserted_at',
    );
    assert.deepEqual(
      rows.map(({ status, next_attempt_at }) => [status, next_attempt_at === null]),
      [
        ['failed', true],
        ['pending', false],
      ],
    );
  });

  it('do not block reads and writes meanwhile, once this week has its partition', async () => {
    await maintainPartitions(api);
    let stopped = false;
    const failures: unknown[] = [];
    let written = 0;
    const write = async (): Promise<void> => {
      while (!stopped) {
        await happen(api).then(
          () => {
            written += 1;
          },
          (error: unknown) => failures.push(error),
        );
        await owner.query('SELECT count(*) FROM endpoint_events').catch((error: unknown) => failures.push(error));
      }
    };
    const writers = [write(), write(), write()];
    try {
      for (let round = 0; round < 4; round += 1) {
        // As on the first day of a week: one piece is to be made, another to be dropped.
        for (const table of tables) {
          const last = (await piecesOf(table)).findLast((name) => /_\d{8}$/.test(name));
          await owner.query(`DROP TABLE ${last}`);
        }
        await oldPiece(7 + round);
        await maintainPartitions(api);
        await sleep(20);
      }
    } finally {
      stopped = true;
    }
    await Promise.all(writers);
    assert.deepEqual(failures, []);
    assert.equal(await countIn('events'), written);
  });
});
