import { ApiError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Database, DatabasePool } from '../platform/database.ts';
import { hourMs } from '../platform/durations.ts';
import { keyedHash } from '../platform/secret.ts';

/**
 * One execution per key. The claim is a transaction-level advisory lock: a second request with the key learns
 * at once that the first is under way, and a process that dies lets go of it. The answer is stored in the
 * transaction of the work itself, so there is no moment in which one exists without the other.
 */

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly apiVersion: string;
  /** What the handler returned; absent for refusals and for answers that were stored. */
  readonly result?: unknown;
}

export interface KeyedRequest {
  readonly companyId: string;
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly fieldHashes: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly apiVersion: string;
  /** In a header, rather than taken from the company. */
  readonly versionNamed: boolean;
  readonly nowMs: number;
  /** How the answer is kept, where it shows a secret. */
  readonly seal?: { readonly close: (text: string) => string; readonly open: (text: string) => string };
}

/** A key as it is stored; without a method there is none. */
export interface KeyRow {
  method: string | null;
  path: string;
  field_hashes: Record<string, string>;
  request_id: string;
  /** Null while the answer is still to come: the key stands for an operation then. */
  status: number | null;
  api_version: string;
  version_named: boolean;
  body: string | null;
  operation_id: string | null;
  expired: boolean;
}

interface StoredRow extends KeyRow {
  locked: boolean;
}

// A key whose operation is still open never expires.
const notOpen = `NOT EXISTS (
  SELECT 1 FROM open_transactions t
  WHERE t.company_id = k.company_id AND (t.order_id = k.operation_id OR t.id = k.operation_id)
)`;

/** For statements that read a key along with other things: `k` is the table, and the moment comes as SQL. */
export const keyColumns = (now: string): string =>
  `k.method, k.path, k.field_hashes, k.request_id, k.status, k.api_version, k.version_named, k.body,
   k.operation_id,
   CASE WHEN k.expires_at <= ${now} THEN k.status IS NOT NULL OR ${notOpen} ELSE false END AS expired`;

const keyPattern = new RegExp(`^[A-Za-z0-9_-]{1,${limits.idempotencyKeyLength}}$`);

export function checkIdempotencyKey(header: string | string[] | undefined, required: boolean): string | undefined {
  if (header === undefined) {
    if (!required) return undefined;
    throw new ApiError(
      'missing_idempotency_key',
      'Send the header X-SVC-Idempotency-Key: a new UUID for each new operation, and the same one for a repeat.',
      { param: 'X-SVC-Idempotency-Key' },
    );
  }
  if (typeof header === 'string' && keyPattern.test(header)) return header;
  throw new ApiError(
    'invalid_idempotency_key',
    `An idempotency key must have 1 to ${limits.idempotencyKeyLength} of the characters A-Z, a-z, 0-9, _ and -, for example a UUID.`,
    { param: 'X-SVC-Idempotency-Key' },
  );
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
    return `{${entries.map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`).join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/**
 * A keyed hash for each top-level field: enough to name what differs, useless to who reads the table. Company and
 * field are part of it, so that equal values do not show as equal elsewhere.
 */
export function hashFields(key: Buffer, companyId: string, body: unknown): Record<string, string> {
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  return Object.fromEntries(
    fields.map(([name, value]) => [
      name,
      keyedHash(key, `${companyId}\0${name}\0${canonical(value)}`).toString('base64url', 0, 12),
    ]),
  );
}

const claimStatement = `
  SELECT pg_try_advisory_xact_lock(hashtextextended($1::text || $2, 0)) AS locked,
    ${keyColumns('$3')}
  FROM (SELECT $1::uuid AS company_id, $2::text AS key) wanted
  LEFT JOIN idempotency_keys k USING (company_id, key)`;

// An expired row is replaced, and one that this very request claimed is answered; any other makes the statement touch
// nothing, and the caller looks again.
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

export class AnsweredElsewhere extends Error {}

async function findAnswer(transaction: Database, request: KeyedRequest): Promise<Answer | undefined> {
  const [row] = await transaction.query<StoredRow>(claimStatement, [
    request.companyId,
    request.key,
    new Date(request.nowMs),
  ]);
  if (row && row.method !== null && !row.expired) {
    checkSameRequest(row, request);
    const answer = storedAnswer(row);
    return answer && request.seal ? { ...answer, body: request.seal.open(answer.body) } : answer;
  }
  if (row?.locked) return undefined;
  throw inProgress();
}

export function inProgress(): ApiError {
  const message = 'A request with this idempotency key is in progress. Retry shortly.';
  return new ApiError('request_in_progress', message, { headers: { 'Retry-After': '1' } });
}

export function storedAnswer({ status, body, api_version }: KeyRow): Answer | undefined {
  return status === null || body === null ? undefined : { status, body, apiVersion: api_version };
}

