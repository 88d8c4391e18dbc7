import { createdAtConditions, createdAtFilters, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import { containing, everyRow, searchPage } from '../../http/search-pages.ts';
import type { Metadata } from '../../http/schemas.ts';
import type { Queryable } from '../../platform/database.ts';
import { firstIdOf } from '../../platform/ids.ts';
import { type Sql, sql } from '../../platform/sql.ts';
import type { SessionItem } from '../checkout-sessions/queries.ts';
import type { CaptureMode } from '../orders/schemas.ts';

export interface LinkRow {
  readonly company_id: string;
  readonly id: string;
  readonly sealed_token: Buffer;
  readonly name: string;
  readonly mode: 'payment' | 'subscription';
  readonly items: readonly SessionItem[];
  readonly plan_id: string | null;
  readonly capture: CaptureMode;
  readonly success_url: string | null;
  readonly coupon_code: string | null;
  readonly allow_coupons: boolean;
  readonly collect: readonly ('shipping' | 'company')[];
  readonly metadata: Metadata;
  readonly active: boolean;
  readonly max_payments: number | null;
  readonly ends_at: Date | null;
  readonly payments: number;
  readonly updated_at: Date;
  /** Of a visit only: the failed order whose money the link asks for. */
  readonly failed_order?: { readonly customer_id: string; readonly status: string } | null;
  readonly slug: string | null;
  readonly locale: string | null;
}

const columns = `company_id, id, sealed_token, name, mode, items, plan_id, capture, success_url, coupon_code, allow_coupons, collect,
  metadata, active, max_payments, ends_at, payments, updated_at, slug, locale`;

const source: ListSource = { table: 'payment_links', objectType: 'payment_link', columns, sorts: {} };

export async function insertLink(db: Queryable, row: LinkRow, tokenHash: Buffer): Promise<void> {
  await db.query(
    `INSERT INTO payment_links (company_id, id, token_hash, sealed_token, name, mode, items, plan_id, success_url,
       coupon_code, allow_coupons, collect, metadata, active, max_payments, ends_at, updated_at, slug, capture,
       locale)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`,
    [
      row.company_id,
      row.id,
      tokenHash,
      row.sealed_token,
      row.name,
      row.mode,
      JSON.stringify(row.items),
      row.plan_id,
      row.success_url,
      row.coupon_code,
      row.allow_coupons,
      row.collect,
      JSON.stringify(row.metadata),
      row.active,
      row.max_payments,
      row.ends_at,
      row.updated_at,
      row.slug,
      row.capture,
      row.locale,
    ],
  );
}

export async function countActiveLinks(db: Queryable, companyId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    'SELECT count(*)::integer AS count FROM payment_links WHERE company_id = $1 AND active',
    [companyId],
  );
  return row?.count ?? 0;
}

export async function findLink(db: Queryable, companyId: string, id: string): Promise<LinkRow | undefined> {
  const [row] = await db.query<LinkRow>(`SELECT ${columns} FROM payment_links WHERE company_id = $1 AND id = $2`, [
    companyId,
    id,
  ]);
  return row;
}

export async function lockLink(db: Queryable, companyId: string, id: string): Promise<LinkRow | undefined> {
  const [row] = await db.query<LinkRow>(
    `SELECT ${columns} FROM payment_links WHERE company_id = $1 AND id = $2 FOR UPDATE`,
    [companyId, id],
  );
  return row;
}

export async function findLinkByToken(
  db: Queryable,
  companyId: string,
  tokenHash: Buffer,
): Promise<LinkRow | undefined> {
  const [row] = await db.query<LinkRow>(
    `SELECT ${columns}, (SELECT jsonb_build_object('customer_id', o.customer_id, 'status', o.status)
       FROM failed_order_links f JOIN orders o ON o.company_id = f.company_id AND o.id = f.order_id
       WHERE f.company_id = payment_links.company_id AND f.payment_link_id = payment_links.id) AS failed_order
     FROM payment_links WHERE company_id = $1 AND token_hash = $2`,
    [companyId, tokenHash],
  );
  return row;
}

/** A link that asks one customer for the money of a failed order can show saved cards, so it has no address that can be guessed. */
const forAnyone = `payment_links l LEFT JOIN failed_order_links f ON f.company_id = l.company_id AND f.payment_link_id = l.id
  WHERE f.order_id IS NULL`;

export async function findLinkBySlug(db: Queryable, companyId: string, slug: string): Promise<LinkRow | undefined> {
  const [row] = await db.query<LinkRow>(
    `SELECT ${columns} FROM payment_links
     WHERE company_id = $1 AND id = (SELECT l.id FROM ${forAnyone} AND l.company_id = $1 AND l.slug = $2)`,
    [companyId, slug],
  );
  return row;
}

export async function isLinkForAnyone(db: Queryable, companyId: string, id: string): Promise<boolean> {
  const rows = await db.query(`SELECT 1 FROM ${forAnyone} AND l.company_id = $1 AND l.id = $2`, [companyId, id]);
  return rows.length > 0;
}

/** Of the latest visits after a time. */
export async function countVisits(
  db: Queryable,
  companyId: string,
  id: string,
  afterMs: number,
  most: number,
): Promise<{ visits: number; started: number; paid: number }> {
  const [row] = await db.query<{ visits: number; started: number; paid: number }>(
    `SELECT count(*)::integer AS visits,
       count(*) FILTER (WHERE attempts > 0 OR status = 'completed')::integer AS started,
       count(*) FILTER (WHERE status = 'completed')::integer AS paid
     FROM (SELECT attempts, status FROM checkout_sessions
           WHERE company_id = $1 AND payment_link_id = $2 AND id >= $3
           ORDER BY id DESC LIMIT $4) AS latest`,
    [companyId, id, firstIdOf(afterMs), most],
  );
  return row ?? { visits: 0, started: 0, paid: 0 };
}

export interface LinkFilters extends QueryValues<typeof createdAtFilters> {
  readonly q?: string;
  readonly active?: boolean;
  readonly mode?: string;
}

export async function listLinks(
  db: Queryable,
  companyId: string,
  filters: LinkFilters,
  page: PageRequest,
): Promise<Page<LinkRow>> {
  const checks: Sql[] = [];
  if (filters.active !== undefined) checks.push(sql`active = ${filters.active}`);
  if (filters.mode !== undefined) checks.push(sql`mode = ${filters.mode}`);
  if (filters.q !== undefined) checks.push(sql`name ILIKE ${containing(filters.q)}`);
  return searchPage(db, companyId, source, page, {
    arms: [everyRow],
    ranges: { id: createdAtConditions(filters) },
    checks,
  });
}

export async function updateLink(db: Queryable, row: LinkRow): Promise<void> {
  await db.query(
    `UPDATE payment_links SET name = $3, success_url = $4, allow_coupons = $5, metadata = $6, active = $7,
       max_payments = $8, ends_at = $9, updated_at = $10, slug = $11, locale = $12
     WHERE company_id = $1 AND id = $2`,
    [
      row.company_id,
      row.id,
      row.name,
      row.success_url,
      row.allow_coupons,
      JSON.stringify(row.metadata),
      row.active,
      row.max_payments,
      row.ends_at,
      row.updated_at,
      row.slug,
      row.locale,
    ],
  );
}
