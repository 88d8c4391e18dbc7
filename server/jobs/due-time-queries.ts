import type { Queryable } from '../platform/database.ts';
import { isSettled } from '../shards/queries.ts';
import { type DueTime, dueTimes, toleranceMs } from './due-times.ts';

/** The rows that are read in a round, furthest first: those behind them are due earlier. */
const readMax = 10_000;

const nowOf = ({ byCompanyClock }: DueTime): string =>
  byCompanyClock
    ? `now() + (SELECT clock_offset_ms FROM companies WHERE id = t.company_id) * interval '1 ms'`
    : 'now()';

/** The rows that are due later than their schedule allows, with the furthest time that it allows. */
function tooFar(time: DueTime): string {
  const { table, column, key, rows = 'true', furthestMs } = time;
  const settled = key[0] === 'company_id' ? isSettled('t.company_id') : 'true';
  return `SELECT ${key.join()}, furthest FROM (
    SELECT ${key.map((name) => `t.${name}`).join()}, t.${column} AS due,
      ${nowOf(time)} + (${furthestMs}) * interval '1 ms' AS furthest
    FROM ${table} t
    WHERE ${rows} AND t.${column} > now() + ${toleranceMs} * interval '1 ms' AND ${settled}
    ORDER BY t.${column} DESC LIMIT ${readMax}
  ) last WHERE due > furthest + ${toleranceMs} * interval '1 ms'`;
}

const correction = (time: DueTime): string => `
  WITH wrong AS MATERIALIZED (${tooFar(time)} LIMIT $1)
  UPDATE ${time.table} t SET ${time.column} = w.furthest FROM wrong w
  WHERE ${time.key.map((name) => `t.${name} = w.${name}`).join(' AND ')} AND t.${time.column} > w.furthest
    ${time.rows ? `AND ${time.rows}` : ''}
  RETURNING 1`;

/** For `svc doctor`: the company, and the row with its table and column. */
export const dueTooLate: string = dueTimes
  .map((time) => {
    const company = time.key[0] === 'company_id' ? 'company_id::text' : `'-'`;
    const id = time.key.filter((name) => name !== 'company_id').map((name) => `${name}::text`);
    const shown = [`'${time.table}.${time.column}'`, ...(id.length > 0 ? [id.at(0)] : [])].join(', ');
    return `SELECT ${company} AS company_id, concat_ws(' ', ${shown}) AS id FROM (${tooFar(time)}) ${time.table}`;
  })
  .join('\nUNION ALL ');

/** Returns how many rows it has brought back. */
export async function bringBack(db: Queryable, time: DueTime, batch: number): Promise<number> {
  return (await db.query(correction(time), [batch])).length;
}
