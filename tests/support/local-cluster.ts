import { mkdir } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { migrate } from '../../server/platform/migrations.ts';
import { type ChaosPostgres, openChaosPostgres } from '../chaos/postgres.ts';
import { type Supervised, supervise } from '../chaos/supervised.ts';

/** The whole service on several PostgreSQL servers, on this machine: two APIs, two workers and a vault. */

export interface LocalCluster {
  /** The shards by name. The first one also has the control plane. */
  readonly shards: ReadonlyMap<string, ChaosPostgres>;
  /** The settings of every process, and of `svc` commands. */
  readonly environment: Readonly<Record<string, string>>;
  /** Distributes connections over the APIs. */
  readonly url: string;
  readonly apiUrls: readonly string[];
  readonly processes: readonly Supervised[];
  startProcess(name: string, more: Readonly<Record<string, string>>): Promise<Supervised>;
}

export interface ClusterOptions {
  readonly folder: string;
  /** The port in front of the APIs; then those of three PostgreSQL servers, two APIs and the vault. */
  readonly ports: readonly number[];
  readonly masterSecret: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** Shards that are not started. */
  readonly absent?: readonly string[];
  /** Runs at the end, in reverse order. */
  readonly cleanUp: (step: () => unknown) => void;
  /** Called with the name of a part that ended by itself. */
  readonly onEnd?: (problem: string) => void;
}

const shardNames = ['a', 'b', 'c'];
/** Moving a company needs logical decoding. */
export const postgresSettings = { wal_level: 'logical', max_connections: '200', shared_buffers: '64MB' };

export async function startCluster(options: ClusterOptions): Promise<LocalCluster> {
  const { folder, ports, masterSecret, settings = {}, absent = [], cleanUp, onEnd = () => undefined } = options;
  const [port = 0, ...others] = ports;
  const shardPorts = others.splice(0, shardNames.length);
  const [vaultPort = 0, ...apiPorts] = others;
  const dataDir = join(folder, 'data');
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const opened = await Promise.all(
    shardNames.map(async (name, index) => {
      const onExit = (how: string): void => onEnd(`PostgreSQL of shard ${name} ended with ${how}`);
      const place = join(folder, `shard-${name}`);
      const postgres = await openChaosPostgres(place, shardPorts[index] ?? 0, { settings: postgresSettings, onExit });
      cleanUp(() => postgres.stop());
      if (absent.includes(name)) return [name, postgres] as const;
      await postgres.start();
      await migrate(postgres.connectionString);
      return [name, postgres] as const;
    }),
  );
  const shards = new Map(opened);
  const [[, first], ...further] = opened as [(typeof opened)[number], ...typeof opened];
  const url = `http://127.0.0.1:${port}`;
  const environment = {
    DATABASE_URL: first.connectionString,
    SVC_SHARDS: further.map(([name, { connectionString }]) => `${name}=${connectionString}`).join(' '),
    SVC_MASTER_SECRET: masterSecret,
    SVC_DATA_DIR: dataDir,
    SVC_BASE_URL: url,
    SVC_VAULT_URL: `http://127.0.0.1:${vaultPort}`,
    SVC_VAULT_TOKEN: `${masterSecret}, for the vault`,
    SVC_LOG_LEVEL: 'warn',
    ...settings,
  };
  const start = (name: string, more: Readonly<Record<string, string>>): Supervised => {
    const log = join(folder, `${name.replaceAll(' ', '-').toLowerCase()}.log`);
    const started = supervise(name, { ...environment, ...more }, log, (how) => onEnd(`${how}; see ${log}`));
    cleanUp(() => started.stop());
    return started;
  };
  const startProcess: LocalCluster['startProcess'] = async (name, more) => {
    const started = start(name, more);
    await started.waitUntilReady();
    return started;
  };
  const vault = await startProcess('Vault', {
    SVC_ROLES: 'vault',
    SVC_VAULT_PORT: String(vaultPort),
    SVC_VAULT_DATABASE_URL: first.connectionString,
  });
  const apiUrls = apiPorts.map((apiPort) => `http://127.0.0.1:${apiPort}`);
  const processes = [
    vault,
    // The first one creates what the others find.
    await startProcess('API 1', { SVC_ROLES: 'api', PORT: String(apiPorts[0]) }),
    ...(await Promise.all([
      startProcess('API 2', { SVC_ROLES: 'api', PORT: String(apiPorts[1]) }),
      startProcess('Worker 1', { SVC_ROLES: 'worker' }),
      startProcess('Worker 2', { SVC_ROLES: 'worker' }),
    ])),
  ];
  const balancer = await balance(port, apiPorts);
  cleanUp(() => balancer.close());
  return { shards, environment, url, apiUrls, processes, startProcess };
}

/** Gives each connection to the next target that accepts it. */
export async function balance(port: number, targets: readonly number[]): Promise<Server> {
  let turn = 0;
  const server = createServer({ pauseOnConnect: true }, (client) => {
    const first = (turn += 1);
    const attempt = (index: number): void => {
      if (index === targets.length) return void client.destroy();
      const target = connect(targets[(first + index) % targets.length] ?? 0, '127.0.0.1');
      const next = (): void => attempt(index + 1);
      target.once('error', next);
      target.once('connect', () => {
        target.off('error', next);
        for (const [from, to] of [
          [client, target],
          [target, client],
        ] as const) {
          from.on('error', () => to.destroy());
          from.on('close', () => to.destroy());
          from.pipe(to);
        }
      });
    };
    client.on('error', () => undefined);
    attempt(0);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}
