import { setTimeout as sleep } from 'node:timers/promises';
import type { Company } from '../server/company.ts';
import { ApiError } from '../server/errors.ts';
import { type Rehearsal, stepNames } from '../server/features/rehearsals/schemas.ts';
import { beginRehearsal, lastRehearsal, openRehearsal, toWire } from '../server/features/rehearsals/service.ts';
import { minuteMs, secondMs } from '../server/platform/durations.ts';
import { isUuid } from '../server/platform/ids.ts';
import { auditOperator } from './audit.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError, failureOf, UsageError } from './command-error.ts';
import { type Connected, withDatabase } from './connect.ts';
import type { Flags } from './options.ts';
import { chosenConnection } from './processors.ts';
import { tableLines } from './table.ts';

/** `processors rehearse`: what the product does, at a test account. The worker of the service does it, and this command waits. */

const pollMs = 500;
/** Longer than the longest step. */
const silenceMaxMs = 4 * minuteMs;

export async function rehearseCommand([, connection]: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async (connected) => {
    const company = await chosenCompany(connected.shards, flags.company ?? 'rehearsal');
    const wanted = connection ?? flags.connection;
    if (wanted !== undefined && !isUuid(wanted))
      throw new UsageError('Use processors rehearse CONNECTION, with the ID of a connection.');
    try {
      const { id } = await chosenConnection(
        connected,
        company,
        wanted === undefined ? flags : { ...flags, connection: wanted },
      );
      const rehearsal = await rehearse(connected, company, id, flags);
      if (rehearsal.state !== 'passed') process.exitCode = 1;
      return flags.json ? `${JSON.stringify(rehearsal)}\n` : shown(rehearsal);
    } catch (error) {
      throw error instanceof ApiError ? new CommandError(error.message, failureOf(error.status)) : error;
    }
  });
}

async function rehearse({ shards, clock }: Connected, company: Company, id: string, flags: Flags): Promise<Rehearsal> {
  const { db } = shards.of(company);
  const begun = await beginRehearsal(
    db,
    company,
    id,
    clock.nowMs(),
    flags.currency ? { currency: flags.currency.toLowerCase() } : {},
  );
  await auditOperator(db, company, { action: 'rehearseProcessor', objectId: id, fields: [] });
  let known = begun.steps.length;
  let quietSinceMs = performance.now();
  for (;;) {
    const row = await lastRehearsal(db, company.id, id);
    if (!row || row.state !== 'running') return toWire(row ?? begun);
    if (row.steps.length > known) {
      known = row.steps.length;
      quietSinceMs = performance.now();
    }
    if (!flags.json && process.stderr.isTTY)
      process.stderr.write(`\r${known} of ${stepNames.length}: ${stepNames[known] ?? ''}\u001B[K`);
    if (performance.now() - quietSinceMs > silenceMaxMs) {
      const seconds = Math.round(silenceMaxMs / secondMs);
      throw new CommandError(
        `No step ended for ${seconds} seconds. Is a worker of the service running? The rehearsal goes on when one is; run this command again to see it.`,
      );
    }
    await sleep(pollMs);
  }
}

const marks: Readonly<Record<Rehearsal['steps'][number]['result'], string>> = {
  right: 'right',
  wrong: 'WRONG',
  skipped: '–',
};

function shown({ steps, state }: Rehearsal): string {
  const rows = steps.map(({ step, result, sent, answered, expected }) => [
    marks[result],
    step,
    sent,
    answered,
    expected,
  ]);
  const [headings = '', ...lines] = tableLines(['RESULT', 'STEP', 'SENT', 'ANSWERED', 'EXPECTED'], rows);
  const advised = steps.flatMap(({ step, advice }) => (advice === null ? [] : [`${step}: ${advice}`]));
  const end =
    state === 'passed'
      ? 'The rehearsal passed.'
      : 'The rehearsal failed. See what is wrong, correct it, and run it again.';
  return `${[headings, ...lines, '', ...advised, end].join('\n')}\n`;
}

/** `companies rehearsal`: creates the rehearsal company of an account, with the team of its live company. */
export async function rehearsalCompanyCommand(flags: Flags): Promise<string> {
  return withDatabase(async ({ shards, clock }) => {
    const asking = await chosenCompany(shards, flags.company ?? 'live');
    try {
      const { company } = await openRehearsal(shards, asking, clock.nowMs());
      await auditOperator(shards.of(company).db, company, {
        action: 'openRehearsalCompany',
        objectId: company.id,
        fields: [],
      });
      if (flags.json) return `${JSON.stringify({ id: company.id, name: company.name })}\n`;
      return `The rehearsal company of this account is ${company.id}, ${company.name}.\n`;
    } catch (error) {
      throw error instanceof ApiError ? new CommandError(error.message, failureOf(error.status)) : error;
    }
  });
}
