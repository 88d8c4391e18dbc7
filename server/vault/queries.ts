import type { Mode } from '../company.ts';
import type { Queryable } from '../platform/database.ts';
import type { SealedCard } from './keys.ts';

interface CardRow {
  company_id: string;
  id: string;
  key_version: number;
  wrapped_key: Buffer;
  sealed: Buffer;
}

const toSealed = (row: CardRow): SealedCard => ({
  keyVersion: row.key_version,
  wrappedKey: row.wrapped_key,
  sealed: row.sealed,
});

export async function insertCard(
  db: Queryable,
  companyId: string,
  id: string,
  mode: Mode,
  card: SealedCard,
): Promise<void> {
  await db.query(
    `INSERT INTO vault.cards (company_id, id, mode, key_version, wrapped_key, sealed) VALUES ($1, $2, $3, $4, $5, $6)`,
    [companyId, id, mode, card.keyVersion, card.wrappedKey, card.sealed],
  );
}

/** Returns one result per requested card, in the same order. */
export async function findCards(
  db: Queryable,
  cards: readonly { readonly companyId: string; readonly cardId: string }[],
): Promise<(SealedCard | undefined)[]> {
  const rows = await db.query<CardRow & { place: number }>(
    `SELECT wanted.place::integer, c.company_id, c.id, c.key_version, c.wrapped_key, c.sealed
     FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS wanted (company_id, id, place)
     JOIN vault.cards c ON c.company_id = wanted.company_id AND c.id = wanted.id`,
    [cards.map((card) => card.companyId), cards.map((card) => card.cardId)],
  );
  const found = new Map(rows.map((row) => [row.place, toSealed(row)]));
  return cards.map((_, index) => found.get(index + 1));
}

export async function findCard(db: Queryable, companyId: string, cardId: string): Promise<SealedCard | undefined> {
  return (await findCards(db, [{ companyId, cardId }]))[0];
}

export async function deleteCards(db: Queryable, companyIds: readonly string[], ids: readonly string[]): Promise<void> {
  await db.query(
    `DELETE FROM vault.cards c USING unnest($1::uuid[], $2::uuid[]) AS gone (company_id, id)
     WHERE c.company_id = gone.company_id AND c.id = gone.id`,
    [companyIds, ids],
  );
}

/**
 * Finds cards wrapped by an older key. They are not locked: the update checks that the wrapping is still the old one.
 */
export async function findCardsToRewrap(
  db: Queryable,
  mode: Mode,
  currentVersion: number,
  after: { companyId: string; cardId: string } | undefined,
  batch: number,
): Promise<{ companyId: string; cardId: string; card: SealedCard }[]> {
  const rows = await db.query<CardRow>(
    `SELECT company_id, id, key_version, wrapped_key, sealed FROM vault.cards
     WHERE mode = $1 AND key_version < $2 AND (company_id, id) > ($3, $4) ORDER BY company_id, id LIMIT $5`,
    [mode, currentVersion, after?.companyId ?? nilId, after?.cardId ?? nilId, batch],
  );
  return rows.map((row) => ({ companyId: row.company_id, cardId: row.id, card: toSealed(row) }));
}

const nilId = '00000000-0000-0000-0000-000000000000';

export async function replaceWrapping(
  db: Queryable,
  companyId: string,
  id: string,
  from: number,
  card: SealedCard,
): Promise<void> {
  await db.query(
    `UPDATE vault.cards SET key_version = $4, wrapped_key = $5
     WHERE company_id = $1 AND id = $2 AND key_version = $3`,
    [companyId, id, from, card.keyVersion, card.wrappedKey],
  );
}

export interface ConnectionRow {
  readonly companyId: string;
  readonly url: string;
  readonly timeoutMs: number;
  readonly requestLifeMs: number;
  readonly credential: SealedCard;
}

interface StoredConnection extends CardRow {
  url: string;
  timeout_ms: number;
  request_life_ms: number;
}

const toConnection = (row: StoredConnection): ConnectionRow => ({
  companyId: row.company_id,
  url: row.url,
  timeoutMs: row.timeout_ms,
  requestLifeMs: row.request_life_ms,
  credential: toSealed(row),
});

const connectionColumns = 'company_id, url, timeout_ms, request_life_ms, key_version, wrapped_key, sealed';

export async function findConnection(db: Queryable, companyId: string): Promise<ConnectionRow | undefined> {
  const [row] = await db.query<StoredConnection>(
    `SELECT ${connectionColumns} FROM vault.processor_connections WHERE company_id = $1`,
    [companyId],
  );
  return row && toConnection(row);
}

export async function findConnectionsToRewrap(db: Queryable, currentVersion: number): Promise<ConnectionRow[]> {
  const rows = await db.query<StoredConnection>(
    `SELECT ${connectionColumns} FROM vault.processor_connections
     WHERE key_version < $1 ORDER BY company_id`,
    [currentVersion],
  );
  return rows.map(toConnection);
}

export async function saveConnection(db: Queryable, connection: ConnectionRow): Promise<void> {
  const { companyId, url, timeoutMs, requestLifeMs, credential } = connection;
  await db.query(
    `INSERT INTO vault.processor_connections (${connectionColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (company_id) DO UPDATE SET url = excluded.url, timeout_ms = excluded.timeout_ms,
       request_life_ms = excluded.request_life_ms, key_version = excluded.key_version,
       wrapped_key = excluded.wrapped_key, sealed = excluded.sealed`,
    [companyId, url, timeoutMs, requestLifeMs, credential.keyVersion, credential.wrappedKey, credential.sealed],
  );
}

export async function deleteConnection(db: Queryable, companyId: string): Promise<void> {
  await db.query('DELETE FROM vault.processor_connections WHERE company_id = $1', [companyId]);
}

export async function hasCards(db: Queryable): Promise<boolean> {
  return (await db.query('SELECT 1 FROM vault.cards LIMIT 1')).length > 0;
}

export async function hasCardsOfKey(db: Queryable, mode: Mode, version: number): Promise<boolean> {
  const found = await db.query('SELECT 1 FROM vault.cards WHERE mode = $1 AND key_version = $2 LIMIT 1', [
    mode,
    version,
  ]);
  return found.length > 0;
}

export async function hasConnections(db: Queryable): Promise<boolean> {
  return (await db.query('SELECT 1 FROM vault.processor_connections LIMIT 1')).length > 0;
}
