import { ApiError } from '../server/errors.ts';
import { type Plan, planCreate } from '../server/features/plans/schemas.ts';
import { changePlan, createPlan, getPlans } from '../server/features/plans/service.ts';
import { validator } from '../server/http/validate.ts';
import { decimalText } from '../server/platform/currencies.ts';
import { newRequestId } from '../server/platform/ids.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError, UsageError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import { idArgument } from './id-argument.ts';
import type { Flags } from './options.ts';
import { table } from './table.ts';
import { auditOperator } from './audit.ts';
import type { RequestContext } from '../server/request-context.ts';

const checkPlan = validator(planCreate);

/** `plans create|list|archive`: the API can only read plans. */
export async function plansCommand([action, argument]: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async ({ shards, clock }) => {
    const company = await chosenCompany(shards, flags.company);
    const { db } = shards.of(company);
    const nowMs = clock.nowMs() + company.clockOffsetMs;
    const context: RequestContext = { db, company, nowMs, requestId: newRequestId() };
    const audited = (
      auditAction: string,
      fields: readonly string[],
      work: (inner: typeof context) => Promise<Plan>,
    ): Promise<Plan> =>
      db.transaction(async (transaction) => {
        const plan = await work({ ...context, db: transaction });
        await auditOperator(transaction, company, { action: auditAction, objectId: plan.id, fields });
        return plan;
      });
    const shown = (value: object): string => `${JSON.stringify(value, null, flags.json ? 0 : 2)}\n`;
    try {
      if (action === 'create') {
        const input = checkPlan(parsed(argument));
        return shown(await audited('createPlan', Object.keys(input), (inner) => createPlan(inner, input)));
      }
      if (action === 'archive') {
        const id = idArgument(argument, 'plans archive ID');
        const archive = (inner: typeof context): Promise<Plan> => changePlan(inner, id, { active: false });
        return shown(await audited('updatePlan', ['active'], archive));
      }
      if (action === 'list') {
        const plans = await allPlans(context);
        return flags.json ? shown(plans) : listed(plans, `${company.name} has no plans.`);
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const fields = error.fieldErrors.map(({ field, message }) => `  ${field} ${message}`);
      throw new CommandError([error.message, ...fields].join('\n'));
    }
    throw new UsageError('Use plans create JSON, plans list or plans archive ID.');
  });
}

const pageSize = 100;

/** Newest first. */
async function allPlans(context: RequestContext, after?: string): Promise<Plan[]> {
  const cursor = after === undefined ? null : ({ id: after, parameter: 'starting_after' } as const);
  const page = { limit: pageSize, sort: { field: 'created_at', descending: true }, cursor };
  const { items, hasMore } = await getPlans(context, {}, page);
  return hasMore ? [...items, ...(await allPlans(context, items.at(-1)?.id))] : [...items];
}

function listed(plans: readonly Plan[], empty: string): string {
  const rows = plans.map(({ id, amount, one_time_amount, currency, billing_cycle, active, name }) => [
    id,
    active ? 'active' : 'archived',
    priceText(amount, currency),
    one_time_amount === 0 ? '-' : priceText(one_time_amount, currency),
    billing_cycle.interval_count === 1
      ? billing_cycle.interval
      : `${billing_cycle.interval_count} ${billing_cycle.interval}s`,
    name,
  ]);
  return table(['ID', 'STATUS', 'PRICE', 'SETUP FEE', 'EVERY', 'NAME'], rows, empty);
}

const priceText = (amount: number, currency: string): string =>
  `${decimalText(amount, currency)} ${currency.toUpperCase()}`;

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    throw new CommandError(
      'The plan must be JSON, for example {"name": "Tea", "amount": 1900, "currency": "usd", "billing_cycle": {"interval": "month", "interval_count": 1, "anchor_day": "signup_date"}}.',
    );
  }
}
