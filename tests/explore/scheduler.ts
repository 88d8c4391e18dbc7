import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Runs the code under test one step at a time. Every call to the database, the vault or a receiver, and every timer,
 * is a step: it waits until the scheduler releases it. A schedule determines which of the waiting steps is next and
 * which faults happen when. The next step is chosen only when nothing runs any more, and time passes only by steps,
 * so the same schedule repeats the same run.
 */

/**
 * The fault of one call: it never arrives, its answer is lost, it arrives after its sender gave up, or its sender stands still
 * until others take it for stopped, and goes on with the answer then.
 */
export type Loss = 'lost_before' | 'lost_after' | 'late' | 'slow';

/** The step of that turn is lost. */
const stepFaults = ['lost_before', 'lost_after'] as const;
/** The next call to the vault is lost. */
const vaultFaults = {
  vault_lost_before: 'lost_before',
  vault_lost_after: 'lost_after',
  vault_late: 'late',
  vault_slow: 'slow',
} as const;

export type FaultKind =
  | (typeof stepFaults)[number]
  | keyof typeof vaultFaults
  /** The process of that step crashes. */
  | 'crash'
  /** The clock of the database moves. */
  | 'clock_forward'
  | 'clock_back'
  /** A backup is taken. */
  | 'snapshot'
  /** The last backup is restored: unnoticed, announced by the operator, or noticed by what is beside the database. */
  | 'restore'
  | 'restore_announced'
  | 'restore_noticed'
  /** For some minutes, the first processor refuses our credentials or cannot be reached. */
  | 'refuse'
  | 'away'
  /** The next charge is declined: by the bank, or by the first processor itself. */
  | 'decline'
  | 'decline_by_processor'
  /** The company moves to the other shard. */
  | 'move';

export interface Schedule {
  /**
   * For each turn, which of the waiting steps is released, modulo their number. Turns beyond the end release the
   * oldest.
   */
  readonly choices: readonly number[];
  readonly faults: ReadonlyMap<number, FaultKind>;
}

/** A process of the service. After a crash, nothing that it waits for ever happens. */
export class Machine {
  readonly name: string;
  readonly crashed: Promise<void>;
  alive = true;
  private readonly die: () => void;

  constructor(name: string) {
    this.name = name;
    const { promise, resolve } = Promise.withResolvers<void>();
    [this.crashed, this.die] = [promise, resolve];
  }

  crash(): void {
    this.alive = false;
    this.die();
  }
}

/** Runs a released step with the fault it gets. */
export type Release<Result> = (loss: Loss | undefined) => Promise<Result>;

interface Step {
  readonly machine: Machine;
  readonly label: string;
  readonly losable: boolean;
  readonly toVault: boolean;
  /** For a timer: it fires when nothing else waits, the earliest first. */
  readonly dueMs: number | undefined;
  /** Runs the step, and returns the function that lets its machine continue. */
  readonly release: (loss: Loss | undefined) => Promise<() => void>;
}

export interface StepOptions {
  readonly losable?: boolean;
  readonly toVault?: boolean;
  /** Makes the step a timer. */
  readonly afterMs?: number;
}

export interface SchedulerHandlers {
  readonly crash: (machine: Machine) => Promise<void>;
  /** Applies faults of the whole system. */
  readonly elsewhere: (fault: FaultKind) => Promise<void>;
  /** Called when timers have advanced the time of all clocks. */
  readonly passed: (virtualMs: number) => Promise<void>;
  /** Returns how many statements wait for a lock, and will wait until another step frees it. */
  readonly blocked: () => Promise<number>;
}

/** NMI may still execute a lost request for 15 minutes, in which every worker polls each second. */
const turnsMax = 40_000;
/** A step that takes longer than this may wait for a lock. */
const suspiciousMs = 5;

export const running = new AsyncLocalStorage<{ readonly machine: Machine; readonly scheduler: Scheduler }>();

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

