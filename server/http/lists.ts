import Type, { type TSchema } from 'typebox';
import { invalidField } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Queryable } from '../platform/database.ts';
import { firstIdOf, readId } from '../platform/ids.ts';
import { joinSql, raw, type Sql, sql, toStatement } from '../platform/sql.ts';
import {
  integerParameter,
  momentParameter,
  type Parsed,
  type QueryParameter,
  type QueryParameters,
  type QueryValues,
} from './query-parameters.ts';
import type { PageRequest } from './route.ts';
import { nullable } from './schemas.ts';
import { choice } from '../platform/choice.ts';

export interface ListDeclaration {
  /** The names that `sort` accepts besides `created_at`. */
  readonly sorts: readonly string[];
  readonly filters: QueryParameters;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly hasMore: boolean;
  readonly next: string | null;
  readonly previous: string | null;
  /** How many rows were read to find the items, if a filter is checked row by row. */
  readonly scanned?: number;
  /** The answer to a request that only counts. */
  readonly count?: { readonly count: number; readonly exact: boolean };
}

/** A count is exact up to this number. */
export const countMax = 10_000;

export const createdAtFilters = {
  'created_at[gt]': momentParameter('Created after this date or time.'),
  'created_at[gte]': momentParameter('Created at or after this date or time.'),
  'created_at[lt]': momentParameter('Created before this date or time.'),
  'created_at[lte]': momentParameter('Created at or before this date or time.'),
} as const satisfies QueryParameters;

/** An id begins with its creation time, so the filter is a range of the primary key. */
export function createdAtConditions(filters: QueryValues<typeof createdAtFilters>): Sql[] {
  const conditions: Sql[] = [];
  const add = (moment: number | undefined, build: (ms: number) => Sql): void => {
    if (moment !== undefined) conditions.push(build(moment));
  };
  // A time may be between two milliseconds, but ids contain whole milliseconds.
  add(filters['created_at[gt]'], (ms) => sql`id >= ${firstIdOf(Math.floor(ms) + 1)}::uuid`);
  add(filters['created_at[gte]'], (ms) => sql`id >= ${firstIdOf(Math.ceil(ms))}::uuid`);
  add(filters['created_at[lt]'], (ms) => sql`id < ${firstIdOf(Math.ceil(ms))}::uuid`);
  add(filters['created_at[lte]'], (ms) => sql`id < ${firstIdOf(Math.floor(ms) + 1)}::uuid`);
  return conditions;
}

// Matches the id of any object, or of an event.
const idPattern = '^([0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|evt_[0-9a-f]{32})$';

function cursorParameter(description: string): QueryParameter<string> {
  return {
    schema: Type.String({ pattern: idPattern, examples: ['019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60'] }),
    description,
    parse: ([text = '', ...more]): Parsed<string> => {
      const id = more.length === 0 ? readId(text) : undefined;
      return id === undefined ? { problem: 'must be the ID of one object' } : { value: id };
    },
  };
}

function sortParameter(fields: readonly string[]): QueryParameter<PageRequest['sort']> {
  const forms = fields.flatMap((field) => [field, `-${field}`, `${field}[asc]`, `${field}[desc]`]);
  return {
    schema: choice(forms, { default: 'created_at[desc]' }),
    description: `Sort order, by ${fields.join(' or ')}. \`field\` and \`field[asc]\` sort ascending, \`-field\` and \`field[desc]\` descending.`,
    parse: ([text = '', ...more]) => {
      if (!forms.includes(text) || more.length > 0) {
        return { problem: `must be one of ${fields.join(', ')}, as field[asc], field[desc] or -field` };
      }
      const field = text.replace(/^-|\[(asc|desc)\]$/g, '');
      return { value: { field, descending: text.startsWith('-') || text.endsWith('[desc]') } };
    },
  };
}

export function listParameters(list: ListDeclaration): QueryParameters {
  return {
    limit: integerParameter(1, limits.pageSizeMax, 'Number of objects per page.', limits.pageSize),
    starting_after: cursorParameter('Returns the page after the object with this ID.'),
    ending_before: cursorParameter('Returns the page before the object with this ID.'),
    sort: sortParameter(['created_at', ...list.sorts]),
    ...list.filters,
  };
}

export function pageRequest(values: Readonly<Record<string, unknown>>): PageRequest {
  const after = values.starting_after as string | undefined;
  const before = values.ending_before as string | undefined;
  if (after && before) throw invalidField('ending_before', 'cannot be combined with starting_after');
  const id = after ?? before;
  return {
    limit: (values.limit as number | undefined) ?? limits.pageSize,
    sort: (values.sort as PageRequest['sort'] | undefined) ?? { field: 'created_at', descending: true },
    cursor: id ? { id, parameter: after ? 'starting_after' : 'ending_before' } : null,
  };
}

const cursors = Type.Object(
  {
    next: nullable(
      Type.String({
        description:
          'Send this as `starting_after` to get the next page. Not always the last object of this page: a request with filters reads a limited number of rows, and continues here.',
      }),
    ),
    previous: nullable(Type.String({ description: 'Send this as `ending_before` to get the previous page.' })),
  },
  { title: 'Cursors' },
);

