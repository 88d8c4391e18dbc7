import type { Queryable } from '../../platform/database.ts';
import type { RequestContext } from '../../request-context.ts';
import { findNotOwed, withdrawAddress } from './confirmation-queries.ts';
import { type OrderRow, untilItsEnd } from './order.ts';

const isOffered = ({ status, authentication_url }: OrderRow): boolean =>
  status === 'failed' && (authentication_url ?? null) !== null;

/**
 * The orders without addresses that confirm nothing any more: their time is over, or the payment is not owed. Only orders that
 * have an address cost a query.
 */
export async function withCurrentAddress<Row extends OrderRow>(
  { db, company, nowMs }: Pick<RequestContext, 'db' | 'company' | 'nowMs'>,
  orders: readonly Row[],
): Promise<Row[]> {
  const current = orders.map((order) => untilItsEnd(order, nowMs));
  const offered = current.filter(isOffered).map(({ id }) => id);
  if (offered.length === 0) return current;
  const notOwed = new Set(await findNotOwed(db, company.id, offered, new Date(nowMs)));
  return current.map((order) => (notOwed.has(order.id) ? { ...order, authentication_url: null } : order));
}

/** The payment is tried again in another way, so the page of this order has nothing to confirm. */
export const withdrawConfirmation = (db: Queryable, companyId: string, orderId: string): Promise<void> =>
  withdrawAddress(db, companyId, orderId);
