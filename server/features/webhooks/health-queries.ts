import type { Queryable } from '../../platform/database.ts';
import type { LogRow } from './queries.ts';

/** What the dashboard shows about the deliveries of an endpoint. Each query reads a bounded number of rows. */

const recentMax = 1_000;

export interface RecentAttempts {
  readonly attempts: number;
  readonly failed: number;
  readonly median_ms: number | null;
  readonly last_success_id: string | null;
}

/** The latest attempts since an id, which begins with its time. */
export async function sumRecentAttempts(
  db: Queryable,
  companyId: string,
  endpointId: string,
  sinceId: string,
): Promise<RecentAttempts> {
  const [row] = await db.query<RecentAttempts>(
    `SELECT count(*)::integer AS attempts, count(*) FILTER (WHERE status = 'failed')::integer AS failed,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms)::integer AS median_ms,
       (max(id::text) FILTER (WHERE status = 'success')) AS last_success_id
     FROM (
       SELECT id, status, duration_ms FROM webhook_delivery_logs
       WHERE company_id = $1 AND endpoint_id = $2 AND id >= $3 ORDER BY id DESC LIMIT ${recentMax}
     ) recent`,
    [companyId, endpointId, sinceId],
  );
  return row ?? { attempts: 0, failed: 0, median_ms: null, last_success_id: null };
}

export async function countFailed(
  db: Queryable,
  companyId: string,
  endpointId: string,
  countMax: number,
): Promise<{ failed: number; first_id: string | null }> {
  const [row] = await db.query<{ failed: number; first_id: string | null }>(
    `SELECT count(*)::integer AS failed, min(event_id::text) AS first_id FROM (
       SELECT event_id FROM webhook_deliveries
       WHERE company_id = $1 AND endpoint_id = $2 AND status = 'failed' ORDER BY event_id DESC LIMIT $3
     ) f`,
    [companyId, endpointId, countMax],
  );
  return row ?? { failed: 0, first_id: null };
}

/** A few failures are normal, because deliveries are repeated. */
export const failingAfter = "interval '15 minutes'";

/** Since when no attempt has succeeded, if that is long enough to call an enabled endpoint failing. */
export async function findFailingSince(
  db: Queryable,
  companyId: string,
  endpointId: string,
  now: Date,
): Promise<Date | null> {
  const [row] = await db.query<{ failing_since: Date }>(
    `SELECT failing_since FROM webhook_endpoints
     WHERE company_id = $1 AND id = $2 AND status = 'enabled' AND failing_since < $3::timestamptz - ${failingAfter}`,
    [companyId, endpointId, now],
  );
  return row?.failing_since ?? null;
}

const attemptsMax = 10_000;

export async function findLastAttempt(
  db: Queryable,
  companyId: string,
  endpointId: string,
  eventId: string,
): Promise<Date | null> {
  const [row] = await db.query<{ last_attempt_at: Date | null }>(
    `SELECT last_attempt_at FROM webhook_deliveries WHERE company_id = $1 AND endpoint_id = $2 AND event_id = $3`,
    [companyId, endpointId, eventId],
  );
  return row?.last_attempt_at ?? null;
}

/**
 * The attempts to deliver one event, latest first. Attempts for other events lie between them, so the search begins at both ends: at
 * the event and at its last attempt.
 */
export async function findAttempts(
  db: Queryable,
  companyId: string,
  endpointId: string,
  eventId: string,
  firstId: string,
  endId: string,
): Promise<LogRow[]> {
  return db.query<LogRow>(
    `SELECT DISTINCT ON (id) id, event_id, event_type, attempt, status, http_status, duration_ms, error, request_headers,
       response_body
     FROM (
       (SELECT * FROM webhook_delivery_logs WHERE company_id = $1 AND endpoint_id = $2 AND id >= $4 AND id < $5
        ORDER BY id LIMIT ${attemptsMax})
       UNION ALL
       (SELECT * FROM webhook_delivery_logs WHERE company_id = $1 AND endpoint_id = $2 AND id >= $4 AND id < $5
        ORDER BY id DESC LIMIT ${attemptsMax})
     ) l WHERE event_id = $3 ORDER BY id DESC LIMIT 100`,
    [companyId, endpointId, eventId, firstId, endId],
  );
}

/** Makes failed deliveries of events since an id due again, oldest first. Returns how many. */
export async function resendFailed(
  db: Queryable,
  companyId: string,
  endpointId: string,
  sinceId: string,
  countMax: number,
): Promise<number> {
  const [row] = await db.query<{ resent: number }>(
    `WITH failed AS (
       SELECT company_id, endpoint_id, event_id, inserted_at FROM webhook_deliveries
       WHERE company_id = $1 AND endpoint_id = $2 AND status = 'failed' AND event_id >= $3
       ORDER BY event_id LIMIT $4 FOR UPDATE SKIP LOCKED
     ), resent AS (
       UPDATE webhook_deliveries d SET status = 'pending',
         next_attempt_at = now() + (SELECT clock_offset_ms FROM companies WHERE id = $1) * interval '1 ms'
       FROM failed f WHERE d.company_id = f.company_id AND d.endpoint_id = f.endpoint_id AND d.event_id = f.event_id
         AND d.inserted_at = f.inserted_at
       RETURNING 1
     )
     SELECT count(*)::integer AS resent FROM resent`,
    [companyId, endpointId, sinceId, countMax],
  );
  await db.query(`SELECT pg_notify('webhooks_due', '')`);
  return row?.resent ?? 0;
}
