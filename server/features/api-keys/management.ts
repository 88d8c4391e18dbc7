import { ApiError, invalidField, notFound } from '../../errors.ts';
import { lackingOf, requirePermissions } from '../../http/caller.ts';
import { type Permission, rightsOfKey, usualPermissions } from '../../http/permissions.ts';
import type { Clock } from '../../platform/clock.ts';
import type { ControlQueryable } from '../../platform/database.ts';
import { hourMs } from '../../platform/durations.ts';
import { createdAt } from '../../platform/ids.ts';
import { keyPrefix } from './key-format.ts';
import { withoutOldTrials } from './trial.ts';
import { type ApiKey, findApiKey, listApiKeys, updateApiKey } from './queries.ts';
import type { ApiKeyCreate, ApiKeyUpdate, ShownApiKey } from './schemas.ts';
import {
  checkAddressRange,
  createApiKey,
  InvalidKeyOption,
  reserveApiKey,
  type ReservedKey,
  revokeApiKey,
} from './service.ts';
import type { RequestContext } from '../../request-context.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';

/** API keys in the dashboard. They use real time, even in a sandbox whose clock was moved. */

export interface KeyDependencies {
  readonly clock: Clock;
  readonly control: ControlQueryable;
  readonly pepper: ServiceKey;
  /** Clears the cache, so that the next request sees the change. */
  readonly forgetAccess: (companyId: string) => void;
}

type NewKey = ShownApiKey & { readonly key: string };

function statusOf({ revokedAt, expiresAt }: ApiKey, nowMs: number): ShownApiKey['status'] {
  if (revokedAt) return 'revoked';
  return expiresAt && expiresAt.getTime() <= nowMs ? 'expired' : 'active';
}

function toWire({ company }: RequestContext, key: ApiKey, nowMs: number): ShownApiKey {
  return {
    id: key.id,
    name: key.name,
    kind: key.kind,
    prefix: `${keyPrefix(company.mode, key.kind)}${key.lookupId}`,
    permissions: [...key.permissions],
    allowed_addresses: [...key.allowedAddresses],
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    created_at: createdAt(key.id),
    status: statusOf(key, nowMs),
  };
}

export async function getApiKeys(
  context: RequestContext,
  { clock, control }: KeyDependencies,
): Promise<{ data: ShownApiKey[] }> {
  const keys = await listApiKeys(context.db, context.company.id);
  const nowMs = clock.nowMs();
  const shown = await withoutOldTrials(control, keys, nowMs);
  return { data: shown.toReversed().map((key) => toWire(context, key, nowMs)) };
}

/** A member cannot create a key with more permissions than the member has. */
function requireToGrant({ caller }: RequestContext, wanted: readonly string[]): void {
  requirePermissions(caller, rightsOfKey(wanted), 'this key would have', 'permissions');
}

/**
 * Applies to changing, rotating and revoking: a member cannot touch a key with more permissions than the member has.
 */
function requireToTouch({ caller }: RequestContext, key: ApiKey): void {
  requirePermissions(caller, rightsOfKey(key.permissions), 'this key has');
}

/**
 * Returns all usual permissions that the member can grant. A key with every permission has the rights of an admin, so a
 * member who is not an admin cannot grant `team_members:write`.
 */
function permissionsOf({ caller }: RequestContext): Permission[] {
  const own = usualPermissions.filter((permission) => lackingOf(caller, [permission]).length === 0);
  const lacks = lackingOf(caller, rightsOfKey(own)).length > 0;
  return lacks ? own.filter((permission) => permission !== 'team_members:write') : own;
}

function checkOptions(input: ApiKeyUpdate, nowMs: number): void {
  for (const [index, range] of (input.allowed_addresses ?? []).entries()) {
    try {
      checkAddressRange(range);
    } catch (error) {
      if (!(error instanceof InvalidKeyOption)) throw error;
      throw invalidField(`allowed_addresses[${index}]`, 'must be an IP address or CIDR range, for example 10.0.0.0/8');
    }
  }
  if (input.expires_at && Date.parse(input.expires_at) <= nowMs) {
    throw invalidField('expires_at', 'must be in the future');
  }
}

const expiry = (text: string | null | undefined): Date | null => (text ? new Date(text) : null);

/** Before the transaction that creates the key. */
export const reserveNewKey = (
  { company }: RequestContext,
  { control, pepper, clock }: KeyDependencies,
  { kind }: Pick<ApiKeyCreate, 'kind'>,
): Promise<ReservedKey> => reserveApiKey(control, pepper, company, clock.nowMs(), kind);

