import { dayMs, hourMs, minuteMs } from '../../../platform/durations.ts';

/** How long an operation is reserved for the process that began it; longer than its processor may take to answer. */
export const lockMs = { sandbox: 5_000, rehearsal: 30_000, live: 30_000 } as const;

/** Times since an operation came into doubt at which it is reconciled; after the last, daily. */
const checksAfterMs = [5, 15, 60, 300, 1_800, 7_200].map((seconds) => seconds * 1_000);
export const firstCheckMs = checksAfterMs[0] ?? dayMs;
export const checkDelaysMs = [
  ...checksAfterMs.slice(1).map((after, index) => after - (checksAfterMs[index] ?? 0)),
  dayMs,
];

/** How long a sale that could not be sent waits for its request to be repeated. */
export const repeatWithinMs = hourMs;
/** How often the worker repeats the sending of a renewal that could not be sent. */
export const resendDelayMs = 10_000;
/** How often it repeats one that waits until a connection is corrected, or until its processor can be asked. */
export const correctedDelayMs = 300_000;

/** How long a customer has at the bank. */
export const customerMs = 30 * minuteMs;
/** When the processor is asked whether the bank has decided: soon after the customer came back, and then every minute. */
export const customerDelaysMs = [2_000, 5_000, 10_000, 30_000, minuteMs];
