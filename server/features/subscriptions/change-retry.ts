import { ApiError } from '../../errors.ts';
import type { Database } from '../../platform/database.ts';
import type { OrderRow } from '../orders/service.ts';
import { netPaymentOf } from './period-payment.ts';
import { isPendingFor, type PendingChange } from './plan-change.ts';
import { momentOf, unusedOf } from './proration.ts';
import { findSubscription, lockSubscriptions, updateWithPlans } from './queries.ts';
import type { SubscriptionRow } from './subscription.ts';

/** Retries of the charge for a change of plan. */

/**
 * Throws if the order no longer pays for a change. Otherwise the subscription waits for the outcome, as it did for the first
 * charge: no renewal begins meanwhile.
 */
export async function checkChangeRetry(transaction: Database, order: OrderRow, nowMs: number): Promise<void> {
  const { company_id, subscription_id } = order;
  const [held] = await lockSubscriptions(transaction, [{ company_id, id: subscription_id ?? '' }]);
  const row = held && (await findSubscription(transaction, company_id, held.id));
  const change = row?.pending_change;
  const why = row && change ? await whyNot(transaction, row, change, order.id, nowMs) : supersededBy(row);
  if (why || !row || !change) {
    const message = `This change of plan cannot be completed: ${why}. Change the plan again.`;
    throw new ApiError('invalid_state_transition', message, { param: 'id', status: 400 });
  }
  const waiting = { ...row, due_at: null, pending_change: { ...change, in_flight: true } };
  await updateWithPlans(transaction, [waiting]);
}

/** What has superseded the change. */
const supersededBy = (row: SubscriptionRow | undefined): string =>
  row?.status === 'active'
    ? 'the subscription has been renewed or changed since'
    : `the subscription is ${row?.status}`;

async function whyNot(
  transaction: Database,
  row: SubscriptionRow,
  change: PendingChange,
  orderId: string,
  nowMs: number,
): Promise<string | undefined> {
  if (!isPendingFor(row, orderId)) return supersededBy(row);
  const moment = momentOf(row, Date.parse(change.at));
  if (!moment || (row.current_period_end?.getTime() ?? 0) <= nowMs) return 'its period has ended';
  // What it credits was paid then, and may have been refunded or disputed since.
  const unused = unusedOf(await netPaymentOf(transaction, row), moment);
  return unused < change.credit ? 'what it credits was refunded or disputed since' : undefined;
}

/** Why a change that waits to be sent is not sent any more. */
export function whyChangeIsUnwanted(row: SubscriptionRow, order: OrderRow): string | undefined {
  return isPendingFor(row, order.id) ? undefined : 'The change of plan was superseded before the charge was sent.';
}
