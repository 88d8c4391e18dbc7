import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Ticket } from '../platform/admission-control.ts';
import type { Clock } from '../platform/clock.ts';
import { ownTurn } from '../platform/own-turn.ts';
import type { RateLimiter } from '../platform/rate-limiter/rate-limiter.ts';
import type { WriteCount } from '../platform/written-rows.ts';
import { firstShard } from '../shards/shards.ts';
import type { Admissions } from './admissions.ts';
import { rateLimitExceeded, type TakenBucket } from './rate-limits.ts';

/** The cost of a request. Rate limits and admission use it, instead of the number of requests. */

type Measure = keyof typeof limits.requestCosts;
type Measured = Readonly<Record<Measure, number> & { isSearch: boolean }>;

export interface Work extends Record<Measure, number>, WriteCount {
  isSearch: boolean;
  /** What the rate limits were charged before the request ran, in addition to the 1. */
  charged: number;
  /** The buckets from which the request has already taken 1. */
  taken: readonly TakenBucket[];
  /** The flow for admission: a company, or unauthenticated clients. */
  flow: string;
  /** The shard that the request uses. Until its company is known, that of the control plane. */
  shard: string;
  ticket: Ticket | undefined;
  isShed: boolean;
  /** Whether the caller has proved a secret: a secret key or a session. Set before the body is read. */
  isKnown: boolean;
  /** The body was given up before it was complete. The rest of it is not read. */
  isCut: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Undefined if requests count against their IP address; `paced` slows down each connection instead. */
    rateLimit?: 'own' | 'paced' | 'none';
  }
  interface FastifyRequest {
    work: Work;
  }
}

/** There is no room for the request: no work was done for it, and only a metric counts it. */
class Overloaded extends ApiError {
  constructor() {
    super('service_unavailable', 'The service is busy. Retry shortly.', { headers: { 'Retry-After': '1' } });
  }
}

/** One shared instance: the error is always the same, and creating a thousand per second would be expensive. */
export const overloaded = new Overloaded();

export const newWork = (): Work => ({
  bodyBytes: 0,
  bodyValues: 0,
  streamedBytes: 0,
  answerBytes: 0,
  rows: 0,
  rowsWritten: 0,
  rowsCounted: 0,
  scannedRows: 0,
  isSearch: false,
  charged: 0,
  taken: [],
  flow: '',
  shard: firstShard,
  ticket: undefined,
  isShed: false,
  isKnown: false,
  isCut: false,
});

const measures = Object.entries(limits.requestCosts) as [Measure, { free: number; each: number }][];

/** Returns 1 for a request of the usual size, see docs/limits.md. */
export function costOf(work: Measured): number {
  let cost = work.isSearch ? 1 + limits.searchCost : 1;
  for (const [measure, { free, each }] of measures) {
    if (work[measure] > free) cost += Math.ceil((work[measure] - free) / each);
  }
  return cost;
}

/** Estimates the cost of a read before it runs. */
export function noteQuery({ work, query }: FastifyRequest, route: { readonly isSearch?: boolean }): void {
  const { q, limit } = query as { q?: unknown; limit?: unknown };
  work.isSearch = q !== undefined || route.isSearch === true;
  if (limit !== undefined) work.rows = Math.min(Number(limit) || 0, limits.pageSizeMax);
}

const { rowsWritten } = limits.requestCosts;

/** How many rows a body can cause: the elements of its arrays. Metadata is one value with any content. */
function elementsIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = Array.isArray(value) ? value.length : 0;
  for (const [name, inner] of Object.entries(value)) if (name !== 'metadata') count += elementsIn(inner);
  return count;
}

/** Estimates how many rows a request with this valid body writes, before it runs. */
export function noteBody(
  { work }: FastifyRequest,
  { rowsFor }: { readonly rowsFor?: (body: never) => number },
  body: unknown,
): void {
  // The values include the elements, so a body with few values needs no look.
  if (work.bodyValues > rowsWritten.free) work.rowsWritten = elementsIn(body);
  const declared = rowsFor?.(body as never) ?? 0;
  if (declared > work.rowsWritten) work.rowsWritten = declared;
}

/**
 * A request that is known to write many rows pays for them before it runs, and waits for room again, by its cost. Others
 * of the same company that wait beside it then meet the limit instead of running as well.
 */
export function payAhead(
  {
    admissions,
    limiter,
    clock,
  }: { readonly admissions: Admissions; readonly limiter: RateLimiter; readonly clock: Clock },
  request: FastifyRequest,
): Promise<void> | undefined {
  return request.work.rowsWritten > rowsWritten.free ? pay() : undefined;

  async function pay(): Promise<void> {
    const { work } = request;
    leave(admissions, request);
    await enter(admissions, request);
    const decisions = await limiter.consume(work.taken, clock.nowMs());
    for (const [index, { allowed, retryAfterSeconds }] of decisions.entries()) {
      if (!allowed) throw rateLimitExceeded(work.taken[index] as TakenBucket, retryAfterSeconds);
    }
    work.charged = costOf(work) - 1;
    await limiter.charge(work.taken, work.charged - 1, clock.nowMs());
  }
}

/** Rejects a request for which there will be no room, before its body is read. */
export function checkRoom(admissions: Admissions, { work }: FastifyRequest): void {
  if (admissions.of(work.shard).isFull(work.flow)) throw overloaded;
}

// A larger body blocks the event loop for a millisecond or more, like everything with a cost above 1.
const smallBodyBytes = 8 * 1024;

/** Waits until there is room for the request. Called when the request has fully arrived, before any work. */
export function enter(admissions: Admissions, { work }: FastifyRequest): Promise<void> | undefined {
  if (work.ticket) return undefined;
  const cost = costOf(work);
  const admitted = admissions.of(work.shard).enter(work.flow, cost);
  if (admitted instanceof Promise) return admitted.then(proceed);
  return proceed(admitted);

  function proceed(ticket: Ticket): Promise<void> | undefined {
    work.ticket = ticket;
    return cost > 1 || work.bodyBytes > smallBodyBytes ? ownTurn() : undefined;
  }
}

/** Lets the request continue as one of another flow, and waits until there is room for it there. */
export function changeFlow(admissions: Admissions, request: FastifyRequest, flow: string): Promise<void> | undefined {
  leave(admissions, request);
  request.work.flow = flow;
  return enter(admissions, request);
}

export function leave(admissions: Admissions, { work }: FastifyRequest): void {
  const { ticket } = work;
  if (!ticket) return;
  work.ticket = undefined;
  admissions.of(work.shard).leave(ticket, costOf(work));
}

/** Charges the rate limits for the cost of the request beyond the 1 that was already taken. */
export function chargeRest(limiter: RateLimiter, clock: Clock, { work }: FastifyRequest): void {
  if (work.taken.length === 0) return;
  const rest = costOf(work) - 1 - work.charged;
  // A limiter that fails uses its fallback.
  if (rest > 0) void limiter.charge(work.taken, rest, clock.nowMs());
}

const pauseMs = 100;

/** Delays reading the next request on this connection, which limits a client that does not wait by itself. */
export function readLater(socket: Socket): void {
  // Not at once: Node starts to read again when it discards a body that was not read.
  setImmediate(() => socket.pause());
  setTimeout(() => socket.resume(), pauseMs).unref();
}

/** Whether the connection is slowed down: after rejections, and for routes without a rate limit. */
export function isPaced({ work, routeOptions }: FastifyRequest, status: number): boolean {
  return status === 429 || work.isShed || routeOptions.config.rateLimit === 'paced';
}
