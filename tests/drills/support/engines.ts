import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrate } from '../../../server/platform/migrations.ts';
import { freePorts } from '../../chaos/chaos.ts';
import { type Supervised, supervise } from '../../chaos/supervised.ts';
import type { Random } from '../../support/seeded-random.ts';
import type { DrillStage } from '../drill.ts';
import { mountDisk } from './disk.ts';
import { type Etcd, startEtcd } from './etcd.ts';
import { type Network, openNetwork } from './network.ts';
import { type PatroniCluster, patroniPrograms, startPatroniCluster } from './patroni.ts';
import { openPgbouncer } from './pgbouncer.ts';
import { until } from './probes.ts';
import { type Sentinels, startSentinels } from './sentinel.ts';
import type { Server } from './servers.ts';

/**
 * The service on the programs that people run: each shard is a Patroni cluster of three servers behind HAProxy and
 * PgBouncer, etcd elects the primaries, Redis with Sentinels counts the rate limits. Two processes of each role.
 */

export interface EngineShard {
  readonly name: string;
  readonly cluster: PatroniCluster;
  readonly pooler: Server;
  /** The address of the service. */
  readonly poolerUrl: string;
}

export interface Engines {
  readonly network: Network;
  readonly etcd: Etcd;
  readonly redis: Sentinels;
  readonly shards: readonly EngineShard[];
  /** Whether the disks of the servers can be filled. */
  readonly hasDisks: boolean;
  /** The settings of the processes. */
  readonly environment: Readonly<Record<string, string>>;
  readonly apiUrls: readonly string[];
  /** Where each process says whether it is ready. */
  readonly healthUrls: readonly string[];
  /** Where processes show their metrics. */
  readonly metricsUrls: readonly string[];
  readonly processes: readonly Supervised[];
}

export const enginePrograms = [...patroniPrograms, 'pgbouncer', 'redis-server', 'nsenter'];

/** The recommendation of docs/scaling.md, beside that of docs/self-hosting.md. */
export const recommendedPatroni = {
  failsafe_mode: true,
  primary_start_timeout: 0,
  ignore_slots: [{ type: 'logical', plugin: 'pgoutput' }],
  postgresql: { remove_data_directory_on_rewind_failure: true },
};
export const recommendedParameters = {
  wal_level: 'logical',
  max_connections: 200,
  max_slot_wal_keep_size: '10GB',
  wal_keep_size: '256MB',
  tcp_keepalives_idle: 30,
  tcp_keepalives_interval: 10,
  tcp_keepalives_count: 3,
};
/** Small, for a machine that runs all of it. */
const smallParameters = {
  shared_buffers: '32MB',
  max_wal_size: '96MB',
  checkpoint_timeout: '1min',
};
const diskMegabytes = 1_024;
const shardNames = ['a', 'b'] as const;
const certificates = fileURLToPath(new URL('../../support/certificates/ca.pem', import.meta.url));

