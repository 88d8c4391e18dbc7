/** Limits how many pieces of costly work run at once. Others wait, but at most `waitingMax` of them. */
export interface SemaphoreOptions {
  readonly atOnce: number;
  readonly waitingMax: number;
  /** Creates the error for a caller that arrives when too many wait. */
  readonly busy: () => Error;
}

export type Semaphore = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function createSemaphore({ atOnce, waitingMax, busy }: SemaphoreOptions): Semaphore {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= waitingMax) throw busy();
      // A caller that finishes hands its place to the next one, so the count does not change.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
