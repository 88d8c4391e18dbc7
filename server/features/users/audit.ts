import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database.ts';
import type { NewAuditEntry } from '../../http/audit.ts';
import { recordEntries } from '../audit/service.ts';
import { findMemberships, findUser } from './queries.ts';

/** A change of a user account is audited in every company of which the user is a member. */
export async function auditUser(
  db: Queryable,
  clock: Clock,
  userId: string,
  entry: Pick<NewAuditEntry, 'action' | 'address' | 'requestId'>,
): Promise<void> {
  const user = await findUser(db, userId);
  const memberships = await findMemberships(db, userId, null);
  const entries = memberships.map(({ company, memberId }) => ({
    ...entry,
    companyId: company.id,
    atMs: clock.nowMs(),
    actor: { kind: 'member' as const, id: memberId, name: user?.email ?? '' },
    objectId: memberId,
    fields: [],
  }));
  await recordEntries(db, entries);
}
