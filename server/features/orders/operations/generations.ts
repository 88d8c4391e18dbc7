import { limits } from '../../../limits.ts';
import { hourMs } from '../../../platform/durations.ts';
import type { Charging } from './charging.ts';
import { gatewayError } from './errors.ts';
import { connectionOf } from './connection.ts';
import { deriveReference, type Numbered } from './reference.ts';
import { findRecorded, firstUnused, type RecordedOperation } from './reference-queries.ts';
import type { Company } from '../../../company.ts';
import type { Queryable } from '../../../platform/database.ts';
import type { VaultLookup } from '../../../vault/vault.ts';
import { chargeOf } from '../order.ts';
import { findOrder } from '../queries.ts';

/**
 * A key that is used again after 24 hours starts a new operation, of the next generation. If the books already have a
 * generation, the key has expired by our clock only; before anything is charged, the processor's clock decides.
 */
export type Generation =
  /** The next unused number. */
  | { readonly kind: 'new'; readonly numbered: Numbered }
  /** The processor executed the last one less than 24 hours ago, so by its clock the key has not expired. */
  | { readonly kind: 'in_use'; readonly operation: RecordedOperation };

export async function generationOf(
  { db, vault }: Charging,
  { id: companyId, mode }: Pick<Company, 'id' | 'mode'>,
  subject: readonly string[],
): Promise<Generation> {
  const numbered = await firstUnused(db, companyId, subject);
  // A sandbox has its own clock, and no sandbox operation can be executed twice.
  if (numbered.number === 0 || mode === 'sandbox') return { kind: 'new', numbered };
  const reference = deriveReference(companyId, { subject, number: numbered.number - 1 });
  const operation = await findRecorded(db, companyId, reference);
  if (!operation) return { kind: 'new', numbered };
  const about = operation.type === 'refund' ? await aboutRefund(db, companyId, operation) : undefined;
  const found = await vault.lookup({
    companyId,
    mode,
    reference,
    validUntilMs: 0,
    ...connectionOf(operation),
    ...about,
  });
  if (found.outcome === 'unknown' && !found.isUnanswerable) throw gatewayError('charge');
  const executed = 'executed' in found ? found.executed : undefined;
  const isYoung = executed !== undefined && executed.ageMs <= limits.idempotencyKeyHours * hourMs;
  return isYoung ? { kind: 'in_use', operation } : { kind: 'new', numbered };
}

/** Not every processor finds a refund by its reference alone. */
async function aboutRefund(
  db: Queryable,
  companyId: string,
  { order_id }: RecordedOperation,
): Promise<Pick<VaultLookup, 'kind' | 'chargeReference' | 'chargeTransactionId'>> {
  const state = await findOrder(db, companyId, order_id);
  return { kind: 'refund', ...(state && chargeOf(state)) };
}
