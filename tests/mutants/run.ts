import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readCommandLine } from '../../scripts/command-line.ts';
import { fastestFolder } from '../support/fastest-folder.ts';
import { startTestServer } from '../support/test-server.ts';
import { finderGroups } from './finders.ts';
import { listMutants } from './list.ts';
import { type Mutant, nameOf } from './mutant.ts';
import { cellOf, type Finder, readResults, redundancyOf, type Result, writeResults } from './results.ts';
import { dropLeftDatabases, makeTemplate } from './template.ts';
import { firstFailure } from './test-run.ts';

const { values } = readCommandLine({
  name: 'npm run mutants',
  summary:
    'Takes out each rule of operations and recovery in turn and runs tests until one fails: CHECKs, unique indexes, conditions, rows of tables. Writes tests/mutants/mutants.md, and exits with 1 if no test finds one.',
  options: {
    only: { type: 'text', default: '', describe: 'Only rules whose place and text match this pattern.' },
    changed: { type: 'flag', describe: 'Only rules that the list does not have, or that no test has found.' },
    list: { type: 'flag', describe: 'Prints the rules, and runs nothing.' },
    quick: {
      type: 'flag',
      describe: 'Runs the quick test files only. The list keeps what they do not find as it was.',
    },
    file: { type: 'text', default: '', describe: 'Runs this test file only, likewise.' },
  },
});

const mutants = await listMutants();
const earlier = readResults();
const wanted = mutants.filter(
  (mutant) => new RegExp(values.only).test(nameOf(mutant)) && !(values.changed && earlier.get(nameOf(mutant))),
);

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Both are read again for each: two runs for different rules may write the list, and the sources may change. */
async function keep(mutant: Mutant, found: Result): Promise<void> {
  const listed = await listMutants();
  writeResults(listed, readResults().set(nameOf(mutant), found));
}

const unreliable = new Set<string>();
const reliable = new Set<string>();

const lastFinder = (mutant: Mutant): string | undefined => {
  const result = earlier.get(nameOf(mutant));
  return result && 'file' in result ? result.file : undefined;
};

async function findOut(mutant: Mutant, folder: string): Promise<Finder | undefined> {
  const change = 'file' in mutant.change ? mutant.change : undefined;
  const groups = finderGroups(mutant, lastFinder(mutant), readResults());
  const quick = values.quick ? groups.slice(0, 2) : groups;
  for (const group of values.file ? [[values.file]] : quick) {
    for (let files = group.filter((file) => !unreliable.has(file)); files.length > 0; ) {
      await makeTemplate(server, 'sql' in mutant.change ? mutant.change.sql : '');
      const failed = await firstFailure({ files, change, folder });
      if (!failed) break;
      if (await passes(failed.file, folder)) return failed;
      files = files.filter((file) => file !== failed.file);
    }
  }
  return undefined;
}

/** A file that also fails without a mutant finds nothing. */
async function passes(file: string, folder: string): Promise<boolean> {
  if (reliable.has(file)) return true;
  await makeTemplate(server);
  const failed = await firstFailure({ files: [file], folder });
  (failed ? unreliable : reliable).add(file);
  if (failed) print(`${file} fails without a mutant: ${failed.test}`);
  return !failed;
}

let server = '';
let survivors = 0;
let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isStopped = true;
  });
}

async function tryOut(mutant: Mutant, folder: string): Promise<void> {
  const startedMs = Date.now();
  const found = redundancyOf(mutant) ?? (await findOut(mutant, folder));
  await dropLeftDatabases(server);
  if (isStopped) return;
  if (found || !(values.quick || values.file)) await keep(mutant, found);
  if (!found) survivors += 1;
  const seconds = Math.round((Date.now() - startedMs) / 1000);
  print(`${seconds} s ${nameOf(mutant)}\n    ${cellOf(found)}`);
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(await fastestFolder(), 'svc-mutants-'));
  await chmod(folder, 0o711);
  const postgres = await startTestServer(folder);
  server = postgres.connectionString;
  try {
    for (const mutant of wanted) if (!isStopped) await tryOut(mutant, folder);
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
  print(`${wanted.length} rules taken out, ${survivors} not found`);
}

if (values.list) for (const mutant of wanted) print(`${mutant.kind} ${nameOf(mutant)}`);
else await main();
process.exit(survivors > 0 ? 1 : 0);
