import { ConfigurationError, loadConfig } from './config.ts';
import { createLog } from './platform/log.ts';
import { NewerDatabaseError } from './platform/migrations.ts';
import { AlreadyRunningError, type Service, startService } from './service.ts';
import { welcome } from './welcome.ts';

/** `npm start`: the service in the roles SVC_ROLES names, until a signal ends it. */

const startedAtMs = performance.now();

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const log = createLog(config.SVC_LOG_LEVEL ?? 'info');
  let service: Service | undefined;
  const stop = stopper(config.SVC_SHUTDOWN_SECONDS * 1000, () => service);
  process.on('SIGTERM', () => stop(0));
  process.on('SIGINT', () => stop(0));
  service = await startService(config, log, (error) => {
    log.fatal({ err: error }, 'cannot go on');
    stop(1);
  });
  process.stdout.write(welcome(service, performance.now() - startedAtMs));
}

/** The first signal finishes what runs, a second one or the deadline ends at once. */
function stopper(deadlineMs: number, current: () => Service | undefined): (exitCode: number) => void {
  let stopping = false;
  return (exitCode) => {
    if (stopping) process.exit(1);
    stopping = true;
    setTimeout(() => process.exit(1), deadlineMs).unref();
    (current()?.stop() ?? Promise.resolve()).then(
      () => process.exit(exitCode),
      () => process.exit(1),
    );
  };
}

main().catch((error: unknown) => {
  const expected = [ConfigurationError, NewerDatabaseError, AlreadyRunningError].some((kind) => error instanceof kind);
  fail(
    expected ? (error as Error).message : `The service could not start.\n${(error as Error).stack ?? String(error)}`,
  );
});
