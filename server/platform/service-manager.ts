import { spawn } from 'node:child_process';
import { get } from 'node:http';
import { secondMs } from './durations.ts';

/**
 * Signs to systemd (`Type=notify`): the service is ready, is well, or stops. Node has no datagram sockets of Unix, so the
 * program `systemd-notify` sends them. Without NOTIFY_SOCKET nothing is sent, and a sign that cannot be sent is only a warning.
 */
export interface ServiceManager {
  /** The start is complete. From now on, the watchdog gets a sign while `isWell` is true. */
  ready(isWell: () => Promise<boolean>): void;
  stopping(): void;
}

const silent: ServiceManager = { ready: () => undefined, stopping: () => undefined };

export function openServiceManager(
  environment: NodeJS.ProcessEnv,
  onProblem: (problem: string) => void,
): ServiceManager {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: watchdog, PATH } = environment;
  // PostgreSQL, which is a child of this process, would send signs of its own.
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete environment[name];
  if (!socket) return silent;
  let isStopping = false;
  let hasProblem = false;

  function report(problem: string): void {
    if (!hasProblem) onProblem(problem);
    hasProblem = true;
  }

  function send(sign: string): void {
    const child = spawn('systemd-notify', [sign], { stdio: 'ignore', env: { PATH, NOTIFY_SOCKET: socket } });
    child.on('error', (error) => report(`systemd-notify cannot be started: ${error.message}`));
    child.on('exit', (code) => code === 0 || report(`systemd-notify ${sign} exited with ${code}`));
    child.unref();
  }

  async function beat(isWell: () => Promise<boolean>): Promise<void> {
    if ((await isWell()) && !isStopping) send('WATCHDOG=1');
  }

  return {
    ready(isWell) {
      send('READY=1');
      const everyMs = Number(watchdog) / 1_000 / 3;
      if (everyMs > 0) setInterval(() => void beat(isWell), everyMs).unref();
    },
    stopping() {
      isStopping = true;
      send('STOPPING=1');
    },
  };
}

const answerMs = 10 * secondMs;

/**
 * Whether this process answers on its own port, if it has one. Any answer will do: a process that is overloaded, or whose database is away,
 * does not get better by a restart.
 */
export function answersItself(host: string, port: number): () => Promise<boolean> {
  const local = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return () =>
    new Promise((resolve) => {
      if (port === 0) return resolve(true);
      const request = get({ host: local, port, path: '/healthz', timeout: answerMs, agent: false }, (response) => {
        response.resume();
        resolve(true);
      });
      request.on('timeout', () => request.destroy());
      request.on('error', () => resolve(false));
    });
}
