import { ApiError } from '../../errors.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import type { RequestContext } from '../../request-context.ts';
import { isStillFailed } from '../orders/service.ts';
import { addLinkPayment, removeLinkPayment } from './payment-queries.ts';

/** The payments of a link are counted before they are made, so that its limit holds for payments at the same time. */

interface OfLink {
  readonly company_id: string;
  readonly payment_link_id: string | null;
}

export async function countPayment(
  db: Database,
  { nowMs }: Pick<RequestContext, 'nowMs'>,
  { company_id, payment_link_id }: OfLink,
  total: number,
): Promise<void> {
  if (payment_link_id === null) return;
  const counted = await addLinkPayment(db, company_id, payment_link_id, new Date(nowMs));
  if (counted && (counted.failed_order === null || (await isOwed(db, company_id, counted, total)))) return;
  throw new ApiError('invalid_request', 'This payment link is no longer active. You were not charged.');
}

/** The link of a failed order takes one payment of exactly its total, and none once the order itself was paid. */
async function isOwed(
  db: Database,
  companyId: string,
  { payments, failed_order }: NonNullable<Awaited<ReturnType<typeof addLinkPayment>>>,
  total: number,
): Promise<boolean> {
  if (failed_order === null || payments > 1 || failed_order.total !== total) return false;
  return isStillFailed(db, companyId, failed_order.id);
}

export async function releasePayment(db: Queryable, { company_id, payment_link_id }: OfLink): Promise<void> {
  if (payment_link_id !== null) await removeLinkPayment(db, company_id, payment_link_id);
}
