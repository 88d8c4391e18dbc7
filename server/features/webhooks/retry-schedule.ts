import { hourMs, minuteMs, secondMs } from '../../platform/durations.ts';

/** How long after each failure the next attempt is made; after the last of them the delivery has failed. */
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
 * Null when it was the last attempt. Never before what the receiver asked for; `random` is from 0 to 1 and spreads the
 * attempts by a fifth either way.
 */
export function nextAttemptAt(attempts: number, nowMs: number, askedMs: number, random: number): Date | null {
  const delayMs = retryDelaysMs[attempts - 1];
  if (delayMs === undefined) return null;
  const spreadMs = delayMs * (1 + jitterShare * (2 * random - 1));
  return new Date(nowMs + Math.max(spreadMs, askedMs));
}

/** `Retry-After`: seconds, or a date by the receiver's clock, which is the real one. What is neither asks for nothing. */
export function retryAfterMs(text: string | undefined, realNowMs: number): number {
  if (text === undefined) return 0;
  const asked = /^\d+$/.test(text.trim()) ? Number(text) * secondMs : Date.parse(text) - realNowMs;
  return Number.isFinite(asked) ? Math.min(Math.max(asked, 0), retryAfterMaxMs) : 0;
}
