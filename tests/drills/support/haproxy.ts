import { join } from 'node:path';
import { openServer, ownFile, type Server } from './servers.ts';

/** An HAProxy that leads to the primary of a Patroni cluster. */

interface Behind {
  readonly name: string;
  readonly address: string;
  readonly postgresPort: number;
  readonly restPort: number;
}

/** The recommendation of docs/self-hosting.md. */
export const recommendedHaproxy = [
  'mode tcp',
  'timeout connect 2s',
  'timeout check 2s',
  'timeout client 30m',
  'timeout server 30m',
  'option httpchk OPTIONS /primary',
  'http-check expect status 200',
  'default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions',
];

export function openHaproxy(
  name: string,
  folder: string,
  { address, port }: { readonly address: string; readonly port: number },
  members: readonly Behind[],
): Server {
  const servers = members.map(
    (one) => `server ${one.name} ${one.address}:${one.postgresPort} check port ${one.restPort}`,
  );
  const lines = [`bind ${address}:${port}`, ...recommendedHaproxy, ...servers];
  const config = ownFile(join(folder, `${name}.cfg`), `listen primary\n${lines.map((line) => `  ${line}\n`).join('')}`);
  return openServer({ name, program: 'haproxy', args: ['-db', '-f', config], folder });
}
