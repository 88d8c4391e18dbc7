import { createdAtConditions, createdAtFilters, fetchPage, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Queryable } from '../../platform/database.ts';
import { type Sql, sql } from '../../platform/sql.ts';
import { type Company, type CompanyRow, toCompany } from '../../company.ts';
import type { RoleTemplate } from './roles.ts';

export interface RoleRow {
  id: string;
  name: string;
  description: string;
  default_page: string;
  permissions: string[];
  custom: boolean;
}

export async function insertRoles(
  db: Queryable,
  companyId: string,
  roles: readonly (RoleTemplate & { readonly id: string })[],
): Promise<void> {
  await db.query(
    `INSERT INTO roles (company_id, id, name, description, default_page, permissions)
     SELECT $1, id, name, description, page, permissions FROM json_to_recordset($2::json)
       AS r (id uuid, name text, description text, page text, permissions text[]) ON CONFLICT DO NOTHING`,
    [
      companyId,
      JSON.stringify(
        roles.map(({ defaultPage, permissions, ...role }) => ({
          ...role,
          page: defaultPage,
          permissions: `{${permissions.join()}}`,
        })),
      ),
    ],
  );
}

const roleColumns = 'id, name, description, default_page, permissions, custom';

/** Sorted alphabetically, with any collation of the database. */
export async function findRoles(db: Queryable, companyId: string): Promise<RoleRow[]> {
  return db.query<RoleRow>(
    `SELECT ${roleColumns} FROM roles WHERE company_id = $1
     ORDER BY lower(name) COLLATE "C", id`,
    [companyId],
  );
}

export async function lockRole(db: Queryable, companyId: string, id: string): Promise<RoleRow | undefined> {
  const [row] = await db.query<RoleRow>(
    `SELECT ${roleColumns} FROM roles WHERE company_id = $1 AND id = $2 FOR UPDATE`,
    [companyId, id],
  );
  return row;
}

/** Creates or updates a role. */
export async function saveCustomRole(db: Queryable, companyId: string, role: RoleRow): Promise<void> {
  await db.query(
    `INSERT INTO roles (company_id, id, name, description, default_page, permissions, custom)
     VALUES ($1, $2, $3, $4, $5, $6, true)
     ON CONFLICT (company_id, id) DO UPDATE SET name = EXCLUDED.name, description = EXCLUDED.description,
       default_page = EXCLUDED.default_page, permissions = EXCLUDED.permissions`,
    [companyId, role.id, role.name, role.description, role.default_page, role.permissions],
  );
}

export async function deleteRole(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query('DELETE FROM roles WHERE company_id = $1 AND id = $2', [companyId, id]);
}

/** Finds companies from before roles existed. */
export async function findCompaniesWithoutRoles(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `SELECT id FROM companies c WHERE NOT EXISTS (SELECT 1 FROM roles r WHERE r.company_id = c.id)`,
  );
  return rows.map(({ id }) => id);
}

export interface MemberRow {
  id: string;
  email: string;
  first_name: string;
  last_name: string;
  phone_number: string | null;
  status: 'pending' | 'active' | 'blocked';
  role_id: string;
  role_name: string;
  invited_at: Date;
  accepted_at: Date | null;
  updated_at: Date;
}

export interface NewMember extends Omit<MemberRow, 'role_name' | 'status' | 'accepted_at'> {
  readonly invited_phone: string | null;
  readonly email_key: string;
  readonly invitation_hash: Buffer;
  readonly invitation_expires_at: Date;
}

export async function insertMember(db: Queryable, companyId: string, member: NewMember): Promise<void> {
  await db.query(
    `INSERT INTO team_members (company_id, id, email, email_key, first_name, last_name, phone_number, status, role_id,
       invitation_hash, invitation_expires_at, invited_at, updated_at, invited_phone)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10, $11, $12, $13)`,
    [
      companyId,
      member.id,
      member.email,
      member.email_key,
      member.first_name,
      member.last_name,
      member.phone_number,
      member.role_id,
      member.invitation_hash,
      member.invitation_expires_at,
      member.invited_at,
      member.updated_at,
      member.invited_phone,
    ],
  );
}

const columns = `id, email, first_name, last_name, phone_number, status, role_id, invited_at, accepted_at, updated_at,
  (SELECT r.name FROM roles r WHERE r.company_id = team_members.company_id AND r.id = team_members.role_id) AS role_name`;

const source: ListSource = { table: 'team_members', objectType: 'team_member', columns, sorts: {} };

