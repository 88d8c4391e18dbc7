import type { Mode } from '../../company.ts';
import type { Queryable } from '../../platform/database.ts';
import type { StoredEvent } from '../events/service.ts';
import { rowsOf } from '../../platform/rows.ts';
import { ofClocksAhead } from '../../platform/sql.ts';
import { staysHere } from '../../shards/queries.ts';

/** Deliveries in progress: each is claimed by one worker, and any number of workers run in parallel. */

/** The endpoint of deliveries, as it was when they were claimed. */
export interface Receiver {
  readonly company_id: string;
  readonly endpoint_id: string;
  readonly mode: Mode;
  readonly clock_offset_ms: number;
  /** Null if the endpoint was deleted. */
  readonly status: 'enabled' | 'disabled' | null;
  readonly url: string;
  readonly api_version: string;
  /** Encrypted, in base64. */
  readonly secrets: readonly string[];
}

interface Claimed {
  readonly company_id: string;
  readonly endpoint_id: string;
  readonly event_id: string;
  readonly inserted_at: string;
  /** Including this attempt. */
  readonly attempts: number;
}

export interface ClaimedDelivery extends Claimed {
  readonly event: StoredEvent;
  readonly receiver: Receiver;
}

// Returns deliveries in the order of their events, since those of one commit are due at the same time. Returns each
// event and each receiver once, however many deliveries they have. LIMIT keeps each lookup a lookup by the full key:
// with a join, PostgreSQL may read all events of the company for each delivery, by a plan made when there were few.
// The objects are passed as texts between control characters, which JSON does not contain: they are sent as they are.
const describeClaimed = `
  SELECT deliveries, events, objects, previous, receivers FROM (
    SELECT json_agg(c ORDER BY c.event_id) AS deliveries
    FROM (SELECT endpoint_id, event_id, inserted_at, attempts FROM claimed) c
  ) d CROSS JOIN (
    SELECT json_agg(json_build_object('id', id, 'type', type, 'sequence', sequence, 'request_id', request_id,
        'trace', trace)) AS events,
      string_agg(object::text, E'\\x1e') AS objects, string_agg(coalesce(previous::text, ''), E'\\x1e') AS previous
    FROM (SELECT DISTINCT company_id, event_id, event_inserted_at FROM claimed) c
    CROSS JOIN LATERAL (
      SELECT id, type, sequence, request_id, object, previous, trace FROM events
      WHERE company_id = c.company_id AND id = c.event_id AND inserted_at = c.event_inserted_at LIMIT 1
    ) e
  ) e CROSS JOIN (
    SELECT json_agg(r) AS receivers FROM (
      SELECT c.company_id, c.endpoint_id, companies.mode, companies.clock_offset_ms, w.status, w.url, w.api_version,
        ARRAY[encode(w.secret, 'base64')] || ARRAY(
          SELECT encode(secret, 'base64') FROM unnest(w.previous_secrets, w.previous_secrets_until)
            WITH ORDINALITY AS p (secret, until, place) WHERE until > now() ORDER BY place) AS secrets
      FROM (SELECT DISTINCT company_id, endpoint_id FROM claimed) c
      JOIN companies ON companies.id = c.company_id
      LEFT JOIN webhook_endpoints w ON w.company_id = c.company_id AND w.id = c.endpoint_id
    ) r
  ) r`;
const separator = '\u001e';

// How many deliveries of the queue are read: a receiver with a long queue must not hide the others behind it.
const window = 1_000;

