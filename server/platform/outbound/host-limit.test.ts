import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createHostLimit, type HostLimit } from './host-limit.ts';

const long = 60_000;
const ignore = (): void => undefined;

/** A sender that always has another request, and notes its name when it gets a permit. */
function eager(limit: HostLimit, name: string, names: string[], requests: object[]): () => void {
  const send = (): void => {
    for (;;) {
      const request = {};
      if (!limit.acquire(request, send)) return;
      names.push(name);
      requests.push(request);
    }
  };
  return send;
}

describe('the limit of a host', () => {
  it('has a limited number of permits', () => {
    const limit = createHostLimit({ permits: 2, countsMs: long });
    const [first, second, third] = [{}, {}, {}];
    assert.deepEqual(
      [first, second, third].map((one) => limit.acquire(one, ignore)),
      [true, true, false],
    );
    limit.release(first);
    assert.equal(limit.acquire(third, ignore), true);
  });

  it('gives each waiting sender one permit, in turn', () => {
    const limit = createHostLimit({ permits: 4, countsMs: long });
    const names: string[] = [];
    const requests: object[] = [];
    for (const name of ['a', 'b', 'c']) eager(limit, name, names, requests)();
    assert.equal(names.join(''), 'aaaa');
    for (const oldest of requests) {
      if (names.length === 10) break;
      limit.release(oldest);
    }
    assert.equal(names.join(''), 'aaaaabcabc');
  });

  it('lets no sender overtake one that waits', () => {
    const limit = createHostLimit({ permits: 1, countsMs: long });
    const first = {};
    limit.acquire(first, ignore);
    const results: boolean[] = [];
    const waiting = (): void => void results.push(limit.acquire({}, ignore), limit.acquire({}, ignore));
    limit.acquire({}, waiting);
    limit.release(first);
    assert.deepEqual(results, [true, false]);
  });

  it('does not count a request that has waited long for its answer', async () => {
    const limit = createHostLimit({ permits: 1, countsMs: 50 });
    const [hanging, next] = [{}, {}];
    limit.acquire(hanging, ignore);
    const { promise, resolve } = Promise.withResolvers<void>();
    // The timer of the limit does not keep the process running.
    const running = setInterval(ignore, 1_000);
    assert.equal(limit.acquire(next, resolve), false);
    await promise;
    clearInterval(running);
    assert.equal(limit.isIdle(), true);
  });

  it('frees no permit of another when a request ends that no longer counts', async () => {
    const limit = createHostLimit({ permits: 1, countsMs: 500 });
    const [hanging, next] = [{}, {}];
    limit.acquire(hanging, ignore);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const running = setInterval(ignore, 1_000);
    limit.acquire(next, () => resolve(limit.acquire(next, ignore)));
    assert.equal(await promise, true);
    clearInterval(running);
    limit.release(hanging);
    assert.equal(limit.acquire({}, ignore), false);
  });

  it('continues with the next sender if one has nothing to send', () => {
    const limit = createHostLimit({ permits: 1, countsMs: long });
    const first = {};
    limit.acquire(first, ignore);
    limit.acquire({}, () => undefined);
    const calls: string[] = [];
    limit.acquire({}, () => calls.push('second'));
    limit.release(first);
    assert.deepEqual(calls, ['second']);
    assert.equal(limit.isIdle(), true);
  });
});
