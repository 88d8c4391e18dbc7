import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventPatterns } from '../server/features/events/event-names.ts';
import { newSigningSecret } from '../server/features/webhooks/signing.ts';
import { ApiFailure, call, chosenTarget, type Target } from './api.ts';
import { CommandError } from './command-error.ts';
import { checkEvent } from './event-argument.ts';
import { type Answer, chosenSecret, forward, receiverUrl } from './forward.ts';
import { coloredStatus } from './colors.ts';
import type { Flags } from './options.ts';

/** `listen`: follows the event feed and forwards each event to a receiver on this machine. */

interface FeedEvent {
  readonly id: string;
  readonly type: string;
  readonly created_at: string;
  readonly data: {
    readonly object: {
      readonly id?: string;
      readonly customer_id?: string;
      readonly customer?: { readonly id: string } | null;
    };
  };
}

interface Feed {
  readonly data: readonly FeedEvent[];
  readonly cursor: string;
  readonly has_more: boolean;
}

export interface Listening {
  readonly target: Target;
  readonly cursor: string | undefined;
  readonly accepts: (event: FeedEvent) => boolean;
  /** Called after the first response. All later events will be forwarded. */
  readonly begun?: () => void;
  readonly take: (event: FeedEvent) => Promise<void>;
  /** Called when all events before the cursor were handled. */
  readonly reached: (cursor: string) => Promise<void>;
  readonly onTrouble: (problem: string) => void;
  readonly stopped: AbortSignal;
  readonly pollEveryMs?: number;
}

const pollEveryMsUsually = 500;
const answerWithinMs = 30_000;
const waitMsMax = 2_000;
// The feed repeats events while an older transaction is open, which takes seconds.
const rememberedMax = 10_000;

/** Retries from the same cursor after errors that are not the fault of the client. */
const isPassing = ({ status }: ApiFailure): boolean => status === null || status === 429 || status >= 500;

async function readFeed(
  { target, onTrouble, stopped }: Listening,
  cursor: string | undefined,
): Promise<Feed | undefined> {
  const path = cursor === undefined ? '/v1/events/feed' : `/v1/events/feed?cursor=${encodeURIComponent(cursor)}`;
  for (let failures = 0; !stopped.aborted; failures += 1) {
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(answerWithinMs), stopped]);
      const answer = (await call(target, 'GET', path, undefined, { signal })) as Feed | undefined;
      if (answer?.cursor) return answer;
    } catch (error) {
      if (!(error instanceof ApiFailure) || !isPassing(error)) throw error;
      if (stopped.aborted) return undefined;
      if (failures > 0) onTrouble(error.message.split('\n')[0] ?? '');
      if (error.retryAfterSeconds > 0) await pause(error.retryAfterSeconds * 1_000, stopped);
    }
    await pause(Math.min(100 * 2 ** failures, waitMsMax), stopped);
  }
  return undefined;
}

const pause = (ms: number, stopped: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal: stopped }).catch(() => undefined);

/** Handles every event after the cursor (or from now on) at least once, until it is stopped. */
export async function listen(listening: Listening): Promise<void> {
  const { stopped, accepts, begun, take, reached, pollEveryMs = pollEveryMsUsually } = listening;
  const taken = new Set<string>();
  let cursor = listening.cursor;
  let isBegun = false;
  while (!stopped.aborted) {
    const page = await readFeed(listening, cursor);
    if (!page) return;
    if (!isBegun) begun?.();
    isBegun = true;
    for (const event of page.data) {
      if (taken.has(event.id) || !accepts(event)) continue;
      await take(event);
      if (stopped.aborted) return;
      taken.add(event.id);
    }
    for (const id of taken) {
      if (taken.size <= rememberedMax) break;
      taken.delete(id);
    }
    cursor = page.cursor;
    await reached(cursor);
    if (!page.has_more) await pause(pollEveryMs, stopped);
  }
}

export function eventFilter(patterns: string | undefined, customer: string | undefined): (event: FeedEvent) => boolean {
  const wanted = patterns?.split(',').map((pattern) => pattern.trim());
  for (const pattern of wanted ?? []) checkEvent(pattern, eventPatterns);
  const isWanted = (type: string): boolean =>
    !wanted || [type, `${type.split('.')[0]}.*`, '*'].some((pattern) => wanted.includes(pattern));
  const concerns = ({ data: { object } }: FeedEvent): boolean =>
    customer === undefined || [object.id, object.customer_id, object.customer?.id].includes(customer.toLowerCase());
  return (event) => isWanted(event.type) && concerns(event);
}

async function savedCursor(file: string | undefined): Promise<string | undefined> {
  if (!file) return undefined;
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new CommandError(`--state ${file} cannot be read: ${error.message}.`);
  });
  return text.trim() || undefined;
}

/** Writes the file in one step, so that a crash never leaves half a cursor. */
async function saveCursor(file: string, cursor: string): Promise<void> {
  try {
    await writeFile(`${file}.new`, `${cursor}\n`);
    await rename(`${file}.new`, file);
  } catch (error) {
    throw new CommandError(`--state ${file} cannot be written: ${(error as Error).message}.`);
  }
}

const clockOf = (moment: Date): string => moment.toTimeString().slice(0, 8);

export async function listenCommand(_words: readonly string[], flags: Flags): Promise<string> {
  const target = await chosenTarget(flags);
  if (!target.key.startsWith('svc_test_')) {
    throw new CommandError('svc listen is for the sandbox only. Use webhook endpoints for other companies.', 'refused');
  }
  const url = flags['forward-to'] === undefined ? undefined : receiverUrl(flags['forward-to']);
  const secret = chosenSecret(flags) ?? newSigningSecret(randomBytes(32));
  const accepts = eventFilter(flags.events, flags.customer);
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  const shown = (event: FeedEvent, outcome: string): string =>
    `${clockOf(new Date())}  ${event.type.padEnd(30)}  ${event.id}${outcome}`;
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  const stopped = stopping.signal;

  let cursor = flags['from-cursor'] ?? (await savedCursor(flags.state));
  await listen({
    target,
    cursor,
    accepts,
    stopped,
    begun() {
      const about = { listening: target.baseUrl, forward_to: url ?? null, signing_secret: secret };
      if (flags.json) say(JSON.stringify(about));
      else if (url) say(`Forwarding events from ${target.baseUrl} to ${url}. Signing secret:\n${secret}`);
      else say(`Events from ${target.baseUrl}:`);
    },
    onTrouble: (problem) => void process.stderr.write(`${clockOf(new Date())}  ${problem} Retrying.\n`),
    async reached(next) {
      if (next !== cursor && flags.state) await saveCursor(flags.state, next);
      cursor = next;
    },
    async take(event) {
      if (!url) return say(flags.json ? JSON.stringify(event) : shown(event, ''));
      const onAnswer = ({ status, durationMs, text }: Answer): void => {
        const refusal = status !== null && status >= 300 && text ? `: ${text}` : '';
        const answer =
          status === null
            ? 'no response; waiting for the receiver'
            : `${coloredStatus(status)} in ${durationMs} ms${refusal}`;
        say(flags.json ? JSON.stringify({ event, status, duration_ms: durationMs }) : shown(event, `  → ${answer}`));
      };
      await forward(url, event, secret, onAnswer, stopped);
    },
  });
  if (cursor) process.stderr.write(`To continue from here: --from-cursor ${cursor}\n`);
  return '';
}
