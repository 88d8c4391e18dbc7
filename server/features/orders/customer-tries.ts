import { ApiError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { Queryable } from '../../platform/database.ts';
import { addCustomerTry, subtractCustomerTry } from './customer-tries-queries.ts';

/** A customer tries to pay one declined charge only a few times, or the page would show thieves which cards work. */

/** Throws if the customer has tried too often. A try counts before its charge is sent, so that none is forgotten. */
export async function takeCustomerTry(db: Queryable, companyId: string, orderId: string): Promise<void> {
  if (await addCustomerTry(db, companyId, orderId, limits.customerTries)) return;
  throw new ApiError('too_many_requests', 'This payment was declined too often. Write to the shop instead.');
}

/** For a try that charged nothing. */
export const returnCustomerTry = (db: Queryable, companyId: string, orderId: string): Promise<void> =>
  subtractCustomerTry(db, companyId, orderId);
