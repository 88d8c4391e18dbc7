import { ApiError } from '../server/errors.ts';
import { setDunning } from '../server/features/companies/service.ts';
import { chosenCompany } from './chosen-company.ts';
import { UsageError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import type { Flags } from './options.ts';
import { auditOperator } from './audit.ts';
import { listCommand } from './list-companies.ts';
import { moveCommand, rebalanceCommand } from './move.ts';
import { rehearsalCompanyCommand } from './rehearse.ts';

/** `companies dunning`, `list`, `move`, `rebalance` and `rehearsal`. */
export async function companiesCommand(words: readonly string[], flags: Flags): Promise<string> {
  const commands = {
    dunning: dunningCommand,
    list: listCommand,
    move: moveCommand,
    rebalance: rebalanceCommand,
    rehearsal: rehearsalCommand,
  };
  const command = commands[words[0] as keyof typeof commands] ?? dunningCommand;
  return command(words, flags);
}

/** `companies rehearsal`. */
const rehearsalCommand = (_: readonly string[], flags: Flags): Promise<string> => rehearsalCompanyCommand(flags);

/** `companies dunning`: sets the retry schedule for declined renewals and the status after the last retry. */
async function dunningCommand([action]: readonly string[], flags: Flags): Promise<string> {
  const afterwards = flags.then ?? 'failed';
  if (action !== 'dunning' || !flags.days || (afterwards !== 'failed' && afterwards !== 'canceled')) {
    throw new UsageError('Use companies dunning --days 1,3,5,7 --then failed|canceled.');
  }
  const days = flags.days.split(',').map(Number);
  return withDatabase(async ({ shards }) => {
    const company = await chosenCompany(shards, flags.company);
    const { db } = shards.of(company);
    try {
      await db.transaction(async (transaction) => {
        await setDunning(transaction, company.id, days, afterwards);
        const fields = ['dunning_days', 'after_dunning'];
        await auditOperator(transaction, company, { action: 'updateCompany', objectId: company.id, fields });
      });
    } catch (error) {
      throw error instanceof ApiError ? new UsageError(`--days ${error.fieldErrors[0]?.message}.`) : error;
    }
    if (flags.json) return `${JSON.stringify({ id: company.id, dunning_days: days, after_dunning: afterwards })}\n`;
    return `Declined renewals are retried after ${days.join(', ')} days; then the subscription is ${afterwards}.\n`;
  });
}
