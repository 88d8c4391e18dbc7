import { type Claim, claimColumns, claimKeys } from '../../../http/key-queries.ts';
import type { Database, Queryable } from '../../../platform/database.ts';
import { rowsOf } from '../../../platform/rows.ts';
import { type Redemption, redeemingParts } from '../../coupons/redemption-queries.ts';
import { admitRedemptions } from '../../coupons/service.ts';
import { isClosed, remembers, requireOpenGate } from '../../restores/gate-queries.ts';
import { eventCount, type EventRow, eventValues, insertingEvents } from '../../events/queries.ts';
import {
  companyRemembers,
  inFlightSlot,
  milliseconds,
  type NewOpenTransaction,
  type Opened,
  validFor,
} from './open-queries.ts';
import type { OrderRow } from '../order.ts';
import type { Sale } from './sales.ts';
import { orderColumns } from '../queries.ts';

/**
 * Records intents. Each statement takes any number of them, so that requests that arrive together share one commit.
 */

export interface Intent {
  readonly order: OrderRow;
  readonly claim: Claim;
  /** The sale to be sent; undefined for an order with a total of zero. */
  readonly sale:
    | (Pick<Sale, 'id' | 'type' | 'reference'> & { readonly number: number; readonly lockMs: number })
    | undefined;
  readonly answerEventId: string | undefined;
  readonly events: readonly EventRow[];
  readonly redemption: Redemption | undefined;
}

const orderTypes = {
  company_id: 'uuid',
  id: 'uuid',
  order_number: 'text',
  customer_id: 'uuid',
  payment_method_id: 'uuid',
  card_brand: 'text',
  card_last4: 'text',
  status: 'text',
  items: 'json',
  currency: 'text',
  subtotal: 'bigint',
  discount_amount: 'bigint',
  total: 'bigint',
  refunded_amount: 'bigint',
  coupon: 'json',
  description: 'text',
  shipping: 'json',
  metadata: 'json',
  subscription_id: 'uuid',
  subscription_cycle: 'integer',
  attempt_count: 'integer',
  next_retry_at: 'timestamptz',
  failure_code: 'text',
  failure_reason: 'text',
  request_id: 'text',
  sale_id: 'uuid',
  sequence: 'integer',
  updated_at: 'timestamptz',
} as const;

const openColumns = `company_id, order_id, slot, id, customer_id, payment_method_id, type, amount, currency, card_brand,
  card_last4, request_id, updated_at, reference, valid_until, locked_until, next_check_at, connection_id, cause, subject,
  number`;

const intentRows = rowsOf({
  ...orderTypes,
  ...claimColumns,
  answer_event_id: 'uuid',
  transaction_id: 'uuid',
  reference: 'uuid',
  number: 'integer',
  lock_ms: 'integer',
});
const firstEvent = 1 + intentRows.count;
const redemptionParameter = firstEvent + eventCount;

// An array is compared faster than a set is joined: only nested loops are allowed here, each over all rows.
const isClaimed = (id: string): string => `${id} = ANY (ARRAY(SELECT operation_id FROM claimed))`;

interface Variant {
  readonly type?: string;
  /** What credit pays of the only order. */
  readonly credit?: string;
}

