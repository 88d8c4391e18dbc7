import type { NewAuditEntry } from '../../http/audit.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database.ts';
import { recordEntries } from '../audit/service.ts';
import type { AuditedMember, UserAudit } from './dependencies.ts';
import { activeMemberships, type MembershipDependencies } from './memberships.ts';
import { findUser } from './queries.ts';

type Entry = Pick<NewAuditEntry, 'action' | 'address' | 'requestId'>;
type Dependencies = MembershipDependencies & { readonly clock: Clock };

/** The audit entry of one call, which is recorded once: by its handler, or after it. Without an action, there is none. */
export function auditOf(
  dependencies: Dependencies,
  action: string | undefined,
  { ip, id }: { readonly ip: string; readonly id: string },
): UserAudit & { afterwards(userId: string | undefined): Promise<void> } {
  const entry = action === undefined ? undefined : { action, address: ip, requestId: id };
  let isRecorded = false;
  const audit: UserAudit = {
    async before(userId) {
      if (entry) await auditUser(dependencies, userId, entry);
      isRecorded = true;
    },
    async within(transaction, member) {
      if (entry) await auditMember(transaction, dependencies.clock, member, entry);
      isRecorded = true;
    },
  };
  return {
    ...audit,
    async afterwards(userId) {
      if (userId !== undefined && !isRecorded) await audit.before(userId);
    },
  };
}

/** Records what a member does, in the transaction that changes the company. */
const auditMember = (
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
async function auditUser(dependencies: Dependencies, userId: string, entry: Entry): Promise<void> {
  const { db, shards, clock } = dependencies;
  const user = await findUser(db, userId);
  const memberships = await activeMemberships(dependencies, userId, null);
  for (const { company, memberId } of memberships) {
    const member = { companyId: company.id, memberId, email: user?.email ?? '' };
    await auditMember(shards.of(company).db, clock, member, entry);
  }
}
