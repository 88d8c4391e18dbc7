import { randomBytes } from 'node:crypto';
import { ApiError, notFound } from '../../errors.ts';
import { greetingFor, withoutLink } from '../../greeting.ts';
import { requirePermissions } from '../../http/caller.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { type Database, type Queryable, violatedConstraint } from '../../platform/database.ts';
import { dayMs } from '../../platform/durations.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import { e164, usNumber } from '../../platform/phone.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import { emailKeyOf } from '../customers/service.ts';
import { createRoles } from './copy.ts';
import { emitEvents, newEvent } from '../events/service.ts';
import { mailsToday, revokeLinksFor, type NewMail, writeLinkMail, writeMails } from '../mails/service.ts';
import {
  type ActiveMember,
  acceptInvitation,
  findActiveMembers,
  hasActiveMember,
  findCompaniesWithoutRoles,
  findExistingMembers,
  findInvitation,
  findMembers,
  findRoles,
  insertMember,
  insertActive,
  type Invitation,
  listMembers,
  type MemberFilters,
  type MemberRow,
  type PersonName,
  type RoleRow,
} from './queries.ts';
import type { Invitation as NewInvitation, Role, TeamMember, TeamMemberCreate } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

export type { Invitation };
export { copyTeam, createRoles, sameMembers } from './copy.ts';

export interface TeamDependencies {
  /** The base of links in mails. */
  readonly baseUrl: string;
  /** What the installation calls itself. */
  readonly brandName: string;
  /** Invitations are stored as hashes with this key. */
  readonly invitationKey: ServiceKey;
  /** Links are encrypted with this key until their mails are sent. */
  readonly mailKey: ServiceKey;
}

/** For companies from before roles existed. */
export async function ensureRoles(db: Queryable, nowMs: number): Promise<void> {
  for (const companyId of await findCompaniesWithoutRoles(db)) await createRoles(db, companyId, nowMs);
}

export async function getRoles(
  { db, company }: RequestContext,
  expand: ReadonlySet<string>,
): Promise<{ data: Role[] }> {
  const rows = await findRoles(db, company.id);
  return {
    data: rows.map((row) => roleToWire(row, expand.has('permissions'))),
  };
}

export function roleToWire({ permissions, ...role }: RoleRow, withPermissions: boolean): Role {
  return withPermissions ? { ...role, permissions } : role;
}

export function toWire(row: MemberRow): TeamMember {
  return {
    id: row.id,
    email: row.email,
    first_name: row.first_name,
    last_name: row.last_name,
    phone_number: row.phone_number,
    status: row.status,
    role: { id: row.role_id, name: row.role_name },
    invited_at: row.invited_at.toISOString(),
    accepted_at: row.accepted_at?.toISOString() ?? null,
    created_at: createdAt(row.id),
    updated_at: row.updated_at.toISOString(),
  };
}

export async function getTeamMembers(
  { db, company }: RequestContext,
  filters: MemberFilters,
  page: PageRequest,
): Promise<Page<TeamMember>> {
  const found = await listMembers(db, company.id, filters, page);
  return { ...found, items: found.items.map(toWire) };
}

/** Invitations expire by real time, because people read mails in real time. */
export const invitationExpiry = ({ nowMs, company }: RequestContext): Date =>
  new Date(nowMs - company.clockOffsetMs + limits.invitationDays * dayMs);

/** The token contains its company id, so that no lookup crosses companies; the rest is random. */
export const newToken = (companyId: string): string =>
  Buffer.concat([Buffer.from(companyId.replaceAll('-', ''), 'hex'), randomBytes(32)]).toString('base64url');

