import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { World } from './plan-changes/world.ts';
import { isLongRun, rounds } from './support/random.ts';
import { seededRandom } from './support/seeded-random.ts';
import { startTestService, type TestService } from './support/service.ts';

/**
 * Random lives of subscriptions against an independent model of docs/plan-changes.md and docs/credit.md, to the cent: `SVC_TEST_ROUNDS=170 npm test
 * tests/plan-changes.test.ts` lives 20,000 of them. A failure names its seed.
 */

const livesOfWorld = 40;
const steps = 6;
const firstSeed = Number(process.env.SVC_TEST_SEED ?? 1);

const wanted = ['difference', 'restart', 'declined', 'retried', 'scheduled', 'refund', 'dispute', 'resume'];
const ofCredit = [
  'grant',
  'take back',
  'paid by credit',
  'paid in part by credit',
  'refund to credit',
  'customer deleted',
];

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

it('charges, credits and dates what the guide says', async () => {
  const worlds = rounds(3);
  const counts = new Map<string, number>();
  const startedMs = performance.now();
  let lives = 0;
  for (let seed = firstSeed; seed < firstSeed + worlds; seed += 1) {
    const world = await World.open(service, seededRandom(seed), livesOfWorld);
    await world.run(steps).catch((error: unknown) => {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    });
    lives += world.lives;
    for (const [what, count] of world.counts) counts.set(what, (counts.get(what) ?? 0) + count);
  }
  assert.equal(lives, worlds * livesOfWorld);
  for (const what of [...wanted, ...ofCredit]) {
    assert.ok((counts.get(what) ?? 0) > 0, `no life had ${what}`);
  }
  if (isLongRun) {
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    process.stderr.write(`${lives} lives in ${seconds} s: ${JSON.stringify(Object.fromEntries(counts))}\n`);
  }
});