export interface MemberFilters extends QueryValues<typeof createdAtFilters> {
  readonly status?: readonly string[];
}

export async function listMembers(
  db: Queryable,
  companyId: string,
  filters: MemberFilters,
  page: PageRequest,
): Promise<Page<MemberRow>> {
  const where: Sql[] = [...createdAtConditions(filters)];
  if (filters.status) where.push(sql`status = ANY(${filters.status}::text[])`);
  return fetchPage(db, companyId, source, page, where);
}

export async function findMember(db: Queryable, companyId: string, id: string): Promise<MemberRow | undefined> {
  const [row] = await db.query<MemberRow>(`SELECT ${columns} FROM team_members WHERE company_id = $1 AND id = $2`, [
    companyId,
    id,
  ]);
  return row;
}

export async function lockMember(db: Queryable, companyId: string, id: string): Promise<MemberRow | undefined> {
  const [row] = await db.query<MemberRow>(
    `SELECT ${columns} FROM team_members WHERE company_id = $1 AND id = $2 FOR UPDATE`,
    [companyId, id],
  );
  return row;
}

/** Locks the owners, so that two of them cannot be removed at the same time. */
export async function lockOwners(db: Queryable, companyId: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `SELECT m.id FROM team_members m JOIN roles r ON r.company_id = m.company_id AND r.id = m.role_id
     WHERE m.company_id = $1 AND m.status = 'active' AND r.name = 'Owner' AND NOT r.custom
     ORDER BY m.id FOR UPDATE OF m`,
    [companyId],
  );
  return rows.map(({ id }) => id);
}

export async function updateMember(
  db: Queryable,
  companyId: string,
  id: string,
  change: { readonly role_id?: string; readonly status?: MemberRow['status'] },
  at: Date,
): Promise<void> {
  await db.query(
    `UPDATE team_members SET role_id = COALESCE($3, role_id), status = COALESCE($4, status), updated_at = $5
     WHERE company_id = $1 AND id = $2`,
    [companyId, id, change.role_id ?? null, change.status ?? null, at],
  );
}

export async function extendInvitation(
  db: Queryable,
  companyId: string,
  id: string,
  hash: Buffer,
  expiresAt: Date,
  at: Date,
): Promise<void> {
  await db.query(
    `UPDATE team_members SET invitation_hash = $3, invitation_expires_at = $4, invited_at = $5, updated_at = $5
     WHERE company_id = $1 AND id = $2`,
    [companyId, id, hash, expiresAt, at],
  );
}

export async function deleteMember(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query('DELETE FROM team_members WHERE company_id = $1 AND id = $2', [companyId, id]);
}

/** Returns the members who receive mails about problems of the company. */
export async function findActiveMembers(db: Queryable, companyId: string): Promise<{ email: string }[]> {
  return db.query<{ email: string }>(
    `SELECT email FROM team_members WHERE company_id = $1 AND status = 'active' ORDER BY id LIMIT 100`,
    [companyId],
  );
}

export type Colleague = Pick<MemberRow, 'id' | 'email' | 'first_name' | 'last_name' | 'phone_number' | 'role_name'> & {
  readonly email_key: string;
};

/** All active members with their roles. */
export async function findColleagues(db: Queryable, companyId: string): Promise<Colleague[]> {
  return db.query<Colleague>(
    `SELECT m.id, m.email, m.email_key, m.first_name, m.last_name, m.phone_number, r.name AS role_name
     FROM team_members m JOIN roles r ON r.company_id = m.company_id AND r.id = m.role_id
     WHERE m.company_id = $1 AND m.status = 'active' ORDER BY m.id`,
    [companyId],
  );
}

