import { setTimeout as sleep } from 'node:timers/promises';
import { addressBucket } from './addresses.ts';

/**
 * Slows down callers who ask for what does not exist, for example unknown API keys. Each miss delays the next question of its address,
 * and by more, the more addresses miss: all of them together get the answers that one could get. Others never wait.
 */
export interface Misses {
  /** Called before the search. Undefined if the address need not wait. */
  turn(address: string): Promise<void> | undefined;
  /** Called when the search found nothing. */
  note(address: string): void;
}

const missMs = 10;
const waitMsMax = 5_000;
const addressesMax = 10_000;
/** Many people can share an address, and one of them may only have opened an old link: it is free again after this time. */
const blockedMsMax = 60_000;

export function createMisses(busy: (retryAfterSeconds: number) => Error): Misses {
  /** When an address may ask again. The one that missed last comes last. */
  const freeAtMs = new Map<string, number>();

  function forgetFree(nowMs: number): void {
    for (const [bucket, untilMs] of freeAtMs) {
      if (untilMs > nowMs && freeAtMs.size < addressesMax) return;
      freeAtMs.delete(bucket);
    }
  }

  return {
    turn(address) {
      if (freeAtMs.size === 0) return undefined;
      const waitMs = (freeAtMs.get(addressBucket(address)) ?? 0) - performance.now();
      if (waitMs > waitMsMax) return Promise.reject(busy(Math.ceil(waitMs / 1000)));
      return waitMs > 1 ? sleep(waitMs) : undefined;
    },
    note(address) {
      const nowMs = performance.now();
      forgetFree(nowMs);
      const bucket = addressBucket(address);
      const untilMs = Math.max(nowMs, freeAtMs.get(bucket) ?? 0);
      freeAtMs.delete(bucket);
      freeAtMs.set(bucket, Math.min(untilMs + missMs * (freeAtMs.size + 1), nowMs + blockedMsMax));
    },
  };
}
