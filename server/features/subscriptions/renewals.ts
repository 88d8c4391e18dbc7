import { ApiError } from '../../errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, DatabasePool } from '../../platform/database.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { counter } from '../../platform/metrics.ts';
import { tracedAlone } from '../../platform/spans.ts';
import {
  getOrderState,
  lockMs,
  type NewSale,
  type Opened,
  nextAttempt,
  type Orders,
  type OrderRow,
  type OrderState,
  payByCredit,
  payPartAgain,
  planScheduledCharges,
  type PlannedCharge,
  saleOf,
} from '../orders/service.ts';
import { closeRedemptions } from '../coupons/service.ts';
import { emptyPurse, lockPurse, mostCredit, type Purse, recordUse } from '../credit/service.ts';
import { afterCharge, freeOfCharge } from './after-charge.ts';
import { type EventType, previousOf } from '../events/service.ts';
import { rowOf } from './change-subscription.ts';
import { completed, writesPlan } from './changes.ts';
import { endDunning } from './dunning.ts';
import { type Change, changed, policyOf, recordChanges } from './billing.ts';
import { type Forgotten, forgottenOfCycle } from './forgotten-charges.ts';
import { type DueSubscription, lockDue, lockDueOf } from './queries.ts';
import { endPause } from './pauses.ts';
import { chargedCard, openSale, orderFor, plannedSale } from './renewal-order.ts';
import { amountsOf, forNextCycle, nextCharge, withCycleBegun, withNextDue } from './schedule.ts';
import { appliedRow } from './after-change.ts';
import { type SubscriptionRow, toWire } from './subscription.ts';

/**
 * Handles subscriptions that are due: bills the next cycle, retries a declined one, ends dunning, completes. A subscription
 * is locked while the intent is recorded. The card is charged afterwards, and recording the outcome sets the next due time.
 * If the process dies in between, the worker reconciles the charge.
 */

export interface RenewalDependencies {
  readonly db: DatabasePool;
  /** The same database for statements about many at once, opened with `byKeySettings`. */
  readonly batchDb: DatabasePool;
  readonly orders: Orders;
  readonly clock: Clock;
  readonly log: Logger;
}

const countDunningEnd = counter('svc_dunning_ended_total');

interface Charge {
  readonly state: OrderState;
  readonly sale: NewSale;
  readonly atMs: number;
}

/** A charge whose intent is recorded. */
interface OpenedCharge extends Charge {
  readonly sale: NewSale & Opened;
}

interface Step {
  readonly change: Change;
  readonly planned?: PlannedCharge;
  readonly charge?: Charge;
  /** What credit pays of the order. */
  readonly credit?: number;
}

/** Bills one batch over all companies. Returns how many subscriptions were due. */
export async function billDue(dependencies: RenewalDependencies, count: number): Promise<number> {
  const { found, charges } = await dependencies.batchDb.transaction(async (transaction) => {
    const due = await lockDue(transaction, count);
    if (due.length > 0) failpoint('renewal.before_intent');
    return { found: due.length, charges: await begin(transaction, due, ({ now }) => now.getTime()) };
  });
  await Promise.all(charges.map(({ state, sale }) => attempt(dependencies, { state, sale })));
  return found;
}

export interface BilledBatch {
  readonly found: number;
  /** Orders whose charge is in doubt. */
  readonly inDoubt: readonly string[];
}

/** Bills one batch of a company whose clock is being advanced: each charge happens at its own time. */
export async function billDueOf(
  dependencies: RenewalDependencies,
  companyId: string,
  fromMs: number,
  untilMs: number,
  count: number,
): Promise<BilledBatch> {
  const { found, charges } = await dependencies.batchDb.transaction(async (transaction) => {
    const due = await lockDueOf(transaction, companyId, new Date(untilMs), count);
    const at = ({ due_at }: DueSubscription): number => Math.max(due_at?.getTime() ?? fromMs, fromMs);
    return { found: due.length, charges: await begin(transaction, due, at) };
  });
  const known = await Promise.all(charges.map((charge) => attempt(dependencies, charge)));
  return { found, inDoubt: charges.filter((_, index) => !known[index]).map(({ state }) => state.order.id) };
}

/** Returns whether the outcome is known. */
async function attempt(
  { orders, log }: RenewalDependencies,
  { state, sale, atMs }: Omit<OpenedCharge, 'atMs'> & { atMs?: number },
): Promise<boolean> {
  try {
    // The worker has no request, so the charge is a trace of its own.
    await tracedAlone('subscription charge', {}, undefined, () => orders.charge(state, sale, atMs));
    return true;
  } catch (error) {
    const { company_id, id, subscription_id } = state.order;
    // The worker reconciles it.
    const known = error instanceof ApiError ? 'info' : 'error';
    log[known]({ err: error, company_id, order_id: id, subscription_id }, 'the charge of a subscription stays open');
    return false;
  }
}

