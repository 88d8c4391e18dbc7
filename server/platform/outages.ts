import { minuteMs, secondMs } from './durations.ts';
import type { Logger } from './log.ts';

/** Logs the outages of a part: when one begins, once a minute while it lasts, and when it ends. */
export interface Outages {
  /** The problem at the last use; undefined if it succeeded. */
  note(problem: string | undefined): void;
  isUnderWay(): boolean;
  /** Counts an error that the outage explains. */
  count(): void;
  stop(): void;
}

interface Outage {
  readonly sinceMs: number;
  readonly timer: NodeJS.Timeout;
  /** Logs its beginning, if that has not happened. */
  announce(): void;
  loggedMs: number;
  failures: number;
}

/** Ctrl-C may end the embedded PostgreSQL a moment before this process gets its own signal. */
const sameSignalMs = 300;

export function openOutages(
  log: Pick<Logger, 'info' | 'error'>,
  name: string,
  labels: object,
  nowMs: () => number = () => performance.now(),
): Outages {
  let outage: Outage | undefined;

  function begin(problem: string): Outage {
    let isAnnounced = false;
    const announce = (): void => {
      if (!isAnnounced) log.error({ ...labels, problem }, `unavailable: ${name}`);
      isAnnounced = true;
    };
    const timer = setTimeout(announce, sameSignalMs).unref();
    return { sinceMs: nowMs(), loggedMs: nowMs(), failures: 0, announce, timer };
  }

  return {
    note(problem) {
      if (!outage) {
        outage = problem === undefined ? undefined : begin(problem);
        return;
      }
      outage.announce();
      const { sinceMs, failures } = outage;
      const fields = { ...labels, seconds: Math.round((nowMs() - sinceMs) / secondMs), failures };
      if (problem === undefined) {
        log.info(fields, `available again: ${name}`);
        outage = undefined;
      } else if (nowMs() - outage.loggedMs >= minuteMs) {
        outage.loggedMs = nowMs();
        log.error({ ...fields, problem }, `still unavailable: ${name}`);
      }
    },
    isUnderWay: () => outage !== undefined,
    count() {
      if (outage) outage.failures += 1;
    },
    stop: () => clearTimeout(outage?.timer),
  };
}
