import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiError, errorBody } from '../../server/errors.ts';
import { noteRestored, watchRestores } from '../../server/features/restores/service.ts';
import { hashFields } from '../../server/http/idempotency.ts';
import type { PhasedRequest } from '../../server/http/phases.ts';
import { latestVersion } from '../../server/http/versions/versions.ts';
import { Secret } from '../../server/platform/secret.ts';
import { originalKeys } from '../../server/platform/service-keys.ts';
import type { RequestContext } from '../../server/request-context.ts';
import { findShard } from '../../server/shards/queries.ts';
import { kindNamed } from '../../server/vault/processors/kinds.ts';
import type { Vault } from '../../server/vault/vault.ts';
import type { Random } from '../support/seeded-random.ts';
import { silentLog } from '../support/silent-log.ts';
import type { KindPair, Laboratory, LaboratoryShard, Merchant, Snapshot } from './laboratory.ts';
import { type PlannedMove, planMove } from './moving.ts';
import { type Node, openNode, type Part, type Role } from './node.ts';
import { Postman } from './postman.ts';
import { findProblems, isAtRest } from './problems.ts';
import { randomReferences, rewriteWithout, type Without } from './safeguards.ts';
import { type FaultKind, Machine, type Schedule, Scheduler } from './scheduler.ts';
import { steppedVault } from './stepped.ts';
import { operate, work } from './work.ts';

/** The service of one schedule: API processes, workers, a vault and two processors, each with its own clock. */

export interface Answer {
  readonly status: number;
  readonly body: { readonly id?: string; readonly status?: string };
}

export interface Operation {
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly body: object;
  readonly call: (
    part: Part,
    context: RequestContext,
    request: PhasedRequest,
  ) => Promise<{ status: number; body: string }>;
}

export interface WorldOptions {
  readonly schedule: Schedule;
  readonly kinds: KindPair;
  readonly random: Random;
  readonly without?: Without | undefined;
  /** Whether the company can move to the second shard. */
  readonly moves?: boolean;
  /** Whether backups are restored, so that processes watch for that. */
  readonly restores?: boolean;
  /** Whether customers pay on checkout pages, and whether banks ask them. */
  readonly checkout?: boolean;
  readonly banks?: boolean;
  /** Whether held funds end, and whether plans change. */
  readonly captures?: boolean;
  readonly changes?: boolean;
}

const { idempotency: hashKey, 'page-links': stepKey } = originalKeys(new Secret(Buffer.alloc(32, 3)));
const clockStepMs = 120_000;
/** How long a client waits before it repeats a request: first, and at most. */
const patienceMs = { first: 7_000, most: 60_000 };
const repeatsMax = 120;
/** For how long a processor is away or refuses the credentials. */
const outageMs = { least: 20_000, most: 180_000 };
/** After these rounds, the end of all work is checked once a minute. */
const quickRounds = 20;

export class World {
  readonly scheduler: Scheduler;
  readonly merchant: Merchant;
  readonly laboratory: Laboratory;
  readonly options: WorldOptions;
  readonly postman: Postman;
  readonly received: string[] = [];
  /** The pause of a worker between two rounds. */
  workerPauseMs = 5_000;
  /** How often the end of all work is checked, and how often at most. */
  drainPauseMs = 60_000;
  drainRounds = 140;
  readonly answers = new Map<string, Answer[]>();
  dispatching = false;
  restores = 0;
  private readonly network = new Machine('network');
  private readonly away = new Set<string>();
  private readonly markFile: string | undefined;
  private nodes: Node[] = [];
  private calm = false;
  private databaseOffsetMs = 0;
  private snapshotOfRows: Snapshot;
  private move: (PlannedMove & { isDone: boolean }) | undefined;

