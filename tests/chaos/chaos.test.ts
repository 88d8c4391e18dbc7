import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChaos } from './chaos.ts';
import { describeReport, verdict } from './report.ts';

/**
 * `npm run chaos` in half a minute, with few clients: other tests run beside it. More lies make up for the shorter time. Every
 * kind of processor has a company of its own in the same run.
 */
test('no charge is lost or made twice with killed processes, false answers or refused credentials', async (t) => {
  const seed = Date.now() % 1_000_000;
  const report = await runChaos({
    processors: ['acquirer', 'stripe', 'nmi', 'adyen'],
    seconds: 10,
    clients: 12,
    hurry: true,
    seed,
    faultRate: 0.15,
    thinkMs: 400,
    killEveryMs: [2_000, 4_000],
  });
  t.diagnostic(describeReport(report));
  assert.equal(report.violations.length, 0, verdict(report));
  assert.ok(report.diary.answers.length > 30, 'the clients got hardly anything done');
  assert.ok(report.renewals.renewals > 3, 'hardly any subscription was renewed');
});
