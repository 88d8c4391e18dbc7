import type { Queryable } from '../../platform/database.ts';
import type { EventFacts } from './envelope.ts';

/** An object and those whose events belong to its history. */
export interface TimelineObjects {
  readonly kind: 'customer' | 'subscription' | 'other';
  readonly ids: readonly string[];
}

const relatedMax = 50;

/** The history of a customer has its cards, orders and subscriptions; that of a subscription has its orders. */
export async function findTimelineObjects(db: Queryable, companyId: string, id: string): Promise<TimelineObjects> {
  const rows = await db.query<{ kind: TimelineObjects['kind']; id: string }>(
    `SELECT 'customer' AS kind, id FROM customers WHERE company_id = $1 AND id = $2
     UNION ALL (SELECT 'customer', id FROM orders WHERE company_id = $1 AND customer_id = $2 ORDER BY id DESC LIMIT $3)
     UNION ALL (SELECT 'customer', id FROM subscriptions WHERE company_id = $1 AND customer_id = $2 ORDER BY id DESC LIMIT $3)
     UNION ALL (SELECT 'customer', id FROM payment_methods
       WHERE company_id = $1 AND customer_id = $2 AND deleted_at IS NULL ORDER BY id DESC LIMIT $3)
     UNION ALL SELECT 'subscription', id FROM subscriptions WHERE company_id = $1 AND id = $2
     UNION ALL (SELECT 'subscription', id FROM orders WHERE company_id = $1 AND subscription_id = $2 ORDER BY id DESC LIMIT $3)`,
    [companyId, id, relatedMax],
  );
  return { kind: rows[0]?.kind ?? 'other', ids: rows.length > 0 ? rows.map((row) => row.id) : [id] };
}

/** The newest first. */
export async function findEventsOf(
  db: Queryable,
  companyId: string,
  objectIds: readonly string[],
  without: readonly string[],
  count: number,
): Promise<EventFacts[]> {
  return db.query<EventFacts>(
    `SELECT id, type, sequence, request_id, object, previous FROM events
     WHERE company_id = $1 AND object_id = ANY($2::uuid[]) AND type <> ALL ($3::text[]) ORDER BY id DESC LIMIT $4`,
    [companyId, objectIds, without, count],
  );
}

export interface ActorRow {
  readonly request_id: string;
  readonly actor_kind: 'key' | 'member' | 'operator';
  readonly actor_name: string;
}

/** Who made these requests to the objects, or to a bulk refund that refunded them. */
export async function findActors(
  db: Queryable,
  companyId: string,
  objectIds: readonly string[],
  requestIds: readonly string[],
): Promise<ActorRow[]> {
  return db.query<ActorRow>(
    `SELECT a.request_id, a.actor_kind, coalesce(m.first_name || ' ' || m.last_name, a.actor_name) AS actor_name
     FROM audit_entries a LEFT JOIN team_members m ON m.company_id = a.company_id AND m.id = a.actor_id
     WHERE a.company_id = $1 AND a.request_id = ANY($3::text[]) AND a.object_id = ANY($2::text[] || ARRAY(
       SELECT id::text FROM bulk_refunds WHERE company_id = $1 AND request_id = ANY($3::text[])))`,
    [companyId, objectIds, requestIds],
  );
}
