import { randomBytes, timingSafeEqual } from 'node:crypto';
import { tooManyRequests } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { ControlQueryable } from '../../platform/database.ts';
import { minuteMs } from '../../platform/durations.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import { passwordMatches } from './passwords.ts';
import {
  deleteAttempts,
  deleteExpiredAttempts,
  findAttempts,
  giveBackAttempt,
  takeAttempt,
  type UserRow,
} from './queries.ts';

/**
 * Limits password attempts. The response does not reveal whether an account exists: attempts count against the email
 * address that was typed. A browser that signed in before has its own count, so that strangers cannot lock a user
 * out.
 */

export interface AttemptDependencies {
  readonly db: ControlQueryable;
  readonly clock: Clock;
  readonly attemptsKey: ServiceKey;
}

/** Identifies the attempts that count together. */
export type Counter = `email ${string}` | `browser ${string}` | `session ${string}`;

/** While the counter is locked no password is checked, so that further attempts reveal nothing. */
async function take({ db, clock, attemptsKey }: AttemptDependencies, counter: Counter): Promise<void> {
  const key = attemptsKey.hash(counter);
  const nowMs = clock.nowMs();
  const expiresAt = new Date(nowMs + limits.lockMinutes * minuteMs);
  if (await takeAttempt(db, key, limits.failedSignIns, new Date(nowMs), expiresAt)) return;
  const endMs = (await findAttempts(db, key))?.getTime() ?? nowMs;
  const seconds = Math.max(1, Math.ceil((endMs - nowMs) / 1000));
  const message = `Too many failed attempts. Try again in ${Math.ceil(seconds / 60)} minutes, or reset your password by email.`;
  throw tooManyRequests(message, seconds);
}

/** An attempt counts as failed until it succeeds. An attempt that could not be checked does not count. */
export async function tryPassword(
  dependencies: AttemptDependencies,
  counter: Counter,
  user: UserRow | undefined,
  password: string,
): Promise<boolean> {
  await take(dependencies, counter);
  try {
    return await passwordMatches(password, user?.password_hash);
  } catch (error) {
    await giveBack(dependencies, counter);
    throw error;
  }
}

export const giveBack = ({ db, attemptsKey }: AttemptDependencies, counter: Counter): Promise<void> =>
  giveBackAttempt(db, attemptsKey.hash(counter));

export const forgetAttempts = (
  { attemptsKey }: Pick<AttemptDependencies, 'attemptsKey'>,
  db: ControlQueryable,
  counter: Counter,
): Promise<void> => deleteAttempts(db, attemptsKey.hashes(counter));

export const reapAttempts = ({ db, clock }: Pick<AttemptDependencies, 'db' | 'clock'>): Promise<number> =>
  deleteExpiredAttempts(db, new Date(clock.nowMs()));

type Known = Pick<UserRow, 'email_key' | 'password_hash'>;

/**
 * Valid only for the account and its current password: after a password change every other browser is unknown again.
 */
const markedText = (user: Known, id: string): string => `browser ${id} of ${user.email_key} ${user.password_hash}`;

/** The token that identifies a browser after a sign-in. */
export function browserToken({ attemptsKey }: Pick<AttemptDependencies, 'attemptsKey'>, user: Known): string {
  const id = randomBytes(16).toString('base64url');
  return `${id}.${attemptsKey.hash(markedText(user, id)).toString('base64url')}`;
}

export function counterFor(
  { attemptsKey }: Pick<AttemptDependencies, 'attemptsKey'>,
  emailKey: string,
  user: UserRow | undefined,
  token: string | undefined,
): Counter {
  const [id = '', mark = ''] = (token ?? '').split('.');
  const given = Buffer.from(mark, 'base64url');
  const expected = user ? attemptsKey.hashes(markedText(user, id)) : [];
  const isKnown = expected.some((one) => one.length === given.length && timingSafeEqual(one, given));
  return isKnown ? `browser ${id}` : `email ${emailKey}`;
}
