import type { HostLimit } from '../../platform/outbound/host-limit.ts';
import { type Attempted, createAttempts } from './attempts.ts';
import type { ClaimedDelivery } from './delivery-queries.ts';
import { createDeliveryRecords } from './delivery-records.ts';
import type { DispatcherDependencies } from './dispatcher.ts';
import {
  acquirePermit,
  createQueues,
  type EndpointQueue,
  isStalled,
  noteResult,
  noteSent,
  requestsPerEndpointMax,
  sizeOf,
  takeStalled,
  takeSurplus,
} from './endpoint-queue.ts';

/**
 * Sends the deliveries that a worker has claimed. Each endpoint has a bounded number of requests in flight, and so has
 * each host, so that an endpoint that does not answer uses only its own share.
 */

/** With those that are answered and not recorded yet. */
const inFlightPerEndpointMax = 8 * requestsPerEndpointMax;

/** What a worker has claimed for one endpoint. */
export interface EndpointLoad {
  readonly id: string;
  readonly size: number;
  readonly isStalled: boolean;
}

export interface Sender {
  /** Takes over claimed deliveries of one endpoint, and sends them. */
  hold(endpointId: string, deliveries: readonly ClaimedDelivery[]): void;
  /** Returns claimed deliveries to the queue without sending them. */
  release(deliveries: readonly ClaimedDelivery[]): void;
  /** Returns deliveries of an endpoint that has changed: its URL may be different, or it may be disabled. */
  releaseEndpoint(endpointId: string): void;
  /** Returns what waits for stalled endpoints, so that others have room. */
  releaseStalled(): void;
  /** The number of claimed deliveries. */
  size(): number;
  inFlight(): number;
  /** The endpoints with claimed deliveries. */
  endpoints(): readonly EndpointLoad[];
  /** All deliveries that this worker has claimed, including those being returned to the queue. */
  claimed(): readonly ClaimedDelivery[];
  /** Starts no more requests. */
  stop(): void;
}

interface SenderEvents {
  /** Called when a delivery of the endpoint is done, with the number left. */
  readonly onDone: (endpointId: string, left: number) => void;
  readonly onReturned: () => void;
}

export function createSender(
  dependencies: DispatcherDependencies,
  { workerId, answerMs }: { readonly workerId: string; readonly answerMs: number },
  { onDone, onReturned }: SenderEvents,
): Sender {
  const { log, outbound } = dependencies;
  const queues = createQueues((endpointId) => sendNext(endpointId));
  const state = { stopping: false };
  const attempt = createAttempts(dependencies, answerMs);
  const records = createDeliveryRecords(dependencies, workerId, onReturned);

  async function deliver(queue: EndpointQueue, delivery: ClaimedDelivery, limit: HostLimit): Promise<void> {
    try {
      let made: Attempted;
      const sentMs = noteSent(queue);
      try {
        made = await attempt(delivery);
      } finally {
        queue.requests -= 1;
        limit.release(delivery);
      }
      noteResult(queue, sentMs, made.record.http_status !== null);
      sendNext(delivery.endpoint_id);
      records.giveBack(takeSurplus(queue));
      await records.record(made.record);
      if (made.gone) await records.disable(delivery);
    } catch (error) {
      // It stays claimed by this worker, until the comparison of claims finds that the worker no longer holds it.
      log.error({ err: error, event_id: delivery.event_id }, 'a delivery attempt could not be recorded');
    }
  }

  function sendNext(endpointId: string): void {
    const queue = queues.all.get(endpointId);
    if (!queue) return;
    while (!state.stopping && queue.requests < requestsPerEndpointMax && queue.inFlight.size < inFlightPerEndpointMax) {
      const [delivery] = queue.waiting;
      const limit = delivery && acquirePermit(queue, delivery, outbound.hostOf(delivery.receiver.url));
      if (!limit) break;
      queue.waiting.shift();
      queue.inFlight.add(delivery);
      void deliver(queue, delivery, limit).then(() => {
        queue.inFlight.delete(delivery);
        sendNext(endpointId);
        queues.dropIfEmpty(endpointId);
        onDone(endpointId, sizeOf(queue));
      });
    }
  }

  return {
    hold(endpointId, deliveries) {
      const queue = queues.open(endpointId);
      queue.waiting.push(...deliveries);
      sendNext(endpointId);
      records.giveBack(takeSurplus(queue));
    },
    release: records.giveBack,
    releaseEndpoint(endpointId) {
      const queue = queues.all.get(endpointId);
      if (!queue) return;
      records.giveBack(queue.waiting.splice(0));
      queues.dropIfEmpty(endpointId);
    },
    releaseStalled() {
      for (const queue of queues.all.values()) records.giveBack(takeStalled(queue));
    },
    size: () => [...queues.all.values()].reduce((sum, queue) => sum + sizeOf(queue), 0),
    inFlight: () => [...queues.all.values()].reduce((sum, { inFlight }) => sum + inFlight.size, 0),
    endpoints: () => [...queues.all].map(([id, queue]) => ({ id, size: sizeOf(queue), isStalled: isStalled(queue) })),
    claimed: () => [
      ...[...queues.all.values()].flatMap(({ waiting, inFlight }) => [...waiting, ...inFlight]),
      ...records.returning(),
    ],
    stop() {
      state.stopping = true;
      records.stop();
    },
  };
}
