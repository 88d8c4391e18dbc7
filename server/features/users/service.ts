import { randomBytes } from 'node:crypto';
import { ApiError, invalidField } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { type Database, type DatabasePool, type Queryable, violatedConstraint } from '../../platform/database.ts';
import { newId, randomBase62 } from '../../platform/ids.ts';
import { openBytes, sealBytes } from '../../platform/sealing.ts';
import { keyedHash } from '../../platform/secret.ts';
import { type Company, createCompanies } from '../companies/service.ts';
import { emailKeyOf } from '../customers/service.ts';
import { dropLinksFor, writeLinkMail } from '../mails/service.ts';
import { addOwner, invitationOver, readInvitation, takeInvitation, type TeamDependencies } from '../team/service.ts';
import { guessPassword } from './guesses.ts';
import { checkPassword, hashPassword, passwordMatches } from './passwords.ts';
import {
  confirmTotp,
  deleteOtherSessions,
  findMemberships,
  findUserByEmail,
  findUserByReset,
  forgetFailures,
  giveBackAttempt,
  insertMembership,
  insertUser,
  lockUser,
  markVerified,
  removeTotp,
  setReset,
  setTotpSecret,
  stepUpSession,
  takeRecoveryCode,
  takeTotpStep,
  updateNames,
  updatePassword,
  type UserRow,
} from './queries.ts';
import type { PasswordChange, SignIn, SignUp, StepUp, UserUpdate } from './schemas.ts';
import {
  type Client,
  type CurrentSession,
  openSession,
  renewToken,
  type SessionDependencies,
  steppedUpUntilMs,
} from './sessions.ts';
import { matchingStep, newTotpSecret, otpauthUrl, toBase32 } from './totp.ts';

export * from './sessions.ts';
export { tellCompaniesOf } from './told.ts';

export interface UserDependencies extends SessionDependencies {
  readonly db: DatabasePool;
  readonly team: TeamDependencies;
  readonly totpKey: Buffer;
  /** Links for new passwords and recovery codes are kept as hashes with it. */
  readonly recoveryKey: Buffer;
  /** Whether strangers can open an account. */
  readonly signUpOpen: boolean;
}

/** Writes the audit entry of what is done, in the transaction in which it is done. */
type Tell = (db: Queryable, userId: string) => Promise<void>;

const minuteMs = 60_000;

/** What the dashboard knows of who is signed in. */
export async function showSession(db: Queryable, { user, session }: CurrentSession): Promise<object> {
  const memberships = await findMemberships(db, user.id, null);
  return {
    user: {
      id: user.id,
      email: user.email,
      first_name: user.first_name,
      last_name: user.last_name,
      totp_enabled: user.totp_confirmed_at !== null,
    },
    companies: memberships.map(({ company, role, permissions }) => ({
      id: company.id,
      account_id: company.accountId,
      name: company.name,
      mode: company.mode,
      api_version: company.apiVersion,
      role,
      permissions,
    })),
    stepped_up_until: new Date(steppedUpUntilMs(session)).toISOString(),
  };
}

type Person = Pick<SignUp, 'email' | 'first_name' | 'last_name'>;

async function newUser(
  db: Queryable,
  nowMs: number,
  person: Person,
  passwordHash: string,
  verified: boolean,
): Promise<string> {
  const id = newId(nowMs);
  const user = {
    id,
    email: person.email,
    email_key: emailKeyOf(person.email),
    email_verified_at: verified ? new Date(nowMs) : null,
    first_name: person.first_name,
    last_name: person.last_name,
    password_hash: passwordHash,
  };
  try {
    await insertUser(db, user);
  } catch (error) {
    if (violatedConstraint(error) !== 'users_email') throw error;
    throw new ApiError('resource_already_exists', 'There is an account with this e-mail address. Sign in instead.', {
      param: 'email',
    });
  }
  return id;
}

