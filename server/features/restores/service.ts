import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database.ts';
import { hourMs } from '../../platform/durations.ts';
import { firstIdOf, idTimeMs, newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { type HighWaterMark, readMark, writeMark } from './high-water-mark.ts';
import {
  findInstallation,
  findRestore,
  finishRestore,
  insertRestore,
  readState,
  type Restore,
  type StateRow,
} from './queries.ts';

/**
 * A database that was restored from a backup has lost the operations that processors executed since. References
 * prevent double charges; while the database is in the restored state, the worker does not bill until the books were
 * compared with the processors.
 */

export type { Restore } from './queries.ts';

/** Returns the restore that is not reconciled yet. */
export async function currentRestore(db: Queryable): Promise<Restore | undefined> {
  return findRestore(db);
}

/**
 * Called when the books were compared with the processors up to this time. Returns false if a later restore was
 * noticed meanwhile.
 */
export async function endRestore(db: Queryable, id: string, until: Date): Promise<boolean> {
  return finishRestore(db, id, until);
}

/** Called by an operator after restoring a backup. Returns false if the restore is already known. */
export async function noteRestored(db: Queryable, nowMs: number, detail: string): Promise<boolean> {
  return insertRestore(db, { id: newId(nowMs), noticedBy: 'operator', detail, beforeId: firstIdOf(nowMs) });
}

export interface RestoreWatch {
  isRestored(): boolean;
  /** Whether a lookup precedes each charge, for processors that do not execute a reference only once for all time. */
  looksFirst(): boolean;
  /** Whether the request that opened an operation at this time may repeat a key whose first use the database has lost. */
  mayRepeatKey(openedMs: number): boolean;
  /** How long ago the last restore was noticed; 0 if there was none. */
  noticedAgoMs(): number;
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
}

const pollMs = 10_000;
const writeMs = 1_000;
/** Longer than a cycle of most subscriptions: during this time lost operations may be requested again. */
const lookFirstDays = 35;
/** The life of an idempotency key, and an hour for clocks that differ. */
const lostKeysMs = (limits.idempotencyKeyHours + 1) * hourMs;

/** Tracks whether the database is restored, and detects it. */
export async function watchRestores({ db, clock, log, file }: WatchOptions): Promise<RestoreWatch> {
  const installation = (await findInstallation(db)) ?? '';
  const found = await readMark(file);
  let mark: HighWaterMark | undefined = found?.installation === installation ? found : undefined;
  let written = mark;
  let state: Omit<StateRow, 'missing'> = { restored: false, recently: false, noticed_ms: null };

  async function poll(): Promise<void> {
    const checked = mark;
    const { missing, ...known } = await readState(db, lookFirstDays, checked);
    state = known;
    if (!missing || !checked) return;
    const noticed = await insertRestore(db, {
      id: newId(clock.nowMs()),
      noticedBy: 'high_water_mark',
      detail: `transaction ${checked.transactionId} is missing`,
      beforeId: firstIdOf(idTimeMs(checked.transactionId)),
      unlessNoticedSince: new Date(checked.recordedAtMs),
    });
    if (noticed) announce(`transaction ${checked.transactionId}, which was recorded once, is missing`);
  }

  function announce(why: string): void {
    state = { restored: true, recently: true, noticed_ms: clock.nowMs() };
    log.error({ why }, 'the database was restored from a backup: nothing is billed until `svc reconcile` has run');
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
  if (state.restored) log.warn('the database is restored: nothing is billed until `svc reconcile` has run');
  const onError = (error: unknown): void =>
    log.warn({ err: error }, 'failed to check whether the database was restored');
  const timers = [setInterval(() => void poll().catch(onError), pollMs), setInterval(() => void write(), writeMs)];
  for (const timer of timers) timer.unref();

  return {
    isRestored: () => state.restored,
    looksFirst: () => state.restored || state.recently,
    mayRepeatKey: (openedMs) => state.noticed_ms !== null && openedMs < state.noticed_ms + lostKeysMs,
    noticedAgoMs: () => (state.noticed_ms === null ? 0 : clock.nowMs() - state.noticed_ms),
    recorded(companyId, transactionId) {
      mark = { installation, companyId, transactionId, recordedAtMs: clock.nowMs() };
    },
    async earlierResult(companyId, reference, executedAtMs) {
      if (state.restored) return;
      const noticed = await insertRestore(db, {
        id: newId(clock.nowMs()),
        noticedBy: 'earlier_result',
        detail: `reference ${reference} of company ${companyId} was executed before it was sent`,
        beforeId: firstIdOf(executedAtMs),
        unlessReconciledUntil: new Date(executedAtMs),
      });
      if (noticed) announce(`a processor knew the reference ${reference} before it was sent`);
    },
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await write();
    },
  };
}
