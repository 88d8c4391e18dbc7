import type { Company } from '../../company.ts';
import { type ControlDatabase, type ControlQueryable, isAway, type Queryable } from '../../platform/database.ts';
import { hourMs } from '../../platform/durations.ts';
import { type Shards, UnknownShardError } from '../../shards/shards.ts';
import { activeMembers, existingMembers } from '../team/service.ts';
import {
  deleteMemberships,
  findMemberships,
  findOldMemberships,
  findUserOfMember,
  findUsersOf,
  insertMembership,
  type Membership,
} from './membership-queries.ts';

export interface MembershipDependencies {
  readonly db: ControlQueryable;
  readonly shards: Pick<Shards, 'of'>;
}

export interface ActiveMembership {
  readonly company: Company;
  readonly timeZone: string;
  readonly memberId: string;
  readonly role: { readonly id: string; readonly name: string; readonly default_page: string };
  readonly permissions: readonly string[];
}

/**
 * Returns the companies in which the user is active: a blocked member has none. The companies on a shard that cannot be
 * reached are left out, unless there are no others.
 */
export async function activeMemberships(
  { db, shards }: MembershipDependencies,
  userId: string,
  companyId: string | null,
): Promise<ActiveMembership[]> {
  const byShard = Map.groupBy(await findMemberships(db, userId, companyId), ({ shard }) => shard);
  const found = await Promise.allSettled([...byShard].map(([shard, memberships]) => on(shards, shard, memberships)));
  const failed = found.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  const answered = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  if (failed && (answered.length === 0 || !isAwayShard(failed.reason))) throw failed.reason;
  const place = ({ company: { accountId, mode, id } }: ActiveMembership): string => `${accountId} ${mode} ${id}`;
  return answered.toSorted((one, other) => (place(one) < place(other) ? -1 : 1));
}

const isAwayShard = (error: unknown): boolean => isAway(error) || error instanceof UnknownShardError;

async function on(
  shards: Pick<Shards, 'of'>,
  shard: string,
  memberships: readonly Membership[],
): Promise<ActiveMembership[]> {
  const rows = await activeMembers({ name: shard, db: shards.of({ shard }).db }, memberships);
  return rows.map(({ company, time_zone: timeZone, member_id: memberId, role, permissions }) => ({
    company,
    timeZone,
    memberId,
    role,
    permissions,
  }));
}

/**
 * Returns the permissions that the user of a member has in another company on the same shard; none if the user is not
 * an active member there.
 */
export async function permissionsIn(
  control: ControlQueryable,
  db: Queryable,
  known: { readonly company: Company; readonly memberId: string },
  companyId: string,
): Promise<readonly string[]> {
  const userId = await findUserOfMember(control, known.company.id, known.memberId);
  const memberships = userId ? await findMemberships(control, userId, companyId) : [];
  const [member] = await activeMembers({ name: known.company.shard, db }, memberships);
  return member?.permissions ?? [];
}

/** Lets the users of members of one company into another, as these members of it. */
export async function joinMembers(
  control: ControlDatabase,
  fromId: string,
  toId: string,
  members: ReadonlyMap<string, string>,
): Promise<void> {
  const users = await findUsersOf(control, fromId);
  for (const [from, to] of members) {
    const userId = users.get(from);
    if (userId !== undefined) await insertMembership(control, userId, toId, to);
  }
}

const acceptedMs = hourMs;
const pageCount = 500;

/** Removes memberships whose member was removed, or never accepted the invitation. Returns how many. */
export async function reapMemberships({ control, of }: Pick<Shards, 'control' | 'of'>, nowMs: number): Promise<number> {
  let after = { userId: firstId, companyId: firstId };
  let removed = 0;
  for (;;) {
    const page = await findOldMemberships(control, after, pageCount, new Date(nowMs - acceptedMs));
    for (const [shard, memberships] of Map.groupBy(page, (membership) => membership.shard)) {
      const existing = await existingMembers(of({ shard }).db, memberships);
      const gone = memberships.filter(({ memberId }) => !existing.has(memberId));
      if (gone.length > 0) await deleteMemberships(control, gone);
      removed += gone.length;
    }
    after = page.at(-1) ?? after;
    if (page.length < pageCount) return removed;
  }
}

const firstId = '00000000-0000-0000-0000-000000000000';