const intentStatement = (more: string, { type = `'sale'`, credit }: Variant = {}): string => `
  WITH intent AS MATERIALIZED (
    SELECT i.*, ${validFor('c.request_life_ms')} AS valid_until, c.connection_id,
      i.transaction_id IS NOT NULL AND ${isClosed('c')} AS is_closed, ${remembers('c')} AS remembers
    FROM ${intentRows.from(1)} AS i LEFT JOIN companies c ON c.id = i.company_id
  ), claimed AS (
    ${claimKeys('intent WHERE NOT is_closed', 'id')}
  ), placed AS (
    INSERT INTO orders (${orderColumns}, answer_event_id${credit ? ', credit_applied' : ''})
    SELECT ${orderColumns}, answer_event_id${credit ? `, ${credit}` : ''} FROM intent WHERE ${isClaimed('id')}
  ), opened AS (
    INSERT INTO open_transactions (${openColumns})
    SELECT company_id, id, '${inFlightSlot}', transaction_id, customer_id, payment_method_id, ${type}, ${credit ? `total - ${credit}` : 'total'}, currency,
      card_brand, card_last4, request_id, updated_at, reference, valid_until,
      now() + lock_ms * interval '1 ms', now() + lock_ms * interval '1 ms', connection_id, 'order', '{key}', number
    FROM intent WHERE transaction_id IS NOT NULL AND ${isClaimed('id')}
  ), emitted AS (
    ${insertingEvents(firstEvent, isClaimed('object_id'))}
  )${more}
  SELECT id, ${milliseconds('valid_until')} AS valid_until_ms, connection_id, is_closed, remembers FROM intent
  WHERE is_closed OR ${isClaimed('id')}`;

const recordPlain = intentStatement('');
const redeemingOn = (parameter: number): string => `, ${redeemingParts(`$${parameter}`, isClaimed('id'))}`;
const recordRedeeming = intentStatement(redeemingOn(redemptionParameter));
// Authorizations are rare, and have a parameter of their own: no other charge pays for it.
const authorizedParameter = redemptionParameter;
const typeOf = `CASE WHEN transaction_id = ANY ($${authorizedParameter}::uuid[]) THEN 'auth' ELSE 'sale' END`;
const recordAuthorized = intentStatement('', { type: typeOf });
const recordAuthorizedRedeeming = intentStatement(redeemingOn(authorizedParameter + 1), { type: typeOf });
// So are orders that credit pays for, one at a time.
const paidByCredit = `$${redemptionParameter}::bigint`;
const recordCredited = intentStatement('', { credit: paidByCredit });
const recordCreditedRedeeming = intentStatement(redeemingOn(redemptionParameter + 1), { credit: paidByCredit });

function statementFor(uncommon: 'authorized' | 'credited' | undefined, isRedeeming: boolean): string {
  if (uncommon === 'authorized') return isRedeeming ? recordAuthorizedRedeeming : recordAuthorized;
  if (uncommon === 'credited') return isRedeeming ? recordCreditedRedeeming : recordCredited;
  return isRedeeming ? recordRedeeming : recordPlain;
}

interface OpenedRow {
  id: string;
  valid_until_ms: number;
  connection_id: string | null;
  remembers: boolean | null;
}

const openedById = (rows: readonly OpenedRow[]): Map<string, Opened> =>
  new Map(
    rows.map(({ id, valid_until_ms, connection_id, remembers: isKept }) => [
      id,
      { validUntilMs: valid_until_ms, sending: 1, connection_id, remembers: isKept === true },
    ]),
  );

/** The gate of the company is closed, so nothing was recorded. */
export const closed = 'closed';
export type Recorded = Opened | typeof closed | undefined;

/** Returns undefined for an intent that was not recorded, because another request has claimed the key. */
export async function recordIntents(db: Queryable, intents: readonly Intent[]): Promise<Recorded[]> {
  const redemptions = intents.flatMap(({ redemption }) => redemption ?? []);
  const authorized = intents.flatMap(({ sale }) => (sale?.type === 'auth' ? sale.id : []));
  const credited = intents.flatMap(({ order: { credit_applied } }) => credit_applied ?? []);
  if (credited.length > 0 && intents.length > 1) throw new Error('orders that credit pays for are recorded alone');
  const uncommon = authorized.length > 0 ? 'authorized' : credited.length > 0 ? 'credited' : undefined;
  const rows = await db.query<OpenedRow & { is_closed: boolean }>(statementFor(uncommon, redemptions.length > 0), [
    ...intentRows.values(
      intents.map(({ order, claim, sale, answerEventId }) => ({
        ...order,
        ...claim,
        answer_event_id: answerEventId,
        transaction_id: sale?.id,
        reference: sale?.reference,
        number: sale?.number,
        lock_ms: sale?.lockMs,
      })),
    ),
    ...eventValues(intents.flatMap(({ events }) => events)),
    ...(authorized.length > 0 ? [authorized] : []),
    ...credited,
    ...(redemptions.length > 0 ? [JSON.stringify(redemptions)] : []),
  ]);
  const recorded = openedById(rows);
  const refused = new Set(rows.flatMap(({ id, is_closed }) => (is_closed ? id : [])));
  return intents.map(({ order: { id } }) => (refused.has(id) ? closed : recorded.get(id)));
}

