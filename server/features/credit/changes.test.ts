import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, it } from 'node:test';
import { ordersOf } from '../../../tests/support/billing.ts';
import { checkBooks, creditOf, grant } from '../../../tests/support/credit.ts';
import {
  approvedOutcome,
  declinedOutcome,
  unknownOutcome,
  useFaultyService,
} from '../../../tests/support/faulty-service.ts';
import { assertInvalid, assertRefused, checkAllOpen, refund } from '../../../tests/support/orders.ts';
import {
  change,
  changed,
  onDay,
  otherPlan,
  pass,
  preview,
  subscribed,
  type Subscribed,
} from '../../../tests/support/plan-changes.ts';
import { seededRandom } from '../../../tests/support/seeded-random.ts';
import type { TestService } from '../../../tests/support/service.ts';
import { readSubscription } from '../../../tests/support/subscriptions.ts';

/** Changes of plan use the credit of the customer first. */

let service: TestService;
const faults = useFaultyService((started) => {
  service = started;
});
afterEach(() => checkBooks(service));

/** Half of the period of $30.00 has passed. The other plan costs $15.00 more until its end. */
async function halfway(credit: number): Promise<Subscribed & { readonly other: string; readonly wanted: object }> {
  const at = await subscribed(service);
  const other = await otherPlan(service, at);
  if (credit > 0) await grant(service, at, credit);
  await pass(service, at, 15);
  return { ...at, other, wanted: { plan_id: other, at: onDay(at, 15) } };
}

describe('a change of plan', () => {
  it('is paid by credit alone if the credit covers it, and takes effect without a charge', async () => {
    const at = await halfway(2000);
    const { body: shown } = await preview(service, at, { ...at.wanted });
    assert.deepEqual([shown.amount_due, shown.credit_applied], [0, 1500]);
    const body = await changed(service, at, { ...at.wanted, expected_amount: 0 });
    assert.deepEqual([body.status, body.amount_due, body.credit_applied], ['applied', 0, 1500]);
    assert.partialDeepStrictEqual(body.order, {
      status: 'succeeded',
      total: 1500,
      credit_applied: 1500,
      transactions: [],
    });
    assert.equal((await readSubscription(service, at.id, at)).plan_id, at.other);
    assert.equal((await creditOf(service, at)).balance, 500);
  });

  it('charges the card for what the credit does not cover', async () => {
    const at = await halfway(600);
    const body = await changed(service, at, { ...at.wanted, expected_amount: 900 });
    assert.deepEqual([body.amount_due, body.credit_applied, body.order.transactions[0].amount], [900, 600, 900]);
    assert.equal((await creditOf(service, at)).balance, 0);
  });

  it('is refused if the credit is not what the preview showed', async () => {
    const at = await halfway(600);
    const { body: shown } = await preview(service, at, { ...at.wanted });
    await grant(service, at, 100);
    assertInvalid(await change(service, at, { ...at.wanted, expected_amount: shown.amount_due }), 'expected_amount');
  });

  it('gives the credit back when the card is declined', async () => {
    const at = await halfway(600);
    faults.charge = declinedOutcome;
    const { body } = await change(service, at, { ...at.wanted });
    assert.deepEqual([body.status, body.amount_due, body.credit_applied], ['declined', 1500, 0]);
    assert.equal((await creditOf(service, at)).balance, 600);
  });

  it('keeps the credit while the outcome is unknown, and uses it once', async () => {
    const at = await halfway(600);
    [faults.charge, faults.lookup] = [unknownOutcome, unknownOutcome];
    const key = randomUUID();
    assertRefused(await change(service, at, { ...at.wanted }, key), 502, 'gateway_error');
    assert.equal((await creditOf(service, at)).balance, 0);
    [faults.charge, faults.lookup] = [approvedOutcome, approvedOutcome];
    const { body } = await change(service, at, { ...at.wanted }, key);
    assert.deepEqual([body.status, body.credit_applied], ['applied', 600]);
    assert.equal((await creditOf(service, at)).balance, 0);
  });

  it('answers a repeated key as before if credit paid for it', async () => {
    const at = await halfway(2000);
    const key = randomUUID();
    const [one, two] = [
      await change(service, at, { ...at.wanted }, key),
      await change(service, at, { ...at.wanted }, key),
    ];
    assert.deepEqual(two.body, one.body);
    assert.equal((await creditOf(service, at)).balance, 500);
    assert.equal((await ordersOf(service, at)).length, 2);
  });
});

describe('any sequence of grants, renewals, changes and refunds, at the same time and with lost answers', () => {
  for (const seed of [1, 2, 3]) {
    it(`leaves a balance that is the sum of its entries and never negative (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const at = await subscribed(service);
      const other = await otherPlan(service, at, { amount: 4500 });
      const acts: readonly (() => Promise<unknown>)[] = [
        () => grant(service, at, random.between(1, 3000)),
        () => {
          const body = { type: 'take_back', amount: random.between(1, 2000), currency: 'usd', reason: 'Too much' };
          const path = `/v1/customers/${at.customer_id}/credit`;
          return service.call('POST', path, { key: at.key, body, idempotencyKey: randomUUID() });
        },
        () => change(service, at, { plan_id: random.pick([at.plan_id, other]), quantity: random.pick([1, 2]) }),
        async () => {
          const paid = (await ordersOf(service, at)).filter(({ status }) => status === 'succeeded');
          if (paid.length > 0) await refund(service, random.pick(paid).id, random.between(1, 1500), { key: at.key });
        },
      ];
      for (let step = 1; step <= 6; step += 1) {
        faults.charge = random.pick([approvedOutcome, approvedOutcome, declinedOutcome, unknownOutcome]);
        faults.lookup = random.pick([approvedOutcome, declinedOutcome]);
        const together = Array.from({ length: 4 }, () => random.pick(acts)());
        await Promise.allSettled([...together, pass(service, at, step * 11)]);
        await checkAllOpen(service);
        assert.ok((await creditOf(service, at)).balance >= 0);
        await checkBooks(service);
      }
      const { balance, entries } = await creditOf(service, at);
      assert.equal(
        entries.reduce((sum, [, amount]) => sum + amount, 0),
        balance,
      );
    });
  }
});
