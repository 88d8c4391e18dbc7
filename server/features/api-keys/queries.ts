import type { Permission } from '../../http/permissions.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { type CompanyRow, toCompany } from '../companies/queries.ts';
import type { KeyKind } from './key-format.ts';
import type { Company } from '../../company.ts';

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
      `WITH key AS (
         INSERT INTO api_keys (company_id, id, kind, name, lookup_id, secret_hash, permissions, allowed_addresses, expires_at)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9
         WHERE (SELECT count(*) FROM api_keys WHERE company_id = $1 AND revoked_at IS NULL
                  AND (expires_at IS NULL OR expires_at > $11)) < $10
         RETURNING 1
       )
       INSERT INTO api_key_lookups (lookup_id, company_id, api_key_id) SELECT $5, $1, $2 FROM key RETURNING 1`,
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

export async function findByLookup(
  db: Queryable,
  lookupId: string,
): Promise<{ key: ApiKey; company: Company; secretHash: Buffer } | undefined> {
  const [row] = await db.query<ApiKeyRow & { secret_hash: Buffer; company: CompanyRow }>(
    `SELECT ${columns
      .split(', ')
      .map((column) => `k.${column}`)
      .join(', ')}, k.secret_hash, to_jsonb(c) AS company
     FROM api_key_lookups l
     JOIN api_keys k ON k.company_id = l.company_id AND k.id = l.api_key_id
     JOIN companies c ON c.id = l.company_id
     WHERE l.lookup_id = $1`,
    [lookupId],
  );
  return row && { key: toApiKey(row), company: toCompany(row.company), secretHash: row.secret_hash };
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

export async function markUsed(db: Queryable, companyId: string, id: string, at: Date): Promise<void> {
  await db.query(`UPDATE api_keys SET last_used_at = $3 WHERE company_id = $1 AND id = $2`, [companyId, id, at]);
}
