import type { Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';

/** Deletes the rows of one company, a batch at a time. Each returns how many there were. */

const batchOf = (table: string, where: string, count: number): string =>
  `SELECT tableoid, ctid FROM ${table} WHERE company_id = $1 AND ${where} LIMIT ${count}`;

export async function deleteRows(
  db: Queryable,
  companyId: string,
  table: string,
  where: string,
  count: number,
): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `WITH deleted AS (DELETE FROM ${table} WHERE company_id = $1 AND (tableoid, ctid) IN (${batchOf(table, where, count)}) RETURNING 1)
     SELECT count(*)::integer AS count FROM deleted`,
    [companyId],
  );
  return row?.count ?? 0;
}

export async function hasOpenOperations(db: Queryable, companyId: string): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>(
    `SELECT ${anyRow('open_transactions WHERE company_id = $1')} AS found`,
    [companyId],
  );
  return row?.found ?? false;
}

export async function releaseDefaultCards(db: Queryable, companyId: string, count: number): Promise<number> {
  const rows = await db.query(
    `UPDATE customers SET default_payment_method_id = NULL WHERE company_id = $1 AND id IN (
       SELECT id FROM customers WHERE company_id = $1 AND default_payment_method_id IS NOT NULL LIMIT $2) RETURNING 1`,
    [companyId, count],
  );
  return rows.length;
}

/** The worker removes the cards from the vault. */
export async function deleteCards(db: Queryable, companyId: string, count: number): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `WITH deleted AS (
       DELETE FROM payment_methods WHERE company_id = $1 AND id IN (
         SELECT id FROM payment_methods WHERE company_id = $1 LIMIT $2) RETURNING card_id, deleted_at
     ), noted AS (
       INSERT INTO unreferenced_cards (company_id, card_id, due_at)
       SELECT $1, card_id, now() FROM deleted WHERE deleted_at IS NULL ON CONFLICT DO NOTHING
     ) SELECT count(*)::integer AS count FROM deleted`,
    [companyId, count],
  );
  return row?.count ?? 0;
}

/** The worker removes the files. */
export async function deleteImages(db: Queryable, companyId: string, count: number): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `WITH deleted AS (
       DELETE FROM product_images WHERE company_id = $1 AND id IN (
         SELECT id FROM product_images WHERE company_id = $1 LIMIT $2) RETURNING file_key
     ), noted AS (
       INSERT INTO unreferenced_files (file_key, due_at) SELECT file_key, now() FROM deleted ON CONFLICT DO NOTHING
     ) SELECT count(*)::integer AS count FROM deleted`,
    [companyId, count],
  );
  return row?.count ?? 0;
}
