import { requireProcessor } from '../../company.ts';
import { invalidField, notFound } from '../../errors.ts';
import { claimKey } from '../../http/key-queries.ts';
import { type PhasedRequest, runPhased } from '../../http/phases.ts';
import type { PhasedAnswer } from '../../http/route.ts';
import type { Database } from '../../platform/database.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { creditChange, lockPurse, mostCredit, recordUse } from '../credit/service.ts';
import { lockActiveCustomer } from '../customers/service.ts';
import { previousOf } from '../events/service.ts';
import type { Order } from '../orders/schemas.ts';
import {
  getOrderState,
  lockMs,
  type Numbered,
  type Opened,
  orderToWire,
  type PlacedOrder,
  planScheduledCharges,
} from '../orders/service.ts';
import { appliedRow } from './after-change.ts';
import { type Change, changed, recordChanges } from './billing.ts';
import { findChange } from './change-queries.ts';
import { lockOne } from './change-subscription.ts';
import { orderForChange } from './change-order.ts';
import { cardFor, type SubscriptionDependencies } from './create-subscription.ts';
import { releaseUnused } from './plan-coupon.ts';
import { changedAtOnce, changedPaid, type ChangeLine, pendingOf } from './plan-change.ts';
import { chargeInProgress, draftChange, type Draft } from './plan-draft.ts';
import { forgottenOfChange } from './forgotten-charges.ts';
import { fundedBy } from './period-payment.ts';
import { findSubscription, isBeingCharged } from './queries.ts';
import { plannedSale } from './renewal-order.ts';
import type { PlanChange, PlanChangeRequest, ShownPlanChange } from './change-schemas.ts';
import { type SubscriptionRow, toWire } from './subscription.ts';

/**
 * Changes the plan of a subscription. Without a charge it is one transaction. With one, the intent is recorded, the card is
 * charged, and the outcome changes the plan; meanwhile the subscription waits, so that no renewal is charged.
 */
export async function changePlan(
  { db, orders }: SubscriptionDependencies,
  context: RequestContext,
  id: string,
  input: ShownPlanChange,
  phased: PhasedRequest,
): Promise<PhasedAnswer> {
  const { company } = context;
  return runPhased(context.db, phased, {
    keepAnswer: true,
    begin: async () => {
      failpoint('plan_change.before_intent');
      const begun = await db.transaction((transaction) => begin(transaction, context, id, input, phased));
      if (!begun) return undefined;
      const { charge, opened } = begun;
      if (charge?.sale && opened) await orders.charge(charge.state, { ...charge.sale, ...opened });
      return resultOf(db, context, id, begun.operationId);
    },
    resume: async (operationId) => {
      await orders.reconcileSale(company.id, operationId);
      return resultOf(db, context, id, operationId);
    },
  });
}

interface Begun {
  readonly operationId: string;
  readonly charge?: PlacedOrder;
  readonly opened?: Opened | undefined;
}

/** Returns undefined if another request has claimed the key. */
async function begin(
  transaction: Database,
  context: RequestContext,
  id: string,
  input: ShownPlanChange,
  { key }: PhasedRequest,
): Promise<Begun | undefined> {
  const { company, nowMs } = context;
  const found = await findSubscription(transaction, company.id, id);
  if (!found) throw notFound('subscription');
  const operationId = newId(nowMs);
  if (!(await claimKey(transaction, key, operationId))) return undefined;
  await lockActiveCustomer(transaction, company.id, found.customer_id);
  const row = await lockOne(transaction, company.id, id);
  const draft = await draftChange(transaction, context, row, input);
  const { due } = draft.decision;
  const { credit, numbered } = due > 0 ? await paymentOf(transaction, row, due) : { credit: 0 };
  checkExpected(input, due - credit);
  const scheduledBy = { id: operationId, byCustomer: input.byCustomer };
  if (draft.isScheduled) await schedule(transaction, context, row, draft, scheduledBy);
  else if (due > credit)
    return beginCharge(transaction, context, row, draft, { orderId: operationId, credit, numbered });
  else if (credit > 0) await applyByCredit(transaction, context, row, draft, operationId);
  else await apply(transaction, context, row, draft, operationId);
  return { operationId };
}

/** What credit pays. The charge of the rest may be one that was forgotten in a restore. */
async function paymentOf(
  transaction: Database,
  row: SubscriptionRow,
  due: number,
): Promise<{ readonly credit: number; readonly numbered?: Numbered | undefined }> {
  const available = (await lockPurse(transaction, [row])).take(row, due);
  if (available === 0) return { credit: 0 };
  const forgotten = await forgottenOfChange(transaction, row);
  return { credit: Math.min(available, mostCredit(due, forgotten)), numbered: forgotten?.numbered };
}

function checkExpected({ expected_amount: expected }: PlanChangeRequest, charged: number): void {
  if (expected === undefined || expected === charged) return;
  throw invalidField('expected_amount', `is ${expected}, but the change would charge ${charged} now. Preview it again`);
}

const record = async (
  transaction: Database,
  { company, nowMs, requestId }: RequestContext,
  before: SubscriptionRow,
  to: SubscriptionRow,
  type: 'subscription.plan_changed' | 'subscription.change_scheduled',
  more: Pick<Change, 'applied'> = {},
): Promise<void> => {
  const livemode = company.mode === 'live';
  const previous = previousOf(toWire(before, livemode), toWire(to, livemode));
  const change = changed(to, [type], livemode, nowMs, requestId, previous);
  await recordChanges(transaction, [{ ...change, ...more, writesPlan: true }]);
};

