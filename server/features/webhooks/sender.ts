import { type Attempted, createAttempts } from './attempts.ts';
import type { Delivery } from './delivery-queries.ts';
import { createDeliveryRecords } from './delivery-records.ts';
import type { DispatcherDependencies } from './dispatcher.ts';

/**
 * Sends the deliveries that a worker has claimed. Each endpoint has a bounded number of requests in flight, so that
 * one that does not answer uses only its own share.
 */

const requestsPerEndpointMax = 20;
const inFlightPerEndpointMax = 4 * requestsPerEndpointMax;
/** An endpoint whose requests are all in flight is stalled if it has not answered for this long. */
const stalledMs = 2_000;

/** The claimed deliveries of one endpoint. */
interface EndpointQueue {
  readonly waiting: Delivery[];
  /** The number of requests without an answer. */
  requests: number;
  /** When it answered last, or when its first delivery was claimed. */
  answeredMs: number;
  /** Sent, but the attempt is not recorded: a crash would send these again. */
  readonly inFlight: Set<Delivery>;
}

const emptyQueue = (): EndpointQueue => ({
  waiting: [],
  requests: 0,
  answeredMs: performance.now(),
  inFlight: new Set(),
});
const sizeOf = ({ waiting, inFlight }: EndpointQueue): number => waiting.length + inFlight.size;
const isStalled = ({ requests, answeredMs }: EndpointQueue): boolean =>
  requests >= requestsPerEndpointMax && performance.now() - answeredMs > stalledMs;

/** What a worker has claimed for one endpoint. */
export interface EndpointLoad {
  readonly id: string;
  readonly size: number;
  readonly isStalled: boolean;
}

export interface Sender {
  /** Takes over claimed deliveries of one endpoint, and sends them. */
  hold(endpointId: string, deliveries: readonly Delivery[]): void;
  /** Returns claimed deliveries to the queue without sending them. */
  release(deliveries: readonly Delivery[]): void;
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
  claimed(): readonly Delivery[];
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
  const { log } = dependencies;
  const queues = new Map<string, EndpointQueue>();
  const state = { stopping: false };
  const attempt = createAttempts(dependencies, answerMs);
  const records = createDeliveryRecords(dependencies, workerId, onReturned);

  async function deliver(queue: EndpointQueue, delivery: Delivery): Promise<void> {
    try {
      let made: Attempted;
      queue.requests += 1;
      try {
        made = await attempt(delivery);
      } finally {
        queue.requests -= 1;
      }
      if (made.record.http_status !== null) queue.answeredMs = performance.now();
      sendNext(delivery.endpoint_id);
      await records.record(made.record);
      if (made.gone) await records.disable(delivery);
    } catch (error) {
      // It stays claimed by this worker, until the comparison of claims finds that the worker no longer holds it.
      log.error({ err: error, event_id: delivery.event_id }, 'a delivery attempt could not be recorded');
    }
  }

  function sendNext(endpointId: string): void {
    const queue = queues.get(endpointId);
    if (!queue) return;
    while (!state.stopping && queue.requests < requestsPerEndpointMax && queue.inFlight.size < inFlightPerEndpointMax) {
      const delivery = queue.waiting.shift();
      if (!delivery) break;
      queue.inFlight.add(delivery);
      void deliver(queue, delivery).then(() => {
        queue.inFlight.delete(delivery);
        sendNext(endpointId);
        dropIfEmpty(endpointId, queue);
        onDone(endpointId, sizeOf(queue));
      });
    }
  }

  function dropIfEmpty(endpointId: string, queue: EndpointQueue): void {
    if (sizeOf(queue) === 0) queues.delete(endpointId);
  }

  return {
    hold(endpointId, deliveries) {
      const queue = queues.get(endpointId) ?? emptyQueue();
      queues.set(endpointId, queue);
      queue.waiting.push(...deliveries);
      sendNext(endpointId);
    },
    release: records.giveBack,
    releaseEndpoint(endpointId) {
      const queue = queues.get(endpointId);
      if (!queue) return;
      records.giveBack(queue.waiting.splice(0));
      dropIfEmpty(endpointId, queue);
    },
    releaseStalled() {
      for (const queue of queues.values()) if (isStalled(queue)) records.giveBack(queue.waiting.splice(0));
    },
    size: () => [...queues.values()].reduce((sum, queue) => sum + sizeOf(queue), 0),
    inFlight: () => [...queues.values()].reduce((sum, { inFlight }) => sum + inFlight.size, 0),
    endpoints: () => [...queues].map(([id, queue]) => ({ id, size: sizeOf(queue), isStalled: isStalled(queue) })),
    claimed: () => [
      ...[...queues.values()].flatMap(({ waiting, inFlight }) => [...waiting, ...inFlight]),
      ...records.returning(),
    ],
    stop() {
      state.stopping = true;
      records.stop();
    },
  };
}
