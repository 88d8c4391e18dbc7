/** Limits how many pieces of costly work run at once. Others wait, but at most `waitingMax` of them. */
export interface SemaphoreOptions {
  readonly atOnce: number;
  readonly waitingMax: number;
  /** While others wait: how long a place rests after the work, in times of what the work took. */
  readonly rest?: number;
  /** Creates the error for a caller that arrives when too many wait. */
  readonly busy: () => Error;
}

export type Semaphore = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function createSemaphore({ atOnce, waitingMax, rest = 0, busy }: SemaphoreOptions): Semaphore {
  const waiting: (() => void)[] = [];
  let running = 0;

  function handOver(): void {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }

  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= waitingMax) throw busy();
      // A caller that finishes hands its place to the next one, so the count does not change.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    const startedMs = performance.now();
    try {
      return await work();
    } finally {
      const restMs = waiting.length > 0 ? rest * (performance.now() - startedMs) : 0;
      if (restMs > 0) setTimeout(handOver, restMs);
      else handOver();
    }
  };
}
