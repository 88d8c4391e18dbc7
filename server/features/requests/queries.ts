import { createdAtConditions, createdAtFilters, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import { everyRow, keyArm, searchPage } from '../../http/search-pages.ts';
import type { Queryable } from '../../platform/database.ts';
import { rowsOf } from '../../platform/rows.ts';
import { type Sql, sql } from '../../platform/sql.ts';

export interface RequestSummaryRow {
  readonly id: string;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly actor_kind: 'key' | 'member';
  readonly actor_id: string;
  readonly actor_name: string;
  readonly address: string;
}

export interface RequestDetailRow extends RequestSummaryRow {
  readonly query: string | null;
  readonly api_version: string | null;
  readonly idempotency_key: string | null;
  readonly request_body: string | null;
  readonly response_body: string | null;
}

export interface RequestRow extends RequestDetailRow {
  readonly company_id: string;
}

const summaryColumns = 'id, request_id, method, path, status, duration_ms, actor_kind, actor_id, actor_name, address';
const detailColumns = `${summaryColumns}, query, api_version, idempotency_key, request_body, response_body`;

const requestRows = rowsOf({
  company_id: 'uuid',
  id: 'uuid',
  request_id: 'text',
  method: 'text',
  path: 'text',
  query: 'text',
  status: 'integer',
  duration_ms: 'integer',
  actor_kind: 'text',
  actor_id: 'uuid',
  actor_name: 'text',
  address: 'text',
  api_version: 'text',
  idempotency_key: 'text',
  request_body: 'long text',
  response_body: 'long text',
});

/** Commits without waiting for the disk: a crash may lose the last rows. */
export async function insertRequests(db: Queryable, rows: readonly RequestRow[]): Promise<void> {
  await db.query(
    `WITH at_leisure AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
     INSERT INTO requests (company_id, ${detailColumns})
     SELECT company_id, ${detailColumns} FROM at_leisure, ${requestRows.from(1)} AS r`,
    requestRows.values(rows),
  );
}

export async function findRequest(
  db: Queryable,
  companyId: string,
  requestId: string,
): Promise<RequestDetailRow | undefined> {
  const [row] = await db.query<RequestDetailRow>(
    `SELECT ${detailColumns} FROM requests WHERE company_id = $1 AND request_id = $2`,
    [companyId, requestId],
  );
  return row;
}

export interface RequestFilters extends QueryValues<typeof createdAtFilters> {
  readonly request_id?: string;
  readonly method?: string;
  /** Range of status codes, both ends included. */
  readonly status?: readonly [number, number];
  readonly path?: string;
  readonly actor_id?: string;
}

const source: ListSource = { table: 'requests', objectType: 'request', columns: summaryColumns, sorts: {} };

export async function listRequests(
  db: Queryable,
  companyId: string,
  filters: RequestFilters,
  page: PageRequest,
): Promise<Page<RequestSummaryRow>> {
  const checks: Sql[] = [];
  if (filters.method) checks.push(sql`method = ${filters.method}`);
  if (filters.status) checks.push(sql`status BETWEEN ${filters.status[0]} AND ${filters.status[1]}`);
  if (filters.path) checks.push(sql`starts_with(path, ${filters.path})`);
  if (filters.actor_id) checks.push(sql`actor_id = ${filters.actor_id}::uuid`);
  const arms = [filters.request_id ? keyArm('request_id', 'text', [filters.request_id]) : everyRow];
  return searchPage(db, companyId, source, page, { arms, ranges: { id: createdAtConditions(filters) }, checks });
}

export async function maintainPartitions(db: Queryable, retentionDays: number): Promise<void> {
  await db.query(`SELECT maintain_partitions('requests', $1 * interval '1 day')`, [retentionDays]);
}