export async function startEngines(
  stage: DrillStage,
  random: Random,
  settings: Readonly<Record<string, string>>,
): Promise<Engines> {
  const { folder, note, cleanUp } = stage;
  const ports = await freePorts(random, 34);
  const take = (count: number): number[] => ports.splice(0, count);
  const network = openNetwork(stage, shardNames);
  const { address } = network.here;
  const etcd = await startEtcd({ folder, address, ports: [take(2), take(2), take(2)] as [number, number][], cleanUp });
  const disks = new Set<boolean>();
  const [redis, ...shards] = await Promise.all([
    startSentinels({ folder, ports: take(6), cleanUp }),
    ...shardNames.map((name) =>
      startShard(stage, { name, network, etcd, ports: take(8), onDisk: (isOwn) => disks.add(isOwn) }),
    ),
  ]);
  const hasDisks = !disks.has(false);
  if (!hasDisks) note('no rights to mount a file system, so no disk is filled');
  note('two Patroni clusters, etcd, HAProxy, PgBouncer, Redis and Sentinels run');
  const [first, second] = shards as [EngineShard, EngineShard];
  const [api1 = 0, api2 = 0, ...others] = take(6);
  const apiUrls = [api1, api2].map((port) => `http://127.0.0.1:${port}`);
  const [vault1 = 0, vault2 = 0, health1 = 0, health2 = 0] = others;
  const dataDir = join(folder, 'service');
  await mkdir(dataDir, { mode: 0o700 });
  const environment = {
    DATABASE_URL: first.poolerUrl,
    SVC_SHARDS: `${second.name}=${second.poolerUrl}`,
    REDIS_URL: redis.url,
    SVC_REDIS_SENTINELS: redis.sentinels,
    SVC_MASTER_SECRET: 'the master secret of a drill of engines',
    SVC_DATA_DIR: dataDir,
    SVC_BASE_URL: apiUrls[0] ?? '',
    SVC_VAULT_URL: [vault1, vault2].map((port) => `http://127.0.0.1:${port}`).join(),
    SVC_VAULT_TOKEN: 'the token of the vault in a drill of engines',
    SVC_LOG_LEVEL: 'warn',
    SVC_WEBHOOK_ALLOW: '127.0.0.0/8',
    SVC_WEBHOOK_CA: certificates,
    ...settings,
  };
  await Promise.all(shards.map(({ poolerUrl }) => migrate(poolerUrl)));
  const start = async (name: string, more: Readonly<Record<string, string>>): Promise<Supervised> => {
    const process = supervise(name, { ...environment, ...more }, join(folder, `${name}.log`));
    cleanUp(() => process.stop());
    await process.waitUntilReady();
    return process;
  };
  const vaultOf = (port: number): Record<string, string> => ({
    SVC_ROLES: 'vault',
    SVC_VAULT_PORT: String(port),
    SVC_VAULT_DATABASE_URL: first.poolerUrl,
  });
  const workerOf = (port: number): Record<string, string> => ({ SVC_ROLES: 'worker', SVC_HEALTH_PORT: String(port) });
  const processes = [
    // The first ones create what the others find.
    await start('vault-1', vaultOf(vault1)),
    await start('api-1', { SVC_ROLES: 'api', PORT: String(api1) }),
    ...(await Promise.all([
      start('vault-2', vaultOf(vault2)),
      start('api-2', { SVC_ROLES: 'api', PORT: String(api2) }),
      start('worker-1', workerOf(health1)),
      start('worker-2', workerOf(health2)),
    ])),
  ];
  note('two APIs, two workers and two vaults run');
  const metricsUrls = [...apiUrls, ...[health1, health2].map((port) => `http://127.0.0.1:${port}`)];
  const healthUrls = [...metricsUrls, ...[vault1, vault2].map((port) => `http://127.0.0.1:${port}`)];
  return { network, etcd, redis, shards, hasDisks, environment, apiUrls, healthUrls, metricsUrls, processes };
}

interface ShardPlan {
  readonly name: string;
  readonly network: Network;
  readonly etcd: Etcd;
  /** Of HAProxy, PgBouncer and three members. */
  readonly ports: readonly number[];
  readonly onDisk: (isOwn: boolean) => void;
}

async function startShard(stage: DrillStage, { name, network, etcd, ports, onDisk }: ShardPlan): Promise<EngineShard> {
  const [proxyPort = 0, poolerPort = 0, ...ofMembers] = ports;
  const cluster = await startPatroniCluster(stage, {
    name: `shard-${name}`,
    place: network.place(name),
    proxy: { address: network.here.address, port: proxyPort },
    etcd,
    members: [0, 2, 4].map((index) => ({ postgres: ofMembers[index] ?? 0, rest: ofMembers[index + 1] ?? 0 })),
    settings: recommendedPatroni,
    parameters: { ...recommendedParameters, ...smallParameters },
    prepareDisk: (folder) => onDisk(mountDisk(stage, folder, diskMegabytes)),
  });
  const pooler = openPgbouncer(join(stage.folder, `shard-${name}`), cluster.connectionString, poolerPort);
  stage.cleanUp(() => pooler.kill());
  pooler.start();
  const poolerUrl = new URL(cluster.connectionString);
  poolerUrl.hostname = '127.0.0.1';
  poolerUrl.port = String(poolerPort);
  await until(async () => {
    const client = new pg.Client({ connectionString: poolerUrl.href });
    await client.connect();
    await client.end();
    return true;
  });
  return { name, cluster, pooler, poolerUrl: poolerUrl.href };
}
