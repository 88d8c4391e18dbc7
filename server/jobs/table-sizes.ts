import type { Queryable } from '../platform/database.ts';
import { limits } from '../limits.ts';

/** The size of each table, measured once a day, so that `svc doctor` can say how fast it grows. */

// The partitions of a table count as the table.
const sizes = `
  SELECT coalesce(parent.relname, c.relname)::text AS name, sum(pg_total_relation_size(c.oid))::bigint AS bytes,
    sum(greatest(c.reltuples, 0))::bigint AS rows
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class parent ON parent.oid = i.inhparent
  WHERE n.nspname = 'public' AND c.relkind = 'r' GROUP BY 1`;
const today = `(now() AT TIME ZONE 'UTC')::date`;

/** Job: measures the tables if no process has done so today. */
export async function measureTables(db: Queryable): Promise<void> {
  await db.query(
    `INSERT INTO table_sizes (measured_on, table_name, bytes, rows)
     SELECT ${today}, name, bytes, rows FROM (${sizes}) s
     WHERE NOT EXISTS (SELECT 1 FROM table_sizes WHERE measured_on = ${today}) ON CONFLICT DO NOTHING`,
  );
  await db.query(`DELETE FROM table_sizes WHERE measured_on < ${today} - $1::integer`, [limits.tableSizeDays]);
}

export interface TableSize {
  readonly name: string;
  readonly bytes: number;
  /** An estimate of the database. */
  readonly rows: number;
  /** Since the measurement of a week ago, or the oldest one after it; null without one. */
  readonly bytes_per_day: number | null;
}

const comparedDays = 7;

/** The tables of a database, the largest first. */
export async function readTableSizes(db: Queryable): Promise<TableSize[]> {
  return db.query<TableSize>(
    `SELECT s.name, s.bytes::float8 AS bytes, s.rows::float8 AS rows,
       ((s.bytes - b.bytes) / (${today} - b.measured_on))::float8 AS bytes_per_day
     FROM (${sizes}) s LEFT JOIN LATERAL (
       SELECT measured_on, bytes FROM table_sizes t
       WHERE t.table_name = s.name AND measured_on BETWEEN ${today} - $1::integer AND ${today} - 1
       ORDER BY measured_on LIMIT 1
     ) b ON true ORDER BY s.bytes DESC, s.name`,
    [comparedDays],
  );
}
