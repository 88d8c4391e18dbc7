import type { Database, Queryable } from '../../platform/database.ts';
import { rowsOf } from '../../platform/rows.ts';
import { ofClocksAhead } from '../../platform/sql.ts';
import { keptReference, renewalsWait } from '../restores/gate-queries.ts';
import { type SubscriptionRow, subscriptionsDueChannel } from './subscription.ts';
import { usingCard } from './transitions.ts';
import type { BillingDetails } from '../payment-methods/schemas.ts';
import type { BrandName } from '../../platform/card-brands.ts';
import type { CompanyRow } from '../../company.ts';
import { staysHere } from '../../shards/queries.ts';

/** Each column with its type, for statements that take rows as parameters. */
const columnTypes = {
  company_id: 'uuid',
  id: 'uuid',
  customer_id: 'uuid',
  plan_id: 'uuid',
  payment_method_id: 'uuid',
  card_brand: 'text',
  card_last4: 'text',
  status: 'text',
  plan_name: 'text',
  amount: 'bigint',
  one_time_amount: 'bigint',
  currency: 'text',
  items: 'json',
  quantity: 'integer',
  change_count: 'integer',
  scheduled_change: 'json',
  pending_change: 'json',
  period_payment: 'json',
  renewal_items: 'json',
  restarted_at: 'timestamptz',
  interval: 'text',
  interval_count: 'integer',
  anchor_day: 'integer',
  billing_cycles: 'integer',
  end_date: 'text',
  renewal_ended_at: 'timestamptz',
  earlier_end_date: 'text',
  coupon: 'json',
  description: 'text',
  shipping: 'json',
  shipping_address_id: 'uuid',
  metadata: 'json',
  start_at: 'timestamptz',
  base_at: 'timestamptz',
  next_number: 'integer',
  current_cycle: 'integer',
  completed_cycles: 'integer',
  current_period_start: 'timestamptz',
  current_period_end: 'timestamptz',
  due_at: 'timestamptz',
  first_declined_at: 'timestamptz',
  next_retry_at: 'timestamptz',
  attempt_count: 'integer',
  last_failure_message: 'text',
  latest_order_id: 'uuid',
  resume_at: 'timestamptz',
  canceled_at: 'timestamptz',
  completed_at: 'timestamptz',
  sequence: 'integer',
  updated_at: 'timestamptz',
} as const satisfies Record<keyof SubscriptionRow, string>;

/** Columns that never change after creation. */
const frozen: readonly string[] = ['company_id', 'id', 'customer_id', 'currency', 'billing_cycles'];

/** Columns that only changes of plan and pauses write, so that a renewal does not pay for them. */
const ofPlan: readonly string[] = [
  'plan_id',
  'plan_name',
  'amount',
  'one_time_amount',
  'items',
  'quantity',
  'change_count',
  'scheduled_change',
  'pending_change',
  'period_payment',
  'renewal_items',
  'restarted_at',
  'resume_at',
];

const names = Object.keys(columnTypes);
export const subscriptionColumns = names.map((name) => `s.${name}`).join(', ');
const columns = subscriptionColumns;
const changing = names.filter((name) => !frozen.includes(name));
const usual = changing.filter((name) => !ofPlan.includes(name));

const newRows = rowsOf(columnTypes);
const rowsWith = (kept: readonly string[]) =>
  rowsOf(
    Object.fromEntries(
      Object.entries(columnTypes).filter(([name]) => ['company_id', 'id', ...kept].includes(name)),
    ) as typeof columnTypes,
  );
const changedRows = rowsWith(usual);
const replannedRows = rowsWith(changing);
const wantedRows = rowsOf({ company_id: 'uuid', id: 'uuid' });

export async function insertSubscription(db: Queryable, row: SubscriptionRow): Promise<void> {
  await db.query(
    `INSERT INTO subscriptions (${names.join(', ')})
     SELECT ${columns} FROM ${newRows.from(1)} AS s`,
    newRows.values([row]),
  );
}

