import { connects } from '../../../company.ts';
import { failpoint } from '../../../platform/failpoints.ts';
import { closeRedemptions } from '../../coupons/service.ts';
import type { Charging } from './charging.ts';
import { countOpenCharge } from './counting.ts';
import { markWithCustomer } from './customer-queries.ts';
import { sealStep } from './customer-step.ts';
import {
  customerAsked,
  gatewayError,
  misconfigured,
  notCompared,
  refusedInDoubt,
  usedByAnother,
  vaultUnavailable,
} from './errors.ts';
import { aboutCharge, connectionOf } from './connection.ts';
import { discardUnexecuted, markInDoubt, markWaiting, type OpenKey, startSending, type Wait } from './open-queries.ts';
import type { ChargeCause } from './operation-moves.ts';
import { releaseCredit } from '../credit.ts';
import { type OrderRow, type OrderState, toWire } from '../order.ts';
import { type ExecutedCharge, keptOutcome } from './kept-outcomes.ts';
import type { ChargeOutcome } from './record-outcomes.ts';
import { findOrder } from '../queries.ts';
import { findFirstAnswer } from './first-answer.ts';
import { whereItIs, recordResult } from './record-result.ts';
import { isKeyed } from './reference.ts';
import { type OpenedSale, redemptionIdOf } from './sales.ts';
import type { Order } from '../schemas.ts';
import { send, type Sent } from './sending.ts';
import { heardFromSending } from './heard.ts';
import { nextStep, type SendAnswer, type Step } from './next-step.ts';
import { customerMs, firstCheckMs, lockMs, correctedDelayMs, repeatWithinMs, resendDelayMs } from './timing.ts';
import type { VaultOutcome } from '../../../vault/vault.ts';

/** The names of the failpoints of a charge. */
const failpoints = {
  order: 'charge',
  first_charge: 'renewal',
  plan_change: 'plan_change',
  retry: 'retry',
  renewal: 'renewal',
} as const satisfies Record<ChargeCause, string>;

/** Sends a sale whose intent is recorded to the processor, and records the outcome. */
export async function charge(
  charging: Charging,
  state: OrderState,
  sale: OpenedSale,
  /** The time by the company's clock, if it is not now. */
  atMs?: number,
  /** Connections that have failed for this order in this request. */
  failed: readonly string[] = [],
): Promise<Order> {
  const name = failpoints[sale.cause];
  failpoint(`${name}.after_intent`);
  const sent = await sendCharge(charging, state, sale, atMs, failed);
  failpoint(`${name}.after_processor`);
  if (!sent) return currentOrder(charging, state.order, sale);
  const error = await endings[sent.step]?.(charging, state, sent);
  if (error) throw error;
  const nowMs = atMs ?? charging.clock.nowMs() + state.clockOffsetMs;
  const recorded = await recordSent(charging, state, sent, { nowMs, replacesAnswer: failed.length > 0 });
  failpoint(`${name}.after_record`);
  if (sent.outcome.outcome === 'conflict') throw usedByAnother();
  const isHandedOver = recorded !== undefined && sent.step === 'record_and_hand_over';
  const next = isHandedOver ? await handOver(charging, state, sent.intent, failed, atMs) : undefined;
  return next ?? recorded ?? currentOrder(charging, state.order, sale);
}

/** Returns undefined if another process has recorded the outcome. */
function recordSent(
  charging: Charging,
  state: OrderState,
  { intent, outcome, step }: SentCharge,
  asked: Pick<ChargeOutcome, 'nowMs' | 'replacesAnswer'>,
): Promise<Order | undefined> {
  if (outcome.outcome === 'unknown' || outcome.outcome === 'unavailable' || outcome.outcome === 'needs_customer')
    throw new Error(`nothing follows from ${step}`);
  const unexecuted = outcome.outcome === 'not_sent' || (outcome.outcome === 'declined' && isFault(outcome));
  const charged = { ...asked, state, sale: intent, outcome, unexecuted };
  return recordResult(charging, intent, (there) => there.recordOutcome(charged));
}

