import { setTimeout as sleep } from 'node:timers/promises';
import type { AnyQueryable } from './database.ts';

/**
 * If `synchronous_standby_names` is set, each commit waits until a standby has it. If no such standby is connected, the
 * server answers every read, and every write waits.
 */
export interface StandbyState {
  /** The value of `synchronous_standby_names`. */
  readonly names: string;
  /** False if the login cannot see which standbys are synchronous, only how many servers are connected. */
  readonly isSeen: boolean;
  /** Sessions that have waited for a standby for long, of those that the login can see. */
  readonly waiting: number;
  /** Undefined if writes do not wait. */
  readonly problem: string | undefined;
}

/** A commit waits some milliseconds for a standby that responds. */
const waitSeconds = 2;
/** PostgreSQL says when a statement began, not since when it waits. A long one that waits for a moment does not wait in the next look. */
const lookAgainMs = 500;

interface Row {
  readonly names: string;
  readonly needed: number;
  readonly connected: number;
  readonly synchronous: number;
  readonly is_seen: boolean;
  /** The sessions that wait, and when their statements began. */
  readonly waiters: readonly string[];
}

// Without pg_read_all_stats, a login sees one row for each connected server, with nothing but its process, and the waits of
// its own sessions.
const statement = `SELECT names,
    coalesce((regexp_match(names, '^\\s*(?:first\\s|any\\s)?\\s*(\\d+)\\s*\\(', 'i'))[1]::integer, 1) AS needed,
    (SELECT count(*)::integer FROM pg_stat_replication) AS connected,
    (SELECT count(*)::integer FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS synchronous,
    pg_has_role('pg_read_all_stats', 'USAGE') AS is_seen,
    ARRAY(SELECT pid || ' ' || query_start FROM pg_stat_activity
      WHERE wait_event = 'SyncRep' AND query_start < clock_timestamp() - ${waitSeconds} * interval '1 s') AS waiters
  FROM current_setting('synchronous_standby_names') AS names
  WHERE names <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local') AND NOT pg_is_in_recovery()`;

/** What a server waits for; undefined if it waits for no standby. */
export async function standbyState(db: AnyQueryable): Promise<StandbyState | undefined> {
  const [row] = await db.query<Row>(statement);
  if (!row) return undefined;
  const waiting = row.waiters.length > 0 ? await stillWaiting(db, row.waiters) : 0;
  return { names: row.names, isSeen: row.is_seen, waiting, problem: problemOf(row, waiting) };
}

async function stillWaiting(db: AnyQueryable, before: readonly string[]): Promise<number> {
  await sleep(lookAgainMs);
  const [row] = await db.query<Row>(statement);
  return row?.waiters.filter((one) => before.includes(one)).length ?? 0;
}

function problemOf({ names, needed, connected, synchronous, is_seen }: Row, waiting: number): string | undefined {
  const there = is_seen ? synchronous : connected;
  const setting = `synchronous_standby_names is '${names}'`;
  const remedy = `Start the standby, or run ALTER SYSTEM SET synchronous_standby_names = '' and SELECT pg_reload_conf() on the primary.`;
  if (there < needed) {
    const what = is_seen ? 'synchronous standbys are connected' : 'standbys are connected';
    return `${setting}, and ${there} of ${needed} ${what}, so every write waits. ${remedy}`;
  }
  if (waiting === 0) return undefined;
  const sessions = waiting === 1 ? '1 session has' : `${waiting} sessions have`;
  return `${setting}, and ${sessions} waited for a standby for more than ${waitSeconds} s. ${remedy}`;
}

export interface StandbyWatch {
  /** Returns the last known state if the server does not answer soon; undefined if it needs no standby, or was never reached. */
  state(): Promise<StandbyState | undefined>;
}

const patienceMs = 1_000;

/** Writes that wait can use all connections of the pool. So one question at a time waits for its turn, and its caller does not. */
export function watchStandby(db: AnyQueryable): StandbyWatch {
  let last: StandbyState | undefined;
  let question: Promise<void> | undefined;

  async function ask(): Promise<void> {
    try {
      last = await standbyState(db);
    } catch {
      // Whether the server responds at all is checked elsewhere.
    } finally {
      question = undefined;
    }
  }

  return {
    async state() {
      question ??= ask();
      await Promise.race([question, sleep(patienceMs, undefined, { ref: false })]);
      return last;
    },
  };
}
