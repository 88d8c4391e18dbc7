import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static, type TSchema } from 'typebox';
import { ApiError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Client, CurrentSession } from '../features/users/service.ts';
import type { Queryable } from '../platform/database.ts';
import type { RateDecision, RateLimiter } from '../platform/rate-limiter/rate-limiter.ts';
import { type HttpDependencies, jsonType, takeFromAddress } from './mount.ts';
import { addressBucket } from './rate-limits.ts';
import type { SessionCookie } from './session-cookie.ts';
import { validator } from './validate.ts';

/** What a person does who has not chosen a company yet: signing up and in, passwords, codes, sessions. */

export interface UserRequest<Body> {
  readonly body: Body;
  readonly params: Readonly<Record<string, string>>;
  readonly client: Client;
  /** Of whoever is signed in; routes that need nobody have none. */
  readonly current: CurrentSession;
  /** Writes the audit entry in the transaction of what it tells; otherwise it is written when all is done. */
  readonly tell: (db: Queryable, userId: string) => Promise<void>;
}

export interface UserAnswer {
  readonly body: unknown;
  /** A new session's token, or null for the end of the session. */
  readonly token?: string | null;
  /** Lets the browser be known when its person signs in again. */
  readonly browser?: string;
  /** Whose doing it was, where nobody was signed in before. */
  readonly userId?: string;
}

export interface UserRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: `/dashboard/${string}`;
  readonly needsSession: boolean;
  /** Asks for the password again when it was given long ago. */
  readonly stepUp?: boolean;
  /** What the audit log of each company of the person calls it; nothing for what changes nothing. */
  readonly action?: string;
  /** Where passwords and addresses can be guessed: an address that is wrong too often waits. */
  readonly guessable?: boolean;
  /** Opens accounts or sends mails for anybody who asks: each counts against the address, not only what is refused. */
  readonly forStrangers?: boolean;
  readonly body?: TSchema;
  readonly status?: 200 | 201;
  readonly handle: (request: UserRequest<unknown>) => Promise<UserAnswer>;
}

export function defineUserRoute<Body extends TSchema = never>(
  route: Omit<UserRoute, 'body' | 'handle'> & {
    readonly body?: Body;
    readonly handle: (request: UserRequest<Static<Body>>) => Promise<UserAnswer>;
  },
): UserRoute {
  return route as unknown as UserRoute;
}

export interface UserRouteDependencies {
  readonly http: HttpDependencies;
  readonly cookie: SessionCookie;
  readonly readSession: (token: string | undefined) => Promise<CurrentSession>;
  readonly steppedUpUntilMs: (current: CurrentSession) => number;
  readonly audit: (
    db: Queryable,
    userId: string,
    told: { action: string; address: string; requestId: string },
  ) => Promise<void>;
}

const emptyBody = Type.Object({}, { additionalProperties: false });

export function mountUserRoutes(
  app: FastifyInstance,
  routes: readonly UserRoute[],
  dependencies: UserRouteDependencies,
): void {
  const { http, cookie } = dependencies;
  for (const route of routes) {
    const checkBody = validator(route.body ?? emptyBody);
    app.route({
      method: route.method,
      url: route.path,
      onRequest: async (request, reply) => {
        await takeFromAddress(request, reply, http);
        cookie.checkSameSite(request);
        if (route.method !== 'GET') cookie.check(request);
        if (route.forStrangers) await takeFromStranger(request, http);
      },
      handler: async (request, reply) => {
        const current = route.needsSession ? await currentSession(route, request, dependencies) : undefined;
        const body = route.method === 'GET' ? undefined : checkBody(request.body === undefined ? {} : request.body);
        let told = false;
        const { action } = route;
        const tell = async (db: Queryable, userId: string): Promise<void> => {
          if (action) await dependencies.audit(db, userId, { action, address: request.ip, requestId: request.id });
          told = true;
        };
        const asked: UserRequest<unknown> = {
          body,
          params: request.params as Record<string, string>,
          client: {
            address: request.ip,
            userAgent: request.headers['user-agent'] ?? '',
            browser: cookie.readBrowser(request),
          },
          current: current as CurrentSession,
          tell,
        };
        const work = (): Promise<UserAnswer> => route.handle(asked);
        const answer = await (route.guessable ? slowingGuesses(request, http, work) : work());
        const userId = current?.user.id ?? answer.userId;
        if (userId && !told) await tell(http.db, userId);
        if (answer.token) cookie.set(reply, answer.token);
        if (answer.token === null) cookie.clear(reply);
        if (answer.browser) cookie.setBrowser(reply, answer.browser);
        return reply
          .code(route.status ?? 200)
          .header('Content-Type', jsonType)
          .send(JSON.stringify(answer.body));
      },
    });
  }
}

async function currentSession(
  route: UserRoute,
  request: FastifyRequest,
  { http, cookie, readSession, steppedUpUntilMs }: UserRouteDependencies,
): Promise<CurrentSession> {
  const current = await readSession(cookie.read(request));
  if (route.stepUp && steppedUpUntilMs(current) <= http.clock.nowMs()) {
    throw new ApiError('step_up_required', 'Confirm your password to go on.');
  }
  return current;
}

function refuseForNow({ allowed, retryAfterSeconds }: RateDecision): void {
  if (allowed) return;
  throw new ApiError('too_many_requests', 'Too many attempts from your address. Try again later.', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
}

async function takeFromStranger(request: FastifyRequest, { limiter, clock }: HttpDependencies): Promise<void> {
  const bucket = { key: `{${addressBucket(request.ip)}}:strangers`, limit: limits.strangersPerAddress };
  for (const decision of await limiter.consume([bucket], clock.nowMs())) refuseForNow(decision);
}

async function slowingGuesses(
  request: FastifyRequest,
  { limiter, clock }: { limiter: RateLimiter; clock: HttpDependencies['clock'] },
  work: () => Promise<UserAnswer>,
): Promise<UserAnswer> {
  const bucket = { key: `{${addressBucket(request.ip)}}:sign_ins`, limit: limits.signInsPerAddress };
  refuseForNow(await limiter.peek(bucket, clock.nowMs()));
  try {
    return await work();
  } catch (error) {
    const refused = error instanceof ApiError && error.status < 500 && error.code !== 'totp_required';
    if (refused) await limiter.consume([bucket], clock.nowMs());
    throw error;
  }
}
