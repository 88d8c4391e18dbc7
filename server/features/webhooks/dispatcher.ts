import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../limits.ts';
import { type DatabasePool, isUnavailable, type Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { createLane } from '../../platform/lane.ts';
import type { Logger } from '../../platform/log.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { envelopeOf } from '../events/service.ts';
import {
  type Attempt,
  claimDeliveries,
  type Delivery,
  keepWatch,
  recordAttempts,
  releaseClaims,
} from './delivery-queries.ts';
import { disableEndpoint } from './service.ts';
import { nextAttemptAt, retryAfterMs } from './retry-schedule.ts';
import { secretsOf } from './secrets.ts';
import { type Sent, send } from './send.ts';

/**
 * Sends what is due. Each endpoint may have a bounded number of requests under way: one that hangs fills its own share and
 * no more, and is not asked for again before one of them has ended.
 */

export interface DispatcherDependencies {
  readonly db: DatabasePool;
  /** The same database for claims and records, opened with `byKeySettings`. */
  readonly lanesDb: Queryable;
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
}

const usualTimes: DispatcherTimes = {
  answerMs: limits.webhookTimeoutSeconds * 1_000,
  silenceMs: 10_000,
  finishingMs: 4_000,
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
  underWay: number;
}

export const webhooksDueChannel = 'webhooks_due';

/** One for claims, two for records. */
export const dispatcherConnections = 3;
/** Requests of one endpoint under way. */
const perEndpointMax = 20;
/** Deliveries of one endpoint that a worker holds, so that it need not ask the database for each. */
const heldPerEndpointMax = 400;
const heldMax = 20_000;
const claimMax = 400;
const idleMs = 1_000;
/** A receiver that answers so does not want to be asked again. */
const gone = 410;

export function startDispatcher(dependencies: DispatcherDependencies): Dispatcher {
  const { db, lanesDb, clock, log } = dependencies;
  const times = { ...usualTimes, ...dependencies.times };
  const workerId = newId(clock.nowMs());
  const endpoints = new Map<string, Held>();
  const alarm = new EventEmitter();
  const state = { held: 0, inFlight: 0, stopping: false };
  let rung = false;
  const ring = (): void => {
    rung = true;
    alarm.emit('ring');
  };
  const record = createLane(
    async (attempts: readonly Attempt[]) => {
      await recordAttempts(lanesDb, workerId, attempts);
      return attempts;
    },
    { batchMax: 128, width: 2 },
  );

  async function deliver(delivery: Delivery): Promise<void> {
    try {
      const attempt = await attemptDelivery(dependencies, delivery, times.answerMs);
      await untilWritten(() => record(attempt.record));
      if (!attempt.gone) return;
      await untilWritten(() => disableEndpoint(dependencies, delivery.company_id, delivery.endpoint_id, 'gone'));
    } catch (error) {
      // It stays claimed by this worker, and is given back when the worker stops or is declared dead.
      log.error({ err: error, event_id: delivery.event_id }, 'an attempt to deliver could not be recorded');
    }
  }

  /** Starts what an endpoint may have under way; the rest of what is held for it waits its turn. */
  function sendNext(endpointId: string): void {
    const held = endpoints.get(endpointId);
    if (!held) return;
    while (!state.stopping && held.underWay < perEndpointMax) {
      const delivery = held.waiting.shift();
      if (!delivery) break;
      held.underWay += 1;
      state.inFlight += 1;
      // Until the answer is written down: what is not would be sent again after a crash.
      void deliver(delivery).then(() => {
        held.underWay -= 1;
        state.inFlight -= 1;
        state.held -= 1;
        sendNext(endpointId);
        const left = held.waiting.length + held.underWay;
        if (left === 0) endpoints.delete(endpointId);
        if (left <= heldPerEndpointMax / 2) ring();
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

  async function claim(): Promise<number> {
    const room = Math.min(heldMax - state.held, claimMax);
    if (room <= 0) return 0;
    const busy = [...endpoints]
      .filter(([, { waiting, underWay }]) => waiting.length + underWay > heldPerEndpointMax / 2)
      .map(([id]) => id);
    const due = await claimDeliveries(lanesDb, { workerId, busy, perEndpoint: heldPerEndpointMax / 2, count: room });
    state.held += due.length;
    for (const [endpointId, deliveries] of Map.groupBy(due, ({ endpoint_id }) => endpoint_id)) {
      const held = endpoints.get(endpointId) ?? { waiting: [], underWay: 0 };
      endpoints.set(endpointId, held);
      held.waiting.push(...deliveries);
      sendNext(endpointId);
    }
    return due.length;
  }

  async function loop(): Promise<void> {
    while (!state.stopping) {
      rung = false;
      let claimed = 0;
      try {
        claimed = await claim();
      } catch (error) {
        log.error({ err: error }, 'webhooks could not be claimed; it will be tried again');
        await pause(idleMs);
        continue;
      }
      if (claimed === 0 && !rung && !state.stopping) await pause(idleMs);
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

  db.listen(webhooksDueChannel, ring, ring).catch((error: unknown) => log.warn({ err: error }, 'cannot listen'));
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

interface Attempted {
  readonly record: Attempt;
  readonly gone: boolean;
}

const notSent = (error: string): Sent => ({
  succeeded: false,
  httpStatus: null,
  durationMs: 0,
  error,
  headers: {},
  body: null,
});

async function sendDelivery(
  dependencies: DispatcherDependencies,
  delivery: Delivery,
  timeoutMs: number,
): Promise<Sent> {
  if (delivery.endpoint_status !== 'enabled') return notSent('the endpoint is disabled');
  try {
    const outgoing = {
      url: delivery.url,
      secrets: secretsOf(dependencies.secretKey, delivery.company_id, delivery.endpoint_id, delivery),
      event: envelopeOf({ ...delivery, id: delivery.event_id }, delivery.mode === 'live', delivery.api_version),
      attempt: delivery.attempts,
    };
    return await send(dependencies, outgoing, timeoutMs);
  } catch (error) {
    // Such as a secret that does not open: to be mended by the operator, and tried again until then.
    dependencies.log.error({ err: error, event_id: delivery.event_id }, 'a delivery could not be made ready');
    return notSent('the delivery could not be made ready');
  }
}

async function attemptDelivery(
  dependencies: DispatcherDependencies,
  delivery: Delivery,
  timeoutMs: number,
): Promise<Attempted> {
  const { clock, random } = dependencies;
  const sent = await sendDelivery(dependencies, delivery, timeoutMs);
  const nowMs = clock.nowMs() + delivery.clock_offset_ms;
  const again = !sent.succeeded && delivery.endpoint_status === 'enabled' && sent.httpStatus !== gone;
  const askedMs = retryAfterMs(sent.retryAfter, clock.nowMs());
  const next = again ? nextAttemptAt(delivery.attempts, nowMs, askedMs, random()) : null;
  return {
    gone: sent.httpStatus === gone,
    record: {
      company_id: delivery.company_id,
      endpoint_id: delivery.endpoint_id,
      event_id: delivery.event_id,
      inserted_at: delivery.inserted_at,
      log_id: newId(nowMs),
      event_type: delivery.type,
      attempt: delivery.attempts,
      succeeded: sent.succeeded,
      http_status: sent.httpStatus,
      duration_ms: sent.durationMs,
      error: sent.error,
      request_headers: sent.headers,
      response_body: sent.body,
      at: new Date(nowMs),
      next_attempt_at: next,
    },
  };
}
