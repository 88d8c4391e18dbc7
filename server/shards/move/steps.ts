import { setTimeout as sleep } from 'node:timers/promises';
import { hourMs } from '../../platform/durations.ts';
import type { ControlPool, DatabasePool, Queryable } from '../../platform/database.ts';
import type { ShardDatabase } from '../shards.ts';
import * as queries from './queries.ts';
import { MoveError, until, withBriefLock } from './sql.ts';
import { companies, createPartition, findPartitions, findTables, type Table } from './tables.ts';

/**
 * The steps of a move. Each can be repeated: its state is in the databases. The directory decides which shard a company
 * is on; before the switch the move can be aborted, afterwards only finished.
 */

export interface Move {
  readonly control: ControlPool;
  readonly source: ShardDatabase;
  readonly target: ShardDatabase;
  /** How the server of the target connects to the source. */
  readonly sourceUrl: string;
  readonly accountId: string;
  /** The companies of the account. The fence of the first one counts for all. */
  readonly companyIds: readonly [string, ...string[]];
  /** How long the rows stay on the source after the switch. */
  readonly keptMs: number;
}

/** Of its triggers, its publication, its slot and its subscription. */
const nameOf = ({ accountId }: Pick<Move, 'accountId'>): string => `svc_move_${accountId.replaceAll('-', '')}`;

const replicationMin = 150_000;
/** Older versions have no role that may create subscriptions. */
const grantableMin = 160_000;
const subscribe = 'run GRANT pg_create_subscription TO that login there, or use a superuser for this command';
const olderSubscribe =
  'in PostgreSQL 15 only a superuser may. Set the logins in DATABASE_URL and SVC_SHARDS to superusers for this command only';

/** Elsewhere the company would be billed, and its processors would never be compared. */
async function refuseRestored({ name, db }: ShardDatabase): Promise<void> {
  if (await queries.isRestored(db))
    throw new MoveError(`Shard "${name}" was restored from a backup. Run svc reconcile before companies leave it.`);
}

/** Checks what logical replication needs, before anything changes. */
export async function check({ source, target }: Move): Promise<void> {
  await refuseRestored(source);
  const from = await queries.readServer(source.db);
  if (from?.level !== 'logical')
    throw new MoveError(
      `The server of shard "${source.name}" has wal_level = ${from?.level}. Companies move by logical replication: run ALTER SYSTEM SET wal_level = 'logical' there, restart the server, and run this command again.`,
    );
  if (from.version < replicationMin)
    throw new MoveError(
      `The server of shard "${source.name}" is older than PostgreSQL 15, which cannot send the rows of one company only.`,
    );
  const mayNot = ({ name }: ShardDatabase, what: string): MoveError =>
    new MoveError(`The login of this command on shard "${name}" may not ${what}.`);
  if (!(await queries.hasRight(source.db, 'replicate')))
    throw mayNot(source, 'create a replication slot: run ALTER ROLE … REPLICATION for it there');
  const to = await queries.readServer(target.db);
  if (!(await queries.hasRight(target.db, 'subscribe')))
    throw mayNot(
      target,
      `create a subscription: ${to !== undefined && to.version < grantableMin ? olderSubscribe : subscribe}`,
    );
}

/** Records the move, and installs the triggers that refuse writes once the fence is set. */
export async function prepare(move: Move): Promise<void> {
  const { control, source, target, companyIds } = move;
  const name = nameOf(move);
  if (!(await queries.recordMove(control, companyIds, source.name, target.name)))
    throw new MoveError('The companies move elsewhere already. Finish that move, or end it with --abort.');
  await queries.setFences(target.db, companyIds, 'arriving');
  for (const table of [...(await findTables(source.db)), companies]) {
    if (!table.isIdentified) await withBriefLock(source.db, (db) => queries.identifyFully(db, table));
    if (!(await queries.hasTrigger(source.db, table, name)))
      await withBriefLock(source.db, (db) => queries.addTriggers(db, table, name, companyIds));
  }
}

const copyMs = 24 * hourMs;
const errorsMax = 5;

