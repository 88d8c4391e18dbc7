import { randomBytes } from 'node:crypto';
import { ApiError, notFound } from '../../errors.ts';
import type { MemberDirectory } from '../../http/authenticate.ts';
import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { ControlQueryable } from '../../platform/database.ts';
import { dayMs, hourMs, minuteMs } from '../../platform/durations.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import { activeMemberships, type MembershipDependencies } from './memberships.ts';
import {
  deleteExpiredSessions,
  deleteSession,
  findSession,
  findSessionById,
  insertSession,
  listSessions,
  replaceToken,
  type SessionRow,
  touchSession,
  type UserRow,
} from './queries.ts';
import type { SessionEntry } from './schemas.ts';

/**
 * A session is a random token in a cookie; the database stores a keyed hash of it. It ends after inactivity, at its
 * maximum age, or on sign-out.
 */

export interface SessionDependencies {
  readonly db: ControlQueryable;
  readonly clock: Clock;
  readonly sessionKey: ServiceKey;
}

/** The client that a user signs in from. */
export interface Client {
  readonly address: string;
  readonly userAgent: string;
  /** The browser token from an earlier sign-in. */
  readonly browser: string | undefined;
  /** Whether the client is on the machine of the service. */
  readonly isLocal: boolean;
}

export interface CurrentSession {
  readonly session: SessionRow;
  readonly user: UserRow;
}

const seenIntervalMs = 60_000;
const newToken = (): string => randomBytes(32).toString('base64url');

export async function openSession(
  db: ControlQueryable,
  { clock, sessionKey }: SessionDependencies,
  userId: string,
  client: Client,
): Promise<string> {
  const token = newToken();
  const nowMs = clock.nowMs();
  const session = {
    id: newId(nowMs),
    user_id: userId,
    address: client.address,
    user_agent: client.userAgent.slice(0, limits.textLength),
    last_seen_at: new Date(nowMs),
    expires_at: new Date(nowMs + limits.sessionDays * dayMs),
    stepped_up_at: new Date(nowMs),
  };
  await insertSession(db, session, sessionKey.hash(token));
  return token;
}

/** Keeps the session and replaces its token. */
export async function changeToken(
  db: ControlQueryable,
  { sessionKey }: SessionDependencies,
  { id }: SessionRow,
): Promise<string> {
  const token = newToken();
  await replaceToken(db, id, sessionKey.hash(token));
  return token;
}

const idleSince = (nowMs: number): Date => new Date(nowMs - limits.sessionIdleHours * hourMs);

export async function readSession(
  { db, clock, sessionKey }: SessionDependencies,
  token: string | undefined,
): Promise<CurrentSession> {
  const found = token ? await findSession(db, sessionKey.hashes(token)) : undefined;
  if (!found) throw new ApiError('missing_session', 'You are not signed in.');
  const nowMs = clock.nowMs();
  const { session } = found;
  if (session.expires_at.getTime() <= nowMs || session.last_seen_at <= idleSince(nowMs)) {
    throw new ApiError('session_expired', 'Your session has ended. Sign in again.');
  }
  if (nowMs - session.last_seen_at.getTime() >= seenIntervalMs) await touchSession(db, session.id, new Date(nowMs));
  return found;
}

/** Reads the session after a change. */
export async function readAgain(db: ControlQueryable, { session }: CurrentSession): Promise<CurrentSession> {
  const found = await findSessionById(db, session.id);
  if (!found) throw new ApiError('missing_session', 'You are not signed in.');
  return found;
}

/** Returns the member that a session represents in a company; undefined if the user is not an active member there. */
export function memberDirectory(dependencies: SessionDependencies & MembershipDependencies): MemberDirectory {
  return {
    async find(token, companyId) {
      const { user, session } = await readSession(dependencies, token);
      const [membership] = await activeMemberships(dependencies, user.id, companyId);
      if (!membership) return undefined;
      const { company, memberId: id, permissions } = membership;
      const caller = { kind: 'member' as const, id, name: user.email, permissions, publishable: false };
      const own = { id: session.id, tokenHashes: dependencies.sessionKey.hashes(token) };
      return { company, caller: { ...caller, steppedUpUntilMs: steppedUpUntilMs(session), session: own } };
    },
  };
}

export const steppedUpUntilMs = ({ stepped_up_at }: SessionRow): number =>
  stepped_up_at.getTime() + limits.stepUpMinutes * minuteMs;

export async function sessionsOf(
  { db, clock }: SessionDependencies,
  { user, session: current }: CurrentSession,
): Promise<SessionEntry[]> {
  const sessions = await listSessions(db, user.id, idleSince(clock.nowMs()));
  return sessions.map((session) => ({
    id: session.id,
    created_at: createdAt(session.id),
    last_seen_at: session.last_seen_at.toISOString(),
    expires_at: session.expires_at.toISOString(),
    address: session.address,
    user_agent: session.user_agent,
    current: session.id === current.id,
  }));
}

export async function endSession({ db }: SessionDependencies, { user }: CurrentSession, id: string): Promise<void> {
  if (!(await deleteSession(db, user.id, id))) throw notFound('session');
}

export async function reapSessions({ db, clock }: Pick<SessionDependencies, 'db' | 'clock'>): Promise<number> {
  return deleteExpiredSessions(db, idleSince(clock.nowMs()));
}
