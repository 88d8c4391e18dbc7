import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { ApiError, tooManyRequests } from '../../errors.ts';
import type { HttpDependencies } from '../../http/api-caller.ts';
import { checkStepUp } from '../../http/caller.ts';
import { bodyReader } from '../../http/input.ts';
import { takeFromAddress } from '../../http/limiting.ts';
import type { Steps } from '../../http/mount.ts';
import { isLocal, type SessionCookie } from '../../http/session-cookie.ts';
import { checkRoom } from '../../http/work.ts';
import { limits } from '../../limits.ts';
import { addressBucket } from '../../platform/addresses.ts';
import type { RateDecision } from '../../platform/rate-limiter/rate-limiter.ts';
import { isRefused, reserve, withReservation } from '../../platform/rate-limiter/reservations.ts';
import { auditOf } from './audit.ts';
import type { UserAudit, UserDependencies } from './dependencies.ts';
import { type Client, type CurrentSession, readSession, steppedUpUntilMs } from './sessions.ts';

/** Routes that users call, before a company is chosen: signing up and in, passwords, second factors, sessions. */

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

export function userSteps(users: UserDependencies, http: HttpDependencies): (route: UserRoute) => Steps {
  const { cookie } = http.identities;
  const sessions = new WeakMap<FastifyRequest, CurrentSession>();
  return (route) => {
    const readBody = bodyReader(route);
    return {
      async admit(request, reply) {
        await takeFromAddress(request, reply, http);
        checkRoom(http.admissions, request);
        cookie.checkSameSite(request);
        if (route.method !== 'GET') cookie.check(request);
        if (route.limitsCalls) await takeCall(request, http);
        if (!route.needsSession) return;
        const current = await readSession(users, cookie.read(request));
        if (route.stepUp) checkStepUp(steppedUpUntilMs(current.session), http.clock.nowMs());
        sessions.set(request, current);
        request.work.isKnown = true;
      },
      async serve(request, reply) {
        const current = sessions.get(request);
        const audit = auditOf(users, route.action, request);
        const asked: UserRequest<unknown> = {
          body: readBody(request),
          params: request.params as Record<string, string>,
          client: {
            address: request.ip,
            userAgent: request.headers['user-agent'] ?? '',
            browser: cookie.readBrowser(request),
            isLocal: isLocal(request),
          },
          current: current as CurrentSession,
          audit,
        };
        const work = (): Promise<UserAnswer> => route.handle(asked);
        const answer = await (route.limitsAttempts ? limitingAttempts(request, http, work) : work());
        await audit.afterwards(current?.user.id ?? answer.userId);
        setCookies(reply, cookie, answer);
        return { status: route.status ?? 200, body: JSON.stringify(answer.body) };
      },
    };
  };
}

function setCookies(reply: FastifyReply, cookie: SessionCookie, { token, browser }: UserAnswer): void {
  if (token) cookie.set(reply, token);
  if (token === null) cookie.clear(reply);
  if (browser) cookie.setBrowser(reply, browser);
}

const tooManyAttempts = ({ retryAfterSeconds }: Pick<RateDecision, 'retryAfterSeconds'>): ApiError =>
  tooManyRequests('Too many attempts from your IP address. Try again later.', retryAfterSeconds);

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
