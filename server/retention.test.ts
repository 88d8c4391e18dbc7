import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { recordedTables } from '../tests/support/schema.ts';
import { startTestService, type TestService } from '../tests/support/service.ts';
import { forgetOldEntries } from './features/audit/jobs.ts';
import { measureTables, readTableSizes } from './jobs/table-sizes.ts';
import { jobNames } from './jobs/worker.ts';
import { dayMs } from './platform/durations.ts';
import { firstIdOf } from './platform/ids.ts';
import { retentions } from './retention.ts';

/** What is kept, and for how long. */

let service: TestService;
let companyId: string;

before(async () => {
  service = await startTestService();
  ({
    sandbox: { id: companyId },
  } = await service.createMerchant());
});
after(() => service.stop());

it('every table of the schema has a retention or a bound, or holds the records of merchants', async () => {
  const tables = (await recordedTables()).map(({ name }) => name);
  assert.deepEqual(tables.filter((name) => !name.endsWith('_default')).toSorted(), Object.keys(retentions).toSorted());
});

it('what is kept for a time has a job of the worker that deletes it', () => {
  for (const [table, retention] of Object.entries(retentions)) {
    if (retention.kept === 'time') assert.ok(jobNames.includes(retention.job), `${table}: ${retention.job}`);
  }
});

describe('audit entries', () => {
  async function write(kind: 'key' | 'member' | 'operator', ageDays: number): Promise<void> {
    const time = firstIdOf(Date.now() - ageDays * dayMs).slice(0, 14);
    const id = `${time}7${randomUUID().slice(15)}`;
    await service.db.query(
      `INSERT INTO audit_entries (company_id, id, actor_kind, actor_id, actor_name, action, fields, address, request_id)
       VALUES ($1, $2, $3, $4, $5, 'createOrder', '{}', '127.0.0.1', 'req')`,
      [companyId, id, kind, kind === 'operator' ? null : randomUUID(), `${kind} ${ageDays}`],
    );
  }

  async function left(): Promise<string[]> {
    const rows = await service.db.query<{ actor_name: string }>(
      `SELECT actor_name FROM audit_entries WHERE company_id = $1 AND request_id = 'req' ORDER BY actor_name`,
      [companyId],
    );
    return rows.map(({ actor_name }) => actor_name);
  }

  it('of keys and of people are deleted after their own time, in batches, and never early', async () => {
    for (const age of [20, 80, 100, 390, 410]) {
      for (const kind of ['key', 'member', 'operator'] as const) await write(kind, age);
    }
    const forget = (people: number, keys: number, batch = 500): Promise<number> =>
      forgetOldEntries(service.db, { people, keys }, batch);
    assert.equal(await forget(0, 0), 0, '0 keeps all');
    assert.equal(await forget(400, 90, 2), 2, 'a batch');
    assert.equal(await forget(400, 90), 3);
    assert.equal(await forget(400, 90), 0);
    const people = (...ages: number[]): string[] =>
      ['member', 'operator'].flatMap((kind) => ages.map((age) => `${kind} ${age}`));
    assert.deepEqual(await left(), ['key 20', 'key 80', ...people(100, 20, 390, 80)]);
    // The database keeps a year of people and 30 days of keys, even if it is asked for less.
    await forget(1, 1);
    assert.deepEqual(await left(), ['key 20', ...people(100, 20, 80)]);
  });
});

describe('the sizes of tables', () => {
  it('are measured once a day, and show the growth since', async () => {
    await service.db.query(
      `INSERT INTO table_sizes SELECT (now() AT TIME ZONE 'UTC')::date - 4, 'orders', 0, 0
       UNION ALL SELECT (now() AT TIME ZONE 'UTC')::date - 91, 'orders', 0, 0`,
    );
    await measureTables(service.db);
    await measureTables(service.db);
    const [samples] = await service.db.query<{ today: number; old: number }>(
      `SELECT count(*) FILTER (WHERE measured_on = (now() AT TIME ZONE 'UTC')::date)::integer AS today,
         count(*) FILTER (WHERE measured_on < (now() AT TIME ZONE 'UTC')::date - 90)::integer AS old FROM table_sizes`,
    );
    // Migrations have tables of their own.
    assert.ok((samples?.today ?? 0) >= Object.keys(retentions).length);
    assert.equal(samples?.old, 0);
    const tables = await readTableSizes(service.db);
    const orders = tables.find(({ name }) => name === 'orders');
    assert.ok(orders && orders.bytes > 0);
    assert.equal(orders.bytes_per_day, Math.floor(orders.bytes / 4));
    const events = tables.filter(({ name }) => name.startsWith('events'));
    assert.deepEqual(
      events.map(({ name, bytes_per_day }) => [name, bytes_per_day]),
      [['events', null]],
    );
  });
});
