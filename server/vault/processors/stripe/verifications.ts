import { type Answer, jsonOf, type Silence } from '../exchange.ts';
import type { Preparation, Verification, VerifyRequest } from '../processor.ts';
import { created, unclear, unknown } from './answers.ts';
import { isExpired } from './charges.ts';
import type { Client } from './client.ts';
import { avsOf, cvvOf, meaningOf } from './codes.ts';
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

/** The card was rejected before it could be verified. */
function refusedVerification(refused: Exclude<Preparation, { outcome: 'prepared' }>): Verification {
  if (refused.outcome !== 'declined' || refused.isProcessorFault) return unknown('Stripe did not verify the card');
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

export function verificationOf(answer: Answer | Silence, reference: string): Verification {
  if ('reason' in answer) return unknown(answer.reason);
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
