import type { Queryable } from '../platform/database.ts';
import { isUuid } from '../platform/ids.ts';
import type { SealedCard } from './keys.ts';
import type { ListedOperation } from './processors/processor.ts';

/** Connections to processors, and the handles of prepared charges. */

export interface ConnectionRow {
  readonly companyId: string;
  readonly id: string;
  readonly kind: string;
  readonly timeoutMs: number;
  /** The URL of a connection of version 0.1.0, whose sealed value is only the secret. */
  readonly firstUrl: string | null;
  readonly credential: SealedCard;
}

interface StoredConnection {
  company_id: string;
  id: string;
  kind: string;
  timeout_ms: number;
  first_url: string | null;
  key_version: number;
  wrapped_key: Buffer;
  sealed: Buffer;
}

const toConnection = (row: StoredConnection): ConnectionRow => ({
  companyId: row.company_id,
  id: row.id,
  kind: row.kind,
  timeoutMs: row.timeout_ms,
  firstUrl: row.first_url,
  credential: { keyVersion: row.key_version, wrappedKey: row.wrapped_key, sealed: row.sealed },
});

const columns = 'company_id, id, kind, timeout_ms, first_url, key_version, wrapped_key, sealed';

export async function findConnection(db: Queryable, companyId: string, id: string): Promise<ConnectionRow | undefined> {
  const [row] = await db.query<StoredConnection>(
    `SELECT ${columns} FROM vault.connections WHERE company_id = $1 AND id = $2`,
    [companyId, id],
  );
  return row && toConnection(row);
}

export async function findConnectionsOf(db: Queryable, companyId: string, kind: string): Promise<ConnectionRow[]> {
  const rows = await db.query<StoredConnection>(
    `SELECT ${columns} FROM vault.connections WHERE company_id = $1 AND kind = $2 ORDER BY id`,
    [companyId, kind],
  );
  return rows.map(toConnection);
}

/** The connection of version 0.1.0, which sent operations without naming it. */
export async function findFirstConnection(db: Queryable, companyId: string): Promise<ConnectionRow | undefined> {
  const [row] = await db.query<StoredConnection>(
    `SELECT ${columns} FROM vault.connections WHERE company_id = $1 ORDER BY first_url IS NULL, id LIMIT 1`,
    [companyId],
  );
  return row && toConnection(row);
}

export async function findConnectionsToRewrap(db: Queryable, currentVersion: number): Promise<ConnectionRow[]> {
  const rows = await db.query<StoredConnection>(
    `SELECT ${columns} FROM vault.connections WHERE key_version < $1 ORDER BY company_id, id`,
    [currentVersion],
  );
  return rows.map(toConnection);
}

export async function saveConnection(db: Queryable, connection: ConnectionRow): Promise<void> {
  const { companyId, id, kind, timeoutMs, firstUrl, credential } = connection;
  await db.query(
    `INSERT INTO vault.connections (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (company_id, id) DO UPDATE SET timeout_ms = excluded.timeout_ms, first_url = excluded.first_url,
       key_version = excluded.key_version, wrapped_key = excluded.wrapped_key, sealed = excluded.sealed`,
    [companyId, id, kind, timeoutMs, firstUrl, credential.keyVersion, credential.wrappedKey, credential.sealed],
  );
}

export async function deleteConnection(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query(
    `WITH saved AS (DELETE FROM vault.saved_cards WHERE company_id = $1 AND connection_id = $2)
     DELETE FROM vault.connections WHERE company_id = $1 AND id = $2`,
    [companyId, id],
  );
}

export async function hasConnections(db: Queryable): Promise<boolean> {
  return (await db.query('SELECT 1 FROM vault.connections LIMIT 1')).length > 0;
}

export interface ChargeKey {
  readonly companyId: string;
  readonly reference: string;
  readonly connectionId: string;
}

/** Returns undefined if the charge was never prepared, and null if it was given up. */
export async function findHandle(db: Queryable, key: ChargeKey): Promise<string | null | undefined> {
  const [row] = await db.query<{ handle: string | null }>(
    `SELECT handle FROM vault.prepared_charges WHERE company_id = $1 AND reference = $2 AND connection_id = $3`,
    [key.companyId, key.reference, key.connectionId],
  );
  return row?.handle;
}

/**
 * Keeps the handle before the charge is sent; null gives the charge up. Returns what is kept: the first handle, or null
 * if the charge was given up first.
 */
export async function keepHandle(db: Queryable, key: ChargeKey, handle: string | null): Promise<string | null> {
  await db.query(
    `INSERT INTO vault.prepared_charges (company_id, reference, connection_id, handle) VALUES ($1, $2, $3, $4)
     ON CONFLICT DO NOTHING`,
    [key.companyId, key.reference, key.connectionId, handle],
  );
  return (await findHandle(db, key)) ?? null;
}

/** Keeps the handles of charges that a processor lists: a restored vault may have lost them. */
export async function keepListed(
  db: Queryable,
  companyId: string,
  connectionId: string,
  operations: readonly ListedOperation[],
): Promise<void> {
  const paid = operations.filter(({ kind, approved, reference }) => kind === 'charge' && approved && isUuid(reference));
  if (paid.length === 0) return;
  const charges = paid.map(({ reference, transactionId }) => ({ reference, handle: transactionId }));
  await db.query(
    `INSERT INTO vault.prepared_charges (company_id, reference, connection_id, handle)
     SELECT $1, c.reference, $2, c.handle FROM json_to_recordset($3::json) AS c (reference uuid, handle text)
     ON CONFLICT DO NOTHING`,
    [companyId, connectionId, JSON.stringify(charges)],
  );
}
