import { ApiError } from '../../errors.ts';
import type { Database } from '../../platform/database.ts';
import { counter } from '../../platform/metrics.ts';
import { type EventRow, type EventType, emitEvents, newEvent, previousOf } from '../events/service.ts';
import {
  type Billing,
  type BillingEffect,
  type ChargeOutcome,
  failureOf,
  isFirstCharge,
  type OrderRow,
} from '../orders/service.ts';
import { afterCharge, type ChargeResult } from './after-charge.ts';
import type { DunningPolicy } from './dunning.ts';
import { type ChangeRow, insertChanges } from './change-queries.ts';
import { afterChange, type ChangeEffect } from './after-change.ts';
import { checkChangeRetry, whyChangeIsUnwanted } from './change-retry.ts';
import {
  findSubscription,
  type HeldSubscription,
  lockSubscriptions,
  updateSubscriptions,
  updateWithPlans,
} from './queries.ts';
import { isEnded } from './schedule.ts';
import { type SubscriptionRow, toWire } from './subscription.ts';

/** Applies the outcome of a charge to its subscription. Orders call it when they record the outcome. */
export const subscriptionBilling: Billing = { applyOutcomes, checkRetry, whyUnwanted };

export function policyOf({ dunning_days, after_dunning }: HeldSubscription): DunningPolicy {
  return { days: dunning_days, afterwards: after_dunning };
}

function resultOf({ state: { order }, sale, outcome, nowMs }: ChargeOutcome): ChargeResult {
  const retryAtMs = outcome.outcome === 'not_sent' ? outcome.retryAtMs : undefined;
  const failure = outcome.outcome === 'approved' ? undefined : { ...failureOf(outcome), retryAtMs };
  return {
    cycle: order.subscription_cycle,
    failure,
    declines: order.attempt_count + (failure ? 1 : 0),
    automatic: sale.request_id === null,
    paymentMethodId: sale.payment_method_id,
    nowMs,
  };
}

/** A change of a subscription, with its events. */
export interface Change {
  readonly row: SubscriptionRow;
  readonly events: readonly EventRow[];
  /** Also writes the columns that only changes of plan write. */
  readonly writesPlan?: boolean;
  /** Changes of plan that take effect with it. */
  readonly applied?: readonly ChangeRow[];
}

/** Each event increments the sequence; the object of every event is the subscription after all of them. */
export function changed(
  row: SubscriptionRow,
  types: readonly EventType[],
  livemode: boolean,
  nowMs: number,
  requestId: string | null,
  previous: object | null = null,
): Change {
  const counted = { ...row, sequence: row.sequence + types.length };
  const object = toWire(counted, livemode);
  const events = types.map((type, index) =>
    newEvent(row.company_id, nowMs, type, object, row.sequence + 1 + index, requestId, previous),
  );
  return { row: counted, events };
}

export async function recordChanges(db: Database, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return;
  const rowsOf = (writesPlan: boolean): SubscriptionRow[] =>
    changes.filter((change) => (change.writesPlan ?? false) === writesPlan).map(({ row }) => row);
  const [usual, replanned] = [rowsOf(false), rowsOf(true)];
  const events = changes.flatMap((change) => change.events);
  const applied = changes.flatMap((change) => change.applied ?? []);
  // All are sent at once.
  await Promise.all([
    usual.length > 0 && updateSubscriptions(db, usual),
    replanned.length > 0 && updateWithPlans(db, replanned),
    applied.length > 0 && insertChanges(db, applied),
    events.length > 0 && emitEvents(db, events),
  ]);
}

const count = counter('svc_renewals_total');
const countEnd = counter('svc_dunning_ended_total');
/** The events of a subscription whose retries were all declined. */
const endEvents: readonly EventType[] = ['subscription.failed', 'subscription.canceled'];

function countRenewal({ state: { order, mode }, outcome }: ChargeOutcome, events: readonly EventType[]): void {
  if (isForChange(order)) return;
  const attempt = order.attempt_count > 0 ? 'retry' : 'first';
  count({ mode, attempt, outcome: outcome.outcome === 'approved' ? 'charged' : 'declined' });
  if (order.subscription_cycle !== null && events.some((type) => endEvents.includes(type))) countEnd({ mode });
}

