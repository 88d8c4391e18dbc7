import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBatcher, createGatherer } from './batcher.ts';

/** A batcher whose batches are recorded. It waits for the items that it believes to be underway. */
function gatheringBatcher(patienceMs: number) {
  const sizes: number[] = [];
  const state = { underway: 0 };
  const add = createBatcher(
    'facts',
    async (items: readonly number[]) => {
      sizes.push(items.length);
      return items;
    },
    { batchMax: 64, width: 1, gathering: (queued) => (state.underway > queued ? patienceMs : 0) },
  );
  const addAll = (count: number): Promise<number[]> => Promise.all(Array.from({ length: count }, (_, n) => add(n)));
  /** Batches are only gathered after some with several items. */
  const beBusy = async (): Promise<void> => {
    state.underway = 0;
    for (let n = 0; n < 10; n += 1) await addAll(4);
    sizes.length = 0;
  };
  return { add, addAll, beBusy, sizes, state };
}

it('starts a batch at once when nothing else is underway', async () => {
  const { addAll, beBusy, sizes, state } = gatheringBatcher(60_000);
  await beBusy();
  state.underway = 3;
  assert.deepEqual(await addAll(3), [0, 1, 2]);
  assert.deepEqual(sizes, [3]);
});

it('waits for the items that are underway', async () => {
  const { addAll, beBusy, sizes, state } = gatheringBatcher(60_000);
  await beBusy();
  state.underway = 5;
  const first = addAll(2);
  await sleep(20);
  assert.deepEqual(sizes, []);
  await Promise.all([first, addAll(3)]);
  assert.deepEqual(sizes, [5]);
});

it('waits no longer than its patience', async () => {
  const { addAll, beBusy, sizes, state } = gatheringBatcher(10);
  await beBusy();
  state.underway = 5;
  await addAll(2);
  assert.deepEqual(sizes, [2]);
});

it('does not wait if few items come', async () => {
  const { add, sizes, state } = gatheringBatcher(60_000);
  state.underway = 2;
  for (let n = 0; n < 5; n += 1) assert.equal(await add(n), n);
  assert.deepEqual(sizes, [1, 1, 1, 1, 1]);
});

it('takes the time of its batches into account', async () => {
  const times: number[] = [];
  const gathering = (_: number, batchMs: number): number => {
    times.push(batchMs);
    return 0;
  };
  const work = async (items: readonly number[]): Promise<readonly number[]> => sleep(20, items);
  const add = createBatcher('facts', work, { batchMax: 64, width: 1, gathering });
  for (let n = 0; n < 20; n += 1) await Promise.all([add(1), add(2), add(3)]);
  const usualMs = times.at(-1) ?? 0;
  assert.ok(usualMs > 5 && usualMs < 100, String(usualMs));
});

/** A gatherer in which this number of requests run until they are ended. */
function flowWith(requests: number) {
  const { run, gathering } = createGatherer();
  const ended = Promise.withResolvers<void>();
  const running = Array.from({ length: requests }, () => run(() => ended.promise));
  const end = async (): Promise<void> => {
    ended.resolve();
    await Promise.all(running);
  };
  return { run, gathering, end };
}

it('lets a batch wait for the requests that are underway, the longer the more there are', async () => {
  const few = flowWith(4);
  assert.equal(few.gathering(3, 1), 1);
  assert.equal(few.gathering(3, 10), 10);
  assert.equal(few.gathering(4, 10), 0);
  await few.end();
  const many = flowWith(20);
  assert.equal(many.gathering(3, 10), 40);
  assert.equal(many.gathering(3, 1_000), 50);
  await many.end();
});

it('lets a batch wait a little for clients that have just been answered', async () => {
  const { run, gathering, end } = flowWith(20);
  await end();
  assert.equal(gathering(1, 10), 8);
  assert.equal(gathering(1, 1_000), 10);
  assert.equal(gathering(19, 10), 0);
  for (let n = 0; n < 600; n += 1) await run(async () => undefined);
  assert.equal(gathering(1, 10), 0);
});

it('does not wait for a request that failed', async () => {
  const { run, gathering } = createGatherer();
  await assert.rejects(
    run(() => Promise.reject(new Error('failed'))),
    /failed/,
  );
  assert.equal(gathering(1, 10), 0);
});