/** Copies the rows of the companies to the target, and keeps them up to date until the stop. */
export async function copy(move: Move): Promise<void> {
  const { source, target, companyIds, sourceUrl } = move;
  const name = nameOf(move);
  // The changes since the loss are in no log that the target reads.
  if (await hasLostASlot(move)) await beginAgain(move);
  await copyPartitions(source.db, target.db);
  await queries.publish(source.db, name, await findTables(source.db), companyIds);
  if (!(await queries.isSubscribed(target.db, name))) {
    await queries.createSlot(source.db, name);
    await queries.subscribe(target.db, name, sourceUrl).catch((error: Error) => {
      const servers = `The server of shard "${target.name}" cannot read from shard "${source.name}"`;
      throw new MoveError(`${servers}: ${error.message}. It connects with the URL of that shard in the settings.`);
    });
  }
  // An outage before this command must not count: the server never forgets its errors.
  const { errors: earlier = 0 } = (await queries.readCopy(target.db, name)) ?? {};
  await until('The copy', copyMs, 100, async () => {
    const state = await queries.readCopy(target.db, name);
    if ((state?.errors ?? 0) - earlier >= errorsMax)
      throw new MoveError(`The copy fails again and again: the log of the server of shard "${target.name}" says why.`);
    if (await hasLostASlot(move)) throw lostSlot(move);
    return state?.missing === 0;
  });
  await untilConfirmed(move, copyMs);
}

/** A failover of the source loses the slot of the subscription, one of the target can lose the slot of a table. */
async function hasLostASlot(move: Move): Promise<boolean> {
  const name = nameOf(move);
  return (await queries.hasLostSlot(move.source.db, move.target.db, name)) || hasStuckTable(move, name);
}

/** Also at the regular end of the copy of a table, its slot is gone for a moment before its state changes. */
const stuckMs = 5_000;

async function hasStuckTable({ source, target }: Move, name: string): Promise<boolean> {
  const deadlineMs = performance.now() + stuckMs;
  while (await queries.hasLostTableSlot(source.db, target.db, name)) {
    if (performance.now() > deadlineMs) return true;
    await sleep(100);
  }
  return false;
}

const lostSlot = ({ source }: Move): MoveError =>
  new MoveError(
    `The replication slot on shard "${source.name}" is gone, as after a failover of a server. Run this command again: it copies the rows again.`,
  );

/** Removes what was copied. The companies are still on the source. */
async function beginAgain(move: Move): Promise<void> {
  if (await hasSwitched(move)) return;
  await disconnect(move);
  await removeRows(move.target.db, move);
}

/** Waits until the target has everything that the source has written until now. */
async function untilConfirmed(move: Move, waitMs: number): Promise<void> {
  const lsn = await queries.readLogPosition(move.source.db);
  await until('The last step of the copy', waitMs, 10, async () => {
    const done = await queries.hasConfirmed(move.source.db, nameOf(move), lsn);
    if (done === undefined) throw lostSlot(move);
    return done;
  });
}

const overlapsDefault = '23514';

async function copyPartitions(source: Queryable, target: DatabasePool): Promise<void> {
  const known = new Set((await findPartitions(target)).map(({ name }) => name));
  for (const partition of await findPartitions(source)) {
    if (known.has(partition.name)) continue;
    try {
      await withBriefLock(target, (db) => createPartition(db, partition));
    } catch (error) {
      // Other rows of this time are in the default piece already, so these go there too.
      if ((error as { code?: string }).code !== overlapsDefault) throw error;
    }
  }
}

const stopMs = 10_000;

/**
 * Stops the writes of the companies on the source, waits until the target has all of them, and switches. Returns how
 * long writes were refused, in milliseconds.
 */
export async function stopAndSwitch(move: Move): Promise<number> {
  const startedMs = performance.now();
  try {
    await stop(move);
    await arrive(move);
  } catch (error) {
    // The source takes writes again while the operator finds out what is wrong. Nothing has switched.
    if (!(await hasSwitched(move))) await resume(move);
    throw error;
  }
  await switchOver(move);
  return performance.now() - startedMs;
}

/** After this, the source refuses every write of the companies, and all earlier ones have ended. */
export async function stop({ source, companyIds }: Move): Promise<void> {
  await withBriefLock(source.db, async (db) => {
    await queries.commitToDisk(db);
    await queries.lockFence(db, companyIds);
    await queries.setFences(db, companyIds, 'leaving');
  });
}

const resume = ({ source, companyIds }: Move): Promise<void> => queries.removeFences(source.db, companyIds, 'leaving');