  private constructor(laboratory: Laboratory, merchant: Merchant, snapshot: Snapshot, options: WorldOptions) {
    this.laboratory = laboratory;
    this.merchant = merchant;
    this.snapshotOfRows = snapshot;
    this.options = options;
    const handlers = {
      crash: (machine: Machine) => this.crash(machine),
      elsewhere: (fault: FaultKind) => this.disturb(fault),
      passed: () => this.showTime(),
      blocked: () => laboratory.blocked(),
    };
    this.scheduler = new Scheduler(options.schedule, handlers, laboratory.clock.nowMs());
    this.markFile = options.restores ? join(laboratory.folder, randomUUID()) : undefined;
    this.postman = new Postman({
      scheduler: this.scheduler,
      network: this.network,
      random: options.random,
      processors: merchant.processors,
      receiver: () => this.nodes.find(({ role }) => role === 'api') ?? this.nodes[0],
    });
    laboratory.clock.nowMs = () => this.scheduler.nowMs;
  }

  static async open(laboratory: Laboratory, options: WorldOptions): Promise<World> {
    await laboratory.begin();
    const merchant = await laboratory.openMerchant(options.kinds);
    const snapshot = options.restores ? await laboratory.snapshot(merchant.company.id) : new Map();
    return new World(laboratory, merchant, snapshot, options);
  }

  start(...roles: readonly Role[]): void {
    for (const role of roles) this.boot(role);
    const { restores, kinds } = this.options;
    if (restores && kinds.some((kind) => kindNamed(kind).cannotList)) void operate(this);
  }

  /** Takes the backup that a restore brings back. */
  async remember(): Promise<void> {
    this.snapshotOfRows = await this.laboratory.snapshot(this.merchant.company.id);
  }

  /** A client that repeats its request, at any API process, until it has a final answer. */
  async request(operation: Operation): Promise<Answer> {
    return this.repeat(
      (node) => this.serve(node, operation),
      ({ status }) => status < 500 && status !== 409,
      (answer) => {
        const { key } = operation;
        this.answers.set(key, [...(this.answers.get(key) ?? []), answer]);
      },
    );
  }

  /** Calls API processes one after another until the answer is final. */
  async repeat<Result>(
    call: (node: Node) => Promise<Result>,
    isFinal: (result: Result) => boolean,
    onFinal: (result: Result) => void = () => undefined,
  ): Promise<Result> {
    const client = new Machine('client');
    for (let repeats = 0; repeats < repeatsMax; repeats += 1) {
      const apis = this.nodes.filter(({ role }) => role === 'api');
      const node = apis[repeats % apis.length];
      const result = node && (await this.scheduler.run(node.machine, () => call(node)));
      if (result !== undefined && isFinal(result)) {
        onFinal(result);
        return result;
      }
      await this.pause(client, Math.min(patienceMs.first * (1 + repeats / 8), patienceMs.most));
    }
    throw new Error(`a client got no answer for its key after ${repeatsMax} repeats`);
  }

  /** Lets time pass. */
  wait(ms: number): Promise<void> {
    return this.pause(new Machine('time'), ms);
  }

  pause(machine: Machine, ms: number): Promise<void> {
    return this.scheduler.step(machine, `${machine.name} waits`, async () => undefined, {
      losable: false,
      afterMs: ms,
    });
  }

  /** The shard that the company is on. */
  async home(): Promise<LaboratoryShard> {
    const [first, second] = this.laboratory.shards;
    const name = await findShard(this.laboratory.service.control, this.merchant.company.id);
    return name === second.name ? second : first;
  }

  /** Stops all faults and waits until nothing is open, every gate is open and every notice has arrived. */
  async drain(): Promise<void> {
    this.calm = true;
    this.workerPauseMs = Math.max(this.workerPauseMs, 20_000);
    const watcher = new Machine('watcher');
    for (let round = 0; round < this.drainRounds; round += 1) {
      // A delayed request counts when it arrives.
      const isQuiet = !this.scheduler.isWaiting(this.network) && this.postman.isIdle && this.move?.isDone !== false;
      if (isQuiet && (await isAtRest(this))) break;
      if (round === 4) this.workerPauseMs = Math.max(this.workerPauseMs, 60_000);
      await this.scheduler.drive([this.pause(watcher, round < quickRounds ? this.drainPauseMs : 60_000)]);
    }
  }

