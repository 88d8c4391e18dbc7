import { ApiError } from '../server/errors.ts';
import type { PriceChange, PriceChangePreview } from '../server/features/price-changes/schemas.ts';
import {
  controlPriceChange,
  createPriceChange,
  getPriceChange,
  getPriceChanges,
  previewPriceChange,
} from '../server/features/price-changes/service.ts';
import { decimalText } from '../server/platform/currencies.ts';
import { newRequestId } from '../server/platform/ids.ts';
import type { RequestContext } from '../server/request-context.ts';
import { auditOperator } from './audit.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError, failureOf, UsageError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import { idArgument } from './id-argument.ts';
import type { Flags } from './options.ts';
import { table } from './table.ts';

interface Work {
  readonly context: RequestContext;
  readonly words: readonly string[];
  /** Does it together with its audit entry. */
  readonly audited: (action: string, work: (inner: RequestContext) => Promise<PriceChange>) => Promise<PriceChange>;
}

type Action = (work: Work) => Promise<{ readonly value: unknown; readonly text: string }>;

const control =
  (action: 'pause' | 'resume' | 'undo'): Action =>
  async ({ words, audited }) => {
    const id = idArgument(words[0], `price-changes ${action} ID`);
    const value = await audited(`${action}PriceChange`, (inner) => controlPriceChange(inner, id, action));
    return { value, text: shown(value) };
  };

const plansOf = (words: readonly string[], action: string): { plan_id: string; to_plan_id: string } => {
  const usage = `price-changes ${action} PLAN_ID NEW_PLAN_ID`;
  return { plan_id: idArgument(words[0], usage), to_plan_id: idArgument(words[1], usage) };
};

const actions: Readonly<Record<string, Action>> = {
  preview: async ({ context, words }) => {
    const value = await previewPriceChange(context, plansOf(words, 'preview'));
    return { value, text: expected(value) };
  },
  start: async ({ words, audited }) => {
    const plans = plansOf(words, 'start');
    const value = await audited('createPriceChange', (inner) => createPriceChange(inner, plans));
    return { value, text: shown(value) };
  },
  show: async ({ context, words }) => {
    const value = await getPriceChange(context, idArgument(words[0], 'price-changes show ID'));
    return { value, text: shown(value) };
  },
  list: async ({ context }) => {
    const { data } = await getPriceChanges(context);
    const rows = data.map(({ id, status, plan, to_plan, scheduled, changed, refused }) => [
      ...[id, status, plan.name, to_plan.name, String(scheduled), String(changed), String(refused)],
    ]);
    const header = ['ID', 'STATUS', 'FROM', 'TO', 'SCHEDULED', 'CHANGED', 'EXCEPTIONS'];
    return { value: data, text: table(header, rows, 'There are no price changes.') };
  },
  pause: control('pause'),
  resume: control('resume'),
  undo: control('undo'),
};

/** `price-changes …`: not available in the API. */
export async function priceChangesCommand([name = '', ...words]: readonly string[], flags: Flags): Promise<string> {
  const action = actions[name];
  if (!action) throw new UsageError(`Use price-changes ${Object.keys(actions).join(', ')}.`);
  return withDatabase(async ({ shards, clock }) => {
    const company = await chosenCompany(shards, flags.company);
    const { db } = shards.of(company);
    const requestId = newRequestId();
    const context: RequestContext = { db, company, nowMs: clock.nowMs() + company.clockOffsetMs, requestId };
    const audited: Work['audited'] = (auditAction, work) =>
      db.transaction(async (transaction) => {
        const change = await work({ ...context, db: transaction });
        await auditOperator(transaction, company, { action: auditAction, objectId: change.id, fields: [], requestId });
        return change;
      });
    try {
      const { value, text } = await action({ context, words, audited });
      return flags.json ? `${JSON.stringify(value)}\n` : text;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const fields = error.fieldErrors.map(({ field, message }) => `  ${field} ${message}`);
      throw new CommandError([error.message, ...fields].join('\n'), failureOf(error.status));
    }
  });
}

const price = (amount: number, currency: string): string =>
  `${decimalText(amount, currency)} ${currency.toUpperCase()}`;

const reasons = {
  past_due: 'past due',
  change_scheduled: 'with another change at the next renewal',
  not_renewing: 'that do not renew',
} as const;

function expected(preview: PriceChangePreview): string {
  const { count, seats, currency, amount_before, amount_after, exceptions } = preview;
  const lines = [
    `${count} subscriptions with ${seats} seats change at their next renewal.`,
    `Each cycle, before discounts: ${price(amount_before, currency)} now, ${price(amount_after, currency)} after.`,
    ...exceptions.map(({ kind, count: left }) => `Not included: ${left} ${reasons[kind]}.`),
  ];
  return `${lines.join('\n')}\n`;
}

function shown({ id, status, plan, to_plan, exceptions, ...counts }: PriceChange): string {
  const { waiting, scheduled, changed, left, undone, refused } = counts;
  const lines = [
    `${id}: ${status}, from ${plan.name} to ${to_plan.name}`,
    `waiting ${waiting}, scheduled ${scheduled}, changed ${changed}, left ${left}, undone ${undone}, exceptions ${refused}`,
    ...exceptions.map(({ subscription_id, reason }) => `  ${subscription_id} ${reason}`),
  ];
  return `${lines.join('\n')}\n`;
}
