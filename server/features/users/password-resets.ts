import { randomBytes } from 'node:crypto';
import { type ApiError, invalidField } from '../../errors.ts';
import { greetingFor } from '../../greeting.ts';
import { limits } from '../../limits.ts';
import type { ControlQueryable } from '../../platform/database.ts';
import { minuteMs } from '../../platform/durations.ts';
import type { Shards } from '../../shards/shards.ts';
import { emailKeyOf } from '../customers/service.ts';
import { revokeLinksFor, writeLinkMail } from '../mails/service.ts';
import type { UserAudit, UserDependencies } from './dependencies.ts';
import { browserToken, forgetAttempts } from './login-attempts.ts';
import { activeMemberships } from './memberships.ts';
import { checkPassword, hashPassword } from './passwords.ts';
import {
  deleteExpiredResets,
  deleteOtherSessions,
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

/** The link is valid before it is mailed, because the mail is stored with a company of the user. */
async function mailReset(dependencies: UserDependencies, user: UserRow): Promise<void> {
  const { db, shards, clock, recoveryKey, team } = dependencies;
  const [membership] = await activeMemberships(dependencies, user.id, null);
  if (!membership) return;
  const token = randomBytes(32).toString('base64url');
  const nowMs = clock.nowMs();
  const expiresMs = nowMs + limits.passwordResetMinutes * minuteMs;
  const inserted = await db.transaction(async (transaction) => {
    const notAfter = new Date(expiresMs - limits.passwordResetPauseMinutes * minuteMs);
    await lockUser(transaction, user.id);
    return insertReset(transaction, user.id, recoveryKey.hash(token), new Date(expiresMs), notAfter);
  });
  if (!inserted) return;
  const { company } = membership;
  await shards.of(company).db.transaction((transaction) =>
    writeLinkMail(transaction, team.mailKey, company.id, nowMs, {
      recipient: user.email,
      subject: `Reset your password for ${team.brandName}`,
      link: { url: `${team.baseUrl}/reset-password?token=${token}`, for: user.id, expiresAt: new Date(expiresMs) },
      body: (link) =>
        [
          greetingFor(user.first_name),
          '',
          `To reset your password for ${team.brandName}, open this link within ${limits.passwordResetMinutes} minutes:`,
          '',
          link,
          '',
          'If you did not request a new password, you can ignore this email. Your password stays the same.',
          '',
        ].join('\n'),
    }),
  );
}

/** Returns the browser token for the browser in which the password was chosen. */
export async function completeReset(
  dependencies: UserDependencies,
  token: string,
  password: string,
  audit: UserAudit,
): Promise<{ browser: string }> {
  const { db, clock, recoveryKey } = dependencies;
  const now = new Date(clock.nowMs());
  const hashes = recoveryKey.hashes(token);
  const over = (): ApiError => invalidField('token', 'is no longer valid. Request a new link');
  const known = await findUserByReset(db, hashes, now);
  if (!known) throw over();
  checkPassword(password, known.email);
  const passwordHash = await hashPassword(password);
  await audit.before(known.id);
  const changed = await db.transaction(async (transaction) => {
    const user = await findUserByReset(transaction, hashes, now);
    if (!user) throw over();
    await takeOver(dependencies, transaction, user, passwordHash);
    // Two-factor authentication stays on: otherwise access to the mailbox would be enough to bypass it. The mailbox
    // does not prove who set it up, so the email address is not marked as verified then.
    if (!user.totp_confirmed_at) await markVerified(transaction, user.id, now);
    return user;
  });
  await forgetLinks(dependencies, changed.id);
  return { browser: browserToken(dependencies, { ...changed, password_hash: passwordHash }) };
}

/** For a user who follows a link from the mailbox: sets the password, ends all sessions, and removes a lock. */
export async function takeOver(
  dependencies: UserDependencies,
  transaction: ControlQueryable,
  user: UserRow,
  passwordHash: string,
): Promise<void> {
  await updatePassword(transaction, user.id, passwordHash);
  await deleteOtherSessions(transaction, user.id, null);
  await forgetAttempts(dependencies, transaction, `email ${user.email_key}`);
}

/**
 * A new password invalidates the reset links that were sent before. This removes them from stored mails, which are on
 * the shards of the user's companies; a link that stays there expires.
 */
export async function forgetLinks(
  { db, shards }: Pick<UserDependencies, 'db'> & { readonly shards: Pick<Shards, 'of'> },
  userId: string,
): Promise<void> {
  const memberships = await activeMemberships({ db, shards }, userId, null);
  const databases = new Set(memberships.map(({ company }) => shards.of(company).db));
  for (const database of databases) await revokeLinksFor(database, userId);
}

export const reapResets = ({ db, clock }: Pick<UserDependencies, 'db' | 'clock'>): Promise<number> =>
  deleteExpiredResets(db, new Date(clock.nowMs()));
