import { inProgress } from '../../http/idempotency.ts';
import type { Queryable } from '../../platform/database.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { type FailureCode, type Finding, failureReasons, type Outcome } from '../../vault/processors/processor.ts';
import type { VaultOutcome } from '../../vault/vault.ts';
import { concludeRedemptions, type RedemptionEnd } from '../coupons/service.ts';
import { newEvent } from '../events/service.ts';
import {
  deriveReference,
  discardOpen,
  findOpenOf,
  markInDoubt,
  markWaiting,
  type Numbered,
  type Opened,
  type OpenTransaction,
} from '../transactions/service.ts';
import {
  type Charging,
  firstCheckMs,
  gatewayError,
  insist,
  type MoneyDependencies,
  repeatWithinMs,
  resendDelayMs,
  vaultUnavailable,
} from './dependencies.ts';
import { type OrderRow, type OrderState, toWire, type TransactionSummary, withTransaction } from './order.ts';
import { settle, type Settlement } from './charge-queries.ts';
import { findAnswer, findOrder } from './queries.ts';
import type { Order } from './schemas.ts';
import { nextOrderStatus } from './transitions.ts';
import type { BrandName } from '../../platform/card-brands.ts';

/** What becomes of an order when its sale is decided, by the processor's answer or by what it says later. */

export interface Sale {
  readonly id: string;
  /** What the processor knows it by. */
  readonly reference: string;
  readonly amount: number;
  /** The request that asked for it; none where it fell due. */
  readonly request_id: string | null;
  readonly payment_method_id: string;
  readonly card_brand: BrandName;
  readonly card_last4: string;
}

/** A sale that is about to be recorded, and what it stands for. */
export interface NewSale extends Sale {
  readonly numbered: Numbered;
}

export function saleOf(
  { company_id, total, payment_method_id, card_brand, card_last4 }: OrderRow,
  id: string,
  requestId: string | null,
  numbered: Numbered,
): NewSale {
  const reference = deriveReference(company_id, numbered);
  return { id, reference, numbered, amount: total, request_id: requestId, payment_method_id, card_brand, card_last4 };
}

export type Decided = Exclude<Outcome | Finding, { outcome: 'unknown' }>;

/** A charge whose outcome is known, and is to be written down. */
export interface Ending {
  readonly state: OrderState;
  readonly sale: Sale;
  readonly decided: Decided;
  /** By the clock of the company. */
  readonly nowMs: number;
}

/** Whether nothing but the order is concerned. */
export function endsAlone({ state: { order } }: Ending): boolean {
  return order.subscription_id === null && order.coupon === null;
}

export async function endPlainCharges(db: Queryable, endings: readonly Ending[]): Promise<(Order | undefined)[]> {
  return ended(
    db,
    endings.map((ending) => settlementOf(ending)),
  );
}

/**
 * Writes down how charges ended, with all that comes of it. What has orders charged cycle by cycle is locked first, so that
 * it and its order move together; coupons are locked last.
 */
export async function endCharges(
  { lanesDb, billing }: Pick<MoneyDependencies, 'lanesDb' | 'billing'>,
  endings: readonly Ending[],
): Promise<(Order | undefined)[]> {
  const billed = endings.filter(({ state }) => state.order.subscription_id !== null);
  const redemptions = endings.flatMap((ending) => redemptionEndOf(ending) ?? []);
  if (billed.length === 0) {
    return ended(
      lanesDb,
      endings.map((ending) => settlementOf(ending)),
      redemptions,
    );
  }
  return lanesDb.transaction(async (transaction) => {
    const conclusion = await billing.conclude(transaction, billed);
    const changes = new Map(billed.map((ending, index) => [ending, conclusion.orders[index]]));
    const settlements = endings.map((ending) => settlementOf(ending, changes.get(ending)));
    const orders = await ended(transaction, settlements, redemptions);
    await conclusion.record(billed.map((ending) => orders[endings.indexOf(ending)] !== undefined));
    return orders;
  });
}

/** A subscription redeems its coupon once, with its first charge. */
export function redemptionIdOf({ id, coupon, subscription_id, subscription_cycle }: OrderRow): string | undefined {
  if (coupon === null) return undefined;
  if (subscription_id === null) return id;
  return subscription_cycle === null ? subscription_id : undefined;
}

function redemptionEndOf({ state: { order }, decided }: Ending): RedemptionEnd | undefined {
  const id = redemptionIdOf(order);
  if (id === undefined) return undefined;
  return { company_id: order.company_id, id, order_id: order.id, redeemed: decided.outcome === 'approved' };
}

async function ended(
  db: Queryable,
  settlements: readonly Settlement[],
  redemptions: readonly RedemptionEnd[] = [],
): Promise<(Order | undefined)[]> {
  const moved = await settle(db, settlements, redemptions);
  return settlements.map(({ event }, index) => (moved[index] ? (event.object as Order) : undefined));
}

