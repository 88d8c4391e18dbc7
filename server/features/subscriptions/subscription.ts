import type { Metadata } from '../../http/schemas.ts';
import { createdAt } from '../../platform/ids.ts';
import type { CouponSnapshot } from '../coupons/schemas.ts';
import type { OrderItem, Shipping } from '../orders/schemas.ts';
import { cycleOf, nextCharge } from './schedule.ts';
import type { Subscription } from './schemas.ts';
import type { PeriodPayment } from './proration.ts';
import type { PendingChange, ScheduledChange } from './plan-change.ts';
import { unitAmount } from './terms.ts';
import type { SubscriptionStatus } from './transitions.ts';
import type { BrandName } from '../../platform/card-brands.ts';

/** A subscription in memory, and its form in the API. */

/** A product of the catalog at the price that it had when it was added. */
export interface RenewalItem extends OrderItem {
  readonly id: string;
}

export interface SubscriptionRow {
  company_id: string;
  id: string;
  customer_id: string;
  plan_id: string;
  payment_method_id: string;
  card_brand: BrandName;
  card_last4: string;
  status: SubscriptionStatus;
  plan_name: string;
  /** Of a cycle, for all seats. */
  amount: number;
  one_time_amount: number;
  currency: string;
  items: readonly OrderItem[];
  /** The seats. */
  quantity: number;
  /** Counts the changes of plan, and what was charged for one. */
  change_count: number;
  /** Begins with the next cycle. */
  scheduled_change: ScheduledChange | null;
  /** Its charge is in progress, or was declined and can be retried. */
  pending_change: PendingChange | null;
  /** What was paid for the current period; null if the order of the cycle has paid it. */
  period_payment: PeriodPayment | null;
  /** Products on the order of the next cycle. */
  renewal_items: readonly RenewalItem[] | null;
  /** When a change began a new period, from which dates are counted. */
  restarted_at: Date | null;
  interval: 'day' | 'month';
  interval_count: number;
  anchor_day: number | null;
  billing_cycles: number;
  end_date: string | null;
  /** When the customer ended the renewal, which can be undone until the paid period ends. */
  renewal_ended_at: Date | null;
  /** The end date before that. */
  earlier_end_date: string | null;
  coupon: CouponSnapshot | null;
  description: string | null;
  shipping: Shipping | null;
  shipping_address_id: string | null;
  metadata: Metadata;
  start_at: Date;
  base_at: Date;
  next_number: number;
  current_cycle: number;
  completed_cycles: number;
  current_period_start: Date | null;
  current_period_end: Date | null;
  due_at: Date | null;
  first_declined_at: Date | null;
  next_retry_at: Date | null;
  attempt_count: number;
  last_failure_message: string | null;
  latest_order_id: string | null;
  /** While it is paused: when it continues by itself. */
  resume_at: Date | null;
  canceled_at: Date | null;
  completed_at: Date | null;
  sequence: number;
  updated_at: Date;
}

const shown = (date: Date | null): string | null => date?.toISOString() ?? null;

/** What is planned for the next cycle is shown only if there can be one. */
const continues = ({ status }: SubscriptionRow): boolean => status === 'active' || status === 'paused';

function scheduledToWire(row: SubscriptionRow): Subscription['scheduled_change'] {
  const change = row.scheduled_change;
  if (!change || !continues(row)) return null;
  const { plan_id, plan_name, quantity, cycle } = change;
  return {
    plan_id,
    plan: { id: plan_id, name: plan_name, amount: unitAmount(change), currency: row.currency },
    quantity,
    billing_cycle: cycleOf(cycle ?? row),
    scheduled_at: change.at,
  };
}

export function toWire(row: SubscriptionRow, livemode: boolean): Subscription {
  const next = row.status === 'active' ? nextCharge(row) : undefined;
  return {
    id: row.id,
    // A subscription whose first charge is in doubt is never returned, so `pending` does not occur here.
    status: row.status as Subscription['status'],
    customer_id: row.customer_id,
    plan_id: row.plan_id,
    plan: { id: row.plan_id, name: row.plan_name, amount: unitAmount(row), currency: row.currency },
    quantity: row.quantity,
    payment_method: { id: row.payment_method_id, card_last_four: row.card_last4, card_brand: row.card_brand },
    coupon: row.coupon,
    description: row.description,
    shipping: row.shipping,
    shipping_address_id: row.shipping_address_id,
    billing_cycle: cycleOf(row),
    billing_cycles: row.billing_cycles,
    completed_cycles: row.completed_cycles,
    current_cycle: row.current_cycle,
    start_date: row.start_at.toISOString().slice(0, 10),
    end_date: row.end_date,
    current_period_start: shown(row.current_period_start),
    current_period_end: shown(row.current_period_end),
    next_billing_at: next ? new Date(next.atMs).toISOString() : null,
    last_failure_message: row.last_failure_message,
    attempt_count: row.attempt_count,
    next_retry_at: shown(row.next_retry_at),
    latest_order_id: row.latest_order_id,
    resumes_at: row.status === 'paused' ? shown(row.resume_at) : null,
    canceled_at: shown(row.canceled_at),
    completed_at: shown(row.completed_at),
    scheduled_change: scheduledToWire(row),
    renewal_items: continues(row) ? [...(row.renewal_items ?? [])] : [],
    livemode,
    metadata: row.metadata,
    created_at: createdAt(row.id),
    updated_at: row.updated_at.toISOString(),
  };
}

/** A worker that listens on this channel checks at once for due subscriptions. */
export const subscriptionsDueChannel = 'subscriptions_due';
