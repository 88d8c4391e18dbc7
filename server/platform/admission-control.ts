import { type ConcurrencyLimit, createConcurrencyLimit, watchUtilization } from './concurrency-limit.ts';

/**
 * Decides which requests run now, which wait and which are rejected, before any of them reaches the database.
 *
 * Each flow (a company, or all unauthenticated clients) has its own queue. The flow that has received the least
 * service, by cost and not by count, is next. A flow that uses less than its share does not wait. A request is
 * rejected at once when the requests ahead of it would delay it too long: a late response helps its client no more
 * than a rejection, and it costs the other clients.
 */

export interface AdmissionOptions {
  /** The number of requests that use the database or wait for it. */
  readonly inDatabase: () => number;
  /** The highest event loop lag; 0 disables the limit. */
  readonly lagMsMax: number;
  /** Creates the error for a rejected request. */
  readonly refusal: () => Error;
  /** For tests. */
  readonly nowMs?: () => number;
  readonly utilization?: () => number;
}

export interface Ticket {
  readonly flow: Flow;
  readonly places: number;
}

export interface AdmissionControl {
  /** `cost` is the minimum cost of the request, as far as it is known in advance. */
  enter(flow: string, cost: number): Ticket | Promise<Ticket>;
  /** Called when the request has its response; `cost` is the actual cost. */
  leave(ticket: Ticket, cost: number): void;
  /** Whether a request of this flow would be rejected. It is cheap, so callers check before they do any work. */
  isFull(flow: string): boolean;
  /** `running` is the sum of the costs of running requests. */
  stats(): { readonly running: number; readonly waiting: number; readonly limit: number };
}

interface WaitingRequest {
  readonly cost: number;
  readonly sinceMs: number;
  readonly admit: (ticket: Ticket) => void;
  readonly refuse: (error: Error) => void;
}

interface Flow {
  readonly name: string;
  readonly queue: WaitingRequest[];
  running: number;
  costlyRunning: number;
  /** The recent cost of a request of this flow. */
  usualCost: number;
  /** The virtual time up to which this flow has been served. Virtual time advances with the cost that is served. */
  servedUntil: number;
}

const tickMs = 20;
/** The target time in the queue, and the maximum. */
const expectedWaitMs = 500;
const waitMsMax = 1_000;
/** Bounds of the queue length, for any throughput. */
const leastWaiting = 64;
const mostWaiting = 512;
const leastWaitingOfFlow = 2;
const paceMemoryMs = 500;
/**
 * Requests that cost this much keep the database busy, so only a few of one flow run at once: more of them would not
 * finish sooner.
 */
const costlyFrom = 8;
const costlyMax = 2;
const idleFlowsMax = 10_000;
const forgettingShare = 0.25;

export function createAdmissionControl(options: AdmissionOptions): AdmissionControl {
  return options.lagMsMax === 0 ? openDoor : new Admission(options);
}

class Admission implements AdmissionControl {
  readonly #inDatabase: () => number;
  readonly #refusal: () => Error;
  readonly #nowMs: () => number;
  readonly #utilization: () => number;
  readonly #limit: ConcurrencyLimit;
  readonly #flows = new Map<string, Flow>();
  readonly #queued = new Set<Flow>();
  #activeFlows = 0;
  #running = 0;
  #waiting = 0;
  #virtualTime = 0;
  #served = 0;
  #rejected = 0;
  #servedPerMs = mostWaiting / expectedWaitMs;
  #timer: NodeJS.Timeout | undefined;
  #tickedAtMs = 0;

  constructor({ inDatabase, lagMsMax, refusal, nowMs, utilization }: AdmissionOptions) {
    this.#inDatabase = inDatabase;
    this.#refusal = refusal;
    this.#nowMs = nowMs ?? (() => performance.now());
    this.#utilization = utilization ?? watchUtilization();
    this.#limit = createConcurrencyLimit(lagMsMax);
  }