const realImmediate = setImmediate;
const realTimeout = setTimeout;

export class Scheduler {
  readonly trace: string[] = [];
  /** The time that timers use. */
  virtualMs = 0;
  private turn = 0;
  /** The turn at which the schedule begins; undefined while it has not begun. */
  private firstTurn: number | undefined = 0;
  private timers = 0;
  /** The fault of the next call to the vault. */
  private held: Loss | undefined;
  private waiting: Step[] = [];
  /** The immediates of machines that have not run yet. */
  private immediates = 0;
  /** The released steps, by turn, with the function that lets the machine continue after the step has ended. */
  private readonly unfinished = new Map<number, (() => void) | undefined>();
  private readonly references = new Map<string, number>();
  private onEnd = (): void => undefined;
  private readonly schedule: Schedule;
  private readonly handlers: SchedulerHandlers;
  private readonly startMs: number;

  constructor(schedule: Schedule, handlers: SchedulerHandlers, startMs: number) {
    this.schedule = schedule;
    this.handlers = handlers;
    this.startMs = startMs;
  }

  /** The time of every clock that is right. */
  get nowMs(): number {
    return this.startMs + this.virtualMs;
  }

  /** Steps are released in their order, without faults, until the schedule begins. */
  hold(): void {
    this.firstTurn = undefined;
  }

  begin(): void {
    this.firstTurn = this.turn;
  }

  /** Runs the work of a machine. Resolves to undefined if the machine crashes before the work ends. */
  run<Result>(machine: Machine, work: () => Promise<Result>): Promise<Result | undefined> {
    const done = running.run({ machine, scheduler: this }, work);
    done.catch(() => undefined);
    return Promise.race([done, machine.crashed.then(() => undefined)]);
  }

