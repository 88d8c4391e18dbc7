import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from '../../http/lists.ts';
import type { Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import type { WorkLeft } from '../../platform/alarm.ts';
import { csvHeader, csvLines } from '../../platform/csv.ts';
import type { Database, DatabasePool } from '../../platform/database.ts';
import { secondMs } from '../../platform/durations.ts';
import { readFrom } from '../../platform/replica.ts';
import type { RequestContext } from '../../request-context.ts';
import type { OpenShard } from '../../shards/shards.ts';
import { type ActiveMember, activeMembers } from '../team/service.ts';
import { columnsOf } from './columns.ts';
import {
  addPieces,
  claimExport,
  deleteOldExports,
  deleteOldPieces,
  type ExportRow,
  failExport,
  returnExport,
} from './queries.ts';
import { type Lists, listOf, readExportQuery } from './service.ts';

const rowsAtOnce = 100;
/** The rest after each page, in times of what the page took, so that exports use a third of the time and requests the others. */
const restShare = 2;
const leaseSeconds = 60;
/** After this time another export gets its turn. */
const turnMs = 20 * secondMs;

/**
 * Job: writes one export, a page of its list at a time. A page and the position after it are committed together, so another process
 * continues an export whose process died, without a gap or a repetition.
 */
export async function writeExports(shard: OpenShard, lists: Lists): Promise<WorkLeft> {
  const claimed = await claimExport(shard.db, leaseSeconds);
  if (!claimed) return 'idle';
  const endMs = shard.clock.nowMs() + turnMs;
  let row: ExportRow | undefined = claimed;
  while (row && shard.clock.nowMs() < endMs) {
    const startedMs = performance.now();
    row = await writeNext(shard, lists, row);
    await sleep(restShare * (performance.now() - startedMs));
  }
  if (row) await returnExport(shard.db, row);
  return 'more';
}

/** Returns the export as it is afterwards, or undefined if there is nothing left to write. */
async function writeNext(shard: OpenShard, lists: Lists, row: ExportRow): Promise<ExportRow | undefined> {
  const { db } = shard;
  const route = listOf(lists, row.list);
  const [member] = await activeMembers(shard, [{ companyId: row.company_id, memberId: row.member_id }]);
  if (!member || !row.permissions.every((permission) => member.permissions.includes(permission))) {
    await failExport(db, row, 'You no longer have access to this list.');
    return undefined;
  }
  if (row.rows >= limits.exportRows) {
    await failExport(db, row, `There are more than ${limits.exportRows} rows. Narrow the filters.`);
    return undefined;
  }
  const page = await readPage(shard, route, member, row);
  const columns = columnsOf(row.list, { showsCustomers: showsCustomers(route, row) });
  const lines = page.items.map((item) => csvLines([item as never], columns));
  const contents = inParts(row.chunks === 0 ? [csvHeader(columns), ...lines] : lines);
  const isLast = !page.hasMore || page.next === null;
  const piece = { contents, rows: page.items.length, afterId: page.next, isLast };
  if (!(await addPieces(db, row, piece)) || isLast) return undefined;
  return { ...row, rows: row.rows + piece.rows, chunks: row.chunks + contents.length, after_id: page.next };
}

const partBytes = 256 * 1024;

/** Joins lines to parts of limited size; a longer line is a part of its own. */
function inParts(lines: readonly string[]): string[] {
  const parts = [''];
  let bytes = 0;
  for (const line of lines) {
    const more = Buffer.byteLength(line);
    if (bytes > 0 && bytes + more > partBytes) {
      parts.push('');
      bytes = 0;
    }
    parts[parts.length - 1] += line;
    bytes += more;
  }
  return parts;
}

function showsCustomers({ expand }: Pick<Route, 'expand'>, { permissions }: Pick<ExportRow, 'permissions'>): boolean {
  const needed = expand?.customer;
  return needed !== undefined && permissions.includes(needed);
}

async function readPage(
  shard: OpenShard,
  { handle, list, expand = {}, ...route }: Route,
  { company, member_id: id }: ActiveMember,
  { query, permissions, after_id }: ExportRow,
): Promise<Page<unknown>> {
  const { values, sort } = readExportQuery({ ...route, ...(list && { list }) }, query);
  const caller = { kind: 'member', id, name: '', permissions, publishable: false, steppedUpUntilMs: 0 } as const;
  const nowMs = shard.clock.nowMs() + company.clockOffsetMs;
  const showing = showsCustomers({ expand }, { permissions });
  const request = (db: Database) => ({
    context: { requestId: '', company, nowMs, caller, db } satisfies RequestContext,
    params: {},
    query: values,
    body: undefined,
    expand: new Set(showing ? ['customer'] : []),
    file: undefined,
    prepared: undefined,
    page: { limit: rowsAtOnce, sort, cursor: after_id === null ? null : { id: after_id, parameter: 'starting_after' } },
  });
  return (await readFrom(shard, async (db) => handle?.(request(db)))) as Page<unknown>;
}

/** With parts of 256 KB, a statement deletes at most 25 MB. */
const piecesAtOnce = 100;
const roundsMax = 100;

export async function forgetOldExports(db: DatabasePool, count: number): Promise<number> {
  for (let round = 0; round < roundsMax; round += 1) {
    if ((await deleteOldPieces(db, piecesAtOnce)) < piecesAtOnce) break;
  }
  return deleteOldExports(db, count);
}
