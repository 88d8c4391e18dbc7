import { randomUUID } from 'node:crypto';
import { ApiError, errorBody } from '../../server/errors.ts';
import type { Orders } from '../../server/features/orders/service.ts';
import type { Subscriptions } from '../../server/features/subscriptions/service.ts';
import { openPayments } from '../../server/payments.ts';
import { startDispatcher } from '../../server/features/webhooks/jobs.ts';
import { hashFields } from '../../server/http/idempotency.ts';
import type { PhasedRequest } from '../../server/http/phases.ts';
import { latestVersion } from '../../server/http/versions/versions.ts';
import { silentLog } from '../support/silent-log.ts';
import type { Vault } from '../../server/vault/vault.ts';
import { compareLedger } from '../support/ledger.ts';
import type { Laboratory, Merchant, Snapshot } from './laboratory.ts';
import { type FaultKind, Machine, type Schedule, Scheduler } from './scheduler.ts';
import { type SteppedPool, steppedOutbound, steppedPool, steppedVault } from './stepped.ts';
import type { RequestContext } from '../../server/request-context.ts';
import { originalKeys } from '../../server/platform/service-keys.ts';
import { Secret } from '../../server/platform/secret.ts';

/** The service of one schedule: API processes, workers, a vault and an acquirer, each with its own clock. */

/** A safeguard that is removed, to show that the explorer finds the fault it prevents. */
export type Without = 'references' | 'validity' | 'claims';

interface Node {
  readonly machine: Machine;
  readonly orders: Orders;
  readonly subscriptions: Subscriptions;
  readonly pools: readonly SteppedPool[];
  readonly role: Role;
}

type Role = 'api' | 'worker';

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
    orders: Orders,
    context: RequestContext,
    request: PhasedRequest,
  ) => Promise<{ status: number; body: string }>;
}

const hashKey = originalKeys(new Secret(Buffer.alloc(32, 3))).idempotency;
const clockStepMs = 120_000;
/** How long a client waits before it repeats a request. */
const patienceMs = 7_000;
const repeatsMax = 60;
const drainRounds = 40;

export class World {
  readonly scheduler: Scheduler;
  readonly merchant: Merchant;
  readonly received: string[] = [];
  /** The pause of a worker between two rounds. */
  workerPauseMs = 5_000;
  /** How often the end of all work is checked. */
  drainPauseMs = 60_000;
  readonly answers = new Map<string, Answer[]>();
  private readonly laboratory: Laboratory;
  private readonly without: Without | undefined;
  private readonly network = new Machine('network');
  private nodes: Node[] = [];
  private calm = false;
  private databaseOffsetMs = 0;
  private restores = 0;
  private snapshotOfRows: Snapshot;
  private dispatching = false;

  private constructor(
    laboratory: Laboratory,
    merchant: Merchant,
    snapshot: Snapshot,
    schedule: Schedule,
    without: Without | undefined,
  ) {
    this.laboratory = laboratory;
    this.merchant = merchant;
    this.snapshotOfRows = snapshot;
    this.without = without;
    const handlers = {
      crash: (machine: Machine) => this.crash(machine),
      elsewhere: (fault: FaultKind) => this.disturb(fault),
      passed: () => this.showTime(),
      blocked: () => laboratory.blocked(),
    };
    this.scheduler = new Scheduler(schedule, handlers, laboratory.clock.nowMs());
    laboratory.clock.nowMs = () => this.scheduler.nowMs;
  }

  static async open(laboratory: Laboratory, schedule: Schedule, without: Without | undefined): Promise<World> {
    await laboratory.begin();
    const merchant = await laboratory.openMerchant();
    const snapshot = await laboratory.snapshot(merchant.company.id);
    return new World(laboratory, merchant, snapshot, schedule, without);
  }

  start(...roles: readonly Role[]): void {
    for (const role of roles) this.boot(role);
  }

  /** Events are delivered from now on. */
  startDispatching(): void {
    this.dispatching = true;
  }

  /** Takes the backup that a restore brings back. */
  async remember(): Promise<void> {
    this.snapshotOfRows = await this.laboratory.snapshot(this.merchant.company.id);
  }

