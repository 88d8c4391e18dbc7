import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { programOf } from './test-program.ts';

/** Runs test files in parallel, several per process, and repeats those that failed. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const durationsFile = join(root, 'tests', 'durations.json');
const seconds = JSON.parse(readFileSync(durationsFile, 'utf8')) as Record<string, number>;
const secondsOfNewFile = 3;
// A file that takes this long runs in its own process; shorter ones share a process up to this time. Each process takes two
// seconds of processor time to load the service and to get as fast as it can; too few processes end at different times.
const processSecondsMax = 90;
// They use little processor time, so a process that loads the service again costs more than one that ends later.
const waitingSecondsMax = 120;
const filesPerProcessMax = 40;
// One more than the number of processors: many tests wait for a process to start or for time to pass.
const concurrency = availableParallelism() + 1;
/**
 * Files that wait most of the time: for timeouts, for processes, for time to pass. They run two at a time beside the others
 * and use the processors while those wait.
 */
const waitingFiles = new Set([
  'cli/listen.test.ts',
  'sdk/node/retries.test.ts',
  'server/features/orders/recovery/in-doubt.test.ts',
  'server/features/orders/recovery/lost-answers.test.ts',
  'server/features/webhooks/changes.test.ts',
  'server/features/webhooks/concurrency.test.ts',
  'server/features/webhooks/shared-hosts.test.ts',
  'server/features/webhooks/deliveries.test.ts',
  'server/http/discard.test.ts',
  'server/platform/database.test.ts',
  'server/vault/processors/acquirer/acquirer.test.ts',
  'server/vault/processors/nmi/service.test.ts',
  'tests/chaos/chaos.test.ts',
  'tests/clocks.test.ts',
  'tests/dead-connections.test.ts',
  'tests/error-responses.test.ts',
  'tests/hostile-input.test.ts',
  'tests/deployments/process-end.test.ts',
  'tests/deployments/replica.test.ts',
  'tests/deployments/shards.test.ts',
  'tests/unfinished-bodies.test.ts',
]);
// For a whole process: a hanging test ends it. A run with SVC_TEST_ROUNDS takes as long as it needs, within reason.
const processTimeoutMs = Number(process.env.SVC_TEST_ROUNDS ?? 1) > 1 ? 6 * 3_600_000 : 600_000;
// More failures than this are not flakiness, and a second run would only delay the report.
const rerunMax = 10;
// A flaky file is a bug, of the test or of the product. A run with more of them than this fails.
const flakyMax = 3;

const secondsOf = (files: readonly string[]): number =>
  files.reduce((total, file) => total + (seconds[file] ?? secondsOfNewFile), 0);

/**
 * Loading the service takes longer than many tests, so short files share a process. The longest process starts first,
 * because the last one to end determines the duration of the run.
 */
function packed(files: readonly string[], secondsMax: number): string[][] {
  const folderOf = (file = ''): string => file.split('/')[0] ?? '';
  const groups: string[][] = [];
  for (const file of files) {
    const fitting = groups.find(
      (group) =>
        folderOf(group[0]) === folderOf(file) &&
        group.length < filesPerProcessMax &&
        secondsOf([...group, file]) <= secondsMax,
    );
    if (fitting) fitting.push(file);
    else groups.push([file]);
  }
  return groups;
}

function grouped(files: readonly string[], secondsMax: number, onTwoShards: ReadonlySet<string>): Group[] {
  return [false, true]
    .flatMap((twoShards) => {
      const ones = files.filter((file) => onTwoShards.has(file) === twoShards);
      return packed(ones, secondsMax).map((group) => ({ files: group, twoShards }));
    })
    .toSorted((left, right) => secondsOf(right.files) - secondsOf(left.files));
}

// A stopped run must not leave its PostgreSQL behind: the test files end first, then the server.
const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopped.abort());
// About a hundred processes load the same modules, so they share the compile cache.
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'compiled');

/** Test files, each with the names of its failed tests: `suite › suite › test`. None if the whole process failed. */
type Failures = ReadonlyMap<string, readonly string[]>;

interface Outcome {
  readonly failed: Failures;
  readonly seconds: Record<string, number>;
}

interface Failure {
  readonly nesting: number;
  readonly name: string;
  readonly file?: string | undefined;
  /** The suites around the test, and its name; empty for a suite that failed only because of its tests. */
  readonly path: readonly string[];
}

function watchFailures(results: ReturnType<typeof run>, onFail: (failure: Failure) => void): void {
  const around: string[] = [];
  // The events come in the order in which the tests are written, also if these run at the same time.
  results.on('test:start', ({ nesting, name }) => {
    around.splice(nesting, Infinity, name);
  });
  results.on('test:fail', ({ nesting, name, file, details }) => {
    const isOfTests = (details.error as Error & { failureType?: string }).failureType === 'subtestsFailed';
    onFail({ nesting, name, file, path: isOfTests ? [] : [...around.slice(0, nesting), name] });
  });
}

/** Files that share a process. */
interface Group {
  readonly files: readonly string[];
  readonly twoShards: boolean;
}

/** Groups that run side by side, up to a number at a time. */
interface Lane {
  readonly groups: readonly Group[];
  readonly concurrent: number;
}