const updateStatement = (rows: typeof newRows, written: readonly string[]): string => `
  UPDATE subscriptions t SET ${written.map((name) => `${name} = s.${name}`).join(', ')}
  FROM ${rows.from(1)} AS s
  WHERE t.company_id = s.company_id AND t.id = s.id`;
const update = updateStatement(changedRows, usual);
const updateWithPlan = updateStatement(replannedRows, changing);

/** The caller holds the locks of the rows. */
export async function updateSubscriptions(db: Queryable, rows: readonly SubscriptionRow[]): Promise<void> {
  await db.query(update, changedRows.values(rows));
}

/** The same with the columns that changes of plan and pauses write. One statement, so that the figures see one change. */
export async function updateWithPlans(db: Queryable, rows: readonly SubscriptionRow[]): Promise<void> {
  await db.query(updateWithPlan, replannedRows.values(rows));
}

/** A subscription with the settings of its company. */
export interface HeldSubscription
  extends SubscriptionRow,
    Pick<CompanyRow, 'mode' | 'clock_offset_ms' | 'authenticates'> {
  readonly dunning_days: readonly number[];
  readonly after_dunning: 'failed' | 'canceled';
}

const held = `${columns}, c.mode, c.clock_offset_ms, c.authenticates, c.dunning_days, c.after_dunning`;

const lockStatement = `
  SELECT ${held} FROM ${wantedRows.from(1)} AS wanted
  JOIN subscriptions s ON s.company_id = wanted.company_id AND s.id = wanted.id
  JOIN companies c ON c.id = s.company_id
  ORDER BY s.company_id, s.id FOR UPDATE OF s`;

/** Always locks in the same order, so that two transactions that lock the same rows cannot deadlock. */
export async function lockSubscriptions(
  db: Queryable,
  wanted: readonly { readonly company_id: string; readonly id: string }[],
): Promise<HeldSubscription[]> {
  return db.query<HeldSubscription>(lockStatement, wantedRows.values(wanted));
}

export async function findHeld(db: Queryable, companyId: string, id: string): Promise<HeldSubscription | undefined> {
  const [row] = await db.query<HeldSubscription>(
    `SELECT ${held} FROM subscriptions s JOIN companies c ON c.id = s.company_id WHERE s.company_id = $1 AND s.id = $2`,
    [companyId, id],
  );
  return row;
}

/** A due subscription, to be billed, retried, ended or completed, with the data that a charge needs. */
export interface DueSubscription extends HeldSubscription {
  /** Null if the card was deleted. */
  readonly card_id: string | null;
  readonly exp_month: number;
  readonly exp_year: number;
  readonly billing_details: BillingDetails | null;
  readonly now: Date;
  /** After a restore: the reference under which a processor was paid for the cycle that is due. */
  readonly kept_reference: string | null;
  /** What the customer has, as it was read before it is locked. */
  readonly credit: number;
}

// Dunning retries the cycle that has begun.
const dueCycle = `(CASE WHEN s.status = 'past_due' THEN s.current_cycle ELSE s.current_cycle + 1 END)`;

const due = (which: string): string => `
  WITH s AS MATERIALIZED (${which})
  SELECT ${held}, m.card_id, m.exp_month, m.exp_year, m.billing_details,
    date_trunc('milliseconds', now() + c.clock_offset_ms * interval '1 ms') AS now,
    ${keptReference('c', 's.id', dueCycle)} AS kept_reference,
    coalesce((SELECT b.balance FROM credit_balances b WHERE b.company_id = s.company_id AND b.customer_id = s.customer_id
      AND b.currency = s.currency), 0) AS credit
  FROM s JOIN companies c ON c.id = s.company_id
  LEFT JOIN payment_methods m ON m.company_id = s.company_id AND m.id = s.payment_method_id AND m.deleted_at IS NULL`;

// A company whose clock is being advanced is billed by the advance itself.
export const billable = `c.processor IS NOT NULL AND (c.clock_moved_until IS NULL OR c.clock_moved_until <= now())
  AND NOT ${renewalsWait('c')}`;
