import { invalidField } from '../../errors.ts';
import { withNextDue, cycleOf, isLastCycle, restarted, withCadence, withCycleBegun } from './schedule.ts';
import {
  discountFor,
  type Moment,
  momentOf,
  type NetPayment,
  type PeriodPayment,
  restPrice,
  timeOf,
  unusedOf,
} from './proration.ts';
import type { SubscriptionRow } from './subscription.ts';
import { type PlanTerms, withTerms } from './terms.ts';

/** Decides what a change of plan charges and credits, and what it makes of the subscription. Pure functions without I/O. */

export const prorations = ['difference', 'restart', 'none'] as const;
export type Proration = (typeof prorations)[number];

/** One line of a change. A discount and a credit are negative. */
export interface ChangeLine {
  readonly type: 'charge' | 'discount' | 'credit';
  readonly description: string;
  readonly amount: number;
}

/** A change that begins with the next cycle. */
export interface ScheduledChange extends PlanTerms {
  /** Of the request. */
  readonly id: string;
  readonly at: string;
  /** The customer has scheduled it, and can take it back. */
  readonly by_customer?: true;
}

/** A change that takes effect when its order is paid. */
export interface PendingChange extends PlanTerms {
  readonly number: number;
  readonly order_id: string;
  /** The change counts from then on. */
  readonly at: string;
  readonly restarts: boolean;
  /** The cycle in which it was requested: it is superseded when another one begins. */
  readonly in_cycle: number;
  readonly in_flight: boolean;
  readonly lines: readonly ChangeLine[];
  /** What is paid for the time since then, with the credit. */
  readonly paid: number;
  readonly credit: number;
  readonly orders: PeriodPayment['orders'];
}

export interface Decision {
  readonly terms: PlanTerms;
  readonly atMs: number;
  readonly restarts: boolean;
  readonly lines: readonly ChangeLine[];
  /** What the card is charged. */
  readonly due: number;
  /** What the lines credit beyond what they charge. */
  readonly credit: number;
  readonly unused: number;
  /** What is paid for the time since then; undefined if the change is without a charge. */
  readonly paid: number | undefined;
  readonly discount: number;
}

const without = (terms: PlanTerms, atMs: number): Decision => ({
  ...{ terms, atMs, restarts: false, lines: [], due: 0, credit: 0, unused: 0, paid: undefined, discount: 0 },
});

/** Whether a change is made without a charge: nothing is paid in advance, or time does not run. */
export const changesWithoutCharge = ({ status, current_cycle }: SubscriptionRow, proration: Proration): boolean =>
  status === 'paused' || current_cycle === 0 || proration === 'none';

export function decide(
  row: SubscriptionRow,
  terms: PlanTerms,
  proration: Proration,
  payment: NetPayment,
  atMs: number,
): Decision {
  if (changesWithoutCharge(row, proration)) return without(terms, atMs);
  const moment = momentOf(row, atMs);
  if (!moment) throw invalidField('at', 'must be in the current period');
  const restarts = proration === 'restart';
  if (restarts && isLastCycle(row, timeOf(moment))) {
    throw invalidField('proration', 'cannot be restart, because no further cycle of this subscription can begin');
  }
  const { charge, discount } = priceOf(withTerms(row, terms), restarts, moment);
  const unused = unusedOf(payment, moment);
  const total = charge - discount - unused;
  return {
    terms,
    atMs: timeOf(moment),
    restarts,
    lines: linesOf(row, terms, { charge, discount, unused }),
    due: Math.max(0, total),
    credit: Math.max(0, -total),
    unused,
    paid: charge - discount,
    discount,
  };
}

function priceOf(next: SubscriptionRow, restarts: boolean, moment: Moment): { charge: number; discount: number } {
  if (!restarts) return restPrice(next, next.current_cycle, moment);
  return { charge: next.amount, discount: discountFor(next, next.current_cycle + 1) };
}

const nameOf = ({ plan_name, quantity }: Pick<PlanTerms, 'plan_name' | 'quantity'>): string =>
  quantity === 1 ? plan_name : `${quantity} × ${plan_name}`;

function linesOf(
  row: SubscriptionRow,
  terms: PlanTerms,
  { charge, discount, unused }: { readonly charge: number; readonly discount: number; readonly unused: number },
): ChangeLine[] {
  const lines: ChangeLine[] = [
    { type: 'charge', description: nameOf(terms), amount: charge },
    { type: 'discount', description: row.coupon?.name ?? row.coupon?.code ?? '', amount: -discount },
    { type: 'credit', description: `Unused time of ${nameOf(row)}`, amount: -unused },
  ];
  return lines.filter(({ type, amount }) => type === 'charge' || amount !== 0);
}

export const describeChange = (row: SubscriptionRow, terms: PlanTerms): string =>
  `Change from ${nameOf(row)} to ${nameOf(terms)}`;

/** A change without a charge: the plan is another one, and what was paid for the current period stays paid. */
export function changedAtOnce(
  row: SubscriptionRow,
  { terms }: Decision,
  payment: PeriodPayment | null,
  nowMs: number,
): SubscriptionRow {
  const next = { ...withTerms(row, terms), scheduled_change: null, pending_change: null, period_payment: payment };
  const counted = { ...next, change_count: row.change_count + 1, updated_at: new Date(nowMs) };
  if (!terms.cycle || row.current_cycle === 0) return counted;
  // Only a paused subscription can get another cycle without a charge.
  return withCadence(counted, cycleOf(terms.cycle), nowMs, undefined);
}

/** The change that its order pays for. The subscription waits: no renewal begins before the outcome is recorded. */
export function pendingOf(
  row: SubscriptionRow,
  { terms, atMs, restarts, lines, unused, paid = 0 }: Decision,
  orders: PeriodPayment['orders'],
  orderId: string,
): PendingChange {
  return {
    ...terms,
    number: row.change_count + 1,
    order_id: orderId,
    at: new Date(atMs).toISOString(),
    restarts,
    in_cycle: row.current_cycle,
    in_flight: true,
    lines,
    paid,
    credit: unused,
    orders,
  };
}

type Paid = Pick<PendingChange, 'at' | 'restarts' | 'paid' | 'orders'> & PlanTerms;

/** The subscription after a change that is paid. */
export function changedPaid(row: SubscriptionRow, change: Paid, nowMs: number): SubscriptionRow {
  const next = {
    ...withTerms(row, change),
    scheduled_change: null,
    pending_change: null,
    period_payment: { paid: change.paid, part: 1, of: 1, from: change.at, orders: change.orders },
    updated_at: new Date(nowMs),
  };
  if (!change.restarts) return withNextDue(next);
  const begun = withCycleBegun(restarted(next, Date.parse(change.at)));
  return withNextDue({ ...begun, completed_cycles: begun.completed_cycles + 1 });
}

/** Whether the order still pays for this change. */
export const isPendingFor = (
  { pending_change: change, current_cycle, status }: SubscriptionRow,
  orderId: string,
): boolean => status === 'active' && change?.order_id === orderId && change.in_cycle === current_cycle;
