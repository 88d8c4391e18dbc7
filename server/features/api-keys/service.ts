import { hash, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../errors.ts';
import type { Access as KeyAccess, ApiKeyDirectory, Refusal } from '../../http/authenticate.ts';
import { type Permission, usualPermissions } from '../../http/permissions.ts';
import { limits } from '../../limits.ts';
import { isAddressRange, withinRanges } from '../../platform/addresses.ts';
import type { Clock } from '../../platform/clock.ts';
import type { ControlQueryable, Database, Queryable } from '../../platform/database.ts';
import { hourMs } from '../../platform/durations.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { newId } from '../../platform/ids.ts';
import { createMisses } from '../../platform/misses.ts';
import type { Secret } from '../../platform/secret.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import { generateKey, type KeyKind, parseKey } from './key-format.ts';
import { openLookups } from './lookups.ts';
import {
  type ApiKey,
  deleteLookups,
  findExistingKeys,
  findKey,
  findOldLookups,
  insertApiKey,
  insertLookup,
  insertLookupOfSession,
  listApiKeys,
  markRevoked,
  markUsed,
  revokePrefixed,
} from './queries.ts';
import type { Company } from '../../company.ts';
import type { CallerSession } from '../../request-context.ts';
import { onAccessChange } from '../../shards/directory.ts';
import type { Shards } from '../../shards/shards.ts';

export interface NewKey {
  readonly kind: KeyKind;
  readonly name: string;
  /** Defaults to every usual permission that exists today; an explicit list is stored either way. */
  readonly permissions?: readonly Permission[];
  readonly allowedAddresses?: readonly string[];
  readonly expiresAt?: Date | null;
}

export class InvalidKeyOption extends Error {}

/**
 * Accepts an address or CIDR range in its usual form. `10` or `010.0.0.1` mean different things to different
 * programs.
 */
export function checkAddressRange(text: string): void {
  if (isAddressRange(text)) return;
  throw new InvalidKeyOption(
    `${text} is not an IP address or CIDR range. Use, for example, 203.0.113.7 or 10.0.0.0/8.`,
  );
}

/** The text of a key that does not exist yet. Only a keyed hash of it is stored. */
export interface ReservedKey {
  readonly id: string;
  readonly companyId: string;
  readonly kind: KeyKind;
  readonly lookupId: string;
  readonly secretHash: Buffer;
  readonly text: Secret<string>;
}

/**
 * The first of two steps, because the control plane may be on another server than the company: records how the key is
 * found. Until the key is created, the text gives no access. With a session, the key ends when the session does.
 */
export async function reserveApiKey(
  control: ControlQueryable,
  pepper: ServiceKey,
  company: Company,
  nowMs: number,
  kind: KeyKind,
  session?: CallerSession,
): Promise<ReservedKey> {
  const { lookupId, secret, text } = generateKey(company.mode, kind);
  const secretHash = pepper.hash(secret.reveal());
  const reserved = { id: newId(nowMs), companyId: company.id, kind, lookupId, secretHash, text };
  if (!session) await insertLookup(control, reserved);
  else if (!(await insertLookupOfSession(control, reserved, session))) {
    throw new ApiError('missing_session', 'You are not signed in.');
  }
  failpoint('api_key.after_lookup');
  return reserved;
}

/** The second step. */
export async function createApiKey(
  db: Database,
  { secretHash, text, ...reserved }: ReservedKey,
  nowMs: number,
  options: Omit<NewKey, 'kind'>,
): Promise<{ key: ApiKey; text: Secret<string> }> {
  const allowedAddresses = options.allowedAddresses ?? [];
  for (const range of allowedAddresses) checkAddressRange(range);
  const key: ApiKey = {
    ...reserved,
    name: options.name,
    permissions: reserved.kind === 'secret' ? (options.permissions ?? usualPermissions) : [],
    allowedAddresses,
    expiresAt: options.expiresAt ?? null,
    revokedAt: null,
    lastUsedAt: null,
  };
  if (!(await insertApiKey(db, key, secretHash, limits.apiKeys, new Date(nowMs)))) {
    const most = limits.apiKeys.toLocaleString('en');
    throw new ApiError(
      'invalid_request',
      `A company can have at most ${most} API keys. Revoke a key that you no longer need.`,
    );
  }
  return { key, text };
}

export async function revokeApiKey(db: Database, companyId: string, id: string, nowMs: number): Promise<boolean> {
  return markRevoked(db, companyId, id, new Date(nowMs));
}

/** The name of a key that the API reference uses for a member begins so. */
export const trialPrefix = 'API reference · ';

/** For a change of members or roles: such a key must not outlive the permissions that it was made from. */
export const revokeTrialKeys = (db: Queryable, companyId: string): Promise<void> =>
  revokePrefixed(db, companyId, trialPrefix);

export async function apiKeysOf(db: Queryable, companyId: string): Promise<ApiKey[]> {
  return listApiKeys(db, companyId);
}

/** Longer than any request takes: a lookup without a key is one whose request failed. */
const reservedMs = hourMs;
const pageCount = 500;

/** Removes the lookups of keys that were never created. Returns how many. */
export async function reapLookups({ control, of }: Pick<Shards, 'control' | 'of'>, nowMs: number): Promise<number> {
  let [after, removed] = ['', 0];
  for (;;) {
    const page = await findOldLookups(control, after, pageCount, new Date(nowMs - reservedMs));
    for (const [shard, lookups] of Map.groupBy(page, (lookup) => lookup.shard)) {
      const existing = await findExistingKeys(of({ shard }).db, lookups);
      const gone = lookups.filter(({ keyId }) => !existing.has(keyId)).map(({ lookupId }) => lookupId);
      if (gone.length > 0) await deleteLookups(control, gone);
      removed += gone.length;
    }
    after = page.at(-1)?.lookupId ?? '';
    if (page.length < pageCount) return removed;
  }
}

type Access = KeyAccess<ApiKey>;

const cacheMs = 5_000;
const cacheEntriesMax = 10_000;
const usedIntervalMs = 60_000;

/**
 * Finds the company of an API key. A verified key is cached for some seconds, by a hash of its text (a keyed hash
 * costs four times as much, on every request). A change of a key or company removes it from the cache of every process
 * at once, through NOTIFY.
 */
export async function openApiKeyDirectory(
  { control, each: onEach, of }: Pick<Shards, 'control' | 'each' | 'of'>,
  pepper: ServiceKey,
  clock: Clock,
): Promise<ApiKeyDirectory> {
  const verified = new Map<string, Access & { loadedAtMs: number }>();
  const lookups = openLookups(control);
  const lastMarkedMs = new Map<string, number>();
  let generation = 0;
  const forget = (companyId?: string): void => {
    generation += 1;
    deleteOf(verified, companyId, ({ company }) => company.id);
    lookups.forget(companyId);
  };
  // The control plane is on the first shard, where one connection listens for both.
  const isControl = (pool: object): boolean => pool === control;
  const listening = [onAccessChange(control, forget)];
  onEach(({ db }) => {
    if (!isControl(db)) listening.push(onAccessChange(db, forget));
  });
  await Promise.all(listening);

  const misses = createMisses(tooManyUnknown);

  async function verify(text: string, digest: string, nowMs: number, address: string): Promise<Access | Refusal> {
    const parsed = parseKey(text);
    if (!parsed) return 'invalid_api_key_format';
    // A key in use never waits, although others of its address send unknown ones.
    if (!lookups.knows(parsed.lookupId)) await misses.turn(address);

    const startedIn = generation;
    const found = await lookups.find(parsed.lookupId, async (lookup) => {
      const read = await findKey(of(lookup).db, lookup);
      return read && { ...read, hasEnded: lookup.hasEnded };
    });
    const hashes = pepper.hashes(parsed.secret.reveal());
    if (!found || !hashes.some((each) => timingSafeEqual(found.secretHash, each))) {
      misses.note(address);
      return 'invalid_api_key';
    }
    if (found.hasEnded) return 'revoked_api_key';
    const { key, company } = found;
    // A change that was announced during the query may be missing from its result.
    if (startedIn !== generation) return { key, company };
    if (verified.size >= cacheEntriesMax) verified.clear();
    verified.set(digest, { key, company, loadedAtMs: nowMs });
    return { key, company };
  }

  function noteUse({ key, company }: Access, nowMs: number): void {
    if (nowMs - (lastMarkedMs.get(key.id) ?? 0) < usedIntervalMs) return;
    lastMarkedMs.set(key.id, nowMs);
    // The time of last use is a convenience: a failure here must not fail the request.
    markUsed(of(company).db, key.companyId, key.id, new Date(nowMs)).catch(() => lastMarkedMs.delete(key.id));
  }

  return {
    forget,
    async find(text, address) {
      const nowMs = clock.nowMs();
      const digest = hash('sha256', text);
      const cached = verified.get(digest);
      const access =
        cached && nowMs - cached.loadedAtMs < cacheMs ? cached : await verify(text, digest, nowMs, address);
      if (typeof access === 'string') return access;
      const { key, company } = access;
      // Checked without a time: the clock of the process that revoked the key may be ahead of ours.
      if (key.revokedAt) return 'revoked_api_key';
      if (key.expiresAt && key.expiresAt.getTime() <= nowMs) return 'expired_api_key';
      if (key.allowedAddresses.length > 0 && !withinRanges(key.allowedAddresses)(address)) return 'ip_not_allowed';
      noteUse(access, nowMs);
      return { key, company };
    },
  };
}

const tooManyUnknown = (retryAfterSeconds: number): ApiError =>
  new ApiError('global_rate_limit_exceeded', 'Too many requests with unknown API keys came from your IP address.', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });

/** Deletes the entries of a company, or all of them. */
function deleteOf<Value>(
  entries: Map<string, Value>,
  companyId: string | undefined,
  companyOf: (value: Value) => string,
): void {
  if (companyId === undefined) entries.clear();
  else for (const [key, value] of entries) if (companyOf(value) === companyId) entries.delete(key);
}
