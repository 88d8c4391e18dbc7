import { hostname, userInfo } from 'node:os';
import type { NewAuditEntry } from '../server/http/audit.ts';
import { recordEntries } from '../server/features/audit/service.ts';
import { systemClock } from '../server/platform/clock.ts';
import type { Queryable } from '../server/platform/database.ts';
import { newRequestId } from '../server/platform/ids.ts';
import type { Company } from '../server/company.ts';

/** Writes audit entries for what operators do from a shell: the user's name and the machine. */

function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    // Accounts in containers can be without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

export type OperatorAction = Pick<NewAuditEntry, 'action' | 'objectId' | 'fields'> & { readonly requestId?: string };

/** Call it in the transaction of the change. */
export async function auditOperator(db: Queryable, company: Company, action: OperatorAction): Promise<void> {
  const entry: NewAuditEntry = {
    requestId: newRequestId(),
    ...action,
    companyId: company.id,
    atMs: systemClock.nowMs(),
    actor: { kind: 'operator', id: null, name: operatorName() },
    address: hostname(),
  };
  await recordEntries(db, [entry]);
}