const claim = (due: string): string => `
  WITH first AS (
    SELECT d.company_id, d.endpoint_id, d.event_id, d.inserted_at, ${due}
  ), candidates AS (
    SELECT *, row_number() OVER (PARTITION BY company_id, endpoint_id ORDER BY due_at) AS place FROM first
  ), taken AS (
    SELECT d.company_id, d.endpoint_id, d.event_id, d.inserted_at
    FROM (SELECT * FROM candidates WHERE place <= $3 ORDER BY due_at) c
    CROSS JOIN LATERAL (
      SELECT company_id, endpoint_id, event_id, inserted_at, status, claimed_by FROM webhook_deliveries l
      WHERE l.company_id = c.company_id AND l.endpoint_id = c.endpoint_id AND l.event_id = c.event_id
        AND l.inserted_at = c.inserted_at LIMIT 1 FOR UPDATE SKIP LOCKED
    ) d
    WHERE d.status = 'pending' AND d.claimed_by IS NULL LIMIT $4
  ), claimed AS (
    UPDATE webhook_deliveries d SET claimed_by = $1, claimed_at = now(), attempts = d.attempts + 1 FROM taken t
    WHERE d.company_id = t.company_id AND d.endpoint_id = t.endpoint_id AND d.event_id = t.event_id
      AND d.inserted_at = t.inserted_at
    RETURNING d.company_id, d.endpoint_id, d.event_id, d.inserted_at, d.event_inserted_at, d.attempts
  ) ${describeClaimed}`;

const unclaimed = `d.status = 'pending' AND d.claimed_by IS NULL AND ${staysHere('d.company_id')}`;
const inOrder = `ORDER BY due_at LIMIT ${window}`;

// Deliveries are due by the clock of their company. No clock is behind real time, so what is due by real time is due
// by any clock, and the others are few.
const claimByRealTime = claim(`d.next_attempt_at AS due_at FROM webhook_deliveries d
  WHERE ${unclaimed} AND d.endpoint_id <> ALL($2::uuid[]) AND d.next_attempt_at <= now() ${inOrder}`);
const dueOfCompany = `SELECT d.* FROM webhook_deliveries d
  WHERE d.company_id = c.id AND ${unclaimed} AND d.endpoint_id <> ALL($2::uuid[])
    AND d.next_attempt_at <= now() + c.clock_offset_ms * interval '1 ms' ORDER BY d.next_attempt_at LIMIT ${window}`;
const claimByTheirClock = claim(`d.next_attempt_at - c.clock_offset_ms * interval '1 ms' AS due_at
  FROM ${ofClocksAhead(dueOfCompany, 'd')} ${inOrder}`);
const claimOfSome = (count: number): string =>
  claim(`d.next_attempt_at AS due_at FROM webhook_deliveries d
    WHERE ${unclaimed} AND d.endpoint_id = ANY($2::uuid[]) AND d.next_attempt_at <= now()
    ORDER BY due_at LIMIT ${count}`);
// Of few endpoints, no more is read than can be taken. PostgreSQL chooses a plan by the number, so it is a constant.
const claimsOfSome = [200, 400].map((count) => ({ count, statement: claimOfSome(count) }));
const claimOfMany = claimOfSome(window);

export interface ClaimRequest {
  readonly workerId: string;
  /** Selects endpoints, and whether their company's clock is ahead. */
  readonly of:
    | { readonly only: readonly string[] }
    | { readonly allBut: readonly string[]; readonly by: 'real time' | 'their clock' };
  readonly perEndpoint: number;
  readonly count: number;
}

interface ClaimRow {
  readonly deliveries: Pick<Claimed, 'endpoint_id' | 'event_id' | 'inserted_at' | 'attempts'>[] | null;
  readonly events: Omit<StoredEvent, 'object' | 'previous'>[] | null;
  readonly objects: string | null;
  /** Empty for an event without previous values. */
  readonly previous: string | null;
  readonly receivers: Receiver[] | null;
}

function deliveriesOf([row]: readonly ClaimRow[]): ClaimedDelivery[] {
  const objects = row?.objects?.split(separator) ?? [];
  const previous = row?.previous?.split(separator) ?? [];
  const events = new Map(
    row?.events?.map((event, index) => [
      event.id,
      { ...event, object: objects[index] as string, previous: previous[index] || null },
    ]),
  );
  const receivers = new Map(row?.receivers?.map((receiver) => [receiver.endpoint_id, receiver]));
  const deliveries: ClaimedDelivery[] = [];
  for (const { endpoint_id, event_id, inserted_at, attempts } of row?.deliveries ?? []) {
    const [event, receiver] = [events.get(event_id), receivers.get(endpoint_id)];
    if (!event || !receiver) continue;
    // A worker holds many deliveries, so they share the ids of their event and their receiver.
    const ids = { company_id: receiver.company_id, endpoint_id: receiver.endpoint_id, event_id: event.id };
    deliveries.push({ ...ids, inserted_at, attempts, event, receiver });
  }
  return deliveries;
}

