import type { Database, Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';
import { staysHere } from '../../shards/queries.ts';
import { type Figures, hasMark, startOf } from './queries.ts';

/** What the worker does to sum days. */

export interface Timing {
  /** Longer than a transaction stays open, and than clocks differ. */
  readonly graceSeconds: number;
  /** Another time zone means that all days are summed again. A company cannot ask for that all the time. */
  readonly zonePauseSeconds: number;
}

/** A company or a day that failed, and a day with an operation whose outcome is not recorded yet, are tried again later. */
const retryAfter = `interval '5 minutes'`;

/**
 * The companies that are due, the longest first. More days of a company are added after those that it has are summed, so that one with
 * a long history does not hold up the others.
 */
export async function findDueCompanies(db: Queryable, count: number): Promise<string[]> {
  const rows = await db.query<{ company_id: string }>(
    `SELECT s.company_id FROM figure_states s WHERE s.due_at <= now() AND ${staysHere('s.company_id')} AND NOT ${anyRow(
      'figure_days d WHERE d.company_id = s.company_id AND d.figures IS NULL AND d.due_at <= now()',
    )} ORDER BY s.due_at LIMIT $1`,
    [count],
  );
  return rows.map(({ company_id }) => company_id);
}

export async function postponeCompany(db: Queryable, companyId: string): Promise<void> {
  await db.query(`UPDATE figure_states SET due_at = now() + ${retryAfter} WHERE company_id = $1`, [companyId]);
}

/**
 * Takes the next step of a company that is due. It locks the state before it reads the company: a change of the company that commits
 * later makes it due again.
 */
export async function processCompany(db: Database, companyId: string, timing: Timing): Promise<void> {
  await db.transaction(async (transaction) => {
    const [state] = await transaction.query<{ movements_after: string | null }>(
      `SELECT movements_after FROM figure_states WHERE company_id = $1 AND due_at <= now() FOR UPDATE SKIP LOCKED`,
      [companyId],
    );
    if (!state) return;
    if (state.movements_after !== null) await addFirstMovements(transaction, companyId, state.movements_after);
    else if (!(await mustWait(transaction, companyId, timing))) await addEndedDays(transaction, companyId, timing);
  });
}

const subscriptionsAtOnce = 1_000;
/** Shorter than PostgreSQL takes to find a deadlock: a change of subscriptions is never the one that fails. */
const lockTimeout = '500ms';

async function addFirstMovements(db: Queryable, companyId: string, after: string): Promise<void> {
  await db.query(`SET LOCAL lock_timeout = '${lockTimeout}'`);
  const rows = await db.query<{ id: string }>(
    `SELECT s.id, add_first_movements(s) FROM subscriptions s WHERE s.company_id = $1 AND s.id > $2 ORDER BY s.id LIMIT $3`,
    [companyId, after, subscriptionsAtOnce],
  );
  const last = rows.length < subscriptionsAtOnce ? null : rows.at(-1)?.id;
  await db.query('UPDATE figure_states SET movements_after = $2, due_at = now() WHERE company_id = $1', [
    companyId,
    last,
  ]);
}

/**
 * While the clock of a sandbox is advanced, its company waits, because what happens on the way is older than its clock. After that, and
 * the first time, it waits for the grace time: requests that are under way may belong to any day.
 */
async function mustWait(db: Queryable, companyId: string, timing: Timing): Promise<boolean> {
  const rows = await db.query(
    `UPDATE figure_states s SET clock_offset_ms = CASE WHEN w.is_moving THEN -1 ELSE w.clock_offset_ms END,
       due_at = CASE WHEN w.is_moving THEN least(w.clock_moved_until, now() + interval '1 minute') WHEN w.has_moved THEN now() + $2 * interval '1 s'
         ELSE s.zone_since + $3 * interval '1 s' END
     FROM (
       SELECT c.clock_offset_ms, c.clock_moved_until, coalesce(c.clock_moved_until > now(), false) AS is_moving,
         b.clock_offset_ms <> c.clock_offset_ms AS has_moved,
         b.zone <> c.time_zone AND b.zone_since > now() - $3 * interval '1 s' AS is_early
       FROM companies c JOIN figure_states b ON b.company_id = c.id WHERE c.id = $1
     ) w WHERE s.company_id = $1 AND (w.is_moving OR w.has_moved OR w.is_early) RETURNING 1`,
    [companyId, timing.graceSeconds, timing.zonePauseSeconds],
  );
  return rows.length > 0;
}

/** More days are added later, so that no transaction takes long. */
const daysAtOnce = 100;

/**
 * Adds the days that have ended and have any activity. A day is added after the grace time: until then, a request that began in the day
 * may still record its intent.
 */
async function addEndedDays(db: Queryable, companyId: string, { graceSeconds }: Timing): Promise<void> {
  await db.query(
    `WITH RECURSIVE span AS (
       SELECT c.id, c.time_zone AS zone, c.clock_offset_ms, s.zone <> c.time_zone AS is_new,
         day_at(now() + c.clock_offset_ms * interval '1 ms' - $2 * interval '1 s', c.time_zone) AS today,
         CASE WHEN s.zone = c.time_zone THEN s.days_until ELSE 'epoch' END AS since
       FROM companies c JOIN figure_states s ON s.company_id = c.id WHERE c.id = $1
     ), active (number, day) AS (
       SELECT 1, day_at(next_activity(id, since), zone) FROM span
       UNION ALL
       SELECT number + 1, day_at(next_activity(id, ${startOf('day + 1', 'zone')}), zone) FROM active, span
       WHERE day < today AND number <= ${daysAtOnce}
     ), of_another_zone AS (
       DELETE FROM figure_days d USING span WHERE d.company_id = span.id AND d.zone <> span.zone
     ), added AS (
       INSERT INTO figure_days (company_id, zone, day, starts_at, ends_at, due_at)
       SELECT id, zone, day, ${startOf('day', 'zone')}, ${startOf('day + 1', 'zone')}, now()
       FROM active, span WHERE day < today AND number <= ${daysAtOnce}
       ON CONFLICT DO NOTHING
     ), next AS (
       SELECT min(day) AS day FROM active, span WHERE day < today AND number > ${daysAtOnce}
     )
     UPDATE figure_states s SET zone = span.zone, zone_since = CASE WHEN is_new THEN now() ELSE zone_since END,
       days_until = greatest(since, ${startOf('coalesce(next.day, today)', 'span.zone')}),
       due_at = CASE WHEN next.day IS NOT NULL THEN now() ELSE ${startOf('today + 1', 'span.zone')}
         - span.clock_offset_ms * interval '1 ms' + ($2 + 1) * interval '1 s' END
     FROM span, next WHERE s.company_id = span.id`,
    [companyId, graceSeconds],
  );
}

export interface DayKey {
  readonly company_id: string;
  readonly zone: string;
  readonly starts_at: Date;
  readonly ends_at: Date;
}

interface DayToSum extends DayKey {
  /** False if the day was summed before, and has changed since. */
  readonly is_first: boolean;
}

const dayKey = 'd.company_id, d.zone, d.starts_at, d.ends_at';
/** From how many days a run chooses. */
const choice = 5_000;

/** The days to sum: those that were added, and those with a mark. Companies take turns. */
export async function findDaysToSum(db: Queryable, count: number): Promise<DayToSum[]> {
  return db.query<DayToSum>(
    `SELECT ${dayKey}, d.is_first FROM (
       SELECT d.*, row_number() OVER (PARTITION BY d.company_id ORDER BY d.due_at, d.starts_at) AS turn FROM (
         (SELECT ${dayKey}, d.due_at, true AS is_first FROM figure_days d
          WHERE d.figures IS NULL AND d.due_at <= now() AND ${staysHere('d.company_id')} ORDER BY d.due_at LIMIT ${choice})
         UNION
         (SELECT DISTINCT ${dayKey}, d.due_at, false FROM figure_marks m JOIN figure_days d ON ${hasMark}
          WHERE d.figures IS NOT NULL AND d.due_at <= now() AND ${staysHere('d.company_id')} LIMIT ${choice})
       ) d
     ) d ORDER BY d.turn, d.due_at LIMIT $1`,
    [count],
  );
}

/** Companies with a change in a day that had no activity until now. */
export async function findUnlistedMarks(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ company_id: string }>(
    `SELECT DISTINCT m.company_id FROM figure_marks m
     JOIN figure_states s ON s.company_id = m.company_id AND m.at < s.days_until
     WHERE ${staysHere('m.company_id')} AND NOT EXISTS (SELECT 1 FROM figure_days d WHERE ${hasMark})`,
  );
  return rows.map(({ company_id }) => company_id);
}

