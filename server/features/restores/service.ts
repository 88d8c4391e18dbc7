import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database.ts';
import { firstIdOf, idTimeMs, newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { firstShard } from '../../shards/shards.ts';
import { type HighWaterMark, type MarkedConnection, readMark, writeMark } from './high-water-mark.ts';
import {
  claimGates,
  closeGate,
  closeMissingGates,
  countGates,
  findGate,
  findGates,
  findKept,
  finishRestores,
  isBeingCompared,
  type Gate,
  type GateState,
  type Kept,
  keepClosed,
  openGate,
  renewLease,
  requireCompared,
  requireOpenGate,
  wasRestored,
} from './gate-queries.ts';
import type { GateWait } from './gate-waits.ts';
import {
  findInstallation,
  findLost,
  findNewConnections,
  findRestore,
  insertRestore,
  keepLost,
  readState,
  type Restore,
} from './queries.ts';

/**
 * A database that was restored from a backup has lost the operations that processors executed since. The gates of its live
 * companies close until their records were compared with their processors, see `gate-queries.ts`. Before the restore is
 * noticed, derived references prevent double charges.
 */

export type { Gate, GateState, Kept } from './gate-queries.ts';
export { type GateWait, gateWaits } from './gate-waits.ts';
export type { Restore } from './queries.ts';

/** The gates of live companies, for the comparison with their processors. */
export const gates = {
  /** Undefined if the gate of the company is open. */
  of: (db: Queryable, companyId: string): Promise<Gate | undefined> => findGate(db, companyId),
  /** Those that are not open. */
  closed: (db: Queryable): Promise<Gate[]> => findGates(db),
  /** Claims those whose comparison is due. If this process dies, another one compares them after the lease. */
  claim: (db: Queryable, count: number, leaseMs: number): Promise<Gate[]> => claimGates(db, count, leaseMs),
  /** Called while a comparison makes progress. */
  renewLease: (db: Queryable, gate: Gate, leaseMs: number): Promise<void> => renewLease(db, gate, leaseMs),
  /** Records what a gate waits for after a comparison, and when the next one is due. */
  keepClosed: (db: Queryable, gate: Gate, state: GateState): Promise<void> => keepClosed(db, gate, state),
  /**
   * Opens a gate after a comparison that covers everything executed until then. Returns false if it was closed again
   * meanwhile.
   */
  open: (db: Queryable, gate: Gate, until: Date): Promise<boolean> => openGate(db, gate, until),
  /** Ends a restore when no company waits because of it any more. */
  finish: (db: Queryable): Promise<boolean> => finishRestores(db),
};

/** Throws if requests of the company may not move money. */
export async function checkGate(db: Queryable, companyId: string): Promise<void> {
  await requireOpenGate(db, companyId);
}

/** Whether a processor may have executed what the records of a company do not have. */
export async function isCompared(db: Queryable, companyId: string): Promise<boolean> {
  return !(await isBeingCompared(db, companyId));
}

/** The first charge that a processor executed under one of these references, and the records do not have. */
export async function executedCharge(
  db: Queryable,
  companyId: string,
  references: readonly string[],
): Promise<Kept | undefined> {
  return findKept(db, companyId, references);
}

/**
 * The same, before credit pays instead of a card: a processor that is not called cannot say that it was paid. Throws while that
 * is being compared.
 */
export async function forgottenCharge(
  db: Queryable,
  companyId: string,
  references: readonly string[],
): Promise<Kept | undefined> {
  await requireCompared(db, companyId);
  return findKept(db, companyId, references);
}

/** Whether the records of a company may still miss something that a processor reports. */
export async function isAfterRestore(db: Queryable, companyId: string): Promise<boolean> {
  return wasRestored(db, companyId);
}

/** Returns the restore of the shard that is not reconciled yet. */
export async function currentRestore(db: Queryable): Promise<Restore | undefined> {
  return findRestore(db);
}

/**
 * Called by an operator after restoring a backup, with the path of the high-water mark of this machine. Returns false if the
 * restore is already known.
 */
export async function noteRestored(db: Queryable, nowMs: number, detail: string, file?: string): Promise<boolean> {
  const isNew = await insertRestore(db, {
    id: newId(nowMs),
    noticedBy: 'operator',
    detail,
    beforeId: firstIdOf(nowMs),
  });
  const mark = file === undefined ? undefined : await readMark(file);
  if (mark?.connections && mark.installation === (await findInstallation(db))) {
    const lost = await findLost(db, mark.connections);
    if (lost.length > 0) await keepLost(db, lost);
  }
  return isNew;
}

/** The name of the high-water mark of a shard, in the data folder. */
export const markName = (shard: string): string =>
  shard === firstShard ? 'high-water.json' : `high-water-${shard}.json`;

export interface RestoreWatch {
  /** Whether a company waits for the comparison with its processors. */
  isRestored(): boolean;
  /** How many companies wait for what. */
  waiting(): Readonly<Partial<Record<GateWait, number>>>;
  /** Looks at once, which happens regularly anyway. */
  look(): Promise<void>;
  /** Called when a live transaction was recorded. */
  recorded(companyId: string, transactionId: string): void;
  /** Called when a processor had executed a reference before we sent it. */
  earlierResult(companyId: string, reference: string, executedAtMs: number): Promise<void>;
  stop(): Promise<void>;
}

interface WatchOptions {
  readonly db: Queryable;
  readonly clock: Clock;
  readonly log: Logger;
  /** The path of the high-water mark. */
  readonly file: string;
  /** A database that is not used is not asked. */
  readonly isUsed?: () => boolean;
}

const pollMs = 10_000;
const writeMs = 1_000;

/** Tracks whether the database is restored, and detects it. */
export async function watchRestores(options: WatchOptions): Promise<RestoreWatch> {
  const { db, clock, log, file, isUsed = () => true } = options;
  const installation = (await findInstallation(db)) ?? '';
  const found = await readMark(file);
  let mark: HighWaterMark | undefined = found?.installation === installation ? found : undefined;
  let written = mark;
  let isRestored = false;
  let waiting: Partial<Record<GateWait, number>> = {};
  let connections: MarkedConnection[] = [];

  async function poll(): Promise<void> {
    const checked = mark;
    const { missing, restored } = await readState(db, checked);
    const lost = await findLost(db, checked?.connections ?? []);
    const gone = checked && goneOf(checked, missing, lost);
    if (gone) await notice(gone);
    else if (restored) await closeMissingGates(db);
    if (lost.length > 0) await keepLost(db, lost);
    isRestored = restored || (await findRestore(db)) !== undefined;
    waiting = await countGates(db);
    connections = await findNewConnections(db);
    if (checked && mark === checked && !sameConnections(checked.connections, connections))
      mark = { ...checked, connections };
  }

  async function notice({ what, beforeMs, mark: { recordedAtMs } }: Gone): Promise<void> {
    const isNew = await insertRestore(db, {
      id: newId(clock.nowMs()),
      noticedBy: 'high_water_mark',
      detail: `${what} is missing`,
      beforeId: firstIdOf(beforeMs),
      unlessNoticedSince: new Date(recordedAtMs),
    });
    if (isNew) announce(`${what}, which was recorded once, is missing`);
  }

  function announce(why: string): void {
    log.error({ why }, 'the database was restored from a backup: charges are closed until they are compared');
  }

  async function write(): Promise<void> {
    const latest = mark;
    if (!latest || latest === written) return;
    written = latest;
    await writeMark(file, latest).catch((error: unknown) =>
      log.warn({ err: error, file }, 'the high-water mark cannot be written'),
    );
  }

  await poll();
  if (isRestored) log.warn('the database is restored: charges are closed until they are compared');
  const onError = (error: unknown): void =>
    log.warn({ err: error }, 'failed to check whether the database was restored');
  const look = async (): Promise<void> => poll().catch(onError);
  const timers = [every(pollMs, () => isUsed() && look()), every(writeMs, () => isUsed() && write())];

  return {
    isRestored: () => isRestored || Object.keys(waiting).length > 0,
    waiting: () => waiting,
    // What is behind a gate is not sent, and what is not was compared.
    recorded(companyId, transactionId) {
      mark = { installation, companyId, transactionId, recordedAtMs: clock.nowMs(), connections };
    },
    look,
    async earlierResult(companyId, reference, executedAtMs) {
      const detail = `reference ${reference} of company ${companyId} was executed before it was sent`;
      const executedAt = new Date(executedAtMs);
      const beforeId = firstIdOf(executedAtMs);
      if (!(await closeGate(db, { companyId, detail, executedAt, beforeId }))) return;
      announce(`a processor knew the reference ${reference} before it was sent`);
      waiting = await countGates(db);
    },
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await write();
    },
  };
}

