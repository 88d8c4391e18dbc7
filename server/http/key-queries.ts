import { limits } from '../limits.ts';
import { type Database, type Queryable, sqlStateOf, type Statement } from '../platform/database.ts';
import { hourMs } from '../platform/durations.ts';
import { isoTime } from '../platform/iso-time.ts';
import { rowsOf } from '../platform/rows.ts';
import { anyRow, ofClocksAhead } from '../platform/sql.ts';
import { staysHere } from '../shards/queries.ts';

/** All statements about idempotency keys. */

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly apiVersion: string;
  /** The result of the handler; undefined for errors and for stored responses. */
  readonly result?: unknown;
}

export interface KeyedRequest {
  readonly companyId: string;
  /** As it is stored. */
  readonly key: string;
  /** As the client sent it, if it is stored in another form. References of charges are derived from it. */
  readonly sentKey?: string;
  readonly method: string;
  readonly path: string;
  readonly fieldHashes: Readonly<Record<string, string>>;
  /** The hashes with earlier keys, which the stored request may have. */
  readonly earlierHashes?: readonly Readonly<Record<string, string>>[];
  readonly requestId: string;
  readonly apiVersion: string;
  /** Whether the request named the version in a header; otherwise the company's version applies. */
  readonly versionNamed: boolean;
  readonly nowMs: number;
  /** Encrypts the stored response, if it contains a secret. */
  readonly seal?: { readonly close: (text: string) => string; readonly open: (text: string) => string };
}

/** A key as it is stored; `method` is null if there is no such key. */
export interface KeyRow {
  method: string | null;
  path: string;
  field_hashes: Record<string, string>;
  request_id: string;
  /** Null until the response is known: then the key belongs to an operation in progress. */
  status: number | null;
  api_version: string;
  version_named: boolean;
  body: string | null;
  operation_id: string | null;
  expired: boolean;
}

// A key whose operation is still open never expires.
const openTransaction = (column: string): string =>
  anyRow(`open_transactions t WHERE t.company_id = k.company_id AND t.${column} = k.operation_id`);
const notOpen = `NOT (${openTransaction('order_id')} OR ${openTransaction('id')})`;

const isExpired = (now: string): string =>
  `CASE WHEN k.expires_at <= ${now} THEN k.status IS NOT NULL OR ${notOpen} ELSE false END`;

/** Returns the key columns for statements that also read other data: `k` is the table, and `now` is SQL. */
export const keyColumns = (now: string): string =>
  `k.method, k.path, k.field_hashes, k.request_id, k.status, k.api_version, k.version_named, k.body,
   k.operation_id,
   ${isExpired(now)} AS expired`;

/** The claim on a key, as a parameter of a statement. */
export interface Claim {
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly field_hashes: Readonly<Record<string, string>>;
  readonly api_version: string;
  readonly version_named: boolean;
  readonly expires_at: string;
}

export function claimOf(request: KeyedRequest): Claim {
  return {
    key: request.key,
    method: request.method,
    path: request.path,
    field_hashes: request.fieldHashes,
    api_version: request.apiVersion,
    version_named: request.versionNamed,
    expires_at: isoTime(keyExpiryMs(request)),
  };
}

/** The columns of a claim, for `rowsOf`. */
export const claimColumns = {
  key: 'text',
  method: 'text',
  path: 'text',
  field_hashes: 'jsonb',
  api_version: 'text',
  version_named: 'boolean',
  expires_at: 'timestamptz',
} as const;

/**
 * Claims the keys of the rows of `source`, which has the columns of a claim, `company_id`, `request_id` and
 * `operation_id` as SQL. Returns the operations whose key was free.
 */
export const claimKeys = (source: string, operationId: string): string => `
  INSERT INTO idempotency_keys
    (company_id, key, method, path, field_hashes, request_id, api_version, version_named, operation_id, expires_at)
  SELECT company_id, key, method, path, field_hashes, request_id, api_version, version_named, ${operationId}, expires_at
  FROM ${source} ORDER BY company_id, key
  ON CONFLICT DO NOTHING RETURNING operation_id`;

