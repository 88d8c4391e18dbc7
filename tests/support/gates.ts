import { compareClosed } from '../../server/features/reconciliation/jobs.ts';
import { reconcile } from '../../server/features/reconciliation/service.ts';
import { noteRestored } from '../../server/features/restores/service.ts';
import { createLog } from '../../server/platform/log.ts';
import type { Vault } from '../../server/vault/vault.ts';
import type { TestService } from './service.ts';

/** The gates that close after a restore from a backup. */

const log = createLog('silent', { write: () => undefined });

/** The database was restored: the gates of all live companies of the shard close. */
export async function restore({ db, clock }: TestService): Promise<void> {
  await noteRestored(db, clock.nowMs(), 'a test');
}

/** As if no request that was sent before the gates closed could still arrive. */
export async function afterFlight({ db }: TestService): Promise<void> {
  await db.query(
    `UPDATE open_transactions SET opened_at = opened_at - interval '5 minutes' WHERE company_id IN (
       SELECT company_id FROM company_gates WHERE opened_at IS NULL)`,
  );
  await db.query(
    `UPDATE company_gates SET closed_at = closed_at - interval '5 minutes', next_compare_at = now() WHERE opened_at IS NULL`,
  );
}

/** One run of the job that compares; returns how many companies it compared. */
export async function compareOnce(
  service: TestService,
  vault: Pick<Vault, 'operations'> = service.vault,
): Promise<number> {
  const { db, clock } = service;
  return compareClosed({ name: service.company.shard, db, vault, clock, log, others: [] });
}

/** Lets the job compare until it waits for a person or for a processor. */
export async function compareAll(service: TestService, vault?: Pick<Vault, 'operations'>): Promise<void> {
  while ((await compareOnce(service, vault)) > 0);
  await afterFlight(service);
  while ((await compareOnce(service, vault)) > 0);
}

/** `svc reconcile --finish` */
export async function finish(service: TestService): Promise<void> {
  const { db, vault, clock } = service;
  await reconcile({ name: service.company.shard, db, vault, clock }, { adopt: false, finish: true });
}

export async function gateOf({ db }: TestService, companyId: string): Promise<string> {
  const [row] = await db.query<{ gate: string | null; waits_for: string | null }>(
    `SELECT c.gate, CASE WHEN g.opened_at IS NULL THEN g.waits_for END AS waits_for
     FROM companies c LEFT JOIN company_gates g ON g.company_id = c.id WHERE c.id = $1`,
    [companyId],
  );
  return [row?.gate ?? 'open', ...(row?.waits_for ? [row.waits_for] : [])].join(': ');
}
