import type { Queryable } from '../platform/database.ts';
import { rowsOf } from '../platform/rows.ts';
import type { Decline } from './decline-limits.ts';
import { declinesOfCard } from './decline-queries.ts';
import type { KeyMode } from './key-store.ts';
import type { SealedCard } from './keys.ts';

interface CardRow {
  company_id: string;
  id: string;
  key_version: number;
  wrapped_key: Buffer;
  sealed: Buffer;
}

/** A stored card, with what a processor reported about it. */
export interface FoundCard extends SealedCard {
  /** Of the first charge or verification, by connection. */
  readonly networkTransactionIds: Readonly<Record<string, string>>;
  readonly cvvResult: string | null;
  /** At all connections. */
  readonly declines: readonly Decline[];
}

const toSealed = (row: CardRow): SealedCard => ({
  keyVersion: row.key_version,
  wrappedKey: row.wrapped_key,
  sealed: row.sealed,
});

/** Returns the declines of the same card, which may be stored already. */
export async function insertCard(
  db: Queryable,
  companyId: string,
  id: string,
  mode: KeyMode,
  card: SealedCard,
  fingerprint: string | null = null,
): Promise<readonly Decline[]> {
  const [row] = await db.query<{ declines: readonly Decline[] | null }>(
    `INSERT INTO vault.cards AS c (company_id, id, mode, key_version, wrapped_key, sealed, fingerprint)
     VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${declinesOfCard} AS declines`,
    [companyId, id, mode, card.keyVersion, card.wrappedKey, card.sealed, fingerprint],
  );
  return row?.declines ?? [];
}

const wantedRows = rowsOf({ place: 'integer', company_id: 'uuid', id: 'uuid' });

/**
 * Returns one result per requested card, in the same order. Each card is looked up in the index: as an ordinary join, PostgreSQL
 * would read all cards while there are few.
 */
export async function findCards(
  db: Queryable,
  cards: readonly { readonly companyId: string; readonly cardId: string }[],
): Promise<(FoundCard | undefined)[]> {
  const rows = await db.query<
    CardRow & {
      place: number;
      network_transaction_ids: Record<string, string>;
      cvv_result: string | null;
      declines: readonly Decline[] | null;
    }
  >(
    `SELECT wanted.place, c.company_id, c.id, c.key_version, c.wrapped_key, c.sealed,
       c.network_transaction_ids, c.verification->>'cvv_result' AS cvv_result, ${declinesOfCard} AS declines
     FROM ${wantedRows.from(1)} AS wanted
     CROSS JOIN LATERAL (
       SELECT * FROM vault.cards WHERE company_id = wanted.company_id AND id = wanted.id OFFSET 0
     ) AS c`,
    wantedRows.values(cards.map(({ companyId, cardId }, place) => ({ place, company_id: companyId, id: cardId }))),
  );
  const found = new Map(
    rows.map((row) => [
      row.place,
      {
        ...toSealed(row),
        networkTransactionIds: row.network_transaction_ids,
        cvvResult: row.cvv_result,
        declines: row.declines ?? [],
      },
    ]),
  );
  return cards.map((_, place) => found.get(place));
}

export async function findCard(db: Queryable, companyId: string, cardId: string): Promise<SealedCard | undefined> {
  const [card] = await findCards(db, [{ companyId, cardId }]);
  return card && { keyVersion: card.keyVersion, wrappedKey: card.wrappedKey, sealed: card.sealed };
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
  mode: KeyMode,
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

export async function hasCardsOfKey(db: Queryable, mode: KeyMode, version: number): Promise<boolean> {
  const found = await db.query('SELECT 1 FROM vault.cards WHERE mode = $1 AND key_version = $2 LIMIT 1', [
    mode,
    version,
  ]);
  return found.length > 0;
}

/** The key of the first id that every processor understands, beside those of the connections. */
export const ofNetwork = 'network';

/** Kept from the first charge or verification, which later charges refer to. */
export async function keepNetworkTransactionId(
  db: Queryable,
  companyId: string,
  cardId: string,
  connectionId: string,
  networkTransactionId: string,
  isOfNetwork: boolean,
): Promise<void> {
  const keys = isOfNetwork ? [connectionId, ofNetwork] : [connectionId];
  await db.query(
    `UPDATE vault.cards SET network_transaction_ids =
       (SELECT jsonb_object_agg(key, $4::text) FROM unnest($3::text[]) AS key) || network_transaction_ids
     WHERE company_id = $1 AND id = $2`,
    [companyId, cardId, keys, networkTransactionId],
  );
}

export async function keepVerification(
  db: Queryable,
  companyId: string,
  cardId: string,
  verification: object,
): Promise<void> {
  await db.query('UPDATE vault.cards SET verification = $3 WHERE company_id = $1 AND id = $2', [
    companyId,
    cardId,
    JSON.stringify(verification),
  ]);
}

export async function findVerification(db: Queryable, companyId: string, cardId: string): Promise<unknown> {
  const [row] = await db.query<{ verification: unknown }>(
    'SELECT verification FROM vault.cards WHERE company_id = $1 AND id = $2',
    [companyId, cardId],
  );
  return row?.verification ?? null;
}
