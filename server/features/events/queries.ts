import { createdAtConditions, createdAtFilters, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import { anyOf, type Arm, everyRow, keyArm, searchPage } from '../../http/search-pages.ts';
import type { Queryable } from '../../platform/database.ts';
import { keepJsonText } from '../../platform/json-text.ts';
import { rowsOf } from '../../platform/rows.ts';
import { sql } from '../../platform/sql.ts';
import type { EventFacts } from './envelope.ts';
import { staysHere } from '../../shards/queries.ts';

export interface EventRow {
  readonly company_id: string;
  readonly id: string;
  readonly type: string;
  readonly object_id: string;
  readonly sequence: number;
  readonly request_id: string | null;
  /** The object as the API returns it, in the latest version. */
  readonly object: object;
  readonly previous: object | null;
  /** The W3C trace context of its cause; only while traces are on. */
  readonly trace?: string;
}

const eventRows = rowsOf({
  company_id: 'uuid',
  id: 'uuid',
  type: 'text',
  object_id: 'uuid',
  sequence: 'integer',
  request_id: 'text',
  trace: 'text',
  previous: 'json',
  object: 'json',
});

const eventColumns = 'company_id, id, type, object_id, sequence, request_id, trace, previous, object';

/**
 * Returns SQL that inserts events together with the change they describe. The values of `eventValues` are parameters
 * of the statement, starting with `$first`.
 */
export const insertingEvents = (first: number, where = 'true'): string => `
  INSERT INTO events (${eventColumns}) SELECT ${eventColumns} FROM ${eventRows.from(first)} AS e WHERE ${where}`;

/** How many parameters they are. */
export const eventCount = eventRows.count;

export function eventValues(events: readonly EventRow[]): string[] {
  for (const { object } of events) keepJsonText(object);
  return eventRows.values(events as readonly (EventRow & { readonly trace: string | undefined })[]);
}

export async function insertEvents(db: Queryable, events: readonly EventRow[]): Promise<void> {
  await db.query(insertingEvents(1), eventValues(events));
}

const columns = 'id, type, sequence, request_id, object, previous';

export async function findEvent(db: Queryable, companyId: string, id: string): Promise<EventFacts | undefined> {
  const [row] = await db.query<EventFacts>(`SELECT ${columns} FROM events WHERE company_id = $1 AND id = $2`, [
    companyId,
    id,
  ]);
  return row;
}

export async function latestEvents(db: Queryable, companyId: string, count: number): Promise<EventFacts[]> {
  return db.query<EventFacts>(`SELECT ${columns} FROM events WHERE company_id = $1 ORDER BY id DESC LIMIT $2`, [
    companyId,
    count,
  ]);
}

const source: ListSource = { table: 'events', objectType: 'event', columns, sorts: {} };

export interface EventFilters extends QueryValues<typeof createdAtFilters> {
  readonly type?: readonly string[];
  readonly object_id?: string;
}

export async function listEvents(
  db: Queryable,
  companyId: string,
  filters: EventFilters,
  page: PageRequest,
): Promise<Page<EventFacts>> {
  return searchPage(db, companyId, source, page, {
    arms: armsOf(filters),
    ranges: { id: createdAtConditions(filters) },
    checks: filters.object_id || isPlentiful(filters.type) ? anyOf('type', filters.type) : [],
  });
}

const isPlentiful = (types: readonly string[] = []): boolean =>
  types.some((type) => type === 'order.created' || type === 'order.succeeded');

/** Types other than these two have their own index. */
function armsOf({ type, object_id }: EventFilters): Arm[] {
  if (object_id) return [keyArm('object_id', 'uuid', [object_id])];
  if (!type || isPlentiful(type)) return [everyRow];
  return [{ ...keyArm('type', 'text', type), within: sql`type NOT IN ('order.created', 'order.succeeded')` }];
}

/** A point in the order of transactions: all transactions before it have ended. */
export interface FeedMark {
  readonly transaction: number;
  readonly atMs: number;
}

/** Limits how far the query reads; no transaction stays open this long. */
const transactionMinutesMax = 60;

/**
 * Returns the events of transactions since the mark, and the current mark. Rows contain the last 32 bits of their
 * transaction id.
 */
export async function readFeed(
  db: Queryable,
  companyId: string,
  since: FeedMark | undefined,
  afterId: string | null,
  count: number,
): Promise<{ mark: FeedMark; latestTransaction: number; events: EventFacts[] }> {
  const rows = await db.query<EventFacts & { ended: number; latest: number; at_ms: number; id: string | null }>(
    `WITH here AS MATERIALIZED (
       SELECT pg_snapshot_xmin(snapshot)::text::bigint AS ended, pg_snapshot_xmax(snapshot)::text::bigint AS latest,
         floor(extract(epoch FROM now()) * 1000)::bigint AS at_ms
       FROM pg_current_snapshot() AS snapshot
     )
     SELECT ended, latest, at_ms, e.* FROM here LEFT JOIN LATERAL (
       SELECT ${columns} FROM events
       WHERE company_id = $1 AND inserted_at >= to_timestamp($3::bigint / 1000.0) - $6 * interval '1 minute'
         AND ((latest - xmin::text::bigint) & 4294967295) <= latest - $2::bigint AND ($4::uuid IS NULL OR id > $4)
       ORDER BY id LIMIT $5
     ) e ON $2::bigint IS NOT NULL`,
    [companyId, since?.transaction ?? null, since?.atMs ?? null, afterId, count, transactionMinutesMax],
  );
  const [{ ended, latest, at_ms } = { ended: 0, latest: 0, at_ms: 0 }] = rows;
  const events = rows.filter(({ id }) => id !== null);
  return { mark: { transaction: ended, atMs: at_ms }, latestTransaction: latest, events };
}

/** Creates partitions of the growing tables for the coming weeks, and drops those beyond the retention. */
export async function maintainPartitions(db: Queryable, retentionDays: number): Promise<void> {
  for (const table of ['events', 'webhook_deliveries', 'webhook_delivery_logs']) {
    await db.query(`SELECT maintain_partitions($1, $2 * interval '1 day')`, [table, retentionDays]);
  }
  // A delivery that was resent late may outlive its event; then there is nothing left to send.
  await db.query(
    `UPDATE webhook_deliveries d SET status = 'failed', next_attempt_at = NULL, claimed_by = NULL
     WHERE d.status = 'pending' AND ${staysHere('d.company_id')} AND d.event_inserted_at < now() - $1 * interval '1 day' AND NOT EXISTS (
       SELECT 1 FROM events e
       WHERE e.company_id = d.company_id AND e.id = d.event_id AND e.inserted_at = d.event_inserted_at)`,
    [retentionDays],
  );
}
