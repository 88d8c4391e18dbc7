import { type Answer, jsonOf, type Silence } from '../exchange.ts';
import { accountRefusalIn } from '../account-refusal.ts';
import type { Preparation, Verification, VerifyRequest } from '../processor.ts';
import { created, isAboutKey, refusedKey, rejectionIn, unclear, unknown } from './answers.ts';
import { isExpired } from './charges.ts';
import type { Client } from './client.ts';
import { avsOf, cvvOf, meaningOf } from './codes.ts';
import { type Declined, declinedBy } from './declines.ts';
import { type Checks, objectOf, readError, readSetupIntent, type SetupIntent } from './objects.ts';
import { createPaymentMethod, referenceName } from './requests.ts';
import { createSetupIntent } from './setup-requests.ts';

/** Checks cards without charging them. */

export async function verify(
  client: Client,
  { reference, card, cvc, billing, validUntilMs }: VerifyRequest,
): Promise<Verification> {
  if (isExpired(client, validUntilMs)) return unknown('the request has expired');
  const request = createPaymentMethod(reference, card, billing, cvc.reveal());
  const method = created(await client.send(request), 'payment_method');
  if ('outcome' in method) return refusedVerification(method);
  return verificationOf(await client.send(createSetupIntent(reference, method.id)), reference);
}

const notVerified = unknown('Stripe did not verify the card');

/** The card was rejected before it could be verified. */
function refusedVerification(refused: Exclude<Preparation, { outcome: 'prepared' }>): Verification {
  if (refused.outcome !== 'declined') return notVerified;
  if (refused.isProcessorFault) return { ...notVerified, ...accountRefusalIn(refused) };
  const cvvResult = refused.failureCode === 'incorrect_cvv' ? 'N' : null;
  return { outcome: 'declined', avsResult: null, cvvResult, networkTransactionId: null };
}

/** An error shows the verification too. */
export function setupIntentIn(answer: Answer, reference: string): SetupIntent | undefined {
  const body = jsonOf(answer);
  const intent = readSetupIntent(answer.status === 200 ? body : readError(body)?.setup_intent);
  return intent?.metadata?.[referenceName] === reference ? intent : undefined;
}

/** Stripe shows the checks with the attempt, with the card, or with the error. */
export function checksOf({ latest_attempt, payment_method, last_setup_error }: SetupIntent): Checks | undefined {
  const method = objectOf(payment_method) ?? last_setup_error?.payment_method;
  return objectOf(latest_attempt)?.payment_method_details?.card?.checks ?? method?.card?.checks;
}

/** Stripe refuses the account or the key, so no bank has seen the card. */
function refusedAccount(answer: Answer): Declined | undefined {
  const error = rejectionIn(answer);
  const refused = refusedKey(answer) ?? (error && !isAboutKey(error) ? declinedBy(error) : undefined);
  return refused?.failureCode === 'invalid_merchant_configuration' ? refused : undefined;
}

export function verificationOf(answer: Answer | Silence, reference: string): Verification {
  if ('reason' in answer) return unknown(answer.reason);
  const refused = refusedAccount(answer);
  if (refused) return { ...notVerified, ...accountRefusalIn(refused) };
  const intent = setupIntentIn(answer, reference);
  if (!intent) return unknown(unclear(answer));
  const checks = checksOf(intent);
  const result = { avsResult: avsOf(checks), cvvResult: cvvOf(checks), networkTransactionId: null };
  if (answer.status === 200 && intent.status === 'succeeded') return { outcome: 'verified', ...result };
  const error = answer.status === 402 ? readError(jsonOf(answer)) : undefined;
  if (error?.type !== 'card_error') return unknown(`the verification is ${intent.status}`);
  const isWrongCvc = meaningOf(error.code)?.failureCode === 'incorrect_cvv';
  return { outcome: 'declined', ...result, ...(isWrongCvc && { cvvResult: 'N' }) };
}
