import type { ControlPool, DatabasePool } from '../platform/database.ts';
import { hourMs, secondMs } from '../platform/durations.ts';
import type { Logger } from '../platform/log.ts';
import { beatMs, endLeases, type Lease, onShardUse, takeLeases } from '../shards/leases.ts';
import type { ShardUse } from '../shards/use.ts';
import { canWait, findDueSoon } from './due-soon.ts';
import type { ShardWork } from './shard-work.ts';

/**
 * Decides on which of many shards this worker does the jobs: on those that it has a lease for, while they are in use or
 * something is due soon. At the others it looks from time to time.
 */

export interface TendedShard {
  readonly name: string;
  readonly db: DatabasePool;
  /** What the last question to the shard showed. */
  readonly seen: { isUp: boolean };
}

export interface Tending<Shard extends TendedShard> {
  readonly workerId: string;
  readonly control: ControlPool;
  /** Those that this process has reached. */
  readonly shards: () => readonly Shard[];
  readonly use: Pick<ShardUse, 'hold' | 'isUsed'>;
  /** Returns what starts the work on a shard. */
  readonly workOn: (shard: Shard) => () => ShardWork;
  readonly sendsMail: boolean;
  /** From 0 to 1: spreads the looks at many shards over the time. */
  readonly random: () => number;
  readonly log: Logger;
  readonly times?: Partial<TendingTimes>;
}

interface TendingTimes {
  readonly beatMs: number;
  /** A worker looks at a shard that rests at least this often, and each time for what is due before the next look. */
  readonly lookMs: number;
  /** How often it looks whether the work on a shard that is not in use is done. */
  readonly lookAgainMs: number;
  /** A shard that gave way to others waits this long for its next turn. */
  readonly waitMs: number;
  /** After this long the work on a shard gives way to others on which something is due. */
  readonly turnMs: number;
  /** After this long without the control plane, a worker does not know whether others work, so it works on every shard. */
  readonly aloneMs: number;
}

const usualTimes: TendingTimes = {
  beatMs,
  lookMs: 240 * secondMs,
  lookAgainMs: 3 * secondMs,
  waitMs: 15 * secondMs,
  turnMs: 30 * secondMs,
  aloneMs: 30 * secondMs,
};
/** On how many shards that are not in use the jobs run at once: something may be due on all of them, for example at midnight. */
const workedAtOnce = { soon: 32, later: 8 };
const looksAtOnce = 8;
/** The jobs see what the last work has left before it ends: so many looks in a row find nothing. */
const emptyLooks = 3;

interface Work {
  readonly jobs: ShardWork;
  readonly beganAtMs: number;
  readonly release: () => void;
  /** How many looks in a row have found nothing. */
  emptyLooks: number;
}

interface State<Shard> {
  readonly shard: Shard;
  readonly start: () => ShardWork;
  usedUntilMs: number;
  lookAtMs: number;
  /** When the shard is looked at without the control plane, through which no process can say then that it uses a shard. */
  lookAloneAtMs: number;
  /** When every job last had its turn. */
  turnedAtMs: number;
  /** Another worker may have the lease until then, because this one does not reach the shard. */
  avoidedUntilMs: number;
  /** Something is due, and other shards have their turn. */
  isWaiting: boolean;
  work?: Work;
}

