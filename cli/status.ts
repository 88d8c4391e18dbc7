import { type Backlog, readBacklog, sumOf } from '../server/backlog.ts';
import { missingOperations } from '../server/features/reconciliation/service.ts';
import { currentRestore } from '../server/features/restores/service.ts';
import { backupAgeSeconds } from '../server/platform/backup-age.ts';
import { dayMs, hourMs, minuteMs } from '../server/platform/durations.ts';
import { type StandbyState, standbyState } from '../server/platform/synchronous-standby.ts';
import { countCompanies as companiesOn } from '../server/shards/queries.ts';
import type { RunningProcess } from '../server/start/application-name.ts';
import { version } from '../server/version.ts';
import { type Connected, withDatabase } from './connect.ts';
import { type PartState, readDatabase, readParts, readReplicas, readVault, runningProcesses } from './installation.ts';
import type { Flags } from './options.ts';

/** `status`: shows what runs, what waits, and what is away. */

interface Status {
  readonly version: string;
  readonly processes: readonly RunningProcess[];
  readonly database: { readonly version: string; readonly schema: string };
  readonly shards: readonly {
    readonly name: string;
    readonly companies: number;
    readonly postgres: string;
    readonly schema: string;
    /** Null if writes wait for no standby. */
    readonly standby: { readonly problem: string | null; readonly waiting_writes: number } | null;
    /** Null if the shard has no replica for reads. */
    readonly replica: { readonly problem: string | null; readonly lag_seconds: number | null } | null;
  }[];
  readonly vault: string;
  readonly components: Readonly<Record<string, string>>;
  readonly in_doubt: number;
  readonly oldest_in_doubt_seconds: number;
  readonly waiting: number;
  readonly refused_connections: number;
  readonly renewals: { readonly due: number; readonly overdue: number; readonly oldest_due_seconds: number };
  readonly webhooks: { readonly due: number; readonly oldest_due_seconds: number };
  /** Null without a mail server. */
  readonly mails: { readonly due: number; readonly oldest_unsent_seconds: number } | null;
  readonly clock_skew_ms: { readonly process: number; readonly vault: number | null };
  /** Null if no backup is configured, or none is found. */
  readonly backup_age_seconds: number | null;
  readonly archived_seconds_ago: number | null;
  readonly restored: { readonly noticed_at: Date; readonly noticed_by: string; readonly detail: string } | null;
  readonly missing_operations: number;
}

export async function statusCommand(_words: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async (connected) => {
    const status = await readStatus(connected);
    return flags.json ? `${JSON.stringify(status)}\n` : shown(status, connected);
  });
}

async function readStatus(connected: Connected): Promise<Status> {
  const { shards, clock, config } = connected;
  const [first] = shards.all;
  const databases = shards.all.map(({ db }) => db);
  const backlog = sumOf(await Promise.all(databases.map(readBacklog)));
  const restore = (await Promise.all(databases.map(currentRestore))).find((one) => one !== undefined);
  const { archivedSecondsAgo, ...database } = await readDatabase(first.db);
  const vault = await readVault(connected);
  const ofVault: readonly PartState[] = [
    { component: 'vault', problem: vault.problem },
    { component: 'processor', problem: vault.processorProblem },
  ];
  const parts = [...(vault.isKnown ? ofVault : []), ...(await readParts(connected))];
  const age = config.SVC_BACKUP_PATH ? await backupAgeSeconds(config.SVC_BACKUP_PATH) : undefined;
  return {
    version,
    processes: await runningProcesses(first.db),
    database,
    shards: await shardStates(connected),
    vault: !vault.isKnown ? 'unknown' : vault.problem === undefined ? 'ready' : 'unreachable',
    components: Object.fromEntries(parts.map(({ component, problem }) => [component, problem ?? 'up'])),
    ...queuesOf(backlog, config.SMTP_URL !== undefined),
    clock_skew_ms: { process: clock.skewMs(), vault: vault.nowMs === undefined ? null : vault.nowMs - clock.nowMs() },
    backup_age_seconds: age ?? null,
    archived_seconds_ago: archivedSecondsAgo,
    restored: restore
      ? { noticed_at: restore.noticed_at, noticed_by: restore.noticed_by, detail: restore.detail }
      : null,
    missing_operations: (await Promise.all(databases.map(missingOperations))).reduce((sum, count) => sum + count, 0),
  };
}

async function shardStates(connected: Connected): Promise<Status['shards']> {
  const replicas = await readReplicas(connected);
  const states = connected.shards.all.map(async ({ name, db }) => {
    const { version: postgres, schema } = await readDatabase(db);
    const found = replicas.get(name);
    const replica = found ? { problem: found.problem ?? null, lag_seconds: found.lagSeconds ?? null } : null;
    const standby = standbyShown(await standbyState(db));
    return { name, companies: await companiesOn(db), postgres, schema, standby, replica };
  });
  return Promise.all(states);
}

