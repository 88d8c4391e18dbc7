import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connectionBudget, type ShardBudget } from './connection-budget.ts';

/** Opens as many connections as it may. */
function fill(budget: ShardBudget, atMost = Infinity): (() => void)[] {
  const opened: (() => void)[] = [];
  while (opened.length < atMost && budget.mayOpen()) opened.push(budget.opened());
  return opened;
}

describe('a budget of 12 connections', () => {
  it('leaves as many for the others as one shard has', () => {
    const budget = connectionBudget(12);
    const counts = ['a', 'b', 'c', 'd', 'e'].map((name) => fill(budget.of(name)).length);
    assert.deepEqual(counts, [6, 3, 2, 1, 0]);
  });

  it('is never exceeded, and what is closed can be opened again', () => {
    const budget = connectionBudget(12);
    const shards = ['a', 'b', 'c', 'd', 'e'].map((name) => budget.of(name));
    const opened = [...shards, ...shards].flatMap((shard) => fill(shard));
    assert.equal(opened.length, 12);
    opened[0]?.();
    assert.equal(fill(budget.of('f')).length, 1);
  });

  it('lets another shard close a connection that it does not use', () => {
    const budget = connectionBudget(12);
    const closed: string[] = [];
    const opened = new Map(['a', 'b', 'c', 'e'].map((name) => [name, fill(budget.of(name))]));
    for (const name of ['c', 'b', 'a']) {
      budget.of(name).join({
        isWaiting: () => false,
        grow: () => undefined,
        closeIdle() {
          closed.push(name);
          opened.get(name)?.pop()?.();
          return true;
        },
      });
    }
    assert.equal(budget.of('d').mayOpen(), false);
    assert.deepEqual(closed, ['a'], 'the one with the most');
    assert.equal(budget.of('d').mayOpen(), true);
  });

  it('gives a connection that is closed to a pool that waits, in turn', () => {
    const budget = connectionBudget(12);
    const grown: string[] = [];
    const opened = ['a', 'b', 'c', 'f'].flatMap((name) => fill(budget.of(name)));
    for (const name of ['d', 'e']) {
      budget.of(name).join({ isWaiting: () => true, grow: () => void grown.push(name), closeIdle: () => false });
    }
    for (const close of opened.slice(0, 3)) close();
    assert.deepEqual(grown, ['d', 'e', 'd']);
  });
});
