import { hostname, userInfo } from 'node:os';
import { type NewAuditEntry, recordEntries } from '../server/features/audit/service.ts';
import { systemClock } from '../server/platform/clock.ts';
import type { Queryable } from '../server/platform/database.ts';
import { newRequestId } from '../server/platform/ids.ts';
import type { Company } from '../server/company.ts';

/** Writes commands of operators to the audit log, with the user and the machine. */

function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    // Accounts in containers can be without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

export type Told = Pick<NewAuditEntry, 'action' | 'objectId' | 'fields'> & { readonly requestId?: string };

/** Use the transaction of the change, so that there is no change without an entry. */
export async function tell(db: Queryable, company: Company, told: Told): Promise<void> {
  const entry: NewAuditEntry = {
    requestId: newRequestId(),
    ...told,
    companyId: company.id,
    atMs: systemClock.nowMs(),
    actor: { kind: 'operator', id: null, name: operatorName() },
    address: hostname(),
  };
  await recordEntries(db, [entry]);
}
