import { dayMs, hourMs, secondMs } from '../../../platform/durations.ts';
import type { Notice, Polled, PollRequest } from '../notices.ts';
import type { Client } from './client.ts';
import { type BalanceTransaction, idOf, readBalanceTransaction } from './objects.ts';
import { listBalanceTransactions, referenceName } from './requests.ts';
import { cursorOf, readSlice, secondsOf, textOf } from './slices.ts';

/**
 * Stripe sends no event when the money of a charge becomes available, so the balance is asked for it. The cursor waits
 * at the oldest charge whose money is still pending.
 */

const slice = hourMs / secondMs;
const longest = dayMs / secondMs;
/** Money that is held back longer than this is not waited for. */
const waitMs = 35 * dayMs;

function settledNotice({ id, status, available_on, source }: BalanceTransaction): Notice | undefined {
  if (status !== 'available' || typeof source !== 'object' || !source) return undefined;
  const reference = source.metadata?.[referenceName];
  if (reference === undefined) return undefined;
  return {
    id: `${id}:available`,
    type: 'balance_transaction.available',
    atMs: available_on * secondMs,
    about: { kind: 'settled', charge: { reference, transactionId: idOf(source.payment_intent) } },
  };
}

export async function pollSettlements(client: Client, { after }: PollRequest): Promise<Polled> {
  const nowMs = client.clock.nowMs();
  const until = secondsOf(nowMs);
  const stored = cursorOf(after, { from: secondsOf(nowMs - dayMs), length: slice });
  const cursor = { ...stored, from: Math.max(stored.from, secondsOf(nowMs - waitMs)) };
  if (cursor.from >= until) return { notices: [], cursor: textOf(cursor), hasMore: false };
  const { slices, next } = await readSlice<[BalanceTransaction]>(client, cursor, { until, longest }, [
    [listBalanceTransactions, readBalanceTransaction],
  ]);
  const { items } = slices[0];
  const pending = items.find(({ status }) => status !== 'available');
  return {
    notices: items.map(settledNotice).filter((notice) => notice !== undefined),
    cursor: textOf(pending ? { from: pending.created, length: cursor.length } : next),
    hasMore: !pending && next.from < until,
  };
}
