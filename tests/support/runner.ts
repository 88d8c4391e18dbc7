import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Runs test files in parallel, several per process, and repeats those that failed. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const durationsFile = join(root, 'tests', 'durations.json');
const seconds = JSON.parse(readFileSync(durationsFile, 'utf8')) as Record<string, number>;
const secondsOfNewFile = 3;
// A file that takes this long runs in its own process; shorter ones share a process up to this time.
const processSecondsMax = 60;
const filesPerProcessMax = 24;
// One more than the number of processors: many tests wait for a process to start or for time to pass.
const concurrency = availableParallelism() + 1;
// More failures than this are not flakiness, and a second run would only delay the report.
const rerunMax = 10;

const secondsOf = (files: readonly string[]): number =>
  files.reduce((total, file) => total + (seconds[file] ?? secondsOfNewFile), 0);

/**
 * Loading the service takes longer than many tests, so short files share a process. The longest process starts first,
 * because the last one to end determines the duration of the run.
 */
function grouped(files: readonly string[]): string[][] {
  const groups: string[][] = [];
  const open = new Map<string, string[]>();
  for (const file of files) {
    const folder = file.split('/')[0] ?? '';
    const shares = secondsOf([file]) < processSecondsMax;
    const group = shares ? open.get(folder) : undefined;
    if (group && group.length < filesPerProcessMax && secondsOf([...group, file]) <= processSecondsMax)
      group.push(file);
    else {
      const next = [file];
      groups.push(next);
      if (shares) open.set(folder, next);
    }
  }
  return groups.toSorted((left, right) => secondsOf(right) - secondsOf(left));
}

/**
 * Creates the program that runs the files of a group, each as its own suite, so that its hooks begin and end with it.
 */
async function programOf(files: readonly string[], path: string): Promise<string> {
  const [only = ''] = files;
  if (files.length === 1) return resolve(root, only);
  const suites = files.map((file) => {
    const url = pathToFileURL(resolve(root, file)).href;
    return `describe(${JSON.stringify(file)}, async () => { await import(${JSON.stringify(url)}); });`;
  });
  await writeFile(path, [`import { describe } from 'node:test';`, ...suites, ''].join('\n'));
  return path;
}

// A stopped run must not leave its PostgreSQL behind: the test files end first, then the server.
const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopped.abort());
// About a hundred processes load the same modules, so they share the compile cache.
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'compiled');

interface Outcome {
  failed: string[];
  seconds: Record<string, number>;
}

async function runTests(groups: readonly string[][], folder: string, concurrent: number): Promise<Outcome> {
  const programs = await Promise.all(
    groups.map((files, index) => programOf(files, join(folder, `group-${index}.test.mjs`))),
  );
  const filesOf = (program = ''): readonly string[] => groups[programs.indexOf(program)] ?? [];
  const failed = new Set<string>();
  const took: Record<string, number> = {};
  const results = run({ files: programs, concurrency: concurrent, timeout: 300_000, signal: stopped.signal });
  results.on('test:fail', ({ nesting, name, file }) => {
    if (nesting > 0) return;
    // A failed suite has the name of its file. Anything else, such as a crash, concerns the whole process.
    const files = filesOf(file);
    for (const each of files.includes(name) ? [name] : files) failed.add(each);
  });
  const keepDuration = (file: string, durationMs: number): void => {
    took[file] = Math.ceil(durationMs / 1000);
  };
  results.on('test:pass', ({ nesting, name, file, details }) => {
    if (nesting === 0 && filesOf(file).includes(name)) keepDuration(name, details.duration_ms);
  });
  results.on('test:summary', ({ file, duration_ms }) => {
    const files = filesOf(file);
    if (files.length === 1) keepDuration(files[0] ?? '', duration_ms);
  });
  await pipeline(results, new spec(), process.stdout, { end: false });
  return { failed: [...failed].toSorted(), seconds: took };
}

function saveDurations(took: Record<string, number>): void {
  const merged = Object.entries({ ...seconds, ...took }).filter(([file]) => existsSync(join(root, file)));
  merged.sort(([left], [right]) => left.localeCompare(right));
  writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(merged), null, 2)}\n`);
}

function listFiles(title: string, files: readonly string[]): void {
  if (files.length === 0) return;
  const line = '='.repeat(title.length);
  process.stdout.write(`\n${line}\n${title}\n${line}\n${files.map((file) => `  ${file}\n`).join('')}`);
}

export interface RunOptions {
  readonly rerunFailed?: boolean | undefined;
  readonly saveDurations?: boolean | undefined;
}

/**
 * Returns whether all of these files passed; paths are relative to the root of the repository. `folder` holds the
 * output of the run.
 */
export async function runTestFiles(files: readonly string[], folder: string, options: RunOptions): Promise<boolean> {
  const first = await runTests(grouped(files), folder, concurrency);
  if (options.saveDurations) saveDurations(first.seconds);
  const rerun = options.rerunFailed && first.failed.length <= rerunMax && !stopped.signal.aborted;
  if (first.failed.length === 0 || !rerun) {
    listFiles('FAILED', first.failed);
    return first.failed.length === 0 && !stopped.signal.aborted;
  }
  listFiles('These test files failed and run again, one after another', first.failed);
  const second = await runTests(
    first.failed.map((file) => [file]),
    folder,
    1,
  );
  listFiles(
    'FLAKY: these test files failed, and passed when run alone',
    first.failed.filter((file) => !second.failed.includes(file)),
  );
  listFiles('FAILED twice', second.failed);
  return second.failed.length === 0 && !stopped.signal.aborted;
}
