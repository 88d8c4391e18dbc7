/** Costly work of which only some may run at once. The others wait for their turn, but no more of them than `waitingMax`. */
export interface SemaphoreOptions {
  readonly atOnce: number;
  readonly waitingMax: number;
  /** What is thrown for whoever comes when too many wait. */
  readonly busy: () => Error;
}

export type Semaphore = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function createSemaphore({ atOnce, waitingMax, busy }: SemaphoreOptions): Semaphore {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= waitingMax) throw busy();
      // Whoever ends passes the turn on, so the count stays as it is.
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
