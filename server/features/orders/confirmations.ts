import type { Queryable } from '../../platform/database.ts';
import type { RequestContext } from '../../request-context.ts';
import { findNotOwed, withdrawAddress } from './confirmation-queries.ts';
import { type OrderRow, untilItsEnd } from './order.ts';
import { findOrder } from './queries.ts';

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

export interface Confirmation {
  readonly url: string;
  /** When the address ends. */
  readonly until: string | null;
}

/**
 * Where the customer confirms an order that was charged in the customer's absence. Undefined if there is nothing to confirm, or the
 * merchant did not say that the customer is absent: then a shop may have led the customer there, or taken another card.
 */
export async function absentConfirmation(
  context: Pick<RequestContext, 'db' | 'company' | 'nowMs'>,
  orderId: string,
): Promise<Confirmation | undefined> {
  const state = await findOrder(context.db, context.company.id, orderId);
  if (!state?.order.off_session) return undefined;
  const [order] = await withCurrentAddress(context, [state.order]);
  if (!order || !isOffered(order) || !order.authentication_url) return undefined;
  return { url: order.authentication_url, until: order.authentication_until?.toISOString() ?? null };
}