// No company's clock is behind real time, so what is due by real time is due by any clock. The company is read row by
// row: with a join, the planner sorts all due rows to return the first hundred.
const dueByRealTime = due(`
  SELECT s.* FROM subscriptions s
  WHERE s.due_at <= now() AND ${staysHere('s.company_id')} AND (SELECT ${billable} FROM companies c WHERE c.id = s.company_id)
  ORDER BY s.due_at LIMIT $1 FOR UPDATE SKIP LOCKED`);
const dueOfClockAhead = `
  SELECT s.* FROM subscriptions s
  WHERE s.company_id = c.id AND ${staysHere('s.company_id')} AND s.due_at <= now() + c.clock_offset_ms * interval '1 ms'
    AND (SELECT ${billable} FROM companies c WHERE c.id = s.company_id)
  ORDER BY s.due_at LIMIT $1 FOR UPDATE SKIP LOCKED`;
const dueByTheirClock = due(`SELECT s.* FROM ${ofClocksAhead(dueOfClockAhead, 's')} ORDER BY s.due_at LIMIT $1`);
const dueOfCompany = due(`
  SELECT s.* FROM subscriptions s WHERE s.company_id = $2 AND s.due_at <= $3
  ORDER BY s.due_at LIMIT $1 FOR UPDATE SKIP LOCKED`);

/** Returns subscriptions that no other process has locked; they stay locked until the transaction ends. */
export async function lockDue(db: Queryable, count: number): Promise<DueSubscription[]> {
  const found = await db.query<DueSubscription>(dueByRealTime, [count]);
  return found.length > 0 ? found : db.query<DueSubscription>(dueByTheirClock, [count]);
}

/** Counts what is due by real time, up to a limit, so that a long queue costs no more than a short one. */
export async function countDue(
  db: Queryable,
  countMax: number,
  overdueSeconds: number,
): Promise<{ due: number; overdue: number; oldestSeconds: number }> {
  const [row] = await db.query<{ due: number; overdue: number; oldest: number | null }>(
    `SELECT count(*)::integer AS due, count(*) FILTER (WHERE due_at < now() - $2 * interval '1 s')::integer AS overdue,
       extract(epoch FROM now() - min(due_at))::float8 AS oldest
     FROM (SELECT s.due_at FROM subscriptions s
           WHERE s.due_at <= now() AND (SELECT ${billable} FROM companies c WHERE c.id = s.company_id)
           ORDER BY s.due_at LIMIT $1) first`,
    [countMax, overdueSeconds],
  );
  return { due: row?.due ?? 0, overdue: row?.overdue ?? 0, oldestSeconds: row?.oldest ?? 0 };
}

/** For a company whose clock is being advanced. */
export async function lockDueOf(
  db: Queryable,
  companyId: string,
  until: Date,
  count: number,
): Promise<DueSubscription[]> {
  return db.query<DueSubscription>(dueOfCompany, [count, companyId, until]);
}

const visible = `s.status <> 'pending'`;

export async function findSubscription(
  db: Queryable,
  companyId: string,
  id: string,
): Promise<SubscriptionRow | undefined> {
  const [row] = await db.query<SubscriptionRow>(
    `SELECT ${columns} FROM subscriptions s WHERE company_id = $1 AND id = $2 AND ${visible}`,
    [companyId, id],
  );
  return row;
}

/**
 * Finds a subscription by the operation that created it: its first order, or itself if there was nothing to charge
 * yet.
 */
export async function findMadeBy(
  db: Queryable,
  companyId: string,
  operationId: string,
): Promise<SubscriptionRow | undefined> {
  const [row] = await db.query<SubscriptionRow>(
    `SELECT ${columns} FROM subscriptions s
     WHERE company_id = $1 AND ${visible} AND id = coalesce(
       (SELECT o.subscription_id FROM orders o WHERE o.company_id = $1 AND o.id = $2), $2)`,
    [companyId, operationId],
  );
  return row;
}

