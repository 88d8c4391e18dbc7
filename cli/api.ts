import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError, failureOf, UsageError } from './command-error.ts';
import { eventTypes } from '../server/features/events/event-names.ts';
import { checkEvent } from './event-argument.ts';
import { programVersion } from '../server/platform/version.ts';
import { suggestion } from '../server/platform/suggest.ts';
import type { Flags } from './options.ts';
import { chosenProfile } from './profiles.ts';
import { withProgress } from './progress.ts';

/** Commands that call a running service over HTTP, as a merchant's program would. */

export interface Target {
  readonly baseUrl: string;
  readonly key: string;
}

/** The service and key from the options, a profile or the environment, or the demo company of the service on this machine. */
export async function chosenTarget(flags: Flags): Promise<Target> {
  const profile = await chosenProfile(flags);
  const demo = await demoTarget();
  const baseUrl =
    flags['base-url'] ?? profile?.base_url ?? process.env.SVC_URL ?? process.env.SVC_BASE_URL ?? demo?.baseUrl;
  const key = flags.key ?? profile?.key ?? process.env.SVC_KEY ?? demo?.key;
  if (baseUrl && key) return { baseUrl: addressOf(baseUrl, 'localhost:8080').replace(/\/$/, ''), key: keyOf(key) };
  throw new UsageError(
    'Set --base-url to the service and --key to a secret key (or set SVC_URL and SVC_KEY). Without them, the command ' +
      'uses the demo company in demo.json, which the service writes to SVC_DATA_DIR when it starts.',
  );
}

/** Accepts `localhost:8080` without a scheme. */
export function addressOf(text: string, example: string): string {
  const url = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`${text} is not a URL. Use, for example, ${example}.`);
  return url;
}

/** Rejects a key that no header can carry. The request would fail as if the service were down. */
function keyOf(text: string): string {
  const key = text.trim();
  if (/^[!-~]+$/.test(key)) return key;
  throw new UsageError('The key is malformed. Keys look like svc_test_sk_…; copy the whole key.');
}

async function demoTarget(): Promise<Target | undefined> {
  try {
    const text = await readFile(join(process.env.SVC_DATA_DIR ?? '.svc', 'demo.json'), 'utf8');
    const { base_url, secret_key } = JSON.parse(text) as { base_url: string; secret_key: string };
    return { baseUrl: base_url, key: secret_key };
  } catch {
    return undefined;
  }
}

/** An error response, or no response. */
export class ApiFailure extends CommandError {
  /** Null if there was no response. */
  readonly status: number | null;
  readonly retryAfterSeconds: number;
  readonly text: string;

