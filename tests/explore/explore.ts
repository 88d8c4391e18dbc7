import { seededRandom } from '../support/seeded-random.ts';
import type { KindPair, Laboratory } from './laboratory.ts';
import type { Without } from './safeguards.ts';
import { kindsOf, playOf, type Scenario, scenarios } from './scenarios.ts';
import type { FaultKind, Schedule } from './scheduler.ts';
import { World } from './world.ts';

/** Creates schedules from seeds, runs them, compares the books, and shrinks a schedule that fails. */

export interface Failure {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly kinds: KindPair;
  readonly schedule: Schedule;
  readonly problems: readonly string[];
  readonly trace: readonly string[];
}

const turnsWithFaults = 120;

export const scenarioOf = (seed: number): Scenario => scenarios[seed % scenarios.length] as Scenario;

function scheduleOf(seed: number, scenario: Scenario): Schedule {
  const random = seededRandom(seed * 7_919 + 17);
  const { faults: kinds, always } = playOf(scenario);
  const choices = Array.from({ length: turnsWithFaults }, () => random.between(0, 11));
  const faults = new Map<number, FaultKind>();
  const count = random.between(1, 6);
  while (faults.size < count) faults.set(random.between(0, turnsWithFaults - 1), random.pick(kinds));
  if (always) faults.set(random.between(...always.turns), random.pick(always.faults));
  return { choices, faults };
}

export interface Explored {
  readonly trace: readonly string[];
  /** Undefined if the books agree. */
  readonly failure: Failure | undefined;
}

export async function explore(
  laboratory: Laboratory,
  seed: number,
  scenario = scenarioOf(seed),
  without?: Without,
  schedule = scheduleOf(seed, scenario),
): Promise<Explored> {
  const kinds = kindsOf(seed, scenario);
  const play = playOf(scenario);
  const random = seededRandom(seed);
  const world = await World.open(laboratory, { schedule, kinds, random, without, ...play.options });
  try {
    await play.run(world, seededRandom(seed));
    return ended(await world.problems());
  } catch (error) {
    return ended([String(error)]);
  } finally {
    await world.close();
  }

  function ended(problems: readonly string[]): Explored {
    const { trace } = world.scheduler;
    const failure = { seed, scenario, kinds, schedule, problems, trace };
    return { trace, failure: problems.length === 0 ? undefined : failure };
  }
}

/** Removes faults and choices as long as the schedule still fails. */
export async function shrink(laboratory: Laboratory, failure: Failure, without?: Without): Promise<Failure> {
  const { seed, scenario } = failure;
  let best = failure;
  const attempt = async (schedule: Schedule): Promise<boolean> => {
    const { failure: found } = await explore(laboratory, seed, scenario, without, schedule);
    if (found) best = found;
    return found !== undefined;
  };
  for (let shrunk = true; shrunk; ) {
    shrunk = false;
    for (const turn of best.schedule.faults.keys()) {
      const faults = new Map([...best.schedule.faults].filter(([other]) => other !== turn));
      if (await attempt({ ...best.schedule, faults })) shrunk = true;
    }
  }
  for (let length = 0; length < best.schedule.choices.length; length = Math.max(length * 2, 1)) {
    if (await attempt({ ...best.schedule, choices: best.schedule.choices.slice(0, length) })) break;
  }
  return best;
}
