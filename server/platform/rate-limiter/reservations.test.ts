import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { createMemoryRateLimiter } from './memory.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { isRefused, type Refusal, reserve, type Reservation, withReservation } from './reservations.ts';

const clock = { nowMs: () => 0 };
const bucket = { key: 'address', limit: { count: 3, windowSeconds: 600 } };

async function take(limiter: RateLimiter): Promise<Reservation> {
  const outcome = await reserve({ limiter, clock }, [bucket]);
  assert.ok(!isRefused(outcome));
  return outcome;
}

async function takeThree(limiter: RateLimiter): Promise<[Reservation, Reservation, Reservation]> {
  return [await take(limiter), await take(limiter), await take(limiter)];
}

async function refused(limiter: RateLimiter, patienceMs?: number): Promise<Refusal> {
  const outcome = await reserve({ limiter, clock }, [bucket], patienceMs);
  assert.ok(isRefused(outcome));
  return outcome;
}

/** Answers some turns of the event loop later, as a store in another process does. */
function slow(): RateLimiter {
  const memory = createMemoryRateLimiter();
  return {
    ...memory,
    async consume(checks, nowMs) {
      const decisions = memory.consume(checks, nowMs);
      for (let turn = 0; turn < 3; turn += 1) await setImmediate();
      return decisions;
    },
  };
}

for (const [store, open] of [
  ['memory', createMemoryRateLimiter],
  ['a slow store', slow],
] as const) {
  describe(`reservations in ${store}`, () => {
    it('of attempts that succeed make room for those that wait', async () => {
      const limiter = open();
      let [atOnce, most] = [0, 0];
      const attempt = async (): Promise<void> => {
        const reservation = await take(limiter);
        most = Math.max(most, (atOnce += 1));
        await setImmediate();
        atOnce -= 1;
        await reservation.giveBack();
      };
      await Promise.all(Array.from({ length: 30 }, attempt));
      assert.equal(most, 3);
      for (const reservation of await takeThree(limiter)) reservation.keep();
    });

    it('of attempts that fail leave no room, and those that wait are refused at once', async () => {
      const limiter = open();
      const attempt = async (): Promise<'failed' | Refusal> => {
        const outcome = await reserve({ limiter, clock }, [bucket], 600_000);
        if (isRefused(outcome)) return outcome;
        await setImmediate();
        outcome.keep();
        return 'failed';
      };
      const outcomes = await Promise.all(Array.from({ length: 30 }, attempt));
      assert.equal(outcomes.filter((outcome) => outcome === 'failed').length, 3);
      const last = outcomes.find((outcome) => outcome !== 'failed');
      assert.deepEqual(last, { at: 0, retryAfterSeconds: 200, isBusy: false });
    });

    it('refuse after a while, and say that it is worth trying again soon, while others are in progress', async () => {
      const limiter = open();
      const taken = await takeThree(limiter);
      assert.deepEqual(await refused(limiter, 5), { at: 0, retryAfterSeconds: 2, isBusy: true });
      await taken[0].giveBack();
      // Only the first call has an effect.
      await taken[0].giveBack();
      taken[0].keep();
      (await take(limiter)).keep();
      assert.equal((await refused(limiter, 0)).isBusy, true);
    });

    it('name the bucket that has no room, and take nothing from the others', async () => {
      const limiter = open();
      const [, , last] = await takeThree(limiter);
      const roomy = { key: 'company', limit: { count: 1, windowSeconds: 600 } };
      const outcome = await reserve({ limiter, clock }, [roomy, bucket], 0);
      assert.ok(isRefused(outcome));
      assert.equal(outcome.at, 1);
      await last.giveBack();
      assert.ok(!isRefused(await reserve({ limiter, clock }, [roomy, bucket], 0)));
    });
  });
}

describe('an attempt with a reservation', () => {
  it('counts if it fails as it must not', async () => {
    const limiter = createMemoryRateLimiter();
    const wrong = new Error('wrong password');
    for (let time = 0; time < 3; time += 1) {
      await withReservation(
        await take(limiter),
        () => true,
        async () => 'right',
      );
      await assert.rejects(
        withReservation(
          await take(limiter),
          (error) => error !== wrong,
          () => Promise.reject(wrong),
        ),
        wrong,
      );
    }
    for (let time = 0; time < 3; time += 1) {
      const reservation = await take(limiter);
      await assert.rejects(
        withReservation(
          reservation,
          (error) => error === wrong,
          () => Promise.reject(wrong),
        ),
        wrong,
      );
    }
    assert.equal((await refused(limiter)).isBusy, false);
  });
});
