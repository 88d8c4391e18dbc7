import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../../platform/clock.ts';
import type { Secret } from '../../../platform/secret.ts';
import { type Answer, type Exchange, openExchange, type Silence } from '../exchange.ts';
import { isAccepted, isInProgress, isRefusal, type SentModification } from './answers.ts';
import type { AdyenAmount } from './money.ts';
import {
  cancelOf,
  captureOf,
  keyOf,
  modificationReferenceOf,
  refundOf,
  reversalOf,
  technicalCancelOf,
} from './requests.ts';

/** Sends requests to Adyen, each under the key with which Adyen executes it once. */

export type Reply = Answer | Silence;

export interface Client {
  readonly merchantAccount: string;
  readonly descriptor?: string | undefined;
  readonly clock: Clock;
  /** Waits while Adyen processes another request with the same key, whose answer it then repeats. */
  post(path: readonly string[], body: object, key: string): Promise<Reply>;
}

/** How long a request waits for another one with the same key. */
const inProgressDelaysMs = [50, 100, 200, 400, 800, 1_600];

interface ClientOptions {
  readonly url: string;
  readonly apiKey: Secret<string>;
  readonly merchantAccount: string;
  readonly descriptor?: string | undefined;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** The answer with the names of all payment methods can be long. */
const bytesMax = 1024 * 1024;

const jsonBody = (body: object) => ({ type: 'application/json', content: JSON.stringify(body) });

export function openClient({ url, apiKey, merchantAccount, descriptor, timeoutMs, clock }: ClientOptions): Client {
  const exchange: Exchange = openExchange({ url, timeoutMs, headers: () => ({ 'x-api-key': apiKey.reveal() }) });
  return {
    merchantAccount,
    descriptor,
    clock,
    async post(path, body, key) {
      const headers = { 'idempotency-key': key };
      const send = (): Promise<Reply> => exchange({ method: 'POST', path, headers, body: jsonBody(body), bytesMax });
      let reply = await send();
      for (const delayMs of inProgressDelaysMs) {
        if (!isInProgress(reply)) break;
        await sleep(delayMs);
        const next = await send();
        // Refused credentials say nothing about the request that is in progress, and that may be executed.
        if (isRefusal(next)) break;
        reply = next;
      }
      return reply;
    },
  };
}

/** A capture, refund or reversal of a payment: how it is sent, and what its answer must name. */
export interface Change {
  readonly path: readonly string[];
  readonly body: object;
  readonly sent: SentModification;
}

interface ChangeWanted {
  readonly reference: string;
  readonly payment: string;
  /** An earlier request with this key may have been executed. */
  readonly isRepeat: boolean;
}

export function captureChange(
  { merchantAccount }: Client,
  { reference, payment, isRepeat }: ChangeWanted,
  amount: AdyenAmount,
): Change {
  return {
    path: ['payments', payment, 'captures'],
    body: captureOf(merchantAccount, reference, amount),
    sent: { merchantAccount, key: keyOf(reference, 'c'), reference, payment, amount, isRepeat },
  };
}

export function refundChange(
  { merchantAccount }: Client,
  { reference, payment, isRepeat }: ChangeWanted,
  amount: AdyenAmount,
): Change {
  const own = modificationReferenceOf('refund', reference);
  return {
    path: ['payments', payment, 'refunds'],
    body: refundOf(merchantAccount, own, amount),
    sent: { merchantAccount, key: keyOf(reference), reference: own, payment, amount, isRepeat },
  };
}

/** A void is a reversal, which cancels or refunds, because the capture may or may not have been executed. */
export function voidChange({ merchantAccount }: Client, { reference, payment, isRepeat }: ChangeWanted): Change {
  const own = modificationReferenceOf('void', reference);
  return {
    path: ['payments', payment, 'reversals'],
    body: reversalOf(merchantAccount, own),
    sent: { merchantAccount, key: keyOf(reference), reference: own, payment, isRepeat },
  };
}

export const send = (client: Client, { path, body, sent }: Change): Promise<Reply> => client.post(path, body, sent.key);

/**
 * Cancels an authorization that will not be captured, so that the cardholder's funds are released. No money depends on
 * its answer, so a charge does not wait for it. If it is lost, or arrives before the authorization, the notice of the
 * authorization leads to `release`.
 */
export async function cancel(client: Client, reference: string, payment?: string): Promise<void> {
  const { merchantAccount } = client;
  if (payment === undefined) {
    await client.post(['cancels'], technicalCancelOf(merchantAccount, reference), keyOf(reference, 't'));
  } else {
    await client.post(['payments', payment, 'cancels'], cancelOf(merchantAccount, reference), keyOf(reference, 'x'));
  }
}

/** Each attempt has a key of its own, because Adyen keeps some errors under a key. Adyen cancels a payment once. */
export async function release(client: Client, reference: string, payment: string): Promise<boolean> {
  const body = cancelOf(client.merchantAccount, reference);
  const reply = await client.post(['payments', payment, 'cancels'], body, randomUUID());
  return isAccepted(reply);
}
