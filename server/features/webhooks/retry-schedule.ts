import { hourMs, minuteMs, secondMs } from '../../platform/durations.ts';

/** The delay after each failure; after the last one the delivery has failed. */
export const retryDelaysMs = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  20 * hourMs,
  24 * hourMs,
] as const;

const jitterShare = 0.2;
const retryAfterMaxMs = 24 * hourMs;

/**
 * Returns null after the last attempt. The result is never before the time that the receiver asked for. `random` is
 * from 0 to 1 and spreads the attempts by a fifth either way.
 */
export function nextAttemptAt(attempts: number, nowMs: number, askedMs: number, random: number): Date | null {
  const delayMs = retryDelaysMs[attempts - 1];
  if (delayMs === undefined) return null;
  const spreadMs = delayMs * (1 + jitterShare * (2 * random - 1));
  return new Date(nowMs + Math.max(spreadMs, askedMs));
}

/** Parses `Retry-After`: seconds, or a date by real time. Any other value counts as 0. */
export function retryAfterMs(text: string | undefined, realNowMs: number): number {
  if (text === undefined) return 0;
  const asked = /^\d+$/.test(text.trim()) ? Number(text) * secondMs : Date.parse(text) - realNowMs;
  return Number.isFinite(asked) ? Math.min(Math.max(asked, 0), retryAfterMaxMs) : 0;
}
