import type { Clock } from '../../platform/clock.ts';
import type { Database, DatabasePool } from '../../platform/database.ts';
import { firstIdOf } from '../../platform/ids.ts';
import { addCursors, indexOrders, lockDueIndex, moveIndexCursor } from './index-queries.ts';

/** How long a transaction may stay open: until then an order can appear before one that was read. */
const settledSeconds = 300;
const ordersAtOnce = 2_000;

/**
 * Job: writes which orders contain a product, use a coupon or bill a plan. Creating an order writes nothing for it. Searches read
 * the orders that are not in the index yet one by one. Returns whether there may be more to do.
 */
export async function indexOrderObjects(db: DatabasePool, clock: Clock): Promise<boolean> {
  await addCursors(db);
  return db.transaction((transaction) => indexNext(transaction, clock));
}

async function indexNext(db: Database, clock: Clock): Promise<boolean> {
  const due = await lockDueIndex(db, settledSeconds);
  if (!due) return false;
  // Every order so far is before this id, or belongs to a transaction that ends within the time above.
  const now = firstIdOf(clock.nowMs() + due.clock_offset_ms);
  if (!due.settled) {
    await moveIndexCursor(db, due.company_id, { afterId: due.after_id, untilId: now });
    return true;
  }
  const { last, read } = await indexOrders(db, due, ordersAtOnce);
  const isWhole = read < ordersAtOnce;
  await moveIndexCursor(db, due.company_id, {
    afterId: isWhole ? due.until_id : (last ?? due.after_id),
    ...(isWhole && { untilId: now }),
  });
  return true;
}
