import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { explore, type Failure, shrink } from './explore.ts';
import { type Laboratory, openLaboratory } from './laboratory.ts';
import type { Without } from './safeguards.ts';
import { type Scenario, scenarios } from './scenarios.ts';
import type { Schedule } from './scheduler.ts';
import { installVirtualTimers } from './timers.ts';

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
    it(`finds books that agree after ${scenario} under faults, and repeats its steps exactly`, async () => {
      for (let seed = 1; seed <= seeds; seed += 1) {
        const { failure, trace } = await explore(laboratory, seed, scenario);
        assert.equal(failure, undefined, failure && `seed ${seed}: ${failure.problems.join('; ')}`);
        const again = await explore(laboratory, seed, scenario);
        assert.deepEqual(again.trace, trace);
      }
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
    const failure = await firstFailure('webhooks', 'claims', lost, [40, 64, 1]);
    assert.match(failure?.problems.join() ?? '', /was not delivered/);
  });

  /** The turn at which a fault matters moves with the code, so some are tried. */
  async function firstFailure(
    scenario: Scenario,
    without: Without,
    scheduleFor: (turn: number) => Schedule,
    [from, to, step] = [16, 48, 4],
  ): Promise<Failure | undefined> {
    for (let turn = from; turn <= to; turn += step) {
      const { failure } = await explore(laboratory, 2, scenario, without, scheduleFor(turn));
      if (failure) return failure;
    }
    return undefined;
  }
});
