/** Limits how many pieces of costly work run at once. Others wait, but at most `waitingMax` of them for each who shares it. */
export interface SemaphoreOptions {
  readonly atOnce: number;
  readonly waitingMax: number;
  /** While others wait: how long a place rests after the work, in times of what the work took. */
  readonly rest?: number;
  /** Creates the error for a caller that arrives when too many wait. */
  readonly busy: () => Error;
}

/** Those who share it, for example companies, take turns, however much work one of them has. */
export type Semaphore = <Result>(work: () => Promise<Result>, sharer?: string) => Promise<Result>;

/** Bounds what waits for all sharers, in times of `waitingMax`. */
const sharersMax = 10;

export function createSemaphore({ atOnce, waitingMax, rest = 0, busy }: SemaphoreOptions): Semaphore {
  /** In the order of turns. */
  const waiting = new Map<string, (() => void)[]>();
  let waitingCount = 0;
  let running = 0;

  function handOver(): void {
    const [sharer, [next, ...others] = []] = waiting.entries().next().value ?? [];
    if (sharer === undefined || !next) {
      running -= 1;
      return;
    }
    waiting.delete(sharer);
    if (others.length > 0) waiting.set(sharer, others);
    waitingCount -= 1;
    next();
  }

  return async (work, sharer = '') => {
    if (running >= atOnce) {
      const before = waiting.get(sharer) ?? [];
      if (before.length >= waitingMax || waitingCount >= waitingMax * sharersMax) throw busy();
      waitingCount += 1;
      // A caller that finishes hands its place to the next one, so the count does not change.
      await new Promise<void>((resolve) => waiting.set(sharer, [...before, resolve]));
    } else running += 1;
    const startedMs = performance.now();
    try {
      return await work();
    } finally {
      const restMs = waitingCount > 0 ? rest * (performance.now() - startedMs) : 0;
      if (restMs > 0) setTimeout(handOver, restMs);
      else handOver();
    }
  };
}