  /** A client that repeats its request, at any API process, until it has a final answer. */
  async request(operation: Operation): Promise<Answer> {
    const client = new Machine('client');
    for (let repeats = 0; repeats < repeatsMax; repeats += 1) {
      const apis = this.nodes.filter(({ role }) => role === 'api');
      const node = apis[repeats % apis.length];
      const answer = node && (await this.scheduler.run(node.machine, () => this.serve(node, operation)));
      if (answer && answer.status < 500 && answer.status !== 409) {
        this.answers.set(operation.key, [...(this.answers.get(operation.key) ?? []), answer]);
        return answer;
      }
      await this.pause(client, patienceMs);
    }
    throw new Error(`a client got no answer for its key after ${repeatsMax} repeats`);
  }

  /** Lets time pass. */
  wait(ms: number): Promise<void> {
    return this.pause(new Machine('time'), ms);
  }

  pause(machine: Machine, ms: number): Promise<void> {
    return this.scheduler.step(machine, 'a client waits', async () => undefined, { losable: false, afterMs: ms });
  }

  /** Stops all faults and waits until all operations are closed. */
  async drain(): Promise<void> {
    this.calm = true;
    this.workerPauseMs = Math.max(this.workerPauseMs, 20_000);
    const watcher = new Machine('watcher');
    for (let round = 0; round < drainRounds; round += 1) {
      const [row] = await this.laboratory.service.db.query<{ open: number }>(
        `SELECT (SELECT count(*) FROM open_transactions WHERE company_id = $1)
           + (SELECT count(*) FROM webhook_deliveries WHERE company_id = $1 AND status = 'pending')::integer AS open`,
        [this.merchant.company.id],
      );
      // A delayed request counts when it arrives.
      if (row?.open === 0 && !this.scheduler.isWaiting(this.network)) return;
      await this.scheduler.drive([this.pause(watcher, this.drainPauseMs)]);
    }
  }

  /** Without a renewal, the schedule has tested nothing. */
  async checkRenewed(): Promise<void> {
    const renewals = await this.laboratory.service.db.query(
      'SELECT 1 FROM orders WHERE company_id = $1 AND subscription_cycle > 1',
      [this.merchant.company.id],
    );
    if (renewals.length === 0) throw new Error('the subscription was not renewed');
  }

  async problems(): Promise<string[]> {
    const { company } = this.merchant;
    const journal = (await this.merchant.journal()).map((operation) => ({
      ...operation,
      reference: unmapped(operation.reference),
      charge_reference: operation.charge_reference && unmapped(operation.charge_reference),
    }));
    const approved = journal.filter(({ kind, status }) => kind === 'charge' && status === 'approved');
    const doubled = [...Map.groupBy(approved, ({ reference }) => reference).values()].filter(
      ({ length }) => length > 1,
    );
    const pending = await this.laboratory.service.db.query<{ event_id: string }>(
      `SELECT event_id FROM webhook_deliveries WHERE company_id = $1 AND status = 'pending'`,
      [company.id],
    );
    const contradictions = [...this.answers].flatMap(([key, answers]) => {
      const shown = new Set(answers.map(({ status, body }) => `${status} ${body.status ?? ''}`));
      return shown.size > 1 ? [`key ${key} was answered with ${[...shown].join(' and ')}`] : [];
    });
    return [
      ...doubled.map((operations) => `the charge ${operations[0]?.reference} was executed ${operations.length} times`),
      ...(await compareLedger(this.laboratory.service.db, journal)),
      ...pending.map(({ event_id }) => `the event ${event_id} was not delivered`),
      ...contradictions,
    ];
  }

  async close(): Promise<void> {
    for (const { machine } of this.nodes) machine.crash();
    await Promise.all(this.nodes.flatMap(({ pools }) => pools.map((pool) => pool.abandon())));
    await this.scheduler.settle();
    await this.merchant.remove();
  }

