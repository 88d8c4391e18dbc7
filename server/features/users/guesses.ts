import { ApiError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { passwordMatches } from './passwords.ts';
import { findUser, giveBackAttempt, takeAttempt, type UserRow } from './queries.ts';
import type { SessionDependencies } from './sessions.ts';

/** Passwords can be guessed only so often. An attempt counts as failed until it is known not to be. */

const minuteMs = 60_000;

/** While it is locked nothing is even looked at, so that guessing on teaches nothing. */
async function takeGuess({ db, clock }: SessionDependencies, user: UserRow): Promise<void> {
  const nowMs = clock.nowMs();
  const untilMs = nowMs + limits.lockMinutes * minuteMs;
  if (await takeAttempt(db, user.id, limits.failedSignIns, new Date(nowMs), new Date(untilMs))) return;
  const lockedUntilMs = (await findUser(db, user.id))?.locked_until?.getTime() ?? nowMs;
  const seconds = Math.max(1, Math.ceil((lockedUntilMs - nowMs) / 1000));
  const message = `Too many attempts failed. Try again in ${Math.ceil(seconds / 60)} minutes, or choose a new password by mail.`;
  throw new ApiError('too_many_requests', message, { headers: { 'Retry-After': String(seconds) } });
}

/** A guess that nobody could look at is none. */
export async function guessPassword(
  dependencies: SessionDependencies,
  user: UserRow,
  password: string,
): Promise<boolean> {
  await takeGuess(dependencies, user);
  try {
    return await passwordMatches(password, user.password_hash);
  } catch (error) {
    await giveBackAttempt(dependencies.db, user.id);
    throw error;
  }
}