/** Whether the order pays for a change of plan. */
const isForChange = ({ subscription_change }: OrderRow): boolean => typeof subscription_change === 'number';

function effectOf(row: SubscriptionRow, charged: ChargeOutcome, held: HeldSubscription): ChangeEffect {
  const { order } = charged.state;
  if (!isForChange(order)) return afterCharge(row, resultOf(charged), policyOf(held));
  const approved = charged.outcome.outcome === 'approved';
  return afterChange(row, { orderId: order.id, approved, nowMs: charged.nowMs });
}

async function applyOutcomes(transaction: Database, outcomes: readonly ChargeOutcome[]): Promise<BillingEffect> {
  const ids = outcomes.map(({ state: { order } }) => order.subscription_id ?? '');
  if (new Set(ids).size < ids.length)
    throw new Error('two charges of one subscription have their outcome recorded at once');
  const locked = await lockSubscriptions(
    transaction,
    outcomes.map(({ state: { order } }, index) => ({ company_id: order.company_id, id: ids[index] ?? '' })),
  );
  const byId = new Map(locked.map((row) => [row.id, row]));
  const effects = outcomes.map((charged, index) => {
    const held = byId.get(ids[index] ?? '');
    if (!held) throw new Error('the subscription of an order does not exist');
    const { mode, clock_offset_ms: _, authenticates: ____, dunning_days: __, after_dunning: ___, ...row } = held;
    const effect = effectOf(row, charged, held);
    const { nowMs, sale, state } = charged;
    const livemode = mode === 'live';
    const isReplanned = isForChange(state.order);
    const previous = effect.applied ? previousOf(toWire(row, livemode), toWire(effect.row, livemode)) : null;
    const applied = effect.applied ? [effect.applied] : [];
    // Computed after the event of the order, which precedes it.
    const change = (): Change => ({
      ...changed(effect.row, effect.events, livemode, nowMs, sale.request_id, previous),
      ...(isReplanned && { writesPlan: true, applied }),
    });
    return { effect, isReplanned, change };
  });
  return {
    orders: effects.map(({ effect: { cycle, row }, isReplanned }) => ({
      subscription_cycle: cycle,
      next_retry_at: isReplanned ? null : row.next_retry_at,
    })),
    record: async (tookEffect) => {
      await recordChanges(
        transaction,
        effects.filter((_, index) => tookEffect[index]).map(({ change }) => change()),
      );
      for (const [index, charged] of outcomes.entries()) {
        if (tookEffect[index]) countRenewal(charged, effects[index]?.effect.events ?? []);
      }
    },
  };
}

async function checkRetry(transaction: Database, order: OrderRow, nowMs: number): Promise<void> {
  if (isForChange(order)) return checkChangeRetry(transaction, order, nowMs);
  const row = await findSubscription(transaction, order.company_id, order.subscription_id ?? '');
  if (!row) return;
  if (row.pending_change?.in_flight) {
    throw new ApiError('resource_in_use', 'The plan of this subscription is being changed. Retry shortly.');
  }
  if (!isOver(row, order, nowMs)) return;
  const why = isTooLate(row, order, nowMs) ? `had the end date ${row.end_date}` : `has the status ${row.status}`;
  const message = `The subscription of this order ${why}, so its charge cannot be retried.`;
  throw new ApiError('invalid_state_transition', message, { param: 'id', status: 400 });
}

async function whyUnwanted(db: Database, order: OrderRow, nowMs: number): Promise<string | undefined> {
  const row = await findSubscription(db, order.company_id, order.subscription_id ?? '');
  if (!row) return undefined;
  if (isForChange(order)) return whyChangeIsUnwanted(row, order);
  if (isOver(row, order, nowMs)) return 'The subscription ended before the charge was sent.';
  return row.status === 'paused' ? 'The subscription was paused before the charge was sent.' : undefined;
}

/** The schedule starts with the first charge, which cannot be after the end date. */
function isTooLate(row: SubscriptionRow, order: OrderRow, nowMs: number): boolean {
  return isFirstCharge(order) && isEnded(row, nowMs);
}

function isOver(row: SubscriptionRow, order: OrderRow, nowMs: number): boolean {
  return isTooLate(row, order, nowMs) || row.status === 'canceled' || row.status === 'completed';
}