const statementFor = (wanted: number): string =>
  claimsOfSome.find(({ count }) => count >= wanted)?.statement ?? claimOfMany;

export async function claimDeliveries(db: Queryable, request: ClaimRequest): Promise<ClaimedDelivery[]> {
  const { workerId, of, perEndpoint, count } = request;
  const [statement, endpointIds] =
    'only' in of
      ? [statementFor(of.only.length * perEndpoint), of.only]
      : [of.by === 'real time' ? claimByRealTime : claimByTheirClock, of.allBut];
  return deliveriesOf(await db.query<ClaimRow>(statement, [workerId, endpointIds, perEndpoint, count]));
}

export interface Attempt {
  readonly company_id: string;
  readonly endpoint_id: string;
  readonly event_id: string;
  readonly inserted_at: string;
  readonly log_id: string;
  readonly event_type: string;
  readonly attempt: number;
  readonly succeeded: boolean;
  readonly http_status: number | null;
  readonly duration_ms: number;
  readonly error: string | null;
  readonly request_headers: Readonly<Record<string, string>>;
  readonly response_body: string | null;
  /** By the clock of the company. */
  readonly at: Date;
  readonly next_attempt_at: Date | null;
  /** The clock offset of both times: it may have changed while the receiver delayed the attempt. */
  readonly clock_offset_ms: number;
}

const attemptRows = rowsOf({
  company_id: 'uuid',
  endpoint_id: 'uuid',
  event_id: 'uuid',
  inserted_at: 'timestamptz',
  log_id: 'uuid',
  event_type: 'text',
  attempt: 'integer',
  succeeded: 'boolean',
  http_status: 'integer',
  duration_ms: 'integer',
  error: 'text',
  request_headers: 'json',
  response_body: 'text',
  at: 'timestamptz',
  next_attempt_at: 'timestamptz',
  clock_offset_ms: 'bigint',
});
const workerParameter = `$${1 + attemptRows.count}`;

// A failure counts only while this worker holds the claim: another worker that took it over may have succeeded.
// Endpoints are locked in a fixed order, so that two batches with the same ones cannot deadlock.
const attemptsStatement = `
  WITH attempt AS MATERIALIZED (
    SELECT a.*, (c.clock_offset_ms - a.clock_offset_ms) * interval '1 ms' AS moved
    FROM ${attemptRows.from(1)} AS a JOIN companies c ON c.id = a.company_id
  ), done AS (
    UPDATE webhook_deliveries d SET claimed_by = NULL, last_attempt_at = a.at,
      next_attempt_at = a.next_attempt_at + a.moved,
      status = CASE WHEN a.succeeded THEN 'delivered' WHEN a.next_attempt_at IS NULL THEN 'failed' ELSE 'pending' END
    FROM attempt a
    WHERE d.company_id = a.company_id AND d.endpoint_id = a.endpoint_id AND d.event_id = a.event_id
      AND d.inserted_at = a.inserted_at AND (a.succeeded OR d.claimed_by = ${workerParameter})
  ), latest AS (
    SELECT DISTINCT ON (company_id, endpoint_id) company_id, endpoint_id, succeeded, at FROM attempt
    ORDER BY company_id, endpoint_id, succeeded DESC, at
  ), turned AS (
    SELECT w.company_id, w.id, l.succeeded, l.at
    FROM latest l JOIN webhook_endpoints w ON w.company_id = l.company_id AND w.id = l.endpoint_id
    WHERE (w.failing_since IS NULL) <> l.succeeded ORDER BY w.company_id, w.id FOR NO KEY UPDATE OF w
  ), failing AS (
    UPDATE webhook_endpoints w SET failing_since = CASE WHEN t.succeeded THEN NULL ELSE t.at END
    FROM turned t WHERE w.company_id = t.company_id AND w.id = t.id
  )
  INSERT INTO webhook_delivery_logs (company_id, endpoint_id, id, event_id, event_type, attempt, status, http_status,
    duration_ms, error, request_headers, response_body)
  SELECT company_id, endpoint_id, log_id, event_id, event_type, attempt,
    CASE WHEN succeeded THEN 'success' ELSE 'failed' END, http_status, duration_ms, error, request_headers,
    response_body
  FROM attempt`;

