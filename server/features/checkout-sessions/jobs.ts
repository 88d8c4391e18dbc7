import type { Company } from '../../company.ts';
import { limits } from '../../limits.ts';
import type { DatabasePool } from '../../platform/database.ts';
import { newRequestId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import type { OpenShard, ShardDatabase } from '../../shards/shards.ts';
import { companyById } from '../companies/service.ts';
import { type RunDependencies, runPayment } from './pay.ts';
import { claimDuePayments } from './payment-queries.ts';
import { deleteOldSessions, findDueSessions } from './queries.ts';
import { expireDue } from './service.ts';

/** Between two attempts to continue a payment. */
const againSeconds = 15;

/** Continues payments whose process died or whose outcome was unknown. */
export async function continuePayments(
  shard: OpenShard,
  dependencies: RunDependencies,
  log: Logger,
  count: number,
): Promise<number> {
  const due = await claimDuePayments(shard.db, count, againSeconds);
  for (const payment of due) {
    const company = await companyById(shard, payment.company_id);
    if (!company) continue;
    const nowMs = shard.clock.nowMs() + company.clockOffsetMs;
    try {
      await runPayment(dependencies, { requestId: newRequestId(), company, nowMs, db: shard.db }, payment);
    } catch (error) {
      log.info({ err: error, session_id: payment.session_id }, 'the outcome of a checkout payment is not known yet');
    }
  }
  return due.length;
}

export async function expireSessions({ db, name }: ShardDatabase, count: number): Promise<number> {
  const due = await findDueSessions(db, count);
  const companies = new Map<string, Company | undefined>();
  for (const { company_id, id, now } of due) {
    if (!companies.has(company_id)) companies.set(company_id, await companyById({ db, name }, company_id));
    const company = companies.get(company_id);
    if (company) await expireDue({ db }, company, id, now);
  }
  return due.length;
}

export const forgetOldSessions = (db: DatabasePool, count: number): Promise<number> =>
  deleteOldSessions(db, count, limits.eventRetentionDays);