  private boot(role: Role): void {
    const machine = new Machine(`${role} ${this.nodes.length + 1}`);
    const { db: real, byKeyDb, queueDb } = this.laboratory;
    const [db, batchDb, deliveriesDb] = [real, byKeyDb, queueDb].map((pool) =>
      steppedPool(pool, machine, this.scheduler),
    ) as [SteppedPool, SteppedPool, SteppedPool];
    const { clock } = this.laboratory;
    const vault = this.vaultFor(machine);
    const candidates = async (): Promise<string[]> => [this.merchant.connectionId];
    const connections = { candidates, ever: async () => [], note: () => undefined };
    const { orders, subscriptions } = openPayments({ db, batchDb, vault, clock, log: silentLog, connections });
    const node: Node = { machine, orders, subscriptions, pools: [db, batchDb, deliveriesDb], role };
    this.nodes.push(node);
    if (role === 'api') return;
    const claims = this.without === 'claims' ? keepingLostClaims : (pool: SteppedPool): SteppedPool => pool;
    void this.scheduler.run(machine, async () => {
      if (this.dispatching) {
        startDispatcher({
          db: claims(db),
          batchDb: claims(deliveriesDb),
          clock,
          log: silentLog,
          outbound: steppedOutbound(machine, this.scheduler, (body) => this.received.push(body)),
          secretKey: this.laboratory.service.webhookSecretKey,
          random: () => 0.5,
        });
      }
      for (;;) {
        await subscriptions.billDue(64).catch(() => undefined);
        await orders.reconcileDue(100).catch(() => undefined);
        await this.pause(machine, this.workerPauseMs);
      }
    });
  }

  private vaultFor(machine: Machine): Vault {
    const { vault } = this.merchant;
    const stepped = steppedVault(
      this.without === 'references' ? this.randomReferences(vault) : vault,
      machine,
      this.network,
      this.scheduler,
    );
    if (this.without !== 'validity') return stepped;
    // Simulates the fault: the age of an operation by the database clock decides whether it can still arrive.
    return {
      ...stepped,
      lookup: (request) => stepped.lookup({ ...request, validUntilMs: request.validUntilMs - this.databaseOffsetMs }),
    };
  }

  /** Uses references that a restored database cannot derive again. */
  private randomReferences(vault: Vault): Vault {
    const mapped = (reference: string): string => `${reference}${restoreMark}${this.restores}`;
    return {
      ...vault,
      charge: (request) => vault.charge({ ...request, reference: mapped(request.reference) }),
      lookup: (request) => vault.lookup({ ...request, reference: mapped(request.reference) }),
    };
  }

  private async serve(node: Node, operation: Operation): Promise<Answer> {
    const { company } = this.merchant;
    const requestId = `req_${randomUUID()}`;
    const { nowMs } = this.scheduler;
    const context: RequestContext = { requestId, company, nowMs, db: node.pools[0] as SteppedPool };
    const { key, method, path, body } = operation;
    const shown = (result: unknown): { status: number; body: string; apiVersion: string } => ({
      status: 201,
      body: JSON.stringify(result),
      apiVersion: latestVersion,
    });
    const refused = (error: ApiError): { status: number; body: string; apiVersion: string } => ({
      status: error.status,
      body: JSON.stringify(errorBody(error, requestId)),
      apiVersion: latestVersion,
    });
    const request: PhasedRequest = {
      key: {
        companyId: company.id,
        key,
        method,
        path,
        fieldHashes: hashFields(hashKey, company.id, body)[0] ?? {},
        requestId,
        apiVersion: latestVersion,
        versionNamed: false,
        nowMs,
      },
      answer: shown,
      refusal: (error) => (error instanceof ApiError && error.stored ? refused(error) : undefined),
    };
    try {
      const answer = await operation.call(node.orders, context, request);
      return { status: answer.status, body: JSON.parse(answer.body) as Answer['body'] };
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
    if (fault === 'snapshot') await this.remember();
    if (fault === 'clock_forward') this.databaseOffsetMs += clockStepMs;
    if (fault === 'clock_back') this.databaseOffsetMs -= clockStepMs;
    if (fault === 'clock_forward' || fault === 'clock_back') await this.showTime();
    if (fault !== 'restore') return;
    const roles = this.nodes.map(({ role }) => role);
    for (const node of this.nodes) await this.stop(node);
    // What PostgreSQL still runs for the stopped processes belongs to the time before the restore.
    await this.scheduler.settle();
    await this.laboratory.restore(this.merchant.company.id, this.snapshotOfRows);
    this.restores += 1;
    this.start(...roles);
  }

  private showTime(): Promise<void> {
    return this.laboratory.setDatabaseClock(this.scheduler.nowMs + this.databaseOffsetMs);
  }
}

const restoreMark = '.r';
const unmapped = (reference: string): string => reference.split(restoreMark)[0] ?? '';

/** The dispatcher without the statement that releases claims whose answer was lost. */
function keepingLostClaims(pool: SteppedPool): SteppedPool {
  return {
    ...pool,
    query: (text, values) =>
      text.includes('AS held (endpoint_id, event_id)') ? Promise.resolve([]) : pool.query(text, values),
  };
}
