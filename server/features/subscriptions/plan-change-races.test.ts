import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { later, dayMs, moveTo, operator, ordersOf } from '../../../tests/support/billing.ts';
import {
  approvedOutcome,
  declinedOutcome,
  unknownOutcome,
  useFaultyService,
} from '../../../tests/support/faulty-service.ts';
import { assertRefused, checkAllOpen, countOf, readOrder, retry } from '../../../tests/support/orders.ts';
import {
  change,
  changed,
  onDay,
  otherPlan,
  pass,
  subscribed,
  type Subscribed,
} from '../../../tests/support/plan-changes.ts';
import type { TestService } from '../../../tests/support/service.ts';
import { readSubscription } from '../../../tests/support/subscriptions.ts';
import { endRenewal, pauseSubscription } from './service.ts';

/** What a change meets while its card is charged. */

let service: TestService;
const faults = useFaultyService((started) => {
  service = started;
});

const read = (at: Subscribed) => readSubscription(service, at.id, at);

interface Doubtful extends Subscribed {
  readonly other: string;
  readonly key_of_change: string;
  readonly wanted: Record<string, unknown>;
}

/** Half of the period has passed, and the answer to the charge of $15.00 is lost. */
async function inDoubt(): Promise<Doubtful> {
  const at = await subscribed(service);
  const other = await otherPlan(service, at);
  await pass(service, at, 15);
  [faults.charge, faults.lookup] = [unknownOutcome, unknownOutcome];
  const key_of_change = randomUUID();
  const wanted = { plan_id: other, at: onDay(at, 15) };
  assertRefused(await change(service, at, wanted, key_of_change), 502, 'gateway_error');
  return { ...at, other, key_of_change, wanted };
}

const settle = async (outcome: typeof approvedOutcome | typeof declinedOutcome): Promise<void> => {
  [faults.charge, faults.lookup] = [approvedOutcome, outcome];
  await checkAllOpen(service);
};

const totalsOf = async (at: Subscribed): Promise<unknown[]> =>
  (await ordersOf(service, at)).map(({ total, status, subscription_cycle }) => [total, status, subscription_cycle]);

describe('a change whose outcome is unknown', () => {
  it('holds the renewal back, which is then charged at the new price', async () => {
    const at = await inDoubt();
    assert.partialDeepStrictEqual(await read(at), { plan_id: at.plan_id, status: 'active' });
    await pass(service, at, 31);
    assert.equal((await ordersOf(service, at)).length, 2, 'no renewal meanwhile');
    await settle(approvedOutcome);
    assert.equal((await read(at)).plan_id, at.other);
    await pass(service, at, 32);
    assert.deepEqual(await totalsOf(at), [
      [3000, 'succeeded', 1],
      [1500, 'succeeded', null],
      [6000, 'succeeded', 2],
    ]);
  });

  it('leaves the plan if it was declined, and the renewal is charged at the old price', async () => {
    const at = await inDoubt();
    await settle(declinedOutcome);
    assert.equal((await read(at)).plan_id, at.plan_id);
    await pass(service, at, 31);
    assert.deepEqual(await totalsOf(at), [
      [3000, 'succeeded', 1],
      [1500, 'failed', null],
      [3000, 'succeeded', 2],
    ]);
  });

  it('is answered by the repeated key when it is known, and charged once', async () => {
    const at = await inDoubt();
    [faults.charge, faults.lookup] = [approvedOutcome, approvedOutcome];
    const replies = [];
    for (let time = 0; time < 3; time += 1) replies.push(await change(service, at, at.wanted, at.key_of_change));
    assert.deepEqual(
      replies.map(({ status, body }) => [status, body.status, body.amount_due, body.subscription.plan_id]),
      replies.map(() => [201, 'applied', 1500, at.other]),
    );
    assert.equal((await ordersOf(service, at)).length, 2);
  });

  it('refuses other changes, a pause, the end of the renewal and another billing cycle', async () => {
    const at = await inDoubt();
    const context = await operator(service, at);
    assertRefused(await change(service, at, { plan_id: at.plan_id, quantity: 2 }), 409, 'resource_in_use');
    assertRefused(await change(service, at, { plan_id: at.other, when: 'renewal' }), 409, 'resource_in_use');
    await assert.rejects(pauseSubscription(context, at.id), /is being changed/);
    await assert.rejects(endRenewal(context, at.id), /is being changed/);
    const body = { billing_cycle: { interval_count: 10 } };
    assertRefused(
      await service.call('PATCH', `/v1/subscriptions/${at.id}`, { key: at.key, body }),
      409,
      'resource_in_use',
    );
    await settle(approvedOutcome);
  });

  it('refuses a retry of an earlier order, and is refused while one is in progress', async () => {
    const at = await subscribed(service);
    const other = await otherPlan(service, at);
    // A renewal that waited at a pause is declined, and can be retried by hand after the resume.
    await service.db.query(
      `INSERT INTO orders (company_id, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status, items, currency,
         subtotal, discount_amount, total, refunded_amount, metadata, subscription_id, subscription_cycle, attempt_count,
         failure_code, failure_reason, sequence, updated_at)
       SELECT company_id, uuidv7(), left(id::text, 8), customer_id, payment_method_id, card_brand, card_last4, 'failed', items,
         currency, subtotal, discount_amount, total, 0, metadata, subscription_id, 9, 1, 'do_not_honor', 'No.', 2, updated_at
       FROM orders WHERE subscription_id = $1`,
      [at.id],
    );
    const earlier = (await ordersOf(service, at)).find(({ status }) => status === 'failed')?.id as string;
    [faults.charge, faults.lookup] = [unknownOutcome, unknownOutcome];
    assertRefused(await change(service, at, { plan_id: other }), 502, 'gateway_error');
    assertRefused(await retry(service, earlier, at), 409, 'resource_in_use');
    await settle(declinedOutcome);
    faults.charge = unknownOutcome;
    faults.lookup = unknownOutcome;
    assertRefused(await retry(service, earlier, at), 502, 'gateway_error');
    assertRefused(await change(service, at, { plan_id: other }), 409, 'resource_in_use');
  });

  it('is overtaken by a cancellation: the charge stands and changes nothing', async () => {
    const at = await inDoubt();
    assert.equal((await service.call('DELETE', `/v1/subscriptions/${at.id}`, { key: at.key })).status, 200);
    await settle(approvedOutcome);
    assert.partialDeepStrictEqual(await read(at), { plan_id: at.plan_id, status: 'canceled' });
    assert.deepEqual((await totalsOf(at)).at(-1), [1500, 'succeeded', null]);
    const reply = await change(service, at, at.wanted, at.key_of_change);
    assert.deepEqual([reply.status, reply.body.status], [201, 'superseded']);
  });
});

