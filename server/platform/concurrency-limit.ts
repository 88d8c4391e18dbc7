import { performance } from 'node:perf_hooks';

/** How much of the process is in use, looked at now and then. */
interface Load {
  /** What runs, by cost. */
  readonly running: number;
  /** Of that: what is at the database, or waits for it. */
  readonly inDatabase: number;
  /** Share of the time in which the event loop was busy. */
  readonly utilization: number;
  /** By how much a timer was late. */
  readonly lagMs: number;
}

/** Batches are full then: more at the database at once gains nothing. */
const usual = 64;
const least = 16;
const most = 4_096;
/** Beyond it the event loop is what is short: requests that are not at the database wait for it. */
const utilizationMax = 0.9;
const shrinking = 0.9;
const growing = 1.05;
const smoothing = 0.5;

export interface ConcurrencyLimit {
  value(): number;
  adapt(load: Load): void;
}

/**
 * How many requests run at once: as many as the database and the event loop have use for, and those that wait for others meanwhile,
 * such as a processor, on top. Latency is no signal, because a slow processor is not an overload.
 */
export function createConcurrencyLimit(lagMsMax: number): ConcurrencyLimit {
  let own = usual;
  let elsewhere = 0;
  return {
    value: () => Math.min(most, Math.floor(own + elsewhere)),
    adapt({ running, inDatabase, utilization, lagMs }) {
      own = lagMs > lagMsMax ? Math.max(least, own * shrinking) : Math.min(usual, own * growing);
      const waiting = utilization > utilizationMax ? 0 : Math.max(0, running - inDatabase);
      elsewhere += (waiting - elsewhere) * smoothing;
    },
  };
}

/** Share of the time since the last call in which the event loop was busy. */
export function watchUtilization(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