export async function makeApiKey(
  context: RequestContext,
  { clock }: KeyDependencies,
  input: ApiKeyCreate,
  reserved: ReservedKey,
): Promise<NewKey> {
  const nowMs = clock.nowMs();
  if (input.kind === 'publishable' && input.permissions?.length) {
    throw invalidField('permissions', 'is only for secret keys; a publishable key can only create card tokens');
  }
  const permissions = input.permissions ?? (input.kind === 'secret' ? permissionsOf(context) : []);
  requireToGrant(context, permissions);
  checkOptions(input, nowMs);
  const made = await createApiKey(context.db, reserved, nowMs, {
    name: input.name,
    permissions,
    allowedAddresses: input.allowed_addresses ?? [],
    expiresAt: expiry(input.expires_at),
  });
  return { ...toWire(context, made.key, nowMs), key: made.text.reveal() };
}

async function find(context: RequestContext, id: string): Promise<ApiKey> {
  const key = await findApiKey(context.db, context.company.id, id);
  if (!key) throw notFound('API key');
  requireToTouch(context, key);
  return key;
}

async function findActive(context: RequestContext, id: string, nowMs: number): Promise<ApiKey> {
  const key = await find(context, id);
  const status = statusOf(key, nowMs);
  if (status !== 'active') throw new ApiError('invalid_state_transition', `This key is ${status}. Create a new one.`);
  return key;
}

export async function getApiKey(context: RequestContext, { clock }: KeyDependencies, id: string): Promise<ShownApiKey> {
  const key = (await listApiKeys(context.db, context.company.id)).find((one) => one.id === id);
  if (!key) throw notFound('API key');
  return toWire(context, key, clock.nowMs());
}

/** Locks the key until the transaction ends. */
export async function lockedApiKey(
  context: RequestContext,
  { clock }: KeyDependencies,
  id: string,
): Promise<ShownApiKey | undefined> {
  const key = await findApiKey(context.db, context.company.id, id);
  return key && toWire(context, key, clock.nowMs());
}

export async function changeApiKey(
  context: RequestContext,
  { clock, forgetAccess }: KeyDependencies,
  id: string,
  input: ApiKeyUpdate,
): Promise<ShownApiKey> {
  const nowMs = clock.nowMs();
  checkOptions(input, nowMs);
  const changed = await context.db.transaction(async (transaction) => {
    const key = await findActive({ ...context, db: transaction }, id, nowMs);
    if (key.kind === 'publishable' && input.permissions?.length) {
      throw invalidField('permissions', 'is only for secret keys; a publishable key can only create card tokens');
    }
    requireToGrant(context, input.permissions ?? []);
    const next: ApiKey = {
      ...key,
      name: input.name ?? key.name,
      permissions: input.permissions ?? key.permissions,
      allowedAddresses: input.allowed_addresses ?? key.allowedAddresses,
      expiresAt: input.expires_at === undefined ? key.expiresAt : expiry(input.expires_at),
    };
    await updateApiKey(transaction, next);
    return next;
  });
  forgetAccess(context.company.id);
  return toWire(context, changed, nowMs);
}

/** Before the transaction that rotates the key. */
export async function reserveRotation(
  context: RequestContext,
  dependencies: KeyDependencies,
  id: string,
): Promise<ReservedKey> {
  return reserveNewKey(context, dependencies, await findActive(context, id, dependencies.clock.nowMs()));
}

/**
 * Creates a new key with the same permissions. The old key works for the grace period, but never past its own expiry.
 */
export async function rotateApiKey(
  context: RequestContext,
  { clock, forgetAccess }: KeyDependencies,
  id: string,
  graceHours: number,
  reserved: ReservedKey,
): Promise<NewKey & { previous_valid_until: string }> {
  const nowMs = clock.nowMs();
  const rotated = await context.db.transaction(async (transaction) => {
    const old = await findActive({ ...context, db: transaction }, id, nowMs);
    const { name, permissions, allowedAddresses, expiresAt } = old;
    const options = { name, permissions, allowedAddresses, expiresAt };
    const untilMs = Math.min(nowMs + graceHours * hourMs, expiresAt?.getTime() ?? Infinity);
    // The old key expires first, so that without a grace period the new one fits even at the limit of keys.
    await updateApiKey(transaction, { ...old, expiresAt: new Date(untilMs) });
    const made = await createApiKey(transaction, reserved, nowMs, options);
    return { made, untilMs };
  });
  forgetAccess(context.company.id);
  const { made, untilMs } = rotated;
  const shown = { ...toWire(context, made.key, nowMs), key: made.text.reveal() };
  return { ...shown, previous_valid_until: new Date(untilMs).toISOString() };
}

export async function endApiKey(
  context: RequestContext,
  { clock, forgetAccess }: KeyDependencies,
  id: string,
): Promise<ShownApiKey> {
  const nowMs = clock.nowMs();
  const revoked = await context.db.transaction(async (transaction) => {
    const key = await find({ ...context, db: transaction }, id);
    await revokeApiKey(transaction, key.companyId, id, nowMs);
    return { ...key, revokedAt: key.revokedAt ?? new Date(nowMs) };
  });
  forgetAccess(context.company.id);
  return toWire(context, revoked, nowMs);
}
