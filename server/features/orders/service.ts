import type { ApiError } from '../../errors.ts';
import { type Company, connects } from '../../company.ts';
import { notFound } from '../../errors.ts';
import type { PhasedRequest } from '../../http/phases.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest, PhasedAnswer } from '../../http/route.ts';
import { createBatcher, createGatherer } from '../../platform/batcher.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { traceparent } from '../../platform/spans.ts';
import type { RequestContext } from '../../request-context.ts';
import type { ListedOperation } from '../../vault/processors/processor.ts';
import { type Applied, applyNotice, type NoticeToApply } from './recovery/apply-notice.ts';
import {
  askAboutCustomers,
  endAtBankOf,
  endOrderAtBank,
  type NextAction,
  nextActionOf,
  resumeOrderAtBank,
} from './recovery/at-bank.ts';
import {
  loseDisputesOf,
  loseDueDisputes,
  raiseChargeback,
  raiseChargebacksOf,
  raiseDueChargebacks,
  type Resolution,
  closeDispute,
  resolveChargeback,
} from './chargebacks.ts';
import { captureOrder } from './captures.ts';
import { heldFundsStatistics } from './authorization-queries.ts';
import { expanded } from './expanded.ts';
import { releaseEnded, releaseEndedOf } from './ended-authorizations.ts';
import { charge } from './operations/charge.ts';
import { chargeElsewhere } from './recovery/charge-elsewhere.ts';
import { countCharge } from './operations/counting.ts';
import { wantsCustomer } from './operations/authentication.ts';
import type { Charging, MoneyDependencies } from './operations/charging.ts';
import { adoptExecuted } from './recovery/adopt.ts';
import { type ExecutedOperation, takeExecuted, takeLater } from './recovery/adopt-queries.ts';
import { createOrder, type ShownOrder } from './create-order.ts';
import { readFacts } from './facts-queries.ts';
import { type Generation, generationOf } from './operations/generations.ts';
import { planCharges, type PlannedCharge, recordIntents, recordRedeemingIntents } from './operations/intent-queries.ts';
import { checkNow, openStatistics } from './recovery/due-queries.ts';
import { type UnmatchedChargebacks, unmatchedChargebacks } from './recovery/decide-chargeback.ts';
import { dueChannel, isWaiting, type Opened, recallWaiting } from './operations/open-queries.ts';
import { withCurrentAddress } from './confirmations.ts';
import { type OrderState, toWire } from './order.ts';
import { findOrders, type ListedOrder, listOrders, type OrderFilters } from './list-queries.ts';
import { clearNextRetry, findOrder, hasOrders } from './queries.ts';
import { probeConnections, reconcile, reconcileDue, reconcileOrder } from './recovery/reconcile.ts';
import {
  concernsOrderOnly,
  type ChargeOutcome,
  recordOutcomes,
  recordPlainOutcomes,
} from './operations/record-outcomes.ts';
import { deriveReference, type Numbered, subjects } from './operations/reference.ts';
import { findRecorded } from './operations/reference-queries.ts';
import { type KeyedRefund, findKeyedRefund, stopKeyedRefund } from './keyed-refunds.ts';
import { refundOrder } from './refunds.ts';
import { resend } from './recovery/resend.ts';
import { resumeOrder } from './recovery/resume.ts';
import { type RetryTerms, retryOrder } from './retry.ts';
import type { OpenedSale } from './operations/sales.ts';
import type { Order, OrderCapture, OrderRefund } from './schemas.ts';
import { repeatWithinMs } from './operations/timing.ts';
import { voidOrder } from './voids.ts';

/** The types that subscriptions need to charge their cycles. */
export type { Billing, BillingEffect, MoneyDependencies } from './operations/charging.ts';
export type { PlannedCharge } from './operations/intent-queries.ts';
export type { Opened } from './operations/open-queries.ts';
export { payByCredit, payPartAgain } from './credit.ts';
export { returnCustomerTry, takeCustomerTry } from './customer-tries.ts';
export { openOperation } from './operations/open-operation.ts';
export { refundable as refundableStatuses } from './transitions.ts';
export {
  isFirstCharge,
  isManual,
  type OrderRow,
  type OrderState,
  paidOf,
  toWire as orderToWire,
  untilItsEnd,
} from './order.ts';
export { checkShownTotal, type PlacedOrder, placeOrder, shippingOf } from './place-order.ts';
export { type ChargeOutcome, failureOf } from './operations/record-outcomes.ts';
export {
  attemptsAhead,
  billedSubject,
  deriveReference,
  followingOf,
  type Numbered,
  type Referenced,
  subjects,
} from './operations/reference.ts';
export { absentConfirmation, withdrawConfirmation } from './confirmations.ts';
export { isStillFailed, nextAttempt, type RetryTerms } from './retry.ts';
export { type NewSale, saleOf } from './operations/sales.ts';
export { refuseUnsaved } from './saved-cards.ts';
export { lockMs } from './operations/timing.ts';