async function begin(
  transaction: Database,
  due: readonly DueSubscription[],
  at: (subscription: DueSubscription) => number,
): Promise<OpenedCharge[]> {
  const withCredit = due.filter(({ credit }) => credit > 0);
  const purse = withCredit.length > 0 ? await lockPurse(transaction, withCredit) : emptyPurse;
  const steps = await Promise.all(due.map((one) => stepOf(transaction, one, at(one), purse)));
  const changes = steps.map(({ change }) => change);
  const charges = steps.flatMap(({ planned }) => planned ?? []);
  // Both are sent at once.
  const [, opened] = await Promise.all([
    recordChanges(transaction, changes),
    charges.length > 0 ? planScheduledCharges(transaction, charges) : new Map<string, Opened>(),
  ]);
  await useCredits(
    transaction,
    steps.filter(({ charge }) => !charge || opened.has(charge.sale.id)),
  );
  // An order with a total of zero is paid at once, and its coupon is redeemed with it.
  const redeemed = steps.filter(({ planned, charge }) => planned?.placed?.coupon && !charge);
  if (redeemed.length > 0) {
    const ends = redeemed.map(({ change: { row } }) => ({ company_id: row.company_id, id: row.id, redeemed: true }));
    await closeRedemptions(transaction, ends);
  }
  return steps.flatMap(({ charge }) => {
    const open = charge && opened.get(charge.sale.id);
    return open ? { ...charge, sale: { ...charge.sale, ...open } } : [];
  });
}

/** Takes the credit that pays for orders, or for a part of them. A declined order was placed without it. */
async function useCredits(transaction: Database, steps: readonly Step[]): Promise<void> {
  for (const { credit, planned, charge } of steps) {
    const order = planned?.placed ?? charge?.state.order;
    if (!credit || !order) continue;
    const use = { id: newId(charge?.atMs ?? order.updated_at.getTime()), amount: credit };
    await (planned?.placed ? recordUse(transaction, order, use) : payPartAgain(transaction, order, use));
  }
}

async function stepOf(transaction: Database, due: DueSubscription, nowMs: number, purse: Purse): Promise<Step> {
  const row = rowOf(due);
  const { mode } = due;
  const announced = (...[to, events]: [SubscriptionRow, Parameters<typeof changed>[1]]): Step => ({
    change: changed(to, events, mode === 'live', nowMs, null),
  });

  if (row.status === 'past_due') {
    if (row.next_retry_at && row.next_retry_at.getTime() <= nowMs) return retryOf(transaction, due, row, nowMs, purse);
    const ended = endDunning(row, policyOf(due), nowMs);
    countDunningEnd({ mode });
    return announced(ended.row, ended.events);
  }
  if (row.status === 'paused') return endedPause(transaction, row, nowMs, mode === 'live');
  const next = nextCharge(row);
  if (!next) return announced(completed(row, nowMs), ['subscription.completed']);
  if (next.atMs > nowMs) return { change: { row: withNextDue(row), events: [] } };
  return beginCycle(transaction, due, next.cycle, nowMs, purse);
}

async function beginCycle(
  transaction: Database,
  due: DueSubscription,
  cycle: number,
  nowMs: number,
  purse: Purse,
): Promise<Step> {
  const { mode, clock_offset_ms, authenticates, card_id, exp_month, exp_year, billing_details, kept_reference } = due;
  const row = rowOf(due);
  const first = row.current_cycle === 0;
  const company = { mode, clockOffsetMs: clock_offset_ms, authenticates };
  const card = { card_id, exp_month, exp_year, billing_details };
  const turned = forNextCycle(row);
  const forgotten = await forgottenOfCycle(transaction, row, cycle, kept_reference);
  const credit = first ? 0 : creditFor(turned, cycle, forgotten, purse);
  const placed = orderFor(turned, first ? null : cycle, {
    ...{ company, card, nowMs, requestId: null, credit },
    ...(forgotten?.numbered && { numbered: forgotten.numbered }),
  });
  const { order } = placed.state;
  const begun = asNextCycle({ ...(first ? turned : withCycleBegun(turned)), latest_order_id: order.id, due_at: null });
  const planned = plannedSale(placed, lockMs[mode]);
  const asChanged = (to: SubscriptionRow, events: readonly EventType[]): Change =>
    withPlanChange(row, to, events, mode === 'live', nowMs);
  if (placed.sale) {
    const charge = { state: placed.state, sale: placed.sale, atMs: nowMs };
    return { change: asChanged(begun, []), planned, charge, credit };
  }
  const paid = afterCharge(begun, freeOfCharge(begun, first ? null : cycle, nowMs), policyOf(due));
  return { change: asChanged(paid.row, paid.events), planned, credit };
}

