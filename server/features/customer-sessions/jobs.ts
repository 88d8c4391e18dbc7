import type { Clock } from '../../platform/clock.ts';
import type { DatabasePool } from '../../platform/database.ts';
import { dayMs } from '../../platform/durations.ts';
import { deleteExpiredCustomerSessions } from './queries.ts';

const keptDays = 7;

/** Job: deletes sessions that expired some days ago. */
export const forgetCustomerSessions = (db: DatabasePool, clock: Clock, count: number): Promise<number> =>
  deleteExpiredCustomerSessions(db, new Date(clock.nowMs() - keptDays * dayMs), count);
