import { ApiError, notFound } from '../../errors.ts';
import { mergeMetadata } from '../../http/schemas.ts';
import type { Database } from '../../platform/database.ts';
import { idTimeMs } from '../../platform/ids.ts';
import { closeRedemptions } from '../coupons/service.ts';
import { type ActiveCustomer, lockActiveCustomer } from '../customers/service.ts';
import { type EventType, previousOf } from '../events/service.ts';
import { discardWaiting, getOrderState, isWaitingCharge, refuseUnsaved, stopRetries } from '../orders/service.ts';
import { canceled, paused, resumed, withoutPending, writesPlan } from './changes.ts';
import { changed, recordChanges } from './billing.ts';
import { cardFor, mergeCadence, shippingFor } from './create-subscription.ts';
import {
  announceDue,
  type CardOfCustomer,
  findSubscription,
  type HeldSubscription,
  isUnderWay,
  lockSubscriptions,
  lockSubscriptionsOf,
} from './queries.ts';
import { cycleOf, withCadence } from './schedule.ts';
import type { CanceledSubscription, Subscription, SubscriptionUpdate } from './schemas.ts';
import { type SubscriptionRow, toWire } from './subscription.ts';
import { modifiable, type SubscriptionStatus } from './transitions.ts';
import type { BrandName } from '../../platform/card-brands.ts';
import type { RequestContext } from '../../request-context.ts';

/** Changes that users make to a subscription: update, cancel, pause, resume, change the card. */

export async function lockOne(transaction: Database, companyId: string, id: string): Promise<SubscriptionRow> {
  const [held] = await lockSubscriptions(transaction, [{ company_id: companyId, id }]);
  if (!held || held.status === 'pending') throw notFound('subscription');
  return rowOf(held);
}

export function rowOf(held: HeldSubscription): SubscriptionRow {
  const { mode: _, clock_offset_ms: __, dunning_days: ___, after_dunning: ____, ...row } = held;
  return row;
}

function refuseOver({ status }: SubscriptionRow): void {
  if (status === 'canceled') throw new ApiError('already_canceled', 'The subscription is already canceled.');
  if (status === 'completed') {
    throw new ApiError('subscription_completed', 'The subscription is completed and cannot be canceled.');
  }
}

export async function cancelSubscription(context: RequestContext, id: string): Promise<CanceledSubscription> {
  const { db, company, nowMs } = context;
  return db.transaction(async (transaction) => {
    const row = await lockOne(transaction, company.id, id);
    refuseOver(row);
    await cancelLocked(context, transaction, row);
    return { id, status: 'canceled', canceled_at: new Date(nowMs).toISOString() };
  });
}

async function cancelLocked(
  { company, nowMs, requestId }: RequestContext,
  transaction: Database,
  row: SubscriptionRow,
): Promise<void> {
  const livemode = company.mode === 'live';
  const to = canceled(row, nowMs);
  const change = changed(to, ['subscription.canceled'], livemode, nowMs, requestId);
  await recordChanges(transaction, [{ ...change, writesPlan: writesPlan(row, to) }]);
  if (row.latest_order_id) await stopRetries(transaction, company.id, row.latest_order_id);
  // The subscription never began, so its coupon redemption is released. A first charge in flight records its own
  // redemption.
  if (row.coupon && row.current_cycle === 0 && row.latest_order_id === null) {
    await closeRedemptions(transaction, [{ company_id: company.id, id: row.id, redeemed: false }]);
  }
}

/** Runs when a customer is deleted: cancels the subscriptions that wait for a payment which will not arrive. */
export async function cancelSubscriptionsOf(
  context: RequestContext,
  transaction: Database,
  customerId: string,
): Promise<void> {
  const waiting = await lockSubscriptionsOf(transaction, context.company.id, customerId, ['past_due', 'failed']);
  for (const held of waiting) await cancelLocked(context, transaction, rowOf(held));
}

/** Locks the subscription until the transaction ends. Undefined if it cannot be changed. */
export async function lockedSubscription(
  { db, company }: RequestContext,
  id: string,
): Promise<Subscription | undefined> {
  const found = await findSubscription(db, company.id, id);
  if (!found || !modifiable.includes(found.status)) return undefined;
  // The customer first: see `changeSubscription`.
  await lockActiveCustomer(db, company.id, found.customer_id, 'id');
  return toWire(await lockOne(db, company.id, id), company.mode === 'live');
}

/** The card that the subscription has stays, also if the customer did not agree that it is saved for anything else. */
async function newCardFor(
  db: Database,
  companyId: string,
  { customer_id, payment_method_id }: SubscriptionRow,
  wanted: string | undefined,
): Promise<CardOfCustomer | undefined> {
  if (!wanted) return undefined;
  const card = await cardFor(db, companyId, customer_id, wanted);
  refuseUnsaved(card.listed || card.id === payment_method_id);
  return card;
}

