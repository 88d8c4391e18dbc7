import type { ApiError } from '../../errors.ts';
import { sentKeyOf, storeAnswer } from '../../http/key-queries.ts';
import type { PhasedRequest } from '../../http/phases.ts';
import type { DatabasePool, Queryable } from '../../platform/database.ts';
import type { OrderState, TransactionSummary } from './order.ts';
import { findOrder, lockOrder } from './queries.ts';
import { deriveReference, subjects } from './operations/reference.ts';

/** Refunds by the idempotency key they began with. The reference is derived from the key, and outlives it. */

export interface KeyedRefund {
  readonly id: string;
  /** Whether the processor has accepted or declined it. Otherwise it may never have arrived. */
  readonly isKnown: boolean;
}

/** A key that is used again after it has expired counts up. */
const generationsMax = 32;

function refundOf({ order, transactions }: OrderState, key: string): TransactionSummary | undefined {
  const subject = subjects.keyedRefund(key);
  const references = Array.from({ length: generationsMax }, (_, number) =>
    deriveReference(order.company_id, { subject, number }),
  );
  return transactions.findLast(({ reference }) => references.includes(reference));
}

export async function findKeyedRefund(
  db: Queryable,
  companyId: string,
  orderId: string,
  key: string,
): Promise<KeyedRefund | undefined> {
  const state = await findOrder(db, companyId, orderId);
  const found = state && refundOf(state, key);
  return found && { id: found.id, isKnown: found.status !== 'in_progress' || found.processor_transaction_id !== null };
}

/** A refund claims its key while it holds the lock of the order, so none can begin between the check and the refusal. */
export async function stopKeyedRefund(
  db: DatabasePool,
  orderId: string,
  { key, refusal: answerOf }: PhasedRequest,
  refusal: ApiError,
): Promise<boolean> {
  const answer = answerOf(refusal);
  if (!key || !answer) throw new Error('a refund without a key cannot be stopped');
  return db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, key.companyId, orderId);
    if (state && refundOf(state, sentKeyOf(key))) return false;
    await storeAnswer(transaction, key, answer);
    return true;
  });
}
