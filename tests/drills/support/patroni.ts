import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import type { DrillStage } from '../drill.ts';
import type { Etcd } from './etcd.ts';
import { openHaproxy, recommendedHaproxy } from './haproxy.ts';
import type { Place } from './network.ts';
import { openServer, ownFile, ownFolder, program, type Server, serverFolder } from './servers.ts';

/** PostgreSQL servers under Patroni with a synchronous standby, and HAProxy in front of the primary. */

export interface PatroniCluster {
  /** The URL of the database through HAProxy, as the service uses it. */
  readonly connectionString: string;
  /** The same database, as a superuser. */
  readonly superuserUrl: string;
  readonly proxy: Server;
  /** Returns the member that is the primary. */
  primary(): Promise<string>;
  /** Returns the member that may become the primary. */
  synchronous(): Promise<string>;
  /** Returns the server behind HAProxy that accepts writes; fails if there is none. */
  reachablePrimary(): Promise<string>;
  /** The folder with the data of a member. */
  diskOf(member: string): string;
  /** Sends SIGKILL to Patroni and PostgreSQL of a member, as if its machine lost power. */
  kill(member: string): Promise<void>;
  start(member: string): void;
  /** Stops all processes of a member, as if its machine were suspended; returns how they go on. */
  freeze(member: string): () => void;
  /** Waits until all members run and the standby is synchronous, so that each acknowledged commit is on two servers. */
  waitForStandby(timeoutMs: number): Promise<void>;
  switchover(from: string, to: string): Promise<void>;
}

export const patroniPrograms = ['patroni', 'patronictl', 'etcd', 'haproxy', 'pg_controldata', 'pg_rewind'];

const startMaxMs = 120_000;
const password = 'password of a drill';

/** The recommendation of docs/self-hosting.md; Patroni's own defaults for the first three are 30, 10 and 10. */
export const recommended = {
  patroni: { ttl: 20, loop_wait: 5, retry_timeout: 5, synchronous_mode: true, postgresql: { use_pg_rewind: true } },
  haproxy: recommendedHaproxy,
};

interface Member {
  readonly name: string;
  readonly address: string;
  readonly postgresPort: number;
  readonly restPort: number;
  readonly disk: string;
  readonly dataDirectory: string;
  readonly configFile: string;
  readonly patroni: Server;
}

interface ClusterPlan {
  /** Of the cluster; also of its folder. */
  readonly name: string;
  readonly place: Place;
  readonly proxy: { readonly address: string; readonly port: number };
  readonly etcd: Pick<Etcd, 'hosts'>;
  readonly members: readonly { readonly postgres: number; readonly rest: number }[];
  /** Further settings of Patroni and of PostgreSQL. */
  readonly settings?: { readonly postgresql?: object };
  readonly parameters?: Readonly<Record<string, string | number>>;
  /** Prepares the folder for the data of a member. */
  readonly prepareDisk?: (folder: string) => void;
}

