import type { Database } from '../../platform/database.ts';
import { closeRedemptions } from '../coupons/service.ts';
import type { SubscriptionRow } from './subscription.ts';

/**
 * The coupon of a subscription that has not begun is reserved for its first charge. If a change of plan ends it, it is given
 * back. Later it is used, and stays so.
 */
export async function releaseUnused(
  transaction: Database,
  before: SubscriptionRow,
  after: SubscriptionRow,
): Promise<void> {
  if (!before.coupon || after.coupon || before.current_cycle > 0) return;
  const { company_id, id } = before;
  await closeRedemptions(transaction, [{ company_id, id, redeemed: false }]);
}
