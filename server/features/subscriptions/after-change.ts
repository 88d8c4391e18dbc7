import type { ChangeRow } from './change-queries.ts';
import type { Effect } from './after-charge.ts';
import { changedPaid, isPendingFor, type PendingChange } from './plan-change.ts';
import { withNextDue } from './schedule.ts';
import type { SubscriptionRow } from './subscription.ts';

/** Computes what the outcome of the charge for a change of plan changes on its subscription. Pure functions without I/O. */

export interface ChangeEffect extends Effect {
  readonly applied?: ChangeRow;
}

/**
 * The charge of a change that was superseded while it was in flight, by a cancellation, stands and changes nothing. A declined
 * change leaves the subscription as it was, and the order can be retried.
 */
export function afterChange(
  row: SubscriptionRow,
  { orderId, approved, nowMs }: { readonly orderId: string; readonly approved: boolean; readonly nowMs: number },
): ChangeEffect {
  const change = row.pending_change;
  if (!change || !isPendingFor(row, orderId)) return { row, events: [], cycle: null };
  if (!approved) return { row: withNextDue(unsent(row, change)), events: [], cycle: null };
  const orders = [...change.orders, { id: orderId, refunded: 0 }];
  const to = changedPaid(row, { ...change, orders }, nowMs);
  return { row: to, events: ['subscription.plan_changed'], cycle: null, applied: appliedRow(row, to, change, nowMs) };
}

const unsent = (row: SubscriptionRow, change: PendingChange): SubscriptionRow => ({
  ...row,
  pending_change: { ...change, in_flight: false },
});

export function appliedRow(
  before: SubscriptionRow,
  after: SubscriptionRow,
  change: Pick<PendingChange, 'number' | 'at' | 'restarts' | 'lines'> & {
    readonly order_id: string | null;
    readonly id?: string;
  },
  nowMs: number,
): ChangeRow {
  const { number, order_id, at, restarts, lines } = change;
  const { company_id, id } = after;
  const id_of_request = change.id ?? order_id;
  if (!id_of_request) throw new Error('a change of plan has neither an id nor an order');
  return {
    ...{ company_id, subscription_id: id, number, id: id_of_request, order_id, restarts, lines },
    at: new Date(at),
    recorded_at: new Date(nowMs),
    before: termsOf(before),
    after: termsOf(after),
  };
}

const termsOf = ({ plan_id, plan_name, amount, one_time_amount, quantity }: SubscriptionRow): ChangeRow['before'] => ({
  ...{ plan_id, plan_name, amount, one_time_amount, quantity },
});
