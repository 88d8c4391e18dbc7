import { isOfCharge, type Processor } from '../processor.ts';
import { capture, lookupHeld, releaseAuthorization } from './captures.ts';
import { charge, lookupCharge, prepare, resume } from './charges.ts';
import { openClient, type StripeOptions } from './client.ts';
import { testConnection } from './connection-test.ts';
import { disputeOperations } from './disputes.ts';
import { receiveEvents } from './events.ts';
import { listOperations } from './listing.ts';
import { removeSaved } from './saved-cards.ts';
import { lookupRefund, refund, voidCharge } from './refunds.ts';
import { pollSettlements } from './settlements.ts';
import { endSetUp, resumeSetUp, setUp } from './setups.ts';
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
    capture: (request) => capture(client, request),
    void: (request) => (request.ofAuthorization ? releaseAuthorization : voidCharge)(client, request),
    lookup(request) {
      if (isOfCharge(request)) return lookupCharge(client, request);
      const isHeld = request.kind === 'capture' || request.ofAuthorization === true;
      return (isHeld ? lookupHeld : lookupRefund)(client, request);
    },
    list: (request) => listOperations(client, request),
    verify: (request) => verify(client, request),
    resume: (request) => resume(client, request),
    setUp: (request) => setUp(client, request),
    resumeSetUp: (request) => resumeSetUp(client, request),
    endSetUp: (request) => endSetUp(client, request),
    removeSaved: (token) => removeSaved(client, token),
    receive: (delivery) => receiveEvents(delivery, signingSecrets.reveal()),
    poll: (request) => pollSettlements(client, request),
    disputes: disputeOperations(client),
    test: () => testConnection(client, secretKey),
  };
}