const companyBytes = 16;
function companyOf(token: string): string {
  const hex = Buffer.from(token, 'base64url')
    .toString('hex', 0, companyBytes)
    .padEnd(2 * companyBytes, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export const hashOf = ({ invitationKey }: TeamDependencies, token: string): Buffer => invitationKey.hash(token);

/** Creates the invitation, its mail and its event in one transaction. */
export async function inviteTeamMember(
  context: RequestContext,
  dependencies: TeamDependencies,
  input: NewInvitation,
): Promise<TeamMember> {
  const { db, company, nowMs, requestId } = context;
  const token = newToken(company.id);
  const now = new Date(nowMs);
  return db.transaction(async (transaction) => {
    const role = await roleToGive({ ...context, db: transaction }, input.role_id);
    const member = {
      id: newId(nowMs),
      email: input.email,
      email_key: emailKeyOf(input.email),
      first_name: input.first_name ?? '',
      last_name: input.last_name ?? '',
      ...phonesOf(input.phone_number),
      role_id: role.id,
      invitation_hash: hashOf(dependencies, token),
      invitation_expires_at: invitationExpiry(context),
      invited_at: now,
      updated_at: now,
    };
    await refusingDuplicates(insertMember(transaction, company.id, member));
    const shown = toWire({ ...member, role_name: role.name, status: 'pending', accepted_at: null });
    await mailInvitation(dependencies, { ...context, db: transaction }, shown, token, member.invitation_expires_at);
    await emitEvents(transaction, [newEvent(company.id, nowMs, 'team_member.invited', shown, 1, requestId)]);
    return shown;
  });
}

/** A membership has the number only if it is a US number, as the API promises; the user always has it. */
const phonesOf = (phone = ''): { phone_number: string | null; invited_phone: string | null } => ({
  phone_number: usNumber(phone) ?? null,
  invited_phone: phone === '' ? null : e164(phone),
});

/** A caller can grant a role only with all of its permissions. */
export async function roleToGive({ db, company, caller }: RequestContext, id: string): Promise<RoleRow> {
  const role = (await findRoles(db, company.id)).find((one) => one.id === id.toLowerCase());
  if (!role) throw notFound('role', 'role_id');
  requirePermissions(caller, role.permissions, `the role ${role.name} has`);
  return role;
}

async function refusingDuplicates(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (violatedConstraint(error) !== 'team_members_email') throw error;
    throw new ApiError('resource_already_exists', 'A team member with this email address already exists.', {
      param: 'email',
    });
  }
}

/** Mails to strangers can be a nuisance, so the number per company is limited. */
export async function mailInvitation(
  dependencies: TeamDependencies,
  context: RequestContext,
  member: TeamMember,
  token: string,
  expiresAt: Date,
): Promise<void> {
  const { db, company, nowMs } = context;
  if ((await mailsToday(db, company.id)) >= limits.mailsPerDay) {
    const message = `A company can send at most ${limits.mailsPerDay} emails a day. Try again tomorrow.`;
    throw new ApiError('rate_limit_exceeded', message, { headers: { 'Retry-After': '3600' } });
  }
  const { baseUrl, brandName, mailKey } = dependencies;
  // Anyone can sign up and invite a stranger, so these words must not lead to another site.
  const companyName = withoutLink(company.name, 'a company');
  const roleName = withoutLink(member.role.name, 'a member');
  await writeLinkMail(db, mailKey, company.id, nowMs, {
    recipient: member.email,
    subject: `You are invited to join ${companyName} on ${brandName}`,
    link: { url: `${baseUrl}/invitations/${token}`, for: member.id, expiresAt },
    body: (link) =>
      [
        greetingFor(member.first_name),
        '',
        `You are invited to join ${companyName} on ${brandName} as ${roleName}. To accept, open this link within ${limits.invitationDays} days:`,
        '',
        link,
        '',
        'If you did not expect this invitation, you can ignore this email.',
        '',
      ].join('\n'),
  });
}

/** The active ones of these members, with their companies and roles. */
export type { ActiveMember } from './queries.ts';

export const activeMembers = (
  shard: { readonly name: string; readonly db: Queryable },
  members: Parameters<typeof findMembers>[1],
): Promise<ActiveMember[]> => findMembers(shard, members);

/** Returns the ids of those of the members who exist. */
export const existingMembers = (db: Queryable, members: Parameters<typeof findMembers>[1]): Promise<Set<string>> =>
  findExistingMembers(db, members);

/** The company that an invitation leads to. */
export const companyOfInvitation = (token: string): string => companyOf(token);

export async function readInvitation(
  db: Queryable,
  dependencies: TeamDependencies,
  token: string,
): Promise<Invitation> {
  const found = await findInvitation(db, companyOf(token), dependencies.invitationKey.hashes(token));
  if (!found) throw notFound('invitation');
  return found;
}

export function invitationOver(): ApiError {
  return new ApiError('invalid_state_transition', 'This invitation is no longer valid. Ask for a new one.');
}

/** Accepts the invitation for the first caller in time. A member who was invited without a name gets that of the user. */
export async function takeInvitation(
  transaction: Queryable,
  dependencies: TeamDependencies,
  token: string,
  user: PersonName,
): Promise<void> {
  const hashes = dependencies.invitationKey.hashes(token);
  const memberId = await acceptInvitation(transaction, companyOf(token), hashes, user);
  if (!memberId) throw invitationOver();
  await revokeLinksFor(transaction, memberId);
}

/** The user who signs up becomes a member at once. */
export const addOwner = (
  transaction: Queryable,
  companyId: string,
  nowMs: number,
  person: ActivePerson,
): Promise<string> => addActive(transaction, companyId, nowMs, person, 'Owner');

type ActivePerson = Omit<TeamMemberCreate, 'role_id' | 'phone_number'> & { readonly phone_number?: string };

/** Adds a member without an invitation. */
export async function addActive(
  transaction: Queryable,
  companyId: string,
  nowMs: number,
  person: ActivePerson,
  role: string,
): Promise<string> {
  const { phone_number } = phonesOf(person.phone_number);
  const member = {
    ...person,
    phone_number,
    id: newId(nowMs),
    email_key: emailKeyOf(person.email),
    at: new Date(nowMs),
  };
  const id = await insertActive(transaction, companyId, member, role);
  if (!id) throw new Error(`company ${companyId} has no role ${role}`);
  return id;
}

/** Whether a member of the team has this address. A sandbox sends emails to no other. */
export const isTeamAddress = ({ db, company }: RequestContext, email: string): Promise<boolean> =>
  hasActiveMember(db, company.id, emailKeyOf(email));

/**
 * Sends a mail to every member of a company, in the transaction of the change. Above the daily limit no mail is sent,
 * and the change still takes effect; otherwise the holder of an API key could flood the mailboxes of the team.
 */
export async function mailTeam(
  transaction: Database,
  companyId: string,
  nowMs: number,
  mail: Omit<NewMail, 'recipient'>,
): Promise<void> {
  const members = await findActiveMembers(transaction, companyId);
  const left = Math.max(0, limits.mailsPerDay - (await mailsToday(transaction, companyId)));
  const mails = members.slice(0, left).map(({ email: recipient }) => ({ ...mail, recipient }));
  if (mails.length > 0) await writeMails(transaction, companyId, nowMs, mails);
}
