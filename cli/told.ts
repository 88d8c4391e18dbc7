import { hostname, userInfo } from 'node:os';
import { type NewAuditEntry, recordEntries } from '../server/features/audit/service.ts';
import { systemClock } from '../server/platform/clock.ts';
import type { Queryable } from '../server/platform/database.ts';
import { newRequestId } from '../server/platform/ids.ts';
import type { Company } from '../server/company.ts';

/** The audit log of a company also tells what was done to it from a shell, and by whom on which machine. */

function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    // An account without a name, as containers have them.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

export type Told = Pick<NewAuditEntry, 'action' | 'objectId' | 'fields'> & { readonly requestId?: string };

/** In the transaction of what it tells. */
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
