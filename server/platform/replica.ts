import { setTimeout as sleep } from 'node:timers/promises';
import { type AnyQueryable, type Database, type DatabasePool, isUnavailable } from './database.ts';
import { secondMs } from './durations.ts';
import { counter } from './metrics.ts';
import { inTime } from './in-time.ts';

/**
 * A standby that answers reads. It is used for a read only if it has replayed every write that was answered before the
 * read began, by any process. So a read there sees what it would see on the primary.
 */
export interface Replica {
  /** Runs work that only reads, on the replica or on the primary. */
  read<Result>(work: (db: Database) => Promise<Result>): Promise<Result>;
  state(): Promise<ReplicaState>;
  stats: DatabasePool['stats'];
}

export interface ReplicaState {
  /** Why it is not used; undefined if it is used. */
  readonly problem: string | undefined;
  /** Undefined if it does not respond. */
  readonly lagSeconds: number | undefined;
}

interface Servers {
  readonly primary: DatabasePool;
  readonly standby: DatabasePool;
}

/** How long a read waits for the replica to catch up, before it uses the primary. */
interface Patience {
  readonly waitMs: number;
}

/** A replica that could not be used is not asked again before this time has passed. */
const restMs = secondMs;
/** After a failover, the replica may follow another server. */
const verifiedForMs = secondMs;
const pollMs = 3;
/** A replica that hangs must not hold back the other metrics. */
const stateMs = secondMs;
const silent: ReplicaState = { problem: `it does not respond within ${stateMs} ms`, lagSeconds: undefined };

const countRead = counter('svc_replica_reads_total');

/** For callers that may have no replica. */
export function readFrom<Result>(
  { db, replica }: { readonly db: Database; readonly replica?: Pick<Replica, 'read'> | undefined },
  work: (db: Database) => Promise<Result>,
): Promise<Result> {
  return replica ? replica.read(work) : work(db);
}

export function openReplica(servers: Servers, { waitMs }: Patience): Replica {
  const { primary, standby } = servers;
  let restUntilMs = 0;
  let verified: { readonly timeline: number | undefined; readonly untilMs: number } | undefined;

  async function verifiedTimeline(): Promise<number | undefined> {
    if (verified && performance.now() < verified.untilMs) return verified.timeline;
    const { problem, timeline } = await compareServers(servers);
    verified = { timeline: problem === undefined ? timeline : undefined, untilMs: performance.now() + verifiedForMs };
    return verified.timeline;
  }

  async function catchesUp(deadlineMs: number): Promise<boolean> {
    const [timeline, wanted] = await Promise.all([verifiedTimeline(), writtenTo(primary)]);
    if (timeline !== wanted.timeline) return false;
    while (((await replayedTo(standby)) ?? 0) < wanted.position) {
      if (performance.now() >= deadlineMs) return false;
      await sleep(pollMs);
    }
    return true;
  }

  async function isCurrent(): Promise<boolean> {
    const startedMs = performance.now();
    if (startedMs < restUntilMs) return false;
    // An error counts as not reached: the read itself finds out whether the primary has a problem.
    const isReached = await inTime(
      catchesUp(startedMs + waitMs).catch(() => false),
      waitMs,
      false,
    );
    if (!isReached) restUntilMs = performance.now() + restMs;
    return isReached;
  }

  return {
    async read(work) {
      if (await isCurrent()) {
        try {
          const result = await work(standby);
          countRead({ server: 'replica' });
          return result;
        } catch (error) {
          // The replica was lost, or cancelled the statement to replay a write.
          if (!isUnavailable(error)) throw error;
          restUntilMs = performance.now() + restMs;
        }
      }
      countRead({ server: 'primary' });
      return work(primary);
    },
    state: () => inTime(replicaState(servers), stateMs, silent),
    stats: () => standby.stats(),
  };
}

/** The end of the log that contains every commit that was answered, and its timeline. */
async function writtenTo(primary: AnyQueryable): Promise<{ position: number; timeline: number }> {
  const [row] = await primary.query<{ position: number; timeline: number }>(
    `SELECT pg_wal_lsn_diff(
         CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
           ELSE pg_current_wal_flush_lsn() END, '0/0')::bigint AS position,
       ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer AS timeline`,
  );
  return row ?? { position: Infinity, timeline: 0 };
}

/** Null on a server that accepts writes. */
async function replayedTo(standby: AnyQueryable): Promise<number | null> {
  const [row] = await standby.query<{ position: number | null }>(
    `SELECT CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint END AS position`,
  );
  return row?.position ?? null;
}

interface Identity {
  readonly system: string;
  readonly database: string;
  readonly in_recovery: boolean;
  /** Of a standby: what it has replayed. It may follow a new timeline for some minutes before this shows it. */
  readonly timeline: number;
}

async function identityOf(server: AnyQueryable): Promise<Identity | undefined> {
  const [row] = await server.query<Identity>(
    `SELECT s.system_identifier::text AS system, current_database() AS database, pg_is_in_recovery() AS in_recovery,
       greatest(c.timeline_id, r.min_recovery_end_timeline) AS timeline
     FROM pg_control_system() s, pg_control_checkpoint() c, pg_control_recovery() r`,
  );
  return row;
}

/** A position of the log means the same on two servers only if both have the same history. */
async function compareServers({
  primary,
  standby,
}: Servers): Promise<{ readonly problem: string | undefined; readonly timeline: number | undefined }> {
  const [first, second, written] = await Promise.all([identityOf(primary), identityOf(standby), writtenTo(primary)]);
  const timeline = second?.timeline;
  const problem =
    first?.system !== second?.system || first?.database !== second?.database
      ? 'it is not a standby of this database'
      : second?.in_recovery !== true
        ? 'it accepts writes, so it is not a standby'
        : timeline === written.timeline
          ? undefined
          : 'it has not followed the last failover yet';
  return { problem, timeline };
}

/** A replica further behind than this has a problem that more patience does not solve. */
const lagSecondsMax = 5;

/** What a replica is like now. */
export async function replicaState(servers: Servers): Promise<ReplicaState> {
  try {
    const { problem } = await compareServers(servers);
    const { position } = await writtenTo(servers.primary);
    const [row] = await servers.standby.query<{ lag: number | null }>(
      `SELECT CASE WHEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') >= $1::bigint THEN 0
         ELSE greatest(0, extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()))::float8 END AS lag`,
      [position],
    );
    const lagSeconds = row?.lag ?? undefined;
    const behind = (lagSeconds ?? 0) > lagSecondsMax ? `it is ${Math.round(lagSeconds ?? 0)} s behind` : undefined;
    return { problem: problem ?? behind, lagSeconds };
  } catch (error) {
    return { problem: `it does not respond: ${(error as Error).message}`, lagSeconds: undefined };
  }
}
