import type { Queryable } from '../platform/database.ts';
import { anyRowOf, joinSql, raw, type Sql, sql, toStatement } from '../platform/sql.ts';
import { countedPage, countMax, cursorPosition, fetchPage, type ListSource, type Page } from './lists.ts';
import type { PageRequest } from './route.ts';

/**
 * Pages of a list with filters that no index serves. A request reads a limited number of rows, along an index and in the order
 * of the list, and keeps those that match. If it reaches the limit before the page is full, the page is short and its cursor is
 * the last row that was read, so that the next page continues there.
 */

/** One way to find rows by an index whose last column is the id: those whose `column` is one of `keys`, or all rows. */
export interface Arm {
  /** The table, if it is not that of the list: it then has the ids of rows in `idColumn`. */
  readonly table?: string;
  readonly idColumn?: string;
  readonly by?: { readonly column: string; readonly type: string; readonly keys: readonly (string | number)[] };
  /** The condition of a partial index. */
  readonly within?: Sql;
  /** Only these rows of the arm belong to the list. */
  readonly only?: Sql;
  /** Only some of the keys, because there are too many: what is found is not all. */
  readonly isPart?: boolean;
  /** Only rows after this id. */
  readonly after?: string;
}

export interface Search {
  /** The list contains the rows of any arm. */
  readonly arms: readonly Arm[];
  /** Conditions on the id and on the columns by which the list can be sorted: a range of an index. */
  readonly ranges: Readonly<Record<string, readonly Sql[]>>;
  /** Conditions that are checked for each row. */
  readonly checks: readonly Sql[];
}

export const everyRow: Arm = {};

export const keyArm = (column: string, type: string, keys: readonly (string | number)[]): Arm => ({
  by: { column, type, keys },
});

/** Conditions of optional filters. */
export const anyOf = (column: string, values: readonly string[] | undefined): Sql[] =>
  values ? [sql`${raw(column)} = ANY(${values}::text[])`] : [];

export const equalId = (column: string, id: string | undefined): Sql[] =>
  id === undefined ? [] : [sql`${raw(column)} = ${id}::uuid`];

const operators = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

export type AmountBounds<Name extends string> = {
  readonly [Bound in `${Name}[${keyof typeof operators}]`]?: number;
};

export function amountRange<Name extends string>(column: Name, filters: AmountBounds<Name>): Sql[] {
  const bounds = filters as Readonly<Record<string, number | undefined>>;
  return Object.entries(operators).flatMap(([bound, operator]) => {
    const amount = bounds[`${column}[${bound}]`];
    return amount === undefined ? [] : [sql`${raw(`${column} ${operator}`)} ${amount}`];
  });
}

/** For ILIKE: the text anywhere in a value. */
export const containing = (text: string): string => `%${text.trim().replaceAll(/[\\%_]/g, '\\$&')}%`;

/** How many rows one request reads, one count reads, and one request sorts. */
const scanRows = 10_000;
const countRows = 15_000;
const sortRows = 5_000;

const allRangesBut = (search: Search, column: string): Sql[] =>
  Object.entries(search.ranges).flatMap(([name, conditions]) => (name === column ? [] : conditions));

const all = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? raw('true') : sql`(${joinSql(conditions, ' AND ')})`;

export async function searchPage<Row extends { id: string }>(
  db: Queryable,
  companyId: string,
  source: ListSource,
  page: PageRequest,
  search: Search,
): Promise<Page<Row>> {
  if (isServedByIndex(source, page, search)) {
    const [arm] = search.arms;
    const key = arm?.by ? [sql`${raw(arm.by.column)} = ${arm.by.keys[0]}::${raw(arm.by.type)}`] : [];
    return fetchPage(db, companyId, source, page, [...key, ...Object.values(search.ranges).flat()]);
  }
  const scan = { db, companyId, source, search, sort: source.sorts[page.sort.field] };
  if (page.counting) return countMatches(scan);
  const backwards = page.cursor?.parameter === 'ending_before';
  const descending = page.sort.descending !== backwards;
  const from = page.cursor && (await cursorPosition(db, companyId, source, page.cursor, scan.sort));
  const found = await scanFor(scan, { from, descending, wanted: page.limit + 1, rows: scanRows });
  const behind =
    from && (await scanFor(scan, { from, inclusive: true, descending: !descending, wanted: 1, rows: 2_000 }));
  const rows = await readRows<Row>(scan, found.ids.slice(0, page.limit));
  const around = { hasMore: found.ids.length > page.limit, stoppedAt: found.stoppedAt, backwards, behind };
  return { ...toPage(rows, around), scanned: found.read + (behind?.read ?? 0) };
}