export function checkSameRequest(row: KeyRow, request: KeyedRequest): void {
  const difference = describeDifference(row, request);
  if (!difference) return;
  throw new ApiError(
    'idempotency_key_conflict',
    `This idempotency key was used by request ${row.request_id}, and ${difference} Use a new key for a new operation.`,
    { param: 'X-SVC-Idempotency-Key' },
  );
}

function describeDifference(row: KeyRow, request: KeyedRequest): string | undefined {
  if (row.method !== request.method || row.path !== request.path) return `that was ${row.method} ${row.path}.`;
  const names = new Set([...Object.keys(row.field_hashes), ...Object.keys(request.fieldHashes)]);
  const differing = [...names].filter((name) => row.field_hashes[name] !== request.fieldHashes[name]).toSorted();
  if (differing.length > 0) return `these fields differ: ${differing.join(', ')}.`;
  // A version that neither request named may have changed with the company's settings: that is still the same request.
  if (row.api_version === request.apiVersion || !(row.version_named || request.versionNamed)) return undefined;
  return `that request used version ${row.api_version}, but this one uses ${request.apiVersion}. To repeat it, send the header SVC-Version: ${row.api_version}.`;
}

export async function store(db: Database, request: KeyedRequest, answer: Answer): Promise<void> {
  const expiresAt = keyExpiry(request);
  const rows = await db.query(storeStatement, [
    request.companyId,
    request.key,
    request.method,
    request.path,
    JSON.stringify(request.fieldHashes),
    request.requestId,
    answer.status,
    answer.apiVersion,
    request.seal ? request.seal.close(answer.body) : answer.body,
    expiresAt,
    new Date(request.nowMs),
    request.versionNamed,
  ]);
  if (rows.length === 0) throw new AnsweredElsewhere();
}

export function keyExpiry(request: KeyedRequest): Date {
  return new Date(request.nowMs + limits.idempotencyKeyHours * hourMs);
}

export const attempts = 3;

interface Execution {
  /** What must happen before the transaction, because it takes long or calls others. Not done for a replay. */
  readonly prepare?: () => Promise<unknown>;
  readonly work: (transaction: Database, prepared: unknown) => Promise<Answer>;
  /** From when on the life of the key counts, where the work itself moves the clock. */
  readonly livesFrom?: (prepared: unknown) => number;
}

/**
 * Answers from the store, or runs `work` in a transaction and stores its answer there. `refusal` turns a
 * decided error into the answer to keep; what it does not keep is thrown on and leaves no trace.
 */
export async function runOnce(
  db: DatabasePool,
  request: KeyedRequest,
  execution: Execution,
  refusal: (error: unknown) => Answer | undefined,
): Promise<Answer & { replayed: boolean }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptOnce(db, request, execution, refusal);
    } catch (error) {
      // The lock and the look at the table are two moments: another request may have finished between them.
      if (!(error instanceof AnsweredElsewhere) || attempt === attempts) throw error;
    }
  }
}

async function attemptOnce(
  db: DatabasePool,
  request: KeyedRequest,
  { prepare, work, livesFrom }: Execution,
  refusal: (error: unknown) => Answer | undefined,
): Promise<Answer & { replayed: boolean }> {
  try {
    const stored = prepare && (await findAnswer(db, request));
    if (stored) return { ...stored, replayed: true };
    const prepared = await prepare?.();
    return await db.transaction(async (transaction) => {
      const earlier = await findAnswer(transaction, request);
      if (earlier) return { ...earlier, replayed: true };
      const answer = await work(transaction, prepared);
      await store(transaction, livesFrom ? { ...request, nowMs: livesFrom(prepared) } : request, answer);
      return { ...answer, replayed: false };
    });
  } catch (error) {
    const answer = refusal(error);
    if (!answer) throw error;
    await store(db, request, answer);
    return { ...answer, replayed: false };
  }
}

/**
 * Removes keys that expired by their company's clock; several workers may do so side by side. No clock is behind
 * the real one, so for most companies that is one range of the index; the few with a clock ahead are asked one by one.
 */
export async function reapIdempotencyKeys(db: Database, batch: number): Promise<number> {
  const byRealTime = await db.query(
    `DELETE FROM idempotency_keys WHERE (company_id, key) IN (
       SELECT company_id, key FROM idempotency_keys k
       WHERE expires_at <= now() AND (status IS NOT NULL OR ${notOpen})
       ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
     ) RETURNING 1`,
    [batch],
  );
  const byTheirClock = await db.query(
    `DELETE FROM idempotency_keys WHERE (company_id, key) IN (
       SELECT k.company_id, k.key FROM companies c JOIN idempotency_keys k ON k.company_id = c.id
       WHERE c.clock_offset_ms > 0 AND k.expires_at <= now() + c.clock_offset_ms * interval '1 millisecond'
         AND (k.status IS NOT NULL OR ${notOpen})
       LIMIT $1 FOR UPDATE OF k SKIP LOCKED
     ) RETURNING 1`,
    [batch],
  );
  return byRealTime.length + byTheirClock.length;
}
