import { globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { startTestServer } from './support/test-server.ts';

/**
 * `npm test [files…]`: starts a PostgreSQL of its own, prepares the template that each test file clones its
 * database from, and runs the test files side by side. With SVC_TEST_TIMES=1 it says which took longest.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const everything = ['server/**/*.test.ts', 'cli/**/*.test.ts', 'sdk/**/*.test.ts', 'tests/**/*.test.ts'];

// These first: the last one to end decides how long it takes.
const slowest = [
  'tests/chaos/chaos.test.ts',
  'tests/failpoints.test.ts',
  'tests/renewals.test.ts',
  'tests/start.test.ts',
  'tests/browser/card-fields.test.ts',
  'tests/browser/dashboard.test.ts',
  'tests/browser/shop.test.ts',
  'tests/guides.test.ts',
  'tests/error-responses.test.ts',
  'tests/generators/go.test.ts',
  'tests/generators/typescript.test.ts',
  'server/features/coupons/race.test.ts',
  'server/features/sandbox/clock.test.ts',
  'server/features/orders/in-doubt.test.ts',
  'server/vault/vault.test.ts',
  'server/platform/embedded-postgres/embedded-postgres.test.ts',
  'tests/hostile-input.test.ts',
  'server/vault/processors/acquirer/acquirer.test.ts',
  'server/http/lists.test.ts',
  'tests/card-numbers.test.ts',
  'tests/operators.test.ts',
  'sdk/node/retries.test.ts',
];
// One more than there are processors: many a test waits for a process to start or for a time to pass.
const concurrency = availableParallelism() + 1;

function testFiles(wanted: readonly string[]): string[] {
  if (wanted.length > 0) {
    const unknown = wanted.filter((pattern) => globSync(pattern).length === 0);
    if (unknown.length === 0) return globSync(wanted);
    process.stderr.write(`There is no such test file: ${unknown.join(', ')}\n`);
    process.exit(1);
  }
  const rank = (file: string): number => (slowest.includes(file) ? slowest.indexOf(file) : slowest.length);
  const files = globSync(everything, { cwd: root, exclude: ['**/node_modules/**'] });
  return files.sort((left, right) => rank(left) - rank(right) || left.localeCompare(right));
}

const groupMax = 8;
// Those of these folders start no processes, or few.
const sharing = /^(server|sdk|tests)\/(?!browser\/)/;

/**
 * Loading the service takes longer than many a test. Files that are not among the slowest share a process with their
 * neighbours, each as a suite of its own, so that its hooks begin and end with it.
 */
async function grouped(files: readonly string[], into: string): Promise<string[]> {
  const groups = new Map<string, string[][]>();
  for (const file of files) {
    const shares = sharing.test(file) && !slowest.includes(file);
    const key = shares ? (file.split('/')[0] ?? '') : file;
    const ofKey = groups.get(key) ?? [];
    const last = ofKey.at(-1);
    if (last && last.length < groupMax) last.push(file);
    else groups.set(key, [...ofKey, [file]]);
  }
  return Promise.all(
    [...groups.values()].flat().map(async (group, index) => {
      const [only = ''] = group;
      if (group.length === 1) return resolve(root, only);
      const suites = group.map((file) => {
        const url = pathToFileURL(resolve(root, file)).href;
        return `describe(${JSON.stringify(file)}, async () => { await import(${JSON.stringify(url)}); });`;
      });
      const path = join(into, `group-${index}.test.mjs`);
      await writeFile(path, [`import { describe } from 'node:test';`, ...suites, ''].join('\n'));
      return path;
    }),
  );
}

async function runTests(files: string[]): Promise<boolean> {
  // Some hundred processes load the same modules: what one has compiled serves the next.
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'compiled');
  // A stopped run must not leave its PostgreSQL behind: the test files end first, then the server.
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopped.abort());
  const results = run({ files, concurrency, timeout: 300_000, signal: stopped.signal });
  let passed = true;
  results.on('test:fail', () => {
    passed = false;
  });
  const times: [string, number][] = [];
  results.on('test:summary', ({ file, duration_ms }) => {
    if (file) times.push([file, duration_ms]);
  });
  await pipeline(results, new spec(), process.stdout, { end: false });
  if (process.env.SVC_TEST_TIMES) {
    const slowestFirst = times.sort(([, left], [, right]) => right - left).slice(0, 40);
    for (const [file, ms] of slowestFirst) process.stdout.write(`${(ms / 1000).toFixed(1).padStart(6)} s  ${file}\n`);
  }
  return passed && !stopped.signal.aborted;
}

let passed = false;
const files = testFiles(process.argv.slice(2));
const folder = await mkdtemp(join(tmpdir(), 'svc-tests-'));
const postgres = await startTestServer(folder);
try {
  passed = await runTests(await grouped(files, folder));
} finally {
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit(passed ? 0 : 1);