const every = (ms: number, work: () => unknown): NodeJS.Timeout => setInterval(() => void work(), ms).unref();

/** What the mark names and the database does not have. */
interface Gone {
  readonly mark: HighWaterMark;
  readonly what: string;
  /** The backup was made before this time. */
  readonly beforeMs: number;
}

function goneOf(mark: HighWaterMark, isMissing: boolean, [lost]: readonly MarkedConnection[]): Gone | undefined {
  const { transactionId, recordedAtMs } = mark;
  if (isMissing) return { mark, what: `transaction ${transactionId}`, beforeMs: idTimeMs(transactionId) };
  return lost && { mark, what: `connection ${lost.id}`, beforeMs: recordedAtMs };
}

const sameConnections = (one: readonly MarkedConnection[] = [], other: readonly MarkedConnection[]): boolean =>
  one.length === other.length && one.every(({ id }, index) => id === other[index]?.id);

/** The same about several shards. */
export const allRestores = (
  shards: () => readonly Pick<RestoreWatch, 'isRestored' | 'waiting'>[],
): Pick<RestoreWatch, 'isRestored' | 'waiting'> => ({
  isRestored: () => shards().some((shard) => shard.isRestored()),
  waiting: () => {
    const sum: Partial<Record<GateWait, number>> = {};
    for (const [what, count] of shards().flatMap((shard) => Object.entries(shard.waiting())))
      sum[what as GateWait] = (sum[what as GateWait] ?? 0) + count;
    return sum;
  },
});
