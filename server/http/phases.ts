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
  { key, answer, refusal, inDoubt }: PhasedRequest,
  { find, begin, resume, keepAnswer }: Phases<Facts>,
): Promise<Answered | undefined> {
  const found: FoundKey<Facts> | undefined = key && (find ? await find(key) : { row: await readKey(db, key) });
  const { row, result: keptResult, facts } = found ?? {};
  if (key && row && row.method !== null) {
    // A key whose operation is open does not expire.
    if (row.expired) {
      await forgetKey(db, key, row);
      return undefined;
    }
    checkSameRequest(row, key);
    const finished = storedAnswer(row) ?? (keptResult === undefined ? undefined : answer(keptResult, row.api_version));
    if (finished) return { ...finished, replayed: true };
    const outcome = row.operation_id === null ? undefined : await continued(row.operation_id, row.api_version);
    if (outcome === undefined) {
      await forgetKey(db, key, row);
      return undefined;
    }
    return { ...(await keep(outcome)), replayed: true };
  }
  try {
    const result = await begin(facts);
    return result === undefined ? undefined : { ...(await keep(answer(result))), replayed: false };
  } catch (error) {
    if (error instanceof ApiError && error.unfinished) inDoubt?.();
    const decided = key && refusal(error);
    if (!decided) throw error;
    try {
      await store(db, key, decided);
    } catch (failure) {
      if (failure instanceof AnsweredMeanwhile) return undefined;
      throw failure;
    }
    return { ...decided, replayed: false };
  }

  async function continued(operationId: string, apiVersion: string): Promise<Answer | undefined> {
    try {
      const result = await resume(operationId);
      return result === undefined ? undefined : answer(result, apiVersion);
    } catch (error) {
      const decided = refusal(error, apiVersion);
      if (decided) return decided;
      throw error;
    }
  }

  async function keep(finished: Answer): Promise<Answer> {
    // If several requests continue the operation at once, the first to store its answer sets the answer for all.
    const kept = key && keepAnswer && !(await finishKey(db, key, finished)) ? await readKey(db, key) : undefined;
    return { ...finished, ...(kept && storedAnswer(kept)) };
  }
}