export async function hasActiveMember(db: Queryable, companyId: string, emailKey: string): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM team_members WHERE company_id = $1 AND email_key = $2 AND status = 'active'`,
    [companyId, emailKey],
  );
  return rows.length > 0;
}

export interface ActiveMember {
  readonly company: Company;
  /** Of the company. */
  readonly time_zone: string;
  readonly member_id: string;
  readonly role: { readonly id: string; readonly name: string; readonly default_page: string };
  readonly permissions: readonly string[];
}

/** Returns those of the members who are active: a blocked member has no access. */
export async function findMembers(
  { name, db }: { readonly name: string; readonly db: Queryable },
  members: readonly { readonly companyId: string; readonly memberId: string }[],
): Promise<ActiveMember[]> {
  const rows = await db.query<Omit<ActiveMember, 'company'> & { company: CompanyRow }>(
    `SELECT to_jsonb(c) AS company, c.time_zone, m.id AS member_id, r.permissions,
       json_build_object('id', r.id, 'name', r.name, 'default_page', r.default_page) AS role
     FROM unnest($1::uuid[], $2::uuid[]) AS s (company_id, member_id)
     JOIN team_members m ON m.company_id = s.company_id AND m.id = s.member_id AND m.status = 'active'
     JOIN roles r ON r.company_id = m.company_id AND r.id = m.role_id
     JOIN companies c ON c.id = s.company_id`,
    [members.map(({ companyId }) => companyId), members.map(({ memberId }) => memberId)],
  );
  return rows.map((row) => ({ ...row, company: toCompany(row.company, name) }));
}

/** Returns the ids of those of the members who exist. */
export async function findExistingMembers(
  db: Queryable,
  members: readonly { readonly companyId: string; readonly memberId: string }[],
): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(
    `SELECT m.id FROM unnest($1::uuid[], $2::uuid[]) AS s (company_id, member_id)
     JOIN team_members m ON m.company_id = s.company_id AND m.id = s.member_id`,
    [members.map(({ companyId }) => companyId), members.map(({ memberId }) => memberId)],
  );
  return new Set(rows.map(({ id }) => id));
}

export interface Invitation {
  readonly member_id: string;
  readonly company_name: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly email_key: string;
  readonly email: string;
  /** The phone number of the user, in any country. */
  readonly phone_number: string | null;
  readonly role_name: string;
  readonly status: MemberRow['status'];
  readonly expired: boolean;
}

const invitation = `m.id AS member_id, c.name AS company_name, m.first_name, m.last_name, m.email, m.email_key, m.invited_phone AS phone_number, m.status, m.invitation_expires_at <= now() AS expired,
  (SELECT r.name FROM roles r WHERE r.company_id = m.company_id AND r.id = m.role_id) AS role_name`;

export async function findInvitation(
  db: Queryable,
  companyId: string,
  hashes: readonly Buffer[],
): Promise<Invitation | undefined> {
  const [row] = await db.query<Invitation>(
    `SELECT ${invitation} FROM team_members m JOIN companies c ON c.id = m.company_id 
     WHERE m.company_id = $1 AND m.invitation_hash = ANY($2)`,
    [companyId, hashes],
  );
  return row;
}

/** Returns the member for the first caller who accepts the invitation in time. */
export type PersonName = Pick<MemberRow, 'first_name' | 'last_name'>;

export async function acceptInvitation(
  db: Queryable,
  companyId: string,
  hashes: readonly Buffer[],
  { first_name, last_name }: PersonName,
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(
    `UPDATE team_members m SET status = 'active', accepted_at = now() + c.clock_offset_ms * interval '1 ms',
       updated_at = now() + c.clock_offset_ms * interval '1 ms',
       first_name = COALESCE(NULLIF(m.first_name, ''), $3), last_name = COALESCE(NULLIF(m.last_name, ''), $4)
     FROM companies c
     WHERE m.company_id = $1 AND m.invitation_hash = ANY($2) AND c.id = m.company_id AND m.status = 'pending'
       AND m.invitation_expires_at > now()
     RETURNING m.id`,
    [companyId, hashes, first_name, last_name],
  );
  return row?.id;
}

/** Inserts an active member, who may exist already; does nothing if there is no such role. */
export async function insertActive(
  db: Queryable,
  companyId: string,
  member: Pick<NewMember, 'id' | 'email' | 'email_key' | 'first_name' | 'last_name' | 'phone_number'> & { at: Date },
  role: string,
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(
    `INSERT INTO team_members (company_id, id, email, email_key, first_name, last_name, phone_number, status, role_id,
       invited_at, accepted_at, updated_at)
     SELECT company_id, $2, $3, $4, $5, $6, $7, 'active', id, $8, $8, $8 FROM roles WHERE company_id = $1 AND name = $9
     ON CONFLICT (company_id, email_key) DO UPDATE SET status = 'active', role_id = EXCLUDED.role_id,
       accepted_at = COALESCE(team_members.accepted_at, EXCLUDED.accepted_at), updated_at = EXCLUDED.updated_at
     RETURNING id`,
    [
      companyId,
      member.id,
      member.email,
      member.email_key,
      member.first_name,
      member.last_name,
      member.phone_number,
      member.at,
      role,
    ],
  );
  return row?.id;
}
