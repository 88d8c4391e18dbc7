/** The units of time. Durations are in limits.ts, or next to the code that uses them. */

export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
export const daySeconds = dayMs / secondMs;
