import { ApiError, invalidField, notFound } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import type { Plan } from '../plans/schemas.ts';
import { plansById } from '../plans/service.ts';
import {
  countChosen,
  type CountedPriceChange,
  countExpected,
  findExceptions,
  findPriceChange,
  findPriceChanges,
  insertPriceChange,
  lockPriceChange,
  type PriceChangeRow,
  setState,
} from './queries.ts';
import type { PriceChange, PriceChangeCreate, PriceChangePreview, PriceChangeRequest } from './schemas.ts';

/** Moves the subscribers of a plan to another one at their next renewal, and takes that back. */

interface Checked {
  readonly plan: Plan;
  readonly toPlan: Plan;
  readonly chosen: readonly string[] | null;
}

async function check(context: RequestContext, input: PriceChangeRequest): Promise<Checked> {
  const { db, company } = context;
  const [from, to] = [input.plan_id.toLowerCase(), input.to_plan_id.toLowerCase()];
  const plans = await plansById(context, [from, to]);
  const [plan, toPlan] = [plans.get(from), plans.get(to)];
  if (!plan) throw notFound('plan', 'plan_id');
  if (!toPlan) throw notFound('plan', 'to_plan_id');
  if (from === to) throw invalidField('to_plan_id', 'must be another plan than plan_id');
  if (!toPlan.active) throw invalidField('to_plan_id', 'is an archived plan. Choose an active plan');
  if (toPlan.currency !== plan.currency) {
    throw invalidField('to_plan_id', `must be a plan in ${plan.currency}, the currency of its subscriptions`);
  }
  const ids = input.subscription_ids?.map((id) => id.toLowerCase());
  const chosen = ids ? [...new Set(ids)] : null;
  if (chosen && (await countChosen(db, company.id, from, chosen)) < chosen.length) {
    throw invalidField('subscription_ids', 'must be subscriptions of the plan plan_id');
  }
  return { plan, toPlan, chosen };
}

/** What a price change would do now. Nothing is recorded. */
export async function previewPriceChange(
  context: RequestContext,
  input: PriceChangeRequest,
): Promise<PriceChangePreview> {
  const { plan, toPlan, chosen } = await check(context, input);
  const parts = await countExpected(context.db, context.company.id, plan.id, chosen);
  const changing = parts.find(({ kind }) => kind === null);
  return {
    currency: plan.currency,
    count: changing?.count ?? 0,
    seats: changing?.seats ?? 0,
    amount_before: changing?.amount ?? 0,
    amount_after: toPlan.amount * (changing?.seats ?? 0),
    first_renewal_at: changing?.first?.toISOString() ?? null,
    last_renewal_at: changing?.last?.toISOString() ?? null,
    exceptions: parts.flatMap(({ kind, count }) => (kind === null ? [] : [{ kind, count }])),
  };
}

export async function createPriceChange(context: RequestContext, input: PriceChangeCreate): Promise<PriceChange> {
  const { db, company, caller, nowMs, requestId } = context;
  const { plan, toPlan, chosen } = await check(context, input);
  if (input.expected_count !== undefined) {
    const { count } = await previewPriceChange(context, input);
    if (count !== input.expected_count) {
      throw invalidField(
        'expected_count',
        `is ${input.expected_count}, but ${count} subscriptions would change. Preview again`,
      );
    }
  }
  const id = newId(nowMs);
  await insertPriceChange(db, {
    ...{ company_id: company.id, id, member_id: caller?.id ?? null, request_id: requestId },
    ...{ plan_id: plan.id, to_plan_id: toPlan.id, chosen },
  });
  return getPriceChange(context, id);
}

export async function getPriceChange(context: RequestContext, id: string): Promise<PriceChange> {
  const row = await findPriceChange(context.db, context.company.id, id);
  if (!row) throw notFound('price change');
  const plans = await plansById(context, [row.plan_id, row.to_plan_id]);
  return toWire(row, plans, await exceptionsOf(context, row));
}

const exceptionsOf = async (
  { db, company }: RequestContext,
  row: CountedPriceChange,
): Promise<PriceChange['exceptions']> =>
  row.refused === 0 ? [] : findExceptions(db, company.id, row.id, limits.priceChangeExceptions);

/** The latest ones, of one plan or of all, without their exceptions. */
export async function getPriceChanges(context: RequestContext, planId?: string): Promise<{ data: PriceChange[] }> {
  const rows = await findPriceChanges(context.db, context.company.id, planId ?? null, limits.priceChangesShown);
  const plans = await plansById(context, [...new Set(rows.flatMap((row) => [row.plan_id, row.to_plan_id]))]);
  return { data: rows.map((row) => toWire(row, plans, [])) };
}

function statusOf({ state, collected, waiting }: CountedPriceChange): PriceChange['status'] {
  if (state !== 'running') return state;
  return collected && waiting === 0 ? 'completed' : 'in_progress';
}

function toWire(
  row: CountedPriceChange,
  plans: ReadonlyMap<string, Plan>,
  exceptions: PriceChange['exceptions'],
): PriceChange {
  const planOf = (id: string): PriceChange['plan'] => {
    const plan = plans.get(id);
    return { id, name: plan?.name ?? '', amount: plan?.amount ?? 0, currency: plan?.currency ?? '' };
  };
  const { waiting, scheduled, changed, undone, refused, begun } = row;
  return {
    id: row.id,
    status: statusOf(row),
    working: row.next_step_at !== null,
    plan: planOf(row.plan_id),
    to_plan: planOf(row.to_plan_id),
    chosen: row.chosen?.length ?? null,
    ...{ waiting, scheduled, changed, undone, refused },
    left: begun - changed - scheduled,
    exceptions: [...exceptions],
    created_at: createdAt(row.id),
  };
}

type Action = Readonly<Record<PriceChangeRow['state'], PriceChangeRow['state'] | undefined>>;

const actions = {
  pause: { running: 'paused', paused: 'paused', undone: undefined },
  resume: { running: 'running', paused: 'running', undone: undefined },
  undo: { running: 'undone', paused: 'undone', undone: 'undone' },
} as const satisfies Record<string, Action>;

/** Subscriptions that have renewed keep the new plan. Repeating it does no harm. */
export async function controlPriceChange(
  context: RequestContext,
  id: string,
  action: keyof typeof actions,
): Promise<PriceChange> {
  return context.db.transaction(async (db) => {
    const row = await lockPriceChange(db, context.company.id, id);
    if (!row) throw notFound('price change');
    const state = (actions[action] as Action)[row.state];
    if (!state) {
      const message = `The price change was undone, so it cannot be ${action}d. Start another one.`;
      throw new ApiError('invalid_state_transition', message, { param: 'id', status: 400 });
    }
    if (state !== row.state) await setState(db, row, state);
    return getPriceChange({ ...context, db }, id);
  });
}
