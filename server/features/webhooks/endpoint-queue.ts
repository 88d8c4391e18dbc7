import { countsMs, type Host } from '../../platform/outbound/hosts.ts';
import type { HostLimit } from '../../platform/outbound/host-limit.ts';
import type { ClaimedDelivery } from './delivery-queries.ts';

/** The claimed deliveries of one endpoint, and its requests. */

export const requestsPerEndpointMax = 20;
/** An endpoint that cannot get more requests is stalled if it has not answered for this long. */
const stalledMs = 2_000;
/** Less than a request counts at its host: when the requests of an endpoint no longer count, it is silent. */
const silentMs = countsMs / 2;
/** Many silent endpoints can share a host. Their deliveries wait in the queue, because claims must not last long. */
const silentWaitingMax = requestsPerEndpointMax;
/** How many endpoints that have hung are remembered while they have no deliveries. */
const hungMax = 10_000;

export interface EndpointQueue {
  readonly waiting: ClaimedDelivery[];
  /** The number of requests without an answer. */
  requests: number;
  /**
   * When it answered last, or when it got a request while it had none. A request that fails at once counts as answered.
   */
  answeredMs: number;
  /** Whether a request to it timed out, and it has answered none since. */
  hasHung: boolean;
  /** Whether its host has no permit for its next request. */
  waitsForHost: boolean;
  /** Sent, but the attempt is not recorded: a crash would send these again. */
  readonly inFlight: Set<ClaimedDelivery>;
  /** Called when its host has a permit. */
  readonly onFree: () => void;
}

const newQueue = (hasHung: boolean, onFree: () => void): EndpointQueue => ({
  waiting: [],
  requests: 0,
  answeredMs: performance.now(),
  hasHung,
  waitsForHost: false,
  inFlight: new Set(),
  onFree,
});

/** The queues of a worker, by the ID of their endpoint. */
interface EndpointQueues {
  readonly all: ReadonlyMap<string, EndpointQueue>;
  /** Returns the queue of an endpoint, which is new if there was none. */
  open(endpointId: string): EndpointQueue;
  dropIfEmpty(endpointId: string): void;
}

export function createQueues(onFree: (endpointId: string) => void): EndpointQueues {
  const all = new Map<string, EndpointQueue>();
  /** Endpoints without deliveries that have hung. */
  const hung = new Set<string>();
  return {
    all,
    open(endpointId) {
      const known = all.get(endpointId);
      if (known) return known;
      const made = newQueue(hung.delete(endpointId), () => onFree(endpointId));
      all.set(endpointId, made);
      return made;
    },
    dropIfEmpty(endpointId) {
      const queue = all.get(endpointId);
      if (!queue || sizeOf(queue) > 0) return;
      all.delete(endpointId);
      if (!queue.hasHung) return;
      if (hung.size >= hungMax) hung.clear();
      hung.add(endpointId);
    },
  };
}

export const sizeOf = ({ waiting, inFlight }: EndpointQueue): number => waiting.length + inFlight.size;

const isQuietFor = (ms: number, { answeredMs }: EndpointQueue): boolean => performance.now() - answeredMs > ms;

export const isStalled = (queue: EndpointQueue): boolean =>
  (queue.waitsForHost || queue.requests >= requestsPerEndpointMax) && (queue.hasHung || isQuietFor(stalledMs, queue));

/** Acquires a permit of the host for the next request. Returns its limit, or undefined if there is no permit. */
export function acquirePermit(queue: EndpointQueue, delivery: ClaimedDelivery, host: Host): HostLimit | undefined {
  const isSilent = queue.hasHung || (queue.requests > 0 && isQuietFor(silentMs, queue));
  const limit = isSilent ? host.silent : host.answering;
  const isAcquired = limit.acquire(delivery, queue.onFree);
  queue.waitsForHost = !isAcquired;
  return isAcquired ? limit : undefined;
}

/** Returns when the request was sent. */
export function noteSent(queue: EndpointQueue): number {
  const sentMs = performance.now();
  if (queue.requests === 0) queue.answeredMs = sentMs;
  queue.requests += 1;
  return sentMs;
}

export function noteResult(queue: EndpointQueue, sentMs: number, isAnswered: boolean): void {
  const nowMs = performance.now();
  if (isAnswered || nowMs - sentMs < countsMs) {
    queue.answeredMs = nowMs;
    queue.hasHung = false;
  } else if (queue.answeredMs <= sentMs) queue.hasHung = true;
}

/** Removes the deliveries that would wait too long. */
export const takeSurplus = ({ hasHung, waiting }: EndpointQueue): readonly ClaimedDelivery[] =>
  hasHung ? waiting.splice(silentWaitingMax) : [];

/**
 * Removes what waits for a stalled endpoint. One delivery stays if none is in flight: without any, the worker would
 * forget the endpoint and claim as many again.
 */
export const takeStalled = (queue: EndpointQueue): readonly ClaimedDelivery[] =>
  isStalled(queue) ? queue.waiting.splice(queue.inFlight.size > 0 ? 0 : 1) : [];
