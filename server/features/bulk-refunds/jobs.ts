import { ApiError } from '../../errors.ts';
import { keyForWork, refusalOf } from '../../http/phases.ts';
import type { WorkLeft } from '../../platform/alarm.ts';
import type { Logger } from '../../platform/log.ts';
import type { RequestContext } from '../../request-context.ts';
import type { OpenShard } from '../../shards/shards.ts';
import type { Orders } from '../orders/service.ts';
import { type ActiveMember, activeMembers } from '../team/service.ts';
import { claimDueRefunds, type DueRefund, recordRefusal, recordSent, returnRefund } from './queries.ts';

export type RefundingOrders = Pick<Orders, 'refund' | 'keyedRefund' | 'stopRefund'>;

interface RefundingShard extends OpenShard {
  readonly log: Logger;
  readonly orders: RefundingOrders;
}

const lostPermission = 'The team member who confirmed the refund can no longer refund orders.';

/**
 * Job: executes bulk refunds, a few orders of each company at a time, by the same path as a single refund. Its idempotency key is derived from the bulk
 * refund and the order, so a refund whose process died, or whose outcome is unknown, continues and is never sent twice.
 */
export async function executeBulkRefunds(shard: RefundingShard, count: number): Promise<WorkLeft> {
  const due = await claimDueRefunds(shard.db, count);
  const asked = due.map(({ company_id, member_id }) => ({ companyId: company_id, memberId: member_id }));
  const members = due.length === 0 ? [] : await activeMembers(shard, asked);
  const executeOne = async (refund: DueRefund): Promise<void> => {
    const member = members.find(
      ({ company, member_id }) => company.id === refund.company_id && member_id === refund.member_id,
    );
    try {
      await execute(shard, refund, member);
    } catch (error) {
      shard.log.info({ err: error, order_id: refund.order_id }, 'the outcome of a bulk refund is not known yet');
    }
    await returnRefund(shard.db, refund);
  };
  await Promise.all(due.map(executeOne));
  return due.length > 0 ? 'more' : 'idle';
}

async function execute(shard: RefundingShard, refund: DueRefund, member: ActiveMember | undefined): Promise<void> {
  const { db, clock, orders } = shard;
  const { company_id, order_id, request_id: requestId, clock_offset_ms } = refund;
  const nowMs = clock.nowMs() + clock_offset_ms;
  // Keys of the API cannot contain a colon.
  const name = `bulk:${refund.bulk_id}:${order_id}`;
  const key = keyForWork({ company: { id: company_id }, nowMs, requestId }, name, '/dashboard/bulk_refunds');
  const recorded = await orders.keyedRefund(company_id, order_id, name);
  // What was sent is recorded with its outcome, even if the member or the key was removed since.
  if (recorded) return recorded.isKnown ? recordSent(db, refund, recorded.id) : undefined;
  if (!member?.permissions.includes('orders:write')) {
    const refusal = new ApiError('invalid_state_transition', lostPermission);
    if (await orders.stopRefund(order_id, key, refusal)) await recordRefusal(db, refund, refusal.message);
    return;
  }
  const context: RequestContext = { requestId, company: member.company, nowMs, db };
  const refusal = refusalOf(await orders.refund(context, order_id, { amount: refund.amount }, key));
  if (refusal) return recordRefusal(db, refund, refusal.message);
  const made = await orders.keyedRefund(company_id, order_id, name);
  if (made?.isKnown) await recordSent(db, refund, made.id);
}
