import { createdAtConditions, createdAtFilters, fetchPage, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Queryable } from '../../platform/database.ts';
import { type Sql, sql } from '../../platform/sql.ts';
import type { EventFacts } from './envelope.ts';

export interface EventRow {
  readonly company_id: string;
  readonly id: string;
  readonly type: string;
  readonly object_id: string;
  readonly sequence: number;
  readonly request_id: string | null;
  /** As the API shows it, in the latest version. */
  readonly object: object;
  readonly previous: object | null;
}

/** The columns of an event, for statements that insert it along with what it speaks of. */
export const eventColumns = 'company_id, id, type, object_id, sequence, request_id, object, previous';
export const eventRecord = `(company_id uuid, id uuid, type text, object_id uuid, sequence integer, request_id text,
  object json, previous json)`;

export async function insertEvents(db: Queryable, events: readonly EventRow[]): Promise<void> {
  await db.query(
    `INSERT INTO events (${eventColumns}) SELECT ${eventColumns} FROM json_to_recordset($1::json) AS e ${eventRecord}`,
    [JSON.stringify(events)],
  );
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
  const where: Sql[] = [...createdAtConditions(filters)];
  if (filters.type) where.push(sql`type = ANY(${filters.type}::text[])`);
  if (filters.object_id) where.push(sql`object_id = ${filters.object_id}::uuid`);
  return fetchPage(db, companyId, source, page, where);
}

/** Pieces of the growing tables for the coming weeks; those beyond the retention go. */
export async function maintainPartitions(db: Queryable, retentionDays: number): Promise<void> {
  for (const table of ['events', 'webhook_deliveries', 'webhook_delivery_logs']) {
    await db.query(`SELECT maintain_partitions($1, $2 * interval '1 day')`, [table, retentionDays]);
  }
}
