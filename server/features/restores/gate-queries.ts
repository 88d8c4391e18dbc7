import { ApiError } from '../../errors.ts';
import type { Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';
import { staysHere } from '../../shards/queries.ts';
import { processorKinds } from '../../vault/processors/kinds.ts';
import type { GateWait } from './gate-waits.ts';

/**
 * The gate of a company: after a restore from a backup nothing moves money until its records were compared with its
 * processors. The statement that records an intent reads it together with the company, so no process can send a charge
 * because it has not heard of the restore.
 */

/** SQL: whether requests of the company `c` may not move money. */
export const isClosed = (c: string): string => `${c}.gate IS NOT DISTINCT FROM 'closed'`;

/** SQL: whether the subscriptions of the company `c` wait. */
export const renewalsWait = (c: string): string => `coalesce(${c}.gate IN ('closed', 'renewals_wait'), false)`;

/** Whether a processor may have executed what the records of the company do not have. */
export async function isBeingCompared(db: Queryable, companyId: string): Promise<boolean> {
  const rows = await db.query(`SELECT 1 FROM companies c WHERE c.id = $1 AND ${renewalsWait('c')}`, [companyId]);
  return rows.length > 0;
}

/** SQL: whether the operation `t` was recorded before the gate of its company closed, and waits for the comparison. */
export const isBehindGate = (t: string): string =>
  anyRow(`company_gates g
  WHERE g.company_id = ${t}.company_id AND g.opened_at IS NULL AND ${t}.opened_at < g.closed_at AND NOT ${t}.adopted`);

/** SQL: whether processors of the company `c` executed operations that its records do not have. It is open again. */
export const remembers = (c: string): string => `coalesce(${c}.gate = 'remembers', false)`;

/** What a processor executed and the records do not have, for an operation that is about to be sent under its reference. */
export interface Kept {
  readonly kind: 'charge' | 'authorization';
  readonly reference: string;
  readonly connection_id: string;
  readonly amount: number | null;
  readonly currency: string | null;
  readonly last4: string | null;
  readonly transaction_id: string;
  readonly executed_ms: number;
  readonly age_ms: number;
}

/** The first charge that a processor executed under one of these references. */
export async function findKept(
  db: Queryable,
  companyId: string,
  references: readonly string[],
): Promise<Kept | undefined> {
  const [row] = await db.query<Kept>(
    `SELECT kind, reference, connection_id, amount, currency, card_last4 AS last4, processor_transaction_id AS transaction_id,
       floor(extract(epoch FROM executed_at) * 1000)::bigint AS executed_ms,
       floor(greatest(0, extract(epoch FROM now() - executed_at)) * 1000)::bigint AS age_ms
     FROM missing_operations WHERE company_id = $1 AND reference = ANY($2::uuid[]) AND kind IN ('charge', 'authorization')
       AND connection_id IS NOT NULL AND dismissed_at IS NULL ORDER BY executed_at LIMIT 1`,
    [companyId, references],
  );
  return row;
}

/** SQL: the reference under which a processor was paid for this cycle of a subscription of the company `c`. */
export const keptReference = (
  c: string,
  subscriptionId: string,
  cycle: string,
): string => `CASE WHEN ${c}.gate = 'remembers' THEN (
  SELECT m.reference FROM missing_operations m WHERE m.company_id = ${c}.id AND m.subscription_id = ${subscriptionId}
    AND m.subscription_cycle = ${cycle} AND m.kind = 'charge' AND m.dismissed_at IS NULL
  ORDER BY m.executed_at LIMIT 1) END`;

/** A connection that was made after the backup. */
interface LostConnection {
  readonly id: string;
  readonly kind: string;
  readonly account: string | null;
}

/** The gate of a company that is not open. */
export interface Gate {
  readonly company_id: string;
  readonly closed_at: Date;
  /** The same with the precision of the database. */
  readonly closing: string;
  /** How long ago it closed, by the clock of the database. */
  readonly age_ms: number;
  readonly books_until: Date | null;
  readonly lost_connections: readonly LostConnection[];
  readonly noticed_by: string;
  readonly detail: string;
  readonly waits_for: GateWait;
  readonly failure: string | null;
  readonly failures: number;
  readonly next_compare_at: Date;
}

const columns = `company_id, closed_at, closed_at::text AS closing, books_until, lost_connections, noticed_by, detail, waits_for,
  failure, failures, next_compare_at, greatest(0, extract(epoch FROM now() - closed_at) * 1000)::float8 AS age_ms`;

/** The kinds of processors that cannot list what they executed. */
const silentKinds = processorKinds.flatMap(({ kind, cannotList }) => (cannotList ? `'${kind}'` : [])).join(', ');

/** SQL: whether the company `c` has a connection whose credentials are stored. */
const connectionOf = (c: string, more = ''): string =>
  anyRow(`processor_connections p WHERE p.company_id = ${c}.id AND p.removed_at IS NULL${more}`);

/**
 * The parts of a statement that close the gates of the companies with processors for which `condition` is true. `restore` has the columns
 * `id`, `noticed_by`, `detail` and `books_until`. If a gate is still closed because of an earlier restore, the comparison
 * begins at the earlier end of the records.
 */
export const closingParts = (restore: string, condition: string, isClosedAgain = true): string => `
  gated AS (
    INSERT INTO company_gates AS g (company_id, restore_id, noticed_by, detail, books_until)
    SELECT c.id, r.id, r.noticed_by, r.detail, r.books_until FROM ${restore} r, companies c
    WHERE c.mode <> 'sandbox' AND ${staysHere('c.id')} AND ${connectionOf('c')} AND ${condition}
    ON CONFLICT (company_id) DO UPDATE SET restore_id = excluded.restore_id, noticed_by = excluded.noticed_by,
      detail = excluded.detail, closed_at = now(), waits_for = 'comparison', failure = NULL, failures = 0,
      next_compare_at = now(), opened_at = NULL, compared_until = NULL,
      books_until = CASE WHEN g.opened_at IS NULL AND (g.books_until IS NULL OR g.books_until < excluded.books_until)
        THEN g.books_until ELSE excluded.books_until END,
      lost_connections = CASE WHEN g.opened_at IS NULL THEN g.lost_connections ELSE excluded.lost_connections END
      ${isClosedAgain ? '' : 'WHERE g.opened_at IS NOT NULL'}
    RETURNING g.company_id, g.lost_connections
  ), closed AS (
    UPDATE companies c SET gate = CASE
      WHEN gated.lost_connections <> '[]' OR ${connectionOf('c', ` AND p.kind NOT IN (${silentKinds})`)} THEN 'closed'
      ELSE 'renewals_wait' END
    FROM gated WHERE c.id = gated.company_id
  )`;

/** Closes the gates of a restore that another version has recorded. */
export async function closeMissingGates(db: Queryable): Promise<void> {
  await db.query(
    `WITH restore AS (SELECT * FROM restores WHERE reconciled_at IS NULL),
     ${closingParts(
       'restore',
       `NOT ${anyRow('company_gates k WHERE k.company_id = c.id AND k.restore_id = r.id')}
          AND ${connectionOf('c', ' AND p.created_at < r.noticed_at')}`,
     )}
     SELECT 1`,
  );
}

export interface EarlierResult {
  readonly companyId: string;
  readonly detail: string;
  readonly executedAt: Date;
  /** The smallest id of that time. */
  readonly beforeId: string;
}

/** SQL for the time of a UUID that begins with it. */
export const timeOfId = (id: string): string =>
  `to_timestamp(('x' || left(replace(${id}::text, '-', ''), 12))::bit(48)::bigint / 1000.0)`;

/** Closes the gate of one company. Returns false if it is closed, or if the operation was found by a comparison. */
export async function closeGate(
  db: Queryable,
  { companyId, detail, executedAt, beforeId }: EarlierResult,
): Promise<boolean> {
  const rows = await db.query(
    `WITH restore AS (
       SELECT NULL::uuid AS id, 'earlier_result' AS noticed_by, $2 AS detail, (
         SELECT ${timeOfId('t.id')} FROM transactions t WHERE t.company_id = $1 AND t.id < $4 ORDER BY t.id DESC LIMIT 1
       ) AS books_until
     ), ${closingParts(
       'restore',
       `c.id = $1 AND NOT ${anyRow('company_gates k WHERE k.company_id = $1 AND k.compared_until >= $3')}
        AND NOT ${anyRow('restores e WHERE e.reconciled_until >= $3')}`,
       false,
     )}
     SELECT company_id FROM gated`,
    [companyId, detail, executedAt, beforeId],
  );
  return rows.length > 0;
}

/** The gates that are not open. */
export async function findGates(db: Queryable): Promise<Gate[]> {
  return db.query<Gate>(
    `SELECT ${columns} FROM company_gates WHERE opened_at IS NULL AND ${staysHere('company_id')} ORDER BY company_id`,
  );
}

export async function findGate(db: Queryable, companyId: string): Promise<Gate | undefined> {
  const [row] = await db.query<Gate>(
    `SELECT ${columns} FROM company_gates WHERE company_id = $1 AND opened_at IS NULL`,
    [companyId],
  );
  return row;
}

/** How many companies wait for what. */
export async function countGates(db: Queryable): Promise<Partial<Record<GateWait, number>>> {
  const rows = await db.query<{ waits_for: GateWait; count: number }>(
    `SELECT waits_for, count(*)::integer AS count FROM company_gates
     WHERE opened_at IS NULL AND ${staysHere('company_id')} GROUP BY 1`,
  );
  return Object.fromEntries(rows.map(({ waits_for, count }) => [waits_for, count]));
}

/** Claims gates whose comparison is due. If this process dies, another one compares them after the lease. */
export async function claimGates(db: Queryable, count: number, leaseMs: number): Promise<Gate[]> {
  return db.query<Gate>(
    `UPDATE company_gates SET next_compare_at = now() + $2 * interval '1 ms' WHERE company_id IN (
       SELECT company_id FROM company_gates WHERE opened_at IS NULL AND next_compare_at <= now() AND ${staysHere('company_id')}
       ORDER BY next_compare_at LIMIT $1 FOR UPDATE SKIP LOCKED
     ) RETURNING ${columns}`,
    [count, leaseMs],
  );
}

type GateKey = Pick<Gate, 'company_id' | 'closing'>;

const isThisClosing = `company_id = $1 AND closed_at = $2::timestamptz AND opened_at IS NULL`;

/** Called while a comparison makes progress. */
export async function renewLease(db: Queryable, gate: GateKey, leaseMs: number): Promise<void> {
  await db.query(`UPDATE company_gates SET next_compare_at = now() + $3 * interval '1 ms' WHERE ${isThisClosing}`, [
    gate.company_id,
    gate.closing,
    leaseMs,
  ]);
}

export interface GateState {
  readonly waitsFor: GateWait;
  readonly failure: string | null;
  readonly failures: number;
  readonly afterMs: number;
}

/** What the gate waits for after a comparison, and when the next one is due. */
export async function keepClosed(
  db: Queryable,
  gate: GateKey,
  { waitsFor, failure, failures, afterMs }: GateState,
): Promise<void> {
  await db.query(
    `UPDATE company_gates SET waits_for = $3, failure = $4, failures = $5, next_compare_at = now() + $6 * interval '1 ms'
     WHERE ${isThisClosing}`,
    [gate.company_id, gate.closing, waitsFor, failure, failures, afterMs],
  );
}

/**
 * Opens the gate after a comparison that covers everything executed until then. Returns false if it was closed again
 * meanwhile.
 */
export async function openGate(db: Queryable, gate: GateKey, until: Date): Promise<boolean> {
  const rows = await db.query(
    `WITH opened AS (
       UPDATE company_gates SET opened_at = now(), compared_until = $3, failure = NULL WHERE ${isThisClosing}
       RETURNING company_id
     ), company AS (
       UPDATE companies c SET gate = CASE WHEN ${anyRow(`missing_operations m WHERE m.company_id = c.id
         AND m.dismissed_at IS NULL`)} THEN 'remembers' END
       FROM opened WHERE c.id = opened.company_id
     ) SELECT 1 FROM opened`,
    [gate.company_id, gate.closing, until],
  );
  return rows.length > 0;
}

/** Longer than a cycle of most subscriptions: during this time a lost operation may be requested again. */
const restoredDays = 35;

/** Whether the records of a company may still miss something that a processor reports. */
export async function wasRestored(db: Queryable, companyId: string): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM company_gates WHERE company_id = $1
       AND (opened_at IS NULL OR opened_at > now() - $2 * interval '1 day')`,
    [companyId, restoredDays],
  );
  return rows.length > 0;
}

/** Ends a restore when no company waits because of it any more. Returns whether one ended. */
export async function finishRestores(db: Queryable): Promise<boolean> {
  const rows = await db.query(
    `UPDATE restores r SET reconciled_at = now(), reconciled_until = coalesce((
       SELECT min(g.compared_until) FROM company_gates g WHERE g.restore_id = r.id), now())
     WHERE r.reconciled_at IS NULL AND NOT ${anyRow(`company_gates g
       WHERE g.restore_id = r.id AND g.opened_at IS NULL AND ${staysHere('g.company_id')}`)}
     RETURNING 1`,
  );
  return rows.length > 0;
}

const waitTexts: Readonly<Record<GateWait, string>> = {
  comparison: 'The comparison is in progress and usually takes one or two minutes.',
  second_list: 'The comparison is in progress.',
  processor: 'A processor has not answered; the service asks it again by itself.',
  connection:
    'A processor that was connected after the backup must be connected again, in the dashboard under Settings, Processors.',
  operator: 'A processor cannot list what it executed, so the operator of the service ends the comparison.',
};
const retrySeconds: Readonly<Record<GateWait, number>> = {
  comparison: 10,
  second_list: 10,
  processor: 30,
  connection: 300,
  operator: 300,
};

/** Throws if requests of the company may not move money. Called when a statement has recorded nothing. */
export const requireOpenGate = (db: Queryable, companyId: string): Promise<void> =>
  refuseWhile(db, companyId, isClosed('c'));

/** Throws until it is known what the processors of the company were paid. */
export const requireCompared = (db: Queryable, companyId: string): Promise<void> =>
  refuseWhile(db, companyId, renewalsWait('c'));

async function refuseWhile(db: Queryable, companyId: string, condition: string): Promise<void> {
  const [row] = await db.query<{ waits_for: GateWait; until: Date | null }>(
    `SELECT coalesce(g.waits_for, 'comparison') AS waits_for,
       CASE WHEN g.waits_for = 'second_list' THEN greatest(now(), g.next_compare_at) END AS until
     FROM companies c LEFT JOIN company_gates g ON g.company_id = c.id WHERE c.id = $1 AND ${condition}`,
    [companyId],
  );
  if (!row) return;
  const { waits_for, until } = row;
  const opens = until ? ` It is expected to end at ${until.toISOString()}.` : '';
  const message = `Nothing was done. The database was restored from a backup, so requests that move money are closed until the records of this company are compared with its processors. ${waitTexts[waits_for]}${opens} Repeat the request later with the same idempotency key.`;
  throw new ApiError('restore_in_progress', message, { headers: { 'Retry-After': String(retrySeconds[waits_for]) } });
}
