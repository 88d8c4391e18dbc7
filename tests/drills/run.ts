import { globSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { describeFigures, type Drill, type Figure, missingPrograms, passed } from './drill.ts';
import { programPath } from './support/programs.ts';

/**
 * `npm run drill`: lists the drills. `npm run drill NAME…` runs some of them, `npm run drill all` every one, one
 * after the other. `--seed N` repeats the plan of a drill with random choices. Exits with 1 if a figure misses its target; a skipped drill does not count as a failure.
 *
 * A drill is a file in this folder that exports `drill`.
 */

const folder = fileURLToPath(new URL('.', import.meta.url));
const isDrill = (file: string): boolean => !['drill.ts', 'run.ts'].includes(file) && !file.endsWith('.test.ts');
const names = globSync('*.ts', { cwd: folder })
  .filter(isDrill)
  .map((file) => basename(file, '.ts'))
  .toSorted();

async function load(name: string): Promise<Drill> {
  const module = (await import(pathToFileURL(join(folder, `${name}.ts`)).href)) as { drill?: Drill };
  if (!module.drill) throw new Error(`tests/drills/${name}.ts exports no drill.`);
  return module.drill;
}

const missing = (drill: Drill): string[] => missingPrograms(drill, programPath);

async function list(): Promise<void> {
  const width = Math.max(...names.map((name) => name.length));
  for (const name of names) {
    const drill = await load(name);
    const absent = missing(drill);
    const needs = drill.programs.length > 0 ? ` Needs ${drill.programs.join(', ')}.` : '';
    const skipped = absent.length > 0 ? ` Skipped here: ${absent.join(', ')} absent.` : '';
    process.stdout.write(`${name.padEnd(width)}  ${drill.summary}${needs}${skipped}\n`);
  }
  process.stdout.write('\nnpm run drill NAME… | all\n');
}

async function play(name: string): Promise<boolean> {
  const drill = await load(name);
  const absent = missing(drill);
  if (absent.length > 0) {
    process.stdout.write(`${name}: SKIPPED, needs ${absent.join(', ')} on the PATH\n`);
    return true;
  }
  const stageFolder = await mkdtemp(join(tmpdir(), `svc-drill-${name}-`));
  const steps: (() => unknown)[] = [];
  let finished: Promise<void> | undefined;
  // An interrupted drill fails while its steps run: they run once, and both wait for their end.
  const finish = (): Promise<void> => {
    finished ??= (async () => {
      for (const step of steps.splice(0).toReversed()) await step();
    })();
    return finished;
  };
  const interrupted = (): void => void finish().finally(() => process.exit(130));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted);
  let figures: readonly Figure[];
  try {
    figures = await drill.run({
      folder: stageFolder,
      seed,
      ...(faults && { faults }),
      note: (text) => process.stderr.write(`${name}: ${text}\n`),
      cleanUp: (step) => steps.push(step),
    });
  } catch (error) {
    process.stderr.write(`${(error as Error).stack}\n`);
    figures = [];
  } finally {
    await finish();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted);
  }
  if (figures.length > 0) process.stdout.write(`${describeFigures(figures)}\n`);
  if (!passed(figures)) {
    process.stdout.write(`${name}: FAIL, see ${stageFolder}\n`);
    return false;
  }
  await rm(stageFolder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  process.stdout.write(`${name}: PASS\n`);
  return true;
}

const { values, positionals: asked } = parseArgs({
  options: { seed: { type: 'string' }, faults: { type: 'string' } },
  allowPositionals: true,
});
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const faults = values.faults?.split(',');
if (!Number.isSafeInteger(seed) || seed < 0) {
  process.stderr.write('--seed must be a whole number, for example --seed 7.\n');
  process.exit(1);
}
const unknown = asked.filter((name) => name !== 'all' && !names.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`There is no drill ${unknown.join(', ')}; there are: ${names.join(', ')}.\n`);
  process.exit(1);
}
if (asked.length === 0) await list();
let allPassed = true;
for (const name of asked.includes('all') ? names : asked) allPassed = (await play(name)) && allPassed;
process.exit(allPassed ? 0 : 1);