/** One key of one index and nothing to check: every row that is read belongs to the list. */
function isServedByIndex(source: ListSource, page: PageRequest, { arms, ranges, checks }: Search): boolean {
  const [arm, ...more] = arms;
  if (!arm || more.length > 0 || arm.table || arm.only || arm.after || checks.length > 0) return false;
  if (arm.within || (arm.by && arm.by.keys.length !== 1)) return false;
  const column = source.sorts[page.sort.field]?.column ?? 'id';
  if (arm.by && column !== 'id') return false;
  return Object.entries(ranges).every(([name, conditions]) => name === column || conditions.length === 0);
}

interface Scan {
  readonly db: Queryable;
  readonly companyId: string;
  readonly source: ListSource;
  readonly search: Search;
  readonly sort: ListSource['sorts'][string] | undefined;
}

interface Stretch {
  readonly from: Sql | null;
  /** Whether the row at `from` belongs to the stretch. */
  readonly inclusive?: boolean;
  readonly descending: boolean;
  readonly wanted: number;
  readonly rows: number;
}

interface Scanned {
  readonly ids: readonly string[];
  /** The last row that was read, if there may be more matches after it. */
  readonly stoppedAt: string | null;
  /** How many rows were read. */
  readonly read: number;
}

async function scanFor(scan: Scan, stretch: Stretch): Promise<Scanned> {
  if (scan.search.arms.length === 0) return { ids: [], stoppedAt: null, read: 0 };
  if (!scan.sort) return inSteps(scan, stretch, alongId);
  const sorted = await sortMatches(scan, stretch);
  if (sorted.isComplete) return sorted;
  const found = await inSteps(scan, stretch, alongSort);
  return { ...found, read: found.read + sorted.read };
}

type Step = (scan: Scan, stretch: Stretch, rows: number) => Promise<Scanned & { readonly position: Sql | null }>;

/** Frequent matches are found in the first rows; only rare ones make the steps long. */
async function inSteps(scan: Scan, stretch: Stretch, step: Step): Promise<Scanned> {
  const ids: string[] = [];
  let { from, inclusive } = stretch;
  let read = 0;
  let rows = Math.min(stretch.rows, 2 * stretch.wanted);
  for (;;) {
    const found = await step(
      scan,
      {
        ...stretch,
        from,
        wanted: stretch.wanted - ids.length,
        rows: stretch.rows - read,
        ...(inclusive && { inclusive }),
      },
      rows,
    );
    ids.push(...found.ids);
    read += found.read;
    if (ids.length >= stretch.wanted || found.position === null) return { ids, stoppedAt: null, read };
    if (read >= stretch.rows) return { ids, stoppedAt: found.stoppedAt, read };
    from = found.position;
    inclusive = false;
    rows = Math.min(stretch.rows - read, rows * 16);
  }
}

const direction = (descending: boolean): Sql => raw(descending ? 'DESC' : 'ASC');

function beyond(key: Sql, { from, inclusive, descending }: Stretch): Sql[] {
  if (!from) return [];
  return [sql`${key} ${raw((descending ? '<' : '>') + (inclusive ? '=' : ''))} ${from}`];
}

/** One row of each key would say nothing about how far the others reach. */
const perKeyMin = 2;

/**
 * Reads the arms in the order of ids. Each is read so far that the rows down to `stopped` are complete. Many keys share the rows
 * that are left to read, so a step with fewer rows of each only stops sooner.
 */
const alongId: Step = async (scan, stretch, rows) => {
  const { db, search } = scan;
  const keys = search.arms.reduce((sum, arm) => sum + (arm.by?.keys.length ?? 1), 0);
  const perKey = Math.max(
    Math.min(Math.max(Math.ceil(rows / keys), stretch.wanted), Math.floor(stretch.rows / keys)),
    perKeyMin,
  );
  const order = direction(stretch.descending);
  const { text, values } = toStatement(sql`
    WITH scanned AS MATERIALIZED (${joinSql(
      search.arms.map((arm) => armRows(scan, arm, stretch, perKey)),
      ' UNION ALL ',
    )}), stopped AS (
      SELECT id FROM scanned WHERE place = ${perKey} ORDER BY id ${order} LIMIT 1
    )
    SELECT (SELECT id FROM stopped) AS stopped, (SELECT count(*)::integer FROM scanned) AS read, ARRAY(
      SELECT DISTINCT id FROM scanned
      WHERE fits AND coalesce(id ${raw(stretch.descending ? '>=' : '<=')} (SELECT id FROM stopped), true)
      ORDER BY id ${order} LIMIT ${stretch.wanted}) AS ids`);
  const [row] = await db.query<{ stopped: string | null; read: number; ids: string[] }>(text, values);
  const stopped = row?.stopped ?? null;
  const read = row?.read ?? 0;
  return { ids: row?.ids ?? [], read, stoppedAt: stopped, position: stopped === null ? null : sql`${stopped}::uuid` };
};