/** A merchant begins with the live company and its sandbox, and owns both. */
export async function signUp(
  dependencies: UserDependencies,
  input: SignUp,
  client: Client,
  tell: Tell,
): Promise<string> {
  const { db, clock, signUpOpen } = dependencies;
  if (!signUpOpen) {
    throw new ApiError('insufficient_permissions', 'Nobody can sign up here; ask your operator for an invitation.');
  }
  checkPassword(input.password, input.email);
  const nowMs = clock.nowMs();
  const passwordHash = await hashPassword(input.password);
  return db.transaction(async (transaction) => {
    const userId = await newUser(transaction, nowMs, input, passwordHash, false);
    const companies = await createCompanies(transaction, nowMs, input.company_name);
    await own(transaction, nowMs, userId, input, companies);
    await tell(transaction, userId);
    return openSession(transaction, dependencies, userId, client);
  });
}

async function own(
  transaction: Database,
  nowMs: number,
  userId: string,
  person: Omit<SignUp, 'password' | 'company_name'>,
  companies: Record<Company['mode'], Company>,
): Promise<void> {
  for (const { id } of [companies.live, companies.sandbox]) {
    await insertMembership(transaction, userId, id, await addOwner(transaction, id, nowMs, person));
  }
}

export async function hasAccount(db: Queryable, email: string): Promise<boolean> {
  return (await findUserByEmail(db, emailKeyOf(email))) !== undefined;
}

/** The login of the demo company: made, or given this password again. */
export async function ensureOwner(
  db: Database,
  nowMs: number,
  companies: Record<Company['mode'], Company>,
  person: Omit<SignUp, 'company_name'>,
): Promise<void> {
  const passwordHash = await hashPassword(person.password);
  await db.transaction(async (transaction) => {
    const known = await findUserByEmail(transaction, emailKeyOf(person.email));
    const userId = known?.id ?? (await newUser(transaction, nowMs, person, passwordHash, true));
    if (known) await setPassword(transaction, known.id, passwordHash);
    await own(transaction, nowMs, userId, person, companies);
  });
}

function refusedSignIn(): ApiError {
  return new ApiError('invalid_credentials', 'The e-mail address or the password is wrong.');
}

/** The password, and the code where codes are on. Each failure counts towards the lock. */
async function verify(dependencies: UserDependencies, user: UserRow | undefined, given: StepUp): Promise<UserRow> {
  const { db } = dependencies;
  const { password } = given;
  const matches = user ? await guessPassword(dependencies, user, password) : await passwordMatches(password, undefined);
  if (!matches || !user) throw refusedSignIn();
  if (user.totp_confirmed_at) {
    if (!given.totp_code) {
      await giveBackAttempt(db, user.id);
      throw new ApiError('totp_required', 'Enter the code of your authenticator app.');
    }
    if (!(await codeMatches(dependencies, user, given.totp_code))) {
      throw new ApiError('invalid_credentials', 'The code is wrong or was used.', { param: 'totp_code' });
    }
  }
  await forgetFailures(db, user.id);
  return user;
}

async function codeMatches(dependencies: UserDependencies, user: UserRow, code: string): Promise<boolean> {
  const { db, clock, recoveryKey } = dependencies;
  const step = matchingStep(totpSecretOf(dependencies, user), code, clock.nowMs(), user.totp_last_step);
  if (step !== undefined) return takeTotpStep(db, user.id, step);
  return takeRecoveryCode(db, user.id, recoveryHash(recoveryKey, user.id, code));
}

function totpSecretOf({ totpKey }: UserDependencies, user: UserRow): Buffer {
  if (!user.totp_secret) throw invalidField('code', 'cannot be checked: codes are not set up');
  return openBytes(totpKey, user.totp_secret, user.id);
}

const recoveryHash = (key: Buffer, userId: string, code: string): Buffer =>
  keyedHash(key, `${userId} ${code.trim().toLowerCase()}`);

