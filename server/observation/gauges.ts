import { type Backlog, readBacklog, sumOf } from './backlog.ts';
import { type GateWait, gateWaits } from '../features/restores/service.ts';
import type { Operations } from '../http/operations.ts';
import type { AdmissionControl } from '../platform/admission-control.ts';
import { backupAgeSeconds } from '../platform/backup-age.ts';
import type { ClockWatch } from '../platform/clock-watch.ts';
import type { Components } from '../platform/components.ts';
import type { DatabasePool } from '../platform/database.ts';
import { inTime } from '../platform/in-time.ts';
import type { Sample } from '../platform/metrics.ts';
import type { Replica } from '../platform/replica.ts';
import type { StandbyWatch } from '../platform/synchronous-standby.ts';
import { version } from '../version.ts';

/** Reads the gauges of a process when `/metrics` is read. */

export type PoolName = 'requests' | 'money' | 'webhooks' | 'vault' | 'replica';

export interface ObservedShard {
  readonly name: string;
  readonly db: Pick<DatabasePool, 'query'>;
  readonly replica?: Pick<Replica, 'state'> | undefined;
  readonly standby: StandbyWatch;
  /** A shard that rests has nothing to do, and is not asked. */
  isUsed(): boolean;
  isUp(deadlineMs: number): Promise<boolean>;
}

export interface GaugeSources {
  readonly roles: readonly string[];
  readonly pools: readonly { readonly name: PoolName; readonly pool: Pick<DatabasePool, 'stats'> }[];
  readonly components: Pick<Components, 'used' | 'states'>;
  /** What only a process with the API or the worker has. */
  readonly serving?: {
    readonly shards: readonly ObservedShard[];
    readonly clocks: Pick<ClockWatch, 'skews'>;
    readonly restores: { isRestored(): boolean; waiting(): Readonly<Partial<Record<GateWait, number>>> };
    readonly connections: { broken(): readonly string[] };
    readonly sendsMail: boolean;
    readonly backupPath: string | undefined;
  };
  readonly admission?: Pick<AdmissionControl, 'stats'>;
}

export async function readGauges(sources: GaugeSources): Promise<Sample[]> {
  const { roles, pools, components, serving, admission } = sources;
  // A database that does not answer must not hold back the other metrics.
  const used = serving?.shards.filter((shard) => shard.isUsed()) ?? [];
  const [backlog, backupAge] = await Promise.all([
    readBacklogs(used),
    serving?.backupPath ? backupAgeSeconds(serving.backupPath) : undefined,
    components.used(),
  ]);
  return [
    { name: 'svc_build_info', value: 1, labels: { version, node: process.version, roles: roles.join(',') } },
    ...[...components.states()].map(
      ([component, problem]): Sample => ({
        name: 'svc_component_up',
        value: problem === undefined ? 1 : 0,
        labels: { component },
      }),
    ),
    ...[...Map.groupBy(pools, ({ name }) => name)].flatMap(([name, ofName]) => poolSamples(name, ofName)),
    ...(serving ? await shardSamples(serving.shards) : []),
    ...(await standbySamples(used)),
    ...(await replicaSamples(used)),
    ...(serving ? stateSamples(serving) : []),
    ...(backlog ? backlogSamples(backlog, serving?.sendsMail === true) : []),
    ...(backupAge === undefined ? [] : [{ name: 'svc_backup_age_seconds', value: backupAge } as const]),
    ...(admission ? admissionSamples(admission) : []),
  ];
}

const pingMs = 1_000;

/** Whether each shard responds. */
async function shardStates(shards: readonly ObservedShard[]): Promise<Readonly<Record<string, boolean>>> {
  const states = shards.map(async (shard) => [shard.name, await shard.isUp(pingMs)] as const);
  return Object.fromEntries(await Promise.all(states));
}

/** For `/readyz`, which shows the shards only if there are several. */
export function shardsToShow({ serving }: GaugeSources): Pick<Operations, 'shards' | 'blocked'> {
  const { shards = [] } = serving ?? {};
  return { blocked: () => blockedShards(shards), ...(shards.length > 1 && { shards: () => shardStates(shards) }) };
}

async function shardSamples(shards: readonly ObservedShard[]): Promise<Sample[]> {
  return Object.entries(await shardStates(shards)).map(([shard, isUp]) => ({
    name: 'svc_shard_up',
    value: isUp ? 1 : 0,
    labels: { shard },
  }));
}

/** The shards whose writes wait for a synchronous standby. */
async function blockedShards(shards: readonly ObservedShard[]): Promise<readonly string[]> {
  const used = shards.filter((shard) => shard.isUsed());
  const names = used.map(async ({ name, standby }) => ((await standby.state())?.problem === undefined ? [] : [name]));
  return (await Promise.all(names)).flat();
}

