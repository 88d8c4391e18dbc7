import { ApiError } from '../../errors.ts';
import type { Database } from '../../platform/database.ts';
import { counter } from '../../platform/metrics.ts';
import { type EventRow, type EventType, emitEvents, newEvent } from '../events/service.ts';
import { type Billing, type BillingEffect, type ChargeOutcome, failureOf, type OrderRow } from '../orders/service.ts';
import { afterCharge, type ChargeResult } from './after-charge.ts';
import type { DunningPolicy } from './dunning.ts';
import { findSubscription, type HeldSubscription, lockSubscriptions, updateSubscriptions } from './queries.ts';
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
  const rows = changes.map(({ row }) => row);
  const events = changes.flatMap((change) => change.events);
  // Both are sent at once.
  await Promise.all([updateSubscriptions(db, rows), events.length > 0 && emitEvents(db, events)]);
}

const count = counter('svc_renewals_total');
const countEnd = counter('svc_dunning_ended_total');
/** The events of a subscription whose retries were all declined. */
const endEvents: readonly EventType[] = ['subscription.failed', 'subscription.canceled'];

function countRenewal({ state: { order, mode }, outcome }: ChargeOutcome, events: readonly EventType[]): void {
  const attempt = order.attempt_count > 0 ? 'retry' : 'first';
  count({ mode, attempt, outcome: outcome.outcome === 'approved' ? 'charged' : 'declined' });
  if (order.subscription_cycle !== null && events.some((type) => endEvents.includes(type))) countEnd({ mode });
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
    const { mode, clock_offset_ms: _, dunning_days: __, after_dunning: ___, ...row } = held;
    const effect = afterCharge(row, resultOf(charged), policyOf(held));
    const { nowMs, sale } = charged;
    // Computed after the event of the order, which precedes it.
    return { effect, change: () => changed(effect.row, effect.events, mode === 'live', nowMs, sale.request_id) };
  });
  return {
    orders: effects.map(({ effect: { cycle, row } }) => ({
      subscription_cycle: cycle,
      next_retry_at: row.next_retry_at,
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
  const row = await findSubscription(transaction, order.company_id, order.subscription_id ?? '');
  if (!row || !isOver(row, order, nowMs)) return;
  const why = isTooLate(row, order, nowMs) ? `had the end date ${row.end_date}` : `has the status ${row.status}`;
  const message = `The subscription of this order ${why}, so its charge cannot be retried.`;
  throw new ApiError('invalid_state_transition', message, { param: 'id', status: 400 });
}

async function whyUnwanted(db: Database, order: OrderRow, nowMs: number): Promise<string | undefined> {
  const row = await findSubscription(db, order.company_id, order.subscription_id ?? '');
  if (!row) return undefined;
  if (isOver(row, order, nowMs)) return 'The subscription ended before the charge was sent.';
  return row.status === 'paused' ? 'The subscription was paused before the charge was sent.' : undefined;
}

/** The schedule starts with the first charge, which cannot be after the end date. */
function isTooLate(row: SubscriptionRow, order: OrderRow, nowMs: number): boolean {
  return order.subscription_cycle === null && isEnded(row, nowMs);
}

function isOver(row: SubscriptionRow, order: OrderRow, nowMs: number): boolean {
  return isTooLate(row, order, nowMs) || row.status === 'canceled' || row.status === 'completed';
}
