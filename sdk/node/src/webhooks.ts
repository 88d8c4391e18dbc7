import { WebhookSignatureError } from './errors.ts';
import type { Event } from './generated/types/events.ts';

/** Verifies deliveries with Web Crypto, which every runtime has. */

export type RawBody = string | Uint8Array | ArrayBuffer;

/** The headers of a `Request`, or Node's `request.headers`. */
export type DeliveryHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** Maximum difference between the signing time and now, in both directions. Default: 300. */
  readonly toleranceSeconds?: number | undefined;
  /** The current time, for tests. */
  readonly nowMs?: number | undefined;
}

export interface SignOptions {
  /** The signing time. Default: now. */
  readonly timestampSeconds?: number | undefined;
}

export interface SignedDelivery {
  readonly body: string;
  readonly headers: Record<string, string>;
}

export interface Webhooks {
  /**
   * Returns the event of a delivery, or throws a `WebhookSignatureError`. Pass the raw body, before any parsing. During a
   * rotation you can pass several secrets; one that matches is enough.
   */
  verify(
    rawBody: RawBody,
    headers: DeliveryHeaders,
    secret: string | readonly string[],
    options?: VerifyOptions,
  ): Promise<Event>;
  /** Creates a signed delivery to test a receiver. With two secrets, it looks as during a rotation. */
  signTestEvent(event: Event, secret: string | readonly string[], options?: SignOptions): Promise<SignedDelivery>;
}

const usualToleranceSeconds = 300;
const encoder = new TextEncoder();

async function verify(
  rawBody: RawBody,
  headers: DeliveryHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<Event> {
  const secrets = secretsOf(secret);
  if (!secrets) throw refusal(secretRule);
  const body = bytesOf(rawBody);
  const signed = ownSignature(headers) ?? standardSignature(headers);
  if (!signed) throw refusal('The delivery has no signature header.');
  let matches = false;
  for (const one of secrets) {
    const expected = await signed.sign(one, body);
    // Compares every signature completely, so that the duration reveals nothing.
    for (const given of signed.signatures) matches = isSame(given, expected) || matches;
  }
  if (!matches) throw refusal('No signature matches the body and the secret.');

  const nowSeconds = (options.nowMs ?? Date.now()) / 1_000;
  const distanceSeconds = Math.abs(nowSeconds - signed.timestampSeconds);
  if (distanceSeconds > (options.toleranceSeconds ?? usualToleranceSeconds)) {
    throw refusal(`The delivery was signed ${Math.round(distanceSeconds)} seconds away from now.`);
  }
  return JSON.parse(new TextDecoder().decode(body)) as Event;
}

async function signTestEvent(
  event: Event,
  secret: string | readonly string[],
  { timestampSeconds = Math.floor(Date.now() / 1_000) }: SignOptions = {},
): Promise<SignedDelivery> {
  const body = JSON.stringify(event);
  const bytes = encoder.encode(body);
  const own: string[] = [];
  const standard: string[] = [];
  const secrets = secretsOf(secret);
  if (!secrets) throw new TypeError(secretRule);
  for (const one of secrets) {
    own.push(`v1=${await signOwn(one, timestampSeconds, bytes)}`);
    standard.push(`v1,${await signStandard(one, event.id, timestampSeconds, bytes)}`);
  }
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'svc-event-id': event.id,
      'svc-event-type': event.type,
      'svc-delivery-attempt': '1',
      'svc-signature': [`t=${timestampSeconds}`, ...own].join(','),
      'webhook-id': event.id,
      'webhook-timestamp': String(timestampSeconds),
      'webhook-signature': standard.join(' '),
    },
  };
}

export const webhooks: Webhooks = { verify, signTestEvent };

// Checked by their methods, not by their class, because test runners and sandboxes have their own classes.
function bytesOf(rawBody: RawBody): Uint8Array {
  if (typeof rawBody === 'string') return encoder.encode(rawBody);
  if (ArrayBuffer.isView(rawBody)) return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength);
  if (Object.prototype.toString.call(rawBody) === '[object ArrayBuffer]') return new Uint8Array(rawBody);
  throw new TypeError('webhooks.verify() requires the raw body, not the parsed one');
}