function armRows(scan: Scan, arm: Arm, stretch: Stretch, perKey: number): Sql {
  const { companyId, source, search } = scan;
  const id = raw(arm.idColumn ?? 'id');
  const range = (search.ranges.id ?? []).map((condition) => (arm.table ? renamed(condition, arm.idColumn) : condition));
  const where = [
    sql`company_id = ${companyId}`,
    ...(arm.by ? [sql`${raw(arm.by.column)} = wanted.key`] : []),
    ...(arm.within ? [arm.within] : []),
    ...(arm.after ? [sql`${id} > ${arm.after}::uuid`] : []),
    ...range,
    ...beyond(id, stretch),
  ];
  const checked = [...(arm.only ? [arm.only] : []), ...allRangesBut(search, 'id'), ...search.checks];
  const fits = arm.table
    ? sql`coalesce((SELECT ${all(checked)} FROM ${raw(source.table)} WHERE company_id = ${companyId} AND id = hit.id), false)`
    : raw('hit.fits');
  const rows = sql`SELECT ${id} AS id, ${arm.table ? raw('NULL') : sql`coalesce(${all(checked)}, false)`} AS fits
    FROM ${raw(arm.table ?? source.table)} WHERE ${joinSql(where, ' AND ')}
    ORDER BY ${id} ${direction(stretch.descending)} LIMIT ${perKey}`;
  const keys = arm.by
    ? sql`unnest(${arm.by.keys}::${raw(arm.by.type)}[]) AS wanted (key)`
    : raw('(SELECT 1) AS wanted (key)');
  return sql`SELECT found.id, found.fits, found.place FROM ${keys} CROSS JOIN LATERAL (
    SELECT hit.id, ${fits} AS fits, row_number() OVER () AS place FROM (${rows}) AS hit) AS found`;
}

/** The conditions of a range name the id of the list. */
function renamed(condition: Sql, column = 'id'): Sql {
  return { strings: condition.strings.map((text) => text.replace(/\bid\b/, column)), values: condition.values };
}

/** Reads the whole list in the order of another column. */
const alongSort: Step = async (scan, stretch, rows) => {
  const { db, companyId, source, search, sort } = scan;
  const column = sort?.column ?? 'id';
  const order = direction(stretch.descending);
  const where = [
    sql`company_id = ${companyId}`,
    ...(sort?.within ? [raw(sort.within)] : []),
    ...(search.ranges[column] ?? []),
    ...beyond(raw(`(${column}, id)`), stretch),
  ];
  const checked = [...allRangesBut(search, column), ...search.checks, inAnyArm(scan)];
  const { text, values } = toStatement(sql`
    WITH scanned AS MATERIALIZED (
      SELECT row_number() OVER () AS place, hit.* FROM (
        SELECT ${raw(column)} AS value, id, coalesce(${all(checked)}, false) AS fits FROM ${raw(source.table)}
        WHERE ${joinSql(where, ' AND ')} ORDER BY ${raw(column)} ${order}, id ${order} LIMIT ${rows}) AS hit)
    SELECT last.id, last.value::text, (SELECT count(*)::integer FROM scanned) AS read, ARRAY(SELECT id FROM scanned WHERE fits ORDER BY place LIMIT ${stretch.wanted}) AS ids
    FROM (SELECT 1) AS one LEFT JOIN scanned AS last ON last.place = ${rows}`);
  const [row] = await db.query<{ id: string | null; value: string; read: number; ids: string[] }>(text, values);
  const id = row?.id ?? null;
  const position = id === null ? null : sql`(${row?.value}::${raw(sort?.type ?? 'uuid')}, ${id}::uuid)`;
  return { ids: row?.ids ?? [], read: row?.read ?? 0, stoppedAt: id, position };
};

