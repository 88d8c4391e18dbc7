import Type from 'typebox';
import { ApiError } from '../server/errors.ts';
import {
  apiKeysOf,
  checkAddressRange,
  createApiKey,
  InvalidKeyOption,
  reserveApiKey,
  revokeApiKey,
} from '../server/features/api-keys/service.ts';
import { isPermission, type Permission, permissions } from '../server/http/permissions.ts';
import { name } from '../server/http/schemas.ts';
import { validator } from '../server/http/validate.ts';
import { systemClock } from '../server/platform/clock.ts';
import type { DatabasePool } from '../server/platform/database.ts';
import { daySeconds } from '../server/platform/durations.ts';
import { createdAt, isUuid } from '../server/platform/ids.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError, UsageError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import type { Flags } from './options.ts';
import { table } from './table.ts';
import { auditOperator } from './audit.ts';
import type { Company } from '../server/company.ts';
import type { ServiceKey } from '../server/platform/service-keys.ts';
import type { Shards } from '../server/shards/shards.ts';

export async function keysCommand([action, id]: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async ({ shards, pepper }) => {
    const company = await chosenCompany(shards, flags.company);
    const { db } = shards.of(company);
    if (action === 'create') return createKey(shards, pepper, company, flags);
    if (action === 'list') return listKeys(db, company, flags);
    if (action === 'revoke') return revokeKey(db, company, id, flags);
    throw new UsageError('Use keys create, keys list or keys revoke ID.');
  });
}

function chosenPermissions(text: string | undefined): Permission[] | undefined {
  if (text === undefined) return undefined;
  const named = text.split(',').map((part) => part.trim());
  const unknown = named.filter((one) => !isPermission(one));
  if (unknown.length > 0) {
    throw new UsageError(`Unknown permission ${unknown.join(', ')}. Valid permissions: ${permissions.join(', ')}.`);
  }
  return named.filter(isPermission);
}

/** The same rules as in the dashboard. */
const checkName = validator(Type.Object({ name: name() }));

function chosenName(text: string | undefined): string {
  try {
    return checkName({ name: text ?? 'command line' }).name;
  } catch (error) {
    throw error instanceof ApiError ? new UsageError(`--name ${error.fieldErrors[0]?.message}.`) : error;
  }
}

const expirySecondsMax = 100 * 366 * daySeconds;

function chosenExpiry(text: string | undefined, nowMs: number): Date | null {
  if (text === undefined) return null;
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > expirySecondsMax) {
    throw new UsageError(
      `--expires-in must be a whole number of seconds, at most ${expirySecondsMax} (a hundred years).`,
    );
  }
  return new Date(nowMs + seconds * 1000);
}

async function createKey(shards: Shards, pepper: ServiceKey, company: Company, flags: Flags): Promise<string> {
  const kind = flags.kind ?? 'secret';
  if (kind !== 'secret' && kind !== 'publishable') throw new UsageError('--kind must be secret or publishable.');
  const nowMs = systemClock.nowMs();
  const chosen = chosenPermissions(flags.permissions);
  if (chosen && kind === 'publishable') {
    throw new UsageError('--permissions is only for secret keys. A publishable key can only create card tokens.');
  }
  const options = {
    name: chosenName(flags.name),
    ...(chosen && { permissions: chosen }),
    allowedAddresses: (flags['allow-ip'] ?? []).flatMap((ranges) => ranges.split(',')).map((range) => range.trim()),
    expiresAt: chosenExpiry(flags['expires-in'], nowMs),
  } as const;
  try {
    for (const range of options.allowedAddresses) checkAddressRange(range);
    const reserved = await reserveApiKey(shards.control, pepper, company, nowMs, kind);
    const { key, text } = await shards.of(company).db.transaction(async (transaction) => {
      const made = await createApiKey(transaction, reserved, nowMs, options);
      await auditOperator(transaction, company, {
        action: 'createApiKey',
        objectId: made.key.id,
        fields: ['kind', 'name', 'permissions', 'allowed_addresses', 'expires_at'],
      });
      return made;
    });
    if (!flags.json) return `${text.reveal()}\n`;
    return `${JSON.stringify({ id: key.id, key: text.reveal(), ...describe(key) })}\n`;
  } catch (error) {
    throw error instanceof InvalidKeyOption || error instanceof ApiError ? new UsageError(error.message) : error;
  }
}

function describe(key: Awaited<ReturnType<typeof apiKeysOf>>[number]): Record<string, unknown> {
  return {
    id: key.id,
    kind: key.kind,
    name: key.name,
    permissions: key.permissions,
    allowed_addresses: key.allowedAddresses,
    created_at: createdAt(key.id),
    expires_at: key.expiresAt,
    revoked_at: key.revokedAt,
    last_used_at: key.lastUsedAt,
  };
}

async function listKeys(db: DatabasePool, company: Company, flags: Flags): Promise<string> {
  const keys = await apiKeysOf(db, company.id);
  if (flags.json) return `${JSON.stringify(keys.map(describe))}\n`;
  const rows = keys.map((key) => {
    const state = key.revokedAt
      ? 'revoked'
      : key.expiresAt && key.expiresAt.getTime() <= systemClock.nowMs()
        ? 'expired'
        : 'active';
    return [key.id, key.kind, state, key.lastUsedAt?.toISOString() ?? 'never', key.name];
  });
  return table(['ID', 'KIND', 'STATUS', 'LAST USED', 'NAME'], rows, `${company.name} has no keys.`);
}

async function revokeKey(db: DatabasePool, company: Company, id: string | undefined, flags: Flags): Promise<string> {
  if (!id || !isUuid(id)) {
    const wrong = id ? `"${id}" is not the ID of a key` : 'The ID of the key is required';
    throw new CommandError(`${wrong}: keys revoke ID. \`keys list\` shows the IDs.`);
  }
  const revoked = await db.transaction(async (transaction) => {
    const done = await revokeApiKey(transaction, company.id, id, systemClock.nowMs());
    if (done)
      await auditOperator(transaction, company, { action: 'revokeApiKey', objectId: id.toLowerCase(), fields: [] });
    return done;
  });
  if (!revoked) throw new CommandError(`${company.name} has no key with the ID ${id}.`, 'notFound');
  return flags.json ? `${JSON.stringify({ id, revoked: true })}\n` : `Revoked ${id}.\n`;
}
