import { ApiError, invalidField, notFound } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { violatedConstraint } from '../../platform/database.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import type { Plan } from '../plans/schemas.ts';
import { plansById } from '../plans/service.ts';
import {
  countGroups,
  deleteGroup,
  findGroup,
  findGroups,
  findGroupsOf,
  lockGroup,
  type PlanGroupRow,
  saveGroup,
} from './queries.ts';
import type { PlanGroup, PlanGroupCreate, PlanGroupUpdate } from './schemas.ts';

export { type CustomerChange, offeredChange, offeredTo } from './offers.ts';

const toWire = ({ updated_at, ...row }: PlanGroupRow): PlanGroup => ({
  ...row,
  created_at: createdAt(row.id),
  updated_at: updated_at.toISOString(),
});

export async function getPlanGroups({ db, company }: RequestContext): Promise<{ data: PlanGroup[] }> {
  return { data: (await findGroups(db, company.id)).map(toWire) };
}

export async function getPlanGroup({ db, company }: RequestContext, id: string): Promise<PlanGroup> {
  const row = await findGroup(db, company.id, id);
  if (!row) throw notFound('plan group');
  return toWire(row);
}

/** Locks the group until the transaction ends. */
export async function lockedPlanGroup(context: RequestContext, id: string): Promise<PlanGroup | undefined> {
  await lockGroup(context.db, context.company.id, id);
  const row = await findGroup(context.db, context.company.id, id);
  return row && toWire(row);
}

export async function createPlanGroup(context: RequestContext, input: PlanGroupCreate): Promise<PlanGroup> {
  const { db, company, nowMs } = context;
  if ((await countGroups(db, company.id)) >= limits.planGroups) {
    throw new ApiError('invalid_request', `A company has at most ${limits.planGroups} plan groups. Delete one first.`);
  }
  return save(context, { ...input, id: newId(nowMs), updated_at: new Date(nowMs) });
}

export async function changePlanGroup(
  context: RequestContext,
  id: string,
  change: PlanGroupUpdate,
): Promise<PlanGroup> {
  const { db, company, nowMs } = context;
  return db.transaction(async (transaction) => {
    await lockGroup(transaction, company.id, id);
    const row = await findGroup(transaction, company.id, id);
    if (!row) throw notFound('plan group');
    return save({ ...context, db: transaction }, { ...row, ...change, updated_at: new Date(nowMs) });
  });
}

async function save(context: RequestContext, given: PlanGroupRow): Promise<PlanGroup> {
  const { db, company } = context;
  const plan_ids = given.plan_ids.map((id) => id.toLowerCase());
  if (new Set(plan_ids).size < plan_ids.length) throw invalidField('plan_ids', 'must not contain a plan twice');
  const plans = await plansById(context, plan_ids);
  if (plans.size < plan_ids.length) throw notFound('plan', 'plan_ids');
  checkCurrency([...plans.values()]);
  const row = { ...given, plan_ids };
  try {
    await db.transaction((transaction) => saveGroup(transaction, company.id, row));
  } catch (error) {
    if (violatedConstraint(error) !== 'plan_group_plans_pkey') throw error;
    throw invalidField('plan_ids', 'must not contain a plan of another group');
  }
  return toWire(row);
}

function checkCurrency(plans: readonly Plan[]): void {
  const currencies = new Set(plans.map(({ currency }) => currency));
  if (currencies.size > 1) throw invalidField('plan_ids', 'must all have the same currency');
}

export async function removePlanGroup(
  { db, company }: RequestContext,
  id: string,
): Promise<{ id: string; deleted: true }> {
  if (!(await deleteGroup(db, company.id, id))) throw notFound('plan group');
  return { id, deleted: true };
}

export interface GroupWithPlans {
  readonly group: PlanGroupRow;
  /** Those that can be chosen: archived ones cannot. */
  readonly plans: readonly Plan[];
}

/** By plan: its group, with the plans that customers can choose. */
export async function groupsOf(
  context: RequestContext,
  planIds: readonly string[],
): Promise<Map<string, GroupWithPlans>> {
  const groups = planIds.length === 0 ? [] : await findGroupsOf(context.db, context.company.id, planIds);
  if (groups.length === 0) return new Map();
  const plans = await plansById(
    context,
    groups.flatMap(({ plan_ids }) => plan_ids),
  );
  return new Map(
    groups.flatMap((group) => {
      const chosen = group.plan_ids.flatMap((id) => plans.get(id) ?? []).filter(({ active }) => active);
      return group.plan_ids.map((id) => [id, { group, plans: chosen }] as const);
    }),
  );
}
