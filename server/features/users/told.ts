import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database.ts';
import { type NewAuditEntry, recordEntries } from '../audit/service.ts';
import { findMemberships, findUser } from './queries.ts';

/** What a person does to the own account concerns every company the account opens. */
export async function tellCompaniesOf(
  db: Queryable,
  clock: Clock,
  userId: string,
  told: Pick<NewAuditEntry, 'action' | 'address' | 'requestId'>,
): Promise<void> {
  const user = await findUser(db, userId);
  const memberships = await findMemberships(db, userId, null);
  const entries = memberships.map(({ company, memberId }) => ({
    ...told,
    companyId: company.id,
    atMs: clock.nowMs(),
    actor: { kind: 'member' as const, id: memberId, name: user?.email ?? '' },
    objectId: memberId,
    fields: [],
  }));
  await recordEntries(db, entries);
}
