import { join } from 'node:path';
import { openServer, ownFile, ownFolder, type Server } from './servers.ts';

/** A PgBouncer in session mode between the service and HAProxy. */

/** The recommendation of docs/scaling.md. */
export const recommendedPgbouncer = [
  'pool_mode = session',
  'max_client_conn = 500',
  'default_pool_size = 150',
  'server_login_retry = 1',
  'server_connect_timeout = 10',
  'query_wait_timeout = 15',
];

export function openPgbouncer(folder: string, serverUrl: string, port: number): Server {
  const { hostname, port: serverPort, username, password, pathname } = new URL(serverUrl);
  const own = ownFolder(folder, 'pgbouncer');
  const users = ownFile(join(own, 'users.txt'), `"${username}" "${decodeURIComponent(password)}"\n`);
  const lines = [
    '[databases]',
    `${pathname.slice(1)} = host=${hostname} port=${serverPort}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${users}`,
    'log_connections = 0',
    'log_disconnections = 0',
    ...recommendedPgbouncer,
  ];
  const config = ownFile(join(own, 'pgbouncer.ini'), `${lines.join('\n')}\n`);
  return openServer({ name: 'pgbouncer', program: 'pgbouncer', args: [config], folder });
}
