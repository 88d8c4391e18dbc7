import type { Clock } from './clock.ts';
import type { Queryable } from './database.ts';

/**
 * The time of the database, which all processes share. The database is queried at start-up and every minute. In
 * between, the monotonic clock of this process advances the time, so a step of its wall clock has no effect.
 */
export interface DatabaseClock extends Clock {
  /** How far the wall clock of this process is ahead of the database. */
  skewMs(): number;
  /** Queries the time of the database. */
  sync(): Promise<void>;
  stop(): void;
}

export interface LocalClocks {
  wallMs(): number;
  /** Always advances, even if the wall clock is set back. */
  monotonicMs(): number;
}

const systemClocks: LocalClocks = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

const syncMs = 60_000;
/**
 * While a machine sleeps, its monotonic clock stands still. The two clocks then drift apart, and the database is
 * queried at once.
 */
const driftCheckMs = 5_000;
const driftMs = 1_000;
/** Below this round trip, the measurement is precise enough and is not repeated. */
const goodRoundTripMs = 50;
const attempts = 3;
/** Smaller differences are measurement noise; following them would make time jump back and forth. */
const noiseMs = 5;

interface Reading {
  /** The time of the database minus the monotonic clock. */
  readonly offsetMs: number;
  readonly roundTripMs: number;
}

async function read(db: Queryable, local: LocalClocks): Promise<Reading> {
  const beforeMs = local.monotonicMs();
  const [row] = await db.query<{ now_ms: number }>(
    'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms',
  );
  const afterMs = local.monotonicMs();
  if (!row) throw new Error('the database did not return its time');
  return { offsetMs: row.now_ms - (beforeMs + afterMs) / 2, roundTripMs: afterMs - beforeMs };
}

async function readWell(db: Queryable, local: LocalClocks): Promise<Reading> {
  let best = await read(db, local);
  for (let attempt = 1; attempt < attempts && best.roundTripMs > goodRoundTripMs; attempt += 1) {
    const next = await read(db, local);
    if (next.roundTripMs < best.roundTripMs) best = next;
  }
  return best;
}

export async function openDatabaseClock(
  db: Queryable,
  onError: (error: unknown) => void,
  local: LocalClocks = systemClocks,
  isUsed: () => boolean = () => true,
): Promise<DatabaseClock> {
  let { offsetMs } = await readWell(db, local);
  const apart = (): number => local.wallMs() - local.monotonicMs();
  let apartAtSyncMs = apart();
  let syncedAtMs = local.monotonicMs();

  async function sync(): Promise<void> {
    const reading = await readWell(db, local);
    if (Math.abs(reading.offsetMs - offsetMs) > reading.roundTripMs / 2 + noiseMs) offsetMs = reading.offsetMs;
    apartAtSyncMs = apart();
    syncedAtMs = local.monotonicMs();
  }

  const timer = setInterval(() => {
    if (!isUsed()) return;
    const isDue = local.monotonicMs() - syncedAtMs >= syncMs - driftCheckMs / 2;
    if (isDue || Math.abs(apart() - apartAtSyncMs) > driftMs) sync().catch(onError);
  }, driftCheckMs);
  timer.unref();

  const nowMs = (): number => Math.floor(offsetMs + local.monotonicMs());
  return {
    nowMs,
    skewMs: () => local.wallMs() - nowMs(),
    sync,
    stop: () => clearInterval(timer),
  };
}
