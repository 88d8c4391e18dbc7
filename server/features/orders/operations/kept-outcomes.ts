import { limits } from '../../../limits.ts';
import { hourMs } from '../../../platform/durations.ts';
import { type LookupOutcome, noResponse } from '../../../vault/processors/processor.ts';
import { isKeyed } from './reference.ts';
import type { OpenedSale } from './sales.ts';

/** A charge that a connection has executed, although the records name another one or none. */
export interface ExecutedCharge {
  readonly connectionId: string;
  readonly found: Extract<LookupOutcome, { outcome: 'approved' | 'declined' | 'conflict' }>;
}

/**
 * After a restore, the comparison with the processors has kept what they executed and the records do not have. A request that is
 * repeated, and a renewal, gets that outcome, and no processor is asked. Undefined if the charge is to be sent.
 */
export function keptOutcome(
  { kept, numbered, amount, card_last4 }: OpenedSale,
  currency: string,
): ExecutedCharge | undefined {
  if (!kept) return undefined;
  // A key that is used again after it has expired stands for a new purchase.
  if (numbered && isKeyed(numbered) && kept.age_ms > limits.idempotencyKeyHours * hourMs) return undefined;
  const executed = { atMs: kept.executed_ms, ageMs: kept.age_ms };
  const isSame =
    (kept.amount ?? amount) === amount &&
    (kept.currency ?? currency) === currency &&
    (kept.last4 ?? card_last4) === card_last4;
  const found = isSame
    ? ({ outcome: 'approved', response: { ...noResponse, transaction_id: kept.transaction_id }, executed } as const)
    : ({ outcome: 'conflict', approved: true, executed } as const);
  return { connectionId: kept.connection_id, found };
}
