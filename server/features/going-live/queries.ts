import type { Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';
import { couponColumns } from '../coupons/queries.ts';
import { planColumns } from '../plans/queries.ts';
import { productColumns } from '../products/queries.ts';

export interface ProgressRow {
  readonly api_key: boolean;
  readonly webhook_endpoint: boolean;
  readonly charge: boolean;
}

/** The charge may have been refunded, voided or disputed since. */
export async function findProgress(db: Queryable, companyId: string, now: Date): Promise<ProgressRow> {
  const [row] = await db.query<ProgressRow>(
    `SELECT ${anyRow(`api_keys WHERE company_id = $1 AND kind = 'secret' AND revoked_at IS NULL
         AND (expires_at IS NULL OR expires_at > $2)`)} AS api_key,
       ${anyRow(`webhook_endpoints WHERE company_id = $1 AND status = 'enabled'`)} AS webhook_endpoint,
       ${anyRow(`transactions WHERE company_id = $1 AND type = 'sale' AND status <> 'failed'`)} AS charge`,
    [companyId, now],
  );
  return row ?? { api_key: false, webhook_endpoint: false, charge: false };
}

/** The kinds of connections that passed their last rehearsal. */
export async function findRehearsedKinds(db: Queryable, companyId: string): Promise<string[]> {
  const rows = await db.query<{ kind: string }>(
    `SELECT DISTINCT p.kind FROM processor_connections p CROSS JOIN LATERAL (
       SELECT r.state FROM rehearsals r WHERE r.company_id = $1 AND r.connection_id = p.id AND r.state <> 'running'
       ORDER BY r.id DESC LIMIT 1) last
     WHERE p.company_id = $1 AND last.state = 'passed'`,
    [companyId],
  );
  return rows.map(({ kind }) => kind);
}

/** Two copies at the same time would create a webhook endpoint twice. */
export async function lockCopy(db: Queryable, companyId: string): Promise<void> {
  await db.query(`SELECT pg_advisory_xact_lock(hashtextextended($1::text || ' copy from sandbox', 0))`, [companyId]);
}

const copied = {
  products: 'deleted_at IS NULL',
  plans: 'active',
  coupons: 'archived_at IS NULL',
} as const;

export type CatalogKind = keyof typeof copied;

/** How many objects can be copied; `max + 1` if there are more than `max`. */
export async function countCopied(db: Queryable, kind: CatalogKind, companyId: string, max: number): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count
     FROM (SELECT 1 FROM ${kind} WHERE company_id = $1 AND ${copied[kind]} LIMIT $2) counted`,
    [companyId, max + 1],
  );
  return row?.count ?? 0;
}

export interface Copy {
  /** The sandbox. */
  readonly from: string;
  /** The live company. */
  readonly to: string;
  readonly at: Date;
  /** For the new objects, in the order of the old ones. */
  readonly ids: readonly string[];
}

/** An object that did not exist in the live company. */
export interface CopiedRow {
  readonly name: string;
  /** False if it was left out, because the live company lacks what it refers to. */
  readonly is_copied: boolean;
}

const without = (columns: readonly string[], ...others: readonly string[]): readonly string[] =>
  columns.filter((column) => !others.includes(column));
const list = (columns: readonly string[], table: string): string =>
  columns.map((column) => `${table}.${column}`).join(', ');

// A product of the live company is the same as that of the sandbox if it has the same SKU; a plan, if it has the same code.
const sameProduct = (source: string): string => `products s JOIN products t ON t.company_id = $2 AND t.sku = s.sku
  AND t.deleted_at IS NULL WHERE s.company_id = $1 AND s.id = ${source} AND s.deleted_at IS NULL`;
const samePlan = (source: string): string => `plans s JOIN plans t ON t.company_id = $2 AND t.plan_code = s.plan_code
  WHERE s.company_id = $1 AND s.id = ${source}`;

const copiedProduct = without(productColumns, 'id', 'ordered', 'updated_at', 'deleted_at');

export async function copyProducts(db: Queryable, { from, to, ids, at }: Copy): Promise<CopiedRow[]> {
  return db.query<CopiedRow>(
    `WITH chosen AS (
       SELECT o.*, row_number() OVER (ORDER BY o.id) AS place FROM products o
       WHERE o.company_id = $1 AND o.${copied.products} AND NOT EXISTS (
         SELECT 1 FROM products t WHERE t.company_id = $2 AND t.sku = o.sku AND t.deleted_at IS NULL)
     )
     INSERT INTO products (company_id, id, updated_at, ${copiedProduct.join(', ')})
     SELECT $2, n.id, $4, ${list(copiedProduct, 'c')} FROM chosen c
     JOIN unnest($3::uuid[]) WITH ORDINALITY AS n (id, place) ON n.place = c.place ORDER BY n.place
     ON CONFLICT DO NOTHING RETURNING name, true AS is_copied`,
    [from, to, ids, at],
  );
}

const copiedPlan = without(planColumns, 'id', 'updated_at');

/** A plan is left out if one of its products does not exist in the live company. */
export async function copyPlans(db: Queryable, { from, to, ids, at }: Copy): Promise<CopiedRow[]> {
  return db.query<CopiedRow>(
    `WITH missing AS (
       SELECT o.*, row_number() OVER (ORDER BY o.id) AS place, ${anyRow(
         `plan_products m WHERE m.company_id = $1 AND m.plan_id = o.id
          AND NOT EXISTS (SELECT 1 FROM ${sameProduct('m.product_id')})`,
       )} AS incomplete
       FROM plans o WHERE o.company_id = $1 AND o.${copied.plans} AND NOT EXISTS (
         SELECT 1 FROM plans t WHERE t.company_id = $2 AND t.plan_code = o.plan_code)
     ), chosen AS (
       SELECT m.*, n.id AS new_id FROM missing m
       JOIN unnest($3::uuid[]) WITH ORDINALITY AS n (id, place) ON n.place = m.place
     ), made AS (
       INSERT INTO plans (company_id, id, updated_at, ${copiedPlan.join(', ')})
       SELECT $2, c.new_id, $4, ${list(copiedPlan, 'c')} FROM chosen c
       WHERE NOT c.incomplete ORDER BY c.place ON CONFLICT DO NOTHING RETURNING id
     ), parts AS (
       INSERT INTO plan_products (company_id, plan_id, position, product_id, quantity)
       SELECT $2, made.id, m.position, (SELECT t.id FROM ${sameProduct('m.product_id')}), m.quantity
       FROM made JOIN chosen c ON c.new_id = made.id
       JOIN plan_products m ON m.company_id = $1 AND m.plan_id = c.id
     )
     SELECT c.name, NOT c.incomplete AS is_copied FROM chosen c LEFT JOIN made ON made.id = c.new_id
     WHERE c.incomplete OR made.id IS NOT NULL ORDER BY c.place`,
    [from, to, ids, at],
  );
}

const copiedCoupon = without(
  couponColumns,
  ...['company_id', 'id', 'updated_at', 'product_ids', 'plan_ids', 'total_redemptions', 'used', 'code_count'],
);

const mapped = (ids: string, same: (source: string) => string): string =>
  `ARRAY(SELECT found.id FROM unnest(o.${ids}) WITH ORDINALITY AS w (id, place)
     CROSS JOIN LATERAL (SELECT t.id FROM ${same('w.id')}) found ORDER BY w.place)`;

/**
 * A coupon is left out if it is for specific products or plans of which none exists in the live company. The codes of
 * generated coupons are not copied.
 */
export async function copyCoupons(
  db: Queryable,
  { from, to, ids, at, codeIds }: Copy & { readonly codeIds: readonly string[] },
): Promise<CopiedRow[]> {
  return db.query<CopiedRow>(
    `WITH mapped AS (
       SELECT o.*, k.code, row_number() OVER (ORDER BY o.id) AS place,
         ${mapped('product_ids', sameProduct)} AS products, ${mapped('plan_ids', samePlan)} AS plans
       FROM coupons o
       LEFT JOIN coupon_codes k ON o.kind = 'promo' AND k.company_id = o.company_id AND k.coupon_id = o.id
       WHERE o.company_id = $1 AND o.${copied.coupons}
         AND NOT EXISTS (SELECT 1 FROM coupons t WHERE t.company_id = $2 AND t.name = o.name)
         AND NOT EXISTS (SELECT 1 FROM coupon_codes t WHERE t.company_id = $2 AND t.code = k.code)
     ), chosen AS (
       SELECT m.*, n.id AS new_id, n.code_id, NOT (m.product_scope = 'specific' AND cardinality(m.products) = 0
         OR m.plan_scope = 'specific' AND cardinality(m.plans) = 0) AS is_copied
       FROM mapped m JOIN unnest($3::uuid[], $4::uuid[]) WITH ORDINALITY AS n (id, code_id, place) ON n.place = m.place
     ), made AS (
       INSERT INTO coupons (company_id, id, updated_at, product_ids, plan_ids, ${copiedCoupon.join(', ')})
       SELECT $2, c.new_id, $5, c.products, c.plans, ${list(copiedCoupon, 'c')} FROM chosen c
       WHERE c.is_copied ORDER BY c.place
     ), codes AS (
       INSERT INTO coupon_codes (company_id, id, coupon_id, code)
       SELECT $2, c.code_id, c.new_id, c.code FROM chosen c WHERE c.is_copied AND c.code IS NOT NULL
     )
     SELECT name, is_copied FROM chosen ORDER BY place`,
    [from, to, ids, codeIds, at],
  );
}
