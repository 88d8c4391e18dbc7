import type { Queryable } from '../platform/database.ts';
import { rowsOf } from '../platform/rows.ts';
import type { SealedCard } from './keys.ts';

/** How processors know cards. The card itself is in `vault.cards`. */

export interface SavedCardKey {
  readonly companyId: string;
  readonly cardId: string;
  readonly connectionId: string;
}

export interface SavedCardRow extends SavedCardKey {
  readonly sealed: SealedCard;
}

interface StoredRow {
  company_id: string;
  card_id: string;
  connection_id: string;
  key_version: number;
  wrapped_key: Buffer;
  sealed: Buffer;
}

const columns = 's.company_id, s.card_id, s.connection_id, s.key_version, s.wrapped_key, s.sealed';

const toSaved = (row: StoredRow): SavedCardRow => ({
  companyId: row.company_id,
  cardId: row.card_id,
  connectionId: row.connection_id,
  sealed: { keyVersion: row.key_version, wrappedKey: row.wrapped_key, sealed: row.sealed },
});

export async function findSaved(db: Queryable, key: SavedCardKey): Promise<SealedCard | undefined> {
  const [row] = await db.query<StoredRow>(
    `SELECT ${columns} FROM vault.saved_cards s WHERE company_id = $1 AND card_id = $2 AND connection_id = $3`,
    [key.companyId, key.cardId, key.connectionId],
  );
  return row && toSaved(row).sealed;
}

/**
 * Returns false if the card was deleted. The lock makes a deletion wait, so that it finds what is kept here.
 */
export async function keepSaved(db: Queryable, { companyId, cardId, connectionId, sealed }: SavedCardRow) {
  const rows = await db.query(
    `WITH card AS (SELECT FROM vault.cards WHERE company_id = $1 AND id = $2 FOR KEY SHARE)
     INSERT INTO vault.saved_cards (company_id, card_id, connection_id, key_version, wrapped_key, sealed)
     SELECT $1, $2, $3, $4, $5, $6 FROM card
     ON CONFLICT (company_id, card_id, connection_id) DO UPDATE
     SET key_version = excluded.key_version, wrapped_key = excluded.wrapped_key, sealed = excluded.sealed RETURNING 1`,
    [companyId, cardId, connectionId, sealed.keyVersion, sealed.wrappedKey, sealed.sealed],
  );
  return rows.length === 1;
}

const cardRows = rowsOf({ company_id: 'uuid', card_id: 'uuid' });

/** What processors still have of cards that were deleted. */
export async function findSavedOf(
  db: Queryable,
  cards: readonly { readonly companyId: string; readonly cardId: string }[],
): Promise<SavedCardRow[]> {
  const rows = await db.query<StoredRow>(
    `SELECT ${columns} FROM ${cardRows.from(1)} AS gone
     JOIN vault.saved_cards s ON s.company_id = gone.company_id AND s.card_id = gone.card_id
     ORDER BY s.company_id, s.connection_id, s.card_id`,
    cardRows.values(cards.map(({ companyId, cardId }) => ({ company_id: companyId, card_id: cardId }))),
  );
  return rows.map(toSaved);
}

export async function forgetSaved(db: Queryable, { companyId, cardId, connectionId }: SavedCardKey): Promise<void> {
  await db.query('DELETE FROM vault.saved_cards WHERE company_id = $1 AND card_id = $2 AND connection_id = $3', [
    companyId,
    cardId,
    connectionId,
  ]);
}

export async function findSavedToRewrap(
  db: Queryable,
  currentVersion: number,
  after: SavedCardKey | undefined,
  batch: number,
): Promise<SavedCardRow[]> {
  const rows = await db.query<StoredRow>(
    `SELECT ${columns} FROM vault.saved_cards s
     WHERE key_version < $1 AND (company_id, card_id, connection_id) > ($2, $3, $4)
     ORDER BY company_id, card_id, connection_id LIMIT $5`,
    [currentVersion, after?.companyId ?? nilId, after?.cardId ?? nilId, after?.connectionId ?? nilId, batch],
  );
  return rows.map(toSaved);
}

const nilId = '00000000-0000-0000-0000-000000000000';

/** Only if the row still has the wrapping that was read. */
export async function rewrapSaved(db: Queryable, from: SavedCardRow, to: SealedCard): Promise<void> {
  await db.query(
    `UPDATE vault.saved_cards SET key_version = $5, wrapped_key = $6
     WHERE company_id = $1 AND card_id = $2 AND connection_id = $3 AND wrapped_key = $4`,
    [from.companyId, from.cardId, from.connectionId, from.sealed.wrappedKey, to.keyVersion, to.wrappedKey],
  );
}
