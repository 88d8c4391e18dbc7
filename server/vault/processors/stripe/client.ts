import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import type { Secret } from '../../../platform/secret.ts';
import { type Answer, type ExchangeRequest, openExchange, type Silence } from '../exchange.ts';
import { refusedKey } from './answers.ts';
import { apiVersion, type CardUse } from './requests.ts';

export interface StripeOptions {
  readonly url: string;
  readonly filesUrl: string;
  readonly secretKey: Secret<string>;
  /** Several are valid while one replaces another. */
  readonly signingSecrets: Secret<readonly string[]>;
  readonly timeoutMs: number;
  /** What the cardholder reads on the statement, after the prefix of the account. */
  readonly descriptor?: string | undefined;
  readonly clock?: Clock;
}

/** Sends a request to Stripe, and again if Stripe did not execute it because it was busy. */
type Send = (request: ExchangeRequest, validUntilMs?: number) => Promise<Answer | Silence>;

/** A payment method for one charge, and the customer with whom it is or will be saved. */
export interface UsedCard {
  readonly method: string;
  readonly use: CardUse;
  readonly customer?: string | undefined;
}

export interface Client {
  readonly send: Send;
  readonly sendFile: Send;
  readonly clock: Clock;
  /** After this time a request that was sent can no longer be executed. */
  readonly goneAfterMs: number;
  readonly descriptor: string | undefined;
  /** The card of each intent that this process has just created and nothing has confirmed. */
  readonly prepared: Map<string, UsedCard>;
}

const repeatDelaysMs = [50, 100, 200, 400, 800];
/** The key is in use by another request, or there were too many requests: in both cases nothing was executed. */
const keyInUse = 409;
const busyStatuses = [keyInUse, 429];
/** Stripe itself gives up a request after 80 s, which is less than this with the usual timeout of 10 s. */
const timeoutsUntilGone = 12;

export function openClient({
  url,
  filesUrl,
  secretKey,
  timeoutMs,
  descriptor,
  clock = systemClock,
}: StripeOptions): Client {
  const headers = () => ({ authorization: `Bearer ${secretKey.reveal()}`, 'stripe-version': apiVersion });
  const senderTo = (base: string): Send => {
    const exchange = openExchange({ url: base, timeoutMs, headers });
    return async (request, validUntilMs = Number.POSITIVE_INFINITY) => {
      let other: Answer | undefined;
      for (let repeated = 0; ; repeated += 1) {
        const answer = await exchange(request);
        // Refused credentials say nothing about the request that uses the key, and that may be executed.
        if (other && refusedKey(answer)) return other;
        const delayMs = repeatDelaysMs[repeated];
        const isBusy = !('reason' in answer) && busyStatuses.includes(answer.status);
        if (isBusy && answer.status === keyInUse) other = answer;
        if (!isBusy || delayMs === undefined || clock.nowMs() + delayMs >= validUntilMs) return answer;
        await sleep(delayMs);
      }
    };
  };
  const sendFile = senderTo(filesUrl);
  return {
    send: senderTo(url),
    sendFile,
    clock,
    goneAfterMs: timeoutsUntilGone * timeoutMs,
    descriptor,
    prepared: new Map(),
  };
}
