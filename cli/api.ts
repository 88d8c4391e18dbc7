import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { confirmDeletion } from './confirm.ts';
import { CommandError, failureOf, UsageError } from './command-error.ts';
import { eventTypes } from '../server/features/events/event-names.ts';
import { checkEvent } from './event-argument.ts';
import { programVersion } from '../server/platform/version.ts';
import { suggestion } from '../server/platform/suggest.ts';
import type { Flags } from './options.ts';
import { type Reply, send } from './http.ts';
import { bodyArgument, isObject } from './json-argument.ts';
import { chosenProfile, defaultProfile, type Profile } from './profiles.ts';
import { withProgress } from './progress.ts';

/** Commands that call a running service over HTTP, as a merchant's program would. */

export interface Target {
  readonly baseUrl: string;
  readonly key: string;
}

/** The service and key from the options, a profile or the environment, or the demo company of the service on this machine. */
export async function chosenTarget(flags: Flags): Promise<Target> {
  const sources = [await chosenProfile(flags), environmentTarget(), await defaultTarget(flags), await demoTarget()];
  const baseUrl = flags['base-url'] ?? sources.find((each) => each?.base_url)?.base_url;
  const key = flags.key ?? sources.find((each) => each?.key)?.key;
  if (baseUrl && key) return { baseUrl: addressOf(baseUrl, 'localhost:8080').replace(/\/$/, ''), key: keyOf(key) };
  throw new UsageError(
    'Run svc login, or set --base-url to the service and --key to a secret key (or set SVC_URL and SVC_KEY). Without them, ' +
      'the command uses the demo company in demo.json, which the service writes to SVC_DATA_DIR when it starts.',
  );
}

type PartOfTarget = Partial<Profile> | undefined;

const environmentTarget = (): PartOfTarget => {
  const { SVC_URL, SVC_BASE_URL, SVC_KEY } = process.env;
  const base_url = SVC_URL || SVC_BASE_URL;
  return { ...(base_url && { base_url }), ...(SVC_KEY && { key: SVC_KEY }) };
};

/** The key of the profile is never sent to an address that was set without it. */
async function defaultTarget(flags: Flags): Promise<PartOfTarget> {
  return flags['base-url'] || environmentTarget()?.base_url ? undefined : defaultProfile();
}

/** Accepts `localhost:8080` without a scheme. */
export function addressOf(text: string, example: string): string {
  const url = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`${text} is not a URL. Use, for example, ${example}.`);
  return url;
}

/** Rejects a key that no header can carry. The request would fail as if the service were down. */
export function keyOf(text: string): string {
  const key = text.trim();
  if (/^[!-~]+$/.test(key)) return key;
  throw new UsageError('The key is malformed. Keys look like svc_test_sk_…; copy the whole key.');
}

async function demoTarget(): Promise<PartOfTarget> {
  try {
    const text = await readFile(join(process.env.SVC_DATA_DIR ?? '.svc', 'demo.json'), 'utf8');
    const { base_url, secret_key } = JSON.parse(text) as { base_url: string; secret_key: string };
    return { base_url, key: secret_key };
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

  /** With the response as its message, for --json. */
  asJson(): ApiFailure {
    return new ApiFailure(this.text, this.status, this.text, this.retryAfterSeconds);
  }
}

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly idempotencyKey?: string | undefined;
}

export async function call(
  { baseUrl, key }: Target,
  method: string,
  path: string,
  body?: unknown,
  { signal, idempotencyKey = randomUUID() }: CallOptions = {},
): Promise<unknown> {
  // A form is built only by an upload; asking for its class would load fetch.
  const isForm = method === 'POST' && isFormData(body);
  const headers = {
    authorization: `Bearer ${key}`,
    'user-agent': `svc/${programVersion}`,
    ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
    ...(method !== 'GET' && { 'x-svc-idempotency-key': idempotencyKey }),
  };
  const payload = body === undefined ? undefined : isForm ? (body as FormData) : JSON.stringify(body);
  const again =
    method === 'GET' ? '' : ` It may have been executed. Repeat it with --idempotency-key ${idempotencyKey}.`;
  let reply: Reply;
  try {
    reply = await send(baseUrl + path, {
      method,
      headers,
      ...(payload !== undefined && { body: payload }),
      ...(signal && { signal }),
    });
  } catch (error) {
    const hint = wasSent(error) ? again : '';
    throw new ApiFailure(`No response from ${baseUrl}. Is the service running?${hint}`, null);
  }
  const { status, text } = reply;
  const answer = parsed(text);
  if (status >= 200 && status < 300) return answer;
  const retryAfterSeconds = Number(reply.headers['retry-after'] ?? 0);
  throw new ApiFailure(explained(status, answer, text) + (status >= 500 ? again : ''), status, text, retryAfterSeconds);
}

const isFormData = (body: unknown): boolean => Object.prototype.toString.call(body) === '[object FormData]';

/** Whether the request can have reached the service. */
function wasSent(error: unknown): boolean {
  return !['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes((error as NodeJS.ErrnoException).code ?? '');
}

export async function ask(
  flags: Flags,
  method: string,
  path: string,
  body: unknown,
  options: CallOptions = {},
): Promise<unknown> {
  const target = await chosenTarget(flags);
  try {
    return await withProgress(`${method} ${path}`, () => call(target, method, path, body, options));
  } catch (error) {
    throw flags.json && error instanceof ApiFailure && error.text ? error.asJson() : error;
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
    const body = await bodyArgument(flags.data);
    if (method === 'DELETE') await confirmDeletion(path, flags);
    return shown(await ask(flags, method, path, body, { idempotencyKey: flags['idempotency-key'] }), flags);
  };

/** `--override total=4900`: a value that is JSON is a number or an object, any other is text. */
function overridesOf(pairs: readonly string[] | undefined): object | undefined {
  const texts: Record<string, unknown> = {};
  for (const pair of pairs ?? []) {
    const [, path = '', text = ''] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (path.split('.').includes('')) {
      throw new UsageError(`--override must be a field and a value, for example email=ada@example.com, not ${pair}.`);
    }
    const names = path.split('.');
    const value = parsed(text);
    putAt(texts, names, value === undefined ? text : value, path);
  }
  return pairs && texts;
}

function putAt(
  object: Record<string, unknown>,
  [name = '', ...rest]: readonly string[],
  value: unknown,
  path: string,
): void {
  const there = Object.hasOwn(object, name) ? object[name] : undefined;
  const inside = rest.length > 0 && isObject(there) ? there : undefined;
  if (there !== undefined && !inside) throw new UsageError(`Give --override ${path} only once.`);
  const inner = inside ?? {};
  if (rest.length > 0) putAt(inner, rest, value, path);
  const put = rest.length > 0 ? inner : value;
  Object.defineProperty(object, name, { value: put, enumerable: true, writable: true, configurable: true });
}

/** `trigger order.failed`. */
export async function triggerCommand([type]: readonly string[], flags: Flags): Promise<string> {
  if (!type) throw new UsageError('An event type is required, for example order.failed.');
  checkEvent(type, eventTypes);
  const overrides = overridesOf(flags.override);
  const event = (await ask(flags, 'POST', '/v1/sandbox/events/trigger', { type, ...(overrides && { overrides }) })) as {
    id: string;
    type: string;
  };
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
