import { failpoint } from '../../platform/failpoints.ts';
import { closeRedemptions } from '../coupons/service.ts';
import type { Charging } from './charging.ts';
import { countOpenCharge } from './counting.ts';
import {
  gatewayError,
  misconfigured,
  refusedAfterRestore,
  refusedInDoubt,
  unansweredAfterRestore,
  usedByAnother,
  vaultUnavailable,
} from './errors.ts';
import { aboutCharge, connectionOf } from './connection.ts';
import { discardUnexecuted, markInDoubt, markWaiting, type OpenKey, startSending } from './open-queries.ts';
import type { ChargeCause } from './operation-moves.ts';
import { type OrderRow, type OrderState, toWire } from './order.ts';
import { type ExecutedElsewhere, findElsewhere, mayBeForgotten } from './other-connections.ts';
import { findOrder } from './queries.ts';
import { homeOf, recordResult } from './record-result.ts';
import { isKeyed, referencesAfter, sentAs } from './reference.ts';
import { type OpenedSale, redemptionIdOf, type Sale } from './sales.ts';
import type { Order } from './schemas.ts';
import { isUnexecuted, refusesCredentials, send, type Sent, unlessInDoubt } from './sending.ts';
import { firstCheckMs, lockMs, correctedDelayMs, repeatWithinMs, resendDelayMs } from './timing.ts';
import type { NotAsked } from '../../vault/charges.ts';
import type { VaultOutcome } from '../../vault/vault.ts';

/** The names of the failpoints of a charge. */
const failpoints = {
  order: 'charge',
  first_charge: 'renewal',
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
  const { order } = state;
  const { cause } = sale;
  const isFirst = failed.length === 0;
  failpoint(`${failpoints[cause]}.after_intent`);
  const sent = await unlessInDoubt(charging, state, await sendCharge(charging, state, sale, atMs, failed));
  failpoint(`${failpoints[cause]}.after_processor`);
  if (!sent) return currentOrder(charging, order, sale.id);
  const { intent, outcome } = sent;
  if (cause === 'renewal' && isFirst && isMisconfigured(outcome)) {
    countOpenCharge(state.mode, 'waiting');
    throw await waitForMerchant(charging, intent, outcome);
  }
  if (outcome.outcome === 'unavailable') {
    countOpenCharge(state.mode, 'waiting');
    throw cause === 'retry' || !isFirst
      ? await abandonRetry(charging, order, intent, outcome)
      : await waitForVault(charging, intent, outcome);
  }
  const isRefused = outcome.outcome === 'conflict' && isKeyed(sale);
  if (outcome.outcome === 'unknown' || (outcome.outcome === 'conflict' && !isRefused)) {
    countOpenCharge(state.mode, 'in_doubt');
    const isRefusal = isRefusedCall(outcome);
    // If the lookup says that nothing was executed, a renewal is sent again: the bank has declined nothing.
    const interrupted = isRefusal || (outcome.outcome === 'unknown' && outcome.isInterrupted === true);
    const doubt = { checkAfterMs: firstCheckMs, interrupted };
    await recordResult(charging, intent, ({ db }) => markInDoubt(db, intent, doubt));
    throw isRefusal ? refusedInDoubt('charge') : gatewayError('charge');
  }
  const nowMs = atMs ?? charging.clock.nowMs() + state.clockOffsetMs;
  const charged = {
    state,
    sale: intent,
    outcome,
    nowMs,
    replacesAnswer: !isFirst,
    unexecuted: isUnexecuted(outcome),
  };
  const recorded = await recordResult(charging, intent, (home) => home.recordOutcome(charged));
  failpoint(`${failpoints[cause]}.after_record`);
  if (isRefused) throw usedByAnother();
  const isFault = outcome.outcome === 'declined' && outcome.isProcessorFault && !refusesCredentials(outcome);
  // A lost order with this key may have been paid elsewhere, under a reference that is derived from its own ID.
  const mayBePaid = isKeyed(sale) && mayBeForgotten(charging, sale);
  if (recorded && isFault && !mayBePaid && intent.connection_id !== null) {
    const home = await homeOf(charging, order);
    const next = await home.chargeElsewhere(state, intent, [...failed, intent.connection_id], atMs);
    if (next) return next;
  }
  return recorded ?? currentOrder(charging, order, sale.id);
}

