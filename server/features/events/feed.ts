import { invalidField } from '../../errors.ts';
import { isUuid } from '../../platform/ids.ts';
import { envelopeOf } from './envelope.ts';
import { latestVersion } from '../../http/versions/versions.ts';
import { type FeedMark, readFeed } from './queries.ts';
import type { EventFeed } from './schemas.ts';
import { firstShard } from '../../shards/shards.ts';
import type { RequestContext } from '../../request-context.ts';

/**
 * A feed for followers that must not miss an event. An id is created before its transaction commits, so an event may
 * appear after one with a greater id, and a cursor over ids would skip it. This cursor is a mark in the order of
 * transactions: every transaction below the mark had ended when the mark was set, so later events are above it.
 * Events above the mark may repeat in the next call while an earlier transaction is still open.
 */
interface Position {
  readonly mark: FeedMark;
  /** Transactions are counted by each server on its own. */
  readonly shard: string;
  /** Between two pages: the last event returned, and the mark to continue from after the last page. */
  readonly within?: { readonly next: FeedMark; readonly afterId: string } | undefined;
}

// The second number is a time in milliseconds: with 13 digits it is a date that PostgreSQL accepts.
// A cursor without a shard is from the first one.
export const cursorForm =
  /^([0-9]{1,16})-([0-9]{1,13})(?:\.([0-9]{1,16})-([0-9]{1,13})\.([0-9a-f-]{36}))?(?:@([a-z][a-z0-9-]{0,30}))?$/;

function readCursor(text: string): Position {
  const parts = cursorForm.exec(text);
  const [, transaction, atMs, nextTransaction, nextAtMs, afterId, shard = firstShard] = parts ?? [];
  if (!parts || (afterId !== undefined && !isUuid(afterId)))
    throw invalidField('cursor', 'is not a valid cursor. Use the cursor of the last response');
  const mark = { transaction: Number(transaction), atMs: Number(atMs) };
  if (!afterId) return { mark, shard };
  return { mark, shard, within: { next: { transaction: Number(nextTransaction), atMs: Number(nextAtMs) }, afterId } };
}

/** A company that has moved has the transactions of its new shard: all events since the time of the mark are read. */
function onShard(position: Position, shard: string): Position {
  if (position.shard === shard) return position;
  return { mark: { ...position.mark, transaction: 0 }, shard };
}

function writeCursor({ mark, shard, within }: Position): string {
  const text = ({ transaction, atMs }: FeedMark): string => `${transaction}-${atMs}`;
  const place = within ? `${text(mark)}.${text(within.next)}.${within.afterId}` : text(mark);
  return shard === firstShard ? place : `${place}@${shard}`;
}

export async function getFeed(context: RequestContext, cursor: string | undefined, limit: number): Promise<EventFeed> {
  const { db, company } = context;
  const { shard } = company;
  const position = cursor === undefined ? undefined : onShard(readCursor(cursor), shard);
  const found = await readFeed(db, company.id, position?.mark, position?.within?.afterId ?? null, limit + 1);
  if (!position) return { data: [], cursor: writeCursor({ mark: found.mark, shard }), has_more: false };
  if (position.mark.transaction > found.latestTransaction) {
    throw invalidField('cursor', 'belongs to another database. Start again without a cursor');
  }
  const events = found.events.slice(0, limit);
  const next = position.within?.next ?? found.mark;
  const last = events.at(-1);
  const hasMore = found.events.length > limit && last !== undefined;
  const after = hasMore ? { mark: position.mark, shard, within: { next, afterId: last.id } } : { mark: next, shard };
  return {
    data: events.map((event) => envelopeOf(event, company.mode === 'live', latestVersion)),
    cursor: writeCursor(after),
    has_more: hasMore,
  };
}
