import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextAttemptAt, retryAfterMs, retryDelaysMs } from './retry-schedule.ts';

const nowMs = Date.parse('2026-02-11T09:30:00.000Z');
const delayMs = (attempts: number, askedMs: number, random: number): number | undefined => {
  const at = nextAttemptAt(attempts, nowMs, askedMs, random);
  return at === null ? undefined : at.getTime() - nowMs;
};

describe('the schedule of attempts', () => {
  it('is 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h after the failure before', () => {
    const seconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    assert.deepEqual(
      seconds.map((_, index) => delayMs(index + 1, 0, 0.5)),
      seconds.map((one) => one * 1_000),
    );
    assert.equal(delayMs(seconds.length + 1, 0, 0.5), undefined, 'the tenth failure is the last');
    assert.equal(delayMs(100, 0, 0.5), undefined);
  });

  it('is spread by a fifth either way', () => {
    for (const [index, usual] of retryDelaysMs.entries()) {
      assert.equal(delayMs(index + 1, 0, 0), usual * 0.8);
      assert.equal(delayMs(index + 1, 0, 1), usual * 1.2);
    }
  });

  it('waits at least as long as the receiver asks, and no shorter than usual', () => {
    assert.equal(delayMs(1, 60_000, 0.5), 60_000);
    assert.equal(delayMs(2, 60_000, 0.5), 300_000);
    assert.equal(delayMs(10, 60_000, 0.5), undefined, 'asking does not make one more attempt');
  });
});

describe('Retry-After', () => {
  it('is a number of seconds or a date', () => {
    assert.equal(retryAfterMs('120', nowMs), 120_000);
    assert.equal(retryAfterMs(' 7 ', nowMs), 7_000);
    assert.equal(retryAfterMs('Wed, 11 Feb 2026 09:31:30 GMT', nowMs), 90_000);
  });

  it('is ignored when it is past, absent or invalid', () => {
    for (const text of [undefined, '', 'soon', '-5', '1.5e9x', 'Wed, 11 Feb 2026 09:00:00 GMT', 'NaN', 'Infinity']) {
      assert.equal(retryAfterMs(text, nowMs), 0, String(text));
    }
  });

  it('cannot put an event off for more than a day', () => {
    for (const text of ['86401', '9'.repeat(400), 'Wed, 11 Feb 2099 09:31:30 GMT']) {
      const asked = retryAfterMs(text, nowMs);
      assert.ok(asked <= 86_400_000, text);
    }
  });
});
