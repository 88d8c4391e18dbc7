import { ApiError, invalidField, validationError } from '../../errors.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { e164 } from '../../platform/phone.ts';
import { emailKeyOf } from '../customers/service.ts';
import { companyOfInvitation, invitationOver, readInvitation, takeInvitation } from '../team/service.ts';
import type { UserAudit, UserDependencies } from './dependencies.ts';
import { type Counter, counterFor, forgetAttempts, giveBack, tryPassword } from './login-attempts.ts';
import { activeMemberships, type MembershipDependencies } from './memberships.ts';
import { forgetLinks, takeOver } from './password-resets.ts';
import { checkPassword, hashPassword } from './passwords.ts';
import { insertMembership } from './membership-queries.ts';
import {
  deleteOtherSessions,
  findUserByEmail,
  givePhone,
  markVerified,
  removeTotp,
  stepUpSession,
  updatePassword,
  updateUser,
  type UserRow,
} from './queries.ts';
import type { Acceptance, PasswordChange, Session, ShownInvitation, SignIn, StepUp, UserUpdate } from './schemas.ts';
import { codeMatches } from './second-factor.ts';
import { type Client, type CurrentSession, openSession, changeToken, steppedUpUntilMs } from './sessions.ts';
import { newUser } from './sign-up.ts';

export type { UserDependencies } from './dependencies.ts';
export { browserToken, reapAttempts } from './login-attempts.ts';
export { completeReset, reapResets, requestReset } from './password-resets.ts';
export { beginTotp, completeTotp, endTotp } from './second-factor.ts';
export { openOneTimeSignIn, type OneTimeSignIn, signInOnce } from './one-time-sign-in.ts';
export * from './sessions.ts';
export { joinMembers, permissionsIn, reapMemberships } from './memberships.ts';
export { ensureOwner, hasAccount, reapSignUps, signUp } from './sign-up.ts';

/** Returns what the dashboard needs to know about the signed-in user. */
export async function showSession(
  dependencies: MembershipDependencies,
  { user, session }: CurrentSession,
): Promise<Session> {
  const memberships = await activeMemberships(dependencies, user.id, null);
  return {
    user: {
      id: user.id,
      email: user.email,
      first_name: user.first_name,
      last_name: user.last_name,
      phone_number: user.phone_number,
      totp_enabled: user.totp_confirmed_at !== null,
    },
    companies: memberships.map(({ company, timeZone, role, permissions }) => ({
      id: company.id,
      account_id: company.accountId,
      name: company.name,
      mode: company.mode,
      api_version: company.apiVersion,
      time_zone: timeZone,
      role,
      permissions,
    })),
    stepped_up_until: new Date(steppedUpUntilMs(session)).toISOString(),
  };
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
  audit: UserAudit,
): Promise<string> {
  const { db } = dependencies;
  const { user, session } = current;
  if (!(await tryPassword(dependencies, counterOf(current), user, current_password))) {
    throw invalidField('current_password', 'is not your current password');
  }
  await forgetAttempts(dependencies, db, counterOf(current));
  checkPassword(password, user.email);
  const hash = await hashPassword(password);
  await audit.before(user.id);
  const token = await db.transaction(async (transaction) => {
    await updatePassword(transaction, user.id, hash);
    await deleteOtherSessions(transaction, user.id, session.id);
    return changeToken(transaction, dependencies, session);
  });
  await forgetLinks(dependencies, user.id);
  return token;
}

export async function showInvitation({ db, shards, team }: UserDependencies, token: string): Promise<ShownInvitation> {
  const shard = await shards.find(companyOfInvitation(token));
  const { email_key, phone_number: _, member_id: _id, ...shown } = await readInvitation(shard.db, team, token);
  const user = await findUserByEmail(db, email_key);
  return { ...shown, has_account: Boolean(user?.email_verified_at) };
}

/**
 * The user and the membership come first: until the invitation is accepted they give no access, and the link can be
 * used again.
 *
 * The link was mailed, so the user who follows it owns the mailbox. An account with an unverified address may belong
 * to another person who registered the address: it gets the password chosen now, and its sessions end.
 */
export async function acceptInvitation(
  dependencies: UserDependencies,
  token: string,
  given: Acceptance,
  client: Client,
  audit: UserAudit,
): Promise<string> {
  const { db, shards, clock, team } = dependencies;
  const companyId = companyOfInvitation(token);
  const shard = await shards.find(companyId);
  const invitation = await readInvitation(shard.db, team, token);
  const known = await findUserByEmail(db, invitation.email_key);
  const proven = known?.email_verified_at ? known : undefined;
  if (invitation.status !== 'pending' || invitation.expired) throw invitationOver();
  if (proven) {
    const counter = counterFor(dependencies, proven.email_key, proven, client.browser);
    await verify(dependencies, counter, proven, given);
  } else checkPassword(given.password, invitation.email);
  const person = proven ?? personOf(invitation, given);
  const hash = proven ? '' : await hashPassword(given.password);
  const now = new Date(clock.nowMs());
  const { member_id: memberId } = invitation;
  const userId = await db.transaction(async (transaction) => {
    const id = known?.id ?? (await newUser(transaction, now.getTime(), person, hash, true));
    if (known && hash) {
      await takeOver(dependencies, transaction, known, hash);
      // The second factor may belong to a stranger who registered the address first; it would lock out the owner of
      // the mailbox.
      await removeTotp(transaction, id);
      await markVerified(transaction, id, now);
    }
    const { first_name, last_name } = person;
    if (known && !proven) await updateUser(transaction, id, { first_name, last_name });
    const phone = proven ? invitation.phone_number : person.phone_number;
    if (phone) await givePhone(transaction, id, phone, !proven);
    await insertMembership(transaction, id, companyId, memberId);
    return id;
  });
  failpoint('invitation.after_user');
  await shard.db.transaction(async (transaction) => {
    await takeInvitation(transaction, team, token, person);
    await audit.within(transaction, { companyId, memberId, email: invitation.email });
  });
  failpoint('invitation.after_member');
  if (known && hash) await forgetLinks(dependencies, userId);
  return openSession(db, dependencies, userId, client);
}

type InvitedPerson = Pick<UserRow, 'email' | 'first_name' | 'last_name' | 'phone_number'>;

/** The person of a new account. Their own words count more than those of the person who invited them. */
function personOf(invitation: InvitedPerson, given: Acceptance): InvitedPerson {
  const first_name = given.first_name ?? invitation.first_name;
  const last_name = given.last_name ?? invitation.last_name;
  const missing = Object.entries({ first_name, last_name }).filter(([, text]) => text === '');
  if (missing.length > 0) {
    throw validationError(
      missing.map(([field]) => ({ field, code: 'required_field' as const, message: 'is required' })),
    );
  }
  const phone = given.phone_number ?? invitation.phone_number;
  return { email: invitation.email, first_name, last_name, phone_number: phone && e164(phone) };
}