export function tendShards<Shard extends TendedShard>(tending: Tending<Shard>): { stop(): Promise<void> } {
  const times = { ...usualTimes, ...tending.times };
  const works = openWorks(tending);
  const turns = takeTurns(works, times, tending.random);
  const leases = holdLeases(tending, times, works.isReached);
  const looking = new Set<State<Shard>>();
  let isStopping = false;

  function step(): void {
    if (isStopping) return;
    const due: State<Shard>[] = [];
    for (const state of tending.shards().map(works.stateOf)) {
      if (!leases.has(state.shard.name)) works.end(state);
      else if (works.isInUse(state)) works.begin(state);
      else if (isTimeToLook(state) && (state.work || leases.looksAt(state.shard.name))) due.push(state);
    }
    // The one that has waited longest is first.
    for (const state of due.toSorted((one, other) => one.lookAtMs - other.lookAtMs)) startLook(state);
  }

  const isTimeToLook = (state: State<Shard>): boolean =>
    performance.now() >= (leases.isAlone() ? state.lookAloneAtMs : state.lookAtMs);

  function startLook(state: State<Shard>): void {
    if (looking.has(state) || looking.size >= looksAtOnce) return;
    looking.add(state);
    void look(state).finally(() => {
      looking.delete(state);
      step();
    });
  }

  /** What is due before the next look is done at its time. */
  async function look(state: State<Shard>): Promise<void> {
    const { name, db, seen } = state.shard;
    const due = await findDueSoon(db, times.lookMs, tending.sendsMail).catch(() => undefined);
    seen.isUp = due !== undefined;
    if (isStopping || works.isInUse(state)) return;
    if (due) turns.decide(state, due);
    else turns.avoid(state);
    if (!tending.use.isUsed(name)) db.rest();
  }

  async function beat(): Promise<void> {
    const uses = await leases.take();
    if (isStopping || !uses) return;
    for (const shard of tending.shards()) works.noteUse(works.stateOf(shard), uses.get(shard.name) ?? 0);
    step();
  }

  /** The next beat says how long the shard is in use. One that was not reached is taken again, so that its next use does not wait. */
  function hear(name?: string): void {
    if (name === undefined) return void beat();
    const shard = tending.shards().find((one) => one.name === name);
    if (!shard || isStopping) return undefined;
    const state = works.stateOf(shard);
    if (works.triesAgain(state)) return void beat();
    if (!leases.has(name)) return undefined;
    works.noteUse(state, 2 * times.beatMs);
    works.begin(state);
  }

  const listening = onShardUse(tending.control, hear);
  const first = beat();
  const stepMs = Math.min(secondMs, times.lookAgainMs);
  const timers = [setInterval(() => void beat(), times.beatMs), setInterval(step, stepMs)];

  return {
    async stop() {
      isStopping = true;
      for (const timer of timers) clearInterval(timer);
      await first;
      (await listening)();
      await works.stop();
      await leases.end();
    },
  };
}

/** The work on each shard, which begins and ends. */
function openWorks<Shard extends TendedShard>({ workOn, use, random, log }: Tending<Shard>) {
  const states = new Map<string, State<Shard>>();
  const ending = new Set<Promise<void>>();
  const isInUse = ({ usedUntilMs }: State<Shard>): boolean => performance.now() < usedUntilMs;
  const unused = (): number => [...states.values()].filter((state) => state.work && !isInUse(state)).length;
  const othersWait = (): boolean => [...states.values()].some((state) => state.isWaiting);

  function begin(state: State<Shard>): void {
    state.isWaiting = false;
    if (state.work) state.work.emptyLooks = 0;
    state.work ??= {
      release: use.hold(state.shard.name),
      jobs: state.start(),
      beganAtMs: performance.now(),
      emptyLooks: 0,
    };
  }

  function end(state: State<Shard>): void {
    const { work, shard } = state;
    state.isWaiting = false;
    if (!work) return;
    delete state.work;
    if (work.jobs.hasTurned()) state.turnedAtMs = performance.now();
    const ended = work.jobs
      .stop()
      .catch((error: unknown) => log.error({ err: error, shard: shard.name }, 'the jobs of a shard failed to stop'))
      .finally(() => {
        work.release();
        ending.delete(ended);
      });
    ending.add(ended);
  }

  return {
    isInUse,
    isReached: (shard: string): boolean => performance.now() >= (states.get(shard)?.avoidedUntilMs ?? 0),
    /** Ends the time for which a shard was left to others. Returns false if it was not. */
    triesAgain(state: State<Shard>): boolean {
      const wasAvoided = performance.now() < state.avoidedUntilMs;
      state.avoidedUntilMs = 0;
      return wasAvoided;
    },
    stateOf(shard: Shard): State<Shard> {
      const known = states.get(shard.name);
      if (known) return known;
      const state: State<Shard> = {
        shard,
        start: workOn(shard),
        usedUntilMs: 0,
        lookAtMs: 0,
        lookAloneAtMs: 0,
        turnedAtMs: performance.now() - random() * hourMs,
        avoidedUntilMs: 0,
        isWaiting: false,
      };
      states.set(shard.name, state);
      return state;
    },
    noteUse(state: State<Shard>, forMs: number): void {
      state.usedUntilMs = performance.now() + forMs;
    },
    begin,
    end,
    unused,
    othersWait,
    async stop(): Promise<void> {
      for (const state of states.values()) end(state);
      await Promise.all(ending);
    },
  };
}