export { notConfirmedReason } from './operations/sales.ts';
export type { NumberedCharge } from './recovery/decide-chargeback.ts';

/** The channel on which the database announces that an operation is due to be reconciled. */
export const operationsDueChannel = dueChannel;

/** One connection for each batcher, which runs one batch at a time, and some for due subscriptions. */
export const batchConnections = 5 + 3;

/** All operations on orders. */
export interface Orders {
  /** For the other shards, whose companies may move here while they are charged. */
  readonly charging: Charging;
  create(context: RequestContext, input: ShownOrder, key: PhasedRequest): Promise<PhasedAnswer>;
  refund(context: RequestContext, id: string, input: OrderRefund, key: PhasedRequest): Promise<PhasedAnswer>;
  /** Returns the refund that is recorded under this key, even after the key itself has expired. */
  keyedRefund(companyId: string, id: string, key: string): Promise<KeyedRefund | undefined>;
  /** Stores the refusal under the key, so that no refund can begin with it. Returns false if one is recorded. */
  stopRefund(id: string, key: PhasedRequest, refusal: ApiError): Promise<boolean>;
  /** Takes the held funds of an authorization, or a part of them. */
  capture(context: RequestContext, id: string, input: OrderCapture, key: PhasedRequest): Promise<PhasedAnswer>;
  retry(context: RequestContext, id: string, key: PhasedRequest, terms?: RetryTerms): Promise<PhasedAnswer>;
  void(context: RequestContext, id: string, key: PhasedRequest): Promise<PhasedAnswer>;
  raiseChargeback(context: RequestContext, id: string): Promise<Order>;
  resolveChargeback(context: RequestContext, id: string, outcome: Resolution): Promise<Order>;
  /** Records how a dispute ended that no processor reports. */
  closeDispute(
    context: RequestContext,
    dispute: { readonly id: string; readonly orderId: string },
    endsAs: 'won' | 'lost' | 'accepted',
  ): Promise<void>;
  get(context: RequestContext, id: string, expand: ReadonlySet<string>): Promise<Order>;
  list(
    context: RequestContext,
    filters: OrderFilters,
    page: PageRequest,
    expand: ReadonlySet<string>,
  ): Promise<Page<Order>>;
  /** Chargebacks of which the processor does not say which payment they are about. */
  readonly unmatched: UnmatchedChargebacks;
  /** Reconciles the open operations of an order now, instead of when they are due. */
  reconcile(companyId: string, id: string): Promise<void>;
  /** Sends a charge whose intent is recorded. */
  charge(state: OrderState, sale: OpenedSale, atMs?: number): Promise<Order>;
  /** Reconciles the charge of an order. Throws while its outcome is unknown. */
  reconcileSale(companyId: string, id: string): Promise<void>;
  /** Returns the generation of an idempotency key, see `generations.ts`. */
  generationOf(company: Pick<Company, 'id' | 'mode'>, key: string): Promise<Generation>;
  /** Jobs: each call runs one batch and returns how many rows it processed. */
  reconcileDue(batch: number): Promise<number>;
  /** Job: finds processors that answer again, and makes what is in doubt there due. */
  probeConnections(): Promise<void>;
  raiseDueChargebacks(batch: number): Promise<number>;
  /** Releases authorizations that were not captured in time. */
  releaseEnded(batch: number): Promise<number>;
  /** In the sandbox, disputes that were not answered in time are lost. */
  loseDueDisputes(batch: number): Promise<number>;
  /** Where the customer of the order is to be led; undefined if it waits for no customer. */
  nextAction(companyId: string, id: string): Promise<NextAction | undefined>;
  /** The browser of the customer came back from the bank with these parameters. The processor is asked. */
  resumeAtBank(companyId: string, id: string, returned: Readonly<Record<string, string>>): Promise<void>;
  /** Ends the payment that waits for the customer, at the processor first. */
  endAtBank(companyId: string, id: string): Promise<void>;
  /** Job: asks whether the banks have decided about payments whose browser may be closed. */
  askAboutCustomers(batch: number): Promise<number>;
  /** Called while the clock of a company is advanced. */
  endAtBankOf(companyId: string, untilMs: number): Promise<number>;
  raiseChargebacksOf(companyId: string, fromMs: number, untilMs: number): Promise<number>;
  releaseEndedOf(companyId: string, fromMs: number, untilMs: number): Promise<number>;
  loseDisputesOf(companyId: string, fromMs: number, untilMs: number): Promise<number>;
  /** How many requests of the shard are in a batch, or wait for one. */
  inBatchers(): number;
  /** Applies what a processor reported later. */
  applyNotice(notice: NoticeToApply): Promise<Applied>;
}

