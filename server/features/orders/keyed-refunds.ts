import type { ApiError } from '../../errors.ts';
import { sentKeyOf, storeAnswer } from '../../http/key-queries.ts';
import type { PhasedRequest } from '../../http/phases.ts';
import type { DatabasePool, Queryable } from '../../platform/database.ts';
import { creditRefundOf } from '../credit/service.ts';
import type { OrderState } from './order.ts';
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

function referencesOf({ order }: OrderState, key: string): string[] {
  const subject = subjects.keyedRefund(key);
  return Array.from({ length: generationsMax }, (_, number) => deriveReference(order.company_id, { subject, number }));
}

/** A refund that went to the credit of the customer alone has no transaction, and is known at once. */
async function refundOf(db: Queryable, state: OrderState, key: string): Promise<KeyedRefund | undefined> {
  const references = referencesOf(state, key);
  const found = state.transactions.findLast(({ reference }) => references.includes(reference));
  if (found) {
    return { id: found.id, isKnown: found.status !== 'in_progress' || found.processor_transaction_id !== null };
  }
  if (!state.order.credit_refunded) return undefined;
  const id = await creditRefundOf(db, state.order.company_id, state.order.id, references);
  return id === undefined ? undefined : { id, isKnown: true };
}

export async function findKeyedRefund(
  db: Queryable,
  companyId: string,
  orderId: string,
  key: string,
): Promise<KeyedRefund | undefined> {
  const state = await findOrder(db, companyId, orderId);
  return state && refundOf(db, state, key);
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
    if (state && (await refundOf(transaction, state, sentKeyOf(key)))) return false;
    await storeAnswer(transaction, key, answer);
    return true;
  });
}
