import { keyColumns, type KeyRow } from '../../http/idempotency.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import type { ProcessorResponse } from '../../vault/processors/processor.ts';
import {
  admitRedemptions,
  type CouponFacts,
  couponFactsJson,
  factsFromJson,
  concludingParts,
  type Redemption,
  type RedemptionEnd,
  redeemingParts,
} from '../coupons/service.ts';
import { milliseconds, type NewOpenTransaction, type Opened, undecided, validUntil } from '../transactions/service.ts';
import { eventColumns, eventRecord, type EventRow } from '../events/service.ts';
import type { OrderRow, TransactionSummary } from './order.ts';
import { orderColumns } from './queries.ts';
import type { BrandName } from '../../platform/card-brands.ts';

/**
 * The statements of the money path. Those of a new charge take any number of orders at once: the cost of a statement and
 * of a commit is shared by all that arrive together.
 */

/** What an order is decided from, as one request asks for it. */
export interface Question {
  readonly company_id: string;
  readonly key: string | null;
  /** Of the first use of the key. */
  readonly reference: string;
  readonly now: string;
  readonly customer_id: string;
  readonly payment_method_id: string | null;
  readonly product_ids: readonly string[];
  /** As codes are compared. */
  readonly coupon_code: string | null;
}

export interface ProductFacts {
  readonly id: string;
  readonly name: string;
  readonly sku: string;
  readonly amount: number;
  readonly currency: string;
  readonly active: boolean;
  readonly ordered: boolean;
}

export interface Facts {
  readonly key: KeyRow | undefined;
  /** Whether the order of the key has its answer. */
  readonly answered: boolean;
  /** Whether the key was used before, for a charge that the books have. */
  readonly referenceUsed: boolean;
  readonly customer: { readonly deleted: boolean; readonly hasCard: boolean } | undefined;
  readonly card:
    | {
        readonly id: string;
        readonly cardId: string;
        readonly brand: BrandName;
        readonly last4: string;
        readonly expMonth: number;
        readonly expYear: number;
      }
    | undefined;
  readonly products: readonly ProductFacts[];
  readonly coupon: CouponFacts | undefined;
}

interface FactsRow extends KeyRow {
  place: number;
  answered: boolean;
  reference_used: boolean;
  customer_found: boolean;
  customer_deleted: boolean;
  has_card: boolean;
  payment_method_id: string | null;
  card_id: string;
  brand: BrandName;
  last4: string;
  exp_month: number;
  exp_year: number;
  products: ProductFacts[] | null;
  coupon: Parameters<typeof factsFromJson>[0];
}

const readFactsStatement = `
  SELECT q.place, ${keyColumns('q.now')}, o.answer_event_id IS NOT NULL AS answered,
    EXISTS (SELECT 1 FROM transactions t WHERE t.company_id = q.company_id AND t.reference = q.reference) AS reference_used,
    c.id IS NOT NULL AS customer_found, c.deleted_at IS NOT NULL AS customer_deleted,
    c.default_payment_method_id IS NOT NULL AS has_card,
    m.id AS payment_method_id, m.card_id, m.brand, m.last4, m.exp_month, m.exp_year,
    (SELECT json_agg(json_build_object('id', p.id, 'name', p.name, 'sku', p.sku, 'amount', p.amount,
       'currency', p.currency, 'active', p.active, 'ordered', p.ordered))
     FROM products p WHERE p.company_id = q.company_id AND p.id = ANY(q.product_ids)) AS products,
    ${couponFactsJson('q.company_id', 'q.coupon_code', 'q.customer_id')} AS coupon
  FROM json_to_recordset($1::json) AS q (place integer, company_id uuid, key text, reference uuid, now timestamptz,
    customer_id uuid, payment_method_id uuid, product_ids uuid[], coupon_code text)
  LEFT JOIN idempotency_keys k ON k.company_id = q.company_id AND k.key = q.key
  LEFT JOIN orders o ON o.company_id = k.company_id AND o.id = k.operation_id
  LEFT JOIN customers c ON c.company_id = q.company_id AND c.id = q.customer_id
  LEFT JOIN payment_methods m ON m.company_id = c.company_id AND m.customer_id = c.id AND m.deleted_at IS NULL
    AND m.id = coalesce(q.payment_method_id, c.default_payment_method_id)`;

