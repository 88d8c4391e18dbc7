import { minuteMs, secondMs } from './durations.ts';
import { inTime, withinTime } from './in-time.ts';
import type { Logger } from './log.ts';
import type { catalogue } from './metric-catalogue.ts';

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

export interface Components {
  /** Records the result of a use: undefined if it succeeded. */
  note(component: Component, problem: Error | undefined): void;
  /**
   * Uses a part now and regularly, as the service uses it: with the same credentials, and for the same rights. A use that
   * fails or takes too long means that the part is down.
   */
  watch(component: Component, use: () => Promise<unknown>, everyMs: number): void;
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

interface Outage {
  readonly sinceMs: number;
  loggedMs: number;
}

export function openComponents(
  log: Pick<Logger, 'info' | 'error'>,
  nowMs: () => number = () => performance.now(),
): Components {
  const states = new Map<Component, string | undefined>();
  const outages = new Map<Component, Outage>();
  const firstUses: Promise<void>[] = [];
  const timers: NodeJS.Timeout[] = [];
  let isStopped = false;

  function note(component: Component, problem: Error | undefined): void {
    // A stop closes connections that a check uses.
    if (isStopped) return;
    const outage = outages.get(component);
    const seconds = outage ? Math.round((nowMs() - outage.sinceMs) / secondMs) : 0;
    if (!problem) {
      states.set(component, undefined);
      if (outage) log.info({ component, seconds }, `available again: ${component}`);
      outages.delete(component);
      return;
    }
    states.set(component, problem instanceof PlainProblem ? problem.message : usualProblems[component]);
    if (!outage) {
      outages.set(component, { sinceMs: nowMs(), loggedMs: nowMs() });
      log.error({ component, problem: withCause(problem), err: problem.cause ?? problem }, `unavailable: ${component}`);
    } else if (nowMs() - outage.loggedMs >= minuteMs) {
      outage.loggedMs = nowMs();
      log.error({ component, seconds, problem: withCause(problem) }, `still unavailable: ${component}`);
    }
  }

  return {
    note,
    watch(component, use, everyMs) {
      let isUnderWay = false;
      const look = async (): Promise<void> => {
        // A part that hangs is not used a second time meanwhile.
        if (isUnderWay || isStopped) return;
        isUnderWay = true;
        await withinTime(use(), useMs).then(
          () => note(component, undefined),
          (error: unknown) => note(component, error instanceof Error ? error : new Error(String(error))),
        );
        isUnderWay = false;
      };
      firstUses.push(look());
      timers.push(setInterval(() => void look(), everyMs).unref());
    },
    async used() {
      await inTime(Promise.all(firstUses), firstUseMs, []);
    },
    states: () => states,
    stop() {
      isStopped = true;
      for (const timer of timers) clearInterval(timer);
    },
  };
}
