import type { Queryable } from '../../../platform/database.ts';
import { rowsOf } from '../../../platform/rows.ts';
import type { AuthenticationResult } from '../../../vault/processors/authentication.ts';
import type { ProcessorResponse } from '../../../vault/processors/processor.ts';
import { type RedemptionOutcome, redemptionOutcomeParts } from '../../coupons/redemption-queries.ts';
import { eventCount, type EventRow, eventValues, insertingEvents } from '../../events/queries.ts';
import { canMove } from './operation-moves.ts';
import { inFlightSlot } from './open-queries.ts';
import type { OrderRow, TransactionSummary } from '../order.ts';

/**
 * Records outcomes of charges. The statement takes any number of them, so that outcomes that arrive together share
 * one commit.
 */

/** The outcome of a sale, and what it changes on the order. */
export interface OutcomeRecord {
  /** The order after the change; `expected` is the order that the change was computed from. */
  readonly order: OrderRow;
  readonly expected: Pick<OrderRow, 'status' | 'sequence'>;
  readonly transaction: TransactionSummary;
  /** The sending that this outcome belongs to. It has no effect if the sale was sent again since. */
  readonly sending: number;
  /** Another operation at the processor has the reference, so the transaction does not keep it. */
  readonly disowned: boolean;
  /** The call executed nothing, which a lookup may do: no effect if the operation is in doubt. */
  readonly unexecuted: boolean;
  /** Whether the order after this outcome becomes the answer to its idempotency key. */
  readonly replacesAnswer: boolean;
  readonly response: (ProcessorResponse & { readonly authentication?: AuthenticationResult }) | null;
  readonly event: EventRow;
  readonly chargebackAt: Date | null;
  readonly rare?: RareChange;
}

/** What few outcomes change: no other charge pays for it. */
export interface RareChange {
  /** The funds that are held from now on. */
  readonly held?: { readonly amount: number; readonly captureBefore: Date };
  /** Where the customer can confirm the payment. */
  readonly confirmation?: { readonly url: string; readonly until: Date };
  /** The card that may be charged without the customer from now on. */
  readonly mandate?: { readonly paymentMethodId: string };
}

const changeRows = rowsOf({
  company_id: 'uuid',
  order_id: 'uuid',
  from_status: 'text',
  from_sequence: 'integer',
  status: 'text',
  sequence: 'integer',
  attempt_count: 'integer',
  next_retry_at: 'timestamptz',
  subscription_cycle: 'integer',
  payment_method_id: 'uuid',
  card_brand: 'text',
  card_last4: 'text',
  failure_code: 'text',
  failure_reason: 'text',
  sale_id: 'uuid',
  updated_at: 'timestamptz',
  event_id: 'uuid',
  transaction_id: 'uuid',
  sending: 'integer',
  disowned: 'boolean',
  unexecuted: 'boolean',
  replaces_answer: 'boolean',
  transaction_status: 'text',
  transaction_failure_code: 'text',
  transaction_failure_reason: 'text',
  processor_response: 'json',
  chargeback_at: 'timestamptz',
});
const firstEvent = 1 + changeRows.count;
const redemptionParameter = firstEvent + eventCount;

const isMoved = (id: string): string => `${id} = ANY (ARRAY(SELECT order_id FROM moved))`;

// The operation is looked up for each change. As an ordinary join, PostgreSQL would read all open operations, of which
// it expects hardly any. It is locked, because another process may be about to close it or to send it again: so the slot
// has the same operation when it is closed.
const outcomeStatement = (more: readonly string[], setting = ''): string => `
  WITH moved AS (
    UPDATE orders o SET status = c.status, sequence = c.sequence, attempt_count = c.attempt_count,
      next_retry_at = c.next_retry_at, subscription_cycle = c.subscription_cycle,
      payment_method_id = c.payment_method_id, card_brand = c.card_brand, card_last4 = c.card_last4,
      failure_code = c.failure_code, failure_reason = c.failure_reason,
      sale_id = c.sale_id, updated_at = c.updated_at,${setting}
      answer_event_id = CASE WHEN c.replaces_answer THEN c.event_id ELSE coalesce(o.answer_event_id, c.event_id) END
    FROM ${changeRows.from(1)} AS c
    CROSS JOIN LATERAL (
      SELECT FROM open_transactions t WHERE t.company_id = c.company_id AND t.order_id = c.order_id
        AND t.slot = '${inFlightSlot}' AND t.id = c.transaction_id AND t.sending = c.sending
        AND ${canMove('outcome_recorded', 't')} AND (NOT c.unexecuted OR ${canMove('nothing_executed', 't')}) OFFSET 0 FOR UPDATE
    ) AS open
    WHERE o.company_id = c.company_id AND o.id = c.order_id AND o.status = c.from_status
      AND o.sequence = c.from_sequence
    RETURNING o.company_id, o.id AS order_id, c.transaction_status, c.processor_response, c.transaction_failure_code,
      c.transaction_failure_reason, c.updated_at, c.disowned, c.chargeback_at
  ), closed AS (
    DELETE FROM open_transactions t USING moved m
    WHERE t.company_id = m.company_id AND t.order_id = m.order_id AND t.slot = '${inFlightSlot}'
    RETURNING t.company_id, t.id, t.order_id, t.customer_id, t.payment_method_id, t.type, t.amount, t.currency,
      t.card_brand, t.card_last4, m.transaction_status, m.processor_response, m.transaction_failure_code,
      m.transaction_failure_reason, m.updated_at, CASE WHEN m.disowned THEN NULL ELSE t.reference END,
      t.connection_id
  ), recorded AS (
    INSERT INTO transactions (company_id, id, order_id, customer_id, payment_method_id, type, amount, currency,
      card_brand, card_last4, status, processor_response, failure_code, failure_reason, updated_at, reference, connection_id)
    SELECT * FROM closed
  ), emitted AS (
    ${insertingEvents(firstEvent, isMoved('object_id'))}
  )${more.map((part) => `, ${part}`).join('')}
  SELECT order_id AS id FROM moved`;

