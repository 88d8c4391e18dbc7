import { ApiError, invalidField } from '../../errors.ts';
import { type Database, type Queryable, violatedConstraint } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { e164 } from '../../platform/phone.ts';
import { createCompanies } from '../companies/service.ts';
import { emailKeyOf } from '../customers/service.ts';
import { addOwner, invitationOver, readInvitation, takeInvitation } from '../team/service.ts';
import type { RecordAudit, UserDependencies } from './dependencies.ts';
import { type Counter, counterFor, forgetAttempts, giveBack, tryPassword } from './login-attempts.ts';
import { setPassword, takeOver } from './password-resets.ts';
import { checkPassword, hashPassword } from './passwords.ts';
import {
  deleteOtherSessions,
  findMemberships,
  findUserByEmail,
  givePhone,
  insertMembership,
  insertUser,
  markVerified,
  removeTotp,
  stepUpSession,
  updateUser,
  type UserRow,
} from './queries.ts';
import type { PasswordChange, Session, ShownInvitation, SignIn, SignUp, StepUp, UserUpdate } from './schemas.ts';
import { codeMatches } from './second-factor.ts';
import { type Client, type CurrentSession, openSession, renewToken, steppedUpUntilMs } from './sessions.ts';
import type { Company } from '../../company.ts';

export type { UserDependencies } from './dependencies.ts';
export { browserToken, reapAttempts } from './login-attempts.ts';
export { completeReset, reapResets, requestReset } from './password-resets.ts';
export { beginTotp, completeTotp, endTotp } from './second-factor.ts';
export * from './sessions.ts';
export { auditUser } from './audit.ts';

