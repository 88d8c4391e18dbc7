import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startTestServer } from '../support/test-server.ts';
import { explore, type Failure, type Scenario, scenarioOf, scenarios, shrink } from './explore.ts';
import { openLaboratory } from './laboratory.ts';
import { installVirtualTimers } from './timers.ts';
import type { Without } from './world.ts';

/**
 * `npm run explore -- [--minutes 1] [--seed N] [--count N] [--scenario NAME] [--repeat N] [--without SAFEGUARD]`:
 * explores schedules, starting with a seed, and exits with 1 if the books of one do not agree. `--seed N --count 1`
 * repeats one schedule. `--repeat N` runs each schedule N times, and exits with 1 if its steps differ.
 */

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    count: { type: 'string', default: '1000000' },
    scenario: { type: 'string' },
    repeat: { type: 'string', default: '1' },
    without: { type: 'string' },
  },
});
const only = scenarios.find((name) => name === values.scenario);
if (values.scenario && !only) throw new Error(`--scenario is one of ${scenarios.join(', ')}`);
const safeguards: readonly Without[] = ['references', 'validity', 'claims'];
const without = safeguards.find((name) => name === values.without);
if (values.without && !without) throw new Error(`--without is one of ${safeguards.join(', ')}`);

function describe({ seed, scenario, schedule, problems, trace }: Failure): string {
  const faults = [...schedule.faults].map(([turn, fault]) => `${turn} ${fault}`).join(', ');
  return [
    `seed ${seed}, ${scenario}: ${problems.join('; ')}`,
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
const startedMs = Date.now();
const deadlineMs = startedMs + Number(values.minutes) * 60_000;
try {
  const firstSeed = Number(values.seed);
  for (let seed = firstSeed; seed < firstSeed + Number(values.count) && Date.now() < deadlineMs; seed += 1) {
    const scenario: Scenario = only ?? scenarioOf(seed);
    const { failure, trace } = await explore(laboratory, seed, scenario, without);
    done += 1;
    for (let repeats = 1; repeats < Number(values.repeat); repeats += 1) {
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
process.stdout.write(`${done} schedules, ${Math.round(done / minutes)} a minute, ${failed} failed\n`);
process.exit(failed > 0 ? 1 : 0);
