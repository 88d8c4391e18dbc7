import { hash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { ApiError } from '../../errors.ts';
import type { Access as KeyAccess, ApiKeyDirectory, Refusal } from '../../http/authenticate.ts';
import { permissions as allPermissions, type Permission } from '../../http/permissions.ts';
import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, DatabasePool, Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { Secret } from '../../platform/secret.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import { generateKey, type KeyKind, parseKey } from './key-format.ts';
import { type ApiKey, findByLookup, insertApiKey, listApiKeys, markRevoked, markUsed } from './queries.ts';
import type { Company } from '../../company.ts';

export interface NewKey {
  readonly kind: KeyKind;
  readonly name: string;
  /** Defaults to every permission that exists today; an explicit list is stored either way. */
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
  const [address = '', bits, ...rest] = text.split('/');
  const bitsMax = { 4: 32, 6: 128 }[isIP(address)] ?? 0;
  const rangeFits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax);
  if (bitsMax === 0 || !rangeFits || rest.length > 0) {
    throw new InvalidKeyOption(
      `${text} is not an IP address or CIDR range. Use, for example, 203.0.113.7 or 10.0.0.0/8.`,
    );
  }
}

/** The text of the key is returned only here; only a keyed hash of it is stored. */
export async function createApiKey(
  db: Database,
  pepper: ServiceKey,
  company: Company,
  nowMs: number,
  options: NewKey,
): Promise<{ key: ApiKey; text: Secret<string> }> {
  const allowedAddresses = options.allowedAddresses ?? [];
  for (const range of allowedAddresses) checkAddressRange(range);
  const generated = generateKey(company.mode, options.kind);
  const key: ApiKey = {
    id: newId(nowMs),
    companyId: company.id,
    kind: options.kind,
    name: options.name,
    lookupId: generated.lookupId,
    permissions: options.kind === 'secret' ? (options.permissions ?? allPermissions) : [],
    allowedAddresses,
    expiresAt: options.expiresAt ?? null,
    revokedAt: null,
    lastUsedAt: null,
  };
  const secretHash = pepper.hash(generated.secret.reveal());
  if (!(await insertApiKey(db, key, secretHash, limits.apiKeys, new Date(nowMs)))) {
    const most = limits.apiKeys.toLocaleString('en');
    throw new ApiError(
      'invalid_request',
      `A company can have at most ${most} API keys. Revoke a key that you no longer need.`,
    );
  }
  return { key, text: generated.text };
}

export async function revokeApiKey(db: Database, companyId: string, id: string, nowMs: number): Promise<boolean> {
  return markRevoked(db, companyId, id, new Date(nowMs));
}

export async function apiKeysOf(db: Queryable, companyId: string): Promise<ApiKey[]> {
  return listApiKeys(db, companyId);
}

type Access = KeyAccess<ApiKey>;

const cacheMs = 5_000;
const cacheEntriesMax = 10_000;
const usedIntervalMs = 60_000;

/**
 * Finds the company of an API key. A verified key is cached for some seconds, by a hash of its text (a keyed hash
 * costs four times as much, on every request). A change of any key or company clears the cache of every process at
 * once, through NOTIFY.
 */
export async function openApiKeyDirectory(
  db: DatabasePool,
  pepper: ServiceKey,
  clock: Clock,
): Promise<ApiKeyDirectory> {
  const verified = new Map<string, Access & { loadedAtMs: number }>();
  const lastMarkedMs = new Map<string, number>();
  let generation = 0;
  const forget = (): void => {
    generation += 1;
    verified.clear();
  };
  await db.listen('access_changed', forget, forget);

  async function verify(text: string, digest: string, nowMs: number): Promise<Access | Refusal> {
    const parsed = parseKey(text);
    if (!parsed) return 'invalid_api_key_format';
    const startedIn = generation;
    const found = await findByLookup(db, parsed.lookupId);
    const hashes = pepper.hashes(parsed.secret.reveal());
    if (!found || !hashes.some((each) => timingSafeEqual(found.secretHash, each))) return 'invalid_api_key';
    const { key, company } = found;
    // A change that was announced during the query may be missing from its result.
    if (startedIn !== generation) return { key, company };
    if (verified.size >= cacheEntriesMax) verified.clear();
    verified.set(digest, { key, company, loadedAtMs: nowMs });
    return { key, company };
  }

  function noteUse(key: ApiKey, nowMs: number): void {
    if (nowMs - (lastMarkedMs.get(key.id) ?? 0) < usedIntervalMs) return;
    lastMarkedMs.set(key.id, nowMs);
    // The time of last use is a convenience: a failure here must not fail the request.
    markUsed(db, key.companyId, key.id, new Date(nowMs)).catch(() => lastMarkedMs.delete(key.id));
  }

  return {
    forget,
    async find(text, address) {
      const nowMs = clock.nowMs();
      const digest = hash('sha256', text);
      const cached = verified.get(digest);
      const access = cached && nowMs - cached.loadedAtMs < cacheMs ? cached : await verify(text, digest, nowMs);
      if (typeof access === 'string') return access;
      const { key, company } = access;
      // Checked without a time: the clock of the process that revoked the key may be ahead of ours.
      if (key.revokedAt) return 'revoked_api_key';
      if (key.expiresAt && key.expiresAt.getTime() <= nowMs) return 'expired_api_key';
      if (!addressAllowed(key.allowedAddresses, address)) return 'ip_not_allowed';
      noteUse(key, nowMs);
      return { key, company };
    },
  };
}

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** An IPv4 range written as IPv6 (`::ffff:10.0.0.0/104`) becomes the IPv4 range. */
function rangeOf(text: string): Range {
  const [network, bits] = text.includes('/') ? ipaddr.parseCIDR(text) : wholeAddress(text);
  if (!(network instanceof ipaddr.IPv6) || !network.isIPv4MappedAddress() || bits < 96) return [network, bits];
  return [network.toIPv4Address(), bits - 96];
}

function wholeAddress(text: string): Range {
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function addressAllowed(ranges: readonly string[], address: string): boolean {
  if (ranges.length === 0) return true;
  if (!ipaddr.isValid(address)) return false;
  // process() turns ::ffff:10.0.0.1 into 10.0.0.1, so that an IPv4 range also matches clients of a dual-stack socket.
  const client = ipaddr.process(address);
  return ranges.map(rangeOf).some(([network, bits]) => network.kind() === client.kind() && client.match(network, bits));
}
