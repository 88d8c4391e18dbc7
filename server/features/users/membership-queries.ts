import type { ControlQueryable } from '../../platform/database.ts';
import { shardOf } from '../../shards/queries.ts';

/** Leads from a user to a member of a company. Alone it gives no access: the member must be active. */
export interface Membership {
  readonly companyId: string;
  readonly memberId: string;
  readonly shard: string;
}

export async function findMemberships(
  db: ControlQueryable,
  userId: string,
  companyId: string | null,
): Promise<Membership[]> {
  const rows = await db.query<{ company_id: string; member_id: string; shard: string }>(
    `SELECT company_id, member_id, ${shardOf('memberships.company_id')} AS shard FROM memberships
     WHERE user_id = $1 AND ($2::uuid IS NULL OR company_id = $2)`,
    [userId, companyId],
  );
  return rows.map((row) => ({ companyId: row.company_id, memberId: row.member_id, shard: row.shard }));
}

export async function findUserOfMember(
  db: ControlQueryable,
  companyId: string,
  memberId: string,
): Promise<string | undefined> {
  const [row] = await db.query<{ user_id: string }>(
    'SELECT user_id FROM memberships WHERE company_id = $1 AND member_id = $2',
    [companyId, memberId],
  );
  return row?.user_id;
}

export async function insertMembership(
  db: ControlQueryable,
  userId: string,
  companyId: string,
  memberId: string,
): Promise<void> {
  await db.query(
    `INSERT INTO memberships (user_id, company_id, member_id) VALUES ($1, $2, $3)
     ON CONFLICT (user_id, company_id) DO UPDATE SET member_id = EXCLUDED.member_id, created_at = now()`,
    [userId, companyId, memberId],
  );
}

/** The users of all members of a company, by member. */
export async function findUsersOf(db: ControlQueryable, companyId: string): Promise<Map<string, string>> {
  const rows = await db.query<{ user_id: string; member_id: string }>(
    'SELECT user_id, member_id FROM memberships WHERE company_id = $1',
    [companyId],
  );
  return new Map(rows.map(({ user_id, member_id }) => [member_id, user_id]));
}

/** Returns which of these companies have a member. */
export async function findCompaniesWithMembers(
  db: ControlQueryable,
  companyIds: readonly string[],
): Promise<Set<string>> {
  const rows = await db.query<{ company_id: string }>(
    'SELECT DISTINCT company_id FROM memberships WHERE company_id = ANY($1)',
    [companyIds],
  );
  return new Set(rows.map(({ company_id }) => company_id));
}

export interface OldMembership extends Membership {
  readonly userId: string;
}

/** Returns memberships older than this, in pages; the next page begins after the last of this one. */
export async function findOldMemberships(
  db: ControlQueryable,
  after: { readonly userId: string; readonly companyId: string },
  count: number,
  before: Date,
): Promise<OldMembership[]> {
  const rows = await db.query<{ user_id: string; company_id: string; member_id: string; shard: string }>(
    `SELECT user_id, company_id, member_id, ${shardOf('memberships.company_id')} AS shard FROM memberships
     WHERE (user_id, company_id) > ($1, $2) AND created_at < $4 ORDER BY user_id, company_id LIMIT $3`,
    [after.userId, after.companyId, count, before],
  );
  return rows.map((row) => ({
    userId: row.user_id,
    companyId: row.company_id,
    memberId: row.member_id,
    shard: row.shard,
  }));
}

export async function deleteMemberships(db: ControlQueryable, memberships: readonly OldMembership[]): Promise<void> {
  await db.query(
    `DELETE FROM memberships m USING unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS old (user_id, company_id, member_id)
     WHERE m.user_id = old.user_id AND m.company_id = old.company_id AND m.member_id = old.member_id`,
    [
      memberships.map(({ userId }) => userId),
      memberships.map(({ companyId }) => companyId),
      memberships.map(({ memberId }) => memberId),
    ],
  );
}
