import { ApiError, notFound } from '../../errors.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { type EventType, newEvent } from '../events/service.ts';
import type { DisputeState } from '../../vault/processors/notices.ts';
import { dayMs } from '../../platform/durations.ts';
import { newId } from '../../platform/ids.ts';
import {
  type DueDispute,
  endDispute,
  endDisputes,
  findDueDispute,
  findDueDisputeOf,
  hasReported,
  saveDispute,
} from './dispute-queries.ts';
import { capturedFromCard, refundedToCard, type OrderRow, type OrderState, toWire } from './order.ts';
import {
  changeSale,
  type DueChargeback,
  lockOrder,
  moveOrder,
  takeDueChargeback,
  takeDueChargebackOf,
} from './queries.ts';
import type { Order } from './schemas.ts';
import { nextOrderStatus, type OrderTrigger, transactionChanges } from './transitions.ts';
import type { Charging } from './operations/charging.ts';
import { inUse } from './operations/errors.ts';
import type { RequestContext } from '../../request-context.ts';

/** Handles disputes: a cardholder disputes a charge; the merchant accepts the dispute, loses or wins it. */

export type ChargebackTrigger = Extract<OrderTrigger, `chargeback_${string}`>;

const eventTypes: Readonly<Record<ChargebackTrigger, EventType>> = {
  chargeback_raised: 'order.chargeback',
  chargeback_accepted: 'order.chargeback_accepted',
  chargeback_dismissed: 'order.chargeback_dismissed',
};

/** How long the merchant of a sandbox may answer a dispute. */
const sandboxAnswerMs = 7 * dayMs;

interface Change {
  readonly companyId: string;
  readonly orderId: string;
  readonly trigger: ChargebackTrigger;
  readonly requestId: string | null;
  readonly atMs?: number | undefined;
  /** Whether a processor reported it: then the dispute itself is already recorded. */
  readonly isReported?: boolean;
  /** How the dispute ends, if no processor reports it. */
  readonly endsAs?: DisputeState;
}

/** Returns undefined if there is no such order; throws if the order is in the wrong status. */
async function dispute(
  { clock }: Pick<Charging, 'clock'>,
  db: Database,
  { companyId, orderId, trigger, requestId, atMs, isReported = false, endsAs = 'accepted' }: Change,
): Promise<Order | undefined> {
  return db.transaction(async (transaction) => {
    const state = await lockOrder(transaction, companyId, orderId);
    if (!state) return undefined;
    const { order } = state;
    const status = nextOrderStatus(order.status, trigger);
    if (!status || !order.sale_id) throw wrongStatus(order, trigger);
    if (trigger === 'chargeback_raised' && !isReported && leftOnCard(order) === 0) throw nothingLeft();
    // If the void in progress succeeds, there is nothing left to dispute.
    if (state.voiding) throw inUse();
    const at = new Date(atMs ?? clock.nowMs() + state.clockOffsetMs);
    const raised = trigger === 'chargeback_raised';
    if (raised) await changeSale(transaction, companyId, order.sale_id, 'disputed', at);
    const transactions = state.transactions.map((entry) =>
      raised && entry.id === order.sale_id ? { ...entry, status: transactionChanges.disputed.to } : entry,
    );
    const to: OrderRow = { ...order, status, sequence: order.sequence + 1, updated_at: at };
    const object = toWire({ ...state, order: to, transactions });
    const event = newEvent(companyId, at.getTime(), eventTypes[trigger], object, to.sequence, requestId);
    if (!(await moveOrder(transaction, { from: order, to, events: [event] }))) {
      throw new Error('a locked order has changed');
    }
    if (!isReported) await recordUnreported(transaction, state, trigger, at, endsAs);
    return object;
  });
}

/** A dispute of the sandbox, or one that an operator entered, has no processor that reports it. */
async function recordUnreported(
  transaction: Database,
  { order, mode }: OrderState,
  trigger: ChargebackTrigger,
  at: Date,
  endsAs: DisputeState,
): Promise<void> {
  const { company_id, id, sale_id, currency } = order;
  if (trigger !== 'chargeback_raised') {
    return endDisputes(transaction, order, endsAs, at);
  }
  await saveDispute(transaction, {
    company_id,
    id: newId(at.getTime()),
    order_id: id,
    transaction_id: sale_id ?? '',
    connection_id: null,
    processor_id: `order_${id}`,
    state: 'needs_response',
    amount: leftOnCard(order),
    currency,
    reason: 'fraudulent',
    network_reason_code: null,
    evidence_due_at: mode === 'sandbox' ? new Date(at.getTime() + sandboxAnswerMs) : null,
    state_at: at,
    created_at: at,
    updated_at: at,
  });
}

/** What a dispute can be about: not what credit has paid. */
const leftOnCard = (order: OrderRow): number => capturedFromCard(order) - refundedToCard(order);

function nothingLeft(): ApiError {
  const message = 'Everything that the card was charged for this order has been refunded. Credit cannot be disputed.';
  return new ApiError('invalid_state_transition', message, { param: 'id' });
}

function wrongStatus(order: OrderRow, trigger: ChargebackTrigger): ApiError {
  const needed = trigger === 'chargeback_raised' ? 'succeeded, partially_refunded or refund_failed' : 'chargeback';
  const message = order.sale_id
    ? `The status of this order is ${order.status}. It must be ${needed}.`
    : 'Nothing was charged for this order.';
  return new ApiError('invalid_state_transition', message, { param: 'id' });
}

export async function raiseChargeback(
  charging: Pick<Charging, 'clock'>,
  context: RequestContext,
  orderId: string,
): Promise<Order> {
  const { company, requestId } = context;
  const about = { companyId: company.id, orderId, requestId } as const;
  const order = await dispute(charging, context.db, { ...about, trigger: 'chargeback_raised' });
  if (!order) throw notFound('order');
  return order;
}