type SentCharge = Sent<OpenedSale & OpenKey>;

/** What a step that records no outcome does. Returns the error for the request. */
const endings: Partial<Record<Step, (charging: Charging, state: OrderState, sent: SentCharge) => Promise<Error>>> = {
  wait_for_lookup: markDoubt,
  wait_as_interrupted: markDoubt,
  wait_for_customer: leadToBank,
  wait_for_service: waitLater,
  wait_for_request: waitLater,
  wait_for_comparison: waitForComparison,
  wait_for_credentials: waitLater,
  wait_for_connection: waitLater,
  discard: abandonRetry,
};

/** Whether the processor, and not the bank, has declined: nothing was executed, although a later call may. */
const isFault = (outcome: Extract<VaultOutcome, { outcome: 'declined' }>): boolean =>
  outcome.isProcessorFault === true || outcome.refusesCredentials === true;

async function handOver(
  charging: Charging,
  state: OrderState,
  intent: OpenedSale,
  failed: readonly string[],
  atMs: number | undefined,
): Promise<Order | undefined> {
  if (intent.connection_id === null) return undefined;
  const there = await whereItIs(charging, state.order);
  return there.chargeElsewhere(state, intent, [...failed, intent.connection_id], atMs);
}

/** The time by the company's clock, by which the sandbox decides whether a card has expired. */
const timeFor = ({ clock }: Charging, { mode, clockOffsetMs }: OrderState, atMs: number | undefined) =>
  mode === 'sandbox' ? { companyTimeMs: Math.round(atMs ?? clock.nowMs() + clockOffsetMs) } : undefined;

async function sendCharge(
  charging: Charging,
  state: OrderState,
  sale: OpenedSale,
  atMs: number | undefined,
  failed: readonly string[],
): Promise<SentCharge | undefined> {
  const { order, card, mode } = state;
  const { company_id, id: order_id, currency } = order;
  let intent = { ...sale, company_id, order_id };
  // A change of plan always has an outcome, because its subscription waits for it.
  const cause = failed.length === 0 || sale.cause === 'plan_change' ? sale.cause : 'retry';
  const stepAfter = (heard: SendAnswer): Step =>
    nextStep({ state: 'sending', cause, heard, next: 'none', gate: 'open' });
  const kept = await keptOutcome(charging, intent, currency);
  if (kept) return moveTo(charging, intent, kept);
  if (!card) return { intent, outcome: cardDeleted, step: stepAfter('no_card') };
  const { billing: _, isListed: __, ...chargedCard } = card;
  const about = { ...aboutCharge(sale.cause, state, card), ...timeFor(charging, state, atMs) };
  const candidates = connects(mode) ? await candidatesOf(charging, state, sale, failed) : [];
  const [first] = candidates;
  if (first !== undefined && first !== intent.connection_id) {
    const there = { connectionId: first };
    const moved = await recordResult(charging, intent, ({ db }) => startSending(db, intent, there, lockMs[mode]));
    if (!moved) return undefined;
    intent = { ...intent, ...moved };
  }
  if (connects(mode) && first === undefined) {
    return { intent, outcome: takenByNone(charging, intent, currency), step: stepAfter('not_taken') };
  }
  return await send(charging, {
    mode,
    cause,
    intent,
    numbered: sale.numbered,
    subject: sale.subject,
    next: ({ connection_id }, heard) =>
      heard === 'processor_failed'
        ? candidates.find((id) => id !== connection_id)
        : candidates[candidates.indexOf(connection_id ?? '') + 1],
    call: (sending) => {
      const { reference, validUntilMs, amount } = sending;
      const operation = { companyId: company_id, mode, reference, validUntilMs, ...connectionOf(sending) };
      const sent = { ...operation, ...about, card: chargedCard, amount, currency };
      return sale.type === 'auth' ? charging.vault.authorize(sent) : charging.vault.charge(sent);
    },
  });
}

