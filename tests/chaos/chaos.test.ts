import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChaosOptions, runChaos } from './chaos.ts';
import { describeReport, verdict } from './report.ts';

/**
 * `npm run chaos` in half a minute, with few clients: other tests run beside it. More lies make up for the shorter time.
 */
const runs: readonly (Pick<ChaosOptions, 'processors' | 'seconds' | 'clients'> & Partial<ChaosOptions>)[] = [
  { processors: ['acquirer'], seconds: 10, clients: 10, hurry: true },
  // All in one run, each with a company of its own.
  { processors: ['stripe', 'nmi', 'adyen'], seconds: 6, clients: 9, hurry: true },
];

for (const run of runs) {
  const names = run.processors.join(', ');
  test(`killed processes and a lying processor neither charge twice nor lose an order: ${names}`, async (t) => {
    const seed = Date.now() % 1_000_000;
    const report = await runChaos({ ...run, seed, faultRate: 0.15, thinkMs: 400, killEveryMs: [2_000, 4_000] });
    t.diagnostic(describeReport(report));
    assert.equal(report.violations.length, 0, verdict(report));
    assert.ok(report.diary.answers.length > 30, 'the clients got hardly anything done');
  });
}