export async function changeSubscription(
  context: RequestContext,
  id: string,
  input: SubscriptionUpdate,
): Promise<Subscription> {
  const { db, company, nowMs, requestId } = context;
  const livemode = company.mode === 'live';
  return db.transaction(async (transaction) => {
    const { customer, row } = await lockModifiable(transaction, company.id, id);
    const card = await newCardFor(transaction, company.id, row, input.payment_method_id);
    let to: SubscriptionRow = {
      ...row,
      updated_at: new Date(nowMs),
      ...(card && { payment_method_id: card.id, card_brand: card.brand, card_last4: card.last4 }),
      ...(input.description !== undefined && { description: input.description }),
      ...shippingFor(customer, input),
      metadata: mergeMetadata(row.metadata, input.metadata),
    };
    const cycle = input.billing_cycle && mergeCadence(cycleOf(row), input.billing_cycle, cycleOf(row).anchor_day);
    const billing = cycle !== undefined && JSON.stringify(cycle) !== JSON.stringify(cycleOf(row));
    if (billing && row.renewal_ended_at) throw renewalHasEnded();
    if (billing) refuseWhileChanging(row);
    // The dates move, so a change of plan that was declined would have another price.
    if (billing) to = withCadence(withoutPending(to), cycle, nowMs, await lastChargeMs(transaction, row));

    const types: EventType[] = billing
      ? ['subscription.updated', 'subscription.billing.updated']
      : ['subscription.updated'];
    const previous = previousOf(toWire(row, livemode), toWire(to, livemode));
    if (Object.keys(previous).length === 0) return toWire(row, livemode);
    const change = changed(to, types, livemode, nowMs, requestId, previous);
    await recordChanges(transaction, [{ ...change, writesPlan: writesPlan(row, to) }]);
    return toWire(change.row, livemode);
  });
}

/** The charge of a change decides which period is paid. */
export function refuseWhileChanging({ pending_change }: SubscriptionRow): void {
  if (!pending_change?.in_flight) return;
  throw new ApiError('resource_in_use', 'The plan of this subscription is being changed. Retry shortly.');
}

/** The customer is locked first, as everywhere, so that two transactions that lock both cannot deadlock. */
async function lockModifiable(
  transaction: Database,
  companyId: string,
  id: string,
): Promise<{ customer: ActiveCustomer; row: SubscriptionRow }> {
  const found = await findSubscription(transaction, companyId, id);
  if (!found) throw notFound('subscription');
  const customer = modifiable.includes(found.status)
    ? await lockActiveCustomer(transaction, companyId, found.customer_id, 'id')
    : undefined;
  const row = await lockOne(transaction, companyId, id);
  if (!customer || !modifiable.includes(row.status)) throw notModifiable(row);
  return { customer, row };
}

/** The end of the paid period is when the subscription ends, so another cycle would move it. */
function renewalHasEnded(): ApiError {
  const message =
    'The renewal of this subscription has ended, so its billing cycle cannot be changed. Keep the renewal first.';
  return new ApiError('subscription_not_modifiable', message, { param: 'billing_cycle' });
}

function notModifiable({ status }: SubscriptionRow): ApiError {
  const message = `The status of the subscription is ${status}. Only active and paused subscriptions can be changed.`;
  return new ApiError('subscription_not_modifiable', message);
}

/**
 * Returns when the latest order was charged or is being charged; undefined if it had a total of zero or there is
 * none.
 */
async function lastChargeMs(
  db: Database,
  { company_id, latest_order_id }: SubscriptionRow,
): Promise<number | undefined> {
  const state = latest_order_id ? await getOrderState(db, company_id, latest_order_id) : undefined;
  const sale = state?.transactions.findLast(({ type, status }) => type === 'sale' && status !== 'failed');
  return sale && idTimeMs(sale.id);
}

/** For the dashboard; the API has no call for it yet. */
export async function pauseSubscription(context: RequestContext, id: string): Promise<Subscription> {
  return operate(context, id, 'active', 'subscription.paused', async (transaction, row) => {
    refuseWhileChanging(row);
    if (row.latest_order_id) await discardRenewal(transaction, row, row.latest_order_id);
    return paused(row, context.nowMs);
  });
}

export async function resumeSubscription(context: RequestContext, id: string): Promise<Subscription> {
  return operate(context, id, 'paused', 'subscription.resumed', async (transaction, row) => {
    await refuseUnderWay(transaction, row);
    return resumed(row, context.nowMs);
  });
}