/** Locks the subscriptions of a customer in one of these statuses, or on a card, until the transaction ends. */
export async function lockSubscriptionsOf(
  db: Queryable,
  companyId: string,
  customerId: string,
  statuses: readonly string[],
): Promise<HeldSubscription[]> {
  return db.query<HeldSubscription>(
    `SELECT ${held} FROM subscriptions s JOIN companies c ON c.id = s.company_id
     WHERE s.company_id = $1 AND s.customer_id = $2 AND s.status = ANY($3::text[]) ORDER BY s.id FOR UPDATE OF s`,
    [companyId, customerId, statuses],
  );
}

export async function hasSubscriptions(
  db: Queryable,
  companyId: string,
  customerId: string,
  statuses?: readonly string[],
): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM subscriptions
     WHERE company_id = $1 AND customer_id = $2 AND ($3::text[] IS NULL OR status = ANY($3)) LIMIT 1`,
    [companyId, customerId, statuses ?? null],
  );
  return rows.length > 0;
}

export async function isCardInUse(db: Queryable, companyId: string, paymentMethodId: string): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM subscriptions
     WHERE company_id = $1 AND payment_method_id = $2 AND status = ANY($3::text[]) LIMIT 1`,
    [companyId, paymentMethodId, usingCard],
  );
  return rows.length > 0;
}

export interface CardOfCustomer {
  readonly id: string;
  readonly card_id: string;
  readonly brand: BrandName;
  readonly last4: string;
  readonly exp_month: number;
  readonly exp_year: number;
  readonly billing_details: BillingDetails | null;
  /** Whether the customer agreed that it is saved. */
  readonly listed: boolean;
}

/** Returns the card to charge: this one, or the customer's default. */
export async function findCard(
  db: Queryable,
  companyId: string,
  customerId: string,
  paymentMethodId: string | null,
): Promise<CardOfCustomer | undefined> {
  const [row] = await db.query<CardOfCustomer>(
    `SELECT m.id, m.card_id, m.brand, m.last4, m.exp_month, m.exp_year, m.billing_details, m.listed
     FROM customers c JOIN payment_methods m ON m.company_id = c.company_id AND m.customer_id = c.id
       AND m.id = coalesce($3, c.default_payment_method_id) AND m.deleted_at IS NULL
     WHERE c.company_id = $1 AND c.id = $2`,
    [companyId, customerId, paymentMethodId],
  );
  return row;
}

/** Whether a charge of the order is in flight. */
export async function isUnderWay(db: Queryable, companyId: string, orderId: string): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM open_transactions WHERE company_id = $1 AND order_id = $2 AND type = 'sale' LIMIT 1`,
    [companyId, orderId],
  );
  return rows.length > 0;
}

/**
 * Whether a charge of the subscription is in flight. Its declined orders are locked first, so that a retry by hand is seen, or
 * sees what this transaction writes. A change of plan is retried under the lock of the subscription.
 */
export async function isBeingCharged(
  transaction: Database,
  companyId: string,
  subscriptionId: string,
): Promise<boolean> {
  await transaction.query(
    `SELECT 1 FROM orders WHERE company_id = $1 AND subscription_id = $2 AND status = 'failed'
       AND subscription_change IS NULL ORDER BY id FOR NO KEY UPDATE`,
    [companyId, subscriptionId],
  );
  const rows = await transaction.query(
    `SELECT 1 FROM orders o JOIN open_transactions t ON t.company_id = o.company_id AND t.order_id = o.id AND t.type = 'sale'
     WHERE o.company_id = $1 AND o.subscription_id = $2 LIMIT 1`,
    [companyId, subscriptionId],
  );
  return rows.length > 0;
}

export async function announceDue(db: Queryable): Promise<void> {
  await db.query(`SELECT pg_notify('${subscriptionsDueChannel}', '')`);
}

/** Returns the subscriptions of some customers, newest first. */
export async function findSubscriptionsOf(
  db: Queryable,
  companyId: string,
  customerIds: readonly string[],
): Promise<SubscriptionRow[]> {
  return db.query<SubscriptionRow>(
    `SELECT ${columns} FROM subscriptions s
     WHERE company_id = $1 AND customer_id = ANY($2::uuid[]) AND ${visible} ORDER BY customer_id, id DESC`,
    [companyId, customerIds],
  );
}
