import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Comparison,
  type Difference,
  dismissOperation,
  type Missing,
  reconcileAll,
  type Reconciliation,
} from '../server/features/reconciliation/service.ts';
import { currentRestore } from '../server/features/restores/service.ts';
import { isUuid } from '../server/platform/ids.ts';
import { firstShard, type Shards } from '../server/shards/shards.ts';
import { CommandError, UsageError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import { examineShards } from './doctor-shards.ts';
import { withVault } from './open-vault.ts';
import type { Flags } from './options.ts';
import { withProgress } from './progress.ts';

/** `reconcile`: compares our books with those of the processors, and lists or adopts missing operations. */
export async function reconcileCommand(_words: readonly string[], flags: Flags): Promise<string> {
  if (flags.dismiss !== undefined) return dismiss(flags.dismiss, flags);
  const sinceMs = flags.since === undefined ? undefined : Date.parse(flags.since);
  if (sinceMs !== undefined && Number.isNaN(sinceMs)) {
    throw new UsageError('--since must be a date, or a date and time in UTC, for example 2026-02-11T09:30:00Z.');
  }
  const options = { adopt: flags.adopt === true, finish: flags.finish === true, sinceMs };
  return withDatabase(async (connected) => {
    const { shards, clock } = connected;
    await refuseTwice(shards);
    return withVault(connected, async (vault) => {
      const compareAll = (): Promise<Reconciliation> =>
        withProgress('Comparing with the processors', () => reconcileAll(shards.all, { vault, clock }, options));
      let result = await compareAll();
      const opens = opensAtMs(result);
      if (opens !== undefined) {
        await withProgress('Waiting until no request can be in flight', () =>
          sleep(Math.max(0, opens - clock.nowMs())),
        );
        result = await compareAll();
      }
      const isIncomplete = result.comparisons.some(({ failure }) => failure !== undefined);
      if (isIncomplete && !(options.finish && result.gates.length === 0)) process.exitCode = 1;
      return flags.json ? `${JSON.stringify(shownOf(result))}\n` : text(result, options.adopt);
    });
  });
}

/** When the list can be taken again, if that is all that the gates wait for. */
function opensAtMs({ gates }: Reconciliation): number | undefined {
  const again = gates.filter(({ waits_for }) => waits_for === 'second_list');
  if (again.length === 0) return undefined;
  return Math.max(...again.map(({ next_compare_at }) => next_compare_at.getTime()));
}

/** After a restore, a company that has moved since can be on two shards. Both would bill its subscriptions. */
async function refuseTwice(shards: Shards): Promise<void> {
  if (shards.all.length === 1) return;
  const isRestored = await Promise.all(shards.all.map(async ({ db }) => (await currentRestore(db)) !== undefined));
  if (!isRestored.includes(true)) return;
  const twice = (await examineShards(shards)).find(({ check }) => check === 'company_on_two_shards');
  if (!twice) return;
  throw new CommandError(
    `${twice.count} companies are on two shards (${twice.examples.join(', ')}), so billing stays paused. If the shard that was restored is not "${firstShard}", run \`svc restored --shard NAME\` for it. Otherwise see "Restore a shard" in docs/scaling.md.`,
  );
}

async function dismiss(reference: string, flags: Flags): Promise<string> {
  const isKnown = isUuid(reference) && (await withDatabase(({ shards }) => dismissAnywhere(shards, reference)));
  if (!isKnown)
    throw new CommandError(
      `No missing operation has the reference ${reference}. \`svc reconcile\` lists the missing operations.`,
    );
  return flags.json
    ? `${JSON.stringify({ dismissed: reference })}\n`
    : `The operation ${reference} is no longer listed.\n`;
}

async function dismissAnywhere({ all }: Shards, reference: string): Promise<boolean> {
  for (const { db } of all) if (await dismissOperation(db, reference)) return true;
  return false;
}

const sum = (comparisons: readonly Comparison[], count: (one: Comparison) => number): number =>
  comparisons.reduce((total, one) => total + count(one), 0);

function operationOf(operation: Missing['operation']): object {
  const { kind, reference, amount, currency, last4, approved, transactionId, executedAtMs } = operation;
  return {
    kind,
    reference,
    amount,
    currency,
    card_last_four: last4,
    approved,
    processor_transaction_id: transactionId,
    executed_at: new Date(executedAtMs).toISOString(),
  };
}

function shownOf({ closedAt, comparisons, finished, gates }: Reconciliation): object {
  return {
    restored_at: closedAt ?? null,
    finished,
    waiting: gates.map(({ company_id, waits_for, failure }) => ({ company_id, waits_for, failure })),
    companies: comparisons.map(({ company, compared, missing, differences, missingDeclines, failure }) => ({
      company_id: company.id,
      name: company.name,
      compared,
      failure: failure ?? null,
      missing_declines: missingDeclines,
      missing: missing.map(({ operation, order_id, subscription_id, subscription_cycle, state }) => ({
        ...operationOf(operation),
        order_id,
        subscription_id,
        subscription_cycle,
        state,
      })),
      differences: differences.map(({ operation, booked, state }) => ({
        ...operationOf(operation),
        order_id: booked.order_id,
        booked: { status: booked.status, amount: booked.amount, currency: booked.currency },
        state,
      })),
    })),
  };
}

const money = (amount: number | null, currency: string | null): string => `${amount ?? '?'} ${currency ?? ''}`.trim();

const becomes: Readonly<Record<Missing['state'], string>> = {
  adopted: 'adopted; the running service records its outcome',
  adoptable: 'run again with --adopt to record it',
  billing: 'recorded the next time the subscription is billed',
  listed:
    'recorded when the client repeats its idempotency key; otherwise refund it at the processor and run with --dismiss',
};

function missingLine({ operation, order_id, subscription_id, subscription_cycle, state }: Missing): string {
  const { kind, amount, currency, last4, transactionId, executedAtMs, reference } = operation;
  const of = subscription_id
    ? `, subscription ${subscription_id}, cycle ${subscription_cycle}`
    : order_id
      ? `, order ${order_id}`
      : '';
  const card = last4 ? ` on ${last4}` : '';
  const at = new Date(executedAtMs).toISOString();
  return `  ${at}  ${kind} of ${money(amount, currency)}${card}, ${transactionId}, reference ${reference}${of}: ${becomes[state]}`;
}

const differs: Readonly<Record<Difference['state'], string>> = {
  held: 'in doubt, because another card has already paid for this cycle; run again with --adopt to record it',
  adopted: 'adopted; it is recorded with the card that paid',
  elsewhere:
    'our records have this charge at another connection, so the customer may have paid twice; if both charges stand, refund this one at its processor',
  differs: 'our records and the processor differ',
};

function differenceLine({ operation, booked, state }: Difference): string {
  const theirs = `${operation.approved ? 'approved' : 'declined'} ${money(operation.amount, operation.currency)}`;
  const ours = `${booked.status} ${money(booked.amount, booked.currency)}`;
  return `  ${operation.kind} ${operation.transactionId} of order ${booked.order_id}: processor ${theirs}, our records ${ours}; ${differs[state]}`;
}

function companyLines({ company, compared, missing, differences, missingDeclines, failure }: Comparison): string[] {
  const head = `${company.name} (${company.id}): ${compared} operations compared, ${missing.length} missing, ${differences.length} different`;
  return [
    head,
    ...(failure === undefined ? [] : [`  comparison incomplete: ${failure}`]),
    ...missing.map(missingLine),
    ...differences.map(differenceLine),
    ...(missingDeclines > 0 ? [`  also missing: ${missingDeclines} declined operations, which moved no money`] : []),
  ];
}

function text({ closedAt, comparisons, finished, gates }: Reconciliation, adopt: boolean): string {
  const count = sum(comparisons, ({ missing }) => missing.length);
  const end = finished
    ? 'Charges and renewals of all companies are open.'
    : gates.length > 0
      ? `${gates.length} of ${comparisons.length} companies are still closed:\n${gates.map(gateLine).join('\n')}\nRun the command again, or with --finish to open them anyway.`
      : closedAt
        ? 'Charges and renewals of all companies are open.'
        : 'No company was closed after a restore.';
  const missing = count === 1 ? '1 operation is' : `${count} operations are`;
  const adopted = adopt && count > 0 ? ' The running service records the adopted operations.' : '';
  return `${[...comparisons.flatMap(companyLines), '', `${missing} missing in our records.${adopted}`, end].join('\n')}\n`;
}

const waits: Readonly<Record<Reconciliation['gates'][number]['waits_for'], string>> = {
  comparison: 'the comparison',
  second_list: 'requests that may still be in flight',
  processor: 'a processor that does not answer',
  connection: 'a processor that was connected after the backup: connect it again',
  operator: 'you: a processor cannot list what it executed. Compare its report, then use --finish',
};

const gateLine = ({ company_id, waits_for }: Reconciliation['gates'][number]): string =>
  `  ${company_id} waits for ${waits[waits_for]}`;
