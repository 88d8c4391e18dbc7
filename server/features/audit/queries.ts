import { createdAtConditions, createdAtFilters, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import { anyOf, everyRow, keyArm, searchPage } from '../../http/search-pages.ts';
import type { Queryable } from '../../platform/database.ts';
import { rowsOf } from '../../platform/rows.ts';
import { sql } from '../../platform/sql.ts';

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
  readonly action?: readonly string[];
}

export async function listEntries(
  db: Queryable,
  companyId: string,
  filters: AuditFilters,
  page: PageRequest,
): Promise<Page<AuditRow>> {
  const { actor_id, object_id } = filters;
  const byObject = object_id === undefined ? [] : [sql`object_id = ${object_id}`];
  const arm = actor_id
    ? keyArm('actor_id', 'uuid', [actor_id])
    : object_id
      ? keyArm('object_id', 'text', [object_id])
      : everyRow;
  return searchPage(db, companyId, source, page, {
    arms: [arm],
    ranges: { id: createdAtConditions(filters) },
    checks: [...(actor_id ? byObject : []), ...anyOf('action', filters.action)],
  });
}

/** How each kind of object is called, and which permission shows its name. */
const names = {
  order: { text: 'order_number', table: 'orders', permission: 'orders:read' },
  customer: { text: "first_name || ' ' || last_name", table: 'customers', permission: 'customers:read' },
  product: { text: 'name', table: 'products', permission: 'products:read' },
  plan: { text: 'name', table: 'plans', permission: 'plans:read' },
  coupon: { text: 'name', table: 'coupons', permission: 'coupons:read' },
  subscription: { text: 'plan_name', table: 'subscriptions', permission: 'subscriptions:read' },
  payment_link: { text: 'name', table: 'payment_links', permission: 'payment_links:read' },
  webhook_endpoint: { text: 'url', table: 'webhook_endpoints', permission: 'webhook_endpoints:read' },
  team_member: {
    text: "coalesce(nullif(trim(concat_ws(' ', first_name, last_name)), ''), email)",
    table: 'team_members',
    permission: 'team_members:read',
  },
  role: { text: 'name', table: 'roles', permission: 'team_members:read' },
  api_key: { text: 'name', table: 'api_keys', permission: 'api_keys:read' },
  dispute: { text: 'processor_id', table: 'disputes', permission: 'orders:read' },
} as const;

export type NamedType = keyof typeof names;
export const namedTypes = Object.keys(names) as NamedType[];

export interface NamedObject {
  readonly id: string;
  readonly type: NamedType;
  readonly name: string;
}

/** The names of these objects, of the kinds that the permissions allow to see. */
export async function findNames(
  db: Queryable,
  companyId: string,
  ids: readonly string[],
  permissions: readonly string[],
): Promise<NamedObject[]> {
  const visible = Object.entries(names).filter(([, { permission }]) => permissions.includes(permission));
  if (ids.length === 0 || visible.length === 0) return [];
  const selects = visible.map(
    ([type, { text, table }]) =>
      `SELECT id, '${type}' AS type, ${text} AS name FROM ${table} WHERE company_id = $1 AND id = ANY($2::uuid[])`,
  );
  return db.query<NamedObject>(selects.join(' UNION ALL '), [companyId, ids]);
}

/** Null keeps the entries of that kind. The function never deletes what is younger than its own limits. */
export async function deleteOldEntries(
  db: Queryable,
  peopleDays: number | null,
  keyDays: number | null,
  batch: number,
): Promise<number> {
  const [row] = await db.query<{ deleted: number }>('SELECT forget_audit_entries($1, $2, $3) AS deleted', [
    peopleDays,
    keyDays,
    batch,
  ]);
  return row?.deleted ?? 0;
}
