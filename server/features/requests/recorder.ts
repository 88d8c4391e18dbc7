import { limits } from '../../limits.ts';
import type { AnsweredRequest, RequestRecorder } from '../../http/observers.ts';
import type { Clock } from '../../platform/clock.ts';
import { isAway } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { insist } from '../../platform/insist.ts';
import type { Logger } from '../../platform/log.ts';
import { follow } from '../../shards/follow.ts';
import type { ShardDatabase, Shards } from '../../shards/shards.ts';
import { beginningLength, maskedAnswer, maskedBody, maskedQuery, maskText, storable } from './mask.ts';
import { insertRequests, type RequestRow } from './queries.ts';

type RecordedShards = Pick<Shards, 'each' | 'of' | 'find'>;

interface RecorderDependencies {
  readonly shards: RecordedShards;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onDropped: (count: number) => void;
}

const flushEveryMs = 200;
/** Each process writes its own batches. With a shorter time, eight busy processes would write mostly small ones. */
const busyFlushEveryMs = 1_000;
/** After a batch of this size, a process counts as busy. */
const busyCount = 10;
const batchMax = 200;
// Ten megabytes of typical requests, eighty of the largest.
const waitingMax = 5_000;
const lastFlushMs = 2_000;

/** Writes the requests of each shard by itself: one that is away fills only its own queue. */
export function startRecorder(dependencies: RecorderDependencies): RequestRecorder {
  const recorders = new Map<string, ReturnType<typeof recorderOf>>();
  dependencies.shards.each((shard) => recorders.set(shard.name, recorderOf(shard, dependencies)));
  return {
    beginningLength,
    record: (request) => recorders.get(request.company.shard)?.record(request),
    stop: async () => {
      await Promise.all([...recorders.values()].map((recorder) => recorder.stop()));
    },
  };
}

/**
 * Writes requests to the log in the background, in batches, one batch at a time. If the database cannot keep up, the
 * oldest waiting entries are dropped, so that the log never slows down requests or fills the memory.
 */
function recorderOf(
  shard: ShardDatabase,
  { shards, clock, log, onDropped }: RecorderDependencies,
): Pick<RequestRecorder, 'record' | 'stop'> {
  const waiting: RequestRow[] = [];
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> | undefined;
  let isBusy = false;

  async function flush(): Promise<void> {
    isBusy = waiting.length >= busyCount;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchMax);
      await insertRequests(shard.db, batch).catch((error: unknown) =>
        isAway(error) ? drop(batch, error) : insertByCompany(batch),
      );
      if (waiting.length < batchMax) return;
    }
  }

  function drop(rows: readonly RequestRow[], error: unknown): void {
    onDropped(rows.length);
    log.warn({ err: error, count: rows.length }, 'failed to write to the request log');
  }

  /** A company that moves to another shard is refused. Its requests are written there, those of others here. */
  async function insertByCompany(batch: readonly RequestRow[]): Promise<void> {
    const companies = [...Map.groupBy(batch, ({ company_id }) => company_id)];
    await Promise.all(
      companies.map(([id, rows]) =>
        insist(() => follow(shards, { id, shard: shard.name }, ({ db }) => insertRequests(db, rows))).catch(
          (error: unknown) => drop(rows, error),
        ),
      ),
    );
  }

  function flushNow(): void {
    clearTimeout(timer);
    timer = undefined;
    flushing ??= flush().finally(() => {
      flushing = undefined;
      if (waiting.length > 0) flushSoon();
    });
  }

  function flushSoon(): void {
    if (waiting.length >= batchMax) flushNow();
    else timer ??= setTimeout(flushNow, isBusy ? busyFlushEveryMs : flushEveryMs).unref();
  }

  return {
    record(request) {
      if (waiting.length >= waitingMax) {
        waiting.shift();
        onDropped(1);
      }
      waiting.push(rowOf(request, newId(clock.nowMs())));
      if (!flushing) flushSoon();
    },
    async stop() {
      const done = (async () => {
        await flushing;
        while (waiting.length > 0) await flush();
      })();
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const deadline = setTimeout(resolve, lastFlushMs);
      await Promise.race([done, late]);
      clearTimeout(deadline);
      clearTimeout(timer);
    },
  };
}

const text = (value: string, length: number = limits.textLength): string =>
  storable(maskText(value)).slice(0, length).toWellFormed();

/** Texts that need no mask and are the same in many requests: paths, names and addresses. */
const plainTexts = new Set<string>();
const plainTextsMax = 1_000;

function repeated(value: string, length: number = limits.textLength): string {
  if (plainTexts.has(value)) return value;
  const masked = text(value, length);
  // A text that needs a mask is not kept in memory.
  if (masked === value && value.length <= limits.textLength) {
    if (plainTexts.size >= plainTextsMax) plainTexts.clear();
    plainTexts.add(value);
  }
  return masked;
}

function rowOf(request: AnsweredRequest, id: string): RequestRow {
  return {
    company_id: request.company.id,
    id,
    request_id: request.requestId,
    method: request.method,
    path: repeated(decoded(request.path), limits.urlLength),
    query: maskedQuery(request.query),
    status: request.status,
    duration_ms: Math.round(request.durationMs),
    actor_kind: request.actor.kind,
    actor_id: request.actor.id,
    actor_name: repeated(request.actor.name),
    // Behind a proxy, the address is client-supplied text from a header.
    address: repeated(request.address),
    api_version: request.apiVersion,
    idempotency_key: request.idempotencyKey && text(request.idempotencyKey),
    request_body: maskedBody(request.requestBody, request.requestBeginning),
    response_body: request.responseBody === null ? null : maskedAnswer(request.responseBody),
  };
}

/** Digits may be percent-encoded. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
