import type { Queryable } from '../../../platform/database.ts';
import { findAnswer } from '../queries.ts';
import type { Order } from '../schemas.ts';
import { usedByAnother } from './errors.ts';
import { conflictCode } from './record-outcomes.ts';

/**
 * Returns a new order as it was after its first charge, which is the answer to its idempotency key at any later time. Throws if
 * the processor has another charge under its key.
 */
export async function findFirstAnswer(db: Queryable, companyId: string, orderId: string): Promise<Order | undefined> {
  const order = await findAnswer(db, companyId, orderId);
  const sale = order?.transactions[0];
  if (sale?.failure_code === conflictCode && sale.processor_transaction_id === null) throw usedByAnother();
  return order;
}
