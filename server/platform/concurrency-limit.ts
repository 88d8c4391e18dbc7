import { performance } from 'node:perf_hooks';

/** A periodic measurement of how busy the process is. */
interface Load {
  /** The sum of the costs of running requests. */
  readonly running: number;
  /** The part of `running` that uses the database or waits for it. */
  readonly inDatabase: number;
  /** The share of time in which the event loop was busy. */
  readonly utilization: number;
  /** How late a timer fired. */
  readonly lagMs: number;
  /** The number of requests that were rejected in the meantime. */
  readonly rejected: number;
}

/** Batches are full at this number, so more concurrent work at the database gains nothing. */
const usual = 64;
const least = 16;
const most = 4_096;
/** Above this value the event loop is the bottleneck: requests outside the database wait for it. */
const utilizationMax = 0.9;
const shrinking = 0.9;
const growing = 1.05;
const smoothing = 0.5;
/** About what it takes to reject a request. */
const rejectionMs = 0.05;
/** In one turn of the event loop, the database can finish the usual number in about this time. */
const usualTurnMs = 50;
const longTurnsMax = 4;

export interface ConcurrencyLimit {
  value(): number;
  adapt(load: Load): void;
}

/**
 * Limits how many requests run at once: as many as the database and the event loop can use, plus those that wait for
 * other systems, such as a processor. Latency is not a signal, because a slow processor is not an overload.
 */
export function createConcurrencyLimit(lagMsMax: number): ConcurrencyLimit {
  let own = usual;
  let others = 0;
  return {
    value: () => Math.min(most, Math.floor(own + others)),
    adapt({ running, inDatabase, utilization, lagMs, rejected }) {
      // Rejections delay the event loop as well, but fewer running requests would not make them cheaper. On the contrary:
      // the longer a turn takes, the more requests the database needs in order to be busy until the next one.
      const rejectingMs = Math.min(lagMs, rejected * rejectionMs);
      const useful = usual * Math.min(longTurnsMax, Math.max(1, rejectingMs / usualTurnMs));
      own = lagMs - rejectingMs > lagMsMax ? Math.max(least, own * shrinking) : Math.min(useful, own * growing);
      const waiting = utilization > utilizationMax ? 0 : Math.max(0, running - inDatabase);
      others += (waiting - others) * smoothing;
    },
  };
}

/** Returns the share of time since the last call in which the event loop was busy. */
export function watchUtilization(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
