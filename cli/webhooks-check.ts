import { randomBytes, randomUUID } from 'node:crypto';
import { newSigningSecret } from '../server/features/webhooks/signing.ts';
import { newId } from '../server/platform/ids.ts';
import { eventIdOf } from '../server/platform/ids.ts';
import { latestVersion } from '../server/http/versions/latest.ts';
import { CommandError, UsageError } from './command-error.ts';
import { type Answer, chosenSecret, eventHeaders, receiverUrl, send } from './forward.ts';
import type { Flags } from './options.ts';

/** `webhooks check`: sends a receiver every kind of event that it must handle. */

const toleranceSeconds = 300;
const slowMs = 5_000;

type Expected = 'accepted' | 'refused';

interface Sending {
  readonly event: SomeEvent;
  readonly secrets: readonly string[];
  readonly ageSeconds?: number;
  /** Changes the body after it was signed. */
  readonly tamper?: (body: string) => string;
  readonly unsigned?: boolean;
}

interface Check {
  readonly name: string;
  readonly expected: Expected;
  /** Shown if the check fails. */
  readonly advice: string;
  readonly sendings: readonly Sending[];
  /** What only the owner of the receiver can check. */
  readonly look?: string;
}

interface CheckResult {
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
      name: 'a valid event',
      expected: 'accepted',
      advice:
        'Respond with 2xx. If your receiver rejected the event, check that it uses this secret and verifies the raw body.',
      sendings: [signed(event())],
    },
    {
      name: 'the same event three times',
      expected: 'accepted',
      advice: 'Events can arrive more than once. If you know the ID, respond with 2xx and do nothing.',
      sendings: [signed(repeated), signed(repeated), signed(repeated)],
      look: `Check your records: ${repeated.id} must have been handled once.`,
    },
    {
      name: 'a later event before an earlier one',
      expected: 'accepted',
      advice: 'Events can arrive out of order. Compare `sequence`, and respond with 2xx to outdated events too.',
      sendings: [signed(event('order.succeeded', order, 2)), signed(event('order.created', order, 1))],
      look: `Check your records: the order ${order} must be paid.`,
    },
    {
      name: 'signatures with the old and the new secret during a rotation',
      expected: 'accepted',
      advice: 'There can be several signatures. Accept the event if any of them matches.',
      sendings: [
        { event: event(), secrets: [other, secret] },
        { event: event(), secrets: [secret, other] },
      ],
    },
    {
      name: 'a stale event',
      expected: 'refused',
      advice: `Reject timestamps older than ${toleranceSeconds} seconds, so that a recorded request cannot be replayed.`,
      sendings: [signed(event(), { ageSeconds: 2 * toleranceSeconds })],
    },
    {
      name: 'a signature with another secret',
      expected: 'refused',
      advice: 'Verify the signature of every event, because anyone can send requests to your URL.',
      sendings: [{ event: event(), secrets: [other] }],
    },
    {
      name: 'a modified body',
      expected: 'refused',
      advice: 'Verify the signature over the raw body before you parse it.',
      sendings: [signed(event(), { tamper: (body) => body.replace('"total":4900', '"total":1') })],
    },
    {
      name: 'no signature',
      expected: 'refused',
      advice: 'Reject events without a signature.',
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

async function outcomeOf(url: string, check: Check): Promise<CheckResult> {
  const answers: Answer[] = [];
  for (const sending of check.sendings) answers.push(await sendOne(url, sending, Date.now()));
  if (answers.some(({ status }) => status === null))
    throw new CommandError(`No response from ${url}. Is your receiver running?`, 'unreachable');
  const isAccepted = ({ status }: Answer): boolean => status !== null && status >= 200 && status < 300;
  // A receiver that fails with 5xx on a forged event has not rejected it.
  const isRefused = ({ status }: Answer): boolean => status !== null && status >= 400 && status < 500;
  const right = answers.every(check.expected === 'accepted' ? isAccepted : isRefused);
  const slowest = Math.max(...answers.map(({ durationMs }) => durationMs));
  const slow = `Your receiver took ${slowest} ms. Respond first and do slow work afterwards, or deliveries time out and are retried.`;
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
  if (!address)
    throw new UsageError('The URL of your receiver is required, for example: webhooks check localhost:3000/hook.');
  const secret = chosenSecret(flags);
  if (!secret)
    throw new UsageError('The signing secret of your receiver is required: --secret whsec_… or SVC_WEBHOOK_SECRET.');
  const url = receiverUrl(address);
  const outcomes: CheckResult[] = [];
  for (const check of checksWith(secret, Date.now())) outcomes.push(await outcomeOf(url, check));
  const failed = outcomes.filter(({ passed }) => !passed);
  if (failed.length > 0) process.exitCode = 1;
  if (flags.json) return `${JSON.stringify({ passed: failed.length === 0, checks: outcomes })}\n`;
  const lines = outcomes.flatMap(({ check, expected, passed, statuses, advice, look }) => [
    `${passed ? 'ok    ' : 'FAILED'} ${check}: expected to be ${expected}, got ${statuses.join(', ')}`,
    ...[advice, look].filter(Boolean).map((text) => `       ${text}`),
  ]);
  const verdict = failed.length === 0 ? 'All checks passed.' : `${failed.length} of ${outcomes.length} checks failed.`;
  return `${[...lines, verdict].join('\n')}\n`;
}
