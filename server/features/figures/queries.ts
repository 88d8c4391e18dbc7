import type { Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';

/**
 * Sums of whole days. A day that has ended is summed once and stored in `figure_days`. The sums of an open day, and of a day with a
 * mark, are made when they are read. Both use `figures_between`, so the answer is exact at every moment.
 */

/** By currency, then by name. What has no currency is under ''. */
export type Figures = Readonly<Record<string, Readonly<Record<string, number>>>>;

export const startOf = (day: string, zone: string): string => `((${day})::timestamp AT TIME ZONE ${zone})`;
export const hasMark = `d.company_id = m.company_id AND d.starts_at <= m.at AND d.ends_at > m.at`;

export interface Today {
  readonly time_zone: string;
  readonly today: string;
  readonly starts_at: Date;
}

export async function findToday(db: Queryable, companyId: string, now: Date): Promise<Today | undefined> {
  const [row] = await db.query<Today>(
    `SELECT time_zone, day_at($2, time_zone)::text AS today,
       ${startOf('day_at($2, time_zone)', 'time_zone')} AS starts_at FROM companies WHERE id = $1`,
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
