import { minuteMs } from './durations.ts';

/** Reports what may happen often: the first time at once, and then once a minute, with the last detail and the number. */
export function sparsely<Detail>(
  report: (detail: Detail, count: number) => void,
  everyMs: number = minuteMs,
): (detail: Detail) => void {
  let pending: { detail: Detail; count: number } | undefined;

  function begin(detail: Detail, count: number): void {
    report(detail, count);
    pending = { detail, count: 0 };
    setTimeout(end, everyMs).unref();
  }

  function end(): void {
    const { detail, count } = pending as { detail: Detail; count: number };
    pending = undefined;
    if (count > 0) begin(detail, count);
  }

  return (detail) => {
    if (pending) pending = { detail, count: pending.count + 1 };
    else begin(detail, 1);
  };
}