/** Records intents of which some use a coupon. Those that exceed its limits are not recorded. */
export async function recordRedeemingIntents(db: Database, intents: readonly Intent[]): Promise<Recorded[]> {
  const all = intents.flatMap(({ redemption }) => redemption ?? []);
  // Far from its limits, a coupon needs no check under a lock, and a single coupon cannot cause a deadlock. A popular coupon
  // would otherwise be locked for the length of every commit.
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

/** A charge by the billing schedule, for a new order or for a declined one. */
export interface PlannedCharge {
  /** Set only for a new order. */
  readonly placed: OrderRow | undefined;
  readonly sale: (NewOpenTransaction & { readonly lockMs: number }) | undefined;
  readonly events: readonly EventRow[];
}

// Only the schedule and changes of plan write these columns, so other orders pay nothing for them.
const placedRows = rowsOf({ ...orderTypes, subscription_change: 'integer', credit_applied: 'bigint' });
const placedColumns = `${orderColumns}, subscription_change, credit_applied`;
const saleRows = rowsOf({
  company_id: 'uuid',
  order_id: 'uuid',
  id: 'uuid',
  reference: 'uuid',
  customer_id: 'uuid',
  payment_method_id: 'uuid',
  type: 'text',
  cause: 'text',
  subject: 'text[]',
  number: 'integer',
  amount: 'bigint',
  currency: 'text',
  card_brand: 'text',
  card_last4: 'text',
  request_id: 'text',
  updated_at: 'timestamptz',
  lockMs: 'integer',
});
const firstSale = 1 + placedRows.count;

// An order with an operation in flight is skipped, and a company whose gate is closed.
const planStatement = `
  WITH placed AS (
    INSERT INTO orders (${placedColumns}) SELECT ${placedColumns} FROM ${placedRows.from(1)} AS o
  ), emitted AS (
    ${insertingEvents(firstSale + saleRows.count)}
  )
  INSERT INTO open_transactions (${openColumns})
  SELECT company_id, order_id, '${inFlightSlot}', t.id, customer_id, payment_method_id, type, amount, currency, card_brand,
    card_last4, request_id, t.updated_at, reference, ${validFor('c.request_life_ms')},
    now() + "lockMs" * interval '1 ms', now() + "lockMs" * interval '1 ms', c.connection_id, cause, subject, number
  FROM ${saleRows.from(firstSale)} AS t LEFT JOIN companies c ON c.id = t.company_id WHERE NOT (${isClosed('c')})
  ON CONFLICT (company_id, order_id, slot) DO NOTHING
  RETURNING id, ${milliseconds('valid_until')} AS valid_until_ms, connection_id, ${companyRemembers} AS remembers`;

/** Returns the sales that were recorded and may be sent, by their ids. Throws if the gate of a company is closed. */
export async function planCharges(
  db: Queryable,
  charges: readonly PlannedCharge[],
): Promise<ReadonlyMap<string, Opened>> {
  const sales = charges.flatMap(({ sale }) => sale ?? []);
  const rows = await db.query<OpenedRow>(planStatement, [
    ...placedRows.values(
      charges.flatMap(({ placed }) => (placed ? { subscription_change: null, credit_applied: null, ...placed } : [])),
    ),
    ...saleRows.values(sales),
    ...eventValues(charges.flatMap(({ events }) => events)),
  ]);
  const opened = openedById(rows);
  for (const { id, company_id } of sales) if (!opened.has(id)) await requireOpenGate(db, company_id);
  return opened;
}
