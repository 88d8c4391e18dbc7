import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { explore, type Failure, type Scenario, scenarios, shrink } from './explore.ts';
import { type Laboratory, openLaboratory } from './laboratory.ts';
import type { Schedule } from './scheduler.ts';
import { installVirtualTimers } from './timers.ts';
import type { Without } from './world.ts';

/** A few schedules of each kind; `npm run explore` runs as many as there is time for. */

const seeds = Number(process.env.SVC_EXPLORE_SEEDS ?? 1);

let laboratory: Laboratory;
before(async () => {
  laboratory = await openLaboratory();
  installVirtualTimers();
});
after(() => laboratory.close());

describe('exploring interleavings', { concurrency: false }, () => {
  for (const scenario of scenarios) {
    it(`finds books that agree after ${scenario} under faults`, async () => {
      for (let seed = 1; seed <= seeds; seed += 1) {
        const { failure } = await explore(laboratory, seed, scenario);
        assert.equal(failure, undefined, failure && `seed ${seed}: ${failure.problems.join('; ')}`);
      }
    });
  }

  for (const scenario of scenarios) {
    it(`repeats the steps of ${scenario} exactly`, async () => {
      const first = await explore(laboratory, 5, scenario);
      const again = await explore(laboratory, 5, scenario);
      assert.deepEqual(again.trace, first.trace);
    });
  }

  it('finds a charge that is repeated after a restore when references are not derived, and shrinks it', async () => {
    const failure = await firstFailure('restore', 'references', (turn) => ({
      choices: [1, 2, 3],
      faults: new Map([
        [3, 'lost_before'],
        [turn, 'restore'],
      ]),
    }));
    assert.match(failure?.problems.join() ?? '', /was executed 2 times/);
    const shrunk = failure && (await shrink(laboratory, failure, 'references'));
    assert.deepEqual([...(shrunk?.schedule.faults.values() ?? [])], ['restore']);
  });

  it('finds a late charge that is lost when the clock of the database decides what can still arrive', async () => {
    const failure = await firstFailure('orders', 'validity', (turn) => ({
      choices: [],
      faults: new Map([
        [0, 'vault_late'],
        [turn, 'clock_forward'],
      ]),
    }));
    assert.match(failure?.problems.join() ?? '', /the acquirer has the/);
  });

  it('finds a webhook that is never delivered when lost claims are not released', async () => {
    const lost = (turn: number): Schedule => ({ choices: [], faults: new Map([[turn, 'lost_after']]) });
    const failure = await firstFailure('webhooks', 'claims', lost, 1);
    assert.match(failure?.problems.join() ?? '', /was not delivered/);
  });

  /** The turn at which a fault matters moves with the code, so some are tried. */
  async function firstFailure(
    scenario: Scenario,
    without: Without,
    scheduleFor: (turn: number) => Schedule,
    step = 4,
  ): Promise<Failure | undefined> {
    for (let turn = 16; turn <= 48; turn += step) {
      const { failure } = await explore(laboratory, 2, scenario, without, scheduleFor(turn));
      if (failure) return failure;
    }
    return undefined;
  }
});
