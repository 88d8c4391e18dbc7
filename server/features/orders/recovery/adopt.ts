import type { Database } from '../../../platform/database.ts';
import { takeCreditAgain } from '../credit.ts';
import { cardPart, isManual, type OrderState } from '../order.ts';
import { lockOrder } from '../queries.ts';
import { type ExecutedOperation, openExecuted } from './adopt-queries.ts';

/** Adopts charges that credit has paid a part of. */

/** Takes back the changes of its transaction. */
class NotAdopted extends Error {}

/**
 * The same as `openExecuted`. If the card paid less than the order is for, credit paid the rest, so it is taken again. Returns
 * false if the credit is not there: it was granted after the backup, and is to be granted again first.
 */
export async function adoptExecuted(
  db: Database,
  executed: ExecutedOperation,
  opened: Parameters<typeof openExecuted>[2],
): Promise<boolean> {
  const { company_id, order_id, operation } = executed;
  const { amount } = operation;
  if (operation.kind !== 'charge' || amount === null || order_id === null) return openExecuted(db, executed, opened);
  const adopt = async (transaction: Database): Promise<boolean> => {
    const state = await lockOrder(transaction, company_id, order_id);
    if (!(await openExecuted(transaction, executed, opened))) return false;
    const rest = state ? paidByCredit(state, amount) : 0;
    if (!state || rest === 0) return true;
    const { credit_applied } = await takeCreditAgain(transaction, state.order, rest, opened.at.getTime());
    if (credit_applied !== rest) throw new NotAdopted();
    return true;
  };
  return db.transaction(adopt).catch((error: unknown) => {
    if (error instanceof NotAdopted) return false;
    throw error;
  });
}

const paidByCredit = (state: OrderState, amount: number): number =>
  state.order.status === 'failed' && !isManual(state) ? Math.max(0, cardPart(state.order) - amount) : 0;
