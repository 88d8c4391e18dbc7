import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { serverAccount } from '../../server/platform/embedded-postgres/account.ts';
import { findProgram } from '../drills/support/programs.ts';
import { freePort } from './listen.ts';

/** A PgBouncer in front of a PostgreSQL. */

export interface RunningPooler {
  readonly port: number;
  stop(): Promise<void>;
}

export interface PoolerOptions {
  readonly folder: string;
  /** The PostgreSQL, with the login of its owner. */
  readonly serverUrl: string;
  readonly mode: 'session' | 'transaction';
  /** The passwords of further logins. */
  readonly logins?: Readonly<Record<string, string>>;
}

/** In session mode each connection that a process opens has one of the server's. */
const serverConnections = { session: 200, transaction: 20 };

export async function startPooler({ folder, serverUrl, mode, logins = {} }: PoolerOptions): Promise<RunningPooler> {
  const program = findProgram('pgbouncer');
  if (!program) throw new Error('PgBouncer is not installed: apt-get install pgbouncer');
  await mkdir(folder, { recursive: true });
  const { hostname, port: serverPort, username, password } = new URL(serverUrl);
  const port = await freePort();
  const users = { ...logins, [decodeURIComponent(username)]: decodeURIComponent(password) };
  const files = {
    'users.txt': Object.entries(users)
      .map(([name, secret]) => `"${name}" "${secret}"\n`)
      .join(''),
    'pgbouncer.ini': `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(folder, 'users.txt')}
pool_mode = ${mode}
max_client_conn = 2000
default_pool_size = ${serverConnections[mode]}
server_idle_timeout = 5
server_login_retry = 1
`,
  };
  const account = await serverAccount(folder);
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), text, { mode: 0o600 });
    if (account) await chown(join(folder, name), account.uid, account.gid);
  }
  if (account) await chown(folder, account.uid, account.gid);
  const child = spawn(program, ['-q', join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...account });
  const ended = once(child, 'exit');
  if (!(await answers(port, () => child.exitCode !== null))) throw new Error('PgBouncer did not start');
  return {
    port,
    async stop() {
      child.kill('SIGINT');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function answers(port: number, hasEnded: () => boolean): Promise<boolean> {
  while (!hasEnded()) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return true;
    await sleep(20);
  }
  return false;
}

/** The same database through a pooler at this port. */
export function throughPooler(url: string, port: number | string): string {
  const pooled = new URL(url);
  pooled.port = String(port);
  return pooled.href;
}