interface Signed {
  readonly timestampSeconds: number;
  readonly signatures: readonly string[];
  sign(secret: string, body: Uint8Array): Promise<string>;
}

/** `SVC-Signature: t=<seconds>,v1=<hex>`, with one `v1` per valid secret. */
function ownSignature(headers: DeliveryHeaders): Signed | undefined {
  const header = headerOf(headers, 'svc-signature');
  if (header === undefined) return undefined;
  const parts = header.split(',').map((part) => part.trim());
  const timestampSeconds = secondsOf(parts.find((part) => part.startsWith('t='))?.slice('t='.length));
  return {
    timestampSeconds,
    signatures: parts.filter((part) => part.startsWith('v1=')).map((part) => part.slice('v1='.length)),
    sign: (secret, body) => signOwn(secret, timestampSeconds, body),
  };
}

/** The headers of Standard Webhooks, for receivers behind a proxy that passes only those. */
function standardSignature(headers: DeliveryHeaders): Signed | undefined {
  const id = headerOf(headers, 'webhook-id');
  const header = headerOf(headers, 'webhook-signature');
  if (id === undefined || header === undefined) return undefined;
  const timestampSeconds = secondsOf(headerOf(headers, 'webhook-timestamp'));
  return {
    timestampSeconds,
    signatures: header
      .split(' ')
      .filter((part) => part.startsWith('v1,'))
      .map((part) => part.slice('v1,'.length)),
    sign: (secret, body) => signStandard(secret, id, timestampSeconds, body),
  };
}

async function signOwn(secret: string, timestampSeconds: number, body: Uint8Array): Promise<string> {
  const signature = await hmac(encoder.encode(secret), `${timestampSeconds}.`, body);
  return [...signature].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function signStandard(secret: string, id: string, timestampSeconds: number, body: Uint8Array): Promise<string> {
  const key = Uint8Array.from(atob(secret.slice(secretPrefix.length)), (character) => character.charCodeAt(0));
  return btoa(String.fromCharCode(...(await hmac(key, `${id}.${timestampSeconds}.`, body))));
}

async function hmac(key: Uint8Array<ArrayBuffer>, prefix: string, body: Uint8Array): Promise<Uint8Array> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign']);
  const start = encoder.encode(prefix);
  const content = new Uint8Array(start.length + body.length);
  content.set(start);
  content.set(body, start.length);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, content));
}

function isSame(given: string, expected: string): boolean {
  if (given.length !== expected.length) return false;
  let difference = 0;
  for (let index = 0; index < expected.length; index += 1) {
    difference |= given.charCodeAt(index) ^ expected.charCodeAt(index);
  }
  return difference === 0;
}

const secretPrefix = 'whsec_';

const secretRule = `A signing secret must start with ${secretPrefix}. Is the variable with the secret set?`;

/** Undefined if one is missing: an unset variable must not become an empty key that anyone can sign with. */
function secretsOf(secret: string | readonly string[]): readonly string[] | undefined {
  const secrets = typeof secret === 'string' ? [secret] : secret;
  const usable = Array.isArray(secrets) && secrets.length > 0 && secrets.every(isSecret);
  return usable ? secrets : undefined;
}

const isSecret = (secret: unknown): boolean =>
  typeof secret === 'string' && secret.startsWith(secretPrefix) && secret.length > secretPrefix.length;

function headerOf(headers: DeliveryHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return (headers as Headers).get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : found?.[0];
}

function secondsOf(text: string | undefined): number {
  if (text === undefined || !/^\d{1,15}$/.test(text)) throw refusal('The signature header has no valid timestamp.');
  return Number(text);
}

function refusal(message: string): WebhookSignatureError {
  return new WebhookSignatureError({ message, type: 'webhook_error', code: 'webhook_signature_failed' });
}
