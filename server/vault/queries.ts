import type { Queryable } from '../platform/database.ts';
import type { Mode } from './key-store.ts';
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

export async function findCard(db: Queryable, companyId: string, id: string): Promise<SealedCard | undefined> {
  const [row] = await db.query<CardRow>(
    `SELECT company_id, id, key_version, wrapped_key, sealed FROM vault.cards WHERE company_id = $1 AND id = $2`,
    [companyId, id],
  );
  return row && toSealed(row);
}

export async function deleteCards(db: Queryable, companyIds: readonly string[], ids: readonly string[]): Promise<void> {
  await db.query(
    `DELETE FROM vault.cards c USING unnest($1::uuid[], $2::uuid[]) AS gone (company_id, id)
     WHERE c.company_id = gone.company_id AND c.id = gone.id`,
    [companyIds, ids],
  );
}

/** Cards that an older key has wrapped. Not locked: the update checks that the wrapping is still the old one. */
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

export async function hasCards(db: Queryable): Promise<boolean> {
  return (await db.query('SELECT 1 FROM vault.cards LIMIT 1')).length > 0;
}