function lanesOf(files: readonly string[], waitingOnes: ReadonlySet<string>, onTwoShards: ReadonlySet<string>): Lane[] {
  const waiting = files.filter((file) => waitingOnes.has(file));
  const others = files.filter((file) => !waitingOnes.has(file));
  return [
    { groups: grouped(others, processSecondsMax, onTwoShards), concurrent: concurrency },
    { groups: grouped(waiting, waitingSecondsMax, onTwoShards), concurrent: 2 },
  ].filter(({ groups }) => groups.length > 0);
}

type TestEvent = { readonly type: string; readonly data: object };

/** Returns the events of one lane after the other, and the sum of their counts at the end. */
async function* inOrder(lanes: readonly AsyncIterable<TestEvent>[]): AsyncGenerator<TestEvent> {
  const sums = new Map<string, number>();
  for (const events of lanes) {
    for await (const event of events) {
      const { file, message = '' } = event.data as { file?: string; message?: string };
      if (event.type === 'test:diagnostic' && file === undefined) {
        const [name = '', value] = message.split(' ');
        const sum = sums.get(name) ?? 0;
        sums.set(name, name === 'duration_ms' ? Math.max(sum, Number(value)) : sum + Number(value));
      } else if (event.type !== 'test:summary' || file !== undefined) yield event;
    }
  }
  for (const [name, value] of sums)
    yield { type: 'test:diagnostic', data: { nesting: 0, message: `${name} ${value}`, level: 'info' } };
}

async function runTests(lanes: readonly Lane[], folder: string): Promise<Outcome> {
  const groups = lanes.flatMap((lane) => lane.groups);
  const programs = await Promise.all(
    groups.map(({ files, twoShards }, index) => programOf(files, join(folder, `group-${index}.test.mjs`), twoShards)),
  );
  const filesOf = (program = ''): readonly string[] => groups[programs.indexOf(program)]?.files ?? [];
  const failed = new Map<string, string[]>();
  const took: Record<string, number> = {};
  const keepDuration = (file: string, durationMs: number): void => {
    took[file] = Math.ceil(durationMs / 1000);
  };
  const streams = lanes.map((lane) => {
    const files = lane.groups.map((group) => programs[groups.indexOf(group)] ?? '');
    const results = run({ files, concurrency: lane.concurrent, timeout: processTimeoutMs, signal: stopped.signal });
    watchFailures(results, ({ nesting, name, file, path: [testFile = '', ...names] }) => {
      if (names.length > 0) failed.set(testFile, [...(failed.get(testFile) ?? []), names.join(' › ')]);
      if (nesting > 0) return;
      // A failed suite has the name of its file. Anything else, such as a crash, concerns the whole process.
      const members = filesOf(file);
      for (const each of members.includes(name) ? [name] : members) failed.set(each, failed.get(each) ?? []);
    });
    results.on('test:pass', ({ nesting, name, file, details }) => {
      if (nesting === 0 && filesOf(file).includes(name)) keepDuration(name, details.duration_ms);
    });
    return results as AsyncIterable<TestEvent>;
  });
  await pipeline(inOrder(streams), new spec(), process.stdout, { end: false });
  return { failed, seconds: took };
}

function saveDurations(took: Record<string, number>): void {
  const merged = Object.entries({ ...seconds, ...took }).filter(([file]) => existsSync(join(root, file)));
  merged.sort(([left], [right]) => left.localeCompare(right));
  writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(merged), null, 2)}\n`);
}

function list(title: string, failures: Failures): void {
  if (failures.size === 0) return;
  const line = '='.repeat(title.length);
  const files = [...failures]
    .toSorted(([left], [right]) => left.localeCompare(right))
    .flatMap(([file, tests]) => [`  ${file}\n`, ...tests.map((name) => `    ${name}\n`)]);
  process.stdout.write(`\n${line}\n${title}\n${line}\n${files.join('')}`);
}

const subset = (failures: Failures, isWanted: (file: string) => boolean): Failures =>
  new Map([...failures].filter(([file]) => isWanted(file)));

export interface RunOptions {
  readonly rerunFailed?: boolean | undefined;
  readonly saveDurations?: boolean | undefined;
  readonly waiting?: ReadonlySet<string>;
  /** The files whose companies are on a second shard. */
  readonly onTwoShards?: ReadonlySet<string>;
}

/**
 * Returns whether all of these files passed; paths are relative to the root of the repository. `folder` holds the
 * output of the run.
 */
export async function runTestFiles(files: readonly string[], folder: string, options: RunOptions): Promise<boolean> {
  const onTwoShards = options.onTwoShards ?? new Set();
  const first = await runTests(lanesOf(files, options.waiting ?? waitingFiles, onTwoShards), folder);
  if (options.saveDurations) saveDurations(first.seconds);
  const rerun = options.rerunFailed && first.failed.size <= rerunMax && !stopped.signal.aborted;
  if (first.failed.size === 0 || !rerun) {
    list('FAILED', first.failed);
    return first.failed.size === 0 && !stopped.signal.aborted;
  }
  list('These test files failed and run again, one after another', first.failed);
  const groups = [...first.failed.keys()].map((file) => ({ files: [file], twoShards: onTwoShards.has(file) }));
  const alone = { groups, concurrent: 1 };
  const second = await runTests([alone], folder);
  const flaky = subset(first.failed, (file) => !second.failed.has(file));
  const isTooFlaky = flaky.size > flakyMax;
  const limit = isTooFlaky ? `. More than ${flakyMax} fail the run` : '';
  list(`FLAKY: these test files failed, and passed when run alone${limit}`, flaky);
  list('FAILED twice', second.failed);
  return second.failed.size === 0 && !isTooFlaky && !stopped.signal.aborted;
}
