import { setTimeout as sleep } from 'node:timers/promises';
import { signatureHeaders, signingKey } from '../server/features/webhooks/signing.ts';
import { addressOf } from './api.ts';
import { UsageError } from './command-error.ts';
import type { Flags } from './options.ts';

/** Sends events to a receiver on this machine, in the format of a webhook. */

export interface EventToSend {
  readonly id: string;
  readonly type: string;
}

export interface Answer {
  /** Null if there was no response. */
  readonly status: number | null;
  readonly durationMs: number;
  /** The beginning of the response body. */
  readonly text: string;
}

export const receiverUrl = (text: string): string => addressOf(text, 'localhost:3000/hook');

/** The signing secret, if one is set. */
export function chosenSecret(flags: Flags): string | undefined {
  const secret = flags.secret ?? (process.env.SVC_WEBHOOK_SECRET || undefined);
  if (secret === undefined || secret.startsWith('whsec_')) return secret;
  throw new UsageError(`${flags.secret === undefined ? 'SVC_WEBHOOK_SECRET' : '--secret'} must begin with whsec_.`);
}

export function eventHeaders(
  { id, type }: EventToSend,
  body: string,
  secrets: readonly string[],
  timestampSeconds: number,
  attempt = 1,
): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'svc-webhooks/1',
    'SVC-Event-Id': id,
    'SVC-Event-Type': type,
    'SVC-Delivery-Attempt': String(attempt),
    ...signatureHeaders(secrets.map(signingKey), { eventId: id, body, timestampSeconds }),
  };
}

const answerWithinMs = 30_000;

const shownMax = 200;

export async function send(
  url: string,
  headers: Record<string, string>,
  body: string,
  stopped?: AbortSignal,
): Promise<Answer> {
  const startedMs = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedMs);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([AbortSignal.timeout(answerWithinMs), ...(stopped ? [stopped] : [])]),
    });
    const text = (await response.text()).replaceAll(/\s+/g, ' ').trim().slice(0, shownMax);
    return { status: response.status, durationMs: durationMs(), text };
  } catch {
    return { status: null, durationMs: durationMs(), text: '' };
  }
}

const triesMax = 3;
const waitMsMax = 5_000;

/** Sends until the receiver accepts the event. Waits for a receiver that is down; gives up after three error responses. */
export async function forward(
  url: string,
  event: EventToSend,
  secret: string,
  onAnswer: (answer: Answer) => void,
  stopped: AbortSignal,
): Promise<void> {
  const body = JSON.stringify(event);
  let refused = 0;
  for (let attempt = 1; !stopped.aborted; attempt += 1) {
    const headers = eventHeaders(event, body, [secret], Math.floor(Date.now() / 1_000), attempt);
    const answer = await send(url, headers, body, stopped);
    if (stopped.aborted && answer.status === null) return;
    onAnswer(answer);
    const { status } = answer;
    if (status !== null && status >= 200 && status < 300) return;
    if (status !== null) refused += 1;
    if (refused === triesMax) return;
    await sleep(Math.min(200 * 2 ** (attempt - 1), waitMsMax), undefined, { signal: stopped }).catch(() => undefined);
  }
}
