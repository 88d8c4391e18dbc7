import { ApiError, invalidField } from '../../errors.ts';
import { randomBase62 } from '../../platform/ids.ts';
import type { UserAudit, UserDependencies } from './dependencies.ts';
import {
  confirmTotp,
  lockUser,
  removeTotp,
  setTotpSecret,
  takeRecoveryCode,
  takeTotpStep,
  type UserRow,
} from './queries.ts';
import type { TotpEnrolment, TotpRecovery } from './schemas.ts';
import type { CurrentSession } from './sessions.ts';
import { matchingStep, newTotpSecret, otpauthUrl, toBase32 } from './totp.ts';

/** Authenticator codes, and recovery codes for users who have lost their authenticator. */

export async function codeMatches(dependencies: UserDependencies, user: UserRow, code: string): Promise<boolean> {
  const { db, clock, recoveryKey } = dependencies;
  const step = matchingStep(totpSecretOf(dependencies, user), code, clock.nowMs(), user.totp_last_step);
  if (step !== undefined) return takeTotpStep(db, user.id, step);
  return takeRecoveryCode(db, user.id, recoveryKey.hashes(hashedText(user.id, code)));
}

function totpSecretOf({ totpKey }: UserDependencies, user: UserRow): Buffer {
  if (!user.totp_secret) throw invalidField('code', 'is not needed: two-factor authentication is not set up');
  return totpKey.open(user.totp_secret, user.id);
}

const hashedText = (userId: string, code: string): string => `${userId} ${code.trim().toLowerCase()}`;

export async function beginTotp(dependencies: UserDependencies, { user }: CurrentSession): Promise<TotpEnrolment> {
  if (user.totp_confirmed_at)
    throw new ApiError('resource_already_exists', 'Two-factor authentication is already enabled.');
  const secret = newTotpSecret();
  await setTotpSecret(dependencies.db, user.id, dependencies.totpKey.seal(secret, user.id));
  return { secret: toBase32(secret), otpauth_url: otpauthUrl(secret, user.email) };
}

const recoveryCodeCount = 10;

/** The first correct code enables two-factor authentication. The recovery codes are shown only this once. */
export async function completeTotp(
  dependencies: UserDependencies,
  { user: { id } }: CurrentSession,
  code: string,
  audit: UserAudit,
): Promise<TotpRecovery> {
  const { db, clock, recoveryKey } = dependencies;
  const nowMs = clock.nowMs();
  const codes = Array.from({ length: recoveryCodeCount }, () => randomBase62(10).toLowerCase());
  await audit.before(id);
  await db.transaction(async (transaction) => {
    const user = await lockUser(transaction, id);
    if (!user || user.totp_confirmed_at)
      throw new ApiError('resource_already_exists', 'Two-factor authentication is already enabled.');
    const step = matchingStep(totpSecretOf(dependencies, user), code, nowMs, null);
    if (step === undefined) throw invalidField('code', 'is wrong. Check the clock of your device and enter a new code');
    const hashes = codes.map((text) => recoveryKey.hash(hashedText(id, text)));
    await confirmTotp(transaction, id, new Date(nowMs), step, hashes);
  });
  return { recovery_codes: codes };
}

export async function endTotp({ db }: UserDependencies, { user }: CurrentSession, audit: UserAudit): Promise<void> {
  await audit.before(user.id);
  await removeTotp(db, user.id);
}
