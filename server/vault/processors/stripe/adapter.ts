import { isOfCharge, type Processor } from '../processor.ts';
import { charge, lookupCharge, prepare } from './charges.ts';
import { openClient, type StripeOptions } from './client.ts';
import { testConnection } from './connection-test.ts';
import { disputeOperations } from './disputes.ts';
import { receiveEvents } from './events.ts';
import { listOperations } from './listing.ts';
import { removeSaved } from './saved-cards.ts';
import { lookupRefund, refund, voidCharge } from './refunds.ts';
import { pollSettlements } from './settlements.ts';
import { verify } from './verifications.ts';

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
    lookup: (request) => (isOfCharge(request) ? lookupCharge(client, request) : lookupRefund(client, request)),
    list: (request) => listOperations(client, request),
    verify: (request) => verify(client, request),
    removeSaved: (token) => removeSaved(client, token),
    receive: (delivery) => receiveEvents(delivery, signingSecrets.reveal()),
    poll: (request) => pollSettlements(client, request),
    disputes: disputeOperations(client),
    test: () => testConnection(client, secretKey),
  };
}