/** Whether only the merchant's configuration is wrong: nothing was executed, and the card was not declined. */
function isMisconfigured(outcome: VaultOutcome): boolean {
  return (
    refusesCredentials(outcome) ||
    (outcome.outcome === 'unavailable' && outcome.refusesCredentials === true) ||
    (outcome.outcome === 'not_sent' && outcome.failureCode === 'invalid_merchant_configuration')
  );
}

/** Whether the processor rejected the credentials, even if an earlier call may have executed the charge. */
function isRefusedCall(outcome: VaultOutcome): boolean {
  return 'refusesCredentials' in outcome && outcome.refusesCredentials;
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
): Promise<Sent<OpenedSale & OpenKey> | undefined> {
  const { order, card, mode } = state;
  const { company_id, id: order_id, currency } = order;
  let intent = { ...sale, company_id, order_id };
  const lookFirst = charging.restores?.looksFirst() ?? false;
  const later = lookFirst && sale.numbered ? referencesAfter(company_id, sale.numbered) : [];
  const isForgotten = mode === 'live' && mayBeForgotten(charging, sale);
  const elsewhereThan = async (
    used: string | undefined,
  ): Promise<Sent<OpenedSale & OpenKey> | undefined | 'nowhere'> => {
    const found = isForgotten ? await findElsewhere(charging, { ...intent, currency }, used, later) : undefined;
    if (!found) return 'nowhere';
    return found.kind === 'not_asked' ? { intent, outcome: found.outcome } : moveTo(charging, intent, found);
  };
  if (!card) {
    const found = await elsewhereThan(undefined);
    if (found !== 'nowhere') return found;
    return { intent, outcome: { outcome: 'not_sent', reason: 'the card was deleted', failureCode: 'invalid_account' } };
  }
  const { billing: _, ...chargedCard } = card;
  const about = { ...aboutCharge(sale.cause, state, card), ...timeFor(charging, state, atMs) };
  const looked = { lookFirst, ...(lookFirst && { restoredAgoMs: charging.restores?.noticedAgoMs() ?? 0 }) };
  const candidates = mode === 'live' ? await candidatesOf(charging, state, sale, failed) : [];
  const [first] = candidates;
  if (first !== undefined && first !== intent.connection_id) {
    const there = { connectionId: first };
    const moved = await recordResult(charging, intent, ({ db }) => startSending(db, intent, there, lockMs[mode]));
    if (!moved) return undefined;
    intent = { ...intent, ...moved };
  }
  const elsewhere = await elsewhereThan(first);
  if (elsewhere !== 'nowhere') return elsewhere;
  if (mode === 'live' && first === undefined) return { intent, outcome: takenByNone(charging, intent, currency) };
  return await send(charging, {
    mode,
    intent,
    numbered: sale.numbered,
    next: ({ connection_id }) => candidates[candidates.indexOf(connection_id ?? '') + 1],
    call: async (sending) => {
      const { reference, validUntilMs, amount, connection_id } = sending;
      const laterReferences = later.slice(later.indexOf(reference) + 1);
      const looking = { ...looked, ...(laterReferences.length > 0 && { laterReferences }) };
      const operation = { companyId: company_id, mode, reference, validUntilMs, ...looking, ...connectionOf(sending) };
      const outcome = await charging.vault.charge({ ...operation, ...about, card: chargedCard, amount, currency });
      if (connection_id !== null) {
        charging.connections.note({ companyId: company_id, connectionId: connection_id }, outcome);
      }
      return outcome;
    },
  });
}

