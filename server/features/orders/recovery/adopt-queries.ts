import type { Queryable } from '../../../platform/database.ts';
import type { ListedOperation, OperationKind } from '../../../vault/processors/processor.ts';
import { canMove, stateAfter } from '../operations/operation-moves.ts';
import { inFlightSlot, type OpenType } from '../operations/open-queries.ts';
import { type Numbered, subjects } from '../operations/reference.ts';

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
  const rows = await db.query(
    `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount,
       currency, card_brand, card_last4, updated_at, reference, opened_at, valid_until, locked_until, next_check_at,
       state, adopted, connection_id, cause, subject, number)
     SELECT o.company_id, o.id, '${inFlightSlot}', $3, o.customer_id, o.payment_method_id, $4, coalesce($5, o.total - coalesce(o.credit_applied, 0)),
       o.currency, o.card_brand, coalesce($8, o.card_last4), $6, $7, now() - $9 * interval '1 ms', now(), now(), now(),
       'in_doubt', true, $10, $11, $12, $13
     FROM orders o WHERE o.company_id = $1 AND o.id = $2
     ON CONFLICT DO NOTHING RETURNING 1`,
    [
      company_id,
      order_id,
      opened.id,
      typesOf[operation.kind],
      operation.amount,
      opened.at,
      operation.reference,
      operation.last4,
      opened.agoMs,
      operation.connectionId ?? null,
      ...(operation.kind === 'capture' ? ['capture', subjects.capture(order_id ?? ''), 0] : [null, null, null]),
    ],
  );
  return rows.length === 1;
}

const typesOf = {
  charge: 'sale',
  authorization: 'auth',
  capture: 'sale',
  refund: 'refund',
  void: 'void',
} as const satisfies Record<OperationKind, OpenType>;

/**
 * The processor executed a charge that is open in our records, perhaps at another connection or on another card. From here on
 * it is in doubt, and reconciliation records it. A process that is sending it now goes on.
 */
export async function takeExecuted(db: Queryable, companyId: string, operation: ListedOperation): Promise<boolean> {
  const rows = await db.query(
    `UPDATE open_transactions SET card_last4 = coalesce($3, card_last4), connection_id = coalesce($6, connection_id),
       state = ${stateAfter('listed')}, waits_for = NULL,
       adopted = true, sending = sending + 1, next_check_at = now()
     WHERE company_id = $1 AND reference = $2 AND type IN ('sale', 'auth') AND amount = coalesce($4, amount)
       AND currency = coalesce($5, currency) AND ${canMove('listed')}
       AND (state <> 'sending' OR locked_until <= now()) RETURNING 1`,
    [
      companyId,
      operation.reference,
      operation.last4,
      operation.amount,
      operation.currency,
      operation.connectionId ?? null,
    ],
  );
  return rows.length === 1;
}

/**
 * The processor executed the open charge of an order under a later reference, which it got after an interruption. The same as
 * above, with that reference.
 */
export async function takeLater(
  db: Queryable,
  { company_id, order_id, operation }: ExecutedOperation,
  { subject, number }: Numbered,
): Promise<boolean> {
  const rows = await db.query(
    `UPDATE open_transactions SET reference = $3, number = $8, subject = $9, card_last4 = coalesce($4, card_last4),
       connection_id = coalesce($7, connection_id), state = ${stateAfter('listed')}, waits_for = NULL,
       adopted = true, sending = sending + 1,
       next_check_at = now()
     WHERE company_id = $1 AND order_id = $2 AND type IN ('sale', 'auth') AND cause <> 'capture' AND amount = coalesce($5, amount)
       AND currency = coalesce($6, currency) AND ${canMove('listed')}
       AND (state <> 'sending' OR locked_until <= now()) RETURNING 1`,
    [
      company_id,
      order_id,
      operation.reference,
      operation.last4,
      operation.amount,
      operation.currency,
      operation.connectionId ?? null,
      number,
      subject,
    ],
  );
  return rows.length === 1;
}
