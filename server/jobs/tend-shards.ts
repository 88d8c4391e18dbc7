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
  /** After this long without the control plane, a worker does not know whether others work, so it works on every shard. */
  readonly aloneMs: number;
}

const usualTimes: TendingTimes = {
  beatMs,
  lookMs: 120 * secondMs,
  lookAgainMs: 3 * secondMs,
  aloneMs: 30 * secondMs,
};
/** A shard on which something is due waits this long for its turn. */
const waitMs = 15 * secondMs;
/** On how many shards that are not in use the jobs run at once: something may be due on all of them, for example at midnight. */
const workedAtOnce = { soon: 32, later: 8 };
const looksAtOnce = 8;

interface State<Shard> {
  readonly shard: Shard;
  readonly start: () => ShardWork;
  usedUntilMs: number;
  lookAtMs: number;
  workedAtMs: number;
  isLooking: boolean;
  work?: { readonly jobs: ShardWork; readonly release: () => void };
}

export function tendShards<Shard extends TendedShard>(tending: Tending<Shard>): { stop(): Promise<void> } {
  const times = { ...usualTimes, ...tending.times };
  const works = openWorks(tending);
  const leases = holdLeases(tending, times);
  const looking = new Set<State<Shard>>();
  let isStopping = false;

  function step(): void {
    if (isStopping) return;
    for (const state of tending.shards().map(works.stateOf)) {
      const { name } = state.shard;
      if (!leases.has(name)) works.end(state);
      else if (works.isInUse(state)) works.begin(state);
      else if (isTimeToLook(state) && (state.work || leases.looksAt(name))) startLook(state);
    }
  }

  /** Without the control plane no process can say that it uses a shard, so the looks are closer together. */
  const isTimeToLook = ({ lookAtMs }: State<Shard>): boolean =>
    performance.now() >= lookAtMs - (leases.isAlone() ? times.lookMs / 2 : 0);

  function startLook(state: State<Shard>): void {
    if (looking.has(state) || looking.size >= looksAtOnce) return;
    looking.add(state);
    void look(state).finally(() => {
      looking.delete(state);
      step();
    });
  }

  /** What is due before the next look is done at its time. A shard that is away is looked at again later. */
  async function look(state: State<Shard>): Promise<void> {
    const { name, db, seen } = state.shard;
    const due = await findDueSoon(db, times.lookMs, tending.sendsMail).catch(() => undefined);
    seen.isUp = due !== undefined;
    if (isStopping) return;
    const rests = !due?.length && performance.now() - state.workedAtMs < hourMs;
    const isSoon = due?.some((job) => !canWait.has(job)) === true;
    if (rests) works.end(state);
    else if (works.unused() < (isSoon ? workedAtOnce.soon : workedAtOnce.later)) works.begin(state);
    const spreadMs = times.lookMs * (0.6 + 0.4 * tending.random());
    state.lookAtMs = performance.now() + (rests ? spreadMs : state.work ? times.lookAgainMs : waitMs);
    if (!tending.use.isUsed(name)) db.rest();
  }

  async function beat(): Promise<void> {
    const uses = await leases.take();
    if (isStopping || !uses) return;
    for (const shard of tending.shards()) works.noteUse(works.stateOf(shard), uses.get(shard.name) ?? 0);
    step();
  }

  /** The next beat says how long the shard is in use. */
  function hear(name?: string): void {
    if (name === undefined) return void beat();
    const shard = tending.shards().find((one) => one.name === name);
    if (!shard || !leases.has(name) || isStopping) return undefined;
    const state = works.stateOf(shard);
    works.noteUse(state, 2 * times.beatMs);
    works.begin(state);
  }

  const listening = onShardUse(tending.control, hear);
  const first = beat();
  const timers = [
    setInterval(() => void beat(), times.beatMs),
    setInterval(step, Math.min(secondMs, times.lookAgainMs)),
  ];

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

  function end(state: State<Shard>): void {
    const { work, shard } = state;
    if (!work) return;
    delete state.work;
    state.workedAtMs = performance.now();
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
    stateOf(shard: Shard): State<Shard> {
      const known = states.get(shard.name);
      if (known) return known;
      // Once an hour the jobs run on a shard that rests, for what no time says.
      const workedAtMs = performance.now() - random() * hourMs;
      const state = { shard, start: workOn(shard), usedUntilMs: 0, lookAtMs: 0, workedAtMs, isLooking: false };
      states.set(shard.name, state);
      return state;
    },
    noteUse(state: State<Shard>, forMs: number): void {
      state.usedUntilMs = performance.now() + forMs;
    },
    begin(state: State<Shard>): void {
      state.work ??= { release: use.hold(state.shard.name), jobs: state.start() };
    },
    end,
    /** How many shards are worked on without being in use. */
    unused: (): number => [...states.values()].filter((state) => state.work && !isInUse(state)).length,
    async stop(): Promise<void> {
      for (const state of states.values()) end(state);
      await Promise.all(ending);
    },
  };
}

/** The leases of this worker. */
function holdLeases<Shard extends TendedShard>(tending: Tending<Shard>, { aloneMs }: TendingTimes) {
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
        const names = tending.shards().map(({ name }) => name);
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
