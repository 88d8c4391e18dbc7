import { isAway } from './database.ts';
import { histogram } from './metrics.ts';
import { currentPlace, runForAll, traced } from './spans.ts';

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
}

const observeSize = histogram('svc_batch_size');
type BatchName = Parameters<typeof observeSize>[0]['batch'];

let batchedItems = 0;

/** The number of items in all batchers of the process, running or waiting. */
export const inBatchers = (): number => batchedItems;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly place: ReturnType<typeof currentPlace>;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export function createBatcher<Item, Result>(
  name: BatchName,
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  { batchMax, width }: BatcherOptions = { batchMax: 64, width: 1 },
): (item: Item) => Promise<Result> {
  const queue: Waiting<Item, Result>[] = [];
  let running = 0;
  let starting = false;

  /** Returns the error with which the whole batch failed. */
  async function attempt(batch: readonly Waiting<Item, Result>[]): Promise<{ readonly error: unknown } | undefined> {
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

  async function runBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    const failure = await attempt(batch);
    if (!failure) return;
    if (batch.length === 1 || isAway(failure.error)) {
      for (const { reject } of batch) reject(failure.error);
      return;
    }
    for (const [index, waiting] of batch.entries()) {
      const own = await attempt([waiting]);
      if (own && isAway(own.error)) {
        for (const { reject } of batch.slice(index)) reject(own.error);
        return;
      }
      if (own) waiting.reject(own.error);
    }
  }

  function start(): void {
    starting = false;
    while (running < width && queue.length > 0) {
      running += 1;
      const batch = queue.splice(0, batchMax);
      observeSize({ batch: name }, batch.length);
      void runBatch(batch).finally(() => {
        running -= 1;
        batchedItems -= batch.length;
        start();
      });
    }
  }

  function enqueue(item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    queue.push({ item, place: currentPlace(), resolve, reject });
    batchedItems += 1;
    // The callers of a finished batch all continue in the same turn. Without this delay the first of them would start
    // a batch alone.
    if (!starting && running < width) {
      starting = true;
      setImmediate(start);
    }
    return promise;
  }

  return (item) => traced(`batch ${name}`, {}, () => enqueue(item));
}
