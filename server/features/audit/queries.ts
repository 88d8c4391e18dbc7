import { createdAtConditions, createdAtFilters, fetchPage, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Queryable } from '../../platform/database.ts';
import { rowsOf } from '../../platform/rows.ts';
import { type Sql, sql } from '../../platform/sql.ts';

export interface AuditRow {
  id: string;
  actor_kind: 'key' | 'member' | 'operator';
  /** Null for an operator. */
  actor_id: string | null;
  actor_name: string;
  action: string;
  object_id: string | null;
  fields: string[];
  address: string;
  request_id: string;
}

const columns = 'id, actor_kind, actor_id, actor_name, action, object_id, fields, address, request_id';

const entryRows = rowsOf({
  company_id: 'uuid',
  id: 'uuid',
  actor_kind: 'text',
  actor_id: 'uuid',
  actor_name: 'text',
  action: 'text',
  object_id: 'text',
  fields: 'text[]',
  address: 'text',
  request_id: 'text',
});

/** An entry that already exists, because the answer to an earlier attempt was lost, stays unchanged. */
export async function insertEntries(
  db: Queryable,
  entries: readonly (AuditRow & { readonly company_id: string })[],
): Promise<void> {
  await db.query(
    `INSERT INTO audit_entries (company_id, ${columns})
     SELECT company_id, ${columns} FROM ${entryRows.from(1)} AS e ON CONFLICT DO NOTHING`,
    entryRows.values(entries),
  );
}

const source: ListSource = { table: 'audit_entries', objectType: 'audit_entry', columns, sorts: {} };

export interface AuditFilters extends QueryValues<typeof createdAtFilters> {
  readonly actor_id?: string;
  readonly object_id?: string;
}

export async function listEntries(
  db: Queryable,
  companyId: string,
  filters: AuditFilters,
  page: PageRequest,
): Promise<Page<AuditRow>> {
  const where: Sql[] = [...createdAtConditions(filters)];
  if (filters.actor_id) where.push(sql`actor_id = ${filters.actor_id}`);
  if (filters.object_id) where.push(sql`object_id = ${filters.object_id}`);
  return fetchPage(db, companyId, source, page, where);
}