/** How a dispute ends. Accepted or lost, the order reads `chargeback_accepted`. */
export type Resolution = 'accepted' | 'lost' | 'dismissed';
const endings = { accepted: 'accepted', lost: 'lost', dismissed: 'won' } as const;

export async function resolveChargeback(
  charging: Pick<Charging, 'clock'>,
  context: RequestContext,
  orderId: string,
  outcome: Resolution,
): Promise<Order> {
  const { company, requestId } = context;
  if (await hasReported(context.db, company.id, orderId)) {
    const message = 'The processor decides this dispute. Answer it on the page of the dispute.';
    throw new ApiError('invalid_state_transition', message, { param: 'id' });
  }
  const about = { companyId: company.id, orderId, requestId } as const;
  const order = await dispute(charging, context.db, {
    ...about,
    trigger: outcome === 'dismissed' ? 'chargeback_dismissed' : 'chargeback_accepted',
    endsAs: endings[outcome],
  });
  if (!order) throw notFound('order');
  return order;
}

/** Records how one dispute ended that no processor reports. An order that was decided by an earlier dispute stays as it is. */
export async function closeDispute(
  charging: Pick<Charging, 'clock'>,
  { db, company, requestId }: RequestContext,
  { id, orderId }: { readonly id: string; readonly orderId: string },
  endsAs: 'won' | 'lost' | 'accepted',
): Promise<void> {
  await db.transaction(async (transaction) => {
    // In the order of the reports, which lock the order first.
    const state = await lockOrder(transaction, company.id, orderId);
    const at = new Date(charging.clock.nowMs() + (state?.clockOffsetMs ?? 0));
    if (!(await endDispute(transaction, { companyId: company.id, id }, endsAs, at))) {
      throw new ApiError('invalid_state_transition', 'This dispute is closed already.', { param: 'id' });
    }
    const trigger = endsAs === 'won' ? 'chargeback_dismissed' : 'chargeback_accepted';
    const about = { companyId: company.id, orderId, requestId, isReported: true };
    await changeIfPossible(charging, transaction, { ...about, trigger });
  });
}

/**
 * Raises the chargebacks that sandbox charges scheduled. Each is removed in the transaction that raises it. An order that was
 * refunded meanwhile ignores its chargeback.
 */
export async function raiseDueChargebacks(charging: Charging, batch: number): Promise<number> {
  return raiseEach(charging, batch, takeDueChargeback, () => undefined);
}

/** Raises the chargebacks of a company whose clock is being advanced, each at its own time. */
export async function raiseChargebacksOf(
  charging: Charging,
  companyId: string,
  fromMs: number,
  untilMs: number,
): Promise<number> {
  const take = (db: Queryable): Promise<DueChargeback | undefined> =>
    takeDueChargebackOf(db, companyId, new Date(untilMs));
  return raiseEach(charging, Number.POSITIVE_INFINITY, take, ({ due_at }) => Math.max(due_at.getTime(), fromMs));
}

async function raiseEach(
  charging: Charging,
  batch: number,
  take: (db: Queryable) => Promise<DueChargeback | undefined>,
  at: (due: DueChargeback) => number | undefined,
): Promise<number> {
  for (let count = 0; count < batch; count += 1) {
    const found = await charging.db.transaction(async (transaction) => {
      const due = await take(transaction);
      if (due) await raiseIfPossible(charging, transaction, due, at(due));
      return due;
    });
    if (!found) return count;
  }
  return batch;
}

async function raiseIfPossible(
  charging: Charging,
  transaction: Database,
  { company_id, order_id }: DueChargeback,
  atMs: number | undefined,
): Promise<void> {
  const about = { companyId: company_id, orderId: order_id, requestId: null, atMs };
  await changeIfPossible(charging, transaction, { ...about, trigger: 'chargeback_raised' });
}

/** An order whose status does not allow the change stays as it is. */
export async function changeIfPossible(
  charging: Pick<Charging, 'clock'>,
  transaction: Database,
  change: Change,
): Promise<void> {
  try {
    await dispute(charging, transaction, change);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

/** In the sandbox, a dispute that is not answered in time is lost. */
export async function loseDueDisputes(charging: Charging, batch: number): Promise<number> {
  return loseEach(charging, batch, findDueDispute, () => undefined);
}

export async function loseDisputesOf(
  charging: Charging,
  companyId: string,
  fromMs: number,
  untilMs: number,
): Promise<number> {
  const find = (db: Queryable): Promise<DueDispute | undefined> => findDueDisputeOf(db, companyId, new Date(untilMs));
  return loseEach(charging, Number.POSITIVE_INFINITY, find, ({ due_at }) => Math.max(due_at.getTime(), fromMs));
}

async function loseEach(
  charging: Charging,
  batch: number,
  find: (db: Queryable) => Promise<DueDispute | undefined>,
  at: (due: DueDispute) => number | undefined,
): Promise<number> {
  for (let count = 0; count < batch; count += 1) {
    const found = await charging.db.transaction(async (transaction) => {
      const due = await find(transaction);
      if (!due) return undefined;
      const atMs = at(due);
      const about = { companyId: due.company_id, orderId: due.order_id, requestId: null, atMs, isReported: true };
      await changeIfPossible(charging, transaction, { ...about, trigger: 'chargeback_accepted' });
      // It is over also if the order had another status meanwhile.
      const endedAt = new Date(atMs ?? due.due_at.getTime());
      await endDisputes(transaction, { company_id: due.company_id, id: due.order_id }, 'lost', endedAt);
      return due;
    });
    if (!found) return count;
  }
  return batch;
}