/** Decides after each look whether the work on a shard begins, goes on, gives way or ends. */
function takeTurns<Shard extends TendedShard>(
  { begin, end, unused, othersWait }: ReturnType<typeof openWorks<Shard>>,
  times: TendingTimes,
  random: () => number,
) {
  function lookIn(state: State<Shard>, ms: number, aloneMs = ms): void {
    state.lookAtMs = performance.now() + ms;
    state.lookAloneAtMs = performance.now() + aloneMs;
  }

  function rest(state: State<Shard>): void {
    end(state);
    const spreadMs = times.lookMs * (0.6 + 0.4 * random());
    lookIn(state, spreadMs, spreadMs / 4);
  }

  /** Goes on until nothing is left, and gives way to others after a turn. */
  function goOn(state: State<Shard>, work: Work, isDue: boolean): void {
    work.emptyLooks = isDue ? 0 : work.emptyLooks + 1;
    const hadItsTurn = work.jobs.hasTurned();
    if (hadItsTurn && work.emptyLooks >= emptyLooks) return rest(state);
    const givesWay = hadItsTurn && performance.now() - work.beganAtMs > times.turnMs && othersWait();
    if (!givesWay) return lookIn(state, times.lookAgainMs);
    end(state);
    return lookIn(state, times.waitMs);
  }

  /** `due` is what a look has found. Once an hour all jobs have a turn, for what no time says. */
  function decide(state: State<Shard>, due: readonly string[]): void {
    if (state.work) return goOn(state, state.work, due.length > 0);
    if (due.length === 0 && performance.now() - state.turnedAtMs < hourMs) return rest(state);
    const isSoon = due.some((job) => !canWait.has(job));
    if (unused() < (isSoon ? workedAtOnce.soon : workedAtOnce.later)) {
      begin(state);
      return lookIn(state, times.lookAgainMs);
    }
    state.isWaiting = true;
    return lookIn(state, Math.min(times.waitMs, times.lookAgainMs));
  }

  return {
    decide,
    /** Another worker may reach a shard that this one does not. */
    avoid(state: State<Shard>): void {
      end(state);
      lookIn(state, times.lookMs / 4);
      state.avoidedUntilMs = state.lookAtMs;
    },
  };
}

/** The leases of this worker. */
function holdLeases<Shard extends TendedShard>(
  tending: Tending<Shard>,
  { aloneMs }: TendingTimes,
  isReached: (shard: string) => boolean,
) {
  const { control, workerId, log } = tending;
  let held = new Map<string, Lease>();
  let takenMs = performance.now();
  let isTaking = false;
  const isAlone = (): boolean => performance.now() - takenMs > aloneMs;
  return {
    isAlone,
    has: (shard: string): boolean => held.has(shard) || isAlone(),
    looksAt: (shard: string): boolean => held.get(shard)?.looks === true || isAlone(),
    /** Returns how much longer each shard is in use; undefined if that is not known. */
    async take(): Promise<ReadonlyMap<string, number> | undefined> {
      if (isTaking) return undefined;
      isTaking = true;
      try {
        const names = tending.shards().flatMap(({ name }) => (isReached(name) ? [name] : []));
        held = new Map((await takeLeases(control, workerId, names)).map((lease) => [lease.shard, lease]));
        takenMs = performance.now();
        return new Map([...held].map(([shard, { used_ms }]) => [shard, used_ms]));
      } catch (error) {
        log.debug({ err: error }, 'the leases of the shards are not known');
        return undefined;
      } finally {
        isTaking = false;
      }
    },
    end: (): Promise<void> => endLeases(control, workerId).catch(() => undefined),
  };
}
