import { randomUUID } from 'node:crypto';
import type { Secret } from '../../../platform/secret.ts';
import { CardNumber } from '../../card-number.ts';
import type { Billing, ChargeRequest, Processor } from '../processor.ts';
import { listingOf, lookupOutcomeOf, outcomeOf, overOf } from './answers.ts';
import { receiveNotice } from './notices.ts';
import { type ExchangeRequest, openExchange } from '../exchange.ts';

export interface AcquirerOptions {
  readonly url: string;
  readonly secret: Secret<string>;
  readonly timeoutMs?: number;
  /** What the cardholder reads on the statement. */
  readonly descriptor?: string | undefined;
}

function addressOf({ name, phone, line1, line2, city, state, postalCode, country }: Omit<Billing, 'email'>): object {
  return { name, phone, line1, line2, city, state, postal_code: postalCode, country };
}

/** What a bridge may pass on to its processor, and may ignore. */
function describe(
  { credential, billing, shipping, customerIp, cvc }: Partial<ChargeRequest>,
  descriptor: string | undefined,
): object {
  const code = cvc?.reveal();
  return {
    ...(code !== undefined && { security_code: code }),
    ...(credential && {
      initiator: credential.initiator,
      sequence: credential.sequence,
      network_transaction_id: credential.networkTransactionId,
    }),
    ...(billing && { billing: { ...addressOf(billing), email: billing.email } }),
    ...(shipping && { shipping: addressOf(shipping) }),
    ...(customerIp && { customer_ip: customerIp }),
    ...(descriptor && { statement_descriptor: descriptor }),
  };
}

const listBytesMax = 4 * 1024 * 1024;

/** A processor that speaks the protocol of docs/acquirer.md. It sends each request once. */
export function acquirerProcessor({ url, secret, timeoutMs = 10_000, descriptor }: AcquirerOptions): Processor {
  const exchange = openExchange({
    url,
    timeoutMs,
    headers: () => ({ authorization: `Bearer ${secret.reveal()}` }),
  });
  const post = (path: string, body: object, validUntilMs: number) => {
    const request: ExchangeRequest = {
      method: 'POST',
      path: [path],
      headers: { 'x-valid-until-ms': validUntilMs },
      body: { type: 'application/json', content: JSON.stringify(body) },
    };
    return exchange(request);
  };
  return {
    async charge({ reference, amount, currency, card, validUntilMs, authorizesOnly = false, ...about }) {
      const sentCard = { number: CardNumber.open(card.number), exp_month: card.expMonth, exp_year: card.expYear };
      const body = { reference, amount, currency, card: sentCard, ...describe(about, descriptor) };
      const answer = await post(authorizesOnly ? 'authorizations' : 'charges', body, validUntilMs);
      const kind = authorizesOnly ? 'authorization' : 'charge';
      const money = { amount, currency };
      return outcomeOf(answer, { kind, reference, chargeReference: null, money, last4: card.number.last4 });
    },
    async capture({ reference, chargeReference, amount, currency, validUntilMs }) {
      const body = { reference, charge_reference: chargeReference, amount, currency };
      const answer = await post('captures', body, validUntilMs);
      const money = { amount, currency };
      const outcome = outcomeOf(answer, { kind: 'capture', reference, chargeReference, money, last4: null });
      return { ...outcome, ...overOf(outcome) };
    },
    async refund({ reference, chargeReference, amount, currency, validUntilMs }) {
      const body = { reference, charge_reference: chargeReference, amount, currency };
      const answer = await post('refunds', body, validUntilMs);
      const money = { amount, currency };
      return outcomeOf(answer, { kind: 'refund', reference, chargeReference, money, last4: null });
    },
    async void({ reference, chargeReference, validUntilMs, ofAuthorization = false }) {
      const body = { reference, charge_reference: chargeReference, ...(ofAuthorization && { uncaptured: true }) };
      const answer = await post('voids', body, validUntilMs);
      const outcome = outcomeOf(answer, { kind: 'void', reference, chargeReference, last4: null });
      return { ...outcome, ...(ofAuthorization && overOf(outcome)) };
    },
    async lookup(request) {
      const answer = await exchange({ method: 'GET', path: ['operations', request.reference] });
      const outcome = lookupOutcomeOf(answer, request);
      const isOnHold = request.kind === 'capture' || request.ofAuthorization === true;
      return { ...outcome, ...(isOnHold && overOf(outcome)) };
    },
    receive: (delivery) => receiveNotice(secret, delivery),
    async test() {
      const answer = await exchange({ method: 'GET', path: ['operations', randomUUID()] });
      if ('reason' in answer) return { outcome: 'fails', problem: `The acquirer does not answer: ${answer.reason}.` };
      const { host, href } = new URL(url);
      if (answer.status === 404) return { outcome: 'works', account: host, accountId: href, livemode: true };
      const problem =
        answer.status === 401
          ? 'The acquirer rejects the secret. Enter the secret that it gave you.'
          : `The acquirer answered ${answer.status} to a lookup. Check the URL.`;
      return { outcome: 'fails', problem };
    },
    async list({ fromMs, untilMs, after }) {
      const query = new URLSearchParams({
        from_ms: String(fromMs),
        until_ms: String(untilMs),
        ...(after && { after }),
      });
      return listingOf(await exchange({ method: 'GET', path: ['operations'], query, bytesMax: listBytesMax }));
    },
  };
}
