import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../platform/clock.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Outcome, Processor } from '../processor.ts';
import { declined, followUpOutcomeOf, unknown } from './answers.ts';
import { laterCapture, releaseChange } from './captures.ts';
import { charge, expired, invalidAmount, isLate, prepare, withoutCard } from './charging.ts';
import { type Change, type Client, openClient, refundChange, release, send, voidChange } from './client.ts';
import { connectionTestOf } from './connection-test.ts';
import { disputeOperations } from './disputes.ts';
import { lookup } from './lookups.ts';
import { toAdyen } from './money.ts';
import { type NoticeSettings, receptionOf } from './notices.ts';
import { resume } from './resumption.ts';
import { setUpsOf } from './setups.ts';
import { keyOf, paymentMethodsOf, verificationRequestOf } from './requests.ts';
import { verificationOf } from './verifications.ts';

export interface AdyenOptions {
  readonly checkoutUrl: string;
  readonly disputesUrl: string;
  readonly apiKey: Secret<string>;
  readonly notices: NoticeSettings;
  /** Of the zero amount with which a card is checked. */
  readonly verificationCurrency: string;
  /** What the cardholder reads on the statement. Without it, Adyen uses that of the merchant account. */
  readonly descriptor?: string | undefined;
  readonly isLive: boolean;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

const noCharge = declined(
  { name: 'No charge', failureCode: 'validation_error' },
  { response_text: 'The PSP reference of the charge is not known.' },
);

async function followUp(client: Client, change: Change, validUntilMs: number): Promise<Outcome> {
  if (isLate(client, validUntilMs)) return expired(client);
  return followUpOutcomeOf(await send(client, change), change.sent);
}

/** Adyen, through its Checkout API. */
export function adyenProcessor(options: AdyenOptions): Processor {
  const { notices, verificationCurrency, isLive } = options;
  const { merchantAccount } = notices;
  const client = openClient({ ...options, url: options.checkoutUrl, merchantAccount });
  const disputes = openClient({ ...options, url: options.disputesUrl, merchantAccount });
  return {
    onceBy: 'key',
    findsBy: 'notice',
    prepare: (request) => prepare(client, request),
    charge: (request) => charge(client, request),
    async refund({ reference, chargeTransactionId: payment, validUntilMs, ...money }) {
      const amount = toAdyen(money);
      if (!amount) return invalidAmount;
      if (!payment) return noCharge;
      return followUp(client, refundChange(client, { reference, payment, isRepeat: false }, amount), validUntilMs);
    },
    async capture({ reference, chargeTransactionId: payment, validUntilMs, ...money }) {
      const amount = toAdyen(money);
      if (!amount) return invalidAmount;
      if (!payment) return noCharge;
      return followUp(client, laterCapture(client, { reference, payment, isRepeat: false }, amount), validUntilMs);
    },
    async void({ reference, chargeTransactionId: payment, validUntilMs, ofAuthorization }) {
      if (!payment) return noCharge;
      const change = ofAuthorization ? releaseChange : voidChange;
      return followUp(client, change(client, { reference, payment, isRepeat: false }), validUntilMs);
    },
    release: ({ reference, transactionId }) => release(client, reference, transactionId),
    lookup: (request) => lookup(client, request),
    resume: (request) => resume(client, request),
    ...setUpsOf(client, verificationCurrency),
    async verify(request) {
      const { reference, card, validUntilMs } = request;
      if (isLate(client, validUntilMs)) return unknown('the time to check the card has passed');
      const body = verificationRequestOf(request, merchantAccount, verificationCurrency);
      return verificationOf(withoutCard(await client.post(['payments'], body, keyOf(reference)), card), reference);
    },
    receive: (delivery) => receptionOf(delivery, notices),
    disputes: disputeOperations(merchantAccount, (path, body, key) => disputes.post([path], body, key)),
    async test() {
      // Each test is a request of its own: an earlier answer under the same key would say nothing about now.
      const reply = await client.post(['paymentMethods'], paymentMethodsOf(merchantAccount), randomUUID());
      return connectionTestOf(reply, merchantAccount, isLive);
    },
  };
}
