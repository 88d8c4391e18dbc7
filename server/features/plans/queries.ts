import { createdAtConditions, createdAtFilters, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import { anyOf, containing, everyRow, searchPage } from '../../http/search-pages.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { type Sql, sql } from '../../platform/sql.ts';
import type { Plan } from './schemas.ts';

export interface PlanRow {
  id: string;
  name: string;
  plan_code: string;
  description: string | null;
  amount: number;
  one_time_amount: number;
  currency: string;
  interval: 'day' | 'month';
  interval_count: number;
  anchor_day: number | null;
  billing_cycles: number;
  pricing_tiers: Plan['pricing_tiers'];
  active: boolean;
  updated_at: Date;
  products: Plan['products'] | null;
}

export const planColumns = [
  'id',
  'name',
  'plan_code',
  'description',
  'amount',
  'one_time_amount',
  'currency',
  'interval',
  'interval_count',
  'anchor_day',
  'billing_cycles',
  'pricing_tiers',
  'active',
  'updated_at',
] as const satisfies (keyof PlanRow)[];
const stored = planColumns.join(', ');
const columns = `${stored}, (
  SELECT json_agg(json_build_object('product_id', p.id, 'name', p.name, 'quantity', m.quantity) ORDER BY m.position)
  FROM plan_products m JOIN products p ON p.company_id = m.company_id AND p.id = m.product_id
  WHERE m.company_id = plans.company_id AND m.plan_id = plans.id) AS products`;

export async function insertPlan(
  db: Database,
  companyId: string,
  row: Omit<PlanRow, 'products'>,
  products: readonly { readonly productId: string; readonly quantity: number }[],
): Promise<void> {
  await db.query(
    `WITH made AS (
       INSERT INTO plans (company_id, ${stored})
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) RETURNING company_id, id
     )
     INSERT INTO plan_products (company_id, plan_id, position, product_id, quantity)
     SELECT made.company_id, made.id, place - 1, product_id, quantity
     FROM made, unnest($16::uuid[], $17::integer[]) WITH ORDINALITY AS wanted (product_id, quantity, place)`,
    [
      companyId,
      row.id,
      row.name,
      row.plan_code,
      row.description,
      row.amount,
      row.one_time_amount,
      row.currency,
      row.interval,
      row.interval_count,
      row.anchor_day,
      row.billing_cycles,
      JSON.stringify(row.pricing_tiers),
      row.active,
      row.updated_at,
      products.map(({ productId }) => productId),
      products.map(({ quantity }) => quantity),
    ],
  );
}

export async function findPlan(db: Queryable, companyId: string, id: string): Promise<PlanRow | undefined> {
  const [row] = await db.query<PlanRow>(`SELECT ${columns} FROM plans WHERE company_id = $1 AND id = $2`, [
    companyId,
    id,
  ]);
  return row;
}

/** Keeps others from changing the plan until the transaction ends. */
export async function lockPlan(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query('SELECT 1 FROM plans WHERE company_id = $1 AND id = $2 FOR NO KEY UPDATE', [companyId, id]);
}

export async function findPlans(db: Queryable, companyId: string, ids: readonly string[]): Promise<PlanRow[]> {
  return db.query<PlanRow>(`SELECT ${columns} FROM plans WHERE company_id = $1 AND id = ANY($2::uuid[])`, [
    companyId,
    ids,
  ]);
}

export interface PlanProduct {
  readonly product_id: string;
  readonly quantity: number;
  readonly name: string;
  readonly sku: string;
}

export async function findPlanProducts(db: Queryable, companyId: string, planId: string): Promise<PlanProduct[]> {
  return db.query<PlanProduct>(
    `SELECT p.id AS product_id, m.quantity, p.name, p.sku
     FROM plan_products m JOIN products p ON p.company_id = m.company_id AND p.id = m.product_id
     WHERE m.company_id = $1 AND m.plan_id = $2 ORDER BY m.position`,
    [companyId, planId],
  );
}

/** Returns undefined if there is no such plan, or nothing changes. Omitted fields stay unchanged. */
export async function updatePlan(
  db: Queryable,
  companyId: string,
  id: string,
  change: { name?: string; description?: string | null; active?: boolean },
  at: Date,
): Promise<PlanRow | undefined> {
  const [row] = await db.query<PlanRow>(
    `UPDATE plans SET name = coalesce($3, name), description = CASE WHEN $4 THEN $5 ELSE description END,
       active = coalesce($6, active), updated_at = $7
     WHERE company_id = $1 AND id = $2 AND (name, description, active) IS DISTINCT FROM
       (coalesce($3, name), CASE WHEN $4 THEN $5 ELSE description END, coalesce($6, active)) RETURNING ${columns}`,
    [
      companyId,
      id,
      change.name ?? null,
      change.description !== undefined,
      change.description ?? null,
      change.active ?? null,
      at,
    ],
  );
  return row;
}

/** Whether a plan, active or archived, includes the product. */
export async function isInPlans(
  db: Queryable,
  companyId: string,
  productId: string,
  active: boolean,
): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM plan_products m JOIN plans p ON p.company_id = m.company_id AND p.id = m.plan_id
     WHERE m.company_id = $1 AND m.product_id = $2 AND p.active = $3 LIMIT 1`,
    [companyId, productId, active],
  );
  return rows.length > 0;
}

const source: ListSource = {
  table: 'plans',
  objectType: 'plan',
  columns,
  sorts: {
    updated_at: { column: 'updated_at', type: 'timestamptz' },
    name: { column: 'name', type: 'text' },
    amount: { column: 'amount', type: 'bigint' },
  },
};

export interface PlanFilters extends QueryValues<typeof createdAtFilters> {
  readonly search?: string;
  readonly active?: boolean;
  readonly currency?: readonly string[];
}

export async function listPlans(
  db: Queryable,
  companyId: string,
  filters: PlanFilters,
  page: PageRequest,
): Promise<Page<PlanRow>> {
  const checks: Sql[] = anyOf('currency', filters.currency);
  if (filters.active !== undefined) checks.push(sql`active = ${filters.active}`);
  if (filters.search !== undefined) {
    const text = containing(filters.search);
    checks.push(sql`(name ILIKE ${text} OR plan_code ILIKE ${text} OR description ILIKE ${text})`);
  }
  return searchPage(db, companyId, source, page, {
    arms: [everyRow],
    ranges: { id: createdAtConditions(filters) },
    checks,
  });
}