const claimRows = rowsOf({ company_id: 'uuid', request_id: 'text', operation_id: 'uuid', ...claimColumns });
const claimOneStatement = claimKeys(`${claimRows.from(1)} AS claim`, 'operation_id');

/**
 * Runs in the transaction that records the intent, before the request is checked: an earlier request with the same
 * key may have changed the data of these checks. Returns false if the key is taken.
 */
export async function claimKey(
  transaction: Database,
  request: KeyedRequest | undefined,
  operationId: string,
): Promise<boolean> {
  if (!request) return true;
  const { companyId: company_id, requestId: request_id } = request;
  const claim = { company_id, request_id, operation_id: operationId, ...claimOf(request) };
  const rows = await transaction.query(claimOneStatement, claimRows.values([claim]));
  return rows.length === 1;
}

export async function readKey(db: Database, request: KeyedRequest): Promise<KeyRow | undefined> {
  const [row] = await db.query<KeyRow>(
    `SELECT ${keyColumns('$3')} FROM idempotency_keys k WHERE company_id = $1 AND key = $2`,
    [request.companyId, request.key, new Date(request.nowMs)],
  );
  return row;
}

export const sentKeyOf = ({ key, sentKey }: KeyedRequest): string => sentKey ?? key;

/** Returns the one of these keys that is in use. */
export async function findKeyInUse(
  db: Queryable,
  companyId: string,
  keys: readonly string[],
  nowMs: number,
): Promise<string | undefined> {
  const [row] = await db.query<{ key: string }>(
    `SELECT key FROM idempotency_keys k WHERE company_id = $1 AND key = ANY($2) AND NOT ${isExpired('$3')} LIMIT 1`,
    [companyId, keys, new Date(nowMs)],
  );
  return row?.key;
}

const locked = 'pg_try_advisory_xact_lock(hashtextextended($1::text || $2, 0)) AS locked';

/** A division by zero ends the transaction. So what was sent after the statement is not executed. */
const failUnless = (condition: string): string => `1 / (${condition})::integer`;
const divisionByZero = '22012';

const takeStatement = `
  SELECT ${failUnless('locked AND is_free')} FROM (
    SELECT ${locked}, NOT EXISTS (SELECT 1 FROM idempotency_keys WHERE company_id = $1::uuid AND key = $2) AS is_free
  ) taken`;

/** The key is in use or was used. */
export class KeyTaken extends Error {}

/**
 * Takes the advisory lock of a key that was never used, until the transaction ends. Throws `KeyTaken` if that is not
 * possible, and the transaction has then failed: the work can be sent together with this statement.
 */
export async function takeKey(transaction: Database, request: KeyedRequest): Promise<void> {
  try {
    await transaction.query(takeStatement, [request.companyId, request.key]);
  } catch (error) {
    throw isUnmet(error) ? new KeyTaken() : error;
  }
}

/** Whether the condition of `failUnless` was not met. */
export const isUnmet = (error: unknown): boolean => sqlStateOf(error) === divisionByZero;

const lockStatement = `
  SELECT ${locked}, ${keyColumns('$3')}
  FROM (SELECT $1::uuid AS company_id, $2::text AS key) wanted
  LEFT JOIN idempotency_keys k USING (company_id, key)`;

/** Takes the advisory lock of the key until the transaction ends, and reads the key. */
export async function lockKey(
  transaction: Database,
  request: KeyedRequest,
): Promise<{ row: KeyRow | undefined; isLocked: boolean }> {
  const values = [request.companyId, request.key, new Date(request.nowMs)];
  const [row] = await transaction.query<KeyRow & { locked: boolean }>(lockStatement, values);
  return { row: row && row.method !== null ? row : undefined, isLocked: row?.locked === true };
}