export async function readFacts(db: Queryable, questions: readonly Question[]): Promise<Facts[]> {
  const rows = await db.query<FactsRow>(readFactsStatement, [
    JSON.stringify(
      questions.map((question, place) => ({ place, ...question, product_ids: `{${question.product_ids.join()}}` })),
    ),
  ]);
  rows.sort((left, right) => left.place - right.place);
  return rows.map((row) => ({
    key: row.method === null ? undefined : row,
    answered: row.answered,
    referenceUsed: row.reference_used,
    customer: row.customer_found ? { deleted: row.customer_deleted, hasCard: row.has_card } : undefined,
    card:
      row.payment_method_id === null
        ? undefined
        : {
            id: row.payment_method_id,
            cardId: row.card_id,
            brand: row.brand,
            last4: row.last4,
            expMonth: row.exp_month,
            expYear: row.exp_year,
          },
    products: row.products ?? [],
    coupon: factsFromJson(row.coupon),
  }));
}

/** The key an order is made under. */
export interface Claim {
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly field_hashes: Readonly<Record<string, string>>;
  readonly api_version: string;
  readonly version_named: boolean;
  readonly expires_at: string;
}

export interface Intent {
  readonly order: OrderRow;
  readonly claim: Claim;
  /** The sale that is about to be tried; none for an order that costs nothing. */
  readonly sale: { readonly id: string; readonly reference: string; readonly lockMs: number } | undefined;
  readonly answerEventId: string | undefined;
  readonly events: readonly EventRow[];
  readonly redemption: Redemption | undefined;
}

const orderRecord = `company_id uuid, id uuid, order_number text, customer_id uuid, payment_method_id uuid,
  card_brand text, card_last4 text, status text, items json, currency text, subtotal bigint, discount_amount bigint,
  total bigint, refunded_amount bigint, coupon json, description text, shipping json, metadata json,
  subscription_id uuid, subscription_cycle integer, attempt_count integer, next_retry_at timestamptz,
  failure_code text, failure_reason text, request_id text, sale_id uuid, sequence integer, updated_at timestamptz`;

const openColumns = `company_id, order_id, slot, id, customer_id, payment_method_id, type, amount, currency, card_brand,
  card_last4, request_id, updated_at, reference, valid_until, locked_until, next_check_at`;

const recordStatement = (more: string): string => `
  WITH intent AS MATERIALIZED (
    SELECT *, ${validUntil('company_id')} AS valid_until
    FROM json_to_recordset($1::json) AS i (${orderRecord}, key text, method text, path text, field_hashes jsonb,
      api_version text, version_named boolean, expires_at timestamptz, answer_event_id uuid, transaction_id uuid,
      reference uuid, lock_ms integer)
  ), claimed AS (
    INSERT INTO idempotency_keys
      (company_id, key, method, path, field_hashes, request_id, api_version, version_named, operation_id, expires_at)
    SELECT company_id, key, method, path, field_hashes, request_id, api_version, version_named, id, expires_at
    FROM intent ORDER BY company_id, key
    ON CONFLICT DO NOTHING RETURNING operation_id
  ), placed AS (
    INSERT INTO orders (${orderColumns}, answer_event_id)
    SELECT ${orderColumns}, answer_event_id FROM intent WHERE id IN (SELECT operation_id FROM claimed)
  ), opened AS (
    INSERT INTO open_transactions (${openColumns})
    SELECT company_id, id, '${undecided}', transaction_id, customer_id, payment_method_id, 'sale', total, currency,
      card_brand, card_last4, request_id, updated_at, reference, valid_until,
      now() + lock_ms * interval '1 ms', now() + lock_ms * interval '1 ms'
    FROM intent WHERE transaction_id IS NOT NULL AND id IN (SELECT operation_id FROM claimed)
  ), told AS (
    INSERT INTO events (${eventColumns})
    SELECT ${eventColumns} FROM json_to_recordset($2::json) AS e ${eventRecord}
    WHERE object_id IN (SELECT operation_id FROM claimed)
  )${more}
  SELECT id, ${milliseconds('valid_until')} AS valid_until_ms FROM intent
  WHERE id IN (SELECT operation_id FROM claimed)`;

const recordPlain = recordStatement('');
const recordRedeeming = recordStatement(`, ${redeemingParts('$3', 'id IN (SELECT operation_id FROM claimed)')}`);

interface OpenedRow {
  id: string;
  valid_until_ms: number;
}

const openedById = (rows: readonly OpenedRow[]): Map<string, Opened> =>
  new Map(rows.map(({ id, valid_until_ms }) => [id, { validUntilMs: valid_until_ms, sending: 1 }]));