/** Returns what the dashboard needs to know about the signed-in user. */
export async function showSession(db: Queryable, { user, session }: CurrentSession): Promise<Session> {
  const memberships = await findMemberships(db, user.id, null);
  return {
    user: {
      id: user.id,
      email: user.email,
      first_name: user.first_name,
      last_name: user.last_name,
      phone_number: user.phone_number,
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

type Person = Pick<SignUp, 'email' | 'first_name' | 'last_name'> & { readonly phone_number: string | null };

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
    phone_number: person.phone_number && e164(person.phone_number),
    password_hash: passwordHash,
  };
  try {
    await insertUser(db, user);
  } catch (error) {
    if (violatedConstraint(error) !== 'users_email') throw error;
    throw new ApiError(
      'resource_already_exists',
      'An account with this email address already exists. Sign in instead.',
      {
        param: 'email',
      },
    );
  }
  return id;
}

/** A merchant starts with a live company and its sandbox, and owns both. */
export async function signUp(
  dependencies: UserDependencies,
  input: SignUp,
  client: Client,
  audit: RecordAudit,
): Promise<string> {
  const { db, clock, signUpOpen } = dependencies;
  if (!signUpOpen) {
    throw new ApiError('insufficient_permissions', 'Sign-up is disabled. Ask your operator for an invitation.');
  }
  checkPassword(input.password, input.email);
  const nowMs = clock.nowMs();
  const passwordHash = await hashPassword(input.password);
  return db.transaction(async (transaction) => {
    const userId = await newUser(transaction, nowMs, input, passwordHash, false);
    const companies = await createCompanies(transaction, nowMs, input.company_name);
    await own(transaction, nowMs, userId, input, companies);
    await audit(transaction, userId);
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

/** Creates the login of the demo company, or resets its password. */
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
  return new ApiError('invalid_credentials', 'The email address or the password is wrong.');
}

/** Checks the password, and the code if two-factor authentication is on. Each failure counts towards the lock. */
async function verify(
  dependencies: UserDependencies,
  counter: Counter,
  user: UserRow | undefined,
  given: StepUp,
): Promise<UserRow> {
  const matches = await tryPassword(dependencies, counter, user, given.password);
  if (!matches || !user) throw refusedSignIn();
  if (user.totp_confirmed_at) {
    if (!given.totp_code) {
      await giveBack(dependencies, counter);
      throw new ApiError('totp_required', 'Enter the code from your authenticator app.');
    }
    if (!(await codeMatches(dependencies, user, given.totp_code))) {
      throw new ApiError('invalid_credentials', 'The code is wrong or was already used.', { param: 'totp_code' });
    }
  }
  await forgetAttempts(dependencies, dependencies.db, counter);
  return user;
}

export async function signIn(dependencies: UserDependencies, input: SignIn, client: Client): Promise<string> {
  const { db } = dependencies;
  const emailKey = emailKeyOf(input.email);
  const known = await findUserByEmail(db, emailKey);
  const counter = counterFor(dependencies, emailKey, known, client.browser);
  const user = await verify(dependencies, counter, known, input);
  return openSession(db, dependencies, user.id, client);
}

/** Counted per session, so that strangers cannot use up these attempts. */
const counterOf = ({ session }: CurrentSession): Counter => `session ${session.id}`;

/** Confirms the password again, before secrets are shown or changed. */
export async function stepUp(dependencies: UserDependencies, current: CurrentSession, given: StepUp): Promise<void> {
  await verify(dependencies, counterOf(current), current.user, given);
  await stepUpSession(dependencies.db, current.session.id, new Date(dependencies.clock.nowMs()));
}

export async function changeUser({ db }: UserDependencies, { user }: CurrentSession, input: UserUpdate): Promise<void> {
  const { phone_number } = input;
  await updateUser(db, user.id, { ...input, phone_number: phone_number && e164(phone_number) });
}

/**
 * Ends all other sessions, and replaces the token of this one, so that a stolen cookie stops working. Returns the new
 * token.
 */
export async function changePassword(
  dependencies: UserDependencies,
  current: CurrentSession,
  { current_password, password }: PasswordChange,
  audit: RecordAudit,
): Promise<string> {
  const { db } = dependencies;
  const { user, session } = current;
  if (!(await tryPassword(dependencies, counterOf(current), user, current_password))) {
    throw invalidField('current_password', 'is not your current password');
  }
  await forgetAttempts(dependencies, db, counterOf(current));
  checkPassword(password, user.email);
  const hash = await hashPassword(password);
  return db.transaction(async (transaction) => {
    await setPassword(transaction, user.id, hash);
    await deleteOtherSessions(transaction, user.id, session.id);
    await audit(transaction, user.id);
    return renewToken(transaction, dependencies, session);
  });
}

export async function showInvitation({ db, team }: UserDependencies, token: string): Promise<ShownInvitation> {
  const { email_key, phone_number: _, ...shown } = await readInvitation(db, team, token);
  const user = await findUserByEmail(db, email_key);
  return { ...shown, has_account: Boolean(user?.email_verified_at) };
}

/**
 * The link was mailed, so the user who follows it owns the mailbox. An account with an unverified address may belong
 * to another person who registered the address: it gets the password chosen now, and its sessions end.
 */
export async function acceptInvitation(
  dependencies: UserDependencies,
  token: string,
  given: StepUp,
  client: Client,
  audit: RecordAudit,
): Promise<string> {
  const { db, clock, team } = dependencies;
  const invitation = await readInvitation(db, team, token);
  const known = await findUserByEmail(db, invitation.email_key);
  const proven = known?.email_verified_at ? known : undefined;
  if (invitation.status !== 'pending' || invitation.expired) throw invitationOver();
  if (proven) {
    const counter = counterFor(dependencies, proven.email_key, proven, client.browser);
    await verify(dependencies, counter, proven, given);
  } else checkPassword(given.password, invitation.email);
  const hash = proven ? '' : await hashPassword(given.password);
  const now = new Date(clock.nowMs());
  return db.transaction(async (transaction) => {
    const { companyId, memberId } = await takeInvitation(transaction, team, token);
    const userId = known?.id ?? (await newUser(transaction, now.getTime(), invitation, hash, true));
    if (known && hash) {
      await takeOver(dependencies, transaction, known, hash);
      // The second factor may belong to a stranger who registered the address first; it would lock out the owner of
      // the mailbox.
      await removeTotp(transaction, userId);
      await markVerified(transaction, userId, now);
    }
    if (invitation.phone_number) await givePhone(transaction, userId, invitation.phone_number, !proven);
    await insertMembership(transaction, userId, companyId, memberId);
    await audit(transaction, userId);
    return openSession(transaction, dependencies, userId, client);
  });
}