export function listSchema(title: string, item: TSchema, url: string): TSchema {
  return Type.Object(
    {
      data: Type.Array(item),
      url: Type.String({ description: 'Path of the list.', examples: [url] }),
      has_more: Type.Boolean({
        description:
          'Whether there are more objects in this direction. A page can be short, or empty, although there are more: see `cursors`.',
      }),
      cursors,
    },
    { title },
  );
}

export interface ListSource {
  readonly table: string;
  /** The type in its tombstones. */
  readonly objectType: string;
  readonly columns: string;
  /** The column and type for each name of `sort`; `created_at` is the id itself. Each has an index, `within` that condition. */
  readonly sorts: Readonly<
    Record<string, { readonly column: string; readonly type: string; readonly within?: string }>
  >;
}

/** Pages use positions, never offsets: page 10,000 costs as much as page 1. */
export async function fetchPage<Row extends { id: string }>(
  db: Queryable,
  companyId: string,
  source: ListSource,
  page: PageRequest,
  conditions: readonly Sql[],
): Promise<Page<Row>> {
  const sort = source.sorts[page.sort.field];
  const backwards = page.cursor?.parameter === 'ending_before';
  const descending = page.sort.descending !== backwards;
  const key = raw(sort ? `(${sort.column}, id)` : 'id');
  const table = raw(source.table);
  const matches = joinSql([sql`company_id = ${companyId}`, ...conditions], ' AND ');
  if (page.counting) return countRows(db, sql`${table} WHERE ${matches}`);
  const position = page.cursor && (await cursorPosition(db, companyId, source, page.cursor, sort));

  const orderBy = (direction: 'ASC' | 'DESC'): Sql =>
    raw(sort ? `${sort.column} ${direction}, id ${direction}` : `id ${direction}`);
  const [ahead, behind] = descending ? (['DESC', 'ASC'] as const) : (['ASC', 'DESC'] as const);
  const here = position ? sql` AND ${key} ${raw(descending ? '<' : '>')} ${position}` : raw('');
  // Ordered although one row is enough: without an order the planner may scan the table from its start.
  const otherSide = position
    ? sql`(SELECT true FROM ${table} WHERE ${matches} AND ${key} ${raw(descending ? '>=' : '<=')} ${position}
           ORDER BY ${orderBy(behind)} LIMIT 1)`
    : raw('false');
  const { text, values } = toStatement(
    sql`SELECT ${raw(source.columns)}, ${otherSide} AS on_other_side FROM ${table}
        WHERE ${matches}${here} ORDER BY ${orderBy(ahead)} LIMIT ${page.limit + 1}`,
  );
  const rows = await db.query<Row & { on_other_side: boolean | null }>(text, values);
  return toPage(rows, page.limit, backwards);
}

async function countRows(db: Queryable, from: Sql): Promise<Page<never>> {
  const { text, values } = toStatement(
    sql`SELECT count(*)::integer AS count FROM (SELECT 1 FROM ${from} LIMIT ${countMax + 1}) AS matching`,
  );
  const [row] = await db.query<{ count: number }>(text, values);
  return countedPage(row?.count ?? 0, true);
}

/** `complete`: every object was looked at. */
export function countedPage(found: number, complete: boolean): Page<never> {
  const count = { count: Math.min(found, countMax), exact: complete && found <= countMax };
  return { items: [], hasMore: false, next: null, previous: null, count };
}

function toPage<Row extends { id: string; on_other_side: boolean | null }>(
  rows: readonly Row[],
  limit: number,
  backwards: boolean,
): Page<Row> {
  const hasMore = rows.length > limit;
  const items = rows.slice(0, limit);
  if (backwards) items.reverse();
  const onOtherSide = items[0]?.on_other_side ?? false;
  const [hasNext, hasPrevious] = backwards ? [onOtherSide, hasMore] : [hasMore, onOtherSide];
  return {
    items,
    hasMore,
    next: hasNext ? (items.at(-1)?.id ?? null) : null,
    previous: hasPrevious ? (items[0]?.id ?? null) : null,
  };
}

/** Returns the position of a cursor in the list, even if its object has been deleted meanwhile. */
export async function cursorPosition(
  db: Queryable,
  companyId: string,
  source: ListSource,
  cursor: NonNullable<PageRequest['cursor']>,
  sort: { column: string; type: string } | undefined,
): Promise<Sql> {
  if (!sort) return sql`${cursor.id}::uuid`;
  const [row] = await db.query<{ value: string }>(
    `SELECT ${sort.column}::text AS value FROM ${source.table} WHERE company_id = $1 AND id = $2
     UNION ALL
     SELECT sort_values ->> $3 FROM tombstones WHERE company_id = $1 AND id = $2 AND object_type = $4`,
    [companyId, cursor.id, sort.column, source.objectType],
  );
  if (!row) throw invalidField(cursor.parameter, 'is not the ID of an object in this list');
  return sql`(${row.value}::${raw(sort.type)}, ${cursor.id}::uuid)`;
}
