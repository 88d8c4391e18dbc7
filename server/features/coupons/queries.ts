import { createdAtConditions, createdAtFilters, fetchPage, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import { containing, everyRow, searchPage } from '../../http/search-pages.ts';
import type { Queryable } from '../../platform/database.ts';
import { type Sql, sql } from '../../platform/sql.ts';

export interface CouponRow {
  company_id: string;
  id: string;
  kind: 'generated' | 'promo';
  name: string;
  description: string | null;
  percentage_hundredths: number | null;
  amount: number | null;
  max_discount_amount: number | null;
  currency: string | null;
  duration: 'once' | 'repeating' | 'forever';
  duration_in_cycles: number | null;
  minimum_amount: number;
  max_redemptions: number | null;
  max_redemptions_per_customer: number | null;
  max_redemptions_per_code: number | null;
  first_time_customer_only: boolean;
  starts_at: Date | null;
  expires_at: Date | null;
  active: boolean;
  archived_at: Date | null;
  product_scope: Scope;
  plan_scope: Scope;
  product_ids: string[];
  plan_ids: string[];
  code_prefix: string | null;
  total_redemptions: number;
  used: number;
  /** Null for a coupon of an earlier version, until it gets more codes. */
  code_count: number | null;
  updated_at: Date;
}
type Scope = 'none' | 'all' | 'specific';

const columnTypes = {
  company_id: 'uuid',
  id: 'uuid',
  kind: 'text',
  name: 'text',
  description: 'text',
  percentage_hundredths: 'integer',
  amount: 'bigint',
  max_discount_amount: 'bigint',
  currency: 'text',
  duration: 'text',
  duration_in_cycles: 'integer',
  minimum_amount: 'bigint',
  max_redemptions: 'integer',
  max_redemptions_per_customer: 'integer',
  max_redemptions_per_code: 'integer',
  first_time_customer_only: 'boolean',
  starts_at: 'timestamptz',
  expires_at: 'timestamptz',
  active: 'boolean',
  archived_at: 'timestamptz',
  product_scope: 'text',
  plan_scope: 'text',
  product_ids: 'uuid[]',
  plan_ids: 'uuid[]',
  code_prefix: 'text',
  total_redemptions: 'integer',
  used: 'integer',
  code_count: 'integer',
  updated_at: 'timestamptz',
} as const satisfies Record<keyof CouponRow, string>;

export const couponColumns = Object.keys(columnTypes);
const columns = couponColumns.join(', ');
const record = Object.entries(columnTypes)
  .map(([name, type]) => `${name} ${type}`)
  .join(', ');
/** Only redemptions and new codes change these counters, never an update of the coupon. */
const counters = ['company_id', 'id', 'kind', 'total_redemptions', 'used', 'code_count'];

const asRecord = (row: CouponRow): string =>
  JSON.stringify([{ ...row, product_ids: `{${row.product_ids.join()}}`, plan_ids: `{${row.plan_ids.join()}}` }]);

export async function insertCoupon(db: Queryable, row: CouponRow): Promise<void> {
  await db.query(
    `INSERT INTO coupons (${columns}) SELECT ${columns} FROM json_to_recordset($1::json) AS c (${record})`,
    [asRecord(row)],
  );
}

export async function updateCoupon(db: Queryable, row: CouponRow): Promise<void> {
  const changes = couponColumns.filter((name) => !counters.includes(name)).map((name) => `${name} = c.${name}`);
  await db.query(
    `UPDATE coupons t SET ${changes.join(', ')} FROM json_to_recordset($1::json) AS c (${record})
     WHERE t.company_id = c.company_id AND t.id = c.id`,
    [asRecord(row)],
  );
}

export async function findCoupon(db: Queryable, companyId: string, id: string): Promise<CouponRow | undefined> {
  const [row] = await db.query<CouponRow>(`SELECT ${columns} FROM coupons WHERE company_id = $1 AND id = $2`, [
    companyId,
    id,
  ]);
  return row;
}

export async function lockCoupon(db: Queryable, companyId: string, id: string): Promise<CouponRow | undefined> {
  const [row] = await db.query<CouponRow>(
    `SELECT ${columns} FROM coupons WHERE company_id = $1 AND id = $2 FOR NO KEY UPDATE`,
    [companyId, id],
  );
  return row;
}

export interface CodeRow {
  id: string;
  coupon_id: string;
  code: string;
  redemptions: number;
}

/** Returns the codes that were free; a code that another coupon has is skipped. */
export async function insertCodes(
  db: Queryable,
  companyId: string,
  couponId: string,
  codes: readonly { readonly id: string; readonly code: string }[],
): Promise<CodeRow[]> {
  return db.query<CodeRow>(
    `INSERT INTO coupon_codes (company_id, id, coupon_id, code)
     SELECT $1, id, $2, code FROM unnest($3::uuid[], $4::text[]) AS made (id, code)
     ON CONFLICT DO NOTHING RETURNING id, coupon_id, code, redemptions`,
    [companyId, couponId, codes.map(({ id }) => id), codes.map(({ code }) => code)],
  );
}

/** Returns how many codes the coupon has, with those just made. Locks the coupon, so it is the last statement. */
export async function countCodes(db: Queryable, companyId: string, couponId: string, made: number): Promise<number> {
  const [row] = await db.query<{ code_count: number }>(
    `UPDATE coupons SET code_count = coalesce(code_count + $3,
       (SELECT count(*) FROM coupon_codes k WHERE k.company_id = $1 AND k.coupon_id = $2))
     WHERE company_id = $1 AND id = $2 RETURNING code_count`,
    [companyId, couponId, made],
  );
  return row?.code_count ?? 0;
}

/** A promo coupon has one code, which equals its name. */
export async function renameCode(db: Queryable, companyId: string, couponId: string, code: string): Promise<void> {
  await db.query(`UPDATE coupon_codes SET code = $3 WHERE company_id = $1 AND coupon_id = $2`, [
    companyId,
    couponId,
    code,
  ]);
}

/** Returns the ids without a product or plan. */
export async function findMissing(
  db: Queryable,
  table: 'products' | 'plans',
  companyId: string,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `SELECT id::text FROM unnest($2::uuid[]) AS wanted (id)
     WHERE NOT EXISTS (SELECT 1 FROM ${table} t WHERE t.company_id = $1 AND t.id = wanted.id)`,
    [companyId, ids],
  );
  return rows.map(({ id }) => id);
}

