import { ApiError } from '../../errors.ts';
import type { Queryable } from '../../platform/database.ts';
import type { RequestContext } from '../../request-context.ts';
import { addLinkPayment, removeLinkPayment } from './payment-queries.ts';

/** The payments of a link are counted before they are made, so that its limit holds for payments at the same time. */

interface OfLink {
  readonly company_id: string;
  readonly payment_link_id: string | null;
}

export async function countPayment(
  db: Queryable,
  { nowMs }: Pick<RequestContext, 'nowMs'>,
  { company_id, payment_link_id }: OfLink,
): Promise<void> {
  if (payment_link_id === null || (await addLinkPayment(db, company_id, payment_link_id, new Date(nowMs)))) return;
  throw new ApiError('invalid_request', 'This payment link is no longer active. You were not charged.');
}

export async function releasePayment(db: Queryable, { company_id, payment_link_id }: OfLink): Promise<void> {
  if (payment_link_id !== null) await removeLinkPayment(db, company_id, payment_link_id);
}
