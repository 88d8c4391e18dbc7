import { spawn } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { programOf } from '../support/test-program.ts';
import type { Line } from './first-failure.ts';
import { root, type SourceChange } from './mutant.ts';
import type { Finder } from './results.ts';

/** Runs test files in one process until a test fails. */

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
/** With a mutant, a test may wait for what never happens. */
const limitMs = 240_000;

export interface TestRun {
  readonly files: readonly string[];
  readonly change?: SourceChange | undefined;
  /** For what the tests leave behind. */
  readonly folder: string;
}

function environment(change: SourceChange | undefined, tmp: string): NodeJS.ProcessEnv {
  const edited = change && { ...change, url: pathToFileURL(root + change.file).href };
  return {
    ...process.env,
    TMPDIR: tmp,
    NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled'),
    SVC_EXPLORE_SEEDS: '6',
    ...(edited && {
      // The tests start processes, which are changed too.
      NODE_OPTIONS: `--import=${pathToFileURL(file('hook.ts')).href}`,
      SVC_MUTANT: JSON.stringify(edited),
    }),
  };
}

/** Returns the first test that failed; undefined if all passed. */
export async function firstFailure({ files, change, folder }: TestRun): Promise<Finder | undefined> {
  const tmp = join(folder, 'tmp');
  await mkdir(tmp, { recursive: true });
  const program = await programOf(files, join(folder, 'mutant.test.mjs'));
  const child = spawn(process.execPath, ['--test-reporter', file('first-failure.ts'), program], {
    cwd: root,
    env: environment(change, tmp),
    // It ends together with the processes that it started.
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', resolve);
  });
  const end = (): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  };
  const timer = setTimeout(end, limitMs);
  let current = files[0] ?? '';
  try {
    for await (const text of createInterface({ input: child.stdout })) {
      const { path, hasFailed } = parsed(text) ?? { path: [current], hasFailed: false };
      current = path[0] ?? current;
      if (hasFailed) return { file: current, test: path.slice(1).join(' › ') };
    }
    return (await exited) === 0 ? undefined : { file: current, test: 'the process ends, or does not end' };
  } finally {
    clearTimeout(timer);
    end();
    await exited;
    await rm(tmp, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Tests may print other lines. */
function parsed(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Partial<Line>;
    return Array.isArray(line.path) ? (line as Line) : undefined;
  } catch {
    return undefined;
  }
}
