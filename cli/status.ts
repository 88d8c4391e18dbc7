import { type Backlog, readBacklog, sumOf } from '../server/observation/backlog.ts';
import { missingOperations } from '../server/features/reconciliation/service.ts';
import { currentRestore, gates, type GateWait } from '../server/features/restores/service.ts';
import type { Config } from '../server/config.ts';
import { backupAgeSeconds } from '../server/platform/backup-age.ts';
import { isAway } from '../server/platform/database.ts';
import { openDatabaseClock } from '../server/platform/database-clock.ts';
import { readKeys } from '../server/platform/key-ring.ts';
import { loadMasterSecrets } from '../server/platform/master-secret.ts';
import { dayMs, hourMs, minuteMs } from '../server/platform/durations.ts';
import { type StandbyState, standbyState } from '../server/platform/synchronous-standby.ts';
import { countCompanies as companiesOn } from '../server/shards/queries.ts';
import { firstShard, type ShardDatabase } from '../server/shards/shards.ts';
import type { RunningProcess } from '../server/start/application-name.ts';
import { version } from '../server/version.ts';
import { CommandError } from './command-error.ts';
import { type Reached, tryEachShard, withReachable } from './connect.ts';
import {
  type PartState,
  readDatabase,
  readParts,
  readReplicas,
  readVault,
  runningProcesses,
  type VaultState,
} from './installation.ts';
import type { Flags } from './options.ts';

/** `status`: shows what runs, what waits, and what is away. */

