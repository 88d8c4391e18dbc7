import { jsonOf } from '../exchange.ts';
import type { ChargeRequest, LookupOutcome, LookupRequest, Outcome, Preparation } from '../processor.ts';
import { amountAtStripe } from './amounts.ts';
import * as answers from './answers.ts';
import type { Client } from './client.ts';
import { readList, readNamed } from './objects.ts';
import * as requests from './requests.ts';

/** Prepares, confirms and finds payments. */

/** Handles that wait to be charged by this process. */
const preparedMax = 1_000;

export const expired = ({ clock }: Client): Outcome => ({ outcome: 'expired', nowMs: clock.nowMs() });
export const isExpired = ({ clock }: Client, validUntilMs: number): boolean => clock.nowMs() >= validUntilMs;

async function standingOf({ send }: Client, handle: string, about: answers.SentCharge) {
  return answers.intentStanding(await send(requests.getIntent(handle)), about);
}

/** Finds payments by our reference. The search of Stripe lags, so it proves nothing if it finds none. */
async function search(
  { send }: Client,
  reference: string,
): Promise<{ readonly ids: readonly string[] } | ReturnType<typeof answers.unanswered>> {
  const answer = await send(requests.searchIntents(reference));
  const list = 'reason' in answer || answer.status !== 200 ? undefined : readList(jsonOf(answer));
  if (!list) return answers.unanswered(answer);
  return { ids: list.data.map(readNamed).flatMap((found) => (found ? [found.id] : [])) };
}

async function createMethod({ send }: Client, { reference, card, billing }: ChargeRequest) {
  return answers.created(await send(requests.createPaymentMethod(reference, card, billing)), 'payment_method');
}

export async function prepare(client: Client, request: ChargeRequest): Promise<Preparation> {
  const { send, prepared } = client;
  const { reference, currency } = request;
  const amount = amountAtStripe(request.amount, currency);
  if (amount === undefined) {
    const failureReason = `Stripe cannot charge this amount in ${currency.toUpperCase()}.`;
    return { outcome: 'not_sent', reason: failureReason, failureCode: 'validation_error', failureReason };
  }
  const method = await createMethod(client, request);
  if ('outcome' in method) return method;
  const intent = answers.created(await send(requests.createIntent(reference, amount, currency)), 'payment_intent');
  if ('outcome' in intent) return intent.outcome === 'conflict' ? conflictUnder(client, request) : intent;
  if (!intent.isReplay) prepared.set(intent.id, method.id);
  for (const oldest of prepared.keys()) {
    if (prepared.size <= preparedMax) break;
    prepared.delete(oldest);
  }
  return { outcome: 'prepared', handle: intent.id };
}

/** Another amount was prepared with this reference. Whether it was charged is of interest to the caller. */
async function conflictUnder(client: Client, { companyId, reference }: ChargeRequest): Promise<Preparation> {
  const found = await lookupCharge(client, { companyId, reference });
  if (found.outcome === 'conflict') return found;
  if (found.outcome !== 'approved' && found.outcome !== 'declined') return { outcome: 'conflict' };
  const { outcome, executed } = found;
  return { outcome: 'conflict', approved: outcome === 'approved', ...(executed && { executed }) };
}

/**
 * The payment method for an intent that is not confirmed, or the outcome of one that is. An intent that this process
 * has not just created may have been confirmed by another, and its keys may have expired since.
 */
async function methodFor(
  client: Client,
  request: ChargeRequest,
  sent: answers.SentCharge & { readonly handle: string },
): Promise<{ readonly id: string } | Outcome> {
  const method = client.prepared.get(sent.handle);
  client.prepared.delete(sent.handle);
  if (method !== undefined) return { id: method };
  const answer = await client.send(requests.getIntent(sent.handle));
  // This call executes nothing. Whether an earlier one did, the caller knows.
  const refused = answers.refusedKey(answer);
  if (refused) return refused;
  const standing = answers.intentStanding(answer, sent);
  if (standing.outcome === 'canceled') return answers.cancelled;
  return standing.outcome === 'unconfirmed' ? createMethod(client, request) : standing;
}

export async function charge(client: Client, request: ChargeRequest): Promise<Outcome> {
  const { reference, card, amount, currency, validUntilMs } = request;
  if (isExpired(client, validUntilMs)) return expired(client);
  const preparation: Preparation = request.handle
    ? { outcome: 'prepared', handle: request.handle }
    : await prepare(client, request);
  if (preparation.outcome !== 'prepared') return preparation;
  const { handle } = preparation;
  const sent = { reference, handle, money: { amount, currency }, last4: card.number.last4 };
  const method = await methodFor(client, request, sent);
  if ('outcome' in method) return method;
  if (isExpired(client, validUntilMs)) return expired(client);
  const answer = await client.send(requests.confirmIntent(handle, method.id, request), validUntilMs);
  const outcome = answers.confirmOutcome(answer, sent);
  if (outcome) return outcome;
  const standing = await standingOf(client, handle, sent);
  if (standing.outcome === 'canceled') return answers.cancelled;
  return standing.outcome === 'unconfirmed' ? answers.unknown('the payment may still be confirmed') : standing;
}

export async function lookupCharge(client: Client, request: LookupRequest): Promise<LookupOutcome> {
  const { reference, sent } = request;
  const handle = request.handle ?? request.chargeTransactionId;
  const about = { reference, money: sent, last4: sent?.last4 };
  if (handle) return lookupHandle(client, handle, { ...about, handle });
  const found = await search(client, reference);
  if ('outcome' in found) return found;
  const results: LookupOutcome[] = [];
  for (const intent of found.ids) {
    const executed = answers.executedOnly(await standingOf(client, intent, { ...about, handle: intent }));
    if (executed?.outcome === 'approved') return executed;
    if (executed) results.push(executed);
  }
  // Unconfirmed intents stay: a charge with the same reference gets the same intent by its key.
  return results.find(({ outcome }) => outcome === 'unknown') ?? results[0] ?? { outcome: 'not_found' };
}

/** An intent without a confirmation is cancelled: then it can never be charged. */
async function lookupHandle(client: Client, handle: string, about: answers.SentCharge): Promise<LookupOutcome> {
  const never: LookupOutcome = { outcome: 'not_found', isFinal: true };
  const first = await standingOf(client, handle, about);
  if (first.outcome === 'canceled') return never;
  if (first.outcome !== 'unconfirmed') return first;
  client.prepared.delete(handle);
  const cancelling = answers.intentStanding(await client.send(requests.cancelIntent(handle)), about);
  if (cancelling.outcome === 'canceled') return never;
  const second = await standingOf(client, handle, about);
  if (second.outcome === 'canceled') return never;
  return second.outcome === 'unconfirmed' ? answers.unknown('the payment could not be cancelled yet') : second;
}

/** The intent of a charge: null if Stripe does not find it, undefined if Stripe could not be asked. */
export async function intentOf(
  client: Client,
  { chargeReference, chargeTransactionId }: Pick<LookupRequest, 'chargeReference' | 'chargeTransactionId'>,
): Promise<string | null | undefined> {
  if (chargeTransactionId || !chargeReference) return chargeTransactionId ?? null;
  const found = await search(client, chargeReference);
  if ('outcome' in found) return undefined;
  // After 24 hours a reference can have several intents; only the one that was charged can be refunded.
  let isCertain = true;
  for (const intent of found.ids) {
    const standing = await standingOf(client, intent, { reference: chargeReference });
    if (standing.outcome === 'approved') return intent;
    if (standing.outcome === 'unknown') isCertain = false;
  }
  return isCertain ? null : undefined;
}
