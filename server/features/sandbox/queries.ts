import type { Queryable } from '../../platform/database.ts';
import { isFreeOrder } from '../orders/authorization-queries.ts';
import { firstIdOf } from '../../platform/ids.ts';

/** Queries for due work of a sandbox company in all features, and for what happened. */

export interface NextDue {
  readonly subscription: Date | null;
  /** When the time of a customer at the bank is over. */
  readonly bank: Date | null;
  /** When held funds are released that were not captured. */
  readonly authorization: Date | null;
  readonly chargeback: Date | null;
  /** The deadline of a dispute that has not been answered. */
  readonly dispute: Date | null;
  /** When the next checkout session expires. */
  readonly checkout: Date | null;
  readonly delivery: Date | null;
  readonly has_receivers: boolean;
}

/**
 * Deliveries of a company that are not finished. Materialized, because the planner would otherwise look for the earliest one
 * in the order of time, among those of all companies.
 */
const ownDeliveries = `own_deliveries AS MATERIALIZED (
  SELECT endpoint_id, next_attempt_at FROM webhook_deliveries WHERE company_id = $1 AND status = 'pending')`;

export async function findNextDue(
  db: Queryable,
  companyId: string,
  endpointsNotWaitedFor: readonly string[],
): Promise<NextDue> {
  const [row] = await db.query<NextDue>(
    `WITH ${ownDeliveries}
     SELECT (SELECT min(due_at) FROM subscriptions WHERE company_id = $1 AND due_at IS NOT NULL) AS subscription,
       (SELECT min(customer_until) FROM open_transactions WHERE company_id = $1 AND state = 'with_customer'
          AND (customer_locked_until IS NULL OR customer_locked_until <= now())) AS bank,
       (SELECT min(capture_before) FROM orders o JOIN companies c ON c.id = o.company_id
        WHERE o.company_id = $1 AND capture_before IS NOT NULL AND ${isFreeOrder}) AS authorization,
       (SELECT min(due_at) FROM scheduled_chargebacks WHERE company_id = $1) AS chargeback,
       (SELECT min(evidence_due_at) FROM disputes WHERE company_id = $1 AND state = 'needs_response') AS dispute,
       (SELECT min(expires_at) FROM checkout_sessions s WHERE company_id = $1 AND status = 'open' AND NOT EXISTS (
          SELECT 1 FROM checkout_payments p
          WHERE p.company_id = s.company_id AND p.session_id = s.id AND p.state = 'open')) AS checkout,
       (SELECT min(next_attempt_at) FROM own_deliveries WHERE endpoint_id <> ALL($2::uuid[])) AS delivery,
       EXISTS (SELECT 1 FROM webhook_endpoints WHERE company_id = $1 AND status = 'enabled') AS has_receivers`,
    [companyId, endpointsNotWaitedFor],
  );
  return (
    row ?? {
      subscription: null,
      bank: null,
      authorization: null,
      chargeback: null,
      dispute: null,
      checkout: null,
      delivery: null,
      has_receivers: false,
    }
  );
}

/** Waits for transactions that have locked a due subscription. Rows are locked in the same order as elsewhere. */
export async function awaitTakenSubscriptions(db: Queryable, companyId: string, now: Date): Promise<void> {
  await db.query(
    'SELECT 1 FROM subscriptions WHERE company_id = $1 AND due_at <= $2 ORDER BY company_id, id FOR KEY SHARE',
    [companyId, now],
  );
}

export async function countChargesUnderWay(db: Queryable, companyId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM open_transactions
     WHERE company_id = $1 AND type IN ('sale', 'auth') AND state = 'sending' AND locked_until > now()`,
    [companyId],
  );
  return row?.count ?? 0;
}

/** Returns the endpoints with deliveries due until then. */
export async function findAwaitedEndpoints(
  db: Queryable,
  companyId: string,
  until: Date,
  notWaitedFor: readonly string[],
): Promise<string[]> {
  const rows = await db.query<{ endpoint_id: string }>(
    `WITH ${ownDeliveries}
     SELECT DISTINCT endpoint_id FROM own_deliveries WHERE next_attempt_at <= $2 AND endpoint_id <> ALL($3::uuid[])`,
    [companyId, until, notWaitedFor],
  );
  return rows.map((row) => row.endpoint_id);
}

export async function wakeDispatchers(db: Queryable): Promise<void> {
  await db.query(`SELECT pg_notify('webhooks_due', '')`);
}

export interface HappenedRow {
  readonly at: Date;
  readonly type: string;
  readonly object_id: string;
  readonly detail: string;
  readonly order_number: string | null;
  readonly cycle: number | null;
  readonly amount: number | null;
  readonly currency: string | null;
}

/**
 * Events and delivery attempts have ids that begin with their time by the company's clock, so a period is a range of
 * ids.
 */
export async function findHappened(
  db: Queryable,
  companyId: string,
  fromMs: number,
  untilMs: number,
  count: number,
): Promise<HappenedRow[]> {
  return db.query<HappenedRow>(
    `SELECT to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) AS at, h.* FROM (
       (SELECT id, type, object_id, coalesce(object->>'status', '') AS detail, object->>'order_number' AS order_number,
          coalesce(object->>'subscription_cycle', object->>'current_cycle')::integer AS cycle,
          (object->>'total')::bigint AS amount, object->>'currency' AS currency
        FROM events WHERE company_id = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $6)
       UNION ALL
       (SELECT l.id, 'webhook.' || CASE l.status WHEN 'success' THEN 'delivered' ELSE 'failed' END, l.endpoint_id,
          l.event_type || ', attempt ' || l.attempt || coalesce(', ' || l.http_status, coalesce(', ' || l.error, '')),
          NULL, NULL, NULL, NULL
        FROM webhook_endpoints w JOIN webhook_delivery_logs l ON l.company_id = w.company_id AND l.endpoint_id = w.id
        WHERE w.company_id = $1 AND l.id >= $2 AND l.id < $3 ORDER BY l.id LIMIT $6)
     ) h
     UNION ALL
     SELECT expires_at, NULL, 'card_token.expired', card_id, 'card ' || last4, NULL, NULL, NULL, NULL
     FROM card_tokens WHERE company_id = $1 AND used_at IS NULL AND expires_at > $4 AND expires_at <= $5
     UNION ALL
     SELECT expires_at, NULL, 'coupon.expired', id, name, NULL, NULL, NULL, NULL
     FROM coupons WHERE company_id = $1 AND active AND expires_at > $4 AND expires_at <= $5
     ORDER BY 1, 2 LIMIT $6`,
    [companyId, firstIdOf(fromMs), firstIdOf(untilMs + 1), new Date(fromMs), new Date(untilMs), count],
  );
}
