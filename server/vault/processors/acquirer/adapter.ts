import { randomUUID } from 'node:crypto';
import type { Secret } from '../../../platform/secret.ts';
import type { ConnectionTest, LookupOutcome, LookupRequest, Outcome, Processor } from '../processor.ts';
import { listingOf, lookupOutcomeOf, outcomeOf, overOf } from './answers.ts';
import { authenticationCalls, withoutPresence } from './authentication.ts';
import { cardOf, describe } from './described.ts';
import { receiveNotice } from './notices.ts';
import { type Answer, type ExchangeRequest, openExchange, type Silence } from '../exchange.ts';

export interface AcquirerOptions {
  readonly url: string;
  readonly secret: Secret<string>;
  readonly timeoutMs?: number;
  /** What the cardholder reads on the statement. */
  readonly descriptor?: string | undefined;
}

const listBytesMax = 4 * 1024 * 1024;

/** By a look-up of a reference that was never used. */
async function testOf(url: string, looked: Promise<Answer | Silence>): Promise<ConnectionTest> {
  const answer = await looked;
  if ('reason' in answer) return { outcome: 'fails', problem: `The acquirer does not answer: ${answer.reason}.` };
  const { host, href } = new URL(url);
  if (answer.status === 404) return { outcome: 'works', account: host, accountId: href, livemode: true };
  const problem =
    answer.status === 401
      ? 'The acquirer rejects the secret. Enter the secret that it gave you.'
      : `The acquirer answered ${answer.status} to a lookup. Check the URL.`;
  return { outcome: 'fails', problem };
}

/** Only a charge can wait for the customer. */
function done(outcome: ReturnType<typeof outcomeOf>): Outcome {
  if (outcome.outcome !== 'needs_customer') return outcome;
  return { outcome: 'unknown', reason: 'the acquirer asks for the customer of an operation that has none' };
}

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
  const find = (reference: string): Promise<Answer | Silence> =>
    exchange({ method: 'GET', path: ['operations', reference] });
  const { resume, end, ...setUps } = authenticationCalls({ exchange, post, find, descriptor });
  /** A look-up ends what waits for the customer. */
  async function lookUp(request: LookupRequest): Promise<LookupOutcome> {
    const found = lookupOutcomeOf(await find(request.reference), request);
    return found.outcome === 'needs_customer' ? end(request) : found;
  }
  return {
    async charge({ reference, amount, currency, card, validUntilMs, authorizesOnly = false, ...about }) {
      const body = { reference, amount, currency, card: cardOf(card), ...describe(about, descriptor) };
      const answer = await post(authorizesOnly ? 'authorizations' : 'charges', body, validUntilMs);
      const kind = authorizesOnly ? 'authorization' : 'charge';
      const money = { amount, currency };
      const last4 = card.number.last4;
      const outcome = outcomeOf(answer, { kind, reference, chargeReference: null, money, last4 });
      if (outcome.outcome !== 'needs_customer') return outcome;
      const { action } = outcome;
      if (about.presence && action) return { ...outcome, action };
      return withoutPresence(await end({ companyId: about.companyId, reference, kind, sent: { ...money, last4 } }));
    },
    resume,
    ...setUps,
    async capture({ reference, chargeReference, amount, currency, validUntilMs }) {
      const body = { reference, charge_reference: chargeReference, amount, currency };
      const answer = await post('captures', body, validUntilMs);
      const money = { amount, currency };
      const outcome = done(outcomeOf(answer, { kind: 'capture', reference, chargeReference, money, last4: null }));
      return { ...outcome, ...overOf(outcome) };
    },
    async refund({ reference, chargeReference, amount, currency, validUntilMs }) {
      const body = { reference, charge_reference: chargeReference, amount, currency };
      const answer = await post('refunds', body, validUntilMs);
      const money = { amount, currency };
      return done(outcomeOf(answer, { kind: 'refund', reference, chargeReference, money, last4: null }));
    },
    async void({ reference, chargeReference, validUntilMs, ofAuthorization = false }) {
      const body = { reference, charge_reference: chargeReference, ...(ofAuthorization && { uncaptured: true }) };
      const answer = await post('voids', body, validUntilMs);
      const outcome = done(outcomeOf(answer, { kind: 'void', reference, chargeReference, last4: null }));
      return { ...outcome, ...(ofAuthorization && overOf(outcome)) };
    },
    async lookup(request) {
      const outcome = await lookUp(request);
      const isOnHold = request.kind === 'capture' || request.ofAuthorization === true;
      return { ...outcome, ...(isOnHold && overOf(outcome)) };
    },
    receive: (delivery) => receiveNotice(secret, delivery),
    test: () => testOf(url, find(randomUUID())),
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
