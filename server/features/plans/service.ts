import { ApiError, type FieldError, invalidField, notFound, validationError } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { type Database, violatedConstraint } from '../../platform/database.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import type { OrderItem } from '../orders/schemas.ts';
import {
  findPlan,
  findPlanProducts,
  findPlans,
  insertPlan,
  isInPlans,
  listPlans,
  lockPlan,
  type PlanFilters,
  type PlanRow,
  updatePlan,
} from './queries.ts';
import type { Plan, PlanCreate, PlanUpdate } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

function toWire(row: PlanRow): Plan {
  return {
    id: row.id,
    name: row.name,
    plan_code: row.plan_code,
    description: row.description,
    amount: row.amount,
    one_time_amount: row.one_time_amount,
    currency: row.currency,
    billing_cycle: {
      interval: row.interval,
      interval_count: row.interval_count,
      anchor_day: row.anchor_day ?? 'signup_date',
    },
    billing_cycles: row.billing_cycles,
    products: row.products ?? [],
    pricing_tiers: row.pricing_tiers,
    active: row.active,
    created_at: createdAt(row.id),
    updated_at: row.updated_at.toISOString(),
  };
}

export async function getPlan({ db, company }: RequestContext, id: string): Promise<Plan> {
  const row = await findPlan(db, company.id, id);
  if (!row) throw notFound('plan');
  return toWire(row);
}

export async function getPlans(
  { db, company }: RequestContext,
  filters: PlanFilters,
  page: PageRequest,
): Promise<Page<Plan>> {
  const found = await listPlans(db, company.id, filters, page);
  return { ...found, items: found.items.map(toWire) };
}

export interface PlanToSubscribe extends Plan {
  /** Its products as the orders of a subscription list them: without prices, since the plan has the price. */
  readonly items: OrderItem[];
}

export async function planToSubscribe(db: Database, companyId: string, id: string): Promise<PlanToSubscribe> {
  const row = await findPlan(db, companyId, id);
  if (!row) throw notFound('plan', 'plan_id');
  if (!row.active) throw invalidField('plan_id', 'is an archived plan. Choose an active plan');
  const items = (await findPlanProducts(db, companyId, id)).map((product) => ({
    ...product,
    unit_price: null,
    total: null,
  }));
  return { ...toWire(row), items };
}

/** Returns the plans for objects that are expanded with their plan. */
export async function plansById({ db, company }: RequestContext, ids: readonly string[]): Promise<Map<string, Plan>> {
  const rows = await findPlans(db, company.id, [...new Set(ids)]);
  return new Map(rows.map((row) => [row.id, toWire(row)]));
}

/** Products and plans refer to each other, so a product checks its plans before it is deleted. */
export const productInActivePlans = (db: Database, companyId: string, productId: string): Promise<boolean> =>
  isInPlans(db, companyId, productId, true);
export const productInArchivedPlans = (db: Database, companyId: string, productId: string): Promise<boolean> =>
  isInPlans(db, companyId, productId, false);

const codeOf = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '') || 'plan';

function tiersOf(input: PlanCreate): Plan['pricing_tiers'] {
  const fee = input.one_time_amount ?? 0;
  if (!input.pricing_tiers) {
    const setUp = fee > 0 ? [{ name: 'Setup fee', amount: fee, kind: 'one_time' as const }] : [];
    return [{ name: input.name, amount: input.amount, kind: 'recurring' }, ...setUp];
  }
  const sum = (kind: string): number =>
    (input.pricing_tiers ?? []).reduce((total, tier) => total + (tier.kind === kind ? tier.amount : 0), 0);
  if (sum('recurring') !== input.amount || sum('one_time') !== fee) {
    throw invalidField('pricing_tiers', 'must add up to amount and one_time_amount');
  }
  return input.pricing_tiers;
}

function checkCycle({ billing_cycle: { interval, interval_count } }: PlanCreate): FieldError[] {
  const most = interval === 'month' ? limits.intervalMonthsMax : limits.intervalDaysMax;
  if (interval_count <= most) return [];
  const message = `must be at most ${most} ${interval}s`;
  return [{ field: 'billing_cycle.interval_count', code: 'invalid_value', message }];
}

/** For the dashboard and the command line. */
export async function createPlan(context: RequestContext, input: PlanCreate): Promise<Plan> {
  const { db, company, nowMs } = context;
  const problems = checkCycle(input);
  if (problems.length > 0) throw validationError(problems);
  const { interval, interval_count, anchor_day } = input.billing_cycle;
  const row = {
    id: newId(nowMs),
    name: input.name,
    plan_code: input.plan_code ?? codeOf(input.name),
    description: input.description ?? null,
    amount: input.amount,
    one_time_amount: input.one_time_amount ?? 0,
    currency: input.currency,
    interval,
    interval_count,
    anchor_day: anchor_day === 'signup_date' ? null : anchor_day,
    billing_cycles: input.billing_cycles ?? 0,
    pricing_tiers: tiersOf(input),
    active: true,
    updated_at: new Date(nowMs),
  };
  const products = (input.products ?? []).map(({ product_id, quantity }) => ({
    productId: product_id,
    quantity: quantity ?? 1,
  }));
  try {
    await insertPlan(db, company.id, row, products);
  } catch (error) {
    const constraint = violatedConstraint(error) ?? '';
    if (constraint === 'plans_code') {
      throw new ApiError('resource_already_exists', 'Another plan has this code.', { param: 'plan_code' });
    }
    if (constraint.includes('product')) throw notFound('product', 'products');
    throw error;
  }
  return getPlan(context, row.id);
}

/** Locks the plan until the transaction ends. */
export async function lockedPlan({ db, company }: RequestContext, id: string): Promise<Plan | undefined> {
  await lockPlan(db, company.id, id);
  const row = await findPlan(db, company.id, id);
  return row && toWire(row);
}

/** Archiving keeps existing subscriptions running and prevents new ones. */
export async function changePlan(context: RequestContext, id: string, input: PlanUpdate): Promise<Plan> {
  const row =
    (await updatePlan(context.db, context.company.id, id, input, new Date(context.nowMs))) ??
    (await findPlan(context.db, context.company.id, id));
  if (!row) throw notFound('plan');
  return toWire(row);
}