  /** The schedule begins, and its faults occur. */
  disturbAgain(): void {
    this.calm = false;
    this.workerPauseMs = 5_000;
    this.scheduler.begin();
  }

  /** Without a renewal, the schedule has tested nothing. */
  async checkRenewed(): Promise<void> {
    const { owner } = await this.home();
    const renewals = await owner.query('SELECT 1 FROM orders WHERE company_id = $1 AND subscription_cycle > 1', [
      this.merchant.company.id,
    ]);
    if (renewals.length === 0) throw new Error('the subscription was not renewed');
  }

  problems(): Promise<string[]> {
    return findProblems(this);
  }

  async close(): Promise<void> {
    for (const { machine } of this.nodes) machine.crash();
    await Promise.all(this.nodes.flatMap(({ pools }) => pools.map((pool) => pool.abandon())));
    await this.scheduler.settle();
    if (this.move?.isDone === false) await this.move.abandon();
    await this.merchant.remove();
    if (this.markFile !== undefined) await rm(this.markFile, { force: true });
  }

  /** The company as a request finds it. */
  contextAt(part: Part): RequestContext {
    const company = { ...this.merchant.company, shard: part.name };
    return { requestId: `req_${randomUUID()}`, company, nowMs: this.scheduler.nowMs, db: part.db };
  }

  private boot(role: Role): void {
    const { laboratory, scheduler, options } = this;
    const machine = new Machine(`${role} ${this.nodes.length + 1}`);
    const shards = options.moves ? laboratory.shards : [laboratory.shards[0]];
    const node = openNode({
      ...{ machine, role, scheduler, shards, vault: this.vaultFor(machine), clock: laboratory.clock },
      ...{ markFile: this.markFile, stepKey },
      rewrite: rewriteWithout(options.without),
    });
    this.nodes.push(node);
    if (role === 'worker') void work(this, node);
  }

  private vaultFor(machine: Machine): Vault {
    const { without } = this.options;
    const { vault } = this.merchant;
    const stepped = steppedVault(without === 'references' ? randomReferences(vault, () => this.restores) : vault, {
      machine,
      network: this.network,
      scheduler: this.scheduler,
      isAway: (connectionId) => connectionId !== undefined && this.away.has(connectionId),
      onCall: () => this.postman.collect(),
    });
    if (without !== 'validity') return stepped;
    // Simulates the fault: the age of an operation by the database clock decides whether it can still arrive.
    return {
      ...stepped,
      lookup: (request) => stepped.lookup({ ...request, validUntilMs: request.validUntilMs - this.databaseOffsetMs }),
    };
  }

  private async serve(node: Node, operation: Operation): Promise<Answer> {
    const { key, method, path, body } = operation;
    const companyId = this.merchant.company.id;
    const { nowMs } = this.scheduler;
    try {
      await node.ready;
      const part = await node.shards.find(companyId);
      const context = this.contextAt(part);
      const { requestId } = context;
      const answer = (status: number, shown: unknown): { status: number; body: string; apiVersion: string } => ({
        status,
        body: JSON.stringify(shown),
        apiVersion: latestVersion,
      });
      const [fieldHashes = {}] = hashFields(hashKey, companyId, body);
      const request: PhasedRequest = {
        key: {
          ...{ companyId, key, method, path, fieldHashes, requestId, nowMs },
          apiVersion: latestVersion,
          versionNamed: false,
        },
        answer: (result) => answer(201, result),
        refusal: (error) =>
          error instanceof ApiError && error.stored
            ? answer(error.status, errorBody(error, requestId, 'http://127.0.0.1'))
            : undefined,
      };
      const { status, body: text } = await operation.call(part, context, request);
      return { status, body: JSON.parse(text) as Answer['body'] };
    } catch (error) {
      if (error instanceof ApiError) return { status: error.status, body: {} };
      // The API answers 500 or 503; a client repeats the request in both cases.
      return { status: 503, body: {} };
    }
  }

