import type { Queryable } from '../../../platform/database.ts';
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
import { type OutcomeRecord, writeOutcomes } from './outcome-queries.ts';
import { redemptionIdOf, type Sale } from './sales.ts';
import type { Order } from '../schemas.ts';
import { nextOrderStatus, transactionChanges } from '../transitions.ts';

/** Records the outcome of a sale: on the transaction, the order, its subscription and its coupon, with the events. */

export type KnownOutcome = Exclude<Outcome | LookupOutcome, { outcome: 'unknown' | 'expired' }>;

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
  /** By the clock of the company. */
  readonly nowMs: number;
  /** The W3C trace context of the request, because outcomes are recorded together. */
  readonly trace?: string | undefined;
}

/** Whether the outcome changes neither a subscription nor a coupon. */
export function concernsOrderOnly({ state: { order } }: ChargeOutcome): boolean {
  return order.subscription_id === null && order.coupon === null;
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
  if (billed.length === 0) {
    return recordAll(
      batchDb,
      outcomes.map((one) => outcomeRecordOf(one)),
      redemptions,
    );
  }
  return batchDb.transaction(async (transaction) => {
    const effect = await billing.applyOutcomes(transaction, billed);
    const changes = new Map(billed.map((one, index) => [one, effect.orders[index]]));
    const records = outcomes.map((one) => outcomeRecordOf(one, changes.get(one)));
    const orders = await recordAll(transaction, records, redemptions);
    await effect.record(billed.map((one) => orders[outcomes.indexOf(one)] !== undefined));
    return orders;
  });
}

async function recordAll(
  db: Queryable,
  records: readonly OutcomeRecord[],
  redemptions: readonly RedemptionOutcome[] = [],
): Promise<(Order | undefined)[]> {
  const tookEffect = await writeOutcomes(db, records, redemptions);
  return records.map(({ event }, index) => (tookEffect[index] ? (event.object as Order) : undefined));
}

function redemptionOutcomeOf({ state: { order }, outcome }: ChargeOutcome): RedemptionOutcome | undefined {
  const id = redemptionIdOf(order);
  if (id === undefined) return undefined;
  return { company_id: order.company_id, id, order_id: order.id, redeemed: outcome.outcome === 'approved' };
}

function outcomeRecordOf(charged: ChargeOutcome, change: Partial<OrderRow> = {}): OutcomeRecord {
  const { state, sale, outcome, nowMs } = charged;
  const { order } = state;
  const disowned = outcome.outcome === 'conflict' || charged.disowned === true;
  const approved = outcome.outcome === 'approved';
  const status = nextOrderStatus(order.status, approved ? 'charge_approved' : 'charge_declined');
  if (!status) throw new Error(`the outcome of a sale cannot be recorded on an order with status ${order.status}`);
  const failure = approved ? { code: null, reason: null } : failureOf(outcome);
  const response = 'response' in outcome ? outcome.response : null;
  const transaction: TransactionSummary = {
    id: sale.id,
    reference: disowned ? sale.id : sale.reference,
    type: 'sale',
    status: transactionChanges[approved ? 'approved' : 'declined'].to,
    amount: sale.amount,
    currency: order.currency,
    processor_transaction_id: response?.transaction_id ?? null,
    failure_code: failure.code,
    failure_reason: failure.reason,
  };
  const { payment_method_id, card_brand, card_last4 } = sale;
  const changed: OrderRow = {
    ...order,
    ...change,
    // The subscription may have a different card now than when its order was created.
    ...(approved && { payment_method_id, card_brand, card_last4 }),
    status,
    sequence: order.sequence + 1,
    attempt_count: order.attempt_count + (approved ? 0 : 1),
    failure_code: failure.code,
    failure_reason: failure.reason,
    sale_id: approved ? sale.id : null,
    updated_at: new Date(nowMs),
  };
  const object = toWire({ ...state, order: changed, transactions: withTransaction(state.transactions, transaction) });
  const type = approved ? 'order.succeeded' : 'order.failed';
  const chargebackAfterMs = outcome.outcome === 'approved' ? outcome.chargebackAfterMs : undefined;
  return {
    order: changed,
    expected: order,
    transaction,
    sending: sale.sending,
    disowned,
    unexecuted: charged.unexecuted === true,
    replacesAnswer: charged.replacesAnswer === true,
    response,
    event: {
      ...newEvent(order.company_id, nowMs, type, object, changed.sequence, sale.request_id),
      ...(charged.trace !== undefined && { trace: charged.trace }),
    },
    chargebackAt: chargebackAfterMs === undefined ? null : new Date(nowMs + chargebackAfterMs),
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
