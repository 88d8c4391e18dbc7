import { createAlarm } from '../../platform/alarm.ts';
import type { Clock } from '../../platform/clock.ts';
import type { DatabasePool, Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { limits } from '../../limits.ts';
import { createClaimer } from './claimer.ts';
import { keepAlive, releaseClaims, releaseUnknownClaims } from './delivery-queries.ts';
import { webhooksDueChannel } from './queries.ts';
import { createSender } from './sender.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';

/** Delivers events to webhook endpoints: claims what is due (`claimer.ts`) and sends it (`sender.ts`). */

export interface DispatcherDependencies {
  readonly db: DatabasePool;
  /** The same database for claims and records, opened with `queueSettings`. */
  readonly batchDb: Queryable;
  readonly clock: Clock;
  readonly log: Logger;
  readonly outbound: Outbound;
  readonly secretKey: ServiceKey;
  readonly random: () => number;
  readonly times?: Partial<DispatcherTimes>;
  /** How many deliveries the worker holds at once, for all endpoints together. */
  readonly heldMax?: number;
  /** The database of a company that has moved to another shard; undefined if it is on this one. */
  readonly movedTo?: (companyId: string) => Promise<Queryable | undefined>;
}

export interface DispatcherTimes {
  /** The timeout for a receiver's answer. */
  readonly answerMs: number;
  /** A worker that was silent for this long is dead; its claims are released. */
  readonly silenceMs: number;
  /** The time for requests in flight when the worker stops. */
  readonly finishingMs: number;
  /** How often a worker compares its claims in the database with those it holds. */
  readonly compareMs: number;
}

const usualTimes: DispatcherTimes = {
  answerMs: limits.webhookTimeoutSeconds * 1_000,
  silenceMs: 10_000,
  finishingMs: 4_000,
  compareMs: 60_000,
};
/** How many heartbeats a worker sends within `silenceMs`. */
const heartbeatsPerSilence = 5;
const heartbeatsBetweenOrphans = 30;
const idleMs = 1_000;
const usualHeldMax = 20_000;

/** One for claims, one for records: statements that wait share a batch, which makes each one cheaper. */
export const dispatcherConnections = 2;

export interface Dispatcher {
  stop(): Promise<void>;
}

/** The parts of a running dispatcher. */
interface Worker {
  readonly db: DispatcherDependencies['db'];
  readonly log: DispatcherDependencies['log'];
  readonly workerId: string;
  readonly times: DispatcherTimes;
  readonly alarm: ReturnType<typeof createAlarm>;
  readonly sender: ReturnType<typeof createSender>;
  readonly claimer: ReturnType<typeof createClaimer>;
}

export function startDispatcher(dependencies: DispatcherDependencies): Dispatcher {
  const { db, batchDb, clock, log, heldMax = usualHeldMax } = dependencies;
  const times = { ...usualTimes, ...dependencies.times };
  const workerId = newId(clock.nowMs());
  const alarm = createAlarm();
  const sender = createSender(
    dependencies,
    { workerId, answerMs: times.answerMs },
    {
      onDone: (endpointId, left) => {
        if (claimer.noteLeft(endpointId, left)) alarm.wake();
      },
      onReturned: alarm.ring,
    },
  );
  const claimer = createClaimer(batchDb, sender, { workerId, heldMax });
  const worker: Worker = { db, log, workerId, times, alarm, sender, claimer };
  const heartbeat = startHeartbeat(worker);
  const listening = listenForChanges(worker);
  const loop = startLoop(worker, heartbeat.first);

  return {
    async stop() {
      sender.stop();
      loop.stop();
      heartbeat.stop();
      void listening.then((end) => end?.());
      await loop.ended;
      const deadlineMs = clock.nowMs() + times.finishingMs;
      while (sender.inFlight() > 0 && clock.nowMs() < deadlineMs) await alarm.pause(100);
      await releaseClaims(db, workerId).catch(() => undefined);
    },
  };
}

/** Claims for all endpoints after a notification and once a second; in between only for endpoints that ran low. */
function startLoop(worker: Worker, ready: Promise<void>): { stop(): void; ended: Promise<void> } {
  const { log, times, alarm, claimer } = worker;
  const state = { stopping: false };
  let nextCompareMs = performance.now() + times.compareMs;
  let nextClaimMs = performance.now();

  async function step(): Promise<void> {
    const all = alarm.rang() || performance.now() >= nextClaimMs;
    if (!all && !claimer.hasLow()) return alarm.pause(nextClaimMs - performance.now());
    if (performance.now() >= nextCompareMs) {
      await releaseUnknown(worker);
      nextCompareMs = performance.now() + times.compareMs;
    }
    if (!all) {
      await claimer.claimForLow();
      return undefined;
    }
    const claimed = await claimer.claimAll();
    // More deliveries may follow in the queue.
    nextClaimMs = performance.now() + (claimed > 0 ? 0 : idleMs);
    return undefined;
  }

  async function run(): Promise<void> {
    while (!state.stopping) {
      try {
        await step();
      } catch (error) {
        log.error({ err: error }, 'webhook deliveries could not be claimed; retrying');
        // A claim may have been committed although its answer was lost.
        nextCompareMs = 0;
        nextClaimMs = performance.now() + idleMs;
        await alarm.pause(idleMs);
      }
    }
  }

  return {
    stop() {
      state.stopping = true;
      alarm.ring();
    },
    ended: ready.then(run),
  };
}

/** Releases claims whose commit answer was lost. Another worker never takes over what a living worker has claimed. */
async function releaseUnknown({ db, log, workerId, alarm, sender }: Worker): Promise<void> {
  const count = await releaseUnknownClaims(db, workerId, sender.claimed());
  if (count === 0) return;
  log.warn({ count }, 'released deliveries that were claimed without this worker knowing');
  alarm.ring();
}

function startHeartbeat({ db, log, workerId, times, alarm }: Worker): { first: Promise<void>; stop(): void } {
  let beats = 0;
  async function beat(): Promise<void> {
    const orphansToo = beats % heartbeatsBetweenOrphans === 0;
    beats += 1;
    if ((await keepAlive(db, workerId, times.silenceMs, orphansToo)) > 0) alarm.ring();
  }
  const beatOrWarn = (): Promise<void> =>
    beat().catch((error: unknown) => log.warn({ err: error }, 'the heartbeat of the webhook worker failed'));
  const timer = setInterval(() => void beatOrWarn(), times.silenceMs / heartbeatsPerSilence);
  return { first: beatOrWarn(), stop: () => clearInterval(timer) };
}

/**
 * An empty notification means that deliveries are due; any other contains the id of an endpoint that has changed.
 */
function listenForChanges({ db, log, alarm, sender, claimer }: Worker): Promise<(() => void) | undefined> {
  const release = (endpointId: string): void => {
    claimer.noteChanged(endpointId);
    sender.releaseEndpoint(endpointId);
  };
  const hear = (endpointId: string): void => (endpointId === '' ? alarm.ring() : release(endpointId));
  // Notifications are lost while the connection is down, so every endpoint may have changed.
  const hearAgain = (): void => {
    for (const { id } of sender.endpoints()) release(id);
    alarm.ring();
  };
  return db.listen(webhooksDueChannel, hear, hearAgain).catch((error: unknown) => {
    log.warn({ err: error }, 'cannot listen');
    return undefined;
  });
}
