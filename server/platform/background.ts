/** Work that an answer does not wait for. */
export interface Background {
  run(work: Promise<unknown>, onFailure: (error: unknown) => void): void;
  /** When everything that was begun has ended. */
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
