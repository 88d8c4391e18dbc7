import type { Queryable } from '../../../platform/database.ts';
import type { AuthenticationResult } from '../../../vault/processors/authentication.ts';
import {
  type FailureCode,
  failureReasons,
  type LookupOutcome,
  type Outcome,
} from '../../../vault/processors/processor.ts';
import type { RedemptionOutcome } from '../../coupons/service.ts';
import { newEvent } from '../../events/service.ts';
import type { MoneyDependencies } from './charging.ts';
import type { Opened } from './open-queries.ts';
import { type OrderRow, type OrderState, toWire, type TransactionSummary, withTransaction } from '../order.ts';
import { type OutcomeRecord, type RareChange, writeOutcomes } from './outcome-queries.ts';
import { authenticationOf, confirmableUntil, givesMandate } from './authentication.ts';
import { captureBefore } from './capture-times.ts';
import { credentialOf } from './connection.ts';
import { releaseCredit } from '../credit.ts';
import { redemptionIdOf, type Sale } from './sales.ts';
import type { Order } from '../schemas.ts';
import { nextOrderStatus, transactionChanges } from '../transitions.ts';

/** Records the outcome of a sale: on the transaction, the order, its subscription and its coupon, with the events. */

export type KnownOutcome = Exclude<Outcome | LookupOutcome, { outcome: 'unknown' | 'expired' | 'needs_customer' }>;

/** A sale whose outcome is known and not recorded yet. */
export interface ChargeOutcome {
  readonly state: OrderState;
  readonly sale: Sale & Pick<Opened, 'sending'>;
  readonly outcome: KnownOutcome;
  /** The processor's operation under the reference is not this charge. */
  readonly disowned?: boolean;
  readonly unexecuted?: boolean;
  /** The charge follows a declined one in the same request, so it is the answer to its key. */
  readonly replacesAnswer?: boolean;
  /** The page where the customer can confirm the payment, if the bank wants that. */
  readonly authenticationUrl?: string | undefined;
  /** By the clock of the company. */
  readonly nowMs: number;
  /** The W3C trace context of the request, because outcomes are recorded together. */
  readonly trace?: string | undefined;
}

/** Whether the outcome changes neither a subscription nor a coupon, nor credit. */
export function concernsOrderOnly({ state: { order } }: ChargeOutcome): boolean {
  return order.subscription_id === null && order.coupon === null && !order.credit_applied;
}

export async function recordPlainOutcomes(
  db: Queryable,
  outcomes: readonly ChargeOutcome[],
): Promise<(Order | undefined)[]> {
  return recordAll(
    db,
    outcomes.map((one) => outcomeRecordOf(one)),
  );
}

/** Subscriptions are locked first, so that each changes together with its order; coupons are locked last. */
export async function recordOutcomes(
  { batchDb, billing }: Pick<MoneyDependencies, 'batchDb' | 'billing'>,
  outcomes: readonly ChargeOutcome[],
): Promise<(Order | undefined)[]> {
  const billed = outcomes.filter(({ state }) => state.order.subscription_id !== null);
  const redemptions = outcomes.flatMap((one) => redemptionOutcomeOf(one) ?? []);
  const declined = outcomes.filter((one) => withoutCredit(one));
  if (billed.length === 0 && declined.length === 0) {
    return recordAll(
      batchDb,
      outcomes.map((one) => outcomeRecordOf(one)),
      redemptions,
    );
  }
  return batchDb.transaction(async (transaction) => {
    const effect = billed.length > 0 ? await billing.applyOutcomes(transaction, billed) : undefined;
    const changes = new Map(billed.map((one, index) => [one, effect?.orders[index]]));
    const records = outcomes.map((one) => outcomeRecordOf(one, { ...changes.get(one), ...withoutCredit(one) }));
    const orders = await recordAll(transaction, records, redemptions);
    const tookEffect = (one: ChargeOutcome): boolean => orders[outcomes.indexOf(one)] !== undefined;
    for (const { state, nowMs } of declined.filter(tookEffect).toSorted(byBalance)) {
      await releaseCredit(transaction, state.order, { type: 'order_failed', nowMs });
    }
    await effect?.record(billed.map(tookEffect));
    return orders;
  });
}

