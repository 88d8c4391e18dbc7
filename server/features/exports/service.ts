import { ApiError, invalidField, notFound, validationError } from '../../errors.ts';
import { lackingOf, requirePermissions } from '../../http/caller.ts';
import { listParameters, pageRequest } from '../../http/lists.ts';
import { readQuery } from '../../http/query-parameters.ts';
import type { PageRequest, Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import type { ExportedList } from './columns.ts';
import { expireExport, type ExportRow, findExports, insertExport, readChunks } from './queries.ts';
import type { Export, ExportCreate } from './schemas.ts';

/** The routes of the lists, from which an export reads. */
export type Lists = readonly Route[];

export function listOf(lists: Lists, name: ExportedList): Route {
  const route = lists.find(({ list, path }) => list && path.split('/').slice(2).join('/') === name);
  if (!route) throw new Error(`there is no list ${name}`);
  return route;
}

/** The filters and the order of an export; the position of a page is not part of it. */
export function readExportQuery(
  route: Route,
  query: ExportRow['query'],
): { readonly values: Record<string, unknown>; readonly sort: PageRequest['sort'] } {
  const {
    limit: _limit,
    starting_after: _after,
    ending_before: _before,
    ...parameters
  } = listParameters(route.list ?? { sorts: [], filters: {} });
  const { values, problems, unnamed } = readQuery(parameters, query);
  if (problems.length > 0) throw validationError(problems, unnamed);
  return { values, sort: pageRequest(values).sort };
}

/** A name that occurs several times has several values, as in the address of a list. */
function queryOf(text: string): ExportRow['query'] {
  const parameters = new URLSearchParams(text);
  return Object.fromEntries(
    [...new Set(parameters.keys())].map((name) => {
      const values = parameters.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}

export async function createExport(context: RequestContext, lists: Lists, input: ExportCreate): Promise<Export> {
  const { db, company, caller } = context;
  const route = listOf(lists, input.list);
  if (route.permission) requirePermissions(caller, [route.permission], 'this list requires');
  const query = queryOf(input.query ?? '');
  const { values } = readExportQuery(route, query);
  const customers = values.q === undefined ? route.expand?.customer : 'customers:read';
  const used = [route.permission, customers].filter((one) => one !== null && one !== undefined);
  const row = {
    company_id: company.id,
    id: newId(context.nowMs),
    member_id: caller?.id ?? '',
    list: input.list,
    query,
    permissions: used.filter((permission) => lackingOf(caller, [permission]).length === 0),
  };
  const made = await insertExport(db, row, { ofCompany: limits.exports, ofMember: limits.exportsOfMember });
  if (!made)
    throw new ApiError(
      'invalid_request',
      `A company can have ${limits.exports} exports at once. They are deleted after a day.`,
    );
  return toWire(made);
}

export async function getExports({ db, company, caller }: RequestContext): Promise<{ data: Export[] }> {
  const rows = await findExports(db, company.id, caller?.id ?? '');
  return { data: rows.map(toWire) };
}

async function findOwn({ db, company, caller }: RequestContext, id: string): Promise<ExportRow> {
  const row = (await findExports(db, company.id, caller?.id ?? '')).find((one) => one.id === id);
  if (!row) throw notFound('export');
  return row;
}

export const getExport = async (context: RequestContext, id: string): Promise<Export> =>
  toWire(await findOwn(context, id));

export async function deleteExport(
  { db, company, caller }: RequestContext,
  id: string,
): Promise<{ id: string; deleted: true }> {
  if (!(await expireExport(db, company.id, caller?.id ?? '', id))) throw notFound('export');
  return { id, deleted: true };
}

const chunksAtOnce = 8;

/** Only the member who created an export can read it, and only with the permissions that its content needs. */
export async function readExport(
  context: RequestContext,
  id: string,
  from: number,
): Promise<{ data: string[]; next: number | null }> {
  const row = await findOwn(context, id);
  requirePermissions(context.caller, row.permissions, 'this export requires');
  if (row.state !== 'ready') throw invalidField('id', 'must be an export that is ready');
  const chunks = await readChunks(context.db, context.company.id, id, from, chunksAtOnce);
  const next = from + chunks.length;
  return { data: chunks.map(({ content }) => content), next: next < row.chunks ? next : null };
}

function toWire({ id, list, state, rows, reason, expires_at }: ExportRow): Export {
  return { id, list, status: state, rows, reason, created_at: createdAt(id), expires_at: expires_at.toISOString() };
}