const cardDeleted = { outcome: 'not_sent', reason: 'the card was deleted', failureCode: 'invalid_account' } as const;

/** The charge was executed before the restore, perhaps by another connection or under a later reference. */
async function moveTo(
  charging: Charging,
  intent: OpenedSale & OpenKey,
  { connectionId, as, found }: ExecutedCharge,
): Promise<SentCharge | undefined> {
  const there = { connectionId, isResolved: true, ...(as && { as }) };
  const moved = await recordResult(charging, intent, ({ db }) => startSending(db, intent, there, lockMs.live));
  const heard = heardFromSending(found, { numbered: undefined, isKeyed: isKeyed(intent), elapsedMs: 0 });
  const step = nextStep({ state: 'sending', cause: intent.cause, heard, next: 'none', gate: 'open' });
  return moved && { intent: { ...intent, ...moved, ...as }, outcome: found, step };
}

/** The connections of a live charge, in the order in which they are tried. */
async function candidatesOf(
  { connections }: Charging,
  { order: { company_id, currency } }: OrderState,
  { reference, card_brand }: OpenedSale,
  failed: readonly string[],
): Promise<readonly string[]> {
  const candidates = await connections.candidates({ companyId: company_id, reference, currency, brand: card_brand });
  return candidates.filter((id) => !failed.includes(id));
}

/** The intent names the first connection of the company, which may not take this charge or is disconnected by now. */
function takenByNone(
  { log }: Charging,
  { company_id, order_id, card_brand }: OpenedSale & OpenKey,
  currency: string,
): SentCharge['outcome'] {
  const reason = `no connected processor takes ${currency} with ${card_brand}`;
  log.warn({ company_id, order_id, reason }, 'the charge was not sent');
  const failureReason = `No connected processor takes ${currency.toUpperCase()} with this card brand.`;
  return { outcome: 'not_sent', reason, failureCode: 'invalid_merchant_configuration', failureReason };
}

/**
 * Returns the order after another process recorded the outcome first. That process called the same processor with the
 * same reference. A new order may have been refunded since: its answer is that of its key.
 */
async function currentOrder(charging: Charging, order: OrderRow, { id: saleId, cause }: OpenedSale): Promise<Order> {
  const { company_id, id } = order;
  const { db } = await whereItIs(charging, order);
  const now = await findOrder(db, company_id, id);
  const sale = now?.transactions.find((one) => one.id === saleId);
  if (!now || !sale) throw new Error('the charge is missing');
  // Its place may have been taken by another sale, see `interrupted.ts`.
  if (now.transactions.some(({ type, status }) => type === 'sale' && status === 'in_progress')) {
    throw gatewayError('charge');
  }
  const first = cause === 'order' ? await findFirstAnswer(db, company_id, id) : undefined;
  return first ?? toWire(now);
}

/** The outcome is unknown, so a lookup finds it. */
async function markDoubt(
  charging: Charging,
  { mode }: OrderState,
  { intent, outcome, step }: SentCharge,
): Promise<Error> {
  countOpenCharge(mode, 'in_doubt');
  const doubt = { checkAfterMs: firstCheckMs, interrupted: step === 'wait_as_interrupted' };
  await recordResult(charging, intent, ({ db }) => markInDoubt(db, intent, doubt));
  return isRefusedCall(outcome) ? refusedInDoubt('charge') : gatewayError('charge');
}

