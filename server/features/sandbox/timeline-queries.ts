import type { Queryable } from '../../platform/database.ts';
import { dayMs } from '../../platform/durations.ts';
import { firstIdOf } from '../../platform/ids.ts';

/** What happened in a sandbox, as it is recorded. Ids begin with their time by the company's clock. */

export interface RecordedEvent {
  readonly id: string;
  readonly type: string;
  readonly object_id: string;
  readonly customer_id: string | null;
  readonly order_number: string | null;
  readonly subscription_id: string | null;
  readonly plan_name: string | null;
  readonly cycle: number | null;
  /** Of an order that pays for a change of plan. */
  readonly change: number | null;
  readonly attempts: number;
  readonly amount: number | null;
  readonly currency: string | null;
  readonly failure: string | null;
  readonly next_retry_at: string | null;
}

interface Period {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly count: number;
}

const range = ({ fromMs, untilMs }: Period): [string, string] => [firstIdOf(fromMs), firstIdOf(untilMs + 1)];

/** The latest first. */
export async function findEvents(
  db: Queryable,
  companyId: string,
  types: readonly string[],
  period: Period,
): Promise<RecordedEvent[]> {
  return db.query<RecordedEvent>(
    `SELECT e.id, e.type, e.object_id, e.object->>'customer_id' AS customer_id,
       e.object->>'order_number' AS order_number, e.object->>'subscription_id' AS subscription_id,
       coalesce(e.object->'plan'->>'name', (SELECT s.plan_name FROM subscriptions s
         WHERE s.company_id = e.company_id AND s.id = (e.object->>'subscription_id')::uuid)) AS plan_name,
       (e.object->>'subscription_cycle')::integer AS cycle, (e.object->>'subscription_change')::integer AS change,
       coalesce((e.object->>'attempt_count')::integer, 0) AS attempts,
       (e.object->>'total')::float8 AS amount, e.object->>'currency' AS currency,
       e.object->>'failure_code' AS failure, e.object->>'next_retry_at' AS next_retry_at
     FROM events e WHERE e.company_id = $1 AND e.id >= $2 AND e.id < $3 AND e.type = ANY($4)
     ORDER BY e.id DESC LIMIT $5`,
    [companyId, ...range(period), types, period.count],
  );
}

export interface WrittenEmailRow {
  readonly id: string;
  readonly subject: string;
  readonly kind: string;
  readonly customer_id: string;
  readonly object_id: string;
}

export async function findCustomerEmails(db: Queryable, companyId: string, period: Period): Promise<WrittenEmailRow[]> {
  return db.query<WrittenEmailRow>(
    `SELECT id, subject, kind, customer_id, object_id FROM mails
     WHERE company_id = $1 AND kind IS NOT NULL AND customer_id IS NOT NULL AND id >= $2 AND id < $3
     ORDER BY id DESC LIMIT $4`,
    [companyId, ...range(period), period.count],
  );
}

export interface DeliveriesRow {
  readonly endpoint_id: string;
  readonly url: string;
  readonly last_id: string;
  readonly delivered: number;
  readonly failed: number;
}

/** The attempts of each endpoint on each day, as one. */
export async function findDeliveries(db: Queryable, companyId: string, period: Period): Promise<DeliveriesRow[]> {
  return db.query<DeliveriesRow>(
    `SELECT l.endpoint_id, w.url, (array_agg(l.id ORDER BY l.id DESC))[1] AS last_id,
       (count(*) FILTER (WHERE l.status = 'success'))::integer AS delivered,
       (count(*) FILTER (WHERE l.status <> 'success'))::integer AS failed
     FROM webhook_endpoints w JOIN webhook_delivery_logs l ON l.company_id = w.company_id AND l.endpoint_id = w.id
     WHERE w.company_id = $1 AND l.id >= $2 AND l.id < $3
     GROUP BY l.endpoint_id, w.url, ('x' || translate(left(l.id::text, 13), '-', ''))::bit(48)::bigint / $5
     ORDER BY last_id DESC LIMIT $4`,
    [companyId, ...range(period), period.count, dayMs],
  );
}

export async function findExpiredCoupons(
  db: Queryable,
  companyId: string,
  { fromMs, untilMs, count }: Period,
): Promise<{ readonly id: string; readonly name: string; readonly expires_at: Date }[]> {
  return db.query(
    `SELECT id, name, expires_at FROM coupons
     WHERE company_id = $1 AND active AND expires_at > $2 AND expires_at <= $3 ORDER BY expires_at DESC LIMIT $4`,
    [companyId, new Date(fromMs), new Date(untilMs), count],
  );
}
