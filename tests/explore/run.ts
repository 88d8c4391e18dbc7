import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCommandLine } from '../../scripts/command-line.ts';
import { startTestServer } from '../support/test-server.ts';
import { explore, type Failure, scenarioOf, shrink } from './explore.ts';
import { openLaboratory } from './laboratory.ts';
import { safeguards } from './safeguards.ts';
import { type Scenario, scenarios } from './scenarios.ts';
import { installVirtualTimers } from './timers.ts';

const { values } = readCommandLine({
  name: 'npm run explore',
  summary:
    'Explores schedules of concurrent requests and faults, and exits with 1 if the books of one do not agree. `--seed N --count 1` repeats one schedule.',
  options: {
    minutes: { type: 'number', default: 1, describe: 'How long to explore.' },
    seed: { type: 'number', describe: 'The seed of the first schedule. Default: chosen at random.' },
    count: { type: 'number', default: 1_000_000, describe: 'The most schedules to explore.' },
    scenario: { type: 'text', oneOf: scenarios, describe: 'Explores one scenario only.' },
    repeat: { type: 'number', default: 1, describe: 'Runs each schedule this often, and fails if its steps differ.' },
    without: {
      type: 'text',
      oneOf: safeguards,
      describe: 'Switches off a safeguard, to see that the books then differ.',
    },
  },
});
const { scenario: only, without } = values;

function describe({ seed, scenario, kinds, schedule, problems, trace }: Failure): string {
  const faults = [...schedule.faults].map(([turn, fault]) => `${turn} ${fault}`).join(', ');
  return [
    `seed ${seed}, ${scenario} with ${kinds.join(' and ')}: ${problems.join('; ')}`,
    `  faults: ${faults || 'none'}`,
    ...trace.map((line) => `  ${line}`),
    '',
  ].join('\n');
}

/** Returns a line that says where two runs of a schedule differ. */
function differenceOf(first: readonly string[], again: readonly string[]): string | undefined {
  const length = Math.max(first.length, again.length);
  const step = Array.from({ length }, (_, index) => index).find((index) => first[index] !== again[index]);
  return step === undefined ? undefined : `"${first[step] ?? 'the end'}" became "${again[step] ?? 'the end'}"`;
}

const folder = await mkdtemp(join(tmpdir(), 'svc-explore-'));
const postgres = await startTestServer(folder);
const laboratory = await openLaboratory();
installVirtualTimers();
let failed = 0;
let done = 0;
let steps = 0;
let firstSeed = 0;
let lastSeed = 0;
const startedMs = Date.now();
const deadlineMs = startedMs + values.minutes * 60_000;
try {
  firstSeed = values.seed ?? Date.now() % 1_000_000;
  for (let seed = firstSeed; seed < firstSeed + values.count && Date.now() < deadlineMs; seed += 1) {
    const scenario: Scenario = only ?? scenarioOf(seed);
    const { failure, trace } = await explore(laboratory, seed, scenario, without);
    done += 1;
    steps += trace.length;
    lastSeed = seed;
    for (let repeats = 1; repeats < values.repeat; repeats += 1) {
      const again = await explore(laboratory, seed, scenario, without);
      done += 1;
      const difference = differenceOf(trace, again.trace);
      if (difference === undefined) continue;
      failed += 1;
      process.stdout.write(`seed ${seed}, ${scenario}: the steps differ in repeat ${repeats}: ${difference}\n`);
    }
    if (failure) {
      failed += 1;
      process.stdout.write(describe(await shrink(laboratory, failure, without)));
    }
    if (failed >= 5) break;
  }
} finally {
  await laboratory.close();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
const minutes = (Date.now() - startedMs) / 60_000;
process.stdout.write(
  `${done} schedules with ${steps} steps, ${Math.round(done / minutes)} a minute, seeds ${firstSeed} to ${lastSeed}, ${failed} failed\n`,
);
process.exit(failed > 0 ? 1 : 0);
