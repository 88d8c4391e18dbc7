import { randomBytes } from 'node:crypto';
import { invalidField } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { Queryable } from '../../platform/database.ts';
import { minuteMs } from '../../platform/durations.ts';
import { emailKeyOf } from '../customers/service.ts';
import { revokeLinksFor, writeLinkMail } from '../mails/service.ts';
import type { RecordAudit, UserDependencies } from './dependencies.ts';
import { browserToken, forgetAttempts } from './login-attempts.ts';
import { checkPassword, hashPassword } from './passwords.ts';
import {
  deleteExpiredResets,
  deleteOtherSessions,
  findMemberships,
  findUserByEmail,
  findUserByReset,
  insertReset,
  lockUser,
  markVerified,
  updatePassword,
  type UserRow,
} from './queries.ts';

/**
 * Returns the same response in the same time whether or not the account exists: the mail is written after the
 * response.
 */
export async function requestReset(dependencies: UserDependencies, email: string): Promise<void> {
  const { db, background, log } = dependencies;
  const user = await findUserByEmail(db, emailKeyOf(email));
  if (!user) return;
  background.run(mailReset(dependencies, user), (error) =>
    log.error({ err: error, user_id: user.id }, 'failed to create a password reset email'),
  );
}

async function mailReset({ db, clock, recoveryKey, team }: UserDependencies, user: UserRow): Promise<void> {
  const [membership] = await findMemberships(db, user.id, null);
  if (!membership) return;
  const token = randomBytes(32).toString('base64url');
  const nowMs = clock.nowMs();
  await db.transaction(async (transaction) => {
    const expiresMs = nowMs + limits.passwordResetMinutes * minuteMs;
    const notAfter = new Date(expiresMs - limits.passwordResetPauseMinutes * minuteMs);
    const hash = recoveryKey.hash(token);
    await lockUser(transaction, user.id);
    if (!(await insertReset(transaction, user.id, hash, new Date(expiresMs), notAfter))) return;
    await writeLinkMail(transaction, team.mailKey, membership.company.id, nowMs, {
      recipient: user.email,
      subject: 'Reset your password',
      link: { url: `${team.baseUrl}/reset-password?token=${token}`, for: user.id, expiresAt: new Date(expiresMs) },
      body: (link) =>
        [
          `Hello ${user.first_name},`,
          '',
          `To reset your password, open this link within ${limits.passwordResetMinutes} minutes:`,
          '',
          link,
          '',
          'If you did not request a new password, you can ignore this email. Your password stays the same.',
          '',
        ].join('\n'),
    });
  });
}

/** Returns the browser token for the browser in which the password was chosen. */
export async function completeReset(
  dependencies: UserDependencies,
  token: string,
  password: string,
  audit: RecordAudit,
): Promise<{ browser: string }> {
  const { db, clock, recoveryKey } = dependencies;
  const now = new Date(clock.nowMs());
  return db.transaction(async (transaction) => {
    const user = await findUserByReset(transaction, recoveryKey.hashes(token), now);
    if (!user) throw invalidField('token', 'is no longer valid. Request a new link');
    checkPassword(password, user.email);
    const passwordHash = await hashPassword(password);
    await takeOver(dependencies, transaction, user, passwordHash);
    // Two-factor authentication stays on: otherwise access to the mailbox would be enough to bypass it. The mailbox
    // does not prove who set it up, so the email address is not marked as verified then.
    if (!user.totp_confirmed_at) await markVerified(transaction, user.id, now);
    await audit(transaction, user.id);
    return { browser: browserToken(dependencies, { ...user, password_hash: passwordHash }) };
  });
}

/** For a user who follows a link from the mailbox: sets the password, ends all sessions, and removes a lock. */
export async function takeOver(
  dependencies: UserDependencies,
  transaction: Queryable,
  user: UserRow,
  passwordHash: string,
): Promise<void> {
  await setPassword(transaction, user.id, passwordHash);
  await deleteOtherSessions(transaction, user.id, null);
  await forgetAttempts(dependencies, transaction, `email ${user.email_key}`);
}

/** Invalidates password reset links that were sent before. */
export async function setPassword(transaction: Queryable, userId: string, hash: string): Promise<void> {
  await updatePassword(transaction, userId, hash);
  await revokeLinksFor(transaction, userId);
}

export const reapResets = ({ db, clock }: Pick<UserDependencies, 'db' | 'clock'>): Promise<number> =>
  deleteExpiredResets(db, new Date(clock.nowMs()));
