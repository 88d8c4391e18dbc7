import type { Database, Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';
import { isSettled } from '../../shards/queries.ts';

/**
 * Sums of whole days. A day that has ended is summed once and stored in `figure_days`. The sums of an open day, and of a day with a
 * mark, are made when they are read. Both use `figures_between`, so the answer is exact at every moment.
 */

/** By currency, then by name. What has no currency is under ''. */
export type Figures = Readonly<Record<string, Readonly<Record<string, number>>>>;

const dayOf = (at: string, zone: string): string => `((${at}) AT TIME ZONE ${zone})::date`;
const startOf = (day: string, zone: string): string => `((${day})::timestamp AT TIME ZONE ${zone})`;
const companyNow = `now() + c.clock_offset_ms * interval '1 ms'`;

/** The first time at which a company has anything to sum. */
const firstActivity = `least(
  (SELECT id_time(id) FROM transactions WHERE company_id = c.id ORDER BY id LIMIT 1),
  (SELECT id_time(id) FROM customers WHERE company_id = c.id ORDER BY id LIMIT 1),
  (SELECT id_time(id) FROM tombstones WHERE company_id = c.id ORDER BY id LIMIT 1),
  (SELECT at FROM subscription_movements WHERE company_id = c.id ORDER BY at LIMIT 1),
  ${companyNow})`;

/** More days are added by the next run, so that no run takes long. */
const daysAtOnce = 400;

/** When a day can be summed. The first time, and after a jump of the clock, requests that are under way may belong to any day. */
const dueAt = `CASE WHEN is_steady THEN greatest(now(), ends_at - clock_offset_ms * interval '1 ms' + $1 * interval '1 s')
  ELSE now() + $1 * interval '1 s' END`;

/**
 * Adds the days that have ended to the companies that are due. A day is summed after the grace time: until then, a request that began
 * in the day may still record its intent. While the clock of a sandbox is advanced, its company waits, because what happens on the
 * way is older than its clock. Returns how many companies it processed.
 */
export async function addEndedDays(db: Database, graceSeconds: number, count: number): Promise<number> {
  return db.transaction(async (transaction) => {
    const rows = await transaction.query(
      `WITH due AS (
         SELECT c.id, c.time_zone AS zone, c.clock_offset_ms,
           s.clock_offset_ms IS NOT DISTINCT FROM c.clock_offset_ms AS is_steady, ${dayOf(companyNow, 'c.time_zone')} AS today,
           ${dayOf(`CASE WHEN s.zone = c.time_zone THEN s.days_until ELSE ${firstActivity} END`, 'c.time_zone')} AS from_day
         FROM companies c LEFT JOIN figure_states s ON s.company_id = c.id
         WHERE (s.company_id IS NULL OR s.due_at <= now() OR s.zone <> c.time_zone OR s.clock_offset_ms <> c.clock_offset_ms)
           AND (c.clock_moved_until IS NULL OR c.clock_moved_until <= now()) AND ${isSettled('c.id')}
         LIMIT $2 FOR NO KEY UPDATE OF c SKIP LOCKED
       ), span AS (
         SELECT *, greatest(from_day, least(today, from_day + ${daysAtOnce})) AS to_day FROM due
       ), of_another_zone AS (
         DELETE FROM figure_days d USING span WHERE d.company_id = span.id AND d.zone <> span.zone
       ), added AS (
         INSERT INTO figure_days (company_id, zone, day, starts_at, ends_at, due_at)
         SELECT id, zone, day, starts_at, ends_at, ${dueAt}
         FROM span, LATERAL (SELECT day, ${startOf('day', 'zone')} AS starts_at, ${startOf('day + 1', 'zone')} AS ends_at
           FROM (SELECT from_day + n AS day FROM generate_series(0, to_day - from_day - 1) n) numbered) days
         WHERE starts_at < ends_at
         ON CONFLICT DO NOTHING
       )
       INSERT INTO figure_states (company_id, zone, clock_offset_ms, days_until, due_at)
       SELECT id, zone, clock_offset_ms, ${startOf('to_day', 'zone')},
         CASE WHEN to_day < today THEN now()
           ELSE ${startOf('today + 1', 'zone')} - clock_offset_ms * interval '1 ms' + interval '1 s' END
       FROM span
       ON CONFLICT (company_id) DO UPDATE SET zone = excluded.zone, clock_offset_ms = excluded.clock_offset_ms,
         days_until = excluded.days_until, due_at = excluded.due_at
       RETURNING 1`,
      [graceSeconds, count],
    );
    return rows.length;
  });
}

interface DayKey {
  readonly company_id: string;
  readonly zone: string;
  readonly starts_at: Date;
  readonly ends_at: Date;
}

const dayKey = 'd.company_id, d.zone, d.starts_at, d.ends_at';
const hasMark = `d.company_id = m.company_id AND d.starts_at <= m.at AND d.ends_at > m.at`;

/** The days to sum: those whose grace time is over, and those with a mark. */
export async function findDaysToSum(db: Queryable, count: number): Promise<DayKey[]> {
  return db.query<DayKey>(
    `(SELECT ${dayKey} FROM figure_days d WHERE d.figures IS NULL AND d.due_at <= now() AND ${isSettled('d.company_id')}
      ORDER BY d.due_at LIMIT $1)
     UNION
     (SELECT ${dayKey} FROM figure_marks m JOIN figure_days d ON ${hasMark}
      WHERE d.figures IS NOT NULL AND ${isSettled('d.company_id')} LIMIT $1)`,
    [count],
  );
}

/** A change in a day that had no activity until now: the day gets a row again. */
export async function addMarkedDays(db: Queryable): Promise<void> {
  await db.query(
    `INSERT INTO figure_days (company_id, zone, day, starts_at, ends_at, due_at)
     SELECT DISTINCT company_id, zone, day, ${startOf('day', 'zone')}, ${startOf('day + 1', 'zone')}, now()
     FROM (SELECT m.company_id, s.zone, ${dayOf('m.at', 's.zone')} AS day FROM figure_marks m
       JOIN figure_states s ON s.company_id = m.company_id AND m.at < s.days_until
       WHERE ${isSettled('m.company_id')} AND NOT EXISTS (SELECT 1 FROM figure_days d WHERE ${hasMark})) marked
     ON CONFLICT DO NOTHING`,
  );
}

/** A day with an operation whose outcome is not recorded yet is tried again later. */
const openRetry = '5 minutes';

/**
 * Sums a day. The marks are removed before the sums are made: a change that is committed later keeps its mark. Two workers take turns
 * by the lock of the row.
 */
export async function sumDay(db: Database, day: DayKey): Promise<boolean> {
  return db.transaction(async (transaction) => {
    const key = [day.company_id, day.starts_at, day.zone];
    const isDay = 'company_id = $1 AND starts_at = $2 AND zone = $3';
    const [held] = await transaction.query(`SELECT 1 FROM figure_days WHERE ${isDay} FOR UPDATE SKIP LOCKED`, key);
    if (!held) return false;
    const span = [day.company_id, day.starts_at, day.ends_at];
    await transaction.query('DELETE FROM figure_marks WHERE company_id = $1 AND at >= $2 AND at < $3', span);
    const [sums] = await transaction.query<{ figures: Figures; is_open: boolean }>(
      `SELECT figures_between($1, $2, $3) AS figures, ${anyRow(`open_transactions
         WHERE company_id = $1 AND type <> 'void' AND id >= first_id($2) AND id < first_id($3)`)} AS is_open`,
      span,
    );
    if (!sums || sums.is_open) {
      await transaction.query(
        `UPDATE figure_days SET figures = NULL, due_at = now() + interval '${openRetry}' WHERE ${isDay}`,
        key,
      );
    } else if (Object.keys(sums.figures).length === 0) {
      await transaction.query(`DELETE FROM figure_days WHERE ${isDay}`, key);
    } else {
      await transaction.query(`UPDATE figure_days SET figures = $4 WHERE ${isDay}`, [...key, sums.figures]);
    }
    return true;
  });
}

export interface Today {
  readonly time_zone: string;
  readonly today: string;
  readonly starts_at: Date;
}

export async function findToday(db: Queryable, companyId: string, now: Date): Promise<Today | undefined> {
  const [row] = await db.query<Today>(
    `SELECT time_zone, ${dayOf('$2::timestamptz', 'time_zone')}::text AS today,
       ${startOf(dayOf('$2::timestamptz', 'time_zone'), 'time_zone')} AS starts_at FROM companies WHERE id = $1`,
    [companyId, now],
  );
  return row;
}

/** The state of the company's figures; none if they are of another zone. */
const stateOf = `SELECT days_until FROM figure_states WHERE company_id = $1 AND zone = $2`;

export interface DayFigures {
  readonly day: string;
  readonly figures: Figures;
}

/** The days with activity, first and last included. Materialized, so that each day is summed once. */
export async function readDays(
  db: Queryable,
  companyId: string,
  zone: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<DayFigures[]> {
  return db.query<DayFigures>(
    `WITH days AS MATERIALIZED (
       SELECT d.day::text, CASE WHEN d.is_marked THEN figures_between($1, d.starts_at, d.ends_at)
         WHEN f.starts_at IS NULL AND d.ends_at <= (${stateOf}) THEN NULL
         ELSE coalesce(f.figures, figures_between($1, d.starts_at, d.ends_at)) END AS figures
       FROM (SELECT b.*, ${anyRow('figure_marks m WHERE m.company_id = $1 AND m.at >= b.starts_at AND m.at < b.ends_at')} AS is_marked
         FROM (SELECT n::date AS day, ${startOf('n::date', '$2')} AS starts_at, ${startOf('n::date + 1', '$2')} AS ends_at
           FROM generate_series($3::date, $4::date, interval '1 day') n) b) d
       LEFT JOIN figure_days f ON f.company_id = $1 AND f.zone = $2 AND f.starts_at = d.starts_at AND f.ends_at = d.ends_at
         AND EXISTS (${stateOf})
     ) SELECT day, figures FROM days WHERE figures IS NOT NULL AND figures <> '{}' ORDER BY day`,
    [companyId, zone, from, to],
  );
}

/** The figures of the same part of a day as has passed today. */
export async function readPartOfDay(
  db: Queryable,
  companyId: string,
  zone: string,
  day: string,
  passedMs: number,
): Promise<Figures> {
  const [row] = await db.query<{ figures: Figures }>(
    `SELECT figures_between($1, starts_at, least(ends_at, starts_at + $4 * interval '1 ms')) AS figures
     FROM (SELECT ${startOf('$3::date', '$2')} AS starts_at, ${startOf('$3::date + 1', '$2')} AS ends_at) d`,
    [companyId, zone, day, passedMs],
  );
  return row?.figures ?? {};
}

export interface Standing {
  readonly currency: string;
  readonly monthly: number;
  readonly subscribers: number;
}

/** What the movements before a day add up to. */
export async function readStanding(
  db: Queryable,
  companyId: string,
  zone: string,
  before: string,
): Promise<Standing[]> {
  return db.query<Standing>(
    `WITH until AS (SELECT ${startOf('$3::date', '$2')} AS at),
     state AS (SELECT coalesce((${stateOf}), '-infinity') AS days_until),
     days AS (
       SELECT d.starts_at, d.ends_at, d.figures, ${anyRow(`figure_marks m WHERE ${hasMark}`)} AS is_marked
       FROM figure_days d, until, state
       WHERE d.company_id = $1 AND d.zone = $2 AND d.ends_at <= least(until.at, state.days_until)
     )
     SELECT currency, sum(monthly)::bigint AS monthly, sum(subscribers)::integer AS subscribers FROM (
       SELECT c.currency, (c.figures->>'monthly')::bigint AS monthly, (c.figures->>'subscribers')::bigint AS subscribers
       FROM days, jsonb_each(days.figures) AS c (currency, figures)
       WHERE days.figures IS NOT NULL AND NOT is_marked AND c.figures ?| '{monthly,subscribers}'
       UNION ALL
       SELECT m.currency, m.monthly, m.subscribers FROM days JOIN subscription_movements m
         ON m.company_id = $1 AND m.at >= days.starts_at AND m.at < days.ends_at
       WHERE days.figures IS NULL OR is_marked
       UNION ALL
       SELECT m.currency, m.monthly, m.subscribers FROM subscription_movements m, until, state
       WHERE m.company_id = $1 AND m.at >= state.days_until AND m.at < until.at
     ) parts GROUP BY currency`,
    [companyId, zone, before],
  );
}
