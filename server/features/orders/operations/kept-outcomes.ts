import { limits } from '../../../limits.ts';
import { hourMs } from '../../../platform/durations.ts';
import { type LookupOutcome, noResponse } from '../../../vault/processors/processor.ts';
import { executedCharge, type Kept } from '../../restores/service.ts';
import type { Charging } from './charging.ts';
import { whereItIs } from './record-result.ts';
import { isKeyed, laterReferences, type Referenced } from './reference.ts';
import type { OpenedSale } from './sales.ts';

/** A charge that a connection has executed, although the records name another one or none. */
export interface ExecutedCharge {
  readonly connectionId: string;
  /** The reference under which it was executed, if it is another one. */
  readonly as?: Referenced;
  readonly found: Extract<LookupOutcome, { outcome: 'approved' | 'declined' | 'conflict' }>;
}

/**
 * After a restore, the comparison with the processors has kept what they executed and the records do not have. A request that is
 * repeated, and a renewal, gets that outcome, and no processor is asked. Undefined if the charge is to be sent. Only a company
 * with such operations pays for the look.
 */
export async function keptOutcome(
  charging: Charging,
  sale: OpenedSale & { readonly company_id: string },
  currency: string,
): Promise<ExecutedCharge | undefined> {
  if (!sale.remembers) return undefined;
  const { company_id, reference } = sale;
  const { db } = await whereItIs(charging, sale);
  const later = laterReferences(company_id, sale);
  const kept = await executedCharge(db, company_id, [reference, ...later.map((one) => one.reference)]);
  if (!kept) return undefined;
  // A key that is used again after it has expired stands for a new purchase.
  if (isKeyed(sale) && kept.age_ms > limits.idempotencyKeyHours * hourMs) return undefined;
  const as = later.find((one) => one.reference === kept.reference);
  return { connectionId: kept.connection_id, found: foundAs(kept, sale, currency), ...(as && { as }) };
}

function foundAs(kept: Kept, { type, amount, card_last4 }: OpenedSale, currency: string): ExecutedCharge['found'] {
  const executed = { atMs: kept.executed_ms, ageMs: kept.age_ms };
  const isSame =
    (kept.kind === 'authorization') === (type === 'auth') &&
    (kept.amount ?? amount) === amount &&
    (kept.currency ?? currency) === currency &&
    (kept.last4 ?? card_last4) === card_last4;
  return isSame
    ? { outcome: 'approved', response: { ...noResponse, transaction_id: kept.transaction_id }, executed }
    : { outcome: 'conflict', approved: true, executed };
}
