import type { Clock } from '../clock.ts';
import type { RateCheck, RateDecision, RateLimiter } from './rate-limiter.ts';

/**
 * Limits of what may fail: declined payments, rejected cards, wrong passwords and codes. An attempt takes from the
 * limit before it begins and gives back if it did not fail, so that attempts at the same time cannot exceed the limit.
 * Attempts beyond it wait for those in progress in this process: if those succeed, there is room. If the process dies
 * meanwhile, the attempt counts as failed until the bucket has refilled.
 */

export interface Reservation {
  readonly decisions: readonly RateDecision[];
  /** The attempt failed, and counts. */
  keep(): void;
  /** The attempt does not count. */
  giveBack(): Promise<void>;
}

export interface Refusal {
  /** The position of the first bucket without room. */
  readonly at: number;
  readonly retryAfterSeconds: number;
  /** Whether attempts are in progress that may give back. */
  readonly isBusy: boolean;
}

interface Line {
  /** Attempts that wait, ask or are in progress. */
  users: number;
  inProgress: number;
  ended: number;
  readonly waiting: Set<() => void>;
}

export interface ReserveDependencies {
  readonly limiter: RateLimiter;
  readonly clock: Clock;
}

const linesOf = new WeakMap<RateLimiter, Map<string, Line>>();

/** How long an attempt waits for those before it, unless its caller says otherwise. */
const usualPatienceMs = 10_000;
const busyRetrySeconds = 2;

export async function reserve(
  { limiter, clock }: ReserveDependencies,
  checks: readonly RateCheck[],
  patienceMs: number = usualPatienceMs,
): Promise<Reservation | Refusal> {
  const lines = enter(limiter, checks);
  const untilMs = performance.now() + patienceMs;
  try {
    for (;;) {
      const endedBefore = lines.map(({ ended }) => ended);
      const decisions = await limiter.consume(checks, clock.nowMs());
      const at = decisions.findIndex(({ allowed }) => !allowed);
      if (at < 0) return open({ limiter, clock }, checks, decisions, lines);
      const line = lines[at] as Line;
      if (line.ended !== endedBefore[at]) continue;
      const isBusy = line.inProgress > 0;
      if (isBusy && (await oneEnds(line, untilMs))) continue;
      leave(limiter, checks, lines);
      const retryAfterSeconds = isBusy ? busyRetrySeconds : (decisions[at]?.retryAfterSeconds ?? busyRetrySeconds);
      return { at, retryAfterSeconds, isBusy };
    }
  } catch (error) {
    leave(limiter, checks, lines);
    throw error;
  }
}

export const isRefused = (outcome: Reservation | Refusal): outcome is Refusal => 'at' in outcome;

/** Runs an attempt that has a reservation. An error that counts keeps it. */
export async function withReservation<Result>(
  reservation: Reservation,
  counts: (error: unknown) => boolean,
  attempt: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await attempt();
    await reservation.giveBack();
    return result;
  } catch (error) {
    if (counts(error)) reservation.keep();
    else await reservation.giveBack();
    throw error;
  }
}

function enter(limiter: RateLimiter, checks: readonly RateCheck[]): Line[] {
  const lines = linesOf.get(limiter) ?? new Map<string, Line>();
  linesOf.set(limiter, lines);
  return checks.map(({ key }) => {
    const line = lines.get(key) ?? { users: 0, inProgress: 0, ended: 0, waiting: new Set() };
    line.users += 1;
    lines.set(key, line);
    return line;
  });
}

function leave(limiter: RateLimiter, checks: readonly RateCheck[], lines: readonly Line[]): void {
  lines.forEach((line, index) => {
    line.users -= 1;
    if (line.users === 0) linesOf.get(limiter)?.delete(checks[index]?.key ?? '');
  });
}

function open(
  { limiter, clock }: ReserveDependencies,
  checks: readonly RateCheck[],
  decisions: readonly RateDecision[],
  lines: readonly Line[],
): Reservation {
  let isOpen = true;
  for (const line of lines) line.inProgress += 1;
  const end = (givesBack: boolean): void => {
    for (const line of lines) {
      line.inProgress -= 1;
      line.ended += 1;
      wake(line, givesBack);
    }
    leave(limiter, checks, lines);
  };
  return {
    decisions,
    keep() {
      if (!isOpen) return;
      isOpen = false;
      end(false);
    },
    async giveBack() {
      if (!isOpen) return;
      isOpen = false;
      try {
        await limiter.giveBack(checks, decisions, clock.nowMs());
      } finally {
        end(true);
      }
    },
  };
}

/** One place became free; when no attempt is left in progress, all that wait get their answer. */
function wake(line: Line, hasRoom: boolean): void {
  if (line.inProgress === 0) for (const go of [...line.waiting]) go();
  else if (hasRoom) line.waiting.values().next().value?.();
}

/** Returns false if it took too long. */
async function oneEnds(line: Line, untilMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, Math.max(1, untilMs - performance.now()), false);
  const go = (): void => {
    line.waiting.delete(go);
    resolve(true);
  };
  line.waiting.add(go);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    line.waiting.delete(go);
  }
}
