import type { DatabaseClock } from './database-clock.ts';
import { counter } from './metrics.ts';

/**
 * Checks that the clocks of API, database and vault agree. Payments do not depend on it, since they use the time of
 * the database and of the processor. Sessions, signatures and certificates do.
 */
export interface ClockWatch {
  /**
   * How far the clocks of this process and of the vault are ahead of the database; undefined if there is no
   * measurement.
   */
  skews(): { readonly databaseMs: number; readonly vaultMs: number | undefined };
  /** Describes the problem for the operator. */
  problem(): string | undefined;
  /** Called when the processor rejected as expired a request that was sent at once. */
  noteExpired(): void;
  expired(): { readonly count: number; readonly recently: boolean };
  stop(): void;
}

/** The clocks of the databases that are open: reports the first problem, and the largest skew. */
export function combinedClocks(watches: () => readonly ClockWatch[]): ClockWatch {
  const largest = (values: readonly number[]): number =>
    values.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0);
  return {
    skews() {
      const each = watches().map((watch) => watch.skews());
      const vaults = each.flatMap(({ vaultMs }) => (vaultMs === undefined ? [] : [vaultMs]));
      return {
        databaseMs: largest(each.map(({ databaseMs }) => databaseMs)),
        vaultMs: vaults.length === 0 ? undefined : largest(vaults),
      };
    },
    problem: () =>
      watches()
        .map((watch) => watch.problem())
        .find((problem) => problem !== undefined),
    noteExpired: () => watches()[0]?.noteExpired(),
    expired() {
      const each = watches().map((watch) => watch.expired());
      return {
        count: each.reduce((sum, { count }) => sum + count, 0),
        recently: each.some(({ recently }) => recently),
      };
    },
    stop() {
      for (const watch of watches()) watch.stop();
    },
  };
}

const countExpired = counter('svc_processor_expired_requests_total');

/** With a larger skew the process is not ready. */
export const skewMsMax = 30_000;
const measureMs = 60_000;
/** A clock that was corrected is noticed within this time. */
const recheckMs = 5_000;
const recentlyMs = 600_000;

const seconds = (ms: number): string => `${Math.round(Math.abs(ms) / 1_000)} s ${ms > 0 ? 'ahead of' : 'behind'}`;

export async function watchClocks(
  clock: DatabaseClock,
  vault: { nowMs(): Promise<number | undefined> },
  onProblem: (problem: string) => void,
  isUsed: () => boolean = () => true,
): Promise<ClockWatch> {
  let vaultMs: number | undefined;
  let expired = 0;
  let lastExpiredMs = Number.NEGATIVE_INFINITY;

  let measuredAtMs = Number.NEGATIVE_INFINITY;

  async function measure(): Promise<void> {
    const beforeMs = clock.nowMs();
    const theirs = await vault.nowMs();
    vaultMs = theirs === undefined ? undefined : theirs - (beforeMs + clock.nowMs()) / 2;
  }

  /** A problem is logged once a minute. */
  async function watch(): Promise<void> {
    const isDue = performance.now() - measuredAtMs >= measureMs - recheckMs / 2;
    if (!isDue && problem() === undefined) return;
    if (problem() !== undefined) await clock.sync().catch(() => undefined);
    await measure();
    if (!isDue) return;
    measuredAtMs = performance.now();
    const found = problem();
    if (found !== undefined) onProblem(found);
  }

  function problem(): string | undefined {
    const ours = clock.skewMs();
    if (Math.abs(ours) > skewMsMax) return `the clock of this process is ${seconds(ours)} the database`;
    if (vaultMs === undefined || Math.abs(vaultMs) <= skewMsMax) return undefined;
    return `the clock of the vault is ${seconds(vaultMs)} the database`;
  }

  await watch();
  const timer = setInterval(() => {
    if (isUsed()) void watch();
  }, recheckMs);
  timer.unref();

  return {
    skews: () => ({ databaseMs: clock.skewMs(), vaultMs }),
    problem,
    noteExpired() {
      expired += 1;
      countExpired({});
      lastExpiredMs = clock.nowMs();
    },
    expired: () => ({ count: expired, recently: clock.nowMs() - lastExpiredMs < recentlyMs }),
    stop: () => clearInterval(timer),
  };
}
