import { dayMs, minuteMs } from '../../../platform/durations.ts';
import { isOfCharge, type LookupOutcome, type LookupRequest, type Money, type Outcome } from '../processor.ts';
import { followUpOutcomeOf, unknown } from './answers.ts';
import { heldOutcomeOf, laterCapture, releaseChange } from './captures.ts';
import { capture } from './charging.ts';
import { cancel, type Change, type Client, refundChange, send, voidChange } from './client.ts';
import { type Authorization, readHandle } from './handle.ts';
import { type AdyenAmount, isSameAmount, toAdyen } from './money.ts';

/**
 * Adyen cannot be asked for a payment. A lost answer is repeated under its key, which returns the first answer, or a
 * notice decides.
 */

/** Adyen keeps keys for at least seven days. A repetition after that could be executed again. */
const keyLifeMs = 6 * dayMs;
/** Until then, an authorization may still be under way. */
const patienceMs = minuteMs;

function changeOf(client: Client, request: LookupRequest): Change | undefined {
  const { reference, kind, sent, chargeTransactionId, ofAuthorization } = request;
  if (!chargeTransactionId) return undefined;
  const wanted = { reference, payment: chargeTransactionId, isRepeat: true };
  const amount = sent && toAdyen(sent);
  if (kind === 'refund' && amount) return refundChange(client, wanted, amount);
  if (kind === 'capture' && amount) return laterCapture(client, wanted, amount);
  if (kind !== 'void') return undefined;
  return ofAuthorization ? releaseChange(client, wanted) : voidChange(client, wanted);
}

function isSent(sent: Money, authorized: AdyenAmount): boolean {
  const amount = toAdyen(sent);
  return amount !== undefined && isSameAmount(amount, authorized);
}

const forgotten = unknown('Adyen may have forgotten the key; a notice decides');

/** What was authorized. A look at an authorization that is captured later must not capture it. */
function foundByHandle(
  client: Client,
  request: LookupRequest,
  authorization: Authorization,
): Promise<Outcome> | Outcome {
  const { reference, sent, ageMs = 0 } = request;
  const isHeld = request.kind === 'authorization';
  if (!isHeld && ageMs > keyLifeMs) return forgotten;
  if (sent && !isSent(sent, authorization.amount)) return { outcome: 'conflict' };
  return isHeld ? heldOutcomeOf(authorization) : capture(client, reference, authorization, true);
}

async function found(client: Client, request: LookupRequest): Promise<Outcome> {
  const { reference, handle, ageMs } = request;
  const authorization = handle === undefined ? undefined : readHandle(handle);
  if (authorization) return foundByHandle(client, request, authorization);
  if (ageMs !== undefined && ageMs > keyLifeMs) return forgotten;
  // Without an age the operation was perhaps never sent, and a repetition would execute it.
  if (ageMs === undefined) return unknown('it is not known when the operation was sent; a notice decides');
  const change = changeOf(client, request);
  if (change) return followUpOutcomeOf(await send(client, change), change.sent);
  if (!isOfCharge(request)) return unknown('the operation is not known well enough to repeat it; a notice decides');
  if (ageMs < patienceMs) return unknown('the authorization may still be under way');
  await cancel(client, reference);
  return unknown('the authorization is being cancelled; a notice decides');
}

export async function lookup(client: Client, request: LookupRequest): Promise<LookupOutcome> {
  const outcome = await found(client, request);
  if (outcome.outcome === 'needs_customer') return unknown('the customer is still at the bank');
  return outcome.outcome === 'not_sent' || outcome.outcome === 'expired' ? unknown('Adyen was not reached') : outcome;
}