// Replaces an expired row, and completes a row that this request claimed. For any other row the statement changes
// nothing, and the caller reads the key again.
const storeStatement = `
  INSERT INTO idempotency_keys AS k
    (company_id, key, method, path, field_hashes, request_id, status, api_version, version_named, body, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $12, $9, $10)
  ON CONFLICT (company_id, key) DO UPDATE SET
    method = excluded.method, path = excluded.path, field_hashes = excluded.field_hashes,
    request_id = excluded.request_id, status = excluded.status, api_version = excluded.api_version,
    version_named = excluded.version_named, body = excluded.body, expires_at = excluded.expires_at, operation_id = NULL
  WHERE (k.status IS NULL AND k.request_id = $6) OR (k.expires_at <= $11 AND (k.status IS NOT NULL OR ${notOpen}))
  RETURNING 1`;
const storeOrFail = `WITH stored AS (${storeStatement}) SELECT ${failUnless('SELECT count(*) FROM stored')}`;

const storeValues = (request: KeyedRequest, answer: Answer): unknown[] => [
  request.companyId,
  request.key,
  request.method,
  request.path,
  JSON.stringify(request.fieldHashes),
  request.requestId,
  answer.status,
  answer.apiVersion,
  request.seal ? request.seal.close(answer.body) : answer.body,
  new Date(keyExpiryMs(request)),
  new Date(request.nowMs),
  request.versionNamed,
];

/** Returns false if another request has stored a response under the key. */
export async function storeAnswer(db: Database, request: KeyedRequest, answer: Answer): Promise<boolean> {
  return (await db.query(storeStatement, storeValues(request, answer))).length === 1;
}

/** As `storeAnswer`, but the statement fails in that case. */
export const storingAnswer = (request: KeyedRequest, answer: Answer): Statement => ({
  text: storeOrFail,
  values: storeValues(request, answer),
});

function keyExpiryMs(request: KeyedRequest): number {
  return request.nowMs + limits.idempotencyKeyHours * hourMs;
}

/** Stores the response of a claimed key. Returns false if the key already has one. */
export async function finishKey(db: Database, request: KeyedRequest, answer: Answer): Promise<boolean> {
  const rows = await db.query(
    `UPDATE idempotency_keys SET status = $3, body = $4, api_version = $5
     WHERE company_id = $1 AND key = $2 AND status IS NULL RETURNING 1`,
    [request.companyId, request.key, answer.status, answer.body, answer.apiVersion],
  );
  return rows.length === 1;
}

/** Deletes the key only if it is unchanged, because another request may have claimed it meanwhile. */
export async function forgetKey(db: Database, request: KeyedRequest, found: KeyRow): Promise<void> {
  await db.query('DELETE FROM idempotency_keys WHERE company_id = $1 AND key = $2 AND request_id = $3', [
    request.companyId,
    request.key,
    found.request_id,
  ]);
}

const expiredOfCompany = `SELECT k.company_id, k.key FROM idempotency_keys k
  WHERE k.company_id = c.id AND k.expires_at <= now() + c.clock_offset_ms * interval '1 ms'
    AND ${staysHere('k.company_id')} AND (k.status IS NOT NULL OR ${notOpen})
  LIMIT $1 FOR UPDATE SKIP LOCKED`;

/**
 * Deletes keys that expired by their company's clock; several workers may run in parallel. No clock is behind real
 * time, so for most companies this is one range of the index; the few companies whose clock is ahead are checked one
 * by one.
 */
export async function reapIdempotencyKeys(db: Queryable, batch: number): Promise<number> {
  const byRealTime = await db.query(
    `DELETE FROM idempotency_keys WHERE (company_id, key) IN (
       SELECT company_id, key FROM idempotency_keys k
       WHERE expires_at <= now() AND ${staysHere('k.company_id')} AND (status IS NOT NULL OR ${notOpen})
       ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
     ) RETURNING 1`,
    [batch],
  );
  const byTheirClock = await db.query(
    `WITH expired AS MATERIALIZED (SELECT e.company_id, e.key FROM ${ofClocksAhead(expiredOfCompany, 'e')} LIMIT $1)
     DELETE FROM idempotency_keys k USING expired e WHERE k.company_id = e.company_id AND k.key = e.key RETURNING 1`,
    [batch],
  );
  return byRealTime.length + byTheirClock.length;
}