  step<Result>(
    machine: Machine,
    label: string,
    release: Release<Result>,
    { losable = true, toVault = false, afterMs }: StepOptions = {},
  ): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    if (!machine.alive) return promise;
    this.waiting.push({
      machine,
      label,
      losable,
      toVault,
      dueMs: afterMs === undefined ? undefined : this.virtualMs + afterMs,
      // Runs outside of the machine's context: internal waits of the real driver are not steps.
      release: (loss) =>
        running.exit(() =>
          release(loss).then(
            (value) => () => machine.alive && resolve(value),
            (error: unknown) => () => machine.alive && reject(error),
          ),
        ),
    });
    return promise;
  }

  /** Runs the callback of a machine's setImmediate. */
  immediate(callback: () => void): NodeJS.Immediate {
    this.immediates += 1;
    return realImmediate(() => {
      this.immediates -= 1;
      callback();
    });
  }

  /** Numbers the references in the order in which they appear: a trace cannot name what is random. */
  numberOf(reference: string): number {
    const known = this.references.get(reference) ?? this.references.size + 1;
    this.references.set(reference, known);
    return known;
  }

  /** The number of the reference that a text contains; 0 if it contains none that has appeared. */
  numberIn(text: string): number {
    return this.references.get(uuid.exec(text)?.[0] ?? '') ?? 0;
  }

  nextTimer(): number {
    this.timers += 1;
    return this.timers;
  }

  isWaiting(machine: Machine): boolean {
    return this.waiting.some((step) => step.machine === machine);
  }

  /** Removes a timer. */
  forget(isIt: (label: string) => boolean): void {
    this.waiting = this.waiting.filter(({ label }) => !isIt(label));
  }

  /** Releases steps until all work has ended. Throws if one of them failed. */
  async drive(works: readonly Promise<unknown>[]): Promise<void> {
    let open = works.length;
    const close = (): void => {
      open -= 1;
    };
    for (const work of works) work.then(close, close);
    for (let idle = 0; idle < 200; ) {
      await this.quiet();
      if (open === 0) return void (await Promise.all(works));
      idle = (await this.next()) ? 0 : idle + 1;
    }
    throw new Error(
      `the work does not end; waiting: ${this.waiting.map(({ label }) => label).join(', ') || 'nothing'}`,
    );
  }

  private async next(): Promise<boolean> {
    this.waiting = this.waiting.filter(({ machine }) => machine.alive);
    const step = this.choose();
    if (!step) {
      await this.settle();
      return false;
    }
    if (this.turn === turnsMax) throw new Error(`the schedule has more than ${turnsMax} steps`);
    const fault = this.firstTurn === undefined ? undefined : this.schedule.faults.get(this.turn - this.firstTurn);
    const number = this.turn;
    this.turn += 1;
    if (fault === 'crash') {
      this.trace.push(`${number} ${step.machine.name} crashes before: ${step.label}`);
      await this.handlers.crash(step.machine);
      await this.settle();
      return true;
    }
    const loss = stepFaults.find((kind) => kind === fault);
    if (isVaultFault(fault)) this.held = vaultFaults[fault];
    else if (fault !== undefined && loss === undefined) {
      this.trace.push(`${number} ${fault}`);
      await this.handlers.elsewhere(fault);
      await this.settle();
      return true;
    }
    const met = this.lossOf(step, loss);
    this.trace.push(`${number} ${step.machine.name}: ${step.label}${met ? ` [${met}]` : ''}`);
    this.waiting.splice(this.waiting.indexOf(step), 1);
    if (step.dueMs !== undefined && step.dueMs > this.virtualMs) {
      this.virtualMs = step.dueMs;
      await this.handlers.passed(this.virtualMs);
    }
    this.unfinished.set(number, undefined);
    void step.release(met).then((goOn) => {
      this.unfinished.set(number, goOn);
      this.onEnd();
    });
    await this.settle();
    return true;
  }

  private lossOf({ toVault, losable }: Step, loss: Loss | undefined): Loss | undefined {
    if (!toVault) return losable ? loss : undefined;
    const held = this.held;
    this.held = undefined;
    return held ?? loss;
  }

  private choose(): Step | undefined {
    const urgent = this.waiting.filter(({ dueMs }) => dueMs === undefined);
    const choice = this.firstTurn === undefined ? undefined : this.schedule.choices[this.turn - this.firstTurn];
    if (urgent.length > 0) return urgent[(choice ?? 0) % urgent.length];
    if (this.unfinished.size > 0) return undefined;
    return this.waiting.reduce<Step | undefined>(
      (earliest, step) => (earliest && (earliest.dueMs ?? 0) <= (step.dueMs ?? 0) ? earliest : step),
      undefined,
    );
  }

  /**
   * Waits until every released step has ended or waits for a lock that only another step can free. Machines continue
   * in the order of the turns, whichever ended first.
   */
  async settle(): Promise<void> {
    for (let open = this.running(); open > 0; open = this.running()) {
      if (await this.endsWithin(suspiciousMs)) continue;
      // Compared with the number before the question: a step that ends meanwhile may have freed the others.
      if ((await this.handlers.blocked()) >= open) break;
    }
    for (const [turn, goOn] of [...this.unfinished].toSorted(([left], [right]) => left - right)) {
      if (!goOn) continue;
      this.unfinished.delete(turn);
      goOn();
      await this.quiet();
    }
  }

  private running(): number {
    return [...this.unfinished.values()].filter((goOn) => goOn === undefined).length;
  }

  /** Waits until a step ends. Resolves to false if none ends in time. */
  private endsWithin(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const late = realTimeout(() => resolve(false), ms);
      this.onEnd = () => {
        clearTimeout(late);
        resolve(true);
      };
    });
  }

  /** Lets machines run until each of them waits for a step. */
  private async quiet(): Promise<void> {
    do await new Promise((resolve) => void realImmediate(resolve));
    while (this.immediates > 0);
  }
}

function isVaultFault(fault: FaultKind | undefined): fault is keyof typeof vaultFaults {
  return fault !== undefined && fault in vaultFaults;
}
