import { loadConfig } from './config.ts';
import { ConfigurationError } from './platform/configuration-error.ts';
import { UnusableDatabaseError } from './platform/database-error.ts';
import { createLog } from './platform/log.ts';
import { MigrationError } from './platform/migrations.ts';
import { type Service, startService } from './service.ts';
import { StartError } from './start/listen.ts';
import { welcome } from './welcome.ts';

/** `npm start`: runs the service in the roles of SVC_ROLES until a signal ends it. */

const startedAtMs = performance.now();

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const log = createLog(config.SVC_LOG_LEVEL ?? 'info');
  const stop = stopper(config.SVC_SHUTDOWN_SECONDS * 1000, () => starting);
  const starting = startService(config, log, (error) => {
    log.fatal({ err: error }, 'fatal error');
    stop(1);
  });
  process.on('SIGTERM', () => stop(0));
  process.on('SIGINT', () => stop(0));
  watchNpm(() => stop(0));
  const service = await starting;
  process.stdout.write(welcome(config, service, performance.now() - startedAtMs));
}

/**
 * A signal that reaches only npm ends npm and not its child: under npm, losing the parent process counts as the
 * signal.
 */
function watchNpm(onGone: () => void): void {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, 1_000);
  timer.unref();
}

const sameSignalMs = 1_000;

/**
 * The first signal finishes running work (including a start); a second signal or the deadline ends the process at
 * once. Under npm, Ctrl-C arrives twice, from the terminal and from npm: signals close together count as one.
 */
function stopper(deadlineMs: number, service: () => Promise<Service>): (exitCode: number) => void {
  let stoppingSinceMs: number | undefined;
  return (exitCode) => {
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
        () => process.exit(exitCode),
        () => process.exit(1),
      );
  };
}

main().catch((error: unknown) => {
  const kinds = [ConfigurationError, MigrationError, UnusableDatabaseError, StartError];
  const expected = kinds.some((kind) => error instanceof kind);
  fail(
    expected ? (error as Error).message : `The service could not start.\n${(error as Error).stack ?? String(error)}`,
  );
});
