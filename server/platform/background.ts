/** Work that a response does not wait for. */
export interface Background {
  run(work: Promise<unknown>, onFailure: (error: unknown) => void): void;
  /** Resolves when all work that was started has finished. */
  flush(): Promise<void>;
}

export function createBackground(): Background {
  const underWay = new Set<Promise<unknown>>();
  return {
    run(work, onFailure) {
      const done = work.catch(onFailure).finally(() => underWay.delete(done));
      underWay.add(done);
    },
    async flush() {
      await Promise.all(underWay);
    },
  };
}
