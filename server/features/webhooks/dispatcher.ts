import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../limits.ts';
import { type DatabasePool, isUnavailable, type Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { createBatcher } from '../../platform/batcher.ts';
import type { Logger } from '../../platform/log.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { createAttempts } from './attempts.ts';
import {
  type Attempt,
  claimDeliveries,
  type ClaimRequest,
  type Delivery,
  giveBack,
  keepWatch,
  recordAttempts,
  releaseClaims,
  releaseUnknownClaims,
} from './delivery-queries.ts';
import { webhooksDueChannel } from './queries.ts';
import { disableEndpoint } from './service.ts';

/**
 * Sends what is due. Each endpoint may have a bounded number of requests under way: one that hangs fills its own share and
 * no more, and is not asked for again before one of them has ended.
 */

export interface DispatcherDependencies {
  readonly db: DatabasePool;
  /** The same database for claims and records, opened with `queueSettings`. */
  readonly batchDb: Queryable;
  readonly clock: Clock;
  readonly log: Logger;
  readonly outbound: Outbound;
  readonly secretKey: Buffer;
  readonly random: () => number;
  readonly times?: Partial<DispatcherTimes>;
}

export interface DispatcherTimes {
  /** For a receiver to answer. */
  readonly answerMs: number;
  /** A worker that was not seen for this long is dead; its claims are taken over. */
  readonly silenceMs: number;
  /** For what is under way when the worker stops. */
  readonly finishingMs: number;
  /** How often a worker compares its claims with what it holds. */
  readonly compareMs: number;
}

const usualTimes: DispatcherTimes = {
  answerMs: limits.webhookTimeoutSeconds * 1_000,
  silenceMs: 10_000,
  finishingMs: 4_000,
  compareMs: 60_000,
};
/** How often a worker shows itself before it would be taken for dead. */
const signsOfLife = 5;
const watchesBetweenOrphans = 30;

export interface Dispatcher {
  stop(): Promise<void>;
}

/** What a worker has claimed for one endpoint. */
interface Held {
  readonly waiting: Delivery[];
  /** Sent, and not answered. */
  requests: number;
  /** Sent, and the answer is not written down: what would be sent again after a crash. */
  readonly underWay: Set<Delivery>;
}

const stockOf = ({ waiting, underWay }: Held): number => waiting.length + underWay.size;

/** One for claims, one for records: the more of them wait for each other, the cheaper each one is. */
export const dispatcherConnections = 2;
const requestsPerEndpointMax = 20;
const underWayPerEndpointMax = 4 * requestsPerEndpointMax;
/** A worker holds up to twice as many deliveries of one endpoint, so that it need not ask the database for each. */
const refillAt = 200;
const heldMax = 20_000;
const claimMax = 1_000;
const idleMs = 1_000;

export function startDispatcher(dependencies: DispatcherDependencies): Dispatcher {
  const { db, batchDb, clock, log } = dependencies;
  const times = { ...usualTimes, ...dependencies.times };
  const workerId = newId(clock.nowMs());
  const endpoints = new Map<string, Held>();
  /** On their way back to the queue. */
  const returning = new Set<readonly Delivery[]>();
  const attempt = createAttempts(dependencies, times.answerMs);
  const alarm = new EventEmitter();
  const state = { held: 0, inFlight: 0, stopping: false };
  /** Endpoints that had enough at the last look at the whole queue. Of the others it has left nothing that was due. */
  let leftOut = new Set<string>();
  /** Those of them that want more by now. */
  const runningLow = new Set<string>();
  /** Endpoints that changed since the last claim began. */
  const changed = new Set<string>();
  /** When companies whose clock is ahead are asked for, also while others have something due. */
  let nextAheadMs = 0;
  let nextCompareMs = performance.now() + times.compareMs;
  let rung = false;
  const ring = (): void => {
    rung = true;
    alarm.emit('ring');
  };
  const record = createBatcher(
    async (attempts: readonly Attempt[]) => {
      await recordAttempts(batchDb, workerId, attempts);
      return attempts;
    },
    { batchMax: 256, width: 1 },
  );

  async function deliver(held: Held, delivery: Delivery): Promise<void> {
    try {
      held.requests += 1;
      const made = await attempt(delivery).finally(() => {
        held.requests -= 1;
      });
      sendNext(delivery.endpoint_id);
      await untilWritten(() => record(made.record));
      if (!made.gone) return;
      await untilWritten(() => disableEndpoint(dependencies, delivery.company_id, delivery.endpoint_id, 'gone'));
    } catch (error) {
      // It stays claimed by this worker, until that finds that it no longer holds it.
      log.error({ err: error, event_id: delivery.event_id }, 'an attempt to deliver could not be recorded');
    }
  }

  /** Starts what an endpoint may have under way; the rest of what is held for it waits its turn. */
  function sendNext(endpointId: string): void {
    const held = endpoints.get(endpointId);
    if (!held) return;
    while (!state.stopping && held.requests < requestsPerEndpointMax && held.underWay.size < underWayPerEndpointMax) {
      const delivery = held.waiting.shift();
      if (!delivery) break;
      held.underWay.add(delivery);
      state.inFlight += 1;
      void deliver(held, delivery).then(() => {
        held.underWay.delete(delivery);
        state.inFlight -= 1;
        state.held -= 1;
        sendNext(endpointId);
        const left = stockOf(held);
        if (left === 0) endpoints.delete(endpointId);
        if (left > refillAt || !leftOut.has(endpointId)) return;
        runningLow.add(endpointId);
        alarm.emit('ring');
      });
    }
  }

  /** What came of an attempt outlives a database that is away for a moment. */
  async function untilWritten(write: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await write();
        return;
      } catch (error) {
        if (state.stopping || !isUnavailable(error)) throw error;
        log.warn({ err: error }, 'an attempt to deliver could not be recorded; it will be tried again');
        await sleep(idleMs);
      }
    }
  }

  /** What waits for a receiver that has changed is claimed anew: it may have moved, or want nothing any more. */
  function letGo(endpointId: string): void {
    changed.add(endpointId);
    const held = endpoints.get(endpointId);
    if (held) returnUnsent(held.waiting.splice(0));
    if (held && stockOf(held) === 0) endpoints.delete(endpointId);
  }

  function returnUnsent(deliveries: readonly Delivery[]): void {
    if (deliveries.length === 0) return;
    state.held -= deliveries.length;
    returning.add(deliveries);
    untilWritten(() => giveBack(db, workerId, deliveries))
      .finally(() => returning.delete(deliveries))
      .then(ring, (error: unknown) => log.error({ err: error }, 'deliveries could not be given back yet'));
  }

  /** Claims what is due: of all endpoints that have room, or only of those that are named. */
  async function claim(only?: readonly string[]): Promise<number> {
    const room = Math.min(heldMax - state.held, claimMax);
    if (!only || room <= 0) {
      const isLeftOut = ([, held]: [string, Held]): boolean => room <= 0 || stockOf(held) > refillAt;
      leftOut = new Set([...endpoints].filter(isLeftOut).map(([id]) => id));
    }
    if (room <= 0) return 0;
    if (only) return claimOfSome(only, room);
    const allBut = [...leftOut];
    const due = await take({ allBut, by: 'real time' }, room);
    // Companies whose clock is ahead are asked for when the others leave time, and once a second in any case.
    if (due.length > 0 && performance.now() < nextAheadMs) return due.length;
    const dueAhead = await take({ allBut, by: 'their clock' }, room);
    nextAheadMs = performance.now() + idleMs;
    return due.length + dueAhead.length;
  }

  async function claimOfSome(only: readonly string[], room: number): Promise<number> {
    const due = await take({ only }, room);
    const found = new Set(due.map(({ endpoint_id }) => endpoint_id));
    for (const id of only) {
      if (found.has(id)) continue;
      // Its queue has ended, or stands behind that of another one.
      if (due.length === 0) leftOut.delete(id);
      else runningLow.add(id);
    }
    return due.length;
  }

  async function take(of: ClaimRequest['of'], count: number): Promise<readonly Delivery[]> {
    changed.clear();
    const due = await claimDeliveries(batchDb, { workerId, of, perEndpoint: refillAt, count });
    const byEndpoint = Map.groupBy(due, ({ endpoint_id }) => endpoint_id);
    state.held += due.length;
    for (const [endpointId, deliveries] of byEndpoint) {
      // It may have been read before the change.
      if (changed.has(endpointId)) {
        returnUnsent(deliveries);
        continue;
      }
      const held = endpoints.get(endpointId) ?? { waiting: [], requests: 0, underWay: new Set() };
      endpoints.set(endpointId, held);
      held.waiting.push(...deliveries);
      sendNext(endpointId);
    }
    return due;
  }

  /** A claim may have been committed although its answer was lost. Nobody else takes over what a living worker has. */
  async function releaseUnknown(): Promise<void> {
    const held = [...endpoints.values()].flatMap(({ waiting, underWay }) => [...waiting, ...underWay]);
    const count = await releaseUnknownClaims(db, workerId, [...held, ...[...returning].flat()]);
    nextCompareMs = performance.now() + times.compareMs;
    if (count === 0) return;
    log.warn({ count }, 'claimed deliveries that this worker did not know of were released');
    rung = true;
  }

  /** Looks at the whole queue when there is news and once a second; in between only after endpoints that ran low. */
  async function loop(): Promise<void> {
    let nextLookMs = performance.now();
    while (!state.stopping) {
      const look = rung || performance.now() >= nextLookMs;
      if (!look && runningLow.size === 0) {
        await pause(nextLookMs - performance.now());
        continue;
      }
      const only = look ? undefined : [...runningLow];
      rung = false;
      runningLow.clear();
      try {
        if (performance.now() >= nextCompareMs) await releaseUnknown();
        const claimed = await claim(only);
        // Behind what was taken there may be more.
        if (look) nextLookMs = performance.now() + (claimed > 0 ? 0 : idleMs);
      } catch (error) {
        log.error({ err: error }, 'webhooks could not be claimed; it will be tried again');
        nextCompareMs = 0;
        nextLookMs = performance.now() + idleMs;
        await pause(idleMs);
      }
    }
  }

  function pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    alarm.once('ring', resolve);
    return promise.finally(() => {
      clearTimeout(timer);
      alarm.off('ring', resolve);
    });
  }

  let watches = 0;
  async function watch(): Promise<void> {
    const orphansToo = watches % watchesBetweenOrphans === 0;
    watches += 1;
    if ((await keepWatch(db, workerId, times.silenceMs, orphansToo)) > 0) ring();
  }

  const hear = (endpointId: string): void => (endpointId === '' ? ring() : letGo(endpointId));
  // Whoever did not hear anything for a while may have missed what changed.
  const hearAgain = (): void => {
    for (const endpointId of endpoints.keys()) letGo(endpointId);
    ring();
  };
  db.listen(webhooksDueChannel, hear, hearAgain).catch((error: unknown) => log.warn({ err: error }, 'cannot listen'));
  const watching = setInterval(() => {
    watch().catch((error: unknown) => log.warn({ err: error }, 'a worker could not show that it lives'));
  }, times.silenceMs / signsOfLife);
  const running = watch()
    .catch((error: unknown) => log.warn({ err: error }, 'a worker could not show that it lives'))
    .then(loop);

  return {
    async stop() {
      state.stopping = true;
      ring();
      clearInterval(watching);
      await running;
      const deadlineMs = clock.nowMs() + times.finishingMs;
      while (state.inFlight > 0 && clock.nowMs() < deadlineMs) await pause(100);
      await releaseClaims(db, workerId).catch(() => undefined);
    },
  };
}
