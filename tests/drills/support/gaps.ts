/** Times without success. */

export interface Gap {
  readonly startMs: number;
  readonly endMs: number;
}

export const secondsOf = ({ startMs, endMs }: Gap): number => (endMs - startMs) / 1_000;

/** Orders may still be acknowledged after a fault begins, so the outage is the longest time without one. */
export function longestGap(writes: readonly number[], fromMs: number, untilMs: number): Gap {
  const times = [
    fromMs,
    ...writes.filter((atMs) => atMs > fromMs && atMs < untilMs).toSorted((a, b) => a - b),
    untilMs,
  ];
  const gaps = times.slice(1).map((endMs, index) => ({ startMs: times[index] ?? fromMs, endMs }));
  return gaps.reduce((one, other) => (secondsOf(other) > secondsOf(one) ? other : one));
}
