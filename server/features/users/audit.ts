import type { Clock } from '../../platform/clock.ts';
import type { NewAuditEntry } from '../../http/audit.ts';
import type { Queryable } from '../../platform/database.ts';
import { recordEntries } from '../audit/service.ts';
import type { AuditedMember } from './dependencies.ts';
import { activeMemberships, type MembershipDependencies } from './memberships.ts';
import { findUser } from './queries.ts';

type Entry = Pick<NewAuditEntry, 'action' | 'address' | 'requestId'>;

/** Records what a member does, in the transaction that changes the company. */
export const auditMember = (
  transaction: Queryable,
  clock: Clock,
  { companyId, memberId, email }: AuditedMember,
  entry: Entry,
): Promise<void> =>
  recordEntries(transaction, [
    {
      ...entry,
      companyId,
      atMs: clock.nowMs(),
      actor: { kind: 'member', id: memberId, name: email },
      objectId: memberId,
      fields: [],
    },
  ]);

/** A change of a user account is audited in every company of which the user is a member. */
export async function auditUser(
  dependencies: MembershipDependencies & { readonly clock: Clock },
  userId: string,
  entry: Entry,
): Promise<void> {
  const { db, shards, clock } = dependencies;
  const user = await findUser(db, userId);
  const memberships = await activeMemberships(dependencies, userId, null);
  for (const { company, memberId } of memberships) {
    const member = { companyId: company.id, memberId, email: user?.email ?? '' };
    await auditMember(shards.of(company).db, clock, member, entry);
  }
}