export async function signIn(dependencies: UserDependencies, input: SignIn, client: Client): Promise<string> {
  const { db } = dependencies;
  const user = await verify(dependencies, await findUserByEmail(db, emailKeyOf(input.email)), input);
  return openSession(db, dependencies, user.id, client);
}

/** The password once more, for what shows or changes secrets. */
export async function stepUp(
  dependencies: UserDependencies,
  { user, session }: CurrentSession,
  given: StepUp,
): Promise<void> {
  await verify(dependencies, user, given);
  await stepUpSession(dependencies.db, session.id, new Date(dependencies.clock.nowMs()));
}

export async function changeUser({ db }: UserDependencies, { user }: CurrentSession, input: UserUpdate): Promise<void> {
  await updateNames(db, user.id, input.first_name ?? null, input.last_name ?? null);
}

/** Whoever else was signed in no longer is, also by this very cookie: gives the token of a new one. */
export async function changePassword(
  dependencies: UserDependencies,
  { user, session }: CurrentSession,
  { current_password, password }: PasswordChange,
  tell: Tell,
): Promise<string> {
  const { db } = dependencies;
  if (!(await guessPassword(dependencies, user, current_password))) {
    throw invalidField('current_password', 'is not your password');
  }
  await forgetFailures(db, user.id);
  checkPassword(password, user.email);
  const hash = await hashPassword(password);
  return db.transaction(async (transaction) => {
    await setPassword(transaction, user.id, hash);
    await deleteOtherSessions(transaction, user.id, session.id);
    await tell(transaction, user.id);
    return renewToken(transaction, dependencies, session);
  });
}

/** Links for a new password that were mailed before open nothing any more. */
async function setPassword(transaction: Queryable, userId: string, hash: string): Promise<void> {
  await updatePassword(transaction, userId, hash);
  await dropLinksFor(transaction, userId);
}

/** Says the same whether there is such an account or not. */
export async function requestReset(dependencies: UserDependencies, email: string): Promise<void> {
  const { db, clock, recoveryKey, team } = dependencies;
  const user = await findUserByEmail(db, emailKeyOf(email));
  const [membership] = user ? await findMemberships(db, user.id, null) : [];
  if (!user || !membership) return;
  const token = randomBytes(32).toString('base64url');
  const nowMs = clock.nowMs();
  await db.transaction(async (transaction) => {
    const expiresMs = nowMs + limits.passwordResetMinutes * minuteMs;
    const notAfter = new Date(expiresMs - limits.passwordResetPauseMinutes * minuteMs);
    if (!(await setReset(transaction, user.id, keyedHash(recoveryKey, token), new Date(expiresMs), notAfter))) return;
    await writeLinkMail(transaction, team.mailKey, membership.company.id, nowMs, {
      recipient: user.email,
      subject: 'Choose a new password',
      link: { url: `${team.baseUrl}/reset-password?token=${token}`, for: user.id, expiresAt: new Date(expiresMs) },
      body: (link) =>
        [
          `Hello ${user.first_name},`,
          '',
          `to choose a new password, open this link within ${limits.passwordResetMinutes} minutes:`,
          '',
          link,
          '',
          'If you did not ask for it, you can ignore this mail; your password stays as it is.',
          '',
        ].join('\n'),
    });
  });
}

export async function completeReset(
  dependencies: UserDependencies,
  token: string,
  password: string,
  tell: Tell,
): Promise<void> {
  const { db, clock, recoveryKey } = dependencies;
  const now = new Date(clock.nowMs());
  await db.transaction(async (transaction) => {
    const user = await findUserByReset(transaction, keyedHash(recoveryKey, token), now);
    if (!user) throw invalidField('token', 'is not valid any longer; ask for a new link');
    checkPassword(password, user.email);
    const passwordHash = await hashPassword(password);
    await takeOver(transaction, user, passwordHash);
    // Codes stay on, or the mailbox alone would be enough to get past them. Whose they are, it does not prove.
    if (!user.totp_confirmed_at) await markVerified(transaction, user.id, now);
    await tell(transaction, user.id);
  });
}

