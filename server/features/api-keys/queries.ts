import type { Permission } from '../../http/permissions.ts';
import type { ControlQueryable, Database, Queryable } from '../../platform/database.ts';
import type { CallerSession } from '../../request-context.ts';
import { shardOf } from '../../shards/queries.ts';
import type { KeyKind } from './key-format.ts';
import { type Company, type CompanyRow, toCompany } from '../../company.ts';

export interface ApiKey {
  readonly id: string;
  readonly companyId: string;
  readonly kind: KeyKind;
  readonly name: string;
  readonly lookupId: string;
  readonly permissions: readonly Permission[];
  readonly allowedAddresses: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

interface ApiKeyRow {
  id: string;
  company_id: string;
  kind: KeyKind;
  name: string;
  lookup_id: string;
  permissions: Permission[];
  allowed_addresses: string[];
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
}

const columns =
  'id, company_id, kind, name, lookup_id, permissions, allowed_addresses, expires_at, revoked_at, last_used_at';

function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    companyId: row.company_id,
    kind: row.kind,
    name: row.name,
    lookupId: row.lookup_id,
    permissions: row.permissions,
    allowedAddresses: row.allowed_addresses,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
}

/**
 * Returns false if the company is at its limit. Keys are counted under a lock, so that two requests cannot both take
 * the last place.
 */
export async function insertApiKey(
  db: Database,
  key: ApiKey,
  secretHash: Buffer,
  countMax: number,
  now: Date,
): Promise<boolean> {
  return db.transaction(async (transaction) => {
    await transaction.query(`SELECT pg_advisory_xact_lock(hashtextextended($1::text || ' API keys', 0))`, [
      key.companyId,
    ]);
    const rows = await transaction.query(
      `INSERT INTO api_keys (company_id, id, kind, name, lookup_id, secret_hash, permissions, allowed_addresses, expires_at)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9
       WHERE (SELECT count(*) FROM api_keys WHERE company_id = $1 AND revoked_at IS NULL
                AND (expires_at IS NULL OR expires_at > $11)) < $10
       RETURNING 1`,
      [
        key.companyId,
        key.id,
        key.kind,
        key.name,
        key.lookupId,
        secretHash,
        key.permissions,
        key.allowedAddresses,
        key.expiresAt,
        countMax,
        now,
      ],
    );
    return rows.length === 1;
  });
}

/** Leads from the text of a key to the key. Alone it gives no access. */
export interface KeyLookup {
  readonly lookupId: string;
  readonly companyId: string;
  readonly keyId: string;
  readonly shard: string;
  /** The session in which the key was made has ended. */
  readonly hasEnded: boolean;
}

export async function insertLookup(
  control: ControlQueryable,
  { lookupId, companyId, id }: Pick<ApiKey, 'lookupId' | 'companyId' | 'id'>,
): Promise<void> {
  await control.query('INSERT INTO api_key_lookups (lookup_id, company_id, api_key_id) VALUES ($1, $2, $3)', [
    lookupId,
    companyId,
    id,
  ]);
}

/**
 * The key ends with the session. Returns false if the session has ended, or has another token by now. The lock makes an end of the
 * session wait, so it ends the key too.
 */
export async function insertLookupOfSession(
  control: ControlQueryable,
  { lookupId, companyId, id }: Pick<ApiKey, 'lookupId' | 'companyId' | 'id'>,
  session: CallerSession,
): Promise<boolean> {
  const rows = await control.query(
    `INSERT INTO api_key_lookups (lookup_id, company_id, api_key_id, of_session, session_id)
     SELECT $1, $2, $3, true, s.id FROM sessions s WHERE s.id = $4 AND s.token_hash = ANY($5) FOR KEY SHARE RETURNING 1`,
    [lookupId, companyId, id, session.id, session.tokenHashes],
  );
  return rows.length === 1;
}

const hasEnded = 'of_session AND session_id IS NULL';

/** Of these keys, those whose session has ended. */
export async function findEndedLookups(control: ControlQueryable, lookupIds: readonly string[]): Promise<Set<string>> {
  const rows = await control.query<{ lookup_id: string }>(
    `SELECT lookup_id FROM api_key_lookups WHERE lookup_id = ANY($1) AND ${hasEnded}`,
    [lookupIds],
  );
  return new Set(rows.map(({ lookup_id }) => lookup_id));
}

export async function findLookup(control: ControlQueryable, lookupId: string): Promise<KeyLookup | undefined> {
  const [row] = await control.query<{ company_id: string; api_key_id: string; shard: string; has_ended: boolean }>(
    `SELECT company_id, api_key_id, ${shardOf('api_key_lookups.company_id')} AS shard, ${hasEnded} AS has_ended
     FROM api_key_lookups WHERE lookup_id = $1`,
    [lookupId],
  );
  if (!row) return undefined;
  return { lookupId, companyId: row.company_id, keyId: row.api_key_id, shard: row.shard, hasEnded: row.has_ended };
}