  enter(name: string, cost: number): Ticket | Promise<Ticket> {
    const flow = this.#flowNamed(name);
    const places = this.#placesFor(flow, cost);
    if (flow.queue.length === 0 && this.#hasRoom(flow, places)) return this.#start(flow, places);
    return this.#isFull(flow) ? Promise.reject(this.#refusal()) : this.#wait(flow, cost);
  }

  leave({ flow, places }: Ticket, cost: number): void {
    this.#served += 1;
    flow.running -= places;
    this.#running -= places;
    if (places >= costlyFrom) flow.costlyRunning -= 1;
    flow.servedUntil += cost - 1;
    // The estimate rises at once and falls slowly, so a flow that has become costly is not admitted by its earlier
    // cost.
    flow.usualCost = cost > flow.usualCost ? cost : flow.usualCost + (cost - flow.usualCost) * forgettingShare;
    if (!isActive(flow)) this.#activeFlows -= 1;
    if (this.#waiting > 0) this.#dispatch();
  }

  isFull(name: string): boolean {
    if (this.#waiting === 0) return false;
    const flow = this.#flows.get(name);
    return flow !== undefined && this.#isFull(flow);
  }

  stats(): { running: number; waiting: number; limit: number } {
    return { running: this.#running, waiting: this.#waiting, limit: this.#limit.value() };
  }

  #flowNamed(name: string): Flow {
    const known = this.#flows.get(name);
    if (known) return known;
    if (this.#flows.size >= idleFlowsMax) {
      for (const flow of this.#flows.values()) if (!isActive(flow)) this.#flows.delete(flow.name);
    }
    const flow = newFlow(name, this.#virtualTime);
    this.#flows.set(name, flow);
    return flow;
  }

  /** A costly request takes several places, but never more than there are. */
  #placesFor(flow: Flow, cost: number): number {
    return Math.ceil(Math.min(Math.max(cost, flow.usualCost), this.#limit.value() / 2));
  }

  #hasRoom(flow: Flow, places: number): boolean {
    if (places >= costlyFrom && flow.costlyRunning >= costlyMax) return false;
    const limit = this.#limit.value();
    if (this.#running + places <= limit) return true;
    // A flow that uses less than its share does not wait for flows that use more.
    const share = limit / ((isActive(flow) ? 1 : 2) + this.#activeFlows);
    return flow.running + places <= share && this.#running + places <= 2 * limit;
  }

  #start(flow: Flow, places: number): Ticket {
    if (!isActive(flow)) this.#activeFlows += 1;
    flow.running += places;
    this.#running += places;
    if (places >= costlyFrom) flow.costlyRunning += 1;
    this.#virtualTime = Math.max(this.#virtualTime, flow.servedUntil);
    flow.servedUntil = this.#virtualTime + 1;
    return { flow, places };
  }

  #wait(flow: Flow, cost: number): Promise<Ticket> {
    const { promise, resolve, reject } = Promise.withResolvers<Ticket>();
    if (!isActive(flow)) this.#activeFlows += 1;
    flow.queue.push({ cost, sinceMs: this.#nowMs(), admit: resolve, refuse: reject });
    this.#queued.add(flow);
    this.#waiting += 1;
    if (!this.#timer) this.#startTicking();
    return promise;
  }

  /** Each flow has its share of the queue. */
  #isFull(flow: Flow): boolean {
    const inTime = Math.min(mostWaiting, Math.max(leastWaiting, this.#servedPerMs * expectedWaitMs));
    const isFull = flow.queue.length >= Math.max(leastWaitingOfFlow, inTime / Math.max(1, this.#queued.size));
    if (isFull) this.#rejected += 1;
    return isFull;
  }

  /** Removes the first request from the queue of the flow. */
  #shift(flow: Flow): WaitingRequest | undefined {
    const first = flow.queue.shift();
    this.#waiting -= 1;
    if (flow.queue.length === 0) this.#queued.delete(flow);
    if (!isActive(flow)) this.#activeFlows -= 1;
    return first;
  }

  /** Returns the flow that has been served least, among those that have room. */
  #nextFlow(): Flow | undefined {
    let next: Flow | undefined;
    for (const flow of this.#queued) {
      const isBlocked =
        flow.costlyRunning >= costlyMax && this.#placesFor(flow, flow.queue[0]?.cost ?? 1) >= costlyFrom;
      if (!isBlocked && (!next || flow.servedUntil < next.servedUntil)) next = flow;
    }
    return next;
  }

  #dispatch(): void {
    for (let flow = this.#nextFlow(); flow; flow = this.#nextFlow()) {
      const places = this.#placesFor(flow, flow.queue[0]?.cost ?? 1);
      if (!this.#hasRoom(flow, places)) return;
      const ticket = this.#start(flow, places);
      this.#shift(flow)?.admit(ticket);
    }
  }

  /** Runs only while requests wait. */
  #startTicking(): void {
    this.#utilization();
    this.#served = 0;
    this.#rejected = 0;
    this.#tickedAtMs = this.#nowMs();
    this.#timer = setTimeout(() => this.#tick(), tickMs).unref();
  }

  #tick(): void {
    const atMs = this.#nowMs();
    const passedMs = atMs - this.#tickedAtMs;
    this.#servedPerMs += (this.#served / passedMs - this.#servedPerMs) * Math.min(1, passedMs / paceMemoryMs);
    this.#limit.adapt({
      running: this.#running,
      inDatabase: this.#inDatabase(),
      utilization: this.#utilization(),
      lagMs: passedMs - tickMs,
      rejected: this.#rejected,
    });
    this.#timer = undefined;
    this.#dispatch();
    for (const flow of this.#queued) this.#refuseLate(flow, atMs);
    if (this.#waiting > 0) this.#startTicking();
  }

  #refuseLate(flow: Flow, atMs: number): void {
    while (flow.queue[0] && atMs - flow.queue[0].sinceMs > waitMsMax) this.#shift(flow)?.refuse(this.#refusal());
  }
}

const isActive = (flow: Flow): boolean => flow.running > 0 || flow.queue.length > 0;

const newFlow = (name: string, servedUntil: number): Flow => ({
  name,
  queue: [],
  running: 0,
  costlyRunning: 0,
  usualCost: 1,
  servedUntil,
});

const anyone = newFlow('', 0);

const openDoor: AdmissionControl = {
  enter: () => ({ flow: anyone, places: 1 }),
  leave: () => undefined,
  isFull: () => false,
  stats: () => ({ running: 0, waiting: 0, limit: Infinity }),
};
