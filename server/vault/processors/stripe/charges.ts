import { jsonOf } from '../exchange.ts';
import type {
  ChargeRequest,
  LookupOutcome,
  LookupRequest,
  Outcome,
  Preparation,
  ResumeOutcome,
  ResumeRequest,
} from '../processor.ts';
import { amountAtStripe } from './amounts.ts';
import * as answers from './answers.ts';
import type { Client, UsedCard } from './client.ts';
import { idOf, readIntent, readList, readNamed } from './objects.ts';
import * as requests from './requests.ts';
import * as saved from './saved-cards.ts';

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

export async function prepare(client: Client, request: ChargeRequest): Promise<Preparation> {
  const { prepared } = client;
  const { currency } = request;
  const amount = amountAtStripe(request.amount, currency);
  if (amount === undefined) {
    const failureReason = `Stripe cannot charge this amount in ${currency.toUpperCase()}.`;
    return { outcome: 'not_sent', reason: failureReason, failureCode: 'validation_error', failureReason };
  }
  const card = await saved.cardFor(client, request);
  if ('outcome' in card) return card;
  const made = await newIntent(client, request, amount, card);
  if ('outcome' in made) return made.outcome === 'conflict' ? conflictUnder(client, request) : made;
  if (!made.isReplay) prepared.set(made.id, made.card);
  for (const oldest of prepared.keys()) {
    if (prepared.size <= preparedMax) break;
    prepared.delete(oldest);
  }
  return { outcome: 'prepared', handle: made.id };
}

type Refused = Exclude<Preparation, { outcome: 'prepared' }>;
type NewIntent = { readonly id: string; readonly isReplay: boolean; readonly card: UsedCard } | Refused;

