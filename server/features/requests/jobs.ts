import { limits } from '../../limits.ts';
import type { Queryable } from '../../platform/database.ts';
import { maintainPartitions } from './queries.ts';

export async function maintainRequestPartitions(db: Queryable): Promise<void> {
  await maintainPartitions(db, limits.requestRetentionDays);
}
