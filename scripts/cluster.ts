import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { freePorts } from '../tests/chaos/chaos.ts';
import { startCluster } from '../tests/support/local-cluster.ts';
import { seededRandom } from '../tests/support/seeded-random.ts';

/**
 * `npm run cluster`: the service on three PostgreSQL servers, with two APIs, two workers and a vault, for development.
 * It listens on PORT (default 3000) of this machine only, and keeps its data in `$SVC_DATA_DIR/cluster`.
 */

const folder = resolve(process.env.SVC_DATA_DIR ?? '.svc', 'cluster');
const steps: (() => unknown)[] = [];
let stopping: Promise<void> | undefined;

const print = (...lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`);

async function finish(): Promise<void> {
  for (const step of steps.splice(0).toReversed()) await step();
}

function stop(code: number): void {
  stopping ??= finish().finally(() => process.exit(code));
}

async function masterSecret(): Promise<string> {
  const file = join(folder, 'master.secret');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const secret = randomBytes(32).toString('hex');
  await writeFile(file, secret, { mode: 0o600, flag: 'wx' }).catch(() => undefined);
  return readFile(file, 'utf8');
}

async function main(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop(0));
  print('Starting three PostgreSQL servers, two APIs, two workers and a vault …');
  const { url, apiUrls, shards, environment } = await startCluster({
    folder,
    ports: [Number(process.env.PORT ?? 3000), ...(await freePorts(seededRandom(process.pid), 6))],
    masterSecret: await masterSecret(),
    settings: { SVC_DEMO: '1' },
    cleanUp: (step) => steps.push(step),
    onEnd(problem) {
      if (!stopping) print(`! ${problem}`);
    },
  });
  const demo = JSON.parse(await readFile(join(environment.SVC_DATA_DIR ?? '', 'demo.json'), 'utf8'));
  print(
    '',
    `  Dashboard   ${url}/   (${demo.email}, password ${demo.password})`,
    `  API         ${url}/v1, in turn at ${apiUrls.join(' and ')}`,
    `  Secret key  ${demo.secret_key}`,
    ...[...shards].map(([name, { connectionString }]) => `  Shard ${name}     ${connectionString}`),
    `  Logs, data  ${folder}`,
    '',
    '  For svc commands:',
    ...['DATABASE_URL', 'SVC_SHARDS', 'SVC_MASTER_SECRET', 'SVC_DATA_DIR'].map(
      (name) => `  export ${name}='${environment[name]}'`,
    ),
    '',
    '  Ctrl-C stops everything.',
  );
}

main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  stop(1);
});