/** Gives undefined for an intent that was not recorded, because another request has the key. */
export async function recordIntents(db: Queryable, intents: readonly Intent[]): Promise<(Opened | undefined)[]> {
  const redemptions = intents.flatMap(({ redemption }) => redemption ?? []);
  const rows = await db.query<OpenedRow>(redemptions.length > 0 ? recordRedeeming : recordPlain, [
    JSON.stringify(
      intents.map(({ order, claim, sale, answerEventId }) => ({
        ...order,
        ...claim,
        answer_event_id: answerEventId,
        transaction_id: sale?.id,
        reference: sale?.reference,
        lock_ms: sale?.lockMs,
      })),
    ),
    JSON.stringify(intents.flatMap(({ events }) => events)),
    ...(redemptions.length > 0 ? [JSON.stringify(redemptions)] : []),
  ]);
  const recorded = openedById(rows);
  return intents.map(({ order }) => recorded.get(order.id));
}

/** The same where some of them use a coupon: those that its limits do not allow are not recorded. */
export async function recordRedeemingIntents(
  db: Database,
  intents: readonly Intent[],
): Promise<(Opened | undefined)[]> {
  const all = intents.flatMap(({ redemption }) => redemption ?? []);
  // Nobody has to look before the counters are moved, and with one coupon nobody waits in a circle. A coupon that all the
  // world uses at once would otherwise be locked for as long as a commit takes.
  const coupons = new Set(all.map(({ coupon_id }) => coupon_id));
  if (coupons.size === 1 && all.every(({ farFromLimits }) => farFromLimits)) return recordIntents(db, intents);
  return db.transaction(async (transaction) => {
    const redemptions = intents.flatMap(({ redemption }) => redemption ?? []);
    const refused = await admitRedemptions(transaction, redemptions);
    const full = new Set(redemptions.filter((_, index) => refused[index]).map(({ id }) => id));
    const admitted = intents.filter(({ order }) => !full.has(order.id));
    if (admitted.length === 0) return intents.map(() => undefined);
    const recorded = await recordIntents(transaction, admitted);
    const placed = new Map(admitted.map((intent, index) => [intent, recorded[index]]));
    return intents.map((intent) => placed.get(intent));
  });
}

/** A charge that nobody asked for under a key, of a new order or of one that failed. */
export interface PlannedCharge {
  /** Only when it is new. */
  readonly placed: OrderRow | undefined;
  readonly sale: (NewOpenTransaction & { readonly lockMs: number }) | undefined;
  readonly events: readonly EventRow[];
}

// An order that has an undecided operation already is left alone.
const planStatement = `
  WITH placed AS (
    INSERT INTO orders (${orderColumns})
    SELECT ${orderColumns} FROM json_to_recordset($1::json) AS o (${orderRecord})
  ), told AS (
    INSERT INTO events (${eventColumns}) SELECT ${eventColumns} FROM json_to_recordset($3::json) AS e ${eventRecord}
  )
  INSERT INTO open_transactions (${openColumns})
  SELECT company_id, order_id, '${undecided}', id, customer_id, payment_method_id, type, amount, currency, card_brand,
    card_last4, request_id, updated_at, reference, ${validUntil('t.company_id')},
    now() + "lockMs" * interval '1 ms', now() + "lockMs" * interval '1 ms'
  FROM json_to_recordset($2::json) AS t (company_id uuid, order_id uuid, id uuid, reference uuid, customer_id uuid,
    payment_method_id uuid, type text, amount bigint, currency text, card_brand text, card_last4 text, request_id text,
    updated_at timestamptz, "lockMs" integer)
  ON CONFLICT (company_id, order_id, slot) DO NOTHING RETURNING id, ${milliseconds('valid_until')} AS valid_until_ms`;

/** Gives the sales that may be charged now, by their ids. */
export async function planCharges(
  db: Queryable,
  charges: readonly PlannedCharge[],
): Promise<ReadonlyMap<string, Opened>> {
  const rows = await db.query<OpenedRow>(planStatement, [
    JSON.stringify(charges.flatMap(({ placed }) => placed ?? [])),
    JSON.stringify(charges.flatMap(({ sale }) => sale ?? [])),
    JSON.stringify(charges.flatMap(({ events }) => events)),
  ]);
  return openedById(rows);
}

/** How a charge ended, and what that makes of its order. */
export interface Settlement {
  /** As it is to be; `expected` is what it was when this was decided. */
  readonly order: OrderRow;
  readonly expected: Pick<OrderRow, 'status' | 'sequence'>;
  readonly transaction: TransactionSummary;
  /** The sending whose outcome this is; without effect where the sale was sent again since. */
  readonly sending: number;
  /** The reference is held by another operation at the processor, so the transaction does not keep it. */
  readonly disowned: boolean;
  readonly response: ProcessorResponse | null;
  readonly event: EventRow;
  readonly chargebackAt: Date | null;
}