const balanceKey = ({ state: { order } }: ChargeOutcome): string =>
  `${order.company_id} ${order.customer_id} ${order.currency}`;

/** Balances are locked in one order, so that two batches for the same customers do not wait for each other. */
function byBalance(a: ChargeOutcome, b: ChargeOutcome): number {
  const [one, two] = [balanceKey(a), balanceKey(b)];
  return one === two ? 0 : one < two ? -1 : 1;
}

/** A declined charge gives back the credit that was to pay the rest of the order. */
const withoutCredit = ({ state: { order }, outcome }: ChargeOutcome): Partial<OrderRow> | undefined =>
  order.credit_applied && outcome.outcome !== 'approved' ? { credit_applied: null } : undefined;

async function recordAll(
  db: Queryable,
  records: readonly OutcomeRecord[],
  redemptions: readonly RedemptionOutcome[] = [],
): Promise<(Order | undefined)[]> {
  const tookEffect = await writeOutcomes(db, records, redemptions);
  return records.map(({ event }, index) => (tookEffect[index] ? (event.object as Order) : undefined));
}

/** While funds are held, the coupon stays reserved. */
function redemptionOutcomeOf({ state: { order }, sale, outcome }: ChargeOutcome): RedemptionOutcome | undefined {
  const id = redemptionIdOf(order);
  if (id === undefined || isHeld(sale, outcome)) return undefined;
  return { company_id: order.company_id, id, order_id: order.id, redeemed: outcome.outcome === 'approved' };
}

const isHeld = ({ type }: Pick<Sale, 'type'>, { outcome }: KnownOutcome): boolean =>
  type === 'auth' && outcome === 'approved';

function outcomeRecordOf(charged: ChargeOutcome, change: Partial<OrderRow> = {}): OutcomeRecord {
  const { state, sale, nowMs } = charged;
  const { outcome } = charged;
  const ended = endOf(charged);
  const isDisowned = outcome.outcome === 'conflict' || charged.disowned === true;
  const transaction = endedSale(state.order, sale, ended, isDisowned);
  const order = chargedOrder({ ...state.order, ...change }, sale, ended, new Date(nowMs));
  const object = toWire({ ...state, order, transactions: withTransaction(state.transactions, transaction) });
  return {
    order,
    expected: state.order,
    transaction,
    sending: sale.sending,
    disowned: isDisowned,
    unexecuted: charged.unexecuted === true,
    replacesAnswer: charged.replacesAnswer === true,
    response: ended.response,
    event: {
      ...newEvent(order.company_id, nowMs, ended.event, object, order.sequence, sale.request_id),
      ...(charged.trace !== undefined && { trace: charged.trace }),
    },
    chargebackAt: ended.chargebackAfterMs === undefined ? null : new Date(nowMs + ended.chargebackAfterMs),
    ...(ended.rare && { rare: ended.rare }),
  };
}

/** How a sale has ended, as its transaction, its order and its event record it. */
interface Ended {
  readonly change: 'approved' | 'declined';
  readonly trigger: 'charge_approved' | 'charge_authorized' | 'charge_declined';
  readonly event: 'order.succeeded' | 'order.authorized' | 'order.failed';
  readonly failure: { readonly failure_code: FailureCode | null; readonly failure_reason: string | null };
  readonly response: OutcomeRecord['response'];
  readonly chargebackAfterMs?: number | undefined;
  readonly rare?: RareChange | undefined;
}

const noFailure = { failure_code: null, failure_reason: null };

