import { ApiError, notFound } from '../../errors.ts';
import type { Database } from '../../platform/database.ts';
import { lockProduct, type ProductRow } from './queries.ts';

/** Locks the product until the transaction ends. */
export async function lockChangeableProduct(db: Database, companyId: string, id: string): Promise<ProductRow> {
  const row = await lockProduct(db, companyId, id);
  if (!row) throw notFound('product');
  if (row.deleted_at)
    throw new ApiError('invalid_request', 'This product was deleted and cannot be changed.', { param: 'id' });
  return row;
}