/** A change that is scheduled replaces an earlier one, also one that was declined. */
async function schedule(
  transaction: Database,
  context: RequestContext,
  row: SubscriptionRow,
  { decision: { terms } }: Draft,
  { id, byCustomer }: { readonly id: string; readonly byCustomer?: boolean | undefined },
): Promise<void> {
  const at = new Date(context.nowMs);
  const by = byCustomer ? { by_customer: true as const } : {};
  const scheduled_change = { ...terms, id, at: at.toISOString(), ...by };
  const to = { ...row, scheduled_change, pending_change: null, updated_at: at };
  await record(transaction, context, row, to, 'subscription.change_scheduled');
}

/** Nothing is due now. */
async function apply(
  transaction: Database,
  context: RequestContext,
  row: SubscriptionRow,
  { decision, payment }: Draft,
  id: string,
): Promise<void> {
  const { nowMs } = context;
  const { terms, restarts, lines, paid } = decision;
  const at = new Date(decision.atMs).toISOString();
  const funded = paid === undefined ? payment : { paid, orders: await fundedBy(transaction, row, payment) };
  const counted = { ...row, change_count: row.change_count + 1 };
  const to =
    paid === undefined
      ? changedAtOnce(row, decision, row.current_cycle === 0 ? null : payment, nowMs)
      : changedPaid(counted, { ...terms, at, restarts, paid, orders: funded.orders }, nowMs);
  await releaseUnused(transaction, row, to);
  if (decision.credit > 0) await creditChange(transaction, row, decision.credit, nowMs);
  const change = { number: to.change_count, order_id: null, id, at, restarts, lines };
  const applied = [appliedRow(row, to, change, nowMs)];
  await record(transaction, context, row, to, 'subscription.plan_changed', { applied });
}

/** The credit of the customer pays for the change, so it takes effect at once. Its order has no charge. */
async function applyByCredit(
  transaction: Database,
  context: RequestContext,
  row: SubscriptionRow,
  { decision, payment }: Draft,
  orderId: string,
): Promise<void> {
  const { company, nowMs } = context;
  if (await isBeingCharged(transaction, company.id, row.id)) throw chargeInProgress();
  const card = await cardFor(transaction, company.id, row.customer_id, row.payment_method_id);
  const change = pendingOf(row, decision, await fundedBy(transaction, row, payment), orderId);
  const of = { number: change.number, orderId, card, context, credit: decision.due };
  const placed = orderForChange(row, decision, of);
  await planScheduledCharges(transaction, [plannedSale(placed, lockMs[company.mode])]);
  await recordUse(transaction, placed.state.order, { id: newId(nowMs), amount: decision.due });
  const orders = [...change.orders, { id: orderId, refunded: 0 }];
  const to = changedPaid({ ...row, change_count: change.number }, { ...change, orders }, nowMs);
  const applied = [appliedRow(row, to, change, nowMs)];
  await record(transaction, context, row, to, 'subscription.plan_changed', { applied });
}

async function beginCharge(
  transaction: Database,
  context: RequestContext,
  row: SubscriptionRow,
  { decision, payment }: Draft,
  { orderId, credit, numbered }: Awaited<ReturnType<typeof paymentOf>> & { readonly orderId: string },
): Promise<Begun> {
  const { company, nowMs } = context;
  requireProcessor(company);
  if (await isBeingCharged(transaction, company.id, row.id)) throw chargeInProgress();
  const card = await cardFor(transaction, company.id, row.customer_id, row.payment_method_id);
  const orders = await fundedBy(transaction, row, payment);
  const pending_change = pendingOf(row, decision, orders, orderId);
  const placed = orderForChange(row, decision, {
    ...{ number: pending_change.number, numbered, orderId, card, context, credit },
  });
  const waiting = {
    ...row,
    pending_change,
    change_count: pending_change.number,
    due_at: null,
    updated_at: new Date(nowMs),
  };
  await recordChanges(transaction, [{ row: waiting, events: [], writesPlan: true }]);
  const opened = await planScheduledCharges(transaction, [plannedSale(placed, lockMs[company.mode])]);
  const sale = placed.sale && opened.get(placed.sale.id);
  if (!sale) throw new Error('the charge of a change of plan was not recorded');
  if (credit > 0) await recordUse(transaction, placed.state.order, { id: newId(nowMs), amount: credit });
  return { operationId: orderId, charge: placed, opened: sale };
}

/** The charge of a change that was superseded in flight, by a cancellation, stands. */
function statusOf(order: Order | null, isApplied: boolean): PlanChange['status'] {
  if (isApplied) return 'applied';
  if (order === null) return 'scheduled';
  return order.status === 'failed' ? 'declined' : 'superseded';
}

/** The answer to the request: its order shows whether the change was paid. */
async function resultOf(
  db: Database,
  { company }: RequestContext,
  id: string,
  operationId: string,
): Promise<PlanChange | undefined> {
  const row = await findSubscription(db, company.id, id);
  if (!row) return undefined;
  const state = await getOrderState(db, company.id, operationId);
  const applied = await findChange(db, company.id, id, operationId);
  const order = state ? orderToWire(state) : null;
  const known = applied ?? [row.pending_change].find((change) => change?.order_id === operationId);
  const lines: readonly ChangeLine[] = known?.lines ?? [];
  const total = lines.reduce((sum, { amount }) => sum + amount, 0);
  const credit_applied = order?.credit_applied ?? 0;
  return {
    status: statusOf(order, applied !== undefined),
    at: known ? new Date(known.at).toISOString() : null,
    lines: [...lines],
    amount_due: Math.max(0, total) - credit_applied,
    credit_applied,
    credit_amount: Math.max(0, -total),
    order,
    subscription: toWire(row, company.mode === 'live'),
  };
}