export async function recordAttempts(db: Queryable, workerId: string, attempts: readonly Attempt[]): Promise<void> {
  await db.query(attemptsStatement, [...attemptRows.values(attempts), workerId]);
}

/** Returns deliveries of one endpoint to the queue unchanged, because they were not attempted. */
export async function returnDeliveries(db: Queryable, workerId: string, deliveries: readonly Claimed[]): Promise<void> {
  const [first] = deliveries;
  if (!first) return;
  await db.query(
    `UPDATE webhook_deliveries SET claimed_by = NULL, attempts = attempts - 1
     WHERE company_id = $2 AND endpoint_id = $3 AND event_id = ANY($4::uuid[]) AND status = 'pending' AND claimed_by = $1`,
    [workerId, first.company_id, first.endpoint_id, deliveries.map(({ event_id }) => event_id)],
  );
}

/**
 * Releases claims of this worker that it does not know, because the answer to the claim was lost after the commit. It
 * must not run during a claim, whose deliveries the worker does not know yet either.
 */
export async function releaseUnknownClaims(db: Queryable, workerId: string, held: readonly Claimed[]): Promise<number> {
  const rows = await db.query(
    `UPDATE webhook_deliveries d SET claimed_by = NULL, attempts = d.attempts - 1
     WHERE d.status = 'pending' AND d.claimed_by = $1 AND NOT EXISTS (
       SELECT 1 FROM unnest($2::uuid[], $3::uuid[]) AS held (endpoint_id, event_id)
       WHERE held.endpoint_id = d.endpoint_id AND held.event_id = d.event_id)
     RETURNING 1`,
    [workerId, held.map(({ endpoint_id }) => endpoint_id), held.map(({ event_id }) => event_id)],
  );
  return rows.length;
}

/** Releases all claims of this worker, without an attempt. */
export async function releaseClaims(db: Queryable, workerId: string): Promise<void> {
  await db.query(
    `WITH mine AS (
       UPDATE webhook_deliveries SET claimed_by = NULL, attempts = attempts - 1
       WHERE status = 'pending' AND claimed_by = $1 AND ${staysHere('company_id')}
     ) DELETE FROM workers WHERE id = $1`,
    [workerId],
  );
}

/**
 * Records that this worker is alive, and releases the claims of dead workers. `orphansToo` also searches for claims
 * of unknown workers, which reads all pending deliveries.
 */
export async function keepAlive(
  db: Queryable,
  workerId: string,
  silenceMs: number,
  orphansToo: boolean,
): Promise<number> {
  await db.query(
    `INSERT INTO workers (id, seen_at) VALUES ($1, now()) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`,
    [workerId],
  );
  const dead = await db.query<{ id: string }>(`SELECT id FROM workers WHERE seen_at < now() - $1 * interval '1 ms'`, [
    silenceMs,
  ]);
  if (dead.length === 0 && !orphansToo) return 0;
  // A dead worker is deleted together with its claims, so that a crash here leaves both to the next worker.
  const rows = await db.query(
    `WITH deleted_workers AS (DELETE FROM workers WHERE id = ANY($1::uuid[]))
     UPDATE webhook_deliveries SET claimed_by = NULL
     WHERE status = 'pending' AND claimed_by IS NOT NULL AND ${staysHere('company_id')}
       AND (claimed_by = ANY($1::uuid[]) OR claimed_by NOT IN (SELECT id FROM workers))
     RETURNING 1`,
    [dead.map(({ id }) => id)],
  );
  return rows.length;
}