function standbyShown(state: StandbyState | undefined): Status['shards'][number]['standby'] {
  return state ? { problem: state.problem ?? null, waiting_writes: state.waiting } : null;
}

function replicaText({ problem, lag_seconds: lag }: NonNullable<Status['shards'][number]['replica']>): string {
  if (problem !== null) return `not used: ${problem}`;
  return lag === null ? 'used' : `used, ${lag.toFixed(1)} s behind`;
}

function queuesOf({ transactions, renewals, webhooks, mails, refused }: Backlog, sendsMail: boolean) {
  return {
    in_doubt: transactions.inDoubt,
    oldest_in_doubt_seconds: transactions.oldestInDoubtSeconds,
    waiting: transactions.waiting,
    refused_connections: refused,
    renewals: { due: renewals.due, overdue: renewals.overdue, oldest_due_seconds: renewals.oldestSeconds },
    webhooks: { due: webhooks.due, oldest_due_seconds: webhooks.oldestSeconds },
    mails: sendsMail ? { due: mails.due, oldest_unsent_seconds: mails.oldestSeconds } : null,
  };
}

const ahead = (ms: number): string =>
  `${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms < 0 ? 'behind' : 'ahead of'} the database`;

/** In the largest unit of which there are two. */
function duration(seconds: number): string {
  const ms = seconds * 1_000;
  const [unitMs, unit] = units.find(([size]) => ms >= 2 * size) ?? [1_000, 's'];
  return `${Math.round(ms / unitMs)} ${unit}`;
}

const units: readonly (readonly [ms: number, name: string])[] = [
  [dayMs, 'days'],
  [hourMs, 'h'],
  [minuteMs, 'min'],
];

const queue = (count: number, oldestSeconds: number): string =>
  count > 0 ? `${count}, the oldest for ${duration(oldestSeconds)}` : '0';

function shown(status: Status, { config }: Connected): string {
  const { processes, renewals, webhooks, mails, restored, backup_age_seconds: age } = status;
  const rows: [string, string][] = [
    ['Version', `${status.version} (this command)`],
    ...(processes.length === 0 ? ([['Processes', 'none']] as [string, string][]) : []),
    ...processes.map((one): [string, string] => ['Process', `${one.roles}, version ${one.version}, ${one.process}`]),
    ...(status.shards.length === 1
      ? ([['PostgreSQL', `${status.database.version}, schema ${status.database.schema}`]] as [string, string][])
      : status.shards.map(({ name, companies, postgres, schema }): [string, string] => [
          `Shard ${name}`,
          `PostgreSQL ${postgres}, schema ${schema}, ${companies} companies`,
        ])),
    ...status.shards.flatMap(({ name, standby }): [string, string][] =>
      standby
        ? [[`Standby of ${name}`, standby.problem === null ? 'connected' : `writes wait: ${standby.problem}`]]
        : [],
    ),
    ...status.shards.flatMap(({ name, replica }): [string, string][] =>
      replica ? [[`Replica of ${name}`, replicaText(replica)]] : [],
    ),
    ...Object.entries(status.components).map(([name, state]): [string, string] => [partNames[name] ?? name, state]),
    ['Charges in doubt', queue(status.in_doubt, status.oldest_in_doubt_seconds)],
    ['Charges waiting', `${status.waiting}`],
    ['Refused credentials', refusedText(status.refused_connections)],
    ['Renewals due', queue(renewals.due, renewals.oldest_due_seconds)],
    ['Webhooks due', queue(webhooks.due, webhooks.oldest_due_seconds)],
    ['Emails due', mails ? queue(mails.due, mails.oldest_unsent_seconds) : 'no mail server is set'],
    ['Clock of this machine', ahead(status.clock_skew_ms.process)],
    ['Clock of the vault', status.clock_skew_ms.vault === null ? 'unknown' : ahead(status.clock_skew_ms.vault)],
    ['Last backup', backupText(config.SVC_BACKUP_PATH, age)],
    ...(status.archived_seconds_ago === null
      ? []
      : ([['Last archived log', `${duration(status.archived_seconds_ago)} ago`]] as [string, string][])),
    [
      'Restored from a backup',
      restored
        ? `since ${restored.noticed_at.toISOString()} (${restored.detail}); live subscriptions are not billed until \`svc reconcile\` has run`
        : 'no',
    ],
    ['Missing operations', `${status.missing_operations}`],
  ];
  return `${rows.map(([name, value]) => `${name.padEnd(24)}${value}`).join('\n')}\n`;
}

const partNames: Readonly<Record<string, string>> = {
  vault: 'Vault',
  processor: 'Processors',
  object_store: 'Object store',
  mail: 'Mail server',
};

function refusedText(count: number): string {
  if (count === 0) return '0';
  return `${count} ${count === 1 ? 'connection' : 'connections'}; \`svc doctor\` names them`;
}

function backupText(path: string | undefined, age: number | null): string {
  if (path === undefined) return 'unknown; set SVC_BACKUP_PATH to show its age';
  return age === null ? `none in ${path}` : `${duration(age)} ago`;
}
