import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { limits } from '../limits.ts';
import { dayMs, hourMs } from '../platform/durations.ts';
import { type CardAttempt, type Decline, stopOf } from './decline-limits.ts';

/** The decision whether a card is sent again, against a model that counts as the card networks describe it. */

interface Try extends CardAttempt {
  /** Since the try before. */
  readonly pauseMs: number;
  readonly isApproved: boolean;
}

const tries = (brand: 'visa' | 'mastercard'): fc.Arbitrary<Try[]> =>
  fc.array(
    fc.record({
      // Days for Visa; for the daily limit of Mastercard also minutes.
      pauseMs: fc.oneof(fc.constant(0), fc.nat(hourMs), fc.nat(brand === 'visa' ? 3 * dayMs : 8 * hourMs)),
      amount: fc.constantFrom(0, 900, 4_900),
      currency: fc.constantFrom('usd', 'eur'),
      byCustomer: fc.boolean(),
      isApproved: fc.integer({ min: 0, max: 99 }).map((percent) => percent < 2),
    }),
    { minLength: 20, maxLength: 200 },
  );

interface Seen extends CardAttempt {
  readonly atMs: number;
}

/** What a network has seen of a card since its last success. Knows nothing of how the service counts. */
class Network {
  readonly #seen: Seen[] = [];
  #since = 0;

  decline(seen: Seen): void {
    this.#seen.push(seen);
  }
  approve(): void {
    this.#since = this.#seen.length;
  }
  #count(atMs: number, days: number, isLike: (one: Seen) => boolean): number {
    let count = 0;
    for (let index = this.#seen.length - 1; index >= this.#since; index -= 1) {
      const one = this.#seen[index] as Seen;
      if (atMs - one.atMs >= days * dayMs) break;
      if (isLike(one)) count += 1;
    }
    return count;
  }
  /** Whether another decline at this time would be one more than the service wants. */
  isFull(brand: 'visa' | 'mastercard', atMs: number, { amount, currency, byCustomer }: CardAttempt): boolean {
    if (brand === 'visa') return this.#count(atMs, 30, (one) => one.byCustomer === byCustomer) >= 15;
    const isSame = (one: Seen): boolean => one.amount === amount && one.currency === currency;
    return this.#count(atMs, 1, () => true) >= 8 || this.#count(atMs, 30, isSame) >= 30;
  }
}

describe('the limits of card networks', () => {
  for (const brand of ['visa', 'mastercard'] as const) {
    it(`a ${brand} is sent if and only if the network has room for another decline`, () => {
      let stopped = 0;
      const check = (all: readonly Try[]): void => {
        const network = new Network();
        let kept: Decline[] = [];
        let nowMs = Date.UTC(2026, 0, 1);
        for (const { pauseMs, isApproved, ...attempt } of all) {
          nowMs += pauseMs;
          const stop = stopOf(brand, kept, attempt, limits.declines, nowMs);
          assert.equal(stop !== undefined, network.isFull(brand, nowMs, attempt));
          if (stop) {
            stopped += 1;
            assert.ok(stop.retryAtMs > nowMs);
            assert.ok(network.isFull(brand, stop.retryAtMs - 1, attempt), 'it could be sent earlier');
            assert.ok(!network.isFull(brand, stop.retryAtMs, attempt), 'it is announced too early');
            assert.equal(stopOf(brand, kept, attempt, limits.declines, stop.retryAtMs), undefined);
          } else if (isApproved) {
            network.approve();
            kept = [];
          } else {
            network.decline({ ...attempt, atMs: nowMs });
            kept.push({ ...attempt, atMs: nowMs, connectionId: 'one', failureCode: 'do_not_honor' });
          }
        }
      };
      fc.assert(fc.property(tries(brand), check), { numRuns: 300 });
      assert.ok(stopped > 100, `only ${stopped} tries were stopped`);
    });
  }

  const decline = (atMs: number, more: Partial<Decline> = {}): Decline => ({
    ...{ atMs, connectionId: 'one', amount: 900, currency: 'usd', byCustomer: true },
    failureCode: 'do_not_honor',
    ...more,
  });
  const attempt: CardAttempt = { amount: 900, currency: 'usd', byCustomer: true };
  const at = (day: number): number => Date.UTC(2026, 0, 1 + day);
  const stop = (brand: 'visa' | 'mastercard' | 'amex', declines: readonly Decline[], nowMs: number) =>
    stopOf(brand, declines, attempt, limits.declines, nowMs);

  it('says what was counted, from when the card is sent again, and the code of the last decline', () => {
    const declines = Array.from({ length: 15 }, (_, day) => decline(at(day)));
    assert.equal(stop('visa', declines.slice(1), at(15)), undefined);
    const last = { ...decline(at(14)), failureCode: 'insufficient_funds' } as const;
    assert.deepEqual(stop('visa', [...declines.slice(0, 14), last], at(15)), {
      failureCode: 'insufficient_funds',
      retryAtMs: at(30),
      failureReason:
        'Not sent to the bank: this card was declined 15 times in 30 days. ' +
        'Visa charges fees from 20 on. The card can be charged again from 2026-01-31 00:00 UTC.',
    });
  });

  it('waits for the latest of two limits', () => {
    const old = Array.from({ length: 22 }, (_, index) => decline(at(index)));
    const today = Array.from({ length: 8 }, () => decline(at(24)));
    assert.equal(stop('mastercard', [...old, ...today], at(24))?.retryAtMs, at(30));
    assert.match(stop('mastercard', [...old, ...today], at(24))?.failureReason ?? '', /30 times for this amount/);
    assert.match(stop('mastercard', today, at(24))?.failureReason ?? '', /8 times in 24 hours/);
  });

  it('counts one amount of one currency for a Mastercard', () => {
    const daily = (more: Partial<Decline>): Decline[] => Array.from({ length: 29 }, (_, day) => decline(at(day), more));
    const same = [...daily({}), decline(at(29) - 1)];
    assert.equal(stop('mastercard', same, at(29))?.retryAtMs, at(30));
    for (const other of [{ currency: 'eur' }, { amount: 901 }, { currency: null, amount: 0 }]) {
      assert.equal(stop('mastercard', [...daily(other), decline(at(29) - 1)], at(29)), undefined);
    }
  });

  it('stops no card of a network without such a limit', () => {
    const many = Array.from({ length: 200 }, () => decline(at(0)));
    assert.equal(stop('amex', many, at(0)), undefined);
  });
});
