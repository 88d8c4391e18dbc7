/**
 * Limits the requests to a host. A request that has waited long for its answer no longer counts, so requests that hang
 * do not keep others from the host. Senders that wait for a permit get one each, in turn.
 */
export interface HostLimit {
  /** Returns false if there is no permit. Then it calls `onFree` once, when there is one. */
  acquire(request: object, onFree: () => void): boolean;
  release(request: object): void;
  isIdle(): boolean;
}

interface HostLimitOptions {
  readonly permits: number;
  /** A request without an answer counts for this long. */
  readonly countsMs: number;
}

export function createHostLimit({ permits, countsMs }: HostLimitOptions): HostLimit {
  /** When each request got its permit; the oldest comes first. */
  const acquired = new Map<object, number>();
  const waiting = new Set<() => void>();
  /** Whether the next permit is for the sender whose `onFree` is called at the moment. */
  let isReserved = false;
  let timer: NodeJS.Timeout | undefined;

  function isFull(): boolean {
    if (acquired.size < permits) return false;
    const countsSinceMs = performance.now() - countsMs;
    for (const [request, acquiredMs] of acquired) {
      if (acquiredMs > countsSinceMs) break;
      acquired.delete(request);
    }
    return acquired.size >= permits;
  }

  function wake(): void {
    for (const onFree of waiting) {
      if (isFull()) break;
      waiting.delete(onFree);
      isReserved = true;
      onFree();
      isReserved = false;
    }
    if (waiting.size > 0) wakeLater();
  }

  /** Wakes senders when the oldest request no longer counts. */
  function wakeLater(): void {
    if (timer) return;
    const [oldestMs = 0] = acquired.values();
    const wakeNow = (): void => {
      timer = undefined;
      wake();
    };
    timer = setTimeout(wakeNow, Math.max(1, oldestMs + countsMs - performance.now())).unref();
  }

  return {
    acquire(request, onFree) {
      if (isFull() || (waiting.size > 0 && !isReserved)) {
        waiting.add(onFree);
        wakeLater();
        return false;
      }
      isReserved = false;
      acquired.set(request, performance.now());
      return true;
    },
    release(request) {
      acquired.delete(request);
      if (waiting.size > 0) wake();
    },
    isIdle: () => acquired.size === 0 && waiting.size === 0,
  };
}
