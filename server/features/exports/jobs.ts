import type { Page } from '../../http/lists.ts';
import type { Route, RouteRequest } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import { csvHeader, csvLines } from '../../platform/csv.ts';
import type { DatabasePool } from '../../platform/database.ts';
import { secondMs } from '../../platform/durations.ts';
import type { RequestContext } from '../../request-context.ts';
import { type ActiveMember, activeMembers } from '../team/service.ts';
import { columnsOf } from './columns.ts';
import { addPiece, claimExport, deleteOldExports, type ExportRow, failExport, returnExport } from './queries.ts';
import { type Lists, listOf, readExportQuery } from './service.ts';

interface Home {
  readonly name: string;
  readonly db: DatabasePool;
  readonly clock: Clock;
}

const rowsAtOnce = 250;
const leaseSeconds = 60;
/** After this time another export gets its turn. */
const turnMs = 20 * secondMs;

/**
 * Job: writes one export, a page of its list at a time. A page and the position after it are committed together, so another process
 * continues an export whose process died, without a gap or a repetition. Returns whether there may be more to do.
 */
export async function writeExports(home: Home, lists: Lists): Promise<boolean> {
  const claimed = await claimExport(home.db, leaseSeconds);
  if (!claimed) return false;
  const endMs = home.clock.nowMs() + turnMs;
  let row: ExportRow | undefined = claimed;
  while (row && home.clock.nowMs() < endMs) row = await writeNext(home, lists, row);
  if (row) await returnExport(home.db, row);
  return true;
}

/** Returns the export as it is afterwards, or undefined if there is nothing left to write. */
async function writeNext(home: Home, lists: Lists, row: ExportRow): Promise<ExportRow | undefined> {
  const { db } = home;
  const route = listOf(lists, row.list);
  const [member] = await activeMembers(home, [{ companyId: row.company_id, memberId: row.member_id }]);
  if (!member || (route.permission && !member.permissions.includes(route.permission))) {
    await failExport(db, row, 'You no longer have access to this list.');
    return undefined;
  }
  if (row.rows >= limits.exportRows) {
    await failExport(db, row, `There are more than ${limits.exportRows} rows. Narrow the filters.`);
    return undefined;
  }
  const page = await readPage(home, route, member, row);
  const columns = columnsOf(row.list);
  const content = (row.chunks === 0 ? csvHeader(columns) : '') + csvLines(page.items as readonly never[], columns);
  const isLast = !page.hasMore || page.next === null;
  const piece = { content, rows: page.items.length, afterId: page.next, isLast };
  if (!(await addPiece(db, row, piece)) || isLast) return undefined;
  return { ...row, rows: row.rows + piece.rows, chunks: row.chunks + 1, after_id: page.next };
}

async function readPage(
  { db, clock }: Home,
  { handle, list, expand = {}, ...route }: Route,
  { company, permissions }: ActiveMember,
  { query, after_id }: ExportRow,
): Promise<Page<unknown>> {
  const { values, sort } = readExportQuery({ ...route, ...(list && { list }) }, query);
  const context: RequestContext = { requestId: '', company, nowMs: clock.nowMs() + company.clockOffsetMs, db };
  const needed = expand.customer;
  const request = {
    context,
    params: {},
    query: values,
    body: undefined,
    expand: new Set(needed && permissions.includes(needed) ? ['customer'] : []),
    file: undefined,
    prepared: undefined,
    page: { limit: rowsAtOnce, sort, cursor: after_id === null ? null : { id: after_id, parameter: 'starting_after' } },
  };
  return (await handle?.(request as RouteRequest<unknown, unknown>)) as Page<unknown>;
}

export const forgetOldExports = (db: DatabasePool, count: number): Promise<number> => deleteOldExports(db, count);
