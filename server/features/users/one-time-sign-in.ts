import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { minuteMs } from '../../platform/durations.ts';
import { emailKeyOf } from '../customers/service.ts';
import type { UserDependencies } from './dependencies.ts';
import { findMemberships } from './membership-queries.ts';
import { findUserByEmail } from './queries.ts';
import { type Client, openSession } from './sessions.ts';

/**
 * One address that signs a person in to the demo company, which a start on the local machine prints at its terminal. Only the
 * process that printed it knows it, as a hash; it works once, for an hour, and for clients on the same machine.
 */

interface Offer {
  readonly hash: Buffer;
  readonly email: string;
  readonly companyIds: readonly string[];
  readonly expiresAtMs: number;
}

export interface OneTimeSignIn {
  /** Returns the token of the address. An earlier one no longer works. */
  offer(user: Pick<Offer, 'email' | 'companyIds'>, nowMs: number): string;
  /** Undefined if this is not the token, or if it was used or has expired. */
  take(token: string, nowMs: number): Offer | undefined;
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

export function openOneTimeSignIn(): OneTimeSignIn {
  let current: Offer | undefined;
  return {
    offer({ email, companyIds }, nowMs) {
      const token = randomBytes(32).toString('base64url');
      const expiresAtMs = nowMs + limits.oneTimeSignInMinutes * minuteMs;
      current = { hash: hashOf(token), email, companyIds, expiresAtMs };
      return token;
    },
    take(token, nowMs) {
      const offered = current;
      if (!offered || !timingSafeEqual(hashOf(token), offered.hash)) return undefined;
      current = undefined;
      return nowMs < offered.expiresAtMs ? offered : undefined;
    },
  };
}

function refused(): ApiError {
  return new ApiError('invalid_credentials', 'This address was used or has expired. Sign in with your password.');
}

/** Signs in to the demo company only: not if the user is a member of another one, or protects the account with a second factor. */
export async function signInOnce(dependencies: UserDependencies, token: string, client: Client): Promise<string> {
  const { db, clock, oneTimeSignIn } = dependencies;
  const offered = client.isLocal ? oneTimeSignIn?.take(token, clock.nowMs()) : undefined;
  const user = offered && (await findUserByEmail(db, emailKeyOf(offered.email)));
  if (!user || user.totp_confirmed_at) throw refused();
  const memberships = await findMemberships(db, user.id, null);
  const isOnlyThere = memberships.every(({ companyId }) => offered.companyIds.includes(companyId));
  if (memberships.length === 0 || !isOnlyThere) throw refused();
  return openSession(db, dependencies, user.id, client);
}
