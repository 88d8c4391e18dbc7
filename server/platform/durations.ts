/** The units of time. How long things take or last is in limits.ts, or beside the code that it belongs to. */

export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
export const daySeconds = dayMs / secondMs;