function endOf(charged: ChargeOutcome): Ended {
  const { sale, outcome } = charged;
  const authentication = authenticationOf(charged);
  const response = responseOf(outcome, authentication);
  const rare = rareChangeOf(charged, authentication);
  if (outcome.outcome === 'approved') {
    const paid = { change: 'approved', failure: noFailure, response, rare } as const;
    if (sale.type === 'auth') return { ...paid, trigger: 'charge_authorized', event: 'order.authorized' };
    const { chargebackAfterMs } = outcome;
    return { ...paid, trigger: 'charge_approved', event: 'order.succeeded', chargebackAfterMs };
  }
  const { code, reason } = failureOf(outcome);
  const failure = { failure_code: code, failure_reason: reason };
  return { change: 'declined', trigger: 'charge_declined', event: 'order.failed', failure, response, rare };
}

function responseOf(outcome: KnownOutcome, authentication: AuthenticationResult | undefined): Ended['response'] {
  const response = 'response' in outcome ? outcome.response : null;
  return response && authentication ? { ...response, authentication } : response;
}

/** What few outcomes change. Undefined for all others. */
function rareChangeOf(
  { state, sale, outcome, authenticationUrl, nowMs }: ChargeOutcome,
  authentication: AuthenticationResult | undefined,
): RareChange | undefined {
  const { initiator } = credentialOf(sale.cause, state);
  const held = outcome.outcome === 'approved' &&
    sale.type === 'auth' && { amount: sale.amount, captureBefore: captureBefore(initiator, outcome, nowMs) };
  const asks = authenticationUrl !== undefined && { url: authenticationUrl, until: confirmableUntil(nowMs) };
  const mandate = givesMandate(outcome, authentication) && { paymentMethodId: sale.payment_method_id };
  if (!held && !asks && !mandate) return undefined;
  return { ...(held && { held }), ...(asks && { confirmation: asks }), ...(mandate && { mandate }) };
}

const endedSale = (
  { currency }: OrderRow,
  { id, type, reference, amount }: Sale,
  { change, failure, response }: Ended,
  isDisowned: boolean,
): TransactionSummary => ({
  id,
  reference: isDisowned ? id : reference,
  type,
  status: transactionChanges[change].to,
  amount,
  currency,
  processor_transaction_id: response?.transaction_id ?? null,
  ...failure,
});

/** The subscription may have a different card now than when its order was created. */
const paidBy = ({ payment_method_id, card_brand, card_last4 }: Sale): Partial<OrderRow> => ({
  payment_method_id,
  card_brand,
  card_last4,
});

function chargedOrder(order: OrderRow, sale: Sale, { change, trigger, failure, rare }: Ended, at: Date): OrderRow {
  const status = nextOrderStatus(order.status, trigger);
  if (!status) throw new Error(`the outcome of a sale cannot be recorded on an order with status ${order.status}`);
  const isPaid = change === 'approved';
  return {
    ...order,
    ...(isPaid && paidBy(sale)),
    ...failure,
    status,
    sequence: order.sequence + 1,
    attempt_count: order.attempt_count + (isPaid ? 0 : 1),
    sale_id: isPaid && !rare?.held ? sale.id : null,
    updated_at: at,
    ...(rare?.held && { authorized_amount: rare.held.amount, capture_before: rare.held.captureBefore }),
    ...(rare?.confirmation && {
      authentication_url: rare.confirmation.url,
      authentication_until: rare.confirmation.until,
    }),
  };
}

export const conflictCode = 'duplicate_transaction';

/** A charge that never reached the processor fails as issuer_unavailable. */
export function failureOf(outcome: Exclude<KnownOutcome, { outcome: 'approved' }>): {
  code: FailureCode;
  reason: string;
} {
  if (outcome.outcome === 'declined') return { code: outcome.failureCode, reason: outcome.failureReason };
  if (outcome.outcome === 'conflict') return { code: conflictCode, reason: failureReasons[conflictCode] };
  const known = outcome.outcome === 'not_sent' ? outcome : undefined;
  const code = known?.failureCode ?? 'issuer_unavailable';
  return { code, reason: known?.failureReason ?? failureReasons[code] };
}