export async function findKey(
  db: Queryable,
  { companyId, keyId, shard }: Pick<KeyLookup, 'companyId' | 'keyId' | 'shard'>,
): Promise<{ key: ApiKey; company: Company; secretHash: Buffer } | undefined> {
  const [row] = await db.query<ApiKeyRow & { secret_hash: Buffer; company: CompanyRow }>(
    `SELECT ${columns
      .split(', ')
      .map((column) => `k.${column}`)
      .join(', ')}, k.secret_hash, to_jsonb(c) AS company
     FROM api_keys k JOIN companies c ON c.id = k.company_id
     WHERE k.company_id = $1 AND k.id = $2`,
    [companyId, keyId],
  );
  return row && { key: toApiKey(row), company: toCompany(row.company, shard), secretHash: row.secret_hash };
}

/** Returns lookups older than this, in pages; the next page begins after the last of this one. */
export async function findOldLookups(
  control: ControlQueryable,
  after: string,
  count: number,
  before: Date,
): Promise<Omit<KeyLookup, 'hasEnded'>[]> {
  const rows = await control.query<{ lookup_id: string; company_id: string; api_key_id: string; shard: string }>(
    `SELECT lookup_id, company_id, api_key_id, ${shardOf('api_key_lookups.company_id')} AS shard FROM api_key_lookups
     WHERE lookup_id > $1 AND created_at < $3 ORDER BY lookup_id LIMIT $2`,
    [after, count, before],
  );
  return rows.map((row) => ({
    lookupId: row.lookup_id,
    companyId: row.company_id,
    keyId: row.api_key_id,
    shard: row.shard,
  }));
}

export async function deleteLookups(control: ControlQueryable, lookupIds: readonly string[]): Promise<void> {
  await control.query('DELETE FROM api_key_lookups WHERE lookup_id = ANY($1)', [lookupIds]);
}

/** Returns those of the keys that exist. */
export async function findExistingKeys(
  db: Queryable,
  lookups: readonly Pick<KeyLookup, 'companyId' | 'keyId'>[],
): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(
    `SELECT k.id FROM unnest($1::uuid[], $2::uuid[]) AS l (company_id, id)
     JOIN api_keys k ON k.company_id = l.company_id AND k.id = l.id`,
    [lookups.map(({ companyId }) => companyId), lookups.map(({ keyId }) => keyId)],
  );
  return new Set(rows.map(({ id }) => id));
}

export async function listApiKeys(db: Queryable, companyId: string): Promise<ApiKey[]> {
  const rows = await db.query<ApiKeyRow>(`SELECT ${columns} FROM api_keys WHERE company_id = $1 ORDER BY id`, [
    companyId,
  ]);
  return rows.map(toApiKey);
}

export async function findApiKey(db: Queryable, companyId: string, id: string): Promise<ApiKey | undefined> {
  const [row] = await db.query<ApiKeyRow>(
    `SELECT ${columns} FROM api_keys WHERE company_id = $1 AND id = $2 FOR NO KEY UPDATE`,
    [companyId, id],
  );
  return row && toApiKey(row);
}

export async function updateApiKey(db: Queryable, key: ApiKey): Promise<void> {
  await db.query(
    `UPDATE api_keys SET name = $3, permissions = $4, allowed_addresses = $5, expires_at = $6
     WHERE company_id = $1 AND id = $2`,
    [key.companyId, key.id, key.name, key.permissions, key.allowedAddresses, key.expiresAt],
  );
}

export async function markRevoked(db: Queryable, companyId: string, id: string, at: Date): Promise<boolean> {
  const rows = await db.query(
    `UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $3) WHERE company_id = $1 AND id = $2 RETURNING id`,
    [companyId, id, at],
  );
  return rows.length === 1;
}

/** Of the keys of this name that expire until then, revokes all but the latest. A key that lasts longer was created by hand. */
export async function revokeNamed(
  db: Queryable,
  companyId: string,
  name: string,
  at: Date,
  until: Date,
  kept: number,
): Promise<void> {
  await db.query(
    `UPDATE api_keys SET revoked_at = $3 WHERE company_id = $1 AND id IN (
       SELECT id FROM api_keys
       WHERE company_id = $1 AND name = $2 AND revoked_at IS NULL AND expires_at > $3 AND expires_at <= $4
       ORDER BY id DESC OFFSET $5)`,
    [companyId, name, at, until, kept],
  );
}

/** Revokes the keys whose name begins so and that expire within an hour. */
export async function revokePrefixed(db: Queryable, companyId: string, prefix: string): Promise<void> {
  await db.query(
    `UPDATE api_keys SET revoked_at = now()
     WHERE company_id = $1 AND starts_with(name, $2) AND revoked_at IS NULL AND expires_at > now()
       AND expires_at <= now() + interval '1 hour'`,
    [companyId, prefix],
  );
}

export async function markUsed(db: Queryable, companyId: string, id: string, at: Date): Promise<void> {
  await db.query(`UPDATE api_keys SET last_used_at = $3 WHERE company_id = $1 AND id = $2`, [companyId, id, at]);
}