async function standbySamples(shards: readonly ObservedShard[]): Promise<Sample[]> {
  const samples = shards.map(async ({ name: shard, standby }): Promise<Sample> => {
    const isBlocked = (await standby.state())?.problem !== undefined;
    return { name: 'svc_shard_writes_blocked', value: isBlocked ? 1 : 0, labels: { shard } };
  });
  return Promise.all(samples);
}

async function replicaSamples(shards: readonly ObservedShard[]): Promise<Sample[]> {
  const samples = shards.map(async ({ name: shard, replica }): Promise<Sample[]> => {
    if (!replica) return [];
    const { problem, lagSeconds } = await replica.state();
    return [
      { name: 'svc_replica_up', value: problem === undefined ? 1 : 0, labels: { shard } },
      ...(lagSeconds === undefined
        ? []
        : [{ name: 'svc_replica_lag_seconds', value: lagSeconds, labels: { shard } } as const]),
    ];
  });
  return (await Promise.all(samples)).flat();
}

/** A shard that hangs must not hold back the metrics of the others beyond the patience of Prometheus. */
const backlogMs = 2_000;

/** The sum over the shards that respond; undefined if none does. */
async function readBacklogs(shards: readonly ObservedShard[]): Promise<Backlog | undefined> {
  const read = await Promise.all(
    shards.map(({ db }) =>
      inTime(
        readBacklog(db).catch(() => undefined),
        backlogMs,
        undefined,
      ),
    ),
  );
  const found = read.filter((one) => one !== undefined);
  return found.length === 0 ? undefined : sumOf(found);
}

/** The pools of the same name, one on each shard. */
function poolSamples(pool: PoolName, pools: GaugeSources['pools']): Sample[] {
  const sum = { total: 0, idle: 0, waiting: 0, max: 0 };
  for (const stats of pools.map((one) => one.pool.stats())) {
    sum.total += stats.total;
    sum.idle += stats.idle;
    sum.waiting += stats.waiting;
    sum.max += stats.max;
  }
  const { total, idle, waiting, max } = sum;
  return [
    { name: 'svc_database_connections', value: total - idle, labels: { pool, state: 'active' } },
    { name: 'svc_database_connections', value: idle, labels: { pool, state: 'idle' } },
    { name: 'svc_database_connections_max', value: max, labels: { pool } },
    { name: 'svc_database_waiting', value: waiting, labels: { pool } },
  ];
}

function stateSamples({ clocks, restores, connections }: NonNullable<GaugeSources['serving']>): Sample[] {
  const { databaseMs, vaultMs } = clocks.skews();
  return [
    { name: 'svc_clock_skew_seconds', value: databaseMs / 1_000, labels: { of: 'process' } },
    ...(vaultMs === undefined
      ? []
      : [{ name: 'svc_clock_skew_seconds', value: vaultMs / 1_000, labels: { of: 'vault' } } as const]),
    { name: 'svc_restored', value: restores.isRestored() ? 1 : 0 },
    ...gateWaits.map(
      (waits_for): Sample => ({
        name: 'svc_companies_closed',
        value: restores.waiting()[waits_for] ?? 0,
        labels: { waits_for },
      }),
    ),
    { name: 'svc_processor_connections_broken', value: connections.broken().length },
  ];
}

function backlogSamples(backlog: Backlog, sendsMail: boolean): Sample[] {
  const { transactions, authorizations, renewals, webhooks, mails, connections } = backlog;
  return [
    { name: 'svc_transactions_in_doubt', value: transactions.inDoubt },
    { name: 'svc_transactions_in_doubt_oldest_seconds', value: transactions.oldestInDoubtSeconds },
    { name: 'svc_transactions_waiting', value: transactions.waiting },
    ...(['standing', 'ending', 'ended'] as const).map(
      (state): Sample => ({ name: 'svc_authorizations', labels: { state }, value: authorizations[state] }),
    ),
    { name: 'svc_processor_connections_refused', value: connections.refused },
    { name: 'svc_processor_connections_rejected', value: connections.rejected },
    { name: 'svc_renewals_due', value: renewals.due },
    { name: 'svc_renewals_overdue', value: renewals.overdue },
    { name: 'svc_renewals_oldest_due_seconds', value: renewals.oldestSeconds },
    { name: 'svc_webhook_deliveries_due', value: webhooks.due },
    { name: 'svc_webhook_oldest_due_seconds', value: webhooks.oldestSeconds },
    // Without a mail server, mails are only stored.
    ...(sendsMail
      ? ([
          { name: 'svc_mails_due', value: mails.due },
          { name: 'svc_mails_oldest_unsent_seconds', value: mails.oldestSeconds },
        ] as const)
      : []),
  ];
}

function admissionSamples(admission: Pick<AdmissionControl, 'stats'>): Sample[] {
  const { running, waiting, limit } = admission.stats();
  return [
    { name: 'svc_http_admission_running', value: running },
    { name: 'svc_http_admission_waiting', value: waiting },
    { name: 'svc_http_admission_limit', value: limit },
  ];
}
