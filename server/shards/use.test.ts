import assert from 'node:assert/strict';
import { beforeEach, describe, it, mock } from 'node:test';
import { openShardUse, type ShardUse, usedMs } from './use.ts';

const secondMs = 1_000;
let nowMs: number;
let announced: string[];
let isHeard: boolean;
let changes: string[];
let use: ShardUse;

/** Time passes in the steps in which uses are checked. */
function pass(ms: number): void {
  for (let left = ms; left > 0; left -= 5 * secondMs) {
    nowMs += 5 * secondMs;
    mock.timers.tick(5 * secondMs);
  }
}

describe('a shard', () => {
  beforeEach(() => {
    mock.timers.reset();
    mock.timers.enable({ apis: ['setInterval'] });
    nowMs = 0;
    announced = [];
    isHeard = true;
    changes = [];
    const announce = async (shard: string): Promise<boolean> => {
      announced.push(shard);
      return isHeard;
    };
    use = openShardUse(announce, () => nowMs);
    use.watch('b', { begin: () => changes.push('begin'), end: () => changes.push('end') });
  });

  it('is in use from the first request until a minute after the last', () => {
    assert.equal(use.isUsed('b'), false);
    use.note('b');
    pass(usedMs / 2);
    use.note('b');
    pass(usedMs - 5 * secondMs);
    assert.equal(use.isUsed('b'), true);
    pass(10 * secondMs);
    assert.equal(use.isUsed('b'), false);
    assert.deepEqual(changes, ['begin', 'end']);
  });

  it('is in use while jobs hold it, and rests at once when they end', () => {
    const release = use.hold('b');
    const other = use.hold('b');
    pass(5 * usedMs);
    release();
    assert.equal(use.isUsed('b'), true);
    other();
    assert.equal(use.isUsed('b'), false);
    assert.deepEqual(announced, [], 'jobs wake no other workers');
  });

  it('is announced with the first request, then every 20 seconds, and again after a failure', async () => {
    isHeard = false;
    use.note('b');
    await Promise.resolve();
    isHeard = true;
    use.note('b');
    use.note('b');
    await Promise.resolve();
    assert.equal(announced.length, 2);
    pass(25 * secondMs);
    use.note('b');
    assert.equal(announced.length, 3);
  });
});
