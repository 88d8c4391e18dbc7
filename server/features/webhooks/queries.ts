import { fetchPage, type ListSource, type Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { type Sql, sql } from '../../platform/sql.ts';
import type { EventType } from '../events/service.ts';

export interface EndpointRow {
  id: string;
  url: string;
  description: string | null;
  enabled_events: string[];
  status: 'enabled' | 'disabled';
  disabled_reason: string | null;
  api_version: string;
  secret: Buffer;
  /** Earlier secrets that still sign, the latest first, each with its own end. */
  previous_secrets: Buffer[];
  previous_secrets_until: Date[];
  updated_at: Date;
}

const endpointColumns = `id, url, description, enabled_events, status, disabled_reason, api_version, secret,
  previous_secrets, previous_secrets_until, updated_at`;

/**
 * Returns undefined if the company is at its limit. Endpoints are counted under a lock, so that two requests cannot
 * both take the last place.
 */
export async function insertEndpoint(
  db: Database,
  companyId: string,
  row: EndpointRow,
  countMax: number,
): Promise<boolean> {
  return db.transaction(async (transaction) => {
    await transaction.query(`SELECT pg_advisory_xact_lock(hashtextextended($1::text || ' webhook endpoints', 0))`, [
      companyId,
    ]);
    const rows = await transaction.query(
      `INSERT INTO webhook_endpoints (company_id, ${endpointColumns})
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, '{}', '{}', $10
       WHERE (SELECT count(*) FROM webhook_endpoints WHERE company_id = $1) < $11 RETURNING 1`,
      [
        companyId,
        row.id,
        row.url,
        row.description,
        row.enabled_events,
        row.status,
        row.disabled_reason,
        row.api_version,
        row.secret,
        row.updated_at,
        countMax,
      ],
    );
    return rows.length === 1;
  });
}

export async function findEndpoint(db: Queryable, companyId: string, id: string): Promise<EndpointRow | undefined> {
  const [row] = await db.query<EndpointRow>(
    `SELECT ${endpointColumns} FROM webhook_endpoints WHERE company_id = $1 AND id = $2`,
    [companyId, id],
  );
  return row;
}

export async function lockEndpoint(db: Queryable, companyId: string, id: string): Promise<EndpointRow | undefined> {
  const [row] = await db.query<EndpointRow>(
    `SELECT ${endpointColumns} FROM webhook_endpoints WHERE company_id = $1 AND id = $2 FOR UPDATE`,
    [companyId, id],
  );
  return row;
}

/** Announces that deliveries are due or, with an id, that the endpoint has changed. */
export const webhooksDueChannel = 'webhooks_due';
const notifyWorkers = `SELECT pg_notify('${webhooksDueChannel}', $1::text)`;

/** Enabling an endpoint resets its failures. */
export async function updateEndpoint(db: Queryable, companyId: string, row: EndpointRow): Promise<void> {
  await db.query(
    `UPDATE webhook_endpoints SET url = $3, description = $4, enabled_events = $5, status = $6, disabled_reason = $7,
       api_version = $8, secret = $9, previous_secrets = $10, previous_secrets_until = $11, updated_at = $12,
       failing_since = CASE WHEN status = 'disabled' AND $6 = 'enabled' THEN NULL ELSE failing_since END
     WHERE company_id = $1 AND id = $2`,
    [
      companyId,
      row.id,
      row.url,
      row.description,
      row.enabled_events,
      row.status,
      row.disabled_reason,
      row.api_version,
      row.secret,
      row.previous_secrets,
      row.previous_secrets_until,
      row.updated_at,
    ],
  );
  await db.query(notifyWorkers, [row.id]);
}

/** Returns undefined if it was not enabled. */
export async function disableOne(
  db: Queryable,
  companyId: string,
  id: string,
  reason: string,
): Promise<(EndpointRow & { sequence: number; clock_offset_ms: number }) | undefined> {
  const columns = endpointColumns.replaceAll(/\w+/g, 'w.$&');
  const [row] = await db.query<EndpointRow & { sequence: number; clock_offset_ms: number }>(
    `UPDATE webhook_endpoints w SET status = 'disabled', disabled_reason = $3, sequence = w.sequence + 1,
       updated_at = now() + c.clock_offset_ms * interval '1 ms'
     FROM companies c WHERE c.id = w.company_id AND w.company_id = $1 AND w.id = $2 AND w.status = 'enabled'
     RETURNING ${columns}, w.sequence, c.clock_offset_ms`,
    [companyId, id, reason],
  );
  if (row) await db.query(notifyWorkers, [id]);
  return row;
}

/** Its deliveries are deleted with it; the events stay. */
export async function deleteEndpoint(db: Queryable, companyId: string, id: string): Promise<boolean> {
  const rows = await db.query(
    `WITH deleted AS (DELETE FROM webhook_endpoints WHERE company_id = $1 AND id = $2 RETURNING 1),
     undelivered AS (DELETE FROM webhook_deliveries WHERE company_id = $1 AND endpoint_id = $2)
     INSERT INTO tombstones (company_id, id, object_type, sort_values)
     SELECT $1, $2, 'webhook_endpoint', '{}' FROM deleted RETURNING 1`,
    [companyId, id],
  );
  await db.query(notifyWorkers, [id]);
  return rows.length === 1;
}

const endpointSource: ListSource = {
  table: 'webhook_endpoints',
  objectType: 'webhook_endpoint',
  columns: endpointColumns,
  sorts: {},
};

export async function listEndpoints(db: Queryable, companyId: string, page: PageRequest): Promise<Page<EndpointRow>> {
  return fetchPage(db, companyId, endpointSource, page, []);
}

export interface DeliveryRow {
  /** The id of the event. */
  id: string;
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
  last_attempt_at: Date | null;
  next_attempt_at: Date | null;
  type: EventType;
  object: object;
  previous: object | null;
}

/** Returns the events for an endpoint, newest first. */
export async function listDeliveries(
  db: Queryable,
  companyId: string,
  endpointId: string,
  status: DeliveryRow['status'] | undefined,
  page: PageRequest,
  eventId?: string,
): Promise<Page<DeliveryRow>> {
  const where: Sql[] = [sql`endpoint_id = ${endpointId}::uuid`];
  if (status) where.push(sql`status = ${status}`);
  if (eventId) where.push(sql`id = ${eventId}::uuid`);
  const source: ListSource = {
    table: 'endpoint_events',
    objectType: 'event',
    columns: 'id, status, attempts, last_attempt_at, next_attempt_at, type, object, previous',
    sorts: {},
  };
  return fetchPage(db, companyId, source, page, where);
}

export interface LogRow {
  id: string;
  event_id: string;
  event_type: EventType;
  attempt: number;
  status: 'success' | 'failed';
  http_status: number | null;
  duration_ms: number;
  error: string | null;
  request_headers: Record<string, string>;
  response_body: string | null;
}

const logSource: ListSource = {
  table: 'webhook_delivery_logs',
  objectType: 'delivery_log',
  columns: `id, event_id, event_type, attempt, status, http_status, duration_ms, error, request_headers, response_body`,
  sorts: {},
};

export async function listLogs(
  db: Queryable,
  companyId: string,
  endpointId: string,
  page: PageRequest,
): Promise<Page<LogRow>> {
  return fetchPage(db, companyId, logSource, page, [sql`endpoint_id = ${endpointId}::uuid`]);
}
