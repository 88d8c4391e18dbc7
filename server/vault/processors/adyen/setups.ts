import type { Processor } from '../processor.ts';
import type { NoticedSetUp, SetUpOutcome } from '../setup.ts';
import { checksOf, networkIdOf, type Payment, paymentIn, refused, rejectionOf } from './answers.ts';
import { authenticationIn, neededCustomer } from './authentication.ts';
import { isLate, withoutCard } from './charging.ts';
import { cancel, type Client, type Reply } from './client.ts';
import { keyOf, setUpRequestOf } from './requests.ts';
import { completedPayment, resultIn, sendDetails } from './resumption.ts';

/** Saves cards with an amount of zero, for which the bank may ask the customer. The link to later charges is the network's id. */

const unknown = (reason: string): SetUpOutcome => ({ outcome: 'unknown', reason });

/** The bank has confirmed it. */
export function setUpBy(payment: Payment, flow: 'frictionless' | 'challenge' | null): NoticedSetUp {
  const { avs_result: avsResult, cvv_result: cvvResult } = checksOf(payment);
  const authenticated = authenticationIn(payment.additionalData, flow);
  return { outcome: 'set_up', networkTransactionId: networkIdOf(payment), avsResult, cvvResult, ...authenticated };
}

function outcomeOf(payment: Payment, reference: string, flow: 'frictionless' | 'challenge'): SetUpOutcome {
  const asked = neededCustomer(payment);
  if (asked) return { ...asked, handle: reference };
  if (payment.resultCode === 'Authorised') return setUpBy(payment, flow);
  // Adyen is still asking the bank.
  return refused(payment) ?? { outcome: 'needs_customer', handle: reference };
}

function answered(reply: Reply, reference: string): SetUpOutcome {
  if ('reason' in reply) {
    return reply.mayHaveArrived ? unknown(reply.reason) : { outcome: 'not_sent', reason: reply.reason };
  }
  const payment = paymentIn(reply, reference);
  if (payment) return outcomeOf(payment, reference, 'frictionless');
  return rejectionOf(reply, keyOf(reference), false) ?? unknown(`the response has status ${reply.status}`);
}

export const setUpsOf = (client: Client, currency: string) =>
  ({
    async setUp(request) {
      const { reference, card, validUntilMs } = request;
      if (isLate(client, validUntilMs)) return { outcome: 'not_sent', reason: 'the time to save the card has passed' };
      const body = setUpRequestOf(request, client.merchantAccount, currency);
      return answered(withoutCard(await client.post(['payments'], body, keyOf(reference)), card), reference);
    },
    async resumeSetUp({ handle: reference, returned }) {
      const redirectResult = resultIn(returned);
      if (redirectResult === undefined) return { outcome: 'needs_customer', handle: reference };
      const payment = completedPayment(await sendDetails(client, reference, redirectResult), reference);
      if (!('outcome' in payment)) return outcomeOf(payment, reference, 'challenge');
      return payment.outcome === 'unknown' ? unknown(payment.reason) : { outcome: 'needs_customer', handle: reference };
    },
    /** No money is involved, and what came back later is not passed on: then Adyen saves nothing. */
    async endSetUp({ handle: reference }) {
      await cancel(client, reference);
      return { outcome: 'ended' };
    },
  }) satisfies Pick<Processor, 'setUp' | 'resumeSetUp' | 'endSetUp'>;
