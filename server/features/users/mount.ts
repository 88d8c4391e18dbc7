import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static, type TSchema } from 'typebox';
import { ApiError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { addressBucket } from '../../platform/addresses.ts';
import type { Queryable } from '../../platform/database.ts';
import type { AuditedMember, UserAudit } from './dependencies.ts';
import type { Client, CurrentSession } from './sessions.ts';
import type { RateDecision } from '../../platform/rate-limiter/rate-limiter.ts';
import { isRefused, reserve, withReservation } from '../../platform/rate-limiter/reservations.ts';
import { takeFromAddress } from '../../http/limiting.ts';
import { type HttpDependencies, jsonType } from '../../http/mount.ts';
import type { SessionCookie } from '../../http/session-cookie.ts';
import { validator } from '../../http/validate.ts';
import { checkRoom, enter } from '../../http/work.ts';

/** Routes of a user account, before a company is chosen: signing up and in, passwords, second factors, sessions. */

export interface UserRequest<Body> {
  readonly body: Body;
  readonly params: Readonly<Record<string, string>>;
  readonly client: Client;
  /** The session of the user; only on routes that need one. */
  readonly current: CurrentSession;
  /** Without it the entry is recorded after the change. */
  readonly audit: UserAudit;
}

export interface UserAnswer {
  readonly body: unknown;
  /** The token of a new session, or null to end the session. */
  readonly token?: string | null;
  /** Identifies the browser when the user signs in again. */
  readonly browser?: string;
  /** The user, if the request had no session. */
  readonly userId?: string;
}

export interface UserRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: `/dashboard/${string}`;
  readonly needsSession: boolean;
  /** Requires a recent confirmation of the password. */
  readonly stepUp?: boolean;
  /** The action in the audit log of each company of the user; none for routes that change nothing. */
  readonly action?: string;
  /** Limits failed attempts per address, where passwords and email addresses can be guessed. */
  readonly limitsAttempts?: boolean;
  /**
   * For routes that create accounts or send mails without a session: every call counts against the address, not only
   * rejected ones.
   */
  readonly limitsCalls?: boolean;
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

interface AuditedChange {
  readonly action: string;
  readonly address: string;
  readonly requestId: string;
}

export interface UserRouteDependencies {
  readonly http: HttpDependencies;
  readonly cookie: SessionCookie;
  readonly readSession: (token: string | undefined) => Promise<CurrentSession>;
  readonly steppedUpUntilMs: (current: CurrentSession) => number;
  readonly audit: (userId: string, entry: AuditedChange) => Promise<void>;
  readonly auditMember: (transaction: Queryable, member: AuditedMember, entry: AuditedChange) => Promise<void>;
}

const emptyBody = Type.Object({}, { additionalProperties: false });

export function mountUserRoutes(
  app: FastifyInstance,
  routes: readonly UserRoute[],
  dependencies: UserRouteDependencies,
): void {
  const { http, cookie } = dependencies;
  const sessions = new WeakMap<FastifyRequest, CurrentSession>();
  for (const route of routes) {
    const checkBody = validator(route.body ?? emptyBody);
    app.route({
      method: route.method,
      url: route.path,
      config: { rateLimit: 'own' },
      onRequest: async (request, reply) => {
        await takeFromAddress(request, reply, http);
        checkRoom(http.admissions, request);
        cookie.checkSameSite(request);
        if (route.method !== 'GET') cookie.check(request);
        if (route.limitsCalls) await takeCall(request, http);
        if (!route.needsSession) return;
        sessions.set(request, await currentSession(route, request, dependencies));
        request.work.isKnown = true;
      },
      handler: async (request, reply) => {
        await enter(http.admissions, request);
        const current = sessions.get(request);
        const body = route.method === 'GET' ? undefined : checkBody(request.body === undefined ? {} : request.body);
        let audited = false;
        const { action } = route;
        const entry = action === undefined ? undefined : { action, address: request.ip, requestId: request.id };
        const audit: UserAudit = {
          async before(id) {
            if (entry) await dependencies.audit(id, entry);
            audited = true;
          },
          async within(transaction, member) {
            if (entry) await dependencies.auditMember(transaction, member, entry);
            audited = true;
          },
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
          audit,
        };
        const work = (): Promise<UserAnswer> => route.handle(asked);
        const answer = await (route.limitsAttempts ? limitingAttempts(request, http, work) : work());
        const userId = current?.user.id ?? answer.userId;
        if (userId && !audited) await audit.before(userId);
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
    throw new ApiError('step_up_required', 'Confirm your password to continue.');
  }
  return current;
}

function tooManyAttempts({ retryAfterSeconds }: Pick<RateDecision, 'retryAfterSeconds'>): ApiError {
  return new ApiError('too_many_requests', 'Too many attempts from your IP address. Try again later.', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
}

async function takeCall(request: FastifyRequest, { limiter, clock }: HttpDependencies): Promise<void> {
  const bucket = { key: `{${addressBucket(request.ip)}}:strangers`, limit: limits.strangersPerAddress };
  const [decision] = await limiter.consume([bucket], clock.nowMs());
  if (decision && !decision.allowed) throw tooManyAttempts(decision);
}

async function limitingAttempts(
  request: FastifyRequest,
  { limiter, clock }: HttpDependencies,
  work: () => Promise<UserAnswer>,
): Promise<UserAnswer> {
  const bucket = { key: `{${addressBucket(request.ip)}}:sign_ins`, limit: limits.signInsPerAddress };
  const outcome = await reserve({ limiter, clock }, [bucket]);
  if (isRefused(outcome)) throw tooManyAttempts(outcome);
  const counts = (error: unknown): boolean =>
    error instanceof ApiError && error.status < 500 && error.code !== 'totp_required';
  return withReservation(outcome, counts, work);
}