/** A customer who was present tries again on the same page: two ways to pay would make two payments. */
function confirmationOf(
  { confirmationUrl }: Pick<MoneyDependencies, 'confirmationUrl'>,
  { outcome, state: { order, presence } }: ChargeOutcome,
): Pick<ChargeOutcome, 'authenticationUrl'> {
  if (!wantsCustomer(outcome) || presence) return {};
  return { authenticationUrl: confirmationUrl(order.company_id, order.id) };
}

export function openOrders(dependencies: MoneyDependencies): Orders {
  const { batchDb } = dependencies;
  const tally = { items: 0 };
  const usual = { batchMax: 64, width: 1, tally };
  const recordPlain = createBatcher(
    'outcomes',
    (outcomes: readonly ChargeOutcome[]) => recordPlainOutcomes(batchDb, outcomes),
    usual,
  );
  const recordWithOthers = createBatcher(
    'other_outcomes',
    (outcomes: readonly ChargeOutcome[]) => recordOutcomes(dependencies, outcomes),
    usual,
  );
  const gatherer = createGatherer();
  const charging: Charging = {
    ...dependencies,
    readFacts: createBatcher('facts', (requests) => readFacts(batchDb, requests), {
      ...usual,
      gathering: gatherer.gathering,
    }),
    recordIntent: createBatcher('intents', (intents) => recordIntents(batchDb, intents), usual),
    recordRedeemingIntent: createBatcher(
      'redeeming_intents',
      (intents) => recordRedeemingIntents(batchDb, intents),
      usual,
    ),
    reconcile: (open) => reconcile(charging, open),
    resend: (open) => resend(charging, open),
    chargeElsewhere: (state, declined, failed, atMs) => chargeElsewhere(charging, state, declined, failed, atMs),
    async recordOutcome(charged) {
      const trace = traceparent();
      const asks = confirmationOf(dependencies, charged);
      const order = await (concernsOrderOnly(charged) ? recordPlain : recordWithOthers)({ ...charged, ...asks, trace });
      const { state, sale } = charged;
      if (order) countCharge(state.mode, charged.outcome, sale.type);
      if (order && connects(state.mode)) dependencies.restores?.recorded(state.order.company_id, sale.id);
      return order;
    },
  };
  return {
    charging,
    create: (context, input, key) => gatherer.run(() => createOrder(charging, context, input, key)),
    refund: (context, id, input, key) => refundOrder(charging, context, id, input, key),
    keyedRefund: (companyId, id, key) => findKeyedRefund(charging.db, companyId, id, key),
    stopRefund: (id, key, refusal) => stopKeyedRefund(charging.db, id, key, refusal),
    capture: (context, id, input, key) => captureOrder(charging, context, id, input, key),
    retry: (context, id, key, terms) => retryOrder(charging, context, id, key, terms),
    void: (context, id, key) => voidOrder(charging, context, id, key),
    unmatched: unmatchedChargebacks(charging),
    raiseChargeback: (context, id) => raiseChargeback(charging, context, id),
    resolveChargeback: (context, id, outcome) => resolveChargeback(charging, context, id, outcome),
    closeDispute: (context, about, endsAs) => closeDispute(charging, context, about, endsAs),
    get: (context, id, expand) => getOrder(charging, context, id, expand),
    list: getOrders,
    reconcile: (companyId, id) => reconcileOrder(charging, companyId, id),
    charge: (state, sale, atMs) => charge(charging, state, sale, atMs),
    reconcileSale: async (companyId, id) => {
      await resumeOrder(charging, companyId, id);
    },
    generationOf: (company, key) => generationOf(charging, company, subjects.key(key)),
    reconcileDue: (batch) => reconcileDue(charging, batch),
    probeConnections: () => probeConnections(charging),
    raiseDueChargebacks: (batch) => raiseDueChargebacks(charging, batch),
    releaseEnded: (batch) => releaseEnded(charging, batch),
    releaseEndedOf: (companyId, fromMs, untilMs) => releaseEndedOf(charging, companyId, fromMs, untilMs),
    loseDueDisputes: (batch) => loseDueDisputes(charging, batch),
    loseDisputesOf: (companyId, fromMs, untilMs) => loseDisputesOf(charging, companyId, fromMs, untilMs),
    nextAction: (companyId, id) => nextActionOf(charging, companyId, id),
    resumeAtBank: (companyId, id, returned) => resumeOrderAtBank(charging, companyId, id, returned),
    endAtBank: (companyId, id) => endOrderAtBank(charging, companyId, id),
    askAboutCustomers: (batch) => askAboutCustomers(charging, batch),
    endAtBankOf: (companyId, untilMs) => endAtBankOf(charging, companyId, untilMs),
    inBatchers: () => tally.items,
    applyNotice: (notice) => applyNotice(charging, notice),
    raiseChargebacksOf: (companyId, fromMs, untilMs) => raiseChargebacksOf(charging, companyId, fromMs, untilMs),
  };
}