/** If the subscription were active again, the worker would send the renewal, or a decline would begin dunning. */
export async function refuseUnderWay(
  transaction: Database,
  { company_id, latest_order_id }: SubscriptionRow,
): Promise<void> {
  if (!latest_order_id || !(await isUnderWay(transaction, company_id, latest_order_id))) return;
  const message = (await isWaitingCharge(transaction, company_id, latest_order_id))
    ? 'The renewal that waited when the subscription was paused is being discarded. Retry shortly.'
    : 'It is not known yet whether the renewal that waited when the subscription was paused had been charged before. Retry later.';
  throw new ApiError('resource_in_use', message);
}

/** A renewal that waits is not sent. The outcome of one in flight may make the subscription past due, which cannot be paused. */
async function discardRenewal(
  transaction: Database,
  { company_id, current_cycle }: SubscriptionRow,
  orderId: string,
): Promise<void> {
  if (current_cycle > 0 && (await discardWaiting(transaction, company_id, orderId))) return;
  if (!(await isUnderWay(transaction, company_id, orderId))) return;
  const message = (await isWaitingCharge(transaction, company_id, orderId))
    ? 'The first charge of this subscription waits to be sent. Pause the subscription after the charge, or cancel it.'
    : 'A charge of this subscription is in progress. Retry shortly.';
  throw new ApiError('resource_in_use', message);
}

export async function operate(
  { db, company, nowMs, requestId }: RequestContext,
  id: string,
  from: SubscriptionRow['status'],
  event: EventType,
  move: (transaction: Database, row: SubscriptionRow) => Promise<SubscriptionRow>,
): Promise<Subscription> {
  const livemode = company.mode === 'live';
  return db.transaction(async (transaction) => {
    const row = await lockOne(transaction, company.id, id);
    if (row.status !== from) {
      const message = `The status of the subscription is ${row.status}. It must be ${from}.`;
      throw new ApiError('invalid_state_transition', message, { param: 'id' });
    }
    const to = await move(transaction, row);
    const change = changed(to, [event], livemode, nowMs, requestId);
    await recordChanges(transaction, [{ ...change, writesPlan: writesPlan(row, to) }]);
    return toWire(change.row, livemode);
  });
}

/** For the sandbox: moves all dates of the subscription into the past, so that later due times are due now. */
export async function backdateSubscription({ db, company }: RequestContext, id: string, byMs: number): Promise<void> {
  const earlier = (date: Date | null): Date | null => date && new Date(date.getTime() - byMs);
  await db.transaction(async (transaction) => {
    const row = await lockOne(transaction, company.id, id);
    const backdated: SubscriptionRow = {
      ...row,
      start_at: new Date(row.start_at.getTime() - byMs),
      base_at: new Date(row.base_at.getTime() - byMs),
      restarted_at: earlier(row.restarted_at),
      current_period_start: earlier(row.current_period_start),
      current_period_end: earlier(row.current_period_end),
      due_at: earlier(row.due_at),
      resume_at: earlier(row.resume_at),
      first_declined_at: earlier(row.first_declined_at),
      next_retry_at: earlier(row.next_retry_at),
    };
    await recordChanges(transaction, [{ row: backdated, events: [], writesPlan: true }]);
  });
}

const repointed: readonly SubscriptionStatus[] = ['active', 'paused', 'past_due', 'pending'];

/**
 * Moves the subscriptions of a customer to a card: all of them, or those on one card. A past due subscription is
 * charged.
 */
export async function repointSubscriptions(
  context: RequestContext,
  transaction: Database,
  customerId: string,
  to: { readonly id: string; readonly brand: BrandName; readonly last4: string },
  from?: string,
  statuses: readonly SubscriptionStatus[] = repointed,
): Promise<void> {
  const { company, nowMs, requestId } = context;
  const livemode = company.mode === 'live';
  const all = await lockSubscriptionsOf(transaction, company.id, customerId, statuses);
  const now = new Date(nowMs);
  const changes = [];
  for (const held of all) {
    const row = rowOf(held);
    if (row.payment_method_id === to.id || (from !== undefined && row.payment_method_id !== from)) continue;
    const card = { payment_method_id: to.id, card_brand: to.brand, card_last4: to.last4, updated_at: now };
    if (row.status === 'pending') {
      changes.push({ row: { ...row, ...card }, events: [] });
      continue;
    }
    // A charge in flight sets the next due time when its outcome is recorded.
    const atOnce = row.status === 'past_due' && row.due_at !== null ? { next_retry_at: now, due_at: now } : {};
    const moved = { ...row, ...card, ...atOnce };
    const previous = previousOf(toWire(row, livemode), toWire(moved, livemode));
    changes.push(changed(moved, ['subscription.updated'], livemode, nowMs, requestId, previous));
  }
  await recordChanges(transaction, changes);
  if (changes.some(({ row }) => row.status === 'past_due')) await announceDue(transaction);
}
