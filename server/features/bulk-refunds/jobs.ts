import { keyForWork, refusalOf } from '../../http/phases.ts';
import type { Clock } from '../../platform/clock.ts';
import type { DatabasePool } from '../../platform/database.ts';
import type { Logger } from '../../platform/log.ts';
import type { RequestContext } from '../../request-context.ts';
import type { Order } from '../orders/schemas.ts';
import type { Orders } from '../orders/service.ts';
import { type ActiveMember, activeMembers } from '../team/service.ts';
import { claimDueRefunds, type DueRefund, finishRefund } from './queries.ts';

interface Home {
  readonly name: string;
  readonly db: DatabasePool;
  readonly clock: Clock;
  readonly log: Logger;
  readonly orders: Pick<Orders, 'refund'>;
}

const lostPermission = 'The team member who confirmed the refund can no longer refund orders.';

/**
 * Job: executes bulk refunds, one order at a time, by the same path as a single refund. Its idempotency key is derived from the bulk
 * refund and the order, so a refund whose process died, or whose outcome is unknown, continues and is never sent twice.
 */
export async function executeBulkRefunds(home: Home, count: number): Promise<number> {
  const due = await claimDueRefunds(home.db, count);
  const asked = due.map(({ company_id, member_id }) => ({ companyId: company_id, memberId: member_id }));
  const members = due.length === 0 ? [] : await activeMembers(home, asked);
  for (const refund of due) {
    const member = members.find(
      ({ company, member_id }) => company.id === refund.company_id && member_id === refund.member_id,
    );
    try {
      await execute(home, refund, member);
    } catch (error) {
      home.log.info({ err: error, order_id: refund.order_id }, 'the outcome of a bulk refund is not known yet');
    }
  }
  return due.length;
}

async function execute(home: Home, refund: DueRefund, member: ActiveMember | undefined): Promise<void> {
  const { db, clock, orders } = home;
  if (!member?.permissions.includes('orders:write')) return finishRefund(db, refund, lostPermission);
  const { company } = member;
  const nowMs = clock.nowMs() + company.clockOffsetMs;
  const context: RequestContext = { requestId: refund.request_id, company, nowMs, db };
  // Keys of the API cannot contain a colon.
  const key = keyForWork(context, `bulk:${refund.bulk_id}:${refund.order_id}`, '/dashboard/bulk_refunds');
  const answer = await orders.refund(context, refund.order_id, { amount: refund.amount }, key);
  const refusal = refusalOf(answer)?.message ?? declinedReason(JSON.parse(answer.body) as Order, refund.amount);
  await finishRefund(db, refund, refusal);
}

/** Why the processor declined the newest refund of this amount; null if it did not. */
function declinedReason({ transactions }: Order, amount: number): string | null {
  const newest = transactions.findLast((one) => one.type === 'refund' && one.amount === amount);
  return newest?.status === 'failed' ? (newest.failure_reason ?? 'The processor declined the refund.') : null;
}
