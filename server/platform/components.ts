import { secondMs } from './durations.ts';
import { inTime, withinTime } from './in-time.ts';
import type { Logger } from './log.ts';
import type { catalogue } from './metric-catalogue.ts';
import { type Outages, openOutages } from './outages.ts';

/**
 * The parts of an installation that a process uses, and whether it can use them now. The state of a part is the result of
 * its last use with the credentials of this process, so a part that was not used yet has none. `/readyz`, `/metrics`
 * and `svc status` show the states.
 */
export type Component = (typeof catalogue)['svc_component_up']['labels']['component'][number];

/**
 * A problem in words that anyone may read: it names no address, no login and no secret. The log and the commands also show
 * its cause.
 */
export class PlainProblem extends Error {}

/** Says in words that a part refuses the credentials of this process; leaves other errors as they are. */
export const inWords =
  (isRefusal: (error: unknown) => boolean, words: string) =>
  (error: unknown): Error => {
    if (isRefusal(error)) return new PlainProblem(words, { cause: error });
    return error instanceof Error ? error : new Error(String(error));
  };

/** For operators. */
export function withCause({ message, cause }: Error): string {
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

interface WatchedShard {
  readonly name: string;
  /** A shard that rests is not watched. */
  isUsed(): boolean;
}

export interface Components {
  /** Records the result of a use: undefined if it succeeded. */
  note(component: Component, problem: Error | undefined): void;
  /**
   * Uses a part now and regularly, as the service uses it: with the same credentials, and for the same rights. A use that
   * fails or takes too long means that the part is down. A further shard is only logged: `svc_shard_up` shows it.
   */
  watch(component: Component, use: () => Promise<unknown>, everyMs: number, shard?: WatchedShard): void;
  /** Whether the part is down now, so that an error of it is no second problem. Uses it once more if it was up. */
  explains(component: Component): Promise<boolean>;
  /** Resolves when every part that is watched has been used once, or after a moment. */
  used(): Promise<void>;
  /** The problem of each part in words; undefined for one that can be used. */
  states(): ReadonlyMap<Component, string | undefined>;
  stop(): void;
}

/** How `/readyz` describes a part whose error is not in words. */
const usualProblems: Readonly<Record<Component, string>> = {
  database: 'the database does not respond',
  vault: 'the vault does not respond',
  processor: 'a processor does not answer',
  object_store: 'the object store cannot be used',
  mail: 'the mail server cannot be used',
  rate_limit_store: 'the shared store of the rate limits cannot be used',
  replica: 'a replica is not used',
};

/** A mail server may take long to greet. */
const useMs = 20 * secondMs;
const firstUseMs = 2 * secondMs;

interface Part {
  readonly component: Component;
  readonly shard: string | undefined;
  readonly outages: Outages;
  look(): Promise<void>;
}

export function openComponents(log: Pick<Logger, 'info' | 'error'>, nowMs?: () => number): Components {
  const states = new Map<Component, string | undefined>();
  const parts: Part[] = [];
  const firstUses: Promise<void>[] = [];
  const timers: NodeJS.Timeout[] = [];
  let isStopped = false;

  function partOf(component: Component, shard?: string): Part {
    const known = parts.find((part) => part.component === component && part.shard === shard);
    if (known) return known;
    const name = shard === undefined ? component : `${component} of the shard ${shard}`;
    const outages = openOutages(log, name, { component, shard }, nowMs);
    const part: Part = { component, shard, outages, look: async () => undefined };
    parts.push(part);
    return part;
  }

  function note({ component, shard, outages }: Part, problem: Error | undefined): void {
    // A stop closes connections that a check uses.
    if (isStopped) return;
    if (shard === undefined) {
      const words = problem instanceof PlainProblem ? problem.message : usualProblems[component];
      states.set(component, problem && words);
    }
    outages.note(problem && withCause(problem));
  }

  return {
    note: (component, problem) => note(partOf(component), problem),
    watch(component, use, everyMs, shard) {
      const part = partOf(component, shard?.name);
      let underWay: Promise<void> | undefined;
      part.look = async () => {
        if (shard?.isUsed() === false) return undefined;
        // A part that hangs is not used a second time meanwhile.
        underWay ??= withinTime(use(), useMs)
          .then(
            () => note(part, undefined),
            (error: unknown) => note(part, error instanceof Error ? error : new Error(String(error))),
          )
          .finally(() => {
            underWay = undefined;
          });
        return underWay;
      };
      firstUses.push(part.look());
      timers.push(setInterval(() => void part.look(), everyMs).unref());
    },
    async explains(component) {
      const found = parts.filter((part) => part.component === component);
      if (!found.some(({ outages }) => outages.isUnderWay())) await Promise.all(found.map((part) => part.look()));
      const away = found.find(({ outages }) => outages.isUnderWay());
      away?.outages.count();
      return away !== undefined;
    },
    async used() {
      await inTime(Promise.all(firstUses), firstUseMs, []);
    },
    states: () => states,
    stop() {
      isStopped = true;
      for (const { outages } of parts) outages.stop();
      for (const timer of timers) clearInterval(timer);
    },
  };
}