const settlingStatement = (more: string): string => `
  WITH change AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS c (company_id uuid, order_id uuid, from_status text,
      from_sequence integer, status text, sequence integer, attempt_count integer, next_retry_at timestamptz,
      subscription_cycle integer, payment_method_id uuid, card_brand text, card_last4 text,
      failure_code text, failure_reason text, sale_id uuid, updated_at timestamptz, event_id uuid,
      transaction_id uuid, sending integer, disowned boolean, transaction_status text, transaction_failure_code text, transaction_failure_reason text,
      processor_response json, chargeback_at timestamptz)
  ), moved AS (
    UPDATE orders o SET status = c.status, sequence = c.sequence, attempt_count = c.attempt_count,
      next_retry_at = c.next_retry_at, subscription_cycle = c.subscription_cycle,
      payment_method_id = c.payment_method_id, card_brand = c.card_brand, card_last4 = c.card_last4,
      failure_code = c.failure_code, failure_reason = c.failure_reason,
      sale_id = c.sale_id, updated_at = c.updated_at, answer_event_id = coalesce(o.answer_event_id, c.event_id)
    FROM change c
    JOIN open_transactions t ON t.company_id = c.company_id AND t.order_id = c.order_id
      AND t.slot = '${undecided}' AND t.id = c.transaction_id AND t.sending = c.sending
    WHERE o.company_id = c.company_id AND o.id = c.order_id AND o.status = c.from_status
      AND o.sequence = c.from_sequence
    RETURNING o.company_id, o.id
  ), closed AS (
    DELETE FROM open_transactions t USING change c, moved m
    WHERE m.company_id = c.company_id AND m.id = c.order_id
      AND t.company_id = c.company_id AND t.order_id = c.order_id AND t.slot = '${undecided}'
      AND t.id = c.transaction_id AND t.sending = c.sending
    RETURNING t.company_id, t.id, t.order_id, t.customer_id, t.payment_method_id, t.type, t.amount, t.currency,
      t.card_brand, t.card_last4, c.transaction_status, c.processor_response, c.transaction_failure_code,
      c.transaction_failure_reason, c.updated_at, CASE WHEN c.disowned THEN NULL ELSE t.reference END
  ), booked AS (
    INSERT INTO transactions (company_id, id, order_id, customer_id, payment_method_id, type, amount, currency,
      card_brand, card_last4, status, processor_response, failure_code, failure_reason, updated_at, reference)
    SELECT * FROM closed
  ), told AS (
    INSERT INTO events (${eventColumns})
    SELECT ${eventColumns} FROM json_to_recordset($2::json) AS e ${eventRecord}
    WHERE object_id IN (SELECT id FROM moved)
  ), disputed AS (
    INSERT INTO scheduled_chargebacks (company_id, order_id, due_at)
    SELECT c.company_id, c.order_id, c.chargeback_at FROM change c JOIN moved m ON m.id = c.order_id
    WHERE c.chargeback_at IS NOT NULL ON CONFLICT DO NOTHING
  )${more}
  SELECT id FROM moved`;

const settlePlain = settlingStatement('');
const settleRedeeming = settlingStatement(`, ${concludingParts('$3', 'e.order_id IN (SELECT id FROM moved)')}`);

/** Says for each whether it took effect; it did not where the order has moved on meanwhile. */
export async function settle(
  db: Queryable,
  settlements: readonly Settlement[],
  redemptions: readonly RedemptionEnd[] = [],
): Promise<boolean[]> {
  // Of several about one order, the first wins, as if they had come one after the other.
  const firsts = new Map(settlements.toReversed().map((one) => [one.order.id, one]));
  const taken = [...firsts.values()];
  const changes = taken.map(({ order, expected, transaction, sending, disowned, response, event, chargebackAt }) => ({
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
    event_id: event.id,
    transaction_id: transaction.id,
    sending,
    disowned,
    transaction_status: transaction.status,
    transaction_failure_code: transaction.failure_code,
    transaction_failure_reason: transaction.failure_reason,
    processor_response: response,
    chargeback_at: chargebackAt,
  }));
  const redeeming = redemptions.length > 0;
  const rows = await db.query<{ id: string }>(redeeming ? settleRedeeming : settlePlain, [
    JSON.stringify(changes),
    JSON.stringify(taken.map(({ event }) => event)),
    ...(redeeming ? [JSON.stringify(redemptions)] : []),
  ]);
  const moved = new Set(rows.map(({ id }) => id));
  return settlements.map((one) => firsts.get(one.order.id) === one && moved.has(one.order.id));
}