/** Waits for the last writes, then copies the companies themselves: jobs find the work of a company by its row. */
export async function arrive(move: Move): Promise<void> {
  const { source, target, companyIds } = move;
  await untilConfirmed(move, stopMs);
  await refuseRestored(source);
  await queries.copyRestores(source.db, target.db);
  await queries.copyCompanies(source.db, target.db, companyIds);
}

/** The directory decides. The fence of the target only holds back its jobs, so it goes last. */
export async function switchOver(move: Move): Promise<void> {
  const { control, source, target, companyIds } = move;
  if (!(await queries.switchShard(control, companyIds, source.name, target.name)))
    throw new MoveError('The move was aborted meanwhile.');
  await queries.removeFences(target.db, companyIds);
  await queries.markLeft(source.db, companyIds);
}

async function hasSwitched({ control, source, target, companyIds }: Move): Promise<boolean> {
  return source.name !== target.name && queries.isOnShard(control, companyIds, target.name);
}

/** Removes what the move leaves on the source. The fence stays: it says that these companies are elsewhere. */
export async function clean(move: Move): Promise<void> {
  if (!(await hasSwitched(move))) throw new MoveError('The companies have not moved yet.');
  await disconnect(move);
  await untilForgotten(move);
  await removeRows(move.source.db, move);
  await refuseLate(move.source.db);
  await dropTriggers(move);
}

/** A process may have been suspended since before the switch, so the fence is checked without end. */
async function refuseLate(db: DatabasePool): Promise<void> {
  for (const table of await findTables(db))
    if (!table.isReferring && !(await queries.refusesLeft(db, table)))
      await withBriefLock(db, (transaction) => queries.refuseLeft(transaction, table));
}

/** Until then, requests that began before the switch, and processes that missed it, still read on the source. */
async function untilForgotten({ source, companyIds, keptMs }: Move): Promise<void> {
  await until('The wait for other processes', keptMs + stopMs, keptMs / 10, () =>
    queries.areFencedFor(source.db, companyIds, keptMs),
  );
}

export const nothingToAbort = 'There is nothing to abort: no move of these companies is under way.';

/** Ends a move before its switch. */
export async function abort(move: Move): Promise<void> {
  const { control, source, target, companyIds } = move;
  if (await hasSwitched(move))
    throw new MoveError(
      `The companies are on shard "${target.name}" already: run the command without --abort, which finishes the move, or move them back.`,
    );
  if (!(await queries.recordAbort(control, companyIds, source.name))) throw new MoveError(nothingToAbort);
  await resume(move);
  await disconnect(move);
  if (target.name !== source.name) await removeRows(target.db, move);
  await dropTriggers(move);
  await queries.removeFences(target.db, companyIds, 'arriving');
  await queries.forgetMove(control, companyIds);
}

/** From now on nothing that happens on the source reaches the target. */
async function disconnect(move: Move): Promise<void> {
  const name = nameOf(move);
  // Dropping a subscription drops its slot too, and fails without one.
  if (await queries.hasLostSlot(move.source.db, move.target.db, name)) await queries.forgetSlot(move.target.db, name);
  await queries.unsubscribe(move.target.db, name);
  await queries.unpublish(move.source.db, nameOf(move));
}

async function dropTriggers(move: Move): Promise<void> {
  const { db: source } = move.source;
  for (const table of [...(await findTables(source)), companies])
    await withBriefLock(source, (db) => queries.removeTriggers(db, table, nameOf(move)));
}

const stillReferenced = '23503';

/** In batches. A table whose rows are still referenced waits for the others. */
async function removeRows(db: DatabasePool, { companyIds }: Move): Promise<void> {
  await queries.forgetDefaultCards(db, companyIds);
  let left = [...(await findTables(db)), companies];
  while (left.length > 0) {
    const waiting: Table[] = [];
    for (const table of left) if (!(await removeFrom(db, table, companyIds))) waiting.push(table);
    if (waiting.length === left.length)
      throw new MoveError(`Rows of ${waiting.map(({ name }) => name).join(', ')} refer to each other.`);
    left = waiting;
  }
}

async function removeFrom(db: DatabasePool, table: Table, companyIds: readonly string[]): Promise<boolean> {
  try {
    await queries.removeRowsFrom(db, table, companyIds);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === stillReferenced) return false;
    throw error;
  }
}