const disputing = `disputed AS (
    INSERT INTO scheduled_chargebacks (company_id, order_id, due_at)
    SELECT company_id, order_id, chargeback_at FROM moved WHERE chargeback_at IS NOT NULL ON CONFLICT DO NOTHING
  )`;
const redemptionsOn = (parameter: number): string => redemptionOutcomeParts(`$${parameter}`, isMoved('e.order_id'));
const redeeming = redemptionsOn(redemptionParameter);

// Rare changes have a parameter of their own.
const rareParameter = redemptionParameter;
const rareRows = `json_to_recordset($${rareParameter}::json) AS r (order_id uuid, amount bigint, before timestamptz,
    url text, until timestamptz, method_id uuid)`;
const rare = (column: string): string => `(SELECT ${column} FROM ${rareRows} WHERE r.order_id = o.id)`;
const rarely = ` authorized_amount = coalesce(${rare('r.amount')}, o.authorized_amount),
      capture_before = coalesce(${rare('r.before')}, o.capture_before),
      authentication_url = coalesce(${rare('r.url')}, o.authentication_url),
      authentication_until = coalesce(${rare('r.until')}, o.authentication_until),`;
const mandating = `mandated AS (
    UPDATE payment_methods p SET mandated_at = m.updated_at FROM moved m, ${rareRows}
    WHERE r.order_id = m.order_id AND p.company_id = m.company_id AND p.id = r.method_id AND p.mandated_at IS NULL
  )`;

// PostgreSQL prepares each part of a statement for each batch, whether or not the batch needs it.
const plain = { usual: outcomeStatement([]), withDisputes: outcomeStatement([disputing]) };
const withRedemptions = {
  usual: outcomeStatement([redeeming]),
  withDisputes: outcomeStatement([disputing, redeeming]),
};

const withRareChanges = {
  usual: outcomeStatement([disputing, mandating], rarely),
  redeeming: outcomeStatement([disputing, mandating, redemptionsOn(rareParameter + 1)], rarely),
};

function statementFor(batch: { isRare: boolean; isRedeeming: boolean; isDisputing: boolean }): string {
  if (batch.isRare) return batch.isRedeeming ? withRareChanges.redeeming : withRareChanges.usual;
  const statements = batch.isRedeeming ? withRedemptions : plain;
  return batch.isDisputing ? statements.withDisputes : statements.usual;
}

const rareRow = (order_id: string, { held, confirmation, mandate }: RareChange): object => ({
  order_id,
  amount: held?.amount,
  before: held?.captureBefore,
  url: confirmation?.url,
  until: confirmation?.until,
  method_id: mandate?.paymentMethodId,
});

/** Returns for each record whether it took effect. It does not if the order has changed meanwhile. */
export async function writeOutcomes(
  db: Queryable,
  records: readonly OutcomeRecord[],
  redemptions: readonly RedemptionOutcome[] = [],
): Promise<boolean[]> {
  // If several records concern one order, the first wins, as if they had arrived one after the other.
  const firsts = new Map(records.toReversed().map((one) => [one.order.id, one]));
  const taken = [...firsts.values()];
  const changes = taken.map(
    ({ order, expected, transaction, sending, disowned, unexecuted, replacesAnswer, ...rest }) => ({
      company_id: order.company_id,
      order_id: order.id,
      from_status: expected.status,
      from_sequence: expected.sequence,
      status: order.status,
      sequence: order.sequence,
      attempt_count: order.attempt_count,
      next_retry_at: order.next_retry_at,
      subscription_cycle: order.subscription_cycle,
      payment_method_id: order.payment_method_id,
      card_brand: order.card_brand,
      card_last4: order.card_last4,
      failure_code: order.failure_code,
      failure_reason: order.failure_reason,
      sale_id: order.sale_id,
      updated_at: order.updated_at,
      event_id: rest.event.id,
      transaction_id: transaction.id,
      sending,
      disowned,
      unexecuted,
      replaces_answer: replacesAnswer,
      transaction_status: transaction.status,
      transaction_failure_code: transaction.failure_code,
      transaction_failure_reason: transaction.failure_reason,
      processor_response: rest.response,
      chargeback_at: rest.chargebackAt,
    }),
  );
  const isRedeeming = redemptions.length > 0;
  const isDisputing = changes.some(({ chargeback_at }) => chargeback_at !== null);
  const rares = taken.flatMap(({ order, rare: change }) => (change ? [rareRow(order.id, change)] : []));
  const rows = await db.query<{ id: string }>(statementFor({ isRare: rares.length > 0, isRedeeming, isDisputing }), [
    ...changeRows.values(changes),
    ...eventValues(taken.map(({ event }) => event)),
    ...(rares.length > 0 ? [JSON.stringify(rares)] : []),
    ...(isRedeeming ? [JSON.stringify(redemptions)] : []),
  ]);
  const moved = new Set(rows.map(({ id }) => id));
  return records.map((one) => firsts.get(one.order.id) === one && moved.has(one.order.id));
}
