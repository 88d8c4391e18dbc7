import { ApiError } from '../server/errors.ts';
import { planCreate } from '../server/features/plans/schemas.ts';
import { changePlan, createPlan, getPlans } from '../server/features/plans/service.ts';
import { validator } from '../server/http/validate.ts';
import { systemClock } from '../server/platform/clock.ts';
import { isUuid, newRequestId } from '../server/platform/ids.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import type { Flags } from './options.ts';

const checkPlan = validator(planCreate);

/** `plans create|list|archive`: what the API only reads. */
export async function plansCommand([action, argument]: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async ({ db }) => {
    const company = await chosenCompany(db, flags.company);
    const nowMs = systemClock.nowMs() + company.clockOffsetMs;
    const context = { db, company, nowMs, requestId: newRequestId() };
    const shown = (value: object): string => `${JSON.stringify(value, null, flags.json ? 0 : 2)}\n`;
    try {
      if (action === 'create') return shown(await createPlan(context, checkPlan(parsed(argument))));
      if (action === 'archive' && argument && isUuid(argument)) {
        return shown(await changePlan(context, argument.toLowerCase(), { active: false }));
      }
      if (action === 'list') {
        const page = { limit: 100, sort: { field: 'created_at', descending: true }, cursor: null };
        return shown((await getPlans(context, {}, page)).items);
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const fields = error.fieldErrors.map(({ field, message }) => `  ${field} ${message}`);
      throw new CommandError([error.message, ...fields].join('\n'));
    }
    throw new CommandError('Say what to do: plans create JSON, plans list or plans archive ID.');
  });
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    throw new CommandError(
      'Give the plan as JSON, such as {"name": "Tea", "amount": 1900, "currency": "usd", "billing_cycle": {"interval": "month", "interval_count": 1, "anchor_day": "signup_date"}}.',
    );
  }
}
