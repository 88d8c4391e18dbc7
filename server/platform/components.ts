import type { catalogue } from './metric-catalogue.ts';
import type { Logger } from './log.ts';

/**
 * The parts of an installation that a process uses, and whether it can use them now. A change is logged once;
 * `/readyz`, `/metrics` and `svc status` show the state.
 */
export type Component = (typeof catalogue)['svc_component_up']['labels']['component'][number];

export interface Components {
  /** Records the result of a use: undefined if it succeeded. */
  note(component: Component, problem: Error | undefined): void;
  /** Checks a part now and regularly. The check throws if the part cannot be used. */
  watch(component: Component, check: () => Promise<void>, everyMs: number): void;
  /** Checks the parts that are watched at least every few seconds, for a caller that wants to know now. */
  refresh(): Promise<void>;
  states(): ReadonlyMap<Component, boolean>;
  stop(): void;
}

/** A check that is repeated this often is cheap enough to be made on demand too. */
const onDemandMs = 10_000;

export function openComponents(log: Pick<Logger, 'info' | 'error'>): Components {
  const states = new Map<Component, boolean>();
  const awaySinceMs = new Map<Component, number>();
  const onDemand: (() => Promise<void>)[] = [];
  const timers: NodeJS.Timeout[] = [];

  function note(component: Component, problem: Error | undefined): void {
    const before = states.get(component) ?? true;
    states.set(component, problem === undefined);
    if (problem && before) {
      awaySinceMs.set(component, performance.now());
      log.error({ component, err: problem }, `unavailable: ${component}`);
    }
    if (!problem && !before) {
      const seconds = Math.round((performance.now() - (awaySinceMs.get(component) ?? 0)) / 1_000);
      log.info({ component, seconds }, `available again: ${component}`);
    }
  }

  return {
    note,
    watch(component, check, everyMs) {
      states.set(component, states.get(component) ?? true);
      const look = (): Promise<void> =>
        check().then(
          () => note(component, undefined),
          (error: unknown) => note(component, error instanceof Error ? error : new Error(String(error))),
        );
      if (everyMs <= onDemandMs) onDemand.push(look);
      void look();
      timers.push(setInterval(() => void look(), everyMs).unref());
    },
    async refresh() {
      await Promise.all(onDemand.map((look) => look()));
    },
    states: () => states,
    stop() {
      for (const timer of timers) clearInterval(timer);
    },
  };
}
