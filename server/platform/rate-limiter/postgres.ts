import { clockToleranceUs, decideAll, paceOf, toMicroseconds } from './rate-limiter.ts';
import type { RateCheck, RateLimiter } from './rate-limiter.ts';

export type Query = (text: string, values: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

// The column holds milliseconds, as all times here do. A float8 of this size distinguishes thousandths, so rounding
// returns the exact microsecond that was written.
//
// Rows are locked in the order of their keys (no deadlocks) and read after they are locked (no lost update), before
// the decision over all of them. An ON CONFLICT upsert cannot do that: it would decide row by row.
const takeSql = `
  WITH requested AS (
    SELECT key, interval_us, burst_us
      FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS a (key, interval_us, burst_us)
  ), locked AS MATERIALIZED (
    SELECT key, round(tat_ms * 1000)::bigint AS tat_us FROM rate_limits WHERE key = ANY ($1::text[]) ORDER BY key FOR UPDATE
  ), started AS MATERIALIZED (
    SELECT key, interval_us, burst_us,
           CASE WHEN tat_us > $4::bigint + burst_us + ${clockToleranceUs} THEN $4::bigint
                ELSE greatest(tat_us, $4::bigint) END AS start_us
      FROM locked JOIN requested USING (key)
  ), verdict AS (
    SELECT count(*) = cardinality($1::text[]) AND bool_and(start_us + interval_us <= $4::bigint + burst_us) AS taken
      FROM started
  ), updated AS (
    UPDATE rate_limits SET tat_ms = (start_us + interval_us)::float8 / 1000
      FROM started, verdict
     WHERE verdict.taken AND rate_limits.key = started.key
  )
  SELECT key, start_us::float8 AS start_us FROM started`;

const addMissingSql = `
  INSERT INTO rate_limits (key, tat_ms)
  SELECT key, 0 FROM unnest($1::text[]) AS a (key) ORDER BY key
  ON CONFLICT (key) DO NOTHING`;

// Rows are locked in the order of the keys, as above. `latestArrivalUs` explains how far a bucket can go into debt.
const chargeSql = `
  INSERT INTO rate_limits AS present (key, tat_ms)
  SELECT key, least($4::bigint + charge_us, $4::bigint + debt_us)::float8 / 1000 FROM (${chargesSql()}) charges ORDER BY key
  ON CONFLICT (key) DO UPDATE SET tat_ms = (
    SELECT least(
        CASE WHEN present.tat_ms * 1000 > $4::bigint + burst_us + ${clockToleranceUs} THEN $4::bigint
             ELSE greatest(round(present.tat_ms * 1000)::bigint, $4::bigint) END + charge_us,
        $4::bigint + debt_us
      )::float8 / 1000
      FROM (${chargesSql()}) charges WHERE charges.key = present.key)`;

function chargesSql(): string {
  return `
    SELECT key, burst_us, interval_us * $5::bigint AS charge_us, burst_us + least(burst_us, ${clockToleranceUs}) AS debt_us
      FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS a (key, interval_us, burst_us)`;
}

const giveBackSql = `
  WITH locked AS MATERIALIZED (
    SELECT key, round(tat_ms * 1000)::bigint AS tat_us FROM rate_limits WHERE key = ANY ($1::text[]) ORDER BY key FOR UPDATE
  )
  UPDATE rate_limits SET tat_ms = (tat_us - interval_us)::float8 / 1000
    FROM locked JOIN unnest($1::text[], $2::bigint[]) AS a (key, interval_us) USING (key)
   WHERE rate_limits.key = locked.key`;

// SKIP LOCKED: waiting for a bucket in use would be pointless, and could deadlock.
const sweepSql = `
  DELETE FROM rate_limits
   WHERE key IN (SELECT key FROM rate_limits WHERE tat_ms <= $1::float8 LIMIT $2::int FOR UPDATE SKIP LOCKED)
  RETURNING key`;

const attemptsMax = 3;

export function createPostgresRateLimiter(query: Query): RateLimiter {
  return {
    async consume(checks, nowMs) {
      if (checks.length === 0) return [];
      const nowUs = toMicroseconds(nowMs);
      const values = takeValues(checks, nowUs);
      for (let attempt = 1; attempt <= attemptsMax; attempt++) {
        const { rows } = await query(takeSql, values);
        if (rows.length === checks.length) return decideAll(checks, startsOf(checks, rows), nowUs);
        await query(addMissingSql, [checks.map(({ key }) => key)]);
      }
      throw new Error(`rate_limits rows were deleted ${attemptsMax} times in a row`);
    },
    async charge(checks, amount, nowMs) {
      await query(chargeSql, [...takeValues(checks, toMicroseconds(nowMs)), amount]);
    },
    async giveBack(checks) {
      await query(giveBackSql, [checks.map(({ key }) => key), checks.map(({ limit }) => paceOf(limit).intervalUs)]);
    },
  };
}

/** Removes up to `maxRows` buckets that are full again, and returns how many. For a clean-up job. */
export async function sweepPostgresRateLimits(query: Query, nowMs: number, maxRows: number = 10_000): Promise<number> {
  const { rows } = await query(sweepSql, [nowMs, maxRows]);
  return rows.length;
}

function takeValues(checks: readonly RateCheck[], nowUs: number): unknown[] {
  const paces = checks.map(({ limit }) => paceOf(limit));
  return [
    checks.map(({ key }) => key),
    paces.map(({ intervalUs }) => intervalUs),
    paces.map(({ burstUs }) => burstUs),
    nowUs,
  ];
}

function startsOf(checks: readonly RateCheck[], rows: Record<string, unknown>[]): number[] {
  const startsUs = new Map(rows.map((row) => [row['key'], Number(row['start_us'])]));
  return checks.map(({ key }) => startsUs.get(key) ?? Number.NaN);
}