interface Status {
  readonly version: string;
  readonly processes: readonly RunningProcess[];
  /** Null if the first shard is away. */
  readonly database: { readonly version: string; readonly schema: string } | null;
  readonly shards: readonly {
    readonly name: string;
    /** Why the shard cannot be used; the figures are then without it. */
    readonly problem: string | null;
    readonly companies: number | null;
    readonly postgres: string | null;
    readonly schema: string | null;
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
  readonly rejected_connections: number;
  readonly renewals: { readonly due: number; readonly overdue: number; readonly oldest_due_seconds: number };
  readonly webhooks: { readonly due: number; readonly oldest_due_seconds: number };
  /** Null without a mail server. */
  readonly mails: { readonly due: number; readonly oldest_unsent_seconds: number } | null;
  readonly clock_skew_ms: { readonly process: number; readonly vault: number | null };
  /** Null if no backup is configured, or none is found. */
  readonly backup_age_seconds: number | null;
  readonly archived_seconds_ago: number | null;
  readonly restored: { readonly noticed_at: Date; readonly noticed_by: string; readonly detail: string } | null;
  /** The companies that are closed after a restore, or whose renewals wait. */
  readonly closed_companies: readonly {
    readonly company_id: string;
    readonly waits_for: GateWait;
    readonly failure: string | null;
  }[];
  readonly missing_operations: number;
}

export async function statusCommand(_words: readonly string[], flags: Flags): Promise<string> {
  return withReachable(async (reached) => {
    const status = await readStatus(reached);
    if (status.shards.some(({ problem }) => problem !== null)) process.exitCode = 1;
    return flags.json ? `${JSON.stringify(status)}\n` : shown(status, reached.config, flags['all-shards'] ?? false);
  });
}

async function readStatus(reached: Reached): Promise<Status> {
  const { config, all, shards } = reached;
  // Fails if the master secret is not that of this database.
  if (shards) await readKeys(shards.control, await loadMasterSecrets(config));
  const { found, states } = await readShards(reached);
  const [first] = all;
  const closed = found.flatMap((one) => one.closed);
  const restore = restoreOf(found);
  const clock = await openDatabaseClock(first.db, () => undefined);
  clock.stop();
  // The keys of the vault are found with the control plane.
  const vault = shards ? await readVault({ config, shards }) : unknownVault;
  const ofVault: readonly PartState[] = [
    { component: 'vault', problem: vault.problem },
    { component: 'processor', problem: vault.processorProblem },
  ];
  const parts = [...(vault.isKnown ? ofVault : []), ...(await readParts({ config }))];
  const age = config.SVC_BACKUP_PATH ? await backupAgeSeconds(config.SVC_BACKUP_PATH) : undefined;
  const control = found.find(({ name }) => name === firstShard)?.database;
  return {
    version,
    processes: await runningProcesses(first.db),
    database: control ? { version: control.version, schema: control.schema } : null,
    shards: states,
    vault: !vault.isKnown ? 'unknown' : vault.problem === undefined ? 'ready' : 'unreachable',
    components: Object.fromEntries(parts.map(({ component, problem }) => [component, problem ?? 'up'])),
    ...queuesOf(sumOf(found.map(({ backlog }) => backlog)), config.SMTP_URL !== undefined),
    clock_skew_ms: { process: clock.skewMs(), vault: vault.nowMs === undefined ? null : vault.nowMs - clock.nowMs() },
    backup_age_seconds: age ?? null,
    archived_seconds_ago: control?.archivedSecondsAgo ?? null,
    restored: restore ?? null,
    closed_companies: closed.map(({ company_id, waits_for, failure }) => ({ company_id, waits_for, failure })),
    missing_operations: found.reduce((sum, { missing }) => sum + missing, 0),
  };
}

/** A restore of a shard, or the first company that was found to be older than its processor. */
function restoreOf(found: readonly Found[]): Status['restored'] | undefined {
  const restore = found.find((one) => one.restore !== undefined)?.restore;
  if (restore) return { noticed_at: restore.noticed_at, noticed_by: restore.noticed_by, detail: restore.detail };
  const [gate] = found.flatMap(({ closed }) => closed);
  return gate && { noticed_at: gate.closed_at, noticed_by: gate.noticed_by, detail: gate.detail };
}

const unknownVault: VaultState = { isKnown: false, problem: undefined, processorProblem: undefined, nowMs: undefined };

type Found = Awaited<ReturnType<typeof readShard>>;

/** Every shard in the order of the settings. One that stops responding meanwhile is shown like one that is away. */
async function readShards({ config, all, away }: Reached): Promise<{ found: Found[]; states: Status['shards'] }> {
  const replicas = await readReplicas(config, all);
  const found: Found[] = [];
  const problems = new Map(away);
  for (const [index, result] of (await tryEachShard(all, readShard)).entries()) {
    if (result.status === 'fulfilled') found.push(result.value);
    else if (result.reason instanceof Error && isAway(result.reason))
      problems.set(all[index]?.name ?? '', result.reason.message);
    else throw result.reason;
  }
  if (found.length === 0) throw new CommandError([...problems.values()].join('\n'));
  const states = [firstShard, ...config.SVC_SHARDS.keys()].map((name) => {
    const replica = replicas.get(name);
    const one = found.find((each) => each.name === name);
    return {
      name,
      problem: problems.get(name) ?? null,
      companies: one?.companies ?? null,
      postgres: one?.database.version ?? null,
      schema: one?.database.schema ?? null,
      standby: standbyShown(one?.standby),
      replica: replica ? { problem: replica.problem ?? null, lag_seconds: replica.lagSeconds ?? null } : null,
    };
  });
  return { found, states };
}

async function readShard({ name, db }: ShardDatabase) {
  return {
    name,
    companies: await companiesOn(db),
    database: await readDatabase(db),
    standby: await standbyState(db),
    backlog: await readBacklog(db),
    restore: await currentRestore(db),
    closed: await gates.closed(db),
    missing: await missingOperations(db),
  };
}

function standbyShown(state: StandbyState | undefined): Status['shards'][number]['standby'] {
  return state ? { problem: state.problem ?? null, waiting_writes: state.waiting } : null;
}

function shardText({ problem, companies, postgres, schema }: Status['shards'][number]): string {
  if (problem !== null) return `unreachable, so it is missing in the figures below. ${problem}`;
  return `PostgreSQL ${postgres}, schema ${schema}, ${companies} companies`;
}

function replicaText({ problem, lag_seconds: lag }: NonNullable<Status['shards'][number]['replica']>): string {
  if (problem !== null) return `not used: ${problem}`;
  return lag === null ? 'used' : `used, ${lag.toFixed(1)} s behind`;
}

function queuesOf({ transactions, renewals, webhooks, mails, connections }: Backlog, sendsMail: boolean) {
  return {
    in_doubt: transactions.inDoubt,
    oldest_in_doubt_seconds: transactions.oldestInDoubtSeconds,
    waiting: transactions.waiting,
    refused_connections: connections.refused,
    rejected_connections: connections.rejected,
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

/** More shards than this are counted, and only those that need attention are named. */
const namedMax = 10;

function shardRows({ shards, database }: Status, isEach: boolean): [string, string][] {
  if (shards.length === 1 && database) return [['PostgreSQL', `${database.version}, schema ${database.schema}`]];
  const isNamed = isEach || shards.length <= namedMax;
  const listed = isNamed ? shards : shards.filter(({ problem }) => problem !== null);
  const rows = listed.map((shard): [string, string] => [`Shard ${shard.name}`, shardText(shard)]);
  return isNamed ? rows : [['Shards', summaryOf(shards)], ...rows];
}

function summaryOf(shards: Status['shards']): string {
  const used = shards.filter(({ problem }) => problem === null);
  const versions = [...new Set(used.map(({ postgres, schema }) => `PostgreSQL ${postgres}, schema ${schema}`))];
  const companies = used.reduce((sum, shard) => sum + (shard.companies ?? 0), 0);
  const away = shards.length - used.length;
  return `${shards.length}${away > 0 ? `, of which ${away} cannot be used` : ''}, with ${companies} companies; ${versions.join('; ')}`;
}

/** The standbys and replicas: all of a few shards, and of many those that need attention. */
function serverRows({ shards }: Status, isEach: boolean): [string, string][] {
  const isNamed = isEach || shards.length <= namedMax;
  const standbys = shards.flatMap(({ name, standby }): [string, string][] => {
    if (!standby || (!isNamed && standby.problem === null)) return [];
    return [[`Standby of ${name}`, standby.problem === null ? 'connected' : `writes wait: ${standby.problem}`]];
  });
  const replicas = shards.flatMap(({ name, replica }): [string, string][] => {
    if (!replica || (!isNamed && replica.problem === null)) return [];
    return [[`Replica of ${name}`, replicaText(replica)]];
  });
  return [...standbys, ...replicas];
}

function shown(status: Status, config: Config, isEach: boolean): string {
  const { processes, renewals, webhooks, mails, restored, backup_age_seconds: age } = status;
  const rows: [string, string][] = [
    ['Version', `${status.version} (this command)`],
    ...(processes.length === 0 ? ([['Processes', 'none']] as [string, string][]) : []),
    ...processes.map((one): [string, string] => ['Process', `${one.roles}, version ${one.version}, ${one.process}`]),
    ...shardRows(status, isEach),
    ...serverRows(status, isEach),
    ...Object.entries(status.components).map(([name, state]): [string, string] => [partNames[name] ?? name, state]),
    ['Charges in doubt', queue(status.in_doubt, status.oldest_in_doubt_seconds)],
    ['Charges waiting', `${status.waiting}`],
    ['Refused credentials', refusedText(status.refused_connections)],
    ['Rejected accounts', refusedText(status.rejected_connections)],
    ['Renewals due', queue(renewals.due, renewals.oldest_due_seconds)],
    ['Webhooks due', queue(webhooks.due, webhooks.oldest_due_seconds)],
    ['Emails due', mails ? queue(mails.due, mails.oldest_unsent_seconds) : 'no mail server is set'],
    ['Clock of this machine', ahead(status.clock_skew_ms.process)],
    ['Clock of the vault', status.clock_skew_ms.vault === null ? 'unknown' : ahead(status.clock_skew_ms.vault)],
    ['Last backup', backupText(config.SVC_BACKUP_PATH, age)],
    ...(status.archived_seconds_ago === null
      ? []
      : ([['Last archived log', `${duration(status.archived_seconds_ago)} ago`]] as [string, string][])),
    ['Restored from a backup', restored ? `since ${restored.noticed_at.toISOString()} (${restored.detail})` : 'no'],
    ['Closed companies', closedText(status.closed_companies)],
    ['Missing operations', `${status.missing_operations}`],
  ];
  return `${rows.map(([name, value]) => `${name.padEnd(24)}${value}`).join('\n')}\n`;
}

/** The failures of the first few; `--json` has them all. */
function closedText(closed: Status['closed_companies']): string {
  if (closed.length === 0) return '0';
  const counts = [...Map.groupBy(closed, ({ waits_for }) => waits_for)].map(
    ([what, some]) => `${some.length} for ${waitNames[what]}`,
  );
  const failures = closed.flatMap(({ company_id, failure }) => (failure === null ? [] : `${company_id}: ${failure}`));
  return [`${closed.length}; they wait: ${counts.join(', ')}`, ...failures.slice(0, 3)].join('\n'.padEnd(25));
}

const waitNames: Readonly<Record<GateWait, string>> = {
  comparison: 'the comparison',
  second_list: 'the second list of the comparison',
  processor: 'a processor that does not answer',
  connection: 'a connection that was made after the backup',
  operator: '`svc reconcile --finish`',
};

const partNames: Readonly<Record<string, string>> = {
  vault: 'Vault',
  processor: 'Processors',
  object_store: 'Object store',
  mail: 'Mail server',
  rate_limit_store: 'Rate limit store',
};

function refusedText(count: number): string {
  if (count === 0) return '0';
  return `${count} ${count === 1 ? 'connection' : 'connections'}; \`svc doctor\` names them`;
}

function backupText(path: string | undefined, age: number | null): string {
  if (path === undefined) return 'unknown; set SVC_BACKUP_PATH to show its age';
  return age === null ? `none in ${path}` : `${duration(age)} ago`;
}
