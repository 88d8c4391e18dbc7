import { dayMs, hourMs } from '../../../platform/durations.ts';
import type { KnownOutcome } from './record-outcomes.ts';

/** How long the card networks hold funds if the processor does not say it: shorter for a charge without the customer. */
const holdMs = { customer: 7 * dayMs, merchant: 4 * dayMs + 18 * hourMs } as const;

/** Until when an authorization can be captured, by the clock of its processor. */
export function captureBefore(
  initiator: keyof typeof holdMs,
  { captureBeforeMs }: Pick<Extract<KnownOutcome, { outcome: 'approved' }>, 'captureBeforeMs'>,
  nowMs: number,
): Date {
  return new Date(captureBeforeMs ?? nowMs + holdMs[initiator]);
}