function settlementOf({ state, sale, decided, nowMs }: Ending, change: Partial<OrderRow> = {}): Settlement {
  const { order, livemode } = state;
  const approved = decided.outcome === 'approved';
  const status = nextOrderStatus(order.status, approved ? 'charge_approved' : 'charge_declined');
  if (!status) throw new Error(`a sale of an order that is ${order.status} cannot end`);
  const failure = approved ? { code: null, reason: null } : failureOf(decided);
  const response = 'response' in decided ? decided.response : null;
  const transaction: TransactionSummary = {
    id: sale.id,
    reference: sale.reference,
    type: 'sale',
    status: approved ? 'succeeded' : 'failed',
    amount: sale.amount,
    currency: order.currency,
    processor_transaction_id: response?.transaction_id ?? null,
    failure_code: failure.code,
    failure_reason: failure.reason,
  };
  const { payment_method_id, card_brand, card_last4 } = sale;
  const settled: OrderRow = {
    ...order,
    ...change,
    // A subscription may have another card by now than the one its order began with.
    ...(approved && { payment_method_id, card_brand, card_last4 }),
    status,
    sequence: order.sequence + 1,
    attempt_count: order.attempt_count + (approved ? 0 : 1),
    failure_code: failure.code,
    failure_reason: failure.reason,
    sale_id: approved ? sale.id : null,
    updated_at: new Date(nowMs),
  };
  const object = toWire({
    order: settled,
    transactions: withTransaction(state.transactions, transaction),
    livemode,
  });
  const type = approved ? 'order.succeeded' : 'order.failed';
  const chargebackAfterMs = decided.outcome === 'approved' ? decided.chargebackAfterMs : undefined;
  return {
    order: settled,
    expected: order,
    transaction,
    response,
    event: newEvent(order.company_id, nowMs, type, object, settled.sequence, sale.request_id),
    chargebackAt: chargebackAfterMs === undefined ? null : new Date(nowMs + chargebackAfterMs),
  };
}

/** A charge that never reached the processor failed for want of a bank to answer it. */
export function failureOf(decided: Exclude<Decided, { outcome: 'approved' }>): { code: FailureCode; reason: string } {
  if (decided.outcome === 'declined') return { code: decided.failureCode, reason: decided.failureReason };
  const code = (decided.outcome === 'not_sent' && decided.failureCode) || 'issuer_unavailable';
  return { code, reason: failureReasons[code] };
}

/** Has the card charged and writes down what came of it. The intent is already recorded. */
export async function charge(
  charging: Charging,
  state: OrderState,
  sale: Sale & Opened,
  path: 'charge' | 'retry' | 'renewal',
  /** When it happens by the clock of the company, where that is not now. */
  atMs?: number,
): Promise<Order> {
  const { order, card, livemode } = state;
  failpoint(`${path}.after_intent`);
  const outcome: VaultOutcome = card
    ? await charging.vault.charge({
        companyId: order.company_id,
        mode: livemode ? 'live' : 'sandbox',
        reference: sale.reference,
        validUntilMs: sale.validUntilMs,
        card,
        amount: sale.amount,
        currency: order.currency,
      })
    : { outcome: 'not_sent', reason: 'the card is gone', failureCode: 'invalid_account' };
  failpoint(`${path}.after_processor`);
  const open = { company_id: order.company_id, order_id: order.id, id: sale.id, request_id: sale.request_id };
  if (outcome.outcome === 'unavailable') {
    throw path === 'retry'
      ? await abandonRetry(charging, order, open)
      : await waitForVault(charging, open, outcome.reason);
  }
  if (outcome.outcome === 'unknown') {
    await insist(() => markInDoubt(charging.db, open, firstCheckMs));
    throw gatewayError('charge');
  }
  const nowMs = atMs ?? charging.clock.nowMs() + state.clockOffsetMs;
  const settled = await insist(() => charging.end({ state, sale, decided: outcome, nowMs }));
  failpoint(`${path}.after_settle`);
  if (settled) return settled;
  // Recovery was faster. It asked the same processor about the same reference, so it knows what happened.
  const now = await findOrder(charging.db, order.company_id, order.id);
  if (!now) throw new Error('an order is gone');
  return toWire(now);
}

/** Leaves the sale to be sent later, see `waiting.ts`, and gives the error for the request. */
async function waitForVault(
  charging: Charging,
  open: Pick<OpenTransaction, 'company_id' | 'order_id' | 'id' | 'request_id'>,
  reason: string,
): Promise<Error> {
  const { company_id, order_id, id, request_id } = open;
  charging.log.warn({ company_id, order_id, transaction_id: id, reason }, 'the charge was not sent and waits');
  await insist(() => markWaiting(charging.db, open, request_id === null ? resendDelayMs : repeatWithinMs));
  return vaultUnavailable('charge', { unfinished: true });
}

/** A retry that was not sent leaves the order as it was: nothing counts as an attempt. */
async function abandonRetry(
  charging: Charging,
  order: OrderRow,
  open: Pick<OpenTransaction, 'company_id' | 'order_id' | 'id'>,
): Promise<Error> {
  const redemptionId = redemptionIdOf(order);
  await insist(() =>
    charging.db.transaction(async (transaction) => {
      if (!(await discardOpen(transaction, open)) || redemptionId === undefined) return;
      const end = { company_id: order.company_id, id: redemptionId, order_id: order.id, redeemed: false };
      await concludeRedemptions(transaction, [end]);
    }),
  );
  return vaultUnavailable('charge', { unfinished: false });
}

/** What a repeated idempotency key of a new order is answered with. Undefined when the order never came about. */
export async function resumeOrder(charging: Charging, companyId: string, orderId: string): Promise<unknown> {
  await decide(charging, companyId, orderId, (open) => open.type === 'sale');
  return findAnswer(charging.db, companyId, orderId);
}

/** Asks about an undecided operation, and fails as long as nothing is known about it. */
export async function decide(
  charging: Charging,
  companyId: string,
  orderId: string,
  isIt: (open: OpenTransaction) => boolean,
): Promise<void> {
  const undecided = async (): Promise<OpenTransaction | undefined> =>
    (await findOpenOf(charging.db, companyId, orderId)).find((open) => !open.accepted && isIt(open));
  const open = await undecided();
  if (!open) return;
  if (open.locked && !open.in_doubt) throw inProgress();
  await (open.waiting ? charging.resend(open) : charging.lookAt(open));
  if (await undecided()) throw gatewayError(open.type === 'sale' ? 'charge' : open.type);
}
