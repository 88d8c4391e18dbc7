import { CardNumber } from '../../card-number.ts';
import type { ChargeRequest, Outcome, Preparation, ProcessorCard } from '../processor.ts';
import { authorizationOutcomeOf, captureOutcomeOf, declined } from './answers.ts';
import { heldOutcomeOf } from './captures.ts';
import { cancel, captureChange, type Client, type Reply, send } from './client.ts';
import { type Authorization, readHandle } from './handle.ts';
import { type AdyenAmount, isSameAmount, toAdyen } from './money.ts';
import { authorizationOf, keyOf } from './requests.ts';

/** A charge is an authorization, which moves no money, and a capture. */

export const isLate = ({ clock }: Client, validUntilMs: number): boolean => clock.nowMs() >= validUntilMs;

export const expired = ({ clock }: Client) => ({ outcome: 'expired', nowMs: clock.nowMs() }) as const;

const amountNotTaken = 'Adyen does not take this amount in this currency.';
export const invalidAmount = declined(
  { name: 'Invalid amount', failureCode: 'validation_error' },
  { response_text: amountNotTaken },
);

/** An answer that repeats the card number is not read, so that the number reaches no outcome. */
export function withoutCard(reply: Reply, card: ProcessorCard): Reply {
  const isLeak = !('reason' in reply) && reply.text.includes(CardNumber.open(card.number));
  return isLeak ? { mayHaveArrived: true, reason: 'the response contains the card number' } : reply;
}

async function authorize(
  client: Client,
  request: ChargeRequest,
  amount: AdyenAmount,
  isRepeat: boolean,
): Promise<Preparation> {
  const { reference, card, cvc, presence } = request;
  const body = authorizationOf(request, client.merchantAccount, amount, client.descriptor);
  const reply = await client.post(['payments'], body, keyOf(reference));
  const found = authorizationOutcomeOf(
    withoutCard(reply, card),
    { reference, amount, hasCode: cvc !== undefined, isPresent: presence !== undefined },
    isRepeat,
  );
  return found.outcome === 'partial' ? withoutPart(client, reference, found.pspReference) : found;
}

/** A partial authorization is cancelled. */
export function withoutPart(client: Client, reference: string, pspReference: string) {
  void cancel(client, reference, pspReference);
  const partial = { name: 'Partially authorised', failureCode: 'insufficient_funds' } as const;
  return declined(partial, { transaction_id: pspReference, response_text: partial.name });
}

/**
 * After a lost answer the authorization may stand. It is asked for again under the same key, and cancelled if there is
 * still no answer. The outcome stays `unknown`: only a notice confirms the cancellation.
 */
export async function prepare(client: Client, request: ChargeRequest): Promise<Preparation> {
  const { reference, validUntilMs } = request;
  const amount = toAdyen(request);
  if (!amount)
    return {
      outcome: 'not_sent',
      reason: amountNotTaken,
      failureCode: 'validation_error',
      failureReason: amountNotTaken,
    };
  if (isLate(client, validUntilMs)) return expired(client);
  const first = await authorize(client, request, amount, false);
  if (first.outcome !== 'unknown') return first;
  const second = isLate(client, validUntilMs) ? first : await authorize(client, request, amount, true);
  if (second.outcome !== 'unknown' && second.outcome !== 'not_sent') return second;
  void cancel(client, reference);
  return first;
}

export async function capture(
  client: Client,
  reference: string,
  authorization: Authorization,
  isRepeat: boolean,
): Promise<Outcome> {
  const { pspReference: payment, amount } = authorization;
  const change = captureChange(client, { reference, payment, isRepeat }, amount);
  return captureOutcomeOf(await send(client, change), change.sent, authorization);
}

/**
 * With these outcomes the authorization will never be captured. If only the credentials were refused, the charge may be
 * sent again and captures it. If it is not, the notice of the authorization leads to `release`.
 */
function isWithoutCapture(outcome: Outcome): boolean {
  if (outcome.outcome === 'declined') return outcome.refusesCredentials !== true;
  return outcome.outcome === 'expired' || outcome.outcome === 'not_sent';
}

export async function charge(client: Client, request: ChargeRequest): Promise<Outcome> {
  const { reference, handle, validUntilMs } = request;
  const prepared = handle === undefined ? await prepare(client, request) : ({ outcome: 'prepared', handle } as const);
  if (prepared.outcome !== 'prepared') return prepared;
  const authorization = readHandle(prepared.handle);
  const amount = toAdyen(request);
  if (!authorization || !amount || !isSameAmount(authorization.amount, amount)) return { outcome: 'conflict' };
  if (request.authorizesOnly) return heldOutcomeOf(authorization);
  const isExpired = isLate(client, validUntilMs);
  const outcome = isExpired ? expired(client) : await capture(client, reference, authorization, false);
  if (isWithoutCapture(outcome)) void cancel(client, reference, authorization.pspReference);
  return outcome;
}