/** The day of such a change gets a row again. */
export async function addMarkedDays(db: Queryable, companyId: string): Promise<void> {
  await db.query(
    `INSERT INTO figure_days (company_id, zone, day, starts_at, ends_at, due_at)
     SELECT DISTINCT company_id, zone, day, ${startOf('day', 'zone')}, ${startOf('day + 1', 'zone')}, now()
     FROM (SELECT m.company_id, s.zone, day_at(m.at, s.zone) AS day FROM figure_marks m
       JOIN figure_states s ON s.company_id = m.company_id AND m.at < s.days_until
       WHERE m.company_id = $1 AND NOT EXISTS (SELECT 1 FROM figure_days d WHERE ${hasMark})) marked
     ON CONFLICT DO NOTHING`,
    [companyId],
  );
}

const isDay = 'company_id = $1 AND starts_at = $2 AND zone = $3';
const keyOf = ({ company_id, starts_at, zone }: DayKey): unknown[] => [company_id, starts_at, zone];

export async function postponeDay(db: Queryable, day: DayKey): Promise<void> {
  await db.query(`UPDATE figure_days SET due_at = now() + ${retryAfter} WHERE ${isDay}`, keyOf(day));
}

/**
 * Sums a day. The marks are removed before the sums are made: a change that is committed later keeps its mark. Two workers take turns
 * by the lock of the row.
 */
export async function sumDay(db: Database, day: DayKey): Promise<boolean> {
  return db.transaction(async (transaction) => {
    const key = keyOf(day);
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
        `UPDATE figure_days SET figures = NULL, due_at = now() + ${retryAfter} WHERE ${isDay}`,
        key,
      );
    } else if (Object.keys(sums.figures).length === 0) {
      await transaction.query(`DELETE FROM figure_days WHERE ${isDay}`, key);
    } else {
      await transaction.query(`UPDATE figure_days SET figures = $4, due_at = now() WHERE ${isDay}`, [
        ...key,
        sums.figures,
      ]);
    }
    return true;
  });
}
