import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBatcher, createFlow } from './batcher.ts';

/** A batcher whose batches are recorded, with the number of items that it believes to be underway. */
function gatheringBatcher(patienceMs: number) {
  const sizes: number[] = [];
  const state = { underway: 0 };
  const add = createBatcher(
    'facts',
    async (items: readonly number[]) => {
      sizes.push(items.length);
      return items;
    },
    { batchMax: 64, width: 1, gathering: { underway: () => state.underway, patienceMs: () => patienceMs } },
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

it('counts the requests of a flow, also those that fail, and waits for a share of their time', async () => {
  const { run, gathering } = createFlow();
  assert.equal(gathering.patienceMs(), 0);
  const failing = run(async () => {
    await sleep(40);
    throw new Error('failed');
  });
  const passing = run(() => sleep(40, 'passed'));
  assert.equal(gathering.underway(), 2);
  await assert.rejects(failing, /failed/);
  assert.equal(await passing, 'passed');
  assert.equal(gathering.underway(), 0);
  assert.ok(gathering.patienceMs() > 0 && gathering.patienceMs() < 10, String(gathering.patienceMs()));
});
