import { ApiError, notFound } from '../../errors.ts';
import { withoutKey } from '../../http/phases.ts';
import type { Database } from '../../platform/database.ts';
import type { RequestContext } from '../../request-context.ts';
import type { Order } from '../orders/schemas.ts';
import {
  getOrderState,
  type Orders,
  type RetryTerms,
  returnCustomerTry,
  takeCustomerTry,
  untilItsEnd,
} from '../orders/service.ts';
import { repointSubscriptions } from './change-subscription.ts';
import { cardFor } from './create-subscription.ts';
import { findSubscription, findSubscriptionsOf, isUnderWay } from './queries.ts';
import { type Pause, type PauseDates, pauseDatesOf, pauseOf } from './pauses.ts';
import { chargedCard } from './renewal-order.ts';
import { canEndRenewal, canKeepRenewal } from './renewal-end.ts';
import { nextCharge, upcomingCharges } from './schedule.ts';
import type { SubscriptionRow } from './subscription.ts';

/** What customers do with their own subscriptions. A subscription of another customer does not exist for them. */

interface Overdue {
  readonly total: number;
  readonly declines: number;
  readonly in_progress: boolean;
  readonly order_id: string;
  /** The bank wants to confirm the payment: the page for that. */
  readonly confirm_url: string | null;
}

export interface CustomerSubscription {
  readonly id: string;
  readonly name: string;
  readonly plan_id: string;
  readonly quantity: number;
  readonly completed_cycles: number;
  readonly status: SubscriptionRow['status'];
  readonly amount: number;
  readonly currency: string;
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
  readonly card: { readonly brand: string; readonly last4: string };
  readonly current_period_end: string | null;
  readonly next_payment: { readonly date: string; readonly total: number } | null;
  /** The plan from the next renewal on. Only a change that the customer has made can be undone. */
  readonly scheduled: {
    readonly plan_id: string;
    readonly name: string;
    readonly quantity: number;
    readonly can_undo: boolean;
  } | null;
  /** A change of plan is being charged. */
  readonly changing: boolean;
  /** The charge that was declined, if it can be paid now. */
  readonly overdue: Overdue | null;
  /** The paid period is the last one. */
  readonly ends_at: string | null;
  /** Null unless the customer has paused it. */
  readonly pause: Pause | null;
  readonly can_continue: boolean;
  /** Null if it cannot be paused. */
  readonly pause_dates: PauseDates | null;
  readonly can_end_renewal: boolean;
  readonly can_keep_renewal: boolean;
  readonly can_cancel: boolean;
}

const cancelable: readonly string[] = ['active', 'paused', 'past_due', 'failed'];
const unpaid: readonly string[] = ['past_due', 'failed'];

/**
 * Only a declined renewal can be paid here. A subscription whose first charge was declined never began: customers may have
 * subscribed again since, and would pay for the same thing twice.
 */
const isPayable = ({ status, completed_cycles }: SubscriptionRow): boolean =>
  unpaid.includes(status) && completed_cycles > 0;
const neverBegan = ({ status, completed_cycles }: SubscriptionRow): boolean =>
  status === 'failed' && completed_cycles === 0;

/** Running subscriptions first, each with what the customer can do with it. */
export async function shownToCustomer(
  { db, company, nowMs }: RequestContext,
  customerId: string,
): Promise<CustomerSubscription[]> {
  const rows = (await findSubscriptionsOf(db, company.id, [customerId])).filter((row) => !neverBegan(row));
  const shown = await Promise.all(rows.map(async (row) => view(row, await overdueOf(db, row, nowMs), nowMs)));
  const isOver = ({ status }: CustomerSubscription): number => Number(!cancelable.includes(status));
  return shown.toSorted((one, other) => isOver(one) - isOver(other));
}

function view(row: SubscriptionRow, overdue: CustomerSubscription['overdue'], nowMs: number): CustomerSubscription {
  const next = row.status === 'active' && nextCharge(row) ? upcomingCharges(row, 1)[0] : undefined;
  const periodEnd = row.current_period_end?.toISOString() ?? null;
  return {
    id: row.id,
    name: row.plan_name,
    plan_id: row.plan_id,
    quantity: row.quantity,
    completed_cycles: row.completed_cycles,
    status: row.status,
    amount: row.amount,
    currency: row.currency,
    interval: row.interval,
    interval_count: row.interval_count,
    card: { brand: row.card_brand, last4: row.card_last4 },
    current_period_end: periodEnd,
    next_payment: next ? { date: new Date(next.atMs).toISOString(), total: next.total } : null,
    scheduled: scheduledOf(row),
    changing: row.pending_change?.in_flight ?? false,
    overdue,
    ends_at: row.status === 'active' && !next ? periodEnd : null,
    pause: pauseOf(row, nowMs),
    can_continue: pauseOf(row, nowMs) !== null,
    pause_dates: pauseDatesOf(row, nowMs) ?? null,
    can_end_renewal: canEndRenewal(row),
    can_keep_renewal: canKeepRenewal(row, nowMs),
    can_cancel: cancelable.includes(row.status),
  };
}

