import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../support/seeded-random.ts';

export interface Victim {
  readonly name: string;
  /** How often it is chosen, relative to the others. */
  readonly weight: number;
  isAlive(): boolean;
  /** Kills it and arranges its restart; resolves when the restart is in progress or done. */
  strike(): Promise<void>;
}

export interface Kills {
  readonly counts: ReadonlyMap<string, number>;
  /** Resolves when the last victim runs again. */
  readonly done: Promise<void>;
}

/** Kills a process every few seconds. */
export function startKilling(
  victims: readonly Victim[],
  random: Random,
  everyMs: readonly [number, number],
  stopped: AbortSignal,
): Kills {
  const counts = new Map(victims.map(({ name }) => [name, 0]));
  const struck = new Map<Victim, Promise<void>>();

  function choose(): Victim | undefined {
    const possible = victims.filter((victim) => !struck.has(victim) && victim.isAlive());
    let draw = random.next() * possible.reduce((sum, { weight }) => sum + weight, 0);
    return possible.find(({ weight }) => (draw -= weight) < 0);
  }

  async function kill(): Promise<void> {
    for (;;) {
      await sleep(random.between(...everyMs), undefined, { signal: stopped }).catch(() => undefined);
      if (stopped.aborted) break;
      const victim = choose();
      if (!victim) continue;
      counts.set(victim.name, (counts.get(victim.name) ?? 0) + 1);
      const striking = victim.strike().finally(() => struck.delete(victim));
      struck.set(victim, striking);
      striking.catch(() => undefined);
    }
    await Promise.all(struck.values());
  }

  return { counts, done: kill() };
}
