import type { TSchema } from 'typebox';
import { ApiError } from '../errors.ts';
import type { ServiceKey } from '../platform/service-keys.ts';
import { canonical } from './idempotency.ts';
import type { RouteBase } from './route.ts';

/**
 * The version of an object, which its response has as the header `ETag`: a hash of the fields that a change can set. A client
 * that sends it back as `If-Match` changes the object only if these fields are as the client read them.
 */

/** 132 bits in base64url. */
const versionLength = 22;

/** With the current key, then with earlier ones. The hash is keyed, so that a header in a log says nothing about a customer. */
export function versionsOf(key: ServiceKey, companyId: string, fields: TSchema, object: unknown): string[] {
  const settable = canonical(settableFields(fields, object as Record<string, unknown>));
  return key.hashTexts(`version\0${companyId}\0${settable}`).map((hash) => `"${hash.slice(0, versionLength)}"`);
}

export function settableFields(fields: TSchema, object: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { properties = {} } = fields as { properties?: object };
  return Object.fromEntries(Object.keys(properties).map((name) => [name, shownValue(object, name)]));
}

/** A change names another object by its ID (`role_id`), while a response can contain it (`role`). */
function shownValue(object: Readonly<Record<string, unknown>>, name: string): unknown {
  if (name in object) return object[name];
  const contained = name.endsWith('_id') ? object[name.slice(0, -'_id'.length)] : undefined;
  return (contained as { id?: unknown } | undefined)?.id;
}

/** The versions that a change accepts: those of the header, or any. */
export type IfMatch = ReadonlySet<string> | 'any';

const tag = String.raw`(?:W/)?"[!#-~\x80-\xff]*"`;
const tagList = new RegExp(`^${tag}(?:[ \\t]*,[ \\t]*${tag})*$`);

export function readIfMatch(header: string | undefined): IfMatch | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (text === '*') return 'any';
  if (!tagList.test(text)) {
    const message =
      'If-Match must be the ETag of an earlier response with its quotation marks, for example "bJ5lCq3XUzv0H1Rk2mWn8s", or *.';
    throw new ApiError('invalid_request', message, { param: 'If-Match' });
  }
  // A proxy that compresses a response marks its tag as weak. The version is that of the object, so it stays the same.
  return new Set(text.match(new RegExp(tag, 'g'))?.map((one) => one.replace(/^W\//, '')));
}

export function checkIfMatch(ifMatch: IfMatch, { resource }: RouteBase, versions: readonly string[]): void {
  if (ifMatch === 'any' || versions.some((version) => ifMatch.has(version))) return;
  const message = `This ${resource} has changed since you read it. Read it again, and send its new ETag as If-Match.`;
  throw new ApiError('resource_changed', message, { param: 'If-Match', headers: { ETag: versions[0] ?? '' } });
}