  private async crash(machine: Machine): Promise<void> {
    const node = this.nodes.find((one) => one.machine === machine);
    // The network and the clients do not crash.
    if (!node) return;
    await this.stop(node);
    this.boot(node.role);
  }

  private async stop(node: Node): Promise<void> {
    node.machine.crash();
    await Promise.all(node.pools.map((pool) => pool.abandon()));
    this.nodes = this.nodes.filter((other) => other !== node);
  }

  private async disturb(fault: FaultKind): Promise<void> {
    if (this.calm) return;
    const [first] = this.merchant.processors;
    const faults: Partial<Record<FaultKind, () => Promise<void> | void>> = {
      snapshot: () => this.remember(),
      clock_forward: () => this.turnClock(clockStepMs),
      clock_back: () => this.turnClock(-clockStepMs),
      restore: () => this.restore('unnoticed'),
      restore_announced: () => this.restore('announced'),
      restore_noticed: () => this.restore('noticed'),
      decline: () => first.decline(1),
      decline_by_processor: () => first.decline(1, 'processor'),
      refuse: () => this.during(`${first.kind} accepts our credentials`, (isOver) => first.refuse(!isOver)),
      away: () =>
        this.during(`${first.kind} is back`, async (isOver) => {
          if (isOver) this.away.delete(first.connectionId);
          else this.away.add(first.connectionId);
        }),
      move: () => this.moveAway(),
    };
    await faults[fault]?.();
  }

  private async turnClock(byMs: number): Promise<void> {
    this.databaseOffsetMs += byMs;
    await this.showTime();
  }

  /** Changes something, and changes it back some time later. */
  private async during(label: string, change: (isOver: boolean) => Promise<void>): Promise<void> {
    await change(false);
    const afterMs = this.options.random.between(outageMs.least, outageMs.most);
    void this.scheduler.step(this.network, label, () => change(true), { losable: false, afterMs });
  }

  private async restore(how: 'unnoticed' | 'announced' | 'noticed'): Promise<void> {
    const roles = this.nodes.map(({ role }) => role);
    // The mark is written once a second.
    if (how === 'noticed') for (const node of this.nodes) await node.keepMark();
    for (const node of this.nodes) await this.stop(node);
    // What PostgreSQL still runs for the stopped processes belongs to the time before the restore.
    await this.scheduler.settle();
    await this.laboratory.restore(this.merchant.company.id, this.snapshotOfRows);
    this.restores += 1;
    const file = this.markFile ?? '';
    if (how === 'unnoticed') await rm(file, { force: true });
    else if (how === 'announced' || !(await this.isNoticed(file))) await this.announce(file);
    for (const role of roles) this.boot(role);
  }

  /** If no recorded transaction is missing, only the operator knows of the restore. */
  private async isNoticed(file: string): Promise<boolean> {
    const [{ owner: db }] = this.laboratory.shards;
    const watch = await watchRestores({ db, clock: this.laboratory.clock, log: silentLog, file });
    await watch.stop();
    return watch.isRestored();
  }

  private async announce(file: string): Promise<void> {
    const [{ owner: db }] = this.laboratory.shards;
    await noteRestored(db, this.scheduler.nowMs, 'the explorer', file);
  }

  private async moveAway(): Promise<void> {
    if (this.move || !this.options.moves) return;
    const move = { ...(await planMove(this.laboratory, this.merchant)), isDone: false };
    this.move = move;
    const operator = new Machine('operator');
    void this.scheduler.run(operator, async () => {
      for (const { name, run, afterMs } of move.steps) {
        if (afterMs !== undefined) await this.pause(operator, afterMs);
        await this.scheduler.step(operator, name, run, { losable: false });
      }
      move.isDone = true;
    });
  }

  private showTime(): Promise<void> {
    return this.laboratory.setDatabaseClock(this.scheduler.nowMs + this.databaseOffsetMs);
  }
}
