import type { Queryable } from '../../platform/database.ts';
import type { ListedOperation } from '../../vault/processors/processor.ts';
import { inFlightSlot } from './open-queries.ts';

/** Adopts operations that the processor executed and the books do not have, as after a restore from a backup. */

export interface ExecutedOperation {
  readonly company_id: string;
  readonly order_id: string | null;
  readonly operation: ListedOperation;
}

/**
 * Opens an operation of an order that the processor has executed, as one in doubt: reconciliation looks up its
 * outcome and records it. Its opening time is before its execution, because otherwise it would look like an earlier
 * use of its key. Returns false if another operation of the order is in flight.
 */
export async function openExecuted(
  db: Queryable,
  { company_id, order_id, operation }: ExecutedOperation,
  opened: { readonly id: string; readonly at: Date; readonly agoMs: number },
): Promise<boolean> {
  const type = operation.kind === 'charge' ? 'sale' : operation.kind;
  const rows = await db.query(
    `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount,
       currency, card_brand, card_last4, updated_at, reference, opened_at, valid_until, locked_until, next_check_at,
       state, connection_id)
     SELECT o.company_id, o.id, '${inFlightSlot}', $3, o.customer_id, o.payment_method_id, $4, coalesce($5, o.total),
       o.currency, o.card_brand, coalesce($8, o.card_last4), $6, $7, now() - $9 * interval '1 ms', now(), now(), now(),
       'in_doubt', $10
     FROM orders o WHERE o.company_id = $1 AND o.id = $2
     ON CONFLICT DO NOTHING RETURNING 1`,
    [
      company_id,
      order_id,
      opened.id,
      type,
      operation.amount,
      opened.at,
      operation.reference,
      operation.last4,
      opened.agoMs,
      operation.connectionId ?? null,
    ],
  );
  return rows.length === 1;
}

/** The processor executed a charge in doubt on another card. With that card, reconciliation can record it. */
export async function takeCardOf(db: Queryable, companyId: string, operation: ListedOperation): Promise<boolean> {
  const rows = await db.query(
    `UPDATE open_transactions SET card_last4 = $3, next_check_at = now()
     WHERE company_id = $1 AND reference = $2 AND type = 'sale' AND amount = $4 AND currency = $5 RETURNING 1`,
    [companyId, operation.reference, operation.last4, operation.amount, operation.currency],
  );
  return rows.length === 1;
}