function inAnyArm({ companyId, source, search }: Scan): Sql {
  const table = source.table.split(' ').at(-1) ?? source.table;
  const inArm = (arm: Arm): Sql => {
    const by = arm.by ? [sql`${raw(arm.by.column)} = ANY(${arm.by.keys}::${raw(arm.by.type)}[])`] : [];
    const after = arm.after ? [sql`${raw(`${table}.id`)} > ${arm.after}::uuid`] : [];
    const within = arm.within ? [arm.within] : [];
    if (!arm.table) return all([...by, ...within, ...after, ...(arm.only ? [arm.only] : [])]);
    const inTable = [
      sql`company_id = ${companyId}`,
      ...by,
      ...within,
      sql`${raw(arm.idColumn ?? 'id')} = ${raw(`${table}.id`)}`,
    ];
    const listed = anyRowOf(sql`${raw(arm.table)} WHERE ${joinSql(inTable, ' AND ')}`);
    return all([listed, ...(arm.only ? [arm.only] : [])]);
  };
  return sql`(${joinSql(search.arms.map(inArm), ' OR ')})`;
}

/** Sorts all matches of the arms, if they have few rows. Otherwise reading along the index finds matches sooner. */
async function sortMatches(scan: Scan, stretch: Stretch): Promise<Scanned & { readonly isComplete: boolean }> {
  const nothing = { ids: [], stoppedAt: null, read: 0, isComplete: false };
  const { db, companyId, source, sort } = scan;
  const readsAll = scan.search.arms.some((arm) => !arm.by && !arm.within && !arm.table && !arm.after);
  if (!sort || (readsAll && !scan.search.ranges.id?.length)) return nothing;
  if (readsAll && !(await hasFewRows(scan))) return { ...nothing, read: sortRows };
  const whole = { from: null, descending: true, wanted: sortRows + 1, rows: sortRows };
  const found = await alongId(scan, whole, sortRows);
  if (found.position !== null || found.ids.length > sortRows) return { ...nothing, read: found.read };
  const where = [
    sql`company_id = ${companyId}`,
    sql`id = ANY(${found.ids}::uuid[])`,
    ...beyond(raw(`(${sort.column}, id)`), stretch),
  ];
  const order = direction(stretch.descending);
  const { text, values } = toStatement(sql`SELECT id FROM ${raw(source.table)} WHERE ${joinSql(where, ' AND ')}
    ORDER BY ${raw(sort.column)} ${order}, id ${order} LIMIT ${stretch.wanted}`);
  const rows = await db.query<{ id: string }>(text, values);
  return { ids: rows.map(({ id }) => id), stoppedAt: null, read: found.read, isComplete: true };
}

/** Whether the range of ids has so few rows that they can be sorted. */
async function hasFewRows({ db, companyId, source, search }: Scan): Promise<boolean> {
  const where = joinSql([sql`company_id = ${companyId}`, ...(search.ranges.id ?? [])], ' AND ');
  const { text, values } = toStatement(sql`SELECT count(*)::integer AS count FROM (
    SELECT id FROM ${raw(source.table)} WHERE ${where} ORDER BY id DESC LIMIT ${sortRows + 1}) AS newest`);
  const [row] = await db.query<{ count: number }>(text, values);
  return (row?.count ?? 0) <= sortRows;
}

async function readRows<Row extends { id: string }>(
  { db, companyId, source }: Scan,
  ids: readonly string[],
): Promise<Row[]> {
  if (ids.length === 0) return [];
  const { text, values } = toStatement(
    sql`SELECT ${raw(source.columns)} FROM ${raw(source.table)} WHERE company_id = ${companyId} AND id = ANY(${ids}::uuid[])`,
  );
  const rows = await db.query<Row>(text, values);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

interface Around {
  readonly hasMore: boolean;
  readonly stoppedAt: string | null;
  readonly backwards: boolean;
  /** What is on the other side of the cursor. Null on the first page. */
  readonly behind: Scanned | null;
}

function toPage<Row extends { id: string }>(found: readonly Row[], around: Around): Page<Row> {
  const { stoppedAt, backwards, behind } = around;
  const items = backwards ? found.toReversed() : found;
  const hasMore = around.hasMore || stoppedAt !== null;
  const [first, last] = backwards ? [items.at(-1), items[0]] : [items[0], items.at(-1)];
  const ahead = around.hasMore ? (last?.id ?? null) : stoppedAt;
  const isBehind = behind !== null && (behind.ids.length > 0 || behind.stoppedAt !== null);
  const back = isBehind ? (first?.id ?? null) : null;
  return { items, hasMore, next: backwards ? back : ahead, previous: backwards ? ahead : back };
}

async function countMatches(scan: Scan): Promise<Page<never>> {
  const found = await scanFor(
    { ...scan, sort: undefined },
    { from: null, descending: true, wanted: countMax + 1, rows: countRows },
  );
  const isComplete = found.stoppedAt === null && !scan.search.arms.some(({ isPart }) => isPart);
  return { ...countedPage(found.ids.length, isComplete), scanned: found.read };
}
