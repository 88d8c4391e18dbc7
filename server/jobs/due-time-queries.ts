import type { Queryable } from '../platform/database.ts';
import { startOf } from '../features/figures/queries.ts';
import { staysHere } from '../shards/queries.ts';
import { type DueTime, dueTimes, type ReadPlace, readPlaces, toleranceMs } from './due-times.ts';

/** The rows that are read in a round, furthest first: those behind them are due earlier. */
const readMax = 10_000;

const nowOf = ({ byCompanyClock }: DueTime): string =>
  byCompanyClock
    ? `now() + (SELECT clock_offset_ms FROM companies WHERE id = t.company_id) * interval '1 ms'`
    : 'now()';

/** The rows that are due later than their schedule allows, with the furthest time that it allows. */
function tooFar(time: DueTime): string {
  const { table, column, key, rows = 'true', furthestMs } = time;
  const stays = key[0] === 'company_id' ? staysHere('t.company_id') : 'true';
  return `SELECT ${key.join()}, furthest FROM (
    SELECT ${key.map((name) => `t.${name}`).join()}, t.${column} AS due,
      ${nowOf(time)} + (${furthestMs}) * interval '1 ms' AS furthest
    FROM ${table} t
    WHERE ${rows} AND t.${column} > now() + ${toleranceMs} * interval '1 ms' AND ${stays}
    ORDER BY t.${column} DESC LIMIT ${readMax}
  ) last WHERE due > furthest + ${toleranceMs} * interval '1 ms'`;
}

const correction = (time: DueTime): string => `
  WITH wrong AS MATERIALIZED (${tooFar(time)} LIMIT $1)
  UPDATE ${time.table} t SET ${time.column} = w.furthest FROM wrong w
  WHERE ${time.key.map((name) => `t.${name} = w.${name}`).join(' AND ')} AND t.${time.column} > w.furthest
    ${time.rows ? `AND ${time.rows}` : ''}
  RETURNING 1`;

/** The first id of the time by the clock of the company, this much from now. */
const idAt = (ms: number): string => `first_id(now() + (c.clock_offset_ms + (${ms})) * interval '1 ms')`;

const isLater = (column: string): string => `t.${column} > now() + ${toleranceMs} * interval '1 ms'`;

/** While the clock of a sandbox is advanced, what is ahead of it is right. */
const isStill = `(c.clock_moved_until IS NULL OR c.clock_moved_until <= now()) AND ${staysHere('c.id')}`;

/** The companies whose place is ahead of their clock. */
function ahead({ table, ids, at }: ReadPlace): string {
  const signs = [...ids.map((id) => `t.${id} > ${idAt(toleranceMs)}`), ...(at ? [isLater(at)] : [])];
  return `SELECT c.id, c.clock_offset_ms FROM ${table} t JOIN companies c ON c.id = t.company_id
    WHERE (${signs.join(' OR ')}) AND ${isStill}`;
}

/** Returns how many places it has brought back: at most one for each company. */
export async function bringBackPlaces(db: Queryable, place: ReadPlace): Promise<number> {
  const { table, ids, at, backMs } = place;
  const changes = [
    ...ids.map((id) => `${id} = least(t.${id}, ${idAt(-backMs)})`),
    ...(at ? [`${at} = least(t.${at}, now() - ${backMs} * interval '1 ms')`] : []),
  ];
  const rows = await db.query(
    `UPDATE ${table} t SET ${changes.join()} FROM (${ahead(place)}) c WHERE t.company_id = c.id RETURNING 1`,
  );
  return rows.length;
}

/** The companies of which a day was summed before its end, by their clock. */
const summedEarly = `
  SELECT c.id, t.zone, now() + c.clock_offset_ms * interval '1 ms' AS company_now
  FROM figure_states t JOIN companies c ON c.id = t.company_id
  WHERE t.days_until > now() + (c.clock_offset_ms + ${toleranceMs}) * interval '1 ms' AND ${isStill}`;

/** Such a day is summed again when it has ended. Returns how many companies have one. */
export async function reopenDays(db: Queryable): Promise<number> {
  const rows = await db.query(
    `WITH early AS MATERIALIZED (${summedEarly}), reopened AS (
       DELETE FROM figure_days d USING early WHERE d.company_id = early.id AND d.ends_at > early.company_now
     )
     UPDATE figure_states t SET days_until = ${startOf('day_at(early.company_now, early.zone)', 'early.zone')}, due_at = now()
     FROM early WHERE t.company_id = early.id RETURNING 1`,
  );
  return rows.length;
}

const placesAhead = [
  ...readPlaces.map((place) => ({ name: `${place.table}.${place.ids[0]}`, rows: ahead(place) })),
  { name: 'figure_states.days_until', rows: summedEarly },
].map(({ name, rows }) => `SELECT id::text AS company_id, '${name}' AS id FROM (${rows}) places`);

/** For `svc doctor`: the company, and the row with its table and column. */
export const dueTooLate: string = dueTimes
  .map((time) => {
    const company = time.key[0] === 'company_id' ? 'company_id::text' : `'-'`;
    const id = time.key.filter((name) => name !== 'company_id').map((name) => `${name}::text`);
    const shown = [`'${time.table}.${time.column}'`, ...(id.length > 0 ? [id.at(0)] : [])].join(', ');
    return `SELECT ${company} AS company_id, concat_ws(' ', ${shown}) AS id FROM (${tooFar(time)}) ${time.table}`;
  })
  .concat(placesAhead)
  .join('\nUNION ALL ');

/** Returns how many rows it has brought back. */
export async function bringBack(db: Queryable, time: DueTime, batch: number): Promise<number> {
  return (await db.query(correction(time), [batch])).length;
}