/** The charge waits for the customer, who has half an hour. If another process has recorded something else, that counts. */
async function leadToBank(
  charging: Charging,
  { mode, clockOffsetMs }: OrderState,
  { intent, outcome }: SentCharge,
): Promise<Error> {
  if (outcome.outcome !== 'needs_customer') throw new Error('the customer is not needed');
  countOpenCharge(mode, 'with_customer');
  const realMs = charging.clock.nowMs();
  const withinMs = Math.max(0, Math.min(customerMs, (outcome.expiresAtMs ?? Number.POSITIVE_INFINITY) - realMs));
  const until = new Date(realMs + withinMs + clockOffsetMs);
  const step = { until, withinMs, sealed: sealStep(charging, intent, outcome) };
  await recordResult(charging, intent, ({ db }) => markWithCustomer(db, intent, step));
  failpoint('bank.after_step');
  return customerAsked();
}

/** Whether the processor rejected the credentials, even if an earlier call may have executed the charge. */
function isRefusedCall(outcome: VaultOutcome): boolean {
  return 'refusesCredentials' in outcome && outcome.refusesCredentials;
}

/** What a charge waits for: whether the merchant can end that, and how soon it is looked at again. */
const waits = {
  wait_for_service: { waitsFor: 'service', checkAfterMs: resendDelayMs },
  wait_for_request: { waitsFor: 'service', checkAfterMs: repeatWithinMs },
  wait_for_credentials: { waitsFor: 'credentials', checkAfterMs: correctedDelayMs },
  wait_for_connection: { waitsFor: 'connection', checkAfterMs: correctedDelayMs },
} as const;

/** The charge may have been executed before the restore, so it is neither sent elsewhere nor recorded as failed. */
async function waitForComparison(charging: Charging, { mode }: OrderState, { intent }: SentCharge): Promise<Error> {
  countOpenCharge(mode, 'waiting');
  const checkAfterMs = intent.cause === 'renewal' ? correctedDelayMs : repeatWithinMs;
  await recordResult(charging, intent, ({ db }) => markWaiting(db, intent, { waitsFor: 'service', checkAfterMs }));
  return notCompared('charge');
}

const awaited: Readonly<Record<Wait['waitsFor'], string>> = {
  service: 'the vault',
  credentials: 'the merchant',
  connection: 'the merchant',
};

/** Leaves the sale to be sent later, see `resend.ts`. */
async function waitLater(
  charging: Charging,
  { mode }: OrderState,
  { intent, outcome, step }: SentCharge,
): Promise<Error> {
  countOpenCharge(mode, 'waiting');
  const waiting = waits[step as keyof typeof waits];
  const { company_id, order_id, id } = intent;
  const reason = 'reason' in outcome ? outcome.reason : 'the processor refuses the credentials of the connection';
  charging.log.warn(
    { company_id, order_id, transaction_id: id, reason },
    `the charge was not sent; it waits for ${awaited[waiting.waitsFor]}`,
  );
  await recordResult(charging, intent, ({ db }) => markWaiting(db, intent, waiting));
  return outcome.outcome === 'unavailable' ? vaultUnavailable('charge', { unfinished: true }) : misconfigured();
}

/** A retry that was not sent leaves the order as it was: nothing counts as an attempt. */
async function abandonRetry(
  charging: Charging,
  { order, mode, clockOffsetMs }: OrderState,
  { intent, outcome }: SentCharge,
): Promise<Error> {
  countOpenCharge(mode, 'waiting');
  const redemptionId = redemptionIdOf(order);
  const nowMs = charging.clock.nowMs() + clockOffsetMs;
  const discarded = await recordResult(charging, order, ({ db }) =>
    db.transaction(async (transaction) => {
      if (!(await discardUnexecuted(transaction, intent))) return false;
      await releaseCredit(transaction, order, { type: 'order_failed', nowMs });
      if (redemptionId === undefined) return true;
      const end = { company_id: order.company_id, id: redemptionId, order_id: order.id, redeemed: false };
      await closeRedemptions(transaction, [end]);
      return true;
    }),
  );
  if (!discarded || outcome.outcome !== 'unavailable') return gatewayError('charge');
  return vaultUnavailable('charge', { unfinished: false });
}
