import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connectionBudget, type ShardBudget } from './connection-budget.ts';

const busy = { isWaiting: () => false, grow: () => undefined, closeIdle: () => false };
const mayOpen = (budget: ShardBudget): boolean => budget.join(busy).mayOpen();

/** Opens as many connections as it may. */
function fill(budget: ShardBudget, atMost = Infinity): (() => void)[] {
  const opened: (() => void)[] = [];
  const member = budget.join(busy);
  while (opened.length < atMost && member.mayOpen()) opened.push(budget.opened());
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
    assert.equal(mayOpen(budget.of('d')), false);
    assert.deepEqual(closed, ['a'], 'the one with the most');
    assert.equal(mayOpen(budget.of('d')), true);
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

  it('closes a connection that becomes idle while another pool waits, also one of the same shard', () => {
    for (const shard of ['e', 'a']) {
      const budget = connectionBudget(12);
      const opened = ['a', 'b', 'c', 'f'].flatMap((name) => fill(budget.of(name)));
      let isIdle = false;
      const grown: string[] = [];
      const closeIdle = (): boolean => {
        if (isIdle) opened.shift()?.();
        return isIdle;
      };
      const other = budget.of('a').join({ ...busy, closeIdle });
      const waiting = budget.of(shard).join({ ...busy, isWaiting: () => true, grow: () => void grown.push(shard) });
      assert.equal(waiting.mayOpen(), false);
      isIdle = true;
      other.becameIdle();
      if (shard === 'e') assert.deepEqual(grown, ['e']);
      else assert.equal(opened.length, 11);
    }
  });

  it('lets listeners have a quarter, and keeps some for the control plane', () => {
    const budget = connectionBudget(40, { control: 'a' });
    const listen = (name: string): boolean => {
      const may = budget.of(name).mayListen();
      if (may) budget.of(name).opened('listening');
      return may;
    };
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    assert.equal(names.filter(listen).length, 10);
    assert.equal(listen('a'), true);
    for (const name of names) fill(budget.of(name));
    assert.ok(fill(budget.of('a')).length > 0);
  });
});
