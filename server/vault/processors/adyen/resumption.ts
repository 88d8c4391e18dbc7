import { hash } from 'node:crypto';
import { jsonOf } from '../exchange.ts';
import type { Prepared, ResumeOutcome, ResumeRequest } from '../processor.ts';
import {
  type AuthorizationOutcome,
  authorizationIn,
  isRefusal,
  type Payment,
  paymentAnswer,
  undecidedBy,
  unknown,
} from './answers.ts';
import { neededCustomer } from './authentication.ts';
import { withoutPart } from './charging.ts';
import type { Client, Reply } from './client.ts';
import { readHandle } from './handle.ts';
import { lookup } from './lookups.ts';
import { type AdyenAmount, isSameAmount, toAdyen } from './money.ts';
import { detailsOf, keyOf } from './requests.ts';

/**
 * A customer came back from the bank. Adyen gives the result of the redirect only to the first request that passes it on. It then asks
 * the bank to pay, and says so in its answer or in a notice.
 */

/** Adyen encodes much in it. */
const resultLengthMax = 10_000;

export const resultIn = (returned: Readonly<Record<string, string>> | undefined): string | undefined => {
  const { redirectResult = '' } = returned ?? {};
  return redirectResult !== '' && redirectResult.length <= resultLengthMax ? redirectResult : undefined;
};

/** A forged result has a key of its own, so that it does not use up the key of the true one. */
export function sendDetails(client: Client, reference: string, redirectResult: string): Promise<Reply> {
  const key = keyOf(reference, `d${hash('sha256', redirectResult, 'hex').slice(0, 20)}`);
  return client.post(['payments', 'details'], detailsOf(redirectResult), key);
}

const waits = { outcome: 'needs_customer' } as const;

/**
 * The payment in the answer, if it is the one of our reference: anyone can come back with the result of another payment. Without a
 * reference nothing is certain, and a notice decides.
 */
export function completedPayment(reply: Reply, reference: string): Payment | ResumeOutcome {
  if ('reason' in reply) return unknown(reply.reason);
  if (reply.status === 200) {
    const body = jsonOf(reply);
    const isOurs = paymentAnswer.Check(body) && body.merchantReference === reference;
    return isOurs ? body : waits;
  }
  if (isRefusal(reply)) return { ...undecidedBy(reply, reference), refusesCredentials: true };
  // The result is forged, or another request has passed it on.
  return reply.status === 400 || reply.status === 422 ? waits : unknown(`the response has status ${reply.status}`);
}

/** What the bank answered after the customer. */
function resumedBy(payment: Payment, amount: AdyenAmount): AuthorizationOutcome | typeof waits {
  // Adyen is still asking the bank.
  return neededCustomer(payment) ?? authorizationIn(payment, amount, 'challenge') ?? waits;
}

function byNotice(
  client: Client,
  { reference, noticedHandle = '' }: ResumeRequest,
  amount: AdyenAmount,
): ResumeOutcome | Prepared {
  const authorization = readHandle(noticedHandle);
  if (!authorization) return unknown('the notice names no authorization');
  return isSameAmount(authorization.amount, amount)
    ? { outcome: 'prepared', handle: noticedHandle }
    : withoutPart(client, reference, authorization.pspReference);
}

/** A lookup with the handle completes what was authorized. */
export async function resume(client: Client, request: ResumeRequest): Promise<ResumeOutcome | Prepared> {
  const { reference, sent, returned, handle } = request;
  if (handle !== undefined) return lookup(client, request);
  const amount = sent && toAdyen(sent);
  if (!amount) return unknown('the amount of the charge is not known');
  if (request.noticedHandle !== undefined) return byNotice(client, request, amount);
  const redirectResult = resultIn(returned);
  if (redirectResult === undefined) return waits;
  const payment = completedPayment(await sendDetails(client, reference, redirectResult), reference);
  if ('outcome' in payment) return payment;
  const found = resumedBy(payment, amount);
  if (found.outcome === 'partial') return withoutPart(client, reference, found.pspReference);
  return found.outcome === 'not_sent' || found.outcome === 'expired' ? unknown('Adyen was not reached') : found;
}
