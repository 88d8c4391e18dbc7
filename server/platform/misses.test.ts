import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMisses } from './misses.ts';

class Busy extends Error {
  readonly retryAfterSeconds: number;
  constructor(retryAfterSeconds: number) {
    super();
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const delayOf = async (work: Promise<void> | undefined): Promise<number> => {
  const startMs = performance.now();
  await work;
  return performance.now() - startMs;
};

test('an address that misses waits, and others do not', async () => {
  const misses = createMisses((seconds) => new Busy(seconds));
  assert.equal(misses.turn('203.0.113.1'), undefined);
  for (let miss = 0; miss < 20; miss += 1) misses.note('203.0.113.1');
  assert.ok((await delayOf(misses.turn('203.0.113.1'))) > 50);
  // A timer can fire a moment early.
  assert.ok((await delayOf(misses.turn('203.0.113.1'))) < 20, 'it has waited');
  misses.note('203.0.113.1');
  assert.equal(misses.turn('203.0.113.2'), undefined);
});

test('many addresses together wait as much as one', () => {
  const misses = createMisses((seconds) => new Busy(seconds));
  for (let miss = 0; miss < 10; miss += 1) {
    for (let address = 1; address <= 200; address += 1) misses.note(`203.0.113.${address}`);
  }
  // 2,000 misses of 10 ms: no address is free before 20 seconds.
  return assert.rejects(async () => misses.turn('203.0.113.200'), Busy);
});

test('an address is free again after a minute, however many miss with it', async () => {
  const misses = createMisses((seconds) => new Busy(seconds));
  for (let address = 0; address < 5_000; address += 1) misses.note(`198.51.${address >> 8}.${address & 255}`);
  for (let miss = 0; miss < 100; miss += 1) misses.note('203.0.113.1');
  await assert.rejects(
    async () => misses.turn('203.0.113.1'),
    (error) => error instanceof Busy && error.retryAfterSeconds > 50 && error.retryAfterSeconds <= 60,
  );
});
