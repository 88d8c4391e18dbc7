import { inProgress } from '../../http/idempotency.ts';
import type { Queryable } from '../../platform/database.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { ApiError } from '../../errors.ts';
import { type FailureCode, type Finding, failureReasons, type Outcome } from '../../vault/processors/processor.ts';
import { concludeRedemptions, type RedemptionEnd } from '../coupons/service.ts';
import { newEvent } from '../events/service.ts';
import {
  deriveReference,
  discardOpen,
  findOpenOf,
  isKeyed,
  markInDoubt,
  markWaiting,
  type Numbered,
  type Opened,
  type OpenKey,
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
import { send, type Sent } from './sending.ts';
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

export type Decided = Exclude<Outcome | Finding, { outcome: 'unknown' | 'expired' }>;

/** A charge whose outcome is known, and is to be written down. */
export interface Ending {
  readonly state: OrderState;
  readonly sale: Sale & Pick<Opened, 'sending'>;
  readonly decided: Decided;
  /** What the processor has under the reference is not this charge. */
  readonly disowned?: boolean;
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

function settlementOf(ending: Ending, change: Partial<OrderRow> = {}): Settlement {
  const { state, sale, decided, nowMs } = ending;
  const { order, livemode } = state;
  const disowned = decided.outcome === 'conflict' || ending.disowned === true;
  const approved = decided.outcome === 'approved';
  const status = nextOrderStatus(order.status, approved ? 'charge_approved' : 'charge_declined');
  if (!status) throw new Error(`a sale of an order that is ${order.status} cannot end`);
  const failure = approved ? { code: null, reason: null } : failureOf(decided);
  const response = 'response' in decided ? decided.response : null;
  const transaction: TransactionSummary = {
    id: sale.id,
    reference: disowned ? sale.id : sale.reference,
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
    sending: sale.sending,
    disowned,
    response,
    event: newEvent(order.company_id, nowMs, type, object, settled.sequence, sale.request_id),
    chargebackAt: chargebackAfterMs === undefined ? null : new Date(nowMs + chargebackAfterMs),
  };
}

const conflictCode = 'duplicate_transaction';

/** A charge that never reached the processor failed for want of a bank to answer it. */
export function failureOf(decided: Exclude<Decided, { outcome: 'approved' }>): { code: FailureCode; reason: string } {
  if (decided.outcome === 'declined') return { code: decided.failureCode, reason: decided.failureReason };
  if (decided.outcome === 'conflict') return { code: conflictCode, reason: failureReasons[conflictCode] };
  const code = (decided.outcome === 'not_sent' && decided.failureCode) || 'issuer_unavailable';
  return { code, reason: failureReasons[code] };
}

/** Has the card charged and writes down what came of it. The intent is already recorded. */
export async function charge(
  charging: Charging,
  state: OrderState,
  sale: OpenedSale,
  path: 'charge' | 'retry' | 'renewal',
  /** When it happens by the clock of the company, where that is not now. */
  atMs?: number,
): Promise<Order> {
  const { order } = state;
  failpoint(`${path}.after_intent`);
  const sent = await sendCharge(charging, state, sale);
  failpoint(`${path}.after_processor`);
  if (!sent) return currentOrder(charging, order, sale.id);
  const { intent, outcome } = sent;
  if (outcome.outcome === 'unavailable') {
    throw path === 'retry'
      ? await abandonRetry(charging, order, intent)
      : await waitForVault(charging, intent, outcome.reason);
  }
  const isRefused = outcome.outcome === 'conflict' && isOfKey(sale);
  if (outcome.outcome === 'unknown' || (outcome.outcome === 'conflict' && !isRefused)) {
    await insist(() => markInDoubt(charging.db, intent, firstCheckMs));
    throw gatewayError('charge');
  }
  const nowMs = atMs ?? charging.clock.nowMs() + state.clockOffsetMs;
  const settled = await insist(() => charging.end({ state, sale: intent, decided: outcome, nowMs }));
  failpoint(`${path}.after_settle`);
  if (isRefused) throw usedByAnother();
  return settled ?? currentOrder(charging, order, sale.id);
}

/** A sale that may be sent. Those that are found again do not say what they stand for. */
export type OpenedSale = Sale & Opened & { readonly numbered?: Numbered | undefined };

/** Whether the idempotency key of its request names the charge, which the client then has to answer for. */
function isOfKey({ numbered, request_id }: OpenedSale): boolean {
  return numbered ? isKeyed(numbered) : request_id !== null;
}

async function sendCharge(
  charging: Charging,
  { order, card, livemode }: OrderState,
  sale: OpenedSale,
): Promise<Sent<OpenedSale & OpenKey> | undefined> {
  const { company_id, id: order_id, currency } = order;
  const mode = livemode ? 'live' : 'sandbox';
  const intent = { ...sale, company_id, order_id };
  if (!card) {
    return { intent, outcome: { outcome: 'not_sent', reason: 'the card is gone', failureCode: 'invalid_account' } };
  }
  return send(charging, {
    mode,
    intent,
    numbered: sale.numbered,
    call: ({ reference, validUntilMs, amount }) =>
      charging.vault.charge({ companyId: company_id, mode, reference, validUntilMs, card, amount, currency }),
  });
}

/** Another process was faster. It asked the same processor about the same reference, so it knows what happened. */
async function currentOrder({ db }: Charging, { company_id, id }: OrderRow, saleId: string): Promise<Order> {
  const now = await findOrder(db, company_id, id);
  if (!now) throw new Error('an order is gone');
  if (now.transactions.some((one) => one.id === saleId && one.status === 'in_progress')) throw gatewayError('charge');
  return toWire(now);
}

/** The processor has another charge under this key. A database that was restored from a backup has forgotten it. */
export function usedByAnother(): ApiError {
  const message =
    'This idempotency key was used for another charge at the processor: the amount, the currency or the card differs. Use a fresh key for a new operation.';
  return new ApiError('idempotency_key_conflict', message, { param: 'X-SVC-Idempotency-Key', stored: true });
}

/** Leaves the sale to be sent later, see `waiting.ts`, and gives the error for the request. */
async function waitForVault(
  charging: Charging,
  open: OpenKey & Pick<Sale, 'request_id'>,
  reason: string,
): Promise<Error> {
  const { company_id, order_id, id, request_id } = open;
  charging.log.warn({ company_id, order_id, transaction_id: id, reason }, 'the charge was not sent and waits');
  await insist(() => markWaiting(charging.db, open, request_id === null ? resendDelayMs : repeatWithinMs));
  return vaultUnavailable('charge', { unfinished: true });
}

/** A retry that was not sent leaves the order as it was: nothing counts as an attempt. */
async function abandonRetry(charging: Charging, order: OrderRow, open: OpenKey): Promise<Error> {
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
  return findFirstAnswer(charging.db, companyId, orderId);
}

/** The order as its first charge left it; an error where the processor has another charge under its key. */
export async function findFirstAnswer(db: Queryable, companyId: string, orderId: string): Promise<Order | undefined> {
  const order = await findAnswer(db, companyId, orderId);
  const sale = order?.transactions[0];
  if (sale?.failure_code === conflictCode && sale.processor_transaction_id === null) throw usedByAnother();
  return order;
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
