import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, it } from 'node:test';
import { cloneDatabase, type TestDatabase } from '../../tests/support/database.ts';
import { type ControlPool, controlPlaneOn, type DatabasePool, openDatabase } from '../platform/database.ts';
import { announceUse, endLeases, type Lease, takeLeases } from './leases.ts';

let database: TestDatabase;
let db: DatabasePool;
let control: ControlPool;
const shards = ['a', 'b', 'c', 'd', 'e', 'f'];
const workers = Array.from({ length: 3 }, () => randomUUID());
const [one = '', two = '', three = ''] = workers;

before(async () => {
  database = await cloneDatabase(1);
  const { connectionString } = database;
  db = openDatabase({ connectionString, poolSize: 2, applicationName: 'svc tests', onError: () => undefined });
  control = controlPlaneOn(db);
});
after(async () => {
  await db.close();
  await database.drop();
});
beforeEach(() => db.query('TRUNCATE shard_workers, shard_leases, shard_uses'));

const take = (worker: string): Promise<readonly Lease[]> => takeLeases(control, worker, shards);
const namesOf = (leases: readonly Lease[]): string[] => leases.map(({ shard }) => shard).toSorted();
const looksOf = (leases: readonly Lease[]): number => leases.filter(({ looks }) => looks).length;
/** All of them say in turn that they are there, until nothing changes. */
async function settle(present: readonly string[]): Promise<Map<string, readonly Lease[]>> {
  for (let round = 0; round < 3; round += 1) for (const worker of present) await take(worker);
  const held = new Map<string, readonly Lease[]>();
  for (const worker of present) held.set(worker, await take(worker));
  return held;
}

it('one worker has every shard and looks at them', async () => {
  const held = await take(one);
  assert.deepEqual(namesOf(held), shards);
  assert.equal(looksOf(held), shards.length);
});

it('two workers both have every shard, and each shard is looked at by one', async () => {
  const held = await settle([one, two]);
  for (const leases of held.values()) assert.deepEqual(namesOf(leases), shards);
  assert.equal(
    [...held.values()].map(looksOf).reduce((sum, count) => sum + count),
    shards.length,
  );
});

it('three workers have at most four shards each, and every shard has a worker that looks at it', async () => {
  const held = [...(await settle(workers)).values()];
  for (const { length } of held) assert.ok(length > 0 && length <= 4, `${length} shards`);
  assert.deepEqual([...new Set(held.flatMap(namesOf))].toSorted(), shards);
  assert.equal(
    held.map(looksOf).reduce((sum, count) => sum + count),
    shards.length,
  );
});

it('the shards of a worker that is silent for 20 seconds are taken by the others', async () => {
  await settle([one, two]);
  await db.query(`UPDATE shard_workers SET seen_at = now() - interval '19 s' WHERE id = $1`, [one]);
  assert.equal(looksOf(await take(two)), 0);
  await db.query(`UPDATE shard_workers SET seen_at = now() - interval '21 s' WHERE id = $1`, [one]);
  assert.equal(looksOf(await take(two)), shards.length);
});

it('a worker that stops leaves its shards at once', async () => {
  await settle([one, two]);
  await endLeases(control, one);
  assert.equal(looksOf(await take(two)), shards.length);
});

it('a worker has no shard that it cannot reach, so another one can have it', async () => {
  await settle([one, two]);
  assert.deepEqual(namesOf(await takeLeases(control, one, ['a', 'b'])), ['a', 'b']);
  await take(two);
  assert.ok((await take(three)).length > 0);
});

it('workers see for how much longer a shard is in use', async () => {
  await announceUse(control, 'b');
  const held = await take(one);
  const used = held.find(({ shard }) => shard === 'b')?.used_ms ?? 0;
  assert.ok(used > 50_000 && used <= 60_000, `${used} ms`);
  assert.equal(held.find(({ shard }) => shard === 'c')?.used_ms, 0);
});