const source: ListSource = {
  table: 'coupons',
  objectType: 'coupon',
  columns,
  sorts: {
    updated_at: { column: 'updated_at', type: 'timestamptz' },
    name: { column: 'name', type: 'text' },
  },
};

export interface CouponFilters extends QueryValues<typeof createdAtFilters> {
  readonly q?: string;
  readonly active?: boolean;
  readonly kind?: string;
  readonly archived?: string;
}

export async function listCoupons(
  db: Queryable,
  companyId: string,
  filters: CouponFilters,
  page: PageRequest,
): Promise<Page<CouponRow>> {
  const checks: Sql[] = [];
  if (filters.active !== undefined) checks.push(sql`active = ${filters.active}`);
  if (filters.kind !== undefined) checks.push(sql`kind = ${filters.kind}`);
  if (filters.archived === 'true') checks.push(sql`archived_at IS NOT NULL`);
  if (filters.archived === undefined || filters.archived === 'false') checks.push(sql`archived_at IS NULL`);
  if (filters.q !== undefined) {
    const text = containing(filters.q);
    const code = filters.q.trim().toUpperCase();
    checks.push(sql`(name ILIKE ${text} OR description ILIKE ${text} OR id =
      (SELECT c.coupon_id FROM coupon_codes c WHERE c.company_id = ${companyId} AND c.code = ${code}))`);
  }
  return searchPage(db, companyId, source, page, {
    arms: [everyRow],
    ranges: { id: createdAtConditions(filters) },
    checks,
  });
}

const codeSource: ListSource = {
  table: 'coupon_codes',
  objectType: 'coupon_code',
  columns: 'id, coupon_id, code, redemptions',
  sorts: {},
};

export async function listCodes(
  db: Queryable,
  companyId: string,
  couponId: string,
  page: PageRequest,
): Promise<Page<CodeRow>> {
  return fetchPage(db, companyId, codeSource, page, [sql`coupon_id = ${couponId}::uuid`]);
}

/** The existing objects that a preview refers to. */
export interface Preview {
  readonly customerExists: boolean;
  readonly plan:
    | { readonly id: string; readonly amount: number; readonly one_time_amount: number; readonly currency: string }
    | undefined;
  readonly products: readonly { readonly id: string; readonly amount: number; readonly currency: string }[];
}

export async function findPreview(
  db: Queryable,
  companyId: string,
  named: { readonly customerId: string | null; readonly planId: string | null; readonly productIds: readonly string[] },
): Promise<Preview> {
  const [row] = await db.query<{
    customer_exists: boolean;
    plan: Preview['plan'] | null;
    products: Preview['products'] | null;
  }>(
    `SELECT EXISTS (SELECT 1 FROM customers WHERE company_id = $1 AND id = $2 AND deleted_at IS NULL) AS customer_exists,
       (SELECT json_build_object('id', id, 'amount', amount, 'one_time_amount', one_time_amount, 'currency', currency)
        FROM plans WHERE company_id = $1 AND id = $3) AS plan,
       (SELECT json_agg(json_build_object('id', id, 'amount', amount, 'currency', currency))
        FROM products WHERE company_id = $1 AND id = ANY($4::uuid[])) AS products`,
    [companyId, named.customerId, named.planId, named.productIds],
  );
  return {
    customerExists: row?.customer_exists ?? false,
    plan: row?.plan ?? undefined,
    products: row?.products ?? [],
  };
}
