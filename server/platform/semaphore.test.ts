import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSemaphore } from './semaphore.ts';

const busy = (): Error => new Error('busy');

test('a place rests after its work while others wait, and not when no one waits', async () => {
  const inTurn = createSemaphore({ atOnce: 1, waitingMax: 2, rest: 3, busy });
  const starts: number[] = [];
  const work = (): Promise<void> => {
    starts.push(performance.now());
    return sleep(20);
  };
  await Promise.all([inTurn(work), inTurn(work), inTurn(work), assert.rejects(inTurn(work), /busy/)]);
  const [first = 0, second = 0, third = 0] = starts;
  // 20 ms of work and 60 ms of rest; timers are up to 1 ms early.
  assert.ok(second - first >= 76, `${second - first} ms`);
  assert.ok(third - second >= 76, `${third - second} ms`);
  const freeMs = performance.now();
  await inTurn(async () => assert.ok(performance.now() - freeMs < 50, 'the last one left no rest'));
});