function scheduledOf({ status, scheduled_change: change }: SubscriptionRow): CustomerSubscription['scheduled'] {
  if (!change || status !== 'active') return null;
  return {
    plan_id: change.plan_id,
    name: change.plan_name,
    quantity: change.quantity,
    can_undo: change.by_customer === true,
  };
}

/** One subscription of the customer; undefined if it is of another one. */
export async function customerSubscription(
  { db, company, nowMs }: RequestContext,
  customerId: string,
  id: string,
): Promise<CustomerSubscription | undefined> {
  const row = await findSubscription(db, company.id, id);
  return row && row.customer_id === customerId ? view(row, null, nowMs) : undefined;
}

async function overdueOf(
  db: RequestContext['db'],
  row: SubscriptionRow,
  nowMs: number,
): Promise<CustomerSubscription['overdue']> {
  const { company_id, status, latest_order_id, next_retry_at } = row;
  if (!isPayable(row) || !latest_order_id) return null;
  const state = await getOrderState(db, company_id, latest_order_id);
  if (!state) return null;
  // A worker makes a retry that is due within moments: after a change of the card, for example.
  const isDue = status === 'past_due' && next_retry_at !== null && next_retry_at.getTime() <= nowMs;
  const in_progress = isDue || (await isUnderWay(db, company_id, latest_order_id));
  const { total, attempt_count: declines, authentication_url } = untilItsEnd(state.order, nowMs);
  return { total, declines, in_progress, order_id: latest_order_id, confirm_url: authentication_url ?? null };
}

function refused(message: string): ApiError {
  return new ApiError('invalid_state_transition', message, { param: 'id', status: 400 });
}

/** Charges a declined renewal at once, with the card that the subscription has now. Returns whether it was declined. */
export async function payFailedRenewal(
  orders: Pick<Orders, 'retry'>,
  context: RequestContext,
  customerId: string,
  id: string,
  declines: number,
): Promise<boolean> {
  const { db, company } = context;
  const row = await findSubscription(db, company.id, id);
  if (!row || row.customer_id !== customerId) throw notFound('subscription');
  if (!isPayable(row) || !row.latest_order_id) throw refused('This subscription has no payment due.');
  const card = await cardOf(context, customerId, row.payment_method_id);
  const { body } = await orders.retry(context, row.latest_order_id, withoutKey, { declines, card });
  return (JSON.parse(body) as Order).status === 'failed';
}

async function cardOf(
  { db, company }: RequestContext,
  customerId: string,
  paymentMethodId: string,
): Promise<RetryTerms['card']> {
  const found = await db.transaction((transaction) => cardFor(transaction, company.id, customerId, paymentMethodId));
  const stored = chargedCard(found);
  if (!stored) throw notFound('payment method', 'payment_method_id');
  return { payment_method_id: found.id, card_brand: found.brand, card_last4: found.last4, stored };
}

/** The card of which a customer confirms the payment: that of the subscription may be another by now. */
export async function cardToConfirm(context: RequestContext, order: Order): Promise<RetryTerms['card']> {
  const { customer_id, subscription_id, payment_method } = order;
  const row = subscription_id ? await findSubscription(context.db, context.company.id, subscription_id) : undefined;
  return cardOf(context, customer_id, row?.payment_method_id ?? payment_method.id);
}

/**
 * Does what moves the subscriptions of a customer to another card. Those that are past due are then charged with it, so it
 * counts as a try to pay each of them. `limiting` runs it.
 */
export async function tryAnotherCard(
  { db, company }: RequestContext,
  customerId: string,
  limiting: (work: (move: () => Promise<void>) => Promise<void>, isCharged: boolean) => Promise<void>,
): Promise<void> {
  const rows = await findSubscriptionsOf(db, company.id, [customerId]);
  const due = rows.flatMap(({ status, latest_order_id: id }) => (status === 'past_due' && id ? [id] : []));
  const work = async (move: () => Promise<void>): Promise<void> => {
    const taken: string[] = [];
    try {
      for (const id of due) {
        await takeCustomerTry(db, company.id, id);
        taken.push(id);
      }
      await move();
    } catch (error) {
      if (error instanceof ApiError) for (const id of taken) await returnCustomerTry(db, company.id, id);
      throw error;
    }
  };
  await limiting(work, due.length > 0);
}

/** Attaching a card moves running subscriptions to it; a customer who wants to pay a failed one needs it there too. */
export async function moveFailedTo(
  context: RequestContext,
  transaction: Database,
  customerId: string,
  to: Parameters<typeof repointSubscriptions>[3],
): Promise<void> {
  await repointSubscriptions(context, transaction, customerId, to, undefined, ['failed']);
}

/** The order whose charge the customer of the subscription pays now; undefined if there is none. */
export async function overdueOrderOf(
  { db, company }: RequestContext,
  customerId: string,
  id: string,
): Promise<string | undefined> {
  const row = await findSubscription(db, company.id, id);
  if (!row || row.customer_id !== customerId) throw notFound('subscription');
  return row.latest_order_id ?? undefined;
}
