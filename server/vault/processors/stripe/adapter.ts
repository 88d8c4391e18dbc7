import type { Processor, Verification, VerifyRequest } from '../processor.ts';
import * as answers from './answers.ts';
import { charge, isExpired, lookupCharge, prepare } from './charges.ts';
import { type Client, openClient, type StripeOptions } from './client.ts';
import { testConnection } from './connection-test.ts';
import { disputeOperations } from './disputes.ts';
import { receiveEvents } from './events.ts';
import { listOperations } from './listing.ts';
import { lookupRefund, refund, voidCharge } from './refunds.ts';
import * as requests from './requests.ts';
import { pollSettlements } from './settlements.ts';

/** A processor that speaks Stripe's API; docs/processors/stripe.md describes how it charges once. */
export function stripeProcessor(options: StripeOptions): Processor {
  const client = openClient(options);
  const { signingSecrets, secretKey } = options;
  return {
    onceBy: 'key',
    findsBy: 'handle',
    prepare: (request) => prepare(client, request),
    charge: (request) => charge(client, request),
    refund: (request) => refund(client, request),
    void: (request) => voidCharge(client, request),
    lookup(request) {
      const isOfCharge = request.kind === 'charge' || (!request.kind && request.chargeReference === undefined);
      return isOfCharge ? lookupCharge(client, request) : lookupRefund(client, request);
    },
    list: (request) => listOperations(client, request),
    verify: (request) => verify(client, request),
    receive: (delivery) => receiveEvents(delivery, signingSecrets.reveal()),
    poll: (request) => pollSettlements(client, request),
    disputes: disputeOperations(client),
    test: () => testConnection(client, secretKey),
  };
}

async function verify(
  client: Client,
  { reference, card, cvc, billing, validUntilMs }: VerifyRequest,
): Promise<Verification> {
  if (isExpired(client, validUntilMs)) return answers.unknown('the request has expired');
  const request = requests.createPaymentMethod(reference, card, billing, cvc.reveal());
  const method = answers.created(await client.send(request), 'payment_method');
  if ('outcome' in method) return answers.refusedVerification(method);
  return answers.verificationOf(await client.send(requests.createSetupIntent(reference, method.id)), reference);
}
