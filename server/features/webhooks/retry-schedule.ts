const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** How long after each failure the next attempt is made; after the last of them the delivery has failed. */
export const retryDelaysMs = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
] as const;

const jitterShare = 0.2;
const retryAfterMaxMs = 24 * hour;

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
  const asked = /^\d+$/.test(text.trim()) ? Number(text) * second : Date.parse(text) - realNowMs;
  return Number.isFinite(asked) ? Math.min(Math.max(asked, 0), retryAfterMaxMs) : 0;
}
