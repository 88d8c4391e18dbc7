import { loadConfig, unknownSettings } from './config.ts';
import { watchLauncher } from './platform/launcher.ts';
import { createLog } from './platform/log.ts';
import { openServiceManager } from './platform/service-manager.ts';
import { type Service, startService } from './service.ts';
import { explain } from './start/explain.ts';
import { version } from './version.ts';
import { announcement, welcome } from './welcome.ts';

/** `npm start`: runs the service in the roles of SVC_ROLES until a signal ends it. */

const startedAtMs = performance.now();

function fail(error: Error): never {
  const { message, exitCode } = explain(error);
  process.stderr.write(`${message}\n`);
  process.exit(exitCode);
}

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const log = createLog(config.SVC_LOG_LEVEL ?? 'info');
  // Start and stop are logged at every level except `silent`.
  const lifecycle = log.child({}, { level: config.SVC_LOG_LEVEL === 'silent' ? 'silent' : 'info' });
  const isTerminal = process.stdout.isTTY;
  if (!isTerminal) lifecycle.info({ version, roles: config.SVC_ROLES, pid: process.pid }, 'starting');
  for (const { name, meant } of unknownSettings(process.env)) {
    log.warn(
      { setting: name, ...(meant && { meant }) },
      `unknown setting ${name}${meant ? `; did you mean ${meant}?` : ''}`,
    );
  }
  const manager = openServiceManager(process.env, (problem) => log.warn({ problem }, 'systemd gets no signs'));
  const stop = stopper(
    config.SVC_SHUTDOWN_SECONDS * 1000,
    () => {
      manager.stopping();
      return starting;
    },
    () => isTerminal || lifecycle.info('stopped'),
  );
  const starting = startService(config, log, (error) => {
    // Ctrl-C may reach PostgreSQL, too, and its end may be noticed before our own signal.
    setTimeout(() => {
      if (stop.isUnderWay()) return;
      log.fatal({ err: error }, 'fatal error');
      stop(1);
    }, sameSignalMs / 4);
  });
  for (const signal of stopSignals) process.on(signal, () => stop(0));
  watchLauncher(() => stop(0));
  const service = await starting;
  const startedInMs = performance.now() - startedAtMs;
  // Programs collect what is not a terminal: it gets lines of JSON only, and no password or key.
  if (isTerminal) process.stdout.write(welcome(config, service, startedInMs));
  else lifecycle.info(announcement(config, service, startedInMs), 'ready');
  manager.ready(service.isWell);
}

/**
 * SIGHUP comes from a terminal that is closed. Node forgets that a parent, for example nohup, had it ignored, so it cannot
 * be respected; without a handler it would end the process in the middle of its work.
 */
const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

const sameSignalMs = 1_000;

/**
 * The first signal finishes running work (including a start); a second signal or the deadline ends the process at
 * once. Under npm, Ctrl-C arrives twice, from the terminal and from npm: signals close together count as one.
 */
function stopper(deadlineMs: number, service: () => Promise<Service>, onStopped: () => void): Stopper {
  let stoppingSinceMs: number | undefined;
  const stop = (exitCode: number): void => {
    const nowMs = performance.now();
    if (stoppingSinceMs !== undefined) {
      if (nowMs - stoppingSinceMs > sameSignalMs) process.exit(1);
      return;
    }
    stoppingSinceMs = nowMs;
    setTimeout(() => process.exit(1), deadlineMs).unref();
    service()
      .then((started) => started.stop())
      .then(
        () => {
          onStopped();
          process.exit(exitCode);
        },
        () => process.exit(1),
      );
  };
  return Object.assign(stop, { isUnderWay: () => stoppingSinceMs !== undefined });
}

interface Stopper {
  (exitCode: number): void;
  isUnderWay(): boolean;
}

main().catch((error: unknown) => fail(error instanceof Error ? error : new Error(String(error))));