describe('a change that could not be sent', () => {
  const unavailable = async () => ({ outcome: 'unavailable', reason: 'the vault is away' }) as const;
  const away = async (): Promise<Doubtful> => {
    const at = await subscribed(service);
    const other = await otherPlan(service, at);
    await pass(service, at, 15);
    faults.charge = unavailable;
    const key_of_change = randomUUID();
    const wanted = { plan_id: other, at: onDay(at, 15) };
    assertRefused(await change(service, at, wanted, key_of_change), 503, 'service_unavailable');
    return { ...at, other, key_of_change, wanted };
  };

  it('waits for its request to be repeated', async () => {
    const at = await away();
    faults.charge = approvedOutcome;
    const reply = await change(service, at, at.wanted, at.key_of_change);
    assert.deepEqual([reply.status, reply.body.status], [201, 'applied'], reply.text);
    assert.equal((await read(at)).plan_id, at.other);
  });

  it('is not sent after a cancellation', async () => {
    const at = await away();
    await service.call('DELETE', `/v1/subscriptions/${at.id}`, { key: at.key });
    let sent = 0;
    faults.charge = async () => {
      sent += 1;
      return approvedOutcome();
    };
    const reply = await change(service, at, at.wanted, at.key_of_change);
    assert.deepEqual([sent, reply.body.status, reply.body.order?.status], [0, 'declined', 'failed'], reply.text);
  });

  it('fails after an hour, and the subscription is renewed as before', async () => {
    const at = await away();
    faults.charge = approvedOutcome;
    await checkAllOpen(service);
    assert.deepEqual((await totalsOf(at)).at(-1), [1500, 'failed', null]);
    await pass(service, at, 31);
    assert.deepEqual((await totalsOf(at)).at(-1), [3000, 'succeeded', 2]);
  });

  it('a retry that could not be sent holds the subscription no longer than that', async () => {
    const at = await subscribed(service);
    const other = await otherPlan(service, at);
    faults.charge = declinedOutcome;
    const { order } = await changed(service, at, { plan_id: other }, 'declined');
    faults.charge = unavailable;
    assertRefused(await retry(service, order.id, at), 503, 'service_unavailable');
    faults.charge = approvedOutcome;
    await checkAllOpen(service);
    assert.equal((await readOrder(service, order.id, at)).status, 'failed');
    await pass(service, at, 31);
    assert.deepEqual((await totalsOf(at)).at(-1), [3000, 'succeeded', 2]);
  });
});

describe('at the same moment', () => {
  it('two changes charge one of them', async () => {
    const at = await subscribed(service);
    const plans = [await otherPlan(service, at), await otherPlan(service, at, { amount: 9000 })];
    await pass(service, at, 15);
    const gate = Promise.withResolvers<void>();
    faults.charge = async () => {
      await gate.promise;
      return approvedOutcome();
    };
    const both = plans.map((plan_id) => change(service, at, { plan_id, at: onDay(at, 15) }));
    const first = await Promise.race(both);
    gate.resolve();
    const statuses = (await Promise.all(both)).map(({ status }) => status).toSorted((one, other) => one - other);
    assert.deepEqual([first.status, statuses], [409, [201, 409]]);
    assert.equal((await ordersOf(service, at)).length, 2);
  });

  it('a renewal and a change at the end of a period charge each cycle once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const at = await subscribed(service);
      const other = await otherPlan(service, at);
      await moveTo(service, at.key, later(at.start, 30 * dayMs - 300));
      const attempts = Array.from({ length: 6 }, async (_, index) => {
        await new Promise((resolve) => setTimeout(resolve, index * 100));
        return index % 2 === 0
          ? change(service, at, { plan_id: other, quantity: index + 1 })
          : service.subscriptions.billDue(10);
      });
      await Promise.all(attempts);
      await pass(service, at, 31);
      const cycles = (await ordersOf(service, at)).flatMap(({ subscription_cycle: cycle }) => cycle ?? []);
      assert.deepEqual(cycles, [1, 2]);
    }
  });

  it('a change leaves the subscription with a due date, or with a charge in progress', async () => {
    const forgotten = await countOf(
      service,
      'subscriptions s',
      `status = 'active' AND due_at IS NULL AND NOT EXISTS (SELECT 1 FROM open_transactions t
         WHERE t.company_id = s.company_id AND t.order_id IN (s.latest_order_id, (s.pending_change ->> 'order_id')::uuid))`,
      [],
    );
    assert.equal(forgotten, 0);
  });
});
