import type { Queryable } from '../../platform/database.ts';
import { staysHere } from '../../shards/queries.ts';
import type { RehearsalStep } from './schemas.ts';

export interface RehearsalRow {
  readonly company_id: string;
  readonly id: string;
  readonly connection_id: string;
  readonly currency: string;
  readonly state: 'running' | 'passed' | 'failed';
  readonly started_at: Date;
  readonly ended_at: Date | null;
  readonly steps: readonly RehearsalStep[];
  /** What later steps need. */
  readonly made: Readonly<Record<string, string>>;
  /** How long the step under way waits already. */
  readonly waited_ms: number;
}

const columns = `company_id, id, connection_id, currency, state, started_at, ended_at, steps, made,
  greatest(0, extract(epoch FROM now() - step_since) * 1000)::float8 AS waited_ms`;

/** A worker that listens on this channel begins at once. */
export const dueChannel = 'rehearsals_due';

/** Undefined if a rehearsal of the connection is running. */
export async function insertRehearsal(
  db: Queryable,
  row: Pick<RehearsalRow, 'company_id' | 'id' | 'connection_id' | 'currency'>,
): Promise<RehearsalRow | undefined> {
  const [made] = await db.query<RehearsalRow>(
    `INSERT INTO rehearsals (company_id, id, connection_id, currency) VALUES ($1, $2, $3, $4)
     ON CONFLICT (company_id, connection_id) WHERE state = 'running' DO NOTHING RETURNING ${columns}`,
    [row.company_id, row.id, row.connection_id, row.currency],
  );
  if (made) await db.query('SELECT pg_notify($1, $2)', [dueChannel, row.company_id]);
  return made;
}

/** The last rehearsal of each connection. */
export async function findLastRehearsals(db: Queryable, companyId: string): Promise<RehearsalRow[]> {
  return db.query<RehearsalRow>(
    `SELECT DISTINCT ON (connection_id) ${columns} FROM rehearsals WHERE company_id = $1 ORDER BY connection_id, id DESC`,
    [companyId],
  );
}

export async function findLastRehearsal(
  db: Queryable,
  companyId: string,
  connectionId: string,
): Promise<RehearsalRow | undefined> {
  const [row] = await db.query<RehearsalRow>(
    `SELECT ${columns} FROM rehearsals WHERE company_id = $1 AND connection_id = $2 ORDER BY id DESC LIMIT 1`,
    [companyId, connectionId],
  );
  return row;
}

/** Claims the rehearsal that waits longest. One whose process died is due again when its lease ends. */
export async function claimRehearsal(db: Queryable, leaseSeconds: number): Promise<RehearsalRow | undefined> {
  const [row] = await db.query<RehearsalRow>(
    `UPDATE rehearsals SET leased_until = now() + $1 * interval '1 s' WHERE (company_id, id) IN (
       SELECT company_id, id FROM rehearsals WHERE state = 'running' AND leased_until <= now() AND ${staysHere('company_id')}
       ORDER BY leased_until LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING ${columns}`,
    [leaseSeconds],
  );
  return row;
}

export interface Turn {
  readonly steps: readonly RehearsalStep[];
  readonly made: Readonly<Record<string, string>>;
  /** Null while steps are left. */
  readonly end: 'passed' | 'failed' | null;
  /** When the next turn is due. */
  readonly pauseSeconds: number;
}

/** Keeps what a turn has found. Nothing changes if another process has continued meanwhile. */
export async function saveTurn(
  db: Queryable,
  { company_id, id, steps: known }: RehearsalRow,
  { steps, made, end, pauseSeconds }: Turn,
): Promise<void> {
  await db.query(
    `UPDATE rehearsals SET steps = $3, made = $4, state = coalesce($5, state), ended_at = CASE WHEN $5 IS NOT NULL THEN now() END,
       step_since = CASE WHEN jsonb_array_length($3::jsonb) > $6 THEN now() ELSE step_since END,
       leased_until = now() + $7 * interval '1 s'
     WHERE company_id = $1 AND id = $2 AND state = 'running' AND jsonb_array_length(steps) = $6`,
    [company_id, id, JSON.stringify(steps), JSON.stringify(made), end, known.length, pauseSeconds],
  );
}

/** The connections that took the charges of an order. */
export async function findConnectionsOf(db: Queryable, companyId: string, orderId: string): Promise<string[]> {
  const rows = await db.query<{ connection_id: string }>(
    `SELECT DISTINCT connection_id FROM transactions WHERE company_id = $1 AND order_id = $2 AND connection_id IS NOT NULL`,
    [companyId, orderId],
  );
  return rows.map(({ connection_id }) => connection_id);
}

export interface NoticesSince {
  /** The type of a notice about one of the orders; null if none came. */
  readonly about: string | null;
  /** The type of another notice. */
  readonly other: string | null;
}

/** What the connection was notified of since then: about a customer's payments, and otherwise. */
export async function findNotices(
  db: Queryable,
  { company_id, connection_id, started_at }: Pick<RehearsalRow, 'company_id' | 'connection_id' | 'started_at'>,
  customerId: string,
): Promise<NoticesSince> {
  const [row] = await db.query<NoticesSince>(
    `WITH came AS (
       SELECT n.type, EXISTS (SELECT 1 FROM transactions t WHERE t.company_id = $1 AND t.customer_id = $4
         AND (strpos(n.about::text, t.reference::text) > 0
           OR strpos(n.about::text, nullif(t.processor_response->>'transaction_id', '')) > 0)) AS is_ours
       FROM processor_notices n WHERE n.company_id = $1 AND n.connection_id = $2 AND n.received_at >= $3
     ) SELECT max(type) FILTER (WHERE is_ours) AS about, max(type) FILTER (WHERE NOT is_ours) AS other FROM came`,
    [company_id, connection_id, started_at, customerId],
  );
  return row ?? { about: null, other: null };
}
