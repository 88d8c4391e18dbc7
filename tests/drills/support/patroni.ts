import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import type { DrillStage } from '../drill.ts';
import { findProgram } from './programs.ts';

/**
 * Two PostgreSQL servers under Patroni with a synchronous standby, etcd for their election, and HAProxy in front of
 * the primary.
 */

export interface PatroniCluster {
  /** The URL of the database through HAProxy, as the service uses it. */
  readonly connectionString: string;
  /** Returns the member that is the primary. */
  primary(): Promise<string>;
  /** Returns the server behind HAProxy that accepts writes; fails if there is none. */
  reachablePrimary(): Promise<string>;
  /** Sends SIGKILL to Patroni and PostgreSQL of a member, as if its machine lost power. */
  kill(member: string): Promise<void>;
  start(member: string): void;
  /** Waits until the standby is synchronous, so that each acknowledged commit is on both servers. */
  waitForStandby(timeoutMs: number): Promise<void>;
  switchover(from: string, to: string): Promise<void>;
}

export const patroniPrograms = ['patroni', 'patronictl', 'etcd', 'haproxy', 'pg_controldata', 'pg_rewind'];

const startMaxMs = 120_000;
const scope = 'svc';
const password = 'password of a drill';
const urlOf = (port: number, database: string, role: string): string =>
  `postgres://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;

/** The recommendation of docs/self-hosting.md; Patroni's own defaults for the first three are 30, 10 and 10. */
export const recommended = {
  patroni: { ttl: 20, loop_wait: 5, retry_timeout: 5, synchronous_mode: true, postgresql: { use_pg_rewind: true } },
  haproxy: [
    'mode tcp',
    'timeout connect 2s',
    'timeout check 2s',
    'timeout client 30m',
    'timeout server 30m',
    'option httpchk OPTIONS /primary',
    'http-check expect status 200',
    'default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions',
  ],
};

interface Member {
  readonly name: string;
  readonly postgresPort: number;
  readonly restPort: number;
  readonly dataDirectory: string;
  readonly configFile: string;
  patroni?: ChildProcess;
}

interface Ports {
  readonly etcd: readonly [client: number, peer: number];
  readonly proxy: number;
  readonly members: readonly { readonly postgres: number; readonly rest: number }[];
}

export async function startPatroniCluster(
  { folder, cleanUp }: Pick<DrillStage, 'folder' | 'cleanUp'>,
  ports: Ports,
): Promise<PatroniCluster> {
  const owner = serverOwner();
  const path = [serverFolder(), process.env.PATH].join(':');
  // The user of the servers needs access to the folder.
  chmodSync(folder, 0o711);
  const ownFolder = (name: string): string => {
    const own = join(folder, name);
    mkdirSync(own, { mode: 0o700 });
    if (owner) chownSync(own, owner.uid, owner.gid);
    return own;
  };
  const startAsOwner = (name: string, args: readonly string[], logName: string): ChildProcess => {
    const log = openSync(join(folder, `${logName}.log`), 'a');
    try {
      // In a separate session, so that Ctrl-C ends it only through the clean-up.
      return spawn(program(name), args, {
        cwd: folder,
        env: { PATH: path, HOME: folder, LC_ALL: 'C.UTF-8' },
        stdio: ['ignore', log, log],
        detached: true,
        ...owner,
      });
    } finally {
      closeSync(log);
    }
  };

  const superuserUrl = urlOf(ports.proxy, 'postgres', 'postgres');
  const [clientPort, peerPort] = ports.etcd;
  const etcdUrl = `http://127.0.0.1:${clientPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const members = ports.members.map(({ postgres, rest }, index): Member => {
    const name = `node${index + 1}`;
    const own = ownFolder(name);
    const member = {
      name,
      postgresPort: postgres,
      restPort: rest,
      dataDirectory: join(own, 'data'),
      configFile: join(own, 'patroni.json'),
    };
    // JSON is valid YAML.
    writeFileSync(member.configFile, JSON.stringify(patroniConfig(member, own, clientPort), null, 2), { mode: 0o644 });
    return member;
  });
  const proxyConfig = join(folder, 'haproxy.cfg');
  writeFileSync(proxyConfig, haproxyConfig(ports.proxy, members), { mode: 0o644 });
  const etcd = startAsOwner(
    'etcd',
    Object.entries({
      'data-dir': ownFolder('etcd'),
      name: 'etcd',
      'listen-client-urls': etcdUrl,
      'advertise-client-urls': etcdUrl,
      'listen-peer-urls': peerUrl,
      'initial-advertise-peer-urls': peerUrl,
      'initial-cluster': `etcd=${peerUrl}`,
    }).map(([name, value]) => `--${name}=${value}`),
    'etcd',
  );
  const proxy = startAsOwner('haproxy', ['-db', '-f', proxyConfig], 'haproxy');

  const memberNamed = (name: string): Member => {
    const member = members.find((each) => each.name === name);
    if (!member) throw new Error(`There is no member ${name}.`);
    return member;
  };
  const start = (name: string): void => {
    const member = memberNamed(name);
    member.patroni = startAsOwner('patroni', [member.configFile], name);
  };
  const endMember = async (member: Member, signal: NodeJS.Signals): Promise<void> => {
    await end(member.patroni);
    const postmaster = postmasterOf(member);
    if (postmaster) process.kill(postmaster, signal);
    while (postmasterOf(member)) await sleep(20);
  };
  // SIGQUIT leaves no shared memory behind.
  cleanUp(async () => {
    await Promise.all(members.map((member) => endMember(member, 'SIGQUIT')));
    await Promise.all([end(proxy), end(etcd)]);
  });

  async function roles(): Promise<Map<string, string>> {
    const rest = await Promise.any(
      members.map(async ({ restPort }) => {
        const response = await fetch(`http://127.0.0.1:${restPort}/cluster`, { signal: AbortSignal.timeout(2_000) });
        return (await response.json()) as { members: { name: string; role: string }[] };
      }),
    );
    return new Map(rest.members.map(({ name, role }) => [role, name]));
  }
  async function primary(): Promise<string> {
    const leader = (await roles()).get('leader');
    if (!leader) throw new Error('The cluster has no leader.');
    return leader;
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
    waitFor('The synchronous standby', timeoutMs, async () => {
      const standby = (await roles()).get('sync_standby');
      const [row] = await ask<{ synchronous: boolean }>(
        superuserUrl,
        `SELECT count(*) > 0 AS synchronous FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'`,
      );
      return standby !== undefined && row?.synchronous === true;
    });

  for (const { name } of members) start(name);
  await waitFor('The primary', startMaxMs, async () => (await reachablePrimary()) !== '');
  await ask(superuserUrl, `CREATE ROLE svc LOGIN CREATEROLE PASSWORD '${password}'`, 30_000);
  await ask(superuserUrl, 'CREATE DATABASE svc OWNER svc', 30_000);
  await waitForStandby(startMaxMs);
  return {
    connectionString: urlOf(ports.proxy, 'svc', 'svc'),
    primary,
    reachablePrimary,
    kill: (name) => endMember(memberNamed(name), 'SIGKILL'),
    start,
    waitForStandby,
    async switchover(from, to) {
      const { configFile } = memberNamed(from);
      const args = ['-c', configFile, 'switchover', '--leader', from, '--candidate', to, '--force', scope];
      await promisify(execFile)(program('patronictl'), args, { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
    },
  };
}

function program(name: string): string {
  const file = findProgram(name);
  if (!file) throw new Error(`The program ${name} is not installed.`);
  return file;
}

/** These programs are in the folder of the server, while `postgres` on the PATH could be a single link. */
const serverFolder = (): string => dirname(program('pg_controldata'));

/** PostgreSQL refuses to run as root; then the account of its package exists. */
function serverOwner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

function patroniConfig({ name, postgresPort, restPort, dataDirectory }: Member, own: string, etcdPort: number): object {
  const rest = `127.0.0.1:${restPort}`;
  const address = `127.0.0.1:${postgresPort}`;
  return {
    scope,
    name,
    restapi: { listen: rest, connect_address: rest },
    etcd3: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ...recommended.patroni,
        postgresql: {
          ...recommended.patroni.postgresql,
          parameters: { max_connections: 100, shared_buffers: '32MB' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    },
    postgresql: {
      listen: address,
      connect_address: address,
      data_dir: dataDirectory,
      bin_dir: serverFolder(),
      pgpass: join(own, 'pgpass'),
      authentication: {
        superuser: { username: 'postgres', password },
        replication: { username: 'replicator', password },
        rewind: { username: 'rewind', password },
      },
      parameters: { unix_socket_directories: '', dynamic_shared_memory_type: 'mmap' },
      pg_hba: ['host replication replicator 127.0.0.1/32 scram-sha-256', 'host all all 127.0.0.1/32 scram-sha-256'],
    },
  };
}

function haproxyConfig(port: number, members: readonly Member[]): string {
  const servers = members.map(
    ({ name, postgresPort, restPort }) => `server ${name} 127.0.0.1:${postgresPort} check port ${restPort}`,
  );
  const lines = [`bind 127.0.0.1:${port}`, ...recommended.haproxy, ...servers];
  return `listen primary\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

function postmasterOf({ dataDirectory }: Member): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(join(dataDirectory, 'postmaster.pid'), 'utf8'), 10);
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dataDirectory) ? pid : undefined;
  } catch {
    return undefined;
  }
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
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
