import type { WorkLeft } from '../../platform/alarm.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, DatabasePool } from '../../platform/database.ts';
import { firstIdOf } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { findDueIndexes, indexOrders, lockDueIndex, moveIndexCursor, postponeIndex } from './index-queries.ts';

/** How long a transaction may stay open: until then an order can appear before one that was read. */
const openSeconds = 300;
const ordersAtOnce = 2_000;
const companiesAtOnce = 500;

/**
 * Job: writes which orders contain a product, use a coupon or bill a plan. Creating an order writes nothing for it. Searches read
 * the orders that are not in the index yet one by one. A company that fails waits, and the others go on.
 */
export async function indexOrderObjects(db: DatabasePool, clock: Clock, log: Logger): Promise<WorkLeft> {
  const { companyIds, read } = await findDueIndexes(db, openSeconds, companiesAtOnce);
  for (const companyId of companyIds) {
    try {
      await db.transaction((transaction) => indexNext(transaction, companyId, clock));
    } catch (error) {
      log.error(
        { err: error, company_id: companyId },
        'the orders of a company could not be indexed; they will be retried',
      );
      await postponeIndex(db, companyId);
    }
  }
  return companyIds.length > 0 || read === companiesAtOnce ? 'more' : 'idle';
}

async function indexNext(db: Database, companyId: string, clock: Clock): Promise<void> {
  const due = await lockDueIndex(db, companyId, openSeconds);
  if (!due) return;
  // Every order so far is before this id, or belongs to a transaction that ends within the time above.
  const now = firstIdOf(clock.nowMs() + due.clock_offset_ms);
  if (!due.is_complete) {
    await moveIndexCursor(db, due.company_id, { afterId: due.after_id, untilId: now });
    return;
  }
  const { last, read } = await indexOrders(db, due, ordersAtOnce);
  const isWhole = read < ordersAtOnce;
  await moveIndexCursor(db, due.company_id, {
    afterId: isWhole ? due.until_id : (last ?? due.after_id),
    ...(isWhole && { untilId: now }),
  });
}
