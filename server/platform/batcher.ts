import { isAway } from './database.ts';
import { histogram } from './metrics.ts';
import { currentPlace, runForAll, traced } from './spans.ts';
import { outsideOfRequests } from './written-rows.ts';

/**
 * Runs work that costs the same for 64 items as for one: items that arrive while a batch runs form the next batch. An
 * idle batcher starts with the items of the current turn of the event loop, so no item waits for a timer.
 *
 * If a batch fails, each item runs alone, so that each caller gets its own error; the work must be safe to repeat. If
 * the database is unavailable, all callers get that error at once: one by one they would each wait for its timeout.
 */
export interface BatcherOptions {
  readonly batchMax: number;
  /** How many batches may run at once. */
  readonly width: number;
  /** Without it, a batch never waits for more items. */
  readonly gathering?: Gathering;
  /** Counts the items, running or waiting; several batchers may share it. */
  readonly tally?: { items: number };
}

/**
 * Returns how long the first item of a batch may wait for more items, if this number is queued and a batch usually takes
 * `batchMs`. A batch costs almost the same for few items as for many. That matters when requests are spread over
 * several processes, each of which makes its own batches.
 */
type Gathering = (queued: number, batchMs: number) => number;

/** Batches are gathered only if the last ones had more items than this, on average. Otherwise few requests come. */
const gatheredSize = 1.5;
/** The share of the last batch in the average size, and in the average time. */
const lastShare = 0.2;
const lastTimeShare = 0.05;

export interface Gatherer {
  readonly run: <Result>(work: () => Promise<Result>) => Promise<Result>;
  readonly gathering: Gathering;
}

/**
 * With this number of requests at once, a batch waits for those underway as long as a batch takes. With more of them it waits
 * longer in proportion, up to a limit.
 */
const requestsPerBatchTime = 4;
const batchTimesMax = 4;
const patienceMaxMs = 50;
/** The share of that time that it waits for the next requests of clients that have just received their answers. */
const shareForReturning = 0.2;
/** The share of the highest number of requests at once that is expected again. */
const expectedShare = 0.9;
/** The share of that number that each further request leaves. */
const keptShare = 0.995;

/**
 * Requests that pass through the same batchers. Gathered in the first one, they stay together in the others. When the
 * database is busy, its batches take longer and the first one waits longer. A single request waits for nothing.
 */
export function createGatherer(): Gatherer {
  let underway = 0;
  let most = 0;
  return {
    async run(work) {
      underway += 1;
      most = Math.max(underway, most * keptShare);
      try {
        return await work();
      } finally {
        underway -= 1;
      }
    },
    gathering(queued, batchMs) {
      const batchTimes = Math.min(Math.max(most / requestsPerBatchTime, 1), batchTimesMax);
      const patienceMs = Math.min(batchMs * batchTimes, patienceMaxMs);
      if (underway > queued) return patienceMs;
      return queued < most * expectedShare ? patienceMs * shareForReturning : 0;
    },
  };
}

const observeSize = histogram('svc_batch_size');
type BatchName = Parameters<typeof observeSize>[0]['batch'];

interface WaitingItem<Item, Result> {
  readonly item: Item;
  readonly place: ReturnType<typeof currentPlace>;
  readonly sinceMs: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

type Work<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

/** Returns the error with which the whole batch failed. */
async function attempt<Item, Result>(
  work: Work<Item, Result>,
  batch: readonly WaitingItem<Item, Result>[],
): Promise<{ readonly error: unknown } | undefined> {
  try {
    const items = batch.map(({ item }) => item);
    const places = batch.map(({ place }) => place);
    const results = await runForAll(places, () => work(items));
    if (results.length !== batch.length)
      throw new Error('the batch function returned a different number of results than items');
    batch.forEach(({ resolve }, index) => resolve(results[index] as Result));
    return undefined;
  } catch (error) {
    return { error };
  }
}

async function runBatch<Item, Result>(
  work: Work<Item, Result>,
  batch: readonly WaitingItem<Item, Result>[],
): Promise<void> {
  const failure = await attempt(work, batch);
  if (!failure) return;
  if (batch.length === 1 || isAway(failure.error)) {
    for (const { reject } of batch) reject(failure.error);
    return;
  }
  for (const [index, waiting] of batch.entries()) {
    const own = await attempt(work, [waiting]);
    if (own && isAway(own.error)) {
      for (const { reject } of batch.slice(index)) reject(own.error);
      return;
    }
    if (own) waiting.reject(own.error);
  }
}

export function createBatcher<Item, Result>(
  name: BatchName,
  work: Work<Item, Result>,
  { batchMax, width, gathering, tally = { items: 0 } }: BatcherOptions = { batchMax: 64, width: 1 },
): (item: Item) => Promise<Result> {
  const queue: WaitingItem<Item, Result>[] = [];
  let running = 0;
  let starting = false;
  let usualSize = 1;
  let usualMs = 0;
  let timer: NodeJS.Timeout | undefined;

  /** How long the next batch still waits for more items. */
  function gatherMs(): number {
    const [first] = queue;
    if (!gathering || !first || usualSize < gatheredSize || queue.length >= batchMax) return 0;
    return gathering(queue.length, usualMs) - (performance.now() - first.sinceMs);
  }

  function start(): void {
    starting = false;
    clearTimeout(timer);
    while (running < width && queue.length > 0) {
      const waitMs = gatherMs();
      if (waitMs > 0) {
        timer = setTimeout(start, waitMs);
        return;
      }
      running += 1;
      const startedMs = performance.now();
      const batch = queue.splice(0, batchMax);
      usualSize += (batch.length - usualSize) * lastShare;
      observeSize({ batch: name }, batch.length);
      void runBatch(work, batch).finally(() => {
        running -= 1;
        usualMs += (performance.now() - startedMs - usualMs) * lastTimeShare;
        tally.items -= batch.length;
        start();
      });
    }
  }

  function enqueue(item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    queue.push({ item, place: currentPlace(), sinceMs: gathering ? performance.now() : 0, resolve, reject });
    tally.items += 1;
    // The callers of a finished batch all continue in the same turn. Without this delay the first of them would start
    // a batch alone.
    if (!starting && running < width) {
      starting = true;
      outsideOfRequests(() => setImmediate(start));
    }
    return promise;
  }

  return (item) => traced(`batch ${name}`, {}, () => enqueue(item));
}
