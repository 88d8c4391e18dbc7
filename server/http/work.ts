import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { AdmissionControl, Ticket } from '../platform/admission-control.ts';
import type { Clock } from '../platform/clock.ts';
import { ownTurn } from '../platform/own-turn.ts';
import type { RateCheck, RateLimiter } from '../platform/rate-limiter/rate-limiter.ts';

/** What a request makes the service do. Rate limits and admission go by it, not by the mere number of requests. */

type Measure = keyof typeof limits.requestCosts;
type Measured = Readonly<Record<Measure, number> & { isSearch: boolean }>;

export interface Work extends Record<Measure, number> {
  isSearch: boolean;
  /** The buckets that it has taken 1 from. */
  taken: readonly RateCheck[];
  /** Whose it is, for admission: a company, or strangers. */
  flow: string;
  ticket: Ticket | undefined;
  isShed: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Absent where requests count against the address they came from; `paced` slows down each connection instead. */
    rateLimit?: 'own' | 'paced' | 'none';
  }
  interface FastifyRequest {
    work: Work;
  }
}

/** There is no room for the request: nothing was done for it, and it leaves no trace but a number in the metrics. */
class Overloaded extends ApiError {
  constructor() {
    super('service_unavailable', 'The service is busy. Retry shortly.', { headers: { 'Retry-After': '1' } });
  }
}

/** One for all: it says the same to everyone, and a thousand a second would take their toll. */
export const overloaded = new Overloaded();

export const newWork = (): Work => ({
  bodyBytes: 0,
  bodyValues: 0,
  streamedBytes: 0,
  answerBytes: 0,
  rows: 0,
  isSearch: false,
  taken: [],
  flow: '',
  ticket: undefined,
  isShed: false,
});

const measures = Object.entries(limits.requestCosts) as [Measure, { free: number; each: number }][];

/** 1 for a request of the usual size, see docs/limits.md. */
export function costOf(work: Measured): number {
  let cost = work.isSearch ? 1 + limits.searchCost : 1;
  for (const [measure, { free, each }] of measures) {
    if (work[measure] > free) cost += Math.ceil((work[measure] - free) / each);
  }
  return cost;
}

/** What can be seen of the costs of a read before it is done. */
export function noteQuery({ work, query }: FastifyRequest): void {
  const { q, limit } = query as { q?: unknown; limit?: unknown };
  work.isSearch = q !== undefined;
  if (limit !== undefined) work.rows = Math.min(Number(limit) || 0, limits.pageSizeMax);
}

/** Refuses a request for which there will be no room, before its body is read. */
export function checkRoom(admission: AdmissionControl, { work }: FastifyRequest): void {
  if (admission.isFull(work.flow)) throw overloaded;
}

// A larger body keeps the event loop busy for a millisecond or more, as everything does that costs more than 1.
const smallBodyBytes = 8 * 1024;

/** Waits until there is room for the request; called when all of it is here, and before anything is done with it. */
export function enter(admission: AdmissionControl, { work }: FastifyRequest): Promise<void> | undefined {
  if (work.ticket) return undefined;
  const cost = costOf(work);
  const admitted = admission.enter(work.flow, cost);
  if (admitted instanceof Promise) return admitted.then(proceed);
  return proceed(admitted);

  function proceed(ticket: Ticket): Promise<void> | undefined {
    work.ticket = ticket;
    return cost > 1 || work.bodyBytes > smallBodyBytes ? ownTurn() : undefined;
  }
}

export function leave(admission: AdmissionControl, { work }: FastifyRequest): void {
  const { ticket } = work;
  if (!ticket) return;
  work.ticket = undefined;
  admission.leave(ticket, costOf(work));
}

/** Takes from the rate limits what the request came to beyond the 1 that it has paid. */
export function chargeRest(limiter: RateLimiter, clock: Clock, { work }: FastifyRequest): void {
  if (work.taken.length === 0) return;
  const rest = costOf(work) - 1;
  // A limiter that fails falls back on its own.
  if (rest > 0) void limiter.charge(work.taken, rest, clock.nowMs());
}

const pauseMs = 100;

/** The next request on this connection is read a little later: a client that does not wait by itself comes no faster than this. */
export function readLater(socket: Socket): void {
  // Not at once: Node starts to read again when it throws away a body that was not looked at.
  setImmediate(() => socket.pause());
  setTimeout(() => socket.resume(), pauseMs).unref();
}

/** Rejections, and routes without a rate limit. */
export function isPaced({ work, routeOptions }: FastifyRequest, status: number): boolean {
  return status === 429 || work.isShed || routeOptions.config.rateLimit === 'paced';
}
