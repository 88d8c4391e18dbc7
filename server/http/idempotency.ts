import { ApiError, quoted } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Database, DatabasePool } from '../platform/database.ts';
import type { ServiceKey } from '../platform/service-keys.ts';
import {
  type Answer,
  isUnmet,
  type KeyedRequest,
  type KeyRow,
  KeyTaken,
  lockKey,
  storeAnswer,
  storingAnswer,
  takeKey,
} from './key-queries.ts';

/**
 * Executes a request once per key. The claim is an advisory lock of the transaction: a second request with the key is
 * rejected at once while the first runs, and the lock is released if the process dies. The answer is stored in the
 * transaction of the work, so neither is committed without the other.
 */

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

/** 96 bits in base64url. */
const hashLength = 16;

/** The same text for equal values, with their fields in any order. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  let text = '';
  for (const name of Object.keys(value).toSorted()) {
    text += `${text && ','}${JSON.stringify(name)}:${canonical((value as Record<string, unknown>)[name])}`;
  }
  return `{${text}}`;
}

/**
 * A keyed hash for each top-level field: enough to name what differs, useless to who reads the table. Company and
 * field are part of it, so that equal values do not show as equal elsewhere. Returns one record for each valid key.
 */
export function hashFields(key: ServiceKey, companyId: string, body: unknown): Record<string, string>[] {
  const records: Record<string, string>[] = [{}];
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  for (const [name, value] of fields) {
    const hashes = key.hashTexts(`${companyId}\0${name}\0${canonical(value)}`);
    for (const [index, hash] of hashes.entries()) (records[index] ??= {})[name] = hash.slice(0, hashLength);
  }
  return records;
}

export class AnsweredMeanwhile extends Error {}

async function findAnswer(transaction: Database, request: KeyedRequest): Promise<Answer | undefined> {
  const { row, isLocked } = await lockKey(transaction, request);
  if (row && !row.expired) {
    checkSameRequest(row, request);
    const answer = storedAnswer(row);
    return answer && request.seal ? { ...answer, body: request.seal.open(answer.body) } : answer;
  }
  if (isLocked) return undefined;
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
  if (row.method !== request.method || row.path !== request.path)
    return `that request was ${row.method} ${quoted(row.path)}.`;
  const differing = differingFields(row, request);
  if (differing.length > 0) return `these fields differ: ${quoted(differing.join(', '))}.`;
  // A version that neither request named may have changed with the company's settings: that is still the same request.
  if (row.api_version === request.apiVersion || !(row.version_named || request.versionNamed)) return undefined;
  return `that request used version ${row.api_version}, but this one uses ${request.apiVersion}. To repeat it, send the header SVC-Version: ${row.api_version}.`;
}

/** The stored request was hashed with one of the valid keys; with the others, every field differs. */
function differingFields({ field_hashes: stored }: KeyRow, request: KeyedRequest): string[] {
  const names = [...new Set([...Object.keys(stored), ...Object.keys(request.fieldHashes)])].toSorted();
  const [fewest = []] = [request.fieldHashes, ...(request.earlierHashes ?? [])]
    .map((hashes) => names.filter((name) => stored[name] !== hashes[name]))
    .toSorted((one, other) => one.length - other.length);
  return fewest;
}

export async function store(db: Database, request: KeyedRequest, answer: Answer): Promise<void> {
  if (!(await storeAnswer(db, request, answer))) throw new AnsweredMeanwhile();
}

export const attempts = 3;

interface Execution {
  /** Runs before the transaction, because it takes long or calls other systems. Skipped for a replay. */
  readonly prepare?: () => Promise<unknown>;
  readonly work: (transaction: Database, prepared: unknown) => Promise<Answer>;
  /** The company's clock from which the key expires after 24 hours, for work that moves the clock. */
  readonly livesFrom?: (prepared: unknown) => number;
}

/**
 * Returns the stored answer, or runs `work` in a transaction and stores its answer there. `refusal` returns the answer
 * to store for an error; an error without one is thrown, and nothing is stored.
 */
export async function runOnce(
  db: DatabasePool,
  request: KeyedRequest,
  execution: Execution,
  refusal: (error: unknown) => Answer | undefined,
): Promise<Answered> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptOnce(db, request, execution, refusal);
    } catch (error) {
      // Another request may have stored its answer after this one read the key and before it got the lock.
      if (!(error instanceof AnsweredMeanwhile) || attempt === attempts) throw error;
    }
  }
}

type Answered = Answer & { readonly replayed: boolean };
type Answering = (transaction: Database) => Promise<Answered>;

async function attemptOnce(
  db: DatabasePool,
  request: KeyedRequest,
  { prepare, work, livesFrom }: Execution,
  refusal: (error: unknown) => Answer | undefined,
): Promise<Answered> {
  try {
    const stored = prepare && (await findAnswer(db, request));
    if (stored) return { ...stored, replayed: true };
    const prepared = await prepare?.();
    const kept = livesFrom ? { ...request, nowMs: livesFrom(prepared) } : request;
    const fresh: Answering = async (transaction) => ({ ...(await work(transaction, prepared)), replayed: false });
    return await storing(db, kept, asNew(request, fresh)).catch((error: unknown) => {
      if (!(error instanceof KeyTaken)) throw error;
      return storing(db, kept, asRepeated(request, fresh));
    });
  } catch (error) {
    const answer = refusal(error);
    if (!answer) throw error;
    await store(db, request, answer);
    return { ...answer, replayed: false };
  }
}

/** Almost every key is new. The work is then sent together with the claim: see `takeKey`. */
const asNew =
  (request: KeyedRequest, fresh: Answering): Answering =>
  async (transaction) => {
    // Both have ended before the transaction does, because the work must not use its connection afterwards.
    const [taken, answered] = await Promise.allSettled([takeKey(transaction, request), fresh(transaction)]);
    if (taken.status === 'rejected') throw taken.reason;
    if (answered.status === 'rejected') throw answered.reason;
    return answered.value;
  };

const asRepeated =
  (request: KeyedRequest, fresh: Answering): Answering =>
  async (transaction) => {
    const earlier = await findAnswer(transaction, request);
    return earlier ? { ...earlier, replayed: true } : fresh(transaction);
  };

/** Commits the work together with its answer. */
async function storing(db: DatabasePool, request: KeyedRequest, attempt: Answering): Promise<Answered> {
  let isStoring = false;
  try {
    return await db.transaction(attempt, (answer) => {
      isStoring = !answer.replayed;
      return isStoring ? storingAnswer(request, answer) : undefined;
    });
  } catch (error) {
    throw isStoring && isUnmet(error) ? new AnsweredMeanwhile() : error;
  }
}
