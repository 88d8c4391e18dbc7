import { ApiError } from '../errors.ts';
import type { Database } from '../platform/database.ts';
import type { RequestContext } from '../request-context.ts';
import { AnsweredMeanwhile, attempts, checkSameRequest, inProgress, store, storedAnswer } from './idempotency.ts';
import { type Answer, finishKey, forgetKey, type KeyedRequest, type KeyRow, readKey } from './key-queries.ts';
import { latestVersion } from './versions/versions.ts';

/**
 * A request whose work calls the processor between two transactions, such as a charge. The key is claimed when the intent
 * is recorded, and gets its answer when the outcome is known. Repeating the key continues the operation.
 */
export interface PhasedRequest {
  readonly key: KeyedRequest | undefined;
  /** `apiVersion` is the version of the first request with the key; by default, that of this request. */
  readonly answer: (result: unknown, apiVersion?: string) => Answer;
  readonly refusal: (error: unknown, apiVersion?: string) => Answer | undefined;
  /** Called when the intent is recorded and the outcome is unknown. */
  readonly inDoubt?: () => void;
}

/** For work without an idempotency key, for example of the CLI. The body is the result as JSON. */
export const withoutKey: PhasedRequest = {
  key: undefined,
  answer: (result) => ({ status: 200, body: JSON.stringify(result), apiVersion: latestVersion }),
  refusal: () => undefined,
};

/**
 * For work that the service does on its own and may have to repeat, for example a payment of a checkout session. Refusals are stored
 * with the key, so that what was refused cannot succeed later.
 */
export function keyForWork(
  {
    company,
    nowMs,
    requestId,
  }: Pick<RequestContext, 'nowMs' | 'requestId'> & { readonly company: { readonly id: string } },
  key: string,
  path: string,
): PhasedRequest {
  return {
    key: {
      companyId: company.id,
      key,
      method: 'POST',
      path,
      fieldHashes: {},
      requestId,
      apiVersion: latestVersion,
      versionNamed: false,
      nowMs,
    },
    answer: (result) => ({ status: 201, body: JSON.stringify(result), apiVersion: latestVersion, result }),
    refusal: (error) =>
      error instanceof ApiError && error.stored
        ? {
            status: error.status,
            body: JSON.stringify({ code: error.code, message: error.message, param: error.param }),
            apiVersion: latestVersion,
          }
        : undefined,
  };
}

/** The refusal that such work was answered with. */
export function refusalOf({ status, body }: Answer): ApiError | undefined {
  if (status < 400) return undefined;
  const { code, message, param } = JSON.parse(body) as Pick<ApiError, 'code' | 'message' | 'param'>;
  return new ApiError(code, message, { status, param });
}

export interface Phases<Facts> {
  /** Reads the key together with the facts that `begin` needs, in one statement. */
  readonly find?: (request: KeyedRequest) => Promise<FoundKey<Facts>>;
  /** Claims the key, records the intent and does the work. Returns undefined if another request has claimed the key. */
  readonly begin: (facts: Facts | undefined) => Promise<unknown>;
  /** Continues an operation. Returns undefined if no operation was recorded; the key is then free again. */
  readonly resume: (operationId: string) => Promise<unknown>;
  /** Whether the answer is stored under the key. Orders keep theirs in an event instead. */
  readonly keepAnswer: boolean;
}

interface FoundKey<Facts = undefined> {
  readonly row: KeyRow | undefined;
  /** The answer, where it is not stored under the key. */
  readonly result?: unknown;
  readonly facts?: Facts;
}

type Answered = Answer & { readonly replayed: boolean };

export async function runPhased<Facts = undefined>(
  db: Database,
  request: PhasedRequest,
  phases: Phases<Facts>,
): Promise<Answered> {
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const answered = await attemptPhased(db, request, phases);
    if (answered) return answered;
  }
  throw inProgress();
}

async function attemptPhased<Facts>(
  db: Database,
  request: PhasedRequest,
  phases: Phases<Facts>,
): Promise<Answered | undefined> {
  const { key } = request;
  if (!key) return first(db, request, phases, undefined);
  const found: FoundKey<Facts> = phases.find ? await phases.find(key) : { row: await readKey(db, key) };
  const { row, result, facts } = found;
  if (!row || row.method === null) return first(db, request, phases, facts);
  // A key whose operation is open does not expire.
  const answer = row.expired ? undefined : await again(db, { ...request, key }, phases, row, result);
  if (!answer) await forgetKey(db, key, row);
  return answer;
}

/** The first request with its key. */
async function first<Facts>(
  db: Database,
  { key, answer, refusal, inDoubt }: PhasedRequest,
  { begin, keepAnswer }: Phases<Facts>,
  facts: Facts | undefined,
): Promise<Answered | undefined> {
  try {
    const result = await begin(facts);
    if (result === undefined) return undefined;
    return { ...(await keep(db, keepAnswer ? key : undefined, answer(result))), replayed: false };
  } catch (error) {
    if (error instanceof ApiError && error.unfinished) inDoubt?.();
    const decided = key && refusal(error);
    if (!decided) throw error;
    return (await isStored(db, key, decided)) ? { ...decided, replayed: false } : undefined;
  }
}

/** Returns false if another request has answered meanwhile. */
async function isStored(db: Database, key: KeyedRequest, decided: Answer): Promise<boolean> {
  try {
    await store(db, key, decided);
    return true;
  } catch (failure) {
    if (failure instanceof AnsweredMeanwhile) return false;
    throw failure;
  }
}

/** The key was sent before. Returns undefined if no operation was recorded under it. */
async function again<Facts>(
  db: Database,
  { key, answer, refusal }: PhasedRequest & { readonly key: KeyedRequest },
  { resume, keepAnswer }: Phases<Facts>,
  row: KeyRow,
  keptResult: unknown,
): Promise<Answered | undefined> {
  checkSameRequest(row, key);
  const { operation_id, api_version } = row;
  const answerOf = (result: unknown): Answer | undefined =>
    result === undefined ? undefined : answer(result, api_version);
  const finished = storedAnswer(row) ?? answerOf(keptResult);
  if (finished) return { ...finished, replayed: true };
  if (operation_id === null) return undefined;
  const continued = await resume(operation_id).then(answerOf, (error: unknown) => {
    const decided = refusal(error, api_version);
    if (decided) return decided;
    throw error;
  });
  return continued && { ...(await keep(db, keepAnswer ? key : undefined, continued)), replayed: true };
}

/** If several requests continue the operation at once, the first to store its answer sets the answer for all. */
async function keep(db: Database, key: KeyedRequest | undefined, finished: Answer): Promise<Answer> {
  if (!key || (await finishKey(db, key, finished))) return finished;
  const kept = await readKey(db, key);
  return { ...finished, ...(kept && storedAnswer(kept)) };
}