  constructor(message: string, status: number | null, text = '', retryAfterSeconds = 0) {
    super(message, status === null ? 'unreachable' : failureOf(status));
    this.status = status;
    this.text = text;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export async function call(
  { baseUrl, key }: Target,
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<unknown> {
  const headers = {
    authorization: `Bearer ${key}`,
    'user-agent': `svc/${programVersion}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(method !== 'GET' && { 'x-svc-idempotency-key': randomUUID() }),
  };
  const payload = body === undefined ? undefined : JSON.stringify(body);
  let response: Response;
  let text: string;
  try {
    response = await fetch(baseUrl + path, {
      method,
      headers,
      ...(payload !== undefined && { body: payload }),
      ...(signal && { signal }),
    });
    text = await response.text();
  } catch {
    throw new ApiFailure(`No response from ${baseUrl}. Is the service running?`, null);
  }
  const answer = parsed(text);
  if (response.ok) return answer;
  const retryAfterSeconds = Number(response.headers.get('retry-after') ?? 0);
  throw new ApiFailure(explained(response.status, answer, text), response.status, text, retryAfterSeconds);
}

export async function ask(flags: Flags, method: string, path: string, body: unknown): Promise<unknown> {
  const target = await chosenTarget(flags);
  try {
    return await withProgress(`${method} ${path}`, () => call(target, method, path, body));
  } catch (error) {
    throw flags.json && error instanceof ApiFailure && error.text ? new ApiFailure(error.text, error.status) : error;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface ErrorBody {
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly request_id: string;
    readonly field_errors: readonly { readonly field: string; readonly message: string }[];
  };
}

function explained(status: number, answer: unknown, text: string): string {
  const { error } = (answer ?? {}) as ErrorBody;
  if (!error) return `${status}: ${text.slice(0, 500)}`;
  // The message already contains a single field error.
  const several = error.field_errors.length > 1 ? error.field_errors : [];
  const fields = several.map(({ field, message }) => `  ${field} ${message}`);
  return [`${status} ${error.code}: ${error.message}`, ...fields, `(${error.request_id})`].join('\n');
}

const shown = (answer: unknown, flags: Flags): string => `${JSON.stringify(answer, null, flags.json ? 0 : 2)}\n`;

/** `-d '{"a": 1}'`, or `-d a=x -d b=y` for text fields. */
function bodyOf(data: readonly string[] | undefined): unknown {
  if (!data) return undefined;
  const [only = ''] = data;
  if (data.length === 1 && /^\s*[{[]/.test(only)) {
    const body = parsed(only);
    if (body === undefined) throw new UsageError('The value of -d is not valid JSON.');
    return body;
  }
  return Object.fromEntries(
    data.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new UsageError(`The value of -d must be JSON or name=value, not ${pair}.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** Also `v1/customers`, without the slash. */
function pathOf(given: string): string {
  if (given === '') throw new UsageError('A path is required, for example /v1/customers.');
  if (/^\w+:\/\//.test(given))
    throw new UsageError('Give a path, for example /v1/customers, and the address as --base-url.');
  if (given.startsWith('/')) return given;
  if (/^v\d+\//.test(given)) return `/${given}`;
  throw new UsageError(`A path begins with /v1/. Did you mean /v1/${given}?`);
}

/** `get /v1/customers?limit=3`, `post /v1/customers -d email=ada@example.com …`. */
export const requestCommand =
  (method: 'GET' | 'POST' | 'PATCH' | 'DELETE') =>
  async ([given = '']: readonly string[], flags: Flags): Promise<string> => {
    const path = pathOf(given);
    return shown(await ask(flags, method, path, bodyOf(flags.data)), flags);
  };

/** `trigger order.failed`. */
export async function triggerCommand([type]: readonly string[], flags: Flags): Promise<string> {
  if (!type) throw new UsageError('An event type is required, for example order.failed.');
  checkEvent(type, eventTypes);
  const event = (await ask(flags, 'POST', '/v1/sandbox/events/trigger', { type })) as { id: string; type: string };
  return flags.json ? shown(event, flags) : `Triggered ${event.type}: ${event.id}\n`;
}

const units: Readonly<Record<string, string>> = {
  month: 'months',
  day: 'days',
  hour: 'hours',
  minute: 'minutes',
  second: 'seconds',
};

interface Advanced {
  readonly now: string;
  readonly happened?: readonly { readonly at: string; readonly type: string; readonly summary: string }[];
}

/** `clock`, `clock advance 1 month 2 days`, `clock advance 2027-01-31T09:00:00Z`. */
export async function clockCommand([action, ...words]: readonly string[], flags: Flags): Promise<string> {
  if (action !== undefined && action !== 'advance') throw new UsageError('Use clock, or clock advance 1 month.');
  const answer = (await (action
    ? ask(flags, 'POST', '/v1/sandbox/clock/advance', advanceBy(words))
    : ask(flags, 'GET', '/v1/sandbox/clock', undefined))) as Advanced;
  if (flags.json) return shown(answer, flags);
  const lines = (answer.happened ?? []).map(({ at, type, summary }) => `${at}  ${type.padEnd(24)}  ${summary}`);
  const nothing = action && lines.length === 0 ? ['Nothing was due.'] : [];
  return `${[...lines, ...nothing, `The clock is at ${answer.now}.`].join('\n')}\n`;
}

function advanceBy(words: readonly string[]): object {
  const [first = ''] = words;
  if (words.length === 1 && Number.isFinite(Date.parse(first)) && first.includes('-')) {
    return { to: new Date(first).toISOString() };
  }
  const by: Record<string, number> = {};
  for (let at = 0; at < words.length; at += 2) {
    const [count = '', word = ''] = words.slice(at, at + 2);
    const unit = Object.entries(units).find(([name]) => name === word.replace(/s$/, ''))?.[1];
    if (!/^\d+$/.test(count)) throw new UsageError(`"${count}" is not a whole number or a time. ${howToAdvance}`);
    if (!unit) throw new UsageError(wrongUnit(count, word));
    if (Object.hasOwn(by, unit)) throw new UsageError(`Give the number of ${unit} only once.`);
    by[unit] = Number(count);
  }
  if (words.length === 0) throw new UsageError(howToAdvance);
  return { by };
}

const howToAdvance = 'Give a duration or a time, for example: clock advance 1 month 2 days.';

function wrongUnit(count: string, word: string): string {
  if (word === '') return `The unit after ${count} is missing. ${howToAdvance}`;
  const known = Object.values(units);
  return `"${word}" is not a unit.${suggestion(word, known)} Units are ${known.join(', ')}. ${howToAdvance}`;
}