export async function startPatroniCluster(
  { folder: parent, cleanUp }: Pick<DrillStage, 'folder' | 'cleanUp'>,
  plan: ClusterPlan,
): Promise<PatroniCluster> {
  const { name: scope, place, prepareDisk = () => undefined } = plan;
  const { namespace, address } = place;
  // The account of the servers needs access to the folder.
  chmodSync(parent, 0o711);
  const folder = ownFolder(parent, scope);
  const urlOf = (database: string, role: string): string =>
    `postgres://${role}:${encodeURIComponent(password)}@${plan.proxy.address}:${plan.proxy.port}/${database}`;
  const superuserUrl = urlOf('postgres', 'postgres');
  const members = plan.members.map(({ postgres, rest }, index): Member => {
    const name = `node${index + 1}`;
    const disk = ownFolder(folder, name);
    prepareDisk(disk);
    const configFile = join(folder, `${name}.json`);
    const patroni = openServer({ name, program: 'patroni', args: [configFile], folder, namespace });
    const dataDirectory = join(disk, 'data');
    const member = { name, address, postgresPort: postgres, restPort: rest, disk, dataDirectory, configFile, patroni };
    // JSON is valid YAML.
    ownFile(configFile, JSON.stringify(patroniConfig(member, plan), null, 2));
    return member;
  });
  const proxy = openHaproxy('haproxy', folder, plan.proxy, members);
  proxy.start();

  const memberNamed = (name: string): Member => {
    const member = members.find((each) => each.name === name);
    if (!member) throw new Error(`There is no member ${name}.`);
    return member;
  };
  const start = (name: string): void => memberNamed(name).patroni.start();
  const endMember = async (member: Member, signal: NodeJS.Signals): Promise<void> => {
    await member.patroni.kill();
    const postmaster = postmasterOf(member);
    if (postmaster) for (const each of [signal, 'SIGCONT'] as const) signalTo(postmaster, each);
    while (postmasterOf(member)) await sleep(20);
  };
  // SIGQUIT leaves no shared memory behind.
  cleanUp(async () => {
    await Promise.all(members.map((member) => endMember(member, 'SIGQUIT')));
    await proxy.kill();
  });

  async function states(): Promise<readonly { name: string; role: string; state: string }[]> {
    const { members: found } = await Promise.any(
      members.map(async ({ restPort }) => {
        const response = await fetch(`http://${address}:${restPort}/cluster`, { signal: AbortSignal.timeout(2_000) });
        return (await response.json()) as { members: { name: string; role: string; state: string }[] };
      }),
    );
    return found;
  }
  async function primary(): Promise<string> {
    const leader = (await states()).find(({ role }) => role === 'leader');
    if (!leader) throw new Error('The cluster has no leader.');
    return leader.name;
  }
  async function synchronous(): Promise<string> {
    const standby = (await states()).find(({ role }) => role === 'sync_standby');
    if (!standby) throw new Error('The cluster has no synchronous standby.');
    return standby.name;
  }
  async function reachablePrimary(): Promise<string> {
    const [row] = await ask<{ port: number }>(
      superuserUrl,
      `SELECT current_setting('port')::integer AS port WHERE NOT pg_is_in_recovery()`,
    );
    const found = members.find(({ postgresPort }) => postgresPort === row?.port);
    if (!found) throw new Error('HAProxy routes to a server that accepts no writes.');
    return found.name;
  }
  async function waitFor(what: string, timeoutMs: number, condition: () => Promise<boolean>): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    while (!(await condition().catch(() => false))) {
      if (performance.now() > deadlineMs) throw new Error(`${what} was not reached within ${timeoutMs / 1_000} s.`);
      await sleep(250);
    }
  }
  const waitForStandby = (timeoutMs: number): Promise<void> =>
    waitFor(`The synchronous standby of ${scope}`, timeoutMs, async () => {
      const found = await states();
      const running = found.filter(({ state }) => state === 'running' || state === 'streaming');
      const standby = found.find(({ role }) => role === 'sync_standby');
      const [row] = await ask<{ synchronous: boolean }>(
        superuserUrl,
        `SELECT count(*) > 0 AS synchronous FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'`,
      );
      return running.length === members.length && standby !== undefined && row?.synchronous === true;
    });

  for (const { name } of members) start(name);
  await waitFor('The primary', startMaxMs, async () => (await reachablePrimary()) !== '');
  await ask(superuserUrl, `CREATE ROLE svc LOGIN CREATEROLE PASSWORD '${password}'`, 30_000);
  await ask(superuserUrl, 'CREATE DATABASE svc OWNER svc', 30_000);
  await waitForStandby(startMaxMs);
  return {
    connectionString: urlOf('svc', 'svc'),
    superuserUrl: urlOf('svc', 'postgres'),
    proxy,
    diskOf: (name) => memberNamed(name).disk,
    primary,
    synchronous,
    reachablePrimary,
    kill: (name) => endMember(memberNamed(name), 'SIGKILL'),
    start,
    freeze(name) {
      const { patroni } = memberNamed(name);
      const frozen = [patroni.pid, ...postgresOf(memberNamed(name))].filter((pid) => pid !== undefined);
      for (const pid of frozen) signalTo(pid, 'SIGSTOP');
      return () => {
        for (const pid of frozen) signalTo(pid, 'SIGCONT');
      };
    },
    waitForStandby,
    async switchover(from, to) {
      const { configFile } = memberNamed(from);
      const args = ['-c', configFile, 'switchover', '--leader', from, '--candidate', to, '--force', scope];
      await promisify(execFile)(program('patronictl'), args, { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
    },
  };
}

function patroniConfig(
  { name, address: host, postgresPort, restPort, disk, dataDirectory }: Omit<Member, 'patroni'>,
  { name: scope, etcd, settings = {}, parameters = {} }: ClusterPlan,
): object {
  const rest = `${host}:${restPort}`;
  const address = `${host}:${postgresPort}`;
  return {
    scope,
    name,
    restapi: { listen: rest, connect_address: rest },
    // Not etcd3, with which Patroni 3.0.2 makes a suspended primary the leader again, and loses orders.
    etcd: { hosts: etcd.hosts },
    bootstrap: {
      dcs: {
        ...recommended.patroni,
        ...settings,
        postgresql: {
          ...recommended.patroni.postgresql,
          ...settings.postgresql,
          parameters: { max_connections: 100, shared_buffers: '32MB', ...parameters },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    },
    postgresql: {
      listen: address,
      connect_address: address,
      data_dir: dataDirectory,
      bin_dir: serverFolder(),
      pgpass: `${disk}.pgpass`,
      authentication: {
        superuser: { username: 'postgres', password },
        replication: { username: 'replicator', password },
        rewind: { username: 'rewind', password },
      },
      // Otherwise a new member waits for the next checkpoint.
      basebackup: [{ checkpoint: 'fast' }],
      parameters: { unix_socket_directories: '', dynamic_shared_memory_type: 'mmap' },
      pg_hba: ['host replication all samenet scram-sha-256', 'host all all samenet scram-sha-256'],
    },
  };
}

function postmasterOf({ dataDirectory }: Member): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(join(dataDirectory, 'postmaster.pid'), 'utf8'), 10);
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dataDirectory) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** The processes of the server: the first one and its children. */
function postgresOf(member: Member): number[] {
  const postmaster = postmasterOf(member);
  if (!postmaster) return [];
  const children = readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      return Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]) === postmaster;
    } catch {
      return false;
    }
  });
  return [postmaster, ...children.map(Number)];
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}

async function ask<Row extends object>(connectionString: string, text: string, timeoutMs = 2_000): Promise<Row[]> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}
