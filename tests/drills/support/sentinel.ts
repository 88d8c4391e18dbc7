import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openServer, ownFile, ownFolder, type Server } from './servers.ts';

/** Redis servers, of which Sentinels choose the primary. */

export interface Sentinels {
  /** The value of REDIS_URL: its host is the name of the primary. */
  readonly url: string;
  /** The value of SVC_REDIS_SENTINELS. */
  readonly sentinels: string;
  primary(): Promise<Server>;
}

/** The recommendation of docs/scaling.md. */
export const recommendedSentinel = {
  'down-after-milliseconds': 3_000,
  'failover-timeout': 10_000,
  'parallel-syncs': 1,
};
const primaryName = 'svc-limits';
const password = 'password-of-a-drill';

interface SentinelPlace {
  readonly folder: string;
  /** Of three Redis servers and three Sentinels. */
  readonly ports: readonly number[];
  cleanUp(step: () => unknown): void;
}

export async function startSentinels({ folder: parent, ports, cleanUp }: SentinelPlace): Promise<Sentinels> {
  const folder = ownFolder(parent, 'redis');
  const [serverPorts, sentinelPorts] = [ports.slice(0, 3), ports.slice(3, 6)];
  const [first = 0] = serverPorts;
  const open = (name: string, lines: readonly string[], mode: readonly string[] = []): Server => {
    const own = ownFolder(folder, name);
    const config = ownFile(join(own, 'redis.conf'), `${['bind 127.0.0.1', `dir ${own}`, ...lines].join('\n')}\n`);
    const server = openServer({ name, program: 'redis-server', args: [config, ...mode], folder });
    cleanUp(() => server.kill());
    server.start();
    return server;
  };
  const servers = serverPorts.map((port, index) =>
    open(`redis${index + 1}`, [
      `port ${port}`,
      'save ""',
      `requirepass ${password}`,
      `masterauth ${password}`,
      ...(index > 0 ? [`replicaof 127.0.0.1 ${first}`] : []),
    ]),
  );
  for (const [index, port] of sentinelPorts.entries())
    open(
      `sentinel${index + 1}`,
      [
        `port ${port}`,
        `sentinel monitor ${primaryName} 127.0.0.1 ${first} 2`,
        `sentinel auth-pass ${primaryName} ${password}`,
        ...Object.entries(recommendedSentinel).map(([name, value]) => `sentinel ${name} ${primaryName} ${value}`),
      ],
      ['--sentinel'],
    );

  /** Asks the Sentinels in turn. */
  async function primary(): Promise<Server> {
    for (const port of sentinelPorts) {
      const lines = await say(port, `SENTINEL get-master-addr-by-name ${primaryName}`).catch((): string[] => []);
      const server = servers[serverPorts.findIndex((one) => lines.includes(String(one)))];
      if (server) return server;
    }
    throw new Error('No Sentinel knows the primary.');
  }

  /** A Sentinel that knows no replica and no other Sentinel cannot choose. */
  async function isComplete(): Promise<boolean> {
    const answers = await Promise.all(sentinelPorts.map((port) => say(port, `SENTINEL master ${primaryName}`)));
    const valueOf = (lines: readonly string[], name: string): string | undefined => lines[lines.indexOf(name) + 2];
    return answers.every(
      (lines) => valueOf(lines, 'num-slaves') === '2' && valueOf(lines, 'num-other-sentinels') === '2',
    );
  }

  const deadlineMs = performance.now() + 60_000;
  while (!(await isComplete().catch(() => false))) {
    if (performance.now() > deadlineMs) throw new Error('The Sentinels do not find each other.');
    await sleep(200);
  }
  return {
    url: `redis://:${password}@${primaryName}`,
    sentinels: sentinelPorts.map((port) => `127.0.0.1:${port}`).join(),
    primary,
  };
}

/** Sends one command and returns the lines of the answer. */
function say(port: number, command: string): Promise<string[]> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  return new Promise<string[]>((resolve, reject) => {
    socket.setTimeout(2_000, () => reject(new Error('no answer')));
    socket.on('error', reject);
    socket.on('data', (data) => {
      text += data.toString();
    });
    socket.on('close', () => resolve(text.split('\r\n')));
    socket.end(`${command}\r\nQUIT\r\n`);
  }).finally(() => socket.destroy());
}
