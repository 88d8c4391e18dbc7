import { ApiError } from '../../errors.ts';
import {
  type ControlDatabase,
  type ControlQueryable,
  type Database,
  violatedConstraint,
} from '../../platform/database.ts';
import { hourMs } from '../../platform/durations.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { newId } from '../../platform/ids.ts';
import { e164 } from '../../platform/phone.ts';
import { shardForNew } from '../../shards/placement.ts';
import { insertShards } from '../../shards/queries.ts';
import type { ShardDatabase, Shards } from '../../shards/shards.ts';
import {
  type CompanyPair,
  createCompanies,
  deleteUnused,
  finishSignUp,
  markUnfinished,
  unfinishedSignUps,
} from '../companies/service.ts';
import { emailKeyOf } from '../customers/service.ts';
import { addOwner } from '../team/service.ts';
import type { UserAudit, UserDependencies } from './dependencies.ts';
import { forgetLinks } from './password-resets.ts';
import { checkPassword, hashPassword } from './passwords.ts';
import { findCompaniesWithMembers, insertMembership } from './membership-queries.ts';
import { findUserByEmail, insertUser, updatePassword } from './queries.ts';
import type { SignUp } from './schemas.ts';
import { type Client, openSession } from './sessions.ts';

/**
 * A merchant starts with a live company and its sandbox, and owns both. The companies may be on another server than the
 * user, so the companies come first: without their user they are invisible, and are removed later.
 */
export async function signUp(
  dependencies: UserDependencies,
  input: SignUp,
  client: Client,
  audit: UserAudit,
): Promise<string> {
  const { db, shards, clock, signUpOpen } = dependencies;
  if (!signUpOpen) {
    throw new ApiError('insufficient_permissions', 'Sign-up is disabled. Ask your operator for an invitation.');
  }
  checkPassword(input.password, input.email);
  if (await hasAccount(db, input.email)) throw taken();
  const nowMs = clock.nowMs();
  const passwordHash = await hashPassword(input.password);
  const shard = await shardForNew(shards);
  const { companies, members } = await shard.db.transaction(async (transaction) => {
    const made = await createCompanies({ name: shard.name, db: transaction }, nowMs, input.company_name);
    const ids = [made.live.id, made.sandbox.id];
    await markUnfinished(transaction, ids);
    const owners = await addOwners(transaction, nowMs, input, made);
    for (const [companyId, memberId] of owners) {
      await audit.within(transaction, { companyId, memberId, email: input.email });
    }
    return { companies: ids, members: owners };
  });
  failpoint('sign_up.after_companies');
  const userId = await db.transaction(async (transaction) => {
    const id = await newUser(transaction, nowMs, input, passwordHash, false);
    await own(transaction, id, shard.name, members);
    return id;
  });
  failpoint('sign_up.after_user');
  await finishSignUp(shard.db, companies);
  return openSession(db, dependencies, userId, client);
}

const taken = (): ApiError =>
  new ApiError('resource_already_exists', 'An account with this email address already exists. Sign in instead.', {
    param: 'email',
  });

type Person = Pick<SignUp, 'email' | 'first_name' | 'last_name'> & {
  readonly phone_number?: string | null;
};

export async function newUser(
  db: ControlQueryable,
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
    phone_number: person.phone_number ? e164(person.phone_number) : null,
    password_hash: passwordHash,
  };
  try {
    await insertUser(db, user);
  } catch (error) {
    if (violatedConstraint(error) !== 'users_email') throw error;
    throw taken();
  }
  return id;
}

/** By company id. */
type Members = ReadonlyMap<string, string>;

async function addOwners(
  transaction: Database,
  nowMs: number,
  person: Omit<SignUp, 'password' | 'company_name'>,
  { live, sandbox }: CompanyPair,
): Promise<Members> {
  const members = new Map<string, string>();
  for (const { id } of [live, sandbox]) members.set(id, await addOwner(transaction, id, nowMs, person));
  return members;
}

async function own(transaction: ControlDatabase, userId: string, shard: string, members: Members): Promise<void> {
  await insertShards(transaction, shard, [...members.keys()]);
  for (const [companyId, memberId] of members) await insertMembership(transaction, userId, companyId, memberId);
}

export async function hasAccount(db: ControlQueryable, email: string): Promise<boolean> {
  return (await findUserByEmail(db, emailKeyOf(email))) !== undefined;
}

/** Creates the login of the demo company, or resets its password. */
export async function ensureOwner(
  shards: Shards,
  nowMs: number,
  companies: CompanyPair,
  person: Omit<SignUp, 'company_name'>,
): Promise<void> {
  const passwordHash = await hashPassword(person.password);
  const { name, db } = shards.of(companies.live);
  const members = await db.transaction((transaction) => addOwners(transaction, nowMs, person, companies));
  const known = await shards.control.transaction(async (transaction) => {
    const user = await findUserByEmail(transaction, emailKeyOf(person.email));
    const userId = user?.id ?? (await newUser(transaction, nowMs, person, passwordHash, true));
    if (user) await updatePassword(transaction, user.id, passwordHash);
    await own(transaction, userId, name, members);
    return user;
  });
  if (known) await forgetLinks({ db: shards.control, shards }, known.id);
}

/** Long enough for any sign-up to finish. */
const unfinishedMs = hourMs;

/** Removes the companies of sign-ups that ended before their user was recorded. */
export async function reapSignUps(
  control: ControlQueryable,
  { db }: Pick<ShardDatabase, 'db'>,
  nowMs: number,
  batch: number,
): Promise<number> {
  const unfinished = await unfinishedSignUps(db, new Date(nowMs - unfinishedMs), batch);
  if (unfinished.length === 0) return 0;
  const owned = await findCompaniesWithMembers(control, unfinished);
  await finishSignUp(
    db,
    unfinished.filter((id) => owned.has(id)),
  );
  await deleteUnused(
    db,
    unfinished.filter((id) => !owned.has(id)),
  );
  return unfinished.length;
}
