import { randomBytes } from 'node:crypto';
import { ApiError, notFound } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest, RequestContext } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { type Database, type Queryable, violatedConstraint } from '../../platform/database.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import { keyedHash } from '../../platform/secret.ts';
import { emailKeyOf } from '../customers/service.ts';
import { insertEvents, newEvent } from '../events/service.ts';
import { type NewMail, writeMails } from '../mails/service.ts';
import {
  acceptInvitation,
  findActiveMembers,
  findCompaniesWithoutRoles,
  findInvitation,
  findRoles,
  insertMember,
  insertRoles,
  type Invitation,
  listMembers,
  type MemberFilters,
  type MemberRow,
} from './queries.ts';
import { roleTemplates } from './roles.ts';
import type { Role, TeamMember, TeamMemberCreate } from './schemas.ts';

export type { Invitation };

export interface TeamDependencies {
  /** Where links in mails lead. */
  readonly baseUrl: string;
  /** Invitations are kept as keyed hashes. */
  readonly invitationKey: Buffer;
}

/** Those every company begins with. */
export async function createRoles(db: Queryable, companyId: string, nowMs: number): Promise<void> {
  await insertRoles(
    db,
    companyId,
    roleTemplates.map((template) => ({ ...template, id: newId(nowMs) })),
  );
}

/** For companies from before there were roles. */
export async function ensureRoles(db: Queryable, nowMs: number): Promise<void> {
  for (const companyId of await findCompaniesWithoutRoles(db)) await createRoles(db, companyId, nowMs);
}

export async function getRoles(
  { db, company }: RequestContext,
  expand: ReadonlySet<string>,
): Promise<{ data: Role[] }> {
  const rows = await findRoles(db, company.id);
  return {
    data: rows.map(({ permissions, ...role }) => (expand.has('permissions') ? { ...role, permissions } : role)),
  };
}

function toWire(row: MemberRow): TeamMember {
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

const dayMs = 86_400_000;
/** Says which company it is of, so that nothing has to be looked up across companies; the rest is random. */
const newToken = (companyId: string): string =>
  Buffer.concat([Buffer.from(companyId.replaceAll('-', ''), 'hex'), randomBytes(32)]).toString('base64url');

const companyBytes = 16;
function companyOf(token: string): string {
  const hex = Buffer.from(token, 'base64url')
    .toString('hex', 0, companyBytes)
    .padEnd(2 * companyBytes, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

const hashOf = ({ invitationKey }: TeamDependencies, token: string): Buffer => keyedHash(invitationKey, token);

/** The invitation, its mail and its event come about together. */
export async function inviteTeamMember(
  context: RequestContext,
  dependencies: TeamDependencies,
  input: TeamMemberCreate,
): Promise<TeamMember> {
  const { db, company, nowMs, requestId } = context;
  const token = newToken(company.id);
  const now = new Date(nowMs);
  return db.transaction(async (transaction) => {
    const role = (await findRoles(transaction, company.id)).find(({ id }) => id === input.role_id.toLowerCase());
    if (!role) throw notFound('role', 'role_id');
    const member = {
      id: newId(nowMs),
      email: input.email,
      email_key: emailKeyOf(input.email),
      first_name: input.first_name,
      last_name: input.last_name,
      phone_number: input.phone_number,
      role_id: role.id,
      invitation_hash: hashOf(dependencies, token),
      // Mails are read by people, in real time.
      invitation_expires_at: new Date(nowMs - company.clockOffsetMs + limits.invitationDays * dayMs),
      invited_at: now,
      updated_at: now,
    };
    await refusingDuplicates(insertMember(transaction, company.id, member));
    const shown = toWire({ ...member, role_name: role.name, status: 'pending', accepted_at: null });
    await writeMails(transaction, company.id, nowMs, [invitationMail(dependencies, context, shown, token)]);
    await insertEvents(transaction, [newEvent(company.id, nowMs, 'team_member.invited', shown, 1, requestId)]);
    return shown;
  });
}

async function refusingDuplicates(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (violatedConstraint(error) !== 'team_members_email') throw error;
    throw new ApiError('resource_already_exists', 'Somebody with this e-mail address is in the team already.', {
      param: 'email',
    });
  }
}

function invitationMail(
  { baseUrl }: TeamDependencies,
  { company }: RequestContext,
  member: TeamMember,
  token: string,
): NewMail {
  return {
    recipient: member.email,
    subject: `You are invited to ${company.name}`,
    body: [
      `Hello ${member.first_name},`,
      '',
      `you are invited to the team of ${company.name}, as ${member.role.name}. To accept, open this link within ${limits.invitationDays} days:`,
      '',
      `${baseUrl}/invitations/${token}`,
      '',
      'If you did not expect this, you can ignore it.',
      '',
    ].join('\n'),
  };
}

export async function readInvitation(
  db: Queryable,
  dependencies: TeamDependencies,
  token: string,
): Promise<Invitation | undefined> {
  return findInvitation(db, companyOf(token), hashOf(dependencies, token));
}

export async function accept(db: Queryable, dependencies: TeamDependencies, token: string): Promise<boolean> {
  return acceptInvitation(db, companyOf(token), hashOf(dependencies, token));
}

/** Tells everybody in the team of a company, in the transaction of what it tells. */
export async function mailTeam(
  transaction: Database,
  companyId: string,
  nowMs: number,
  mail: Omit<NewMail, 'recipient'>,
): Promise<void> {
  const members = await findActiveMembers(transaction, companyId);
  const mails = members.map(({ email: recipient }) => ({ ...mail, recipient }));
  if (mails.length > 0) await writeMails(transaction, companyId, nowMs, mails);
}
