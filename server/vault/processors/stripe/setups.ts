import { type Answer, jsonOf, type Silence } from '../exchange.ts';
import type { EndSetUp, ResumeSetUp, SetUpOutcome, SetUpRequest } from '../setup.ts';
import { refusedKey, unclear } from './answers.ts';
import { authenticationFailed, authenticationIn, redirectIn } from './authentication.ts';
import { isExpired } from './charges.ts';
import type { Client } from './client.ts';
import { authentication, avsOf, cvvOf, meaningOf, notConfirmed } from './codes.ts';
import { declinedAs, declinedBy } from './declines.ts';
import { idOf, objectOf, type PaymentError, readError, type SetupIntent } from './objects.ts';
import { cancelSetupIntent, createSetupIntent, getSetupIntent } from './setup-requests.ts';
import { newMethod, savedFor, tokenOf } from './saved-cards.ts';
import { checksOf, setupIntentIn } from './verifications.ts';

/** Saves cards without a payment. The customer confirms it with the bank, so that the merchant can charge the card later. */

const notSent = (reason: string): SetUpOutcome => ({ outcome: 'not_sent', reason });
const unknown = (reason: string): SetUpOutcome => ({ outcome: 'unknown', reason });

type Refused = Exclude<Awaited<ReturnType<typeof newMethod>>, { readonly id: string }>;

function refusedCard(refused: Refused): SetUpOutcome {
  if (refused.outcome === 'declined') return refused;
  return notSent('reason' in refused ? refused.reason : 'Stripe did not take the card');
}

export async function setUp(client: Client, request: SetUpRequest): Promise<SetUpOutcome> {
  const { reference, presence, startsSeries = false, validUntilMs, savedCard } = request;
  if (isExpired(client, validUntilMs)) return notSent('the request has expired');
  const [method, saved] = await Promise.all([newMethod(client, request), savedFor(client, savedCard)]);
  if ('outcome' in method) return refusedCard(method);
  if (!saved) return notSent('Stripe did not create the customer of the card');
  const about = { customer: saved.customer, returnUrl: presence.returnUrl, startsSeries };
  const answer = await client.send(createSetupIntent(reference, saved.method ?? method.id, about), validUntilMs);
  return (await concluded(client, request, answer)) ?? rejected(answer);
}

export async function resumeSetUp(client: Client, request: ResumeSetUp): Promise<SetUpOutcome> {
  const answer = await client.send(getSetupIntent(request.handle));
  return (await concluded(client, request, answer)) ?? unknown(unclear(answer));
}

/** What was confirmed before stays confirmed. */
export async function endSetUp(client: Client, request: EndSetUp): Promise<SetUpOutcome> {
  const found = await concluded(client, request, await client.send(cancelSetupIntent(request.handle)));
  if (found && found.outcome !== 'needs_customer' && found.outcome !== 'unknown') return found;
  const again = await resumeSetUp(client, request);
  return again.outcome === 'needs_customer' ? unknown('the SetupIntent could not be cancelled yet') : again;
}

/** What the SetupIntent says; the card is kept when it is saved. Undefined if the answer shows none. */
async function concluded(
  client: Client,
  request: Pick<SetUpRequest, 'reference' | 'savedCard'>,
  answer: Answer | Silence,
): Promise<SetUpOutcome | undefined> {
  if ('reason' in answer) return answer.mayHaveArrived ? unknown(answer.reason) : notSent(answer.reason);
  const intent = setupIntentIn(answer, request.reference);
  if (!intent) return undefined;
  const found = standingOf(intent);
  const [customer, method] = [idOf(intent.customer), idOf(intent.payment_method)];
  if (found.outcome === 'set_up' && customer !== null && method !== null) {
    await request.savedCard?.keep(tokenOf({ customer, method })).catch(() => false);
  }
  const isStuck = intent.status === 'requires_action' && found.outcome === 'declined';
  if (isStuck) await client.send(cancelSetupIntent(intent.id));
  return found;
}

/** No SetupIntent was made. */
function rejected(answer: Answer | Silence): SetUpOutcome {
  if ('reason' in answer) return unknown(answer.reason);
  const refused = refusedKey(answer);
  if (refused) return refused;
  const error = [400, 402].includes(answer.status) ? readError(jsonOf(answer)) : undefined;
  return error ? declinedBy(error) : unknown(unclear(answer));
}

const declinedFor = (error: PaymentError): SetUpOutcome => ({
  ...declinedBy(error),
  ...(meaningOf(error.code) === notConfirmed && authenticationFailed),
});

function standingOf(intent: SetupIntent): SetUpOutcome {
  const { id, status, latest_attempt, last_setup_error, next_action } = intent;
  if (status === 'canceled') return { outcome: 'ended' };
  if (status === 'requires_payment_method' && last_setup_error) return declinedFor(last_setup_error);
  if (status === 'requires_action') {
    const action = redirectIn(next_action);
    return action ? { outcome: 'needs_customer', handle: id, action } : declinedAs(authentication, {});
  }
  if (status !== 'succeeded') return unknown(`the SetupIntent is ${status}`);
  const checks = checksOf(intent);
  const card = objectOf(latest_attempt)?.payment_method_details?.card;
  return {
    outcome: 'set_up',
    networkTransactionId: null,
    avsResult: avsOf(checks),
    cvvResult: cvvOf(checks),
    ...authenticationIn(card),
  };
}
