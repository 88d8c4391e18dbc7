import type { Queryable } from '../../platform/database.ts';
import { limits } from '../../limits.ts';
import { maintainPartitions as maintain } from './queries.ts';

export async function maintainPartitions(db: Queryable): Promise<void> {
  await maintain(db, limits.eventRetentionDays);
}