/**
 * Finds endpoints with only failures for this long, by the clock of their company. The latest failure must be that
 * recent: a delivery that failed for good days ago proves nothing about today.
 */
export async function findFailing(
  db: Queryable,
  failingMs: number,
): Promise<{ companyId: string; endpointId: string }[]> {
  const rows = await db.query<{ company_id: string; id: string }>(
    `SELECT w.company_id, w.id FROM webhook_endpoints w
     WHERE w.status = 'enabled' AND w.failing_since IS NOT NULL AND ${staysHere('w.company_id')} AND EXISTS (
       SELECT 1 FROM webhook_deliveries d WHERE d.company_id = w.company_id AND d.endpoint_id = w.id
         AND d.status <> 'delivered' AND d.last_attempt_at >= w.failing_since + $1::bigint * interval '1 ms')`,
    [failingMs],
  );
  return rows.map((row) => ({ companyId: row.company_id, endpointId: row.id }));
}

const nowOfCompany = `(SELECT now() + clock_offset_ms * interval '1 ms' FROM companies WHERE id = $1)`;

interface ReplayRow {
  status: 'pending' | 'delivered' | 'failed';
}

/**
 * Resends an event, or sends it for the first time to an endpoint that was disabled then. Returns undefined if there
 * is no such event; a delivered event is not resent unless `force` is set.
 */
export async function replayDelivery(
  db: Queryable,
  companyId: string,
  endpointId: string,
  eventId: string,
  force: boolean,
): Promise<{ replayed: boolean } | undefined> {
  const [event] = await db.query<{ inserted_at: string }>(
    `SELECT inserted_at::text AS inserted_at FROM events WHERE company_id = $1 AND id = $2`,
    [companyId, eventId],
  );
  if (!event) return undefined;
  // Serializes two calls, so that they do not both insert the first delivery.
  await db.query(`SELECT pg_advisory_xact_lock(hashtextextended($1::text || $2::text, 0))`, [endpointId, eventId]);
  const [known] = await db.query<ReplayRow>(
    `SELECT status FROM webhook_deliveries WHERE company_id = $1 AND endpoint_id = $2 AND event_id = $3 FOR UPDATE`,
    [companyId, endpointId, eventId],
  );
  if (known?.status === 'delivered' && !force) return { replayed: false };
  if (known) {
    await db.query(
      `UPDATE webhook_deliveries SET status = 'pending', next_attempt_at = ${nowOfCompany}
       WHERE company_id = $1 AND endpoint_id = $2 AND event_id = $3`,
      [companyId, endpointId, eventId],
    );
  } else {
    await db.query(
      `INSERT INTO webhook_deliveries (company_id, endpoint_id, event_id, event_inserted_at, next_attempt_at)
       VALUES ($1, $2, $3, $4, ${nowOfCompany})`,
      [companyId, endpointId, eventId, event.inserted_at],
    );
  }
  await db.query(`SELECT pg_notify('webhooks_due', '')`);
  return { replayed: true };
}

/** Counts the deliveries that are due by real time, up to a limit. */
export async function countDueDeliveries(
  db: Queryable,
  countMax: number,
): Promise<{ due: number; oldestSeconds: number }> {
  const [row] = await db.query<{ due: number; oldest: number | null }>(
    `SELECT count(*)::integer AS due, extract(epoch FROM now() - min(next_attempt_at))::float8 AS oldest
     FROM (SELECT next_attempt_at FROM webhook_deliveries WHERE status = 'pending' AND next_attempt_at <= now()
           ORDER BY next_attempt_at LIMIT $1) first`,
    [countMax],
  );
  return { due: row?.due ?? 0, oldestSeconds: row?.oldest ?? 0 };
}