/** Whoever comes by a link from the mailbox: the password is theirs, and all sessions end. */
async function takeOver(transaction: Database, user: UserRow, passwordHash: string): Promise<void> {
  await setPassword(transaction, user.id, passwordHash);
  await deleteOtherSessions(transaction, user.id, null);
}

export async function beginTotp(
  dependencies: UserDependencies,
  { user }: CurrentSession,
): Promise<{ secret: string; otpauth_url: string }> {
  if (user.totp_confirmed_at) throw new ApiError('resource_already_exists', 'Codes are on already.');
  const secret = newTotpSecret();
  await setTotpSecret(dependencies.db, user.id, sealBytes(dependencies.totpKey, secret, user.id));
  return { secret: toBase32(secret), otpauth_url: otpauthUrl(secret, user.email) };
}

const recoveryCodeCount = 10;

/** The first right code turns them on. The recovery codes are shown this once. */
export async function completeTotp(
  dependencies: UserDependencies,
  { user: { id } }: CurrentSession,
  code: string,
  tell: Tell,
): Promise<{ recovery_codes: string[] }> {
  const { db, clock, recoveryKey } = dependencies;
  const nowMs = clock.nowMs();
  const codes = Array.from({ length: recoveryCodeCount }, () => randomBase62(10).toLowerCase());
  await db.transaction(async (transaction) => {
    const user = await lockUser(transaction, id);
    if (!user || user.totp_confirmed_at) throw new ApiError('resource_already_exists', 'Codes are on already.');
    const step = matchingStep(totpSecretOf(dependencies, user), code, nowMs, null);
    if (step === undefined) throw invalidField('code', 'is wrong; is the clock of your device right?');
    const hashes = codes.map((text) => recoveryHash(recoveryKey, id, text));
    await confirmTotp(transaction, id, new Date(nowMs), step, hashes);
    await tell(transaction, id);
  });
  return { recovery_codes: codes };
}

export async function endTotp({ db }: UserDependencies, { user }: CurrentSession, tell: Tell): Promise<void> {
  await db.transaction(async (transaction) => {
    await removeTotp(transaction, user.id);
    await tell(transaction, user.id);
  });
}

export async function showInvitation({ db, team }: UserDependencies, token: string): Promise<object> {
  const { email_key, ...shown } = await readInvitation(db, team, token);
  const user = await findUserByEmail(db, email_key);
  return { ...shown, has_account: Boolean(user?.email_verified_at) };
}

/**
 * The link was mailed, so whoever follows it has the mailbox. An account that never proved as much may be somebody
 * else's who took the address: it gets the password chosen now, and its sessions end.
 */
export async function acceptInvitation(
  dependencies: UserDependencies,
  token: string,
  given: StepUp,
  client: Client,
  tell: Tell,
): Promise<string> {
  const { db, clock, team } = dependencies;
  const invitation = await readInvitation(db, team, token);
  const known = await findUserByEmail(db, invitation.email_key);
  const proven = known?.email_verified_at ? known : undefined;
  if (invitation.status !== 'pending' || invitation.expired) throw invitationOver();
  if (proven) await verify(dependencies, proven, given);
  else checkPassword(given.password, invitation.email);
  const hash = proven ? '' : await hashPassword(given.password);
  const now = new Date(clock.nowMs());
  return db.transaction(async (transaction) => {
    const { companyId, memberId } = await takeInvitation(transaction, team, token);
    const userId = known?.id ?? (await newUser(transaction, now.getTime(), invitation, hash, true));
    if (known && hash) {
      await takeOver(transaction, known, hash);
      // They may be a stranger's, who took the address first, and would lock its owner out.
      await removeTotp(transaction, userId);
      await markVerified(transaction, userId, now);
    }
    await insertMembership(transaction, userId, companyId, memberId);
    await tell(transaction, userId);
    return openSession(transaction, dependencies, userId, client);
  });
}
