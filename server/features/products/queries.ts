import { createdAtConditions, createdAtFilters, fetchPage, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import { anyOf, containing, everyRow, searchPage } from '../../http/search-pages.ts';
import type { Metadata } from '../../http/schemas.ts';
import type { Queryable } from '../../platform/database.ts';
import { type Sql, sql } from '../../platform/sql.ts';
import type { Product } from './schemas.ts';
import { staysHere } from '../../shards/queries.ts';

export interface ProductRow {
  id: string;
  name: string;
  description: string | null;
  amount: number;
  currency: string;
  requires_shipping: boolean;
  sku: string;
  availability: Product['availability'];
  category: string | null;
  brand: string | null;
  material: string | null;
  weight: string | null;
  return_window: number | null;
  inventory_quantity: number | null;
  metadata: Metadata;
  active: boolean;
  /** Whether an order ever contained it; such a product is never deleted permanently. */
  ordered: boolean;
  updated_at: Date;
  deleted_at: Date | null;
}

export const productColumns = [
  'id',
  'name',
  'description',
  'amount',
  'currency',
  'requires_shipping',
  'sku',
  'availability',
  'category',
  'brand',
  'material',
  'weight',
  'return_window',
  'inventory_quantity',
  'metadata',
  'active',
  'ordered',
  'updated_at',
  'deleted_at',
] as const;
const columns = productColumns.join(', ');

function values(companyId: string, row: ProductRow): unknown[] {
  return [companyId, ...productColumns.map((name) => (name === 'metadata' ? JSON.stringify(row.metadata) : row[name]))];
}

export async function insertProduct(db: Queryable, companyId: string, row: ProductRow): Promise<void> {
  const places = productColumns.map((_, index) => `$${index + 2}`).join(', ');
  await db.query(`INSERT INTO products (company_id, ${columns}) VALUES ($1, ${places})`, values(companyId, row));
}

export async function updateProduct(db: Queryable, companyId: string, row: ProductRow): Promise<void> {
  const assignments = productColumns.map((name, index) => `${name} = $${index + 2}`).join(', ');
  await db.query(`UPDATE products SET ${assignments} WHERE company_id = $1 AND id = $2`, values(companyId, row));
}

export async function findProduct(db: Queryable, companyId: string, id: string): Promise<ProductRow | undefined> {
  const [row] = await db.query<ProductRow>(`SELECT ${columns} FROM products WHERE company_id = $1 AND id = $2`, [
    companyId,
    id,
  ]);
  return row;
}

export async function lockProduct(db: Queryable, companyId: string, id: string): Promise<ProductRow | undefined> {
  const [row] = await db.query<ProductRow>(
    `SELECT ${columns} FROM products WHERE company_id = $1 AND id = $2 FOR UPDATE`,
    [companyId, id],
  );
  return row;
}

/** Returns how many of the products still exist. */
export async function markOrdered(db: Queryable, companyId: string, ids: readonly string[]): Promise<number> {
  const rows = await db.query(
    `UPDATE products SET ordered = true WHERE company_id = $1 AND id IN (
       SELECT id FROM products WHERE company_id = $1 AND id = ANY($2::uuid[]) AND deleted_at IS NULL
       ORDER BY id FOR NO KEY UPDATE
     ) RETURNING 1`,
    [companyId, ids],
  );
  return rows.length;
}

/** `updated_at` stays the same, so that a pagination cursor on this object stays valid. */
export async function softDeleteProduct(db: Queryable, companyId: string, id: string, at: Date): Promise<void> {
  await db.query(`UPDATE products SET deleted_at = $3, active = false WHERE company_id = $1 AND id = $2`, [
    companyId,
    id,
    at,
  ]);
}

/** Its images are deleted too: their rows at once, their files later by the worker. */
export async function hardDeleteProduct(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query(
    `WITH images AS (DELETE FROM product_images WHERE company_id = $1 AND product_id = $2 RETURNING file_key)
     INSERT INTO unreferenced_files (file_key, due_at) SELECT file_key, now() FROM images`,
    [companyId, id],
  );
  await db.query(
    `WITH deleted AS (DELETE FROM products WHERE company_id = $1 AND id = $2 RETURNING updated_at, name, amount)
     INSERT INTO tombstones (company_id, id, object_type, sort_values)
     SELECT $1, $2, 'product', jsonb_build_object('updated_at', updated_at::text, 'name', name, 'amount', amount)
     FROM deleted`,
    [companyId, id],
  );
}

const source: ListSource = {
  table: 'products',
  objectType: 'product',
  columns,
  sorts: {
    updated_at: { column: 'updated_at', type: 'timestamptz', within: 'deleted_at IS NULL' },
    name: { column: 'name', type: 'text', within: 'deleted_at IS NULL' },
    amount: { column: 'amount', type: 'bigint', within: 'deleted_at IS NULL' },
  },
};

/** The IDs of active products by their SKU. */
export async function findActiveBySku(
  db: Queryable,
  companyId: string,
  skus: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.query<{ id: string; sku: string }>(
    'SELECT id, sku FROM products WHERE company_id = $1 AND sku = ANY($2::text[]) AND active AND deleted_at IS NULL',
    [companyId, skus],
  );
  return new Map(rows.map(({ id, sku }) => [sku, id]));
}

export interface ProductFilters extends QueryValues<typeof createdAtFilters> {
  readonly q?: string;
  readonly active?: boolean;
  readonly currency?: readonly string[];
}

export async function listProducts(
  db: Queryable,
  companyId: string,
  filters: ProductFilters,
  page: PageRequest,
): Promise<Page<ProductRow>> {
  const checks: Sql[] = [sql`deleted_at IS NULL`];
  if (filters.active !== undefined) checks.push(sql`active = ${filters.active}`);
  const created = createdAtConditions(filters);
  if (!filters.q && !filters.currency) return fetchPage(db, companyId, source, page, [...created, ...checks]);
  checks.push(...anyOf('currency', filters.currency));
  if (filters.q !== undefined) {
    const text = containing(filters.q);
    checks.push(sql`(name ILIKE ${text} OR sku ILIKE ${text} OR category ILIKE ${text} OR brand ILIKE ${text})`);
  }
  return searchPage(db, companyId, source, page, { arms: [everyRow], ranges: { id: created }, checks });
}

export interface ImageRow {
  id: string;
  product_id: string;
  position: number;
  file_key: string;
  content_type: string;
  size_bytes: number;
}

const imageColumns = 'id, product_id, position, file_key, content_type, size_bytes';

export async function findImages(db: Queryable, companyId: string, productIds: readonly string[]): Promise<ImageRow[]> {
  return db.query<ImageRow>(
    `SELECT ${imageColumns} FROM product_images WHERE company_id = $1 AND product_id = ANY($2::uuid[])
     ORDER BY product_id, position`,
    [companyId, productIds],
  );
}

/** Runs before a file is stored: if the process dies before the image row exists, the worker removes the file. */
export async function registerUnreferencedFile(db: Queryable, fileKey: string, dueAt: Date): Promise<void> {
  await db.query(`INSERT INTO unreferenced_files (file_key, due_at) VALUES ($1, $2)`, [fileKey, dueAt]);
}

/** Deletes the file's entry in the removal list: from here on the file is referenced. */
export async function insertImage(db: Queryable, companyId: string, image: ImageRow): Promise<boolean> {
  const rows = await db.query(
    `WITH claimed AS (DELETE FROM unreferenced_files WHERE file_key = $5 AND NOT deleting RETURNING file_key)
     INSERT INTO product_images (company_id, id, product_id, position, file_key, content_type, size_bytes)
     SELECT $1, $2, $3, $4, file_key, $6, $7 FROM claimed RETURNING 1`,
    [companyId, image.id, image.product_id, image.position, image.file_key, image.content_type, image.size_bytes],
  );
  return rows.length === 1;
}

export async function deleteImage(
  db: Queryable,
  companyId: string,
  productId: string,
  imageId: string,
): Promise<boolean> {
  const rows = await db.query(
    `WITH image AS (
       DELETE FROM product_images WHERE company_id = $1 AND product_id = $2 AND id = $3 RETURNING file_key
     )
     INSERT INTO unreferenced_files (file_key, due_at) SELECT file_key, now() FROM image RETURNING 1`,
    [companyId, productId, imageId],
  );
  return rows.length === 1;
}

export async function setImagePositions(
  db: Queryable,
  companyId: string,
  productId: string,
  imageIds: readonly string[],
): Promise<void> {
  await db.query(
    `UPDATE product_images i SET position = wanted.place - 1
     FROM unnest($3::uuid[]) WITH ORDINALITY AS wanted (id, place)
     WHERE i.company_id = $1 AND i.product_id = $2 AND i.id = wanted.id`,
    [companyId, productId, imageIds],
  );
}

/**
 * Claims files that are due for removal. From here on no row can refer to them. If the deletion fails, they are due
 * again in five minutes.
 */
export async function takeUnreferencedFiles(db: Queryable, batch: number): Promise<string[]> {
  const rows = await db.query<{ file_key: string }>(
    `UPDATE unreferenced_files SET deleting = true, due_at = now() + interval '5 minutes'
     WHERE file_key IN (
       SELECT file_key FROM unreferenced_files
       WHERE due_at <= now() AND ${staysHere(`split_part(file_key, '/', 1)::uuid`)}
       ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
     ) RETURNING file_key`,
    [batch],
  );
  return rows.map((row) => row.file_key);
}

export async function forgetUnreferencedFiles(db: Queryable, fileKeys: readonly string[]): Promise<void> {
  await db.query(`DELETE FROM unreferenced_files WHERE file_key = ANY($1::text[])`, [fileKeys]);
}