/** Prepares a payment for the card, and again if the customer of the card was deleted at Stripe. */
async function newIntent(
  client: Client,
  request: ChargeRequest,
  amount: number,
  card: UsedCard,
  replaces?: string,
): Promise<NewIntent> {
  const { reference, currency } = request;
  const customer = card.customer === undefined ? undefined : { id: card.customer, replaces };
  const { authorizesOnly } = request;
  const answer = await client.send(
    requests.createIntent(reference, amount, currency, customer, client.descriptor, authorizesOnly),
  );
  if (customer && replaces === undefined && saved.isWithoutCustomer(answer)) {
    const again = await saved.cardWithNewCustomer(client, request, customer.id);
    return 'outcome' in again ? again : newIntent(client, request, amount, again, customer.id);
  }
  const made = answers.created(answer, 'payment_intent');
  if (!('outcome' in made)) return { ...made, card };
  if (made.outcome !== 'conflict' || !customer) return made;
  // An earlier sending may have prepared the payment without saving the card.
  const without = answers.created(
    await client.send(requests.createIntent(reference, amount, currency, undefined, client.descriptor, authorizesOnly)),
    'payment_intent',
  );
  // Its card is chosen when it is confirmed, by what the intent says about the customer.
  return 'outcome' in without ? made : { ...without, isReplay: true, card };
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
 * The card for an intent that is not confirmed, or the outcome of one that is. An intent that this process has not just
 * created may have been confirmed by another, and its keys may have expired since.
 */
async function cardForIntent(
  client: Client,
  request: ChargeRequest,
  sent: answers.SentCharge & { readonly handle: string },
): Promise<UsedCard | Outcome> {
  const card = client.prepared.get(sent.handle);
  client.prepared.delete(sent.handle);
  if (card !== undefined) return card;
  const answer = await client.send(requests.getIntent(sent.handle));
  // This call executes nothing. Whether an earlier one did, the caller knows.
  const refused = answers.refusedKey(answer);
  if (refused) return refused;
  const standing = answers.intentStanding(answer, sent);
  if (standing.outcome === 'canceled') return answers.cancelled;
  if (standing.outcome !== 'unconfirmed') return standing;
  const asked = request.presence && answers.neededCustomer(standing);
  if (asked) return asked;
  const intent = 'reason' in answer ? undefined : readIntent(jsonOf(answer));
  return saved.cardOfIntent(client, request, idOf(intent?.customer));
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
  const used = await cardForIntent(client, request, sent);
  if ('outcome' in used) return used;
  const outcome = await confirm(client, request, sent, used);
  if (outcome) return outcome;
  const standing = await standingOf(client, handle, sent);
  if (standing.outcome === 'canceled') return answers.cancelled;
  if (standing.outcome !== 'unconfirmed') return standing;
  const asked = request.presence && answers.neededCustomer(standing);
  if (asked) return asked;
  return standing.wantsCustomer ? withoutCustomer(client, sent) : answers.unknown('the payment may still be confirmed');
}

/** The bank waits for a confirmation by the customer that never comes. Cancelled, it cannot come later either. */
async function withoutCustomer(
  { send }: Client,
  sent: answers.SentCharge & { readonly handle: string },
): Promise<Outcome> {
  const standing = answers.intentStanding(await send(requests.cancelIntent(sent.handle)), sent);
  if (standing.outcome === 'canceled') return answers.unauthenticated(sent.handle);
  return standing.outcome === 'unconfirmed' || standing.outcome === 'unknown'
    ? answers.unknown('the payment waits for the customer, and could not be cancelled yet')
    : standing;
}

/** Returns undefined if the answer proves nothing, but the state of the payment will. */
async function confirm(
  client: Client,
  request: ChargeRequest,
  sent: answers.SentCharge & { readonly handle: string },
  card: UsedCard,
  attempt: 'first' | 'again' = 'first',
): Promise<Outcome | undefined> {
  await saved.attachBefore(client, request, card);
  if (isExpired(client, request.validUntilMs)) return expired(client);
  const confirmation = requests.confirmIntent(sent.handle, card.method, request, card.use, attempt);
  const answer = await client.send(confirmation, request.validUntilMs);
  if (card.use === 'saved' && card.customer !== undefined && saved.isWithoutMethod(answer)) {
    const again = await saved.cardSavedAgain(client, request, card.customer);
    return 'outcome' in again ? again : confirm(client, request, sent, again, 'again');
  }
  if (card.customer !== undefined && saved.isWithoutCustomer(answer)) return saved.withoutCustomer;
  const asked = answers.neededCustomer(answers.intentStanding(answer, sent));
  if (asked && request.presence) return asked;
  return explained(client, sent, await savedBy(request, card, answers.confirmOutcome(answer, sent)));
}

/** An approved charge saves the card. */
async function savedBy(
  request: ChargeRequest,
  card: UsedCard,
  outcome: Outcome | undefined,
): Promise<Outcome | undefined> {
  if (outcome?.outcome === 'approved') await saved.keepSaved(request, card);
  return outcome;
}

/** Who has declined, Radar or the bank. Without an answer, the decline stands as it is. */
async function explained(
  client: Client,
  sent: answers.SentCharge & { readonly handle: string },
  outcome: Outcome | undefined,
): Promise<Outcome | undefined> {
  if (!answers.mayBeBlocked(outcome)) return outcome;
  const standing = await standingOf(client, sent.handle, sent);
  return standing.outcome === 'declined' ? standing : outcome;
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
    const executed = await executedOf(client, { ...about, handle: intent });
    if (executed?.outcome === 'approved') return executed;
    if (executed) results.push(executed);
  }
  // Unconfirmed intents stay: a charge with the same reference gets the same intent by its key.
  return results.find(({ outcome }) => outcome === 'unknown') ?? results[0] ?? { outcome: 'not_found' };
}

/**
 * Undefined for a payment that has moved no money. One whose customer is at the bank is cancelled, because the customer could
 * confirm it later.
 */
async function executedOf(
  client: Client,
  about: answers.SentCharge & { readonly handle: string },
): Promise<LookupOutcome | undefined> {
  const standing = await standingOf(client, about.handle, about);
  const isAtBank = standing.outcome === 'unconfirmed' && standing.wantsCustomer;
  if (!isAtBank) return answers.executedOnly(standing);
  const ended = await lookupHandle(client, about.handle, about);
  return ended.outcome === 'not_found' ? undefined : ended;
}

/** The customer may still be at the bank, so nothing is cancelled. What the browser brought proves nothing. */
export async function resume(client: Client, request: ResumeRequest): Promise<ResumeOutcome> {
  const { reference, sent, handle } = request;
  if (handle === undefined) return answers.unknown('the payment is not known');
  const standing = await standingOf(client, handle, { reference, handle, money: sent, last4: sent?.last4 });
  if (standing.outcome === 'canceled') return { outcome: 'not_found', isFinal: true };
  if (standing.outcome !== 'unconfirmed') return standing;
  return standing.wantsCustomer ? { outcome: 'needs_customer' } : answers.unknown('the payment may still be confirmed');
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