async function getOrder(
  charging: Charging,
  context: RequestContext,
  id: string,
  expand: ReadonlySet<string>,
): Promise<Order> {
  const state = await findOrder(context.db, context.company.id, id);
  if (!state) throw notFound('order');
  const open = state.voiding || state.transactions.some(({ status }) => status === 'in_progress');
  if (open) void reconcileOrder(charging, context.company.id, id);
  const [current = state.order] = await withCurrentAddress(context, [state.order]);
  const shown = toWire({ ...state, order: current });
  const [order] = await expanded(context, [shown], expand);
  return order ?? shown;
}

async function listedToWire(context: RequestContext, rows: readonly ListedOrder[]): Promise<Order[]> {
  const { mode } = context.company;
  const current = await withCurrentAddress(context, rows);
  return current.map(({ transactions, ...order }) => toWire({ order, transactions: transactions ?? [], mode }));
}

async function getOrders(
  context: RequestContext,
  filters: OrderFilters,
  page: PageRequest,
  expand: ReadonlySet<string>,
): Promise<Page<Order>> {
  const found = await listOrders(context, filters, page);
  const orders = await listedToWire(context, found.items);
  return { ...found, items: await expanded(context, orders, expand) };
}

export async function ordersById(context: RequestContext, ids: readonly string[]): Promise<Map<string, Order>> {
  const rows = await findOrders(context.db, context.company.id, [...new Set(ids)]);
  return new Map((await listedToWire(context, rows)).map((order) => [order.id, order]));
}

export async function getOrderState(db: Queryable, companyId: string, id: string): Promise<OrderState | undefined> {
  return findOrder(db, companyId, id);
}

/** Returns the order that the first use of an idempotency key charged, however long ago. */
export async function orderOfKey(db: Queryable, companyId: string, key: string): Promise<string | undefined> {
  const reference = deriveReference(companyId, { subject: subjects.key(key), number: 0 });
  return (await findRecorded(db, companyId, reference))?.order_id;
}

/** Records the intents of charges that the billing schedule makes. Returns those that may be sent, by their ids. */
export async function planScheduledCharges(
  transaction: Database,
  charges: readonly PlannedCharge[],
): Promise<ReadonlyMap<string, Opened>> {
  return planCharges(transaction, charges);
}

/** Stops the retries of the billing schedule for this order. */
export async function stopRetries(transaction: Database, companyId: string, id: string): Promise<void> {
  await clearNextRetry(transaction, companyId, id);
}

/** Discards the renewal that waits, if one does. The worker records that soon. */
export async function discardWaiting(transaction: Database, companyId: string, id: string): Promise<boolean> {
  return recallWaiting(transaction, companyId, id);
}

/** Whether the charge of the order could not be sent yet. */
export async function isWaitingCharge(db: Queryable, companyId: string, id: string): Promise<boolean> {
  return isWaiting(db, companyId, id);
}

export async function hasOrdersOf(db: Queryable, companyId: string, customerId: string): Promise<boolean> {
  return hasOrders(db, companyId, customerId);
}

/** Returns how many operations are in doubt or wait for the vault, for metrics and `doctor`. */
export async function operationStatistics(db: Queryable): ReturnType<typeof openStatistics> {
  return openStatistics(db);
}

/** Returns how many authorizations stand, end within a day and have ended, for metrics. */
export async function authorizationStatistics(db: Queryable): ReturnType<typeof heldFundsStatistics> {
  return heldFundsStatistics(db);
}

/** Opens an operation that the processor executed and the books miss. Reconciliation then records its outcome. */
export async function adoptOperation(
  db: Database,
  executed: ExecutedOperation,
  opened: { readonly id: string; readonly at: Date; readonly agoMs: number },
): Promise<boolean> {
  return adoptExecuted(db, executed, opened);
}

/** Adopts the card and the connection of a charge that the processor executed for an open sale. */
export async function adoptOpen(db: Queryable, companyId: string, operation: ListedOperation): Promise<boolean> {
  return takeExecuted(db, companyId, operation);
}

/** Adopts a charge that the processor executed for an open sale under a later reference. */
export async function adoptLater(db: Queryable, executed: ExecutedOperation, as: Numbered): Promise<boolean> {
  return takeLater(db, executed, as);
}

/** Looks up every open operation of a company now. */
export async function checkOpenOf(db: Queryable, companyId: string): Promise<void> {
  await checkNow(db, companyId, repeatWithinMs);
}