/** Its next period is then due, and charged by the next batch. */
async function endedPause(
  transaction: Database,
  row: SubscriptionRow,
  nowMs: number,
  livemode: boolean,
): Promise<Step> {
  const to = await endPause(transaction, row, nowMs);
  const change =
    to.status === 'paused' ? { row: to, events: [] } : changed(to, ['subscription.resumed'], livemode, nowMs, null);
  return { change: { ...change, writesPlan: true } };
}

/** The credit that pays for a renewal. */
function creditFor(row: SubscriptionRow, cycle: number, forgotten: Forgotten | undefined, purse: Purse): number {
  const { total } = amountsOf(row, cycle);
  return purse.take(row, mostCredit(total, forgotten));
}

/** The order of the cycle pays for all of it, and has the products that were added to it. A declined change is superseded. */
const asNextCycle = (row: SubscriptionRow): SubscriptionRow => ({
  ...row,
  renewal_items: null,
  pending_change: null,
  period_payment: null,
});

/** A cycle may begin with a change of plan that was scheduled for it. */
function withPlanChange(
  before: SubscriptionRow,
  after: SubscriptionRow,
  events: readonly EventType[],
  livemode: boolean,
  nowMs: number,
): Change {
  const scheduled = before.scheduled_change;
  if (!scheduled) {
    const change = events.length > 0 ? changed(after, events, livemode, nowMs, null) : { row: after, events: [] };
    return { ...change, writesPlan: writesPlan(before, after) };
  }
  const number = before.change_count + 1;
  const to = { ...after, change_count: number, updated_at: new Date(nowMs) };
  const previous = previousOf(toWire(before, livemode), toWire(to, livemode));
  const change = {
    number,
    order_id: null,
    id: scheduled.id,
    at: new Date(nowMs).toISOString(),
    restarts: false,
    lines: [],
  };
  return {
    ...changed(to, ['subscription.plan_changed', ...events], livemode, nowMs, null, previous),
    writesPlan: true,
    applied: [appliedRow(before, to, change, nowMs)],
  };
}

/** Retries a declined charge with the card that the subscription has now. */
async function retryOf(
  transaction: Database,
  due: DueSubscription,
  row: SubscriptionRow,
  nowMs: number,
  purse: Purse,
): Promise<Step> {
  const { company_id, payment_method_id, card_brand, card_last4 } = row;
  const state = await getOrderState(transaction, company_id, row.latest_order_id ?? '');
  if (!state) throw new Error('a subscription is past due without an order');
  const forgotten = await forgottenOfCycle(transaction, row, row.current_cycle, due.kept_reference);
  const credit = purse.take(row, mostCredit(state.order.total, forgotten));
  if (credit === state.order.total) return retryByCredit(transaction, due, row, state.order, nowMs);
  const order = credit > 0 ? { ...state.order, credit_applied: credit } : state.order;
  const withCard = { ...order, payment_method_id, card_brand, card_last4 };
  const numbered = forgotten?.numbered ?? nextAttempt(state);
  const sale = saleOf(withCard, { id: newId(nowMs), cause: 'renewal', request_id: null, numbered });
  const open = openSale(state.order, sale, new Date(nowMs), lockMs[due.mode]);
  return {
    // A manual retry in progress sets the next due time when its outcome is recorded.
    change: { row: { ...row, due_at: null }, events: [] },
    planned: { placed: undefined, sale: open, events: [] },
    charge: { state: { ...state, order, card: chargedCard(due) }, sale, atMs: nowMs },
    credit,
  };
}

/** Credit that was granted since the charge was declined pays all of it. */
async function retryByCredit(
  transaction: Database,
  due: DueSubscription,
  row: SubscriptionRow,
  order: OrderRow,
  nowMs: number,
): Promise<Step> {
  const isPaid = await payByCredit(transaction, order, nowMs);
  // A manual retry in progress sets the next due time when its outcome is recorded.
  if (!isPaid) return { change: { row: { ...row, due_at: null }, events: [] } };
  const paid = afterCharge(row, freeOfCharge(row, order.subscription_cycle, nowMs), policyOf(due));
  return { change: changed(paid.row, paid.events, due.mode === 'live', nowMs, null) };
}
