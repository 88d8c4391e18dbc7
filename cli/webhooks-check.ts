import { randomBytes, randomUUID } from 'node:crypto';
import { newSigningSecret } from '../server/features/webhooks/signing.ts';
import { newId } from '../server/platform/ids.ts';
import { eventIdOf } from '../server/platform/ids.ts';
import { latestVersion } from '../server/http/versions/versions.ts';
import { CommandError } from './command-error.ts';
import { type Answer, chosenSecret, eventHeaders, receiverUrl, send } from './forward.ts';
import type { Flags } from './options.ts';

/** `webhooks check`: what a receiver must bear, sent to it. */

const toleranceSeconds = 300;
const slowMs = 5_000;

type Expected = 'accepted' | 'refused';

interface Sending {
  readonly event: SomeEvent;
  readonly secrets: readonly string[];
  readonly ageSeconds?: number;
  /** Changed after it was signed. */
  readonly tamper?: (body: string) => string;
  readonly unsigned?: boolean;
}

interface Check {
  readonly name: string;
  readonly expected: Expected;
  /** Why it matters, said when it went wrong. */
  readonly advice: string;
  readonly sendings: readonly Sending[];
  /** What no answer tells, and its owner can see. */
  readonly look?: string;
}

interface Outcome {
  readonly check: string;
  readonly expected: Expected;
  readonly passed: boolean;
  readonly statuses: readonly (number | null)[];
  readonly duration_ms: number;
  readonly advice: string | null;
  readonly look: string | null;
}

type SomeEvent = ReturnType<typeof orderEvent>;

function orderEvent(nowMs: number, type: string, order: string, sequence: number) {
  return {
    id: eventIdOf(newId(nowMs)),
    type,
    created_at: new Date(nowMs).toISOString(),
    api_version: latestVersion,
    livemode: false,
    sequence,
    request_id: null,
    data: { object: { id: order, status: type.split('.')[1], total: 4900, currency: 'usd' } },
  };
}

function checksWith(secret: string, nowMs: number): Check[] {
  const event = (type = 'order.succeeded', order: string = randomUUID(), sequence = 2): SomeEvent =>
    orderEvent(nowMs, type, order, sequence);
  const signed = (one: SomeEvent, more: Partial<Sending> = {}): Sending => ({ event: one, secrets: [secret], ...more });
  const other = newSigningSecret(randomBytes(32));
  const repeated = event();
  const order = randomUUID();
  return [
    {
      name: 'a good event',
      expected: 'accepted',
      advice: 'Answer 2xx. If it was refused: does the receiver know this very secret, and verify the raw body?',
      sendings: [signed(event())],
    },
    {
      name: 'the same event three times',
      expected: 'accepted',
      advice: 'Events come more than once: answer 2xx to one you know by its id, and do nothing.',
      sendings: [signed(repeated), signed(repeated), signed(repeated)],
      look: `Look into your records: ${repeated.id} must have been handled once.`,
    },
    {
      name: 'a later event before an earlier one',
      expected: 'accepted',
      advice: 'Events may be out of order: compare `sequence`, and answer 2xx also to one that is too late to matter.',
      sendings: [signed(event('order.succeeded', order, 2)), signed(event('order.created', order, 1))],
      look: `Look into your records: the order ${order} must be paid.`,
    },
    {
      name: 'the old and the new secret, while one is rotated',
      expected: 'accepted',
      advice: 'There may be several signatures: one that matches is enough, whichever it is.',
      sendings: [
        { event: event(), secrets: [other, secret] },
        { event: event(), secrets: [secret, other] },
      ],
    },
    {
      name: 'a stale event',
      expected: 'refused',
      advice: `Refuse a timestamp that is more than ${toleranceSeconds} seconds old, or a recorded request can be played again.`,
      sendings: [signed(event(), { ageSeconds: 2 * toleranceSeconds })],
    },
    {
      name: 'a signature with another secret',
      expected: 'refused',
      advice: 'Anybody can send you events: verify the signature of each.',
      sendings: [{ event: event(), secrets: [other] }],
    },
    {
      name: 'a body that was changed on its way',
      expected: 'refused',
      advice: 'Verify the signature over the raw body, before you parse it.',
      sendings: [signed(event(), { tamper: (body) => body.replace('"total":4900', '"total":1') })],
    },
    {
      name: 'no signature',
      expected: 'refused',
      advice: 'An event without a signature is nobody’s.',
      sendings: [signed(event(), { unsigned: true })],
    },
  ];
}

async function sendOne(url: string, sending: Sending, nowMs: number): Promise<Answer> {
  const { event, secrets, ageSeconds = 0, tamper, unsigned } = sending;
  const body = JSON.stringify(event);
  const headers = eventHeaders(event, body, secrets, Math.floor(nowMs / 1_000) - ageSeconds);
  const bare = Object.entries(headers).filter(([name]) => !/signature/i.test(name));
  return send(url, unsigned ? Object.fromEntries(bare) : headers, tamper ? tamper(body) : body);
}

async function outcomeOf(url: string, check: Check): Promise<Outcome> {
  const answers: Answer[] = [];
  for (const sending of check.sendings) answers.push(await sendOne(url, sending, Date.now()));
  if (answers.some(({ status }) => status === null))
    throw new CommandError(`Nothing answers at ${url}. Is it running?`);
  const isAccepted = ({ status }: Answer): boolean => status !== null && status >= 200 && status < 300;
  // A receiver that breaks on a forged event has not refused it.
  const isRefused = ({ status }: Answer): boolean => status !== null && status >= 400 && status < 500;
  const right = answers.every(check.expected === 'accepted' ? isAccepted : isRefused);
  const slowest = Math.max(...answers.map(({ durationMs }) => durationMs));
  const slow = `It took ${slowest} ms: answer first and work afterwards, or deliveries are given up and repeated.`;
  return {
    check: check.name,
    expected: check.expected,
    passed: right && slowest < slowMs,
    statuses: answers.map(({ status }) => status),
    duration_ms: slowest,
    advice: !right ? check.advice : slowest < slowMs ? null : slow,
    look: (right && check.look) || null,
  };
}

export async function webhooksCommand([, address]: readonly string[], flags: Flags): Promise<string> {
  if (!address) throw new CommandError('Name your receiver, such as: webhooks check localhost:3000/hook.');
  const secret = chosenSecret(flags);
  if (!secret) throw new CommandError('Give the secret your receiver knows: --secret whsec_…, or SVC_WEBHOOK_SECRET.');
  const url = receiverUrl(address);
  const outcomes: Outcome[] = [];
  for (const check of checksWith(secret, Date.now())) outcomes.push(await outcomeOf(url, check));
  const failed = outcomes.filter(({ passed }) => !passed);
  if (failed.length > 0) process.exitCode = 1;
  if (flags.json) return `${JSON.stringify({ passed: failed.length === 0, checks: outcomes })}\n`;
  const lines = outcomes.flatMap(({ check, expected, passed, statuses, advice, look }) => [
    `${passed ? 'ok    ' : 'WRONG '} ${check}: to be ${expected}, answered ${statuses.join(', ')}`,
    ...[advice, look].filter(Boolean).map((text) => `       ${text}`),
  ]);
  const verdict =
    failed.length === 0 ? 'Every answer was right.' : `${failed.length} of ${outcomes.length} went wrong.`;
  return `${[...lines, verdict].join('\n')}\n`;
}