async function moveTo<Intent extends OpenedSale & OpenKey>(
  charging: Charging,
  intent: Intent,
  { connectionId, reference, found }: ExecutedElsewhere,
): Promise<Sent<Intent> | undefined> {
  const there = { connectionId, isResolved: true, ...sentAs(intent.company_id, intent.numbered, reference) };
  const moved = await recordResult(charging, intent, ({ db }) => startSending(db, intent, there, lockMs.live));
  return moved && { intent: { ...intent, ...moved, reference }, outcome: found };
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
): Sent<unknown>['outcome'] {
  const reason = `no connected processor takes ${currency} with ${card_brand}`;
  log.warn({ company_id, order_id, reason }, 'the charge was not sent');
  const failureReason = `No connected processor takes ${currency.toUpperCase()} with this card brand.`;
  return { outcome: 'not_sent', reason, failureCode: 'invalid_merchant_configuration', failureReason };
}

/**
 * Returns the order after another process recorded the outcome first. That process called the same processor with the
 * same reference.
 */
async function currentOrder(charging: Charging, order: OrderRow, saleId: string): Promise<Order> {
  const { company_id, id } = order;
  const { db } = await homeOf(charging, order);
  const now = await findOrder(db, company_id, id);
  const sale = now?.transactions.find((one) => one.id === saleId);
  if (!now || !sale) throw new Error('the charge is missing');
  // Its place may have been taken by another sale, see `interrupted.ts`.
  if (now.transactions.some(({ type, status }) => type === 'sale' && status === 'in_progress')) {
    throw gatewayError('charge');
  }
  return toWire(now);
}

const awaited = { credentials: 'the merchant', processor: 'a processor', service: 'the vault' } as const;

/** Leaves the sale to be sent later, see `resend.ts`. Returns the error for the request. */
async function waitForVault(
  charging: Charging,
  open: OpenKey & Pick<Sale, 'cause'>,
  outcome: NotAsked,
): Promise<Error> {
  const { company_id, order_id, id, cause } = open;
  const { reason, awaitsProcessor = false } = outcome;
  const isRefused = isRefusedCall(outcome);
  const waitsFor = isRefused ? 'credentials' : awaitsProcessor ? 'processor' : 'service';
  charging.log.warn(
    { company_id, order_id, transaction_id: id, reason },
    `the charge was not sent; it waits for ${awaited[waitsFor]}`,
  );
  const resentAfterMs = awaitsProcessor ? correctedDelayMs : resendDelayMs;
  const waiting = { waitsFor, checkAfterMs: cause === 'renewal' ? resentAfterMs : repeatWithinMs } as const;
  await recordResult(charging, open, ({ db }) => markWaiting(db, open, waiting));
  return notSentYet(outcome, true);
}

/** Leaves a renewal to be sent again, until the merchant has corrected the connection. Returns the error for the log. */
async function waitForMerchant(charging: Charging, open: OpenKey, outcome: VaultOutcome): Promise<Error> {
  const { company_id, order_id, id } = open;
  const reason = 'reason' in outcome ? outcome.reason : 'the processor refuses the credentials of the connection';
  charging.log.warn({ company_id, order_id, transaction_id: id, reason }, 'the renewal waits for the merchant');
  const waitsFor = isRefusedCall(outcome) ? 'credentials' : 'connection';
  const waiting = { waitsFor, checkAfterMs: correctedDelayMs } as const;
  await recordResult(charging, open, ({ db }) => markWaiting(db, open, waiting));
  return misconfigured();
}

/** A retry that was not sent leaves the order as it was: nothing counts as an attempt. */
async function abandonRetry(charging: Charging, order: OrderRow, open: OpenKey, outcome: NotAsked): Promise<Error> {
  const redemptionId = redemptionIdOf(order);
  const discarded = await recordResult(charging, order, ({ db }) =>
    db.transaction(async (transaction) => {
      if (!(await discardUnexecuted(transaction, open))) return false;
      if (redemptionId === undefined) return true;
      const end = { company_id: order.company_id, id: redemptionId, order_id: order.id, redeemed: false };
      await closeRedemptions(transaction, [end]);
      return true;
    }),
  );
  return discarded ? notSentYet(outcome, false) : gatewayError('charge');
}

function notSentYet(outcome: NotAsked, unfinished: boolean): Error {
  if (isRefusedCall(outcome)) return refusedAfterRestore('charge', { unfinished });
  if (outcome.awaitsProcessor) return unansweredAfterRestore('charge', { unfinished });
  return vaultUnavailable('charge', { unfinished });
}
