import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  addCard,
  cards,
  created,
  dayMs,
  everyDays,
  later,
  moveTo,
  openScene,
  operator,
  ordersOf,
  type Scene,
  typesOf,
} from '../../../tests/support/billing.ts';
import {
  approvedOutcome,
  declinedOutcome,
  type Faults,
  useFaultyService,
} from '../../../tests/support/faulty-service.ts';
import { assertRefused, readOrder, until } from '../../../tests/support/orders.ts';
import { raceRounds } from '../../../tests/support/random.ts';
import type { CallOptions, Reply, TestService } from '../../../tests/support/service.ts';
import { readSubscription } from '../../../tests/support/subscriptions.ts';
import { pauseSubscription } from '../subscriptions/service.ts';

/** PATCH /v1/customers/{id}/payment_methods/{pm_id}: a card that the customer already has. */

let service: TestService;
const faults = useFaultyService((started) => {
  service = started;
});

const hourMs = 3_600_000;
const monthly30 = { billing_cycle: everyDays(30) };
const pathOf = ({ customer_id }: Scene, card: string): string => `/v1/customers/${customer_id}/payment_methods/${card}`;
const patch = (at: Scene, card: string, body: unknown, options: CallOptions = {}): Promise<Reply> =>
  service.call('PATCH', pathOf(at, card), { key: at.key, body, ...options });
const remove = (at: Scene, card: string, replacement_payment_method_id: string): Promise<Reply> =>
  service.call('DELETE', pathOf(at, card), { key: at.key, body: { replacement_payment_method_id } });
const customerOf = async ({ key, customer_id }: Scene): Promise<Reply['body']> =>
  (await service.call('GET', `/v1/customers/${customer_id}`, { key })).body;
async function used(at: Scene, card: string, body: unknown): Promise<Reply['body']> {
  const reply = await patch(at, card, body);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}
const eventsOf = (id: string): Promise<{ type: string; sequence: number; previous: object | null }[]> =>
  service.db.query('SELECT type, sequence, previous FROM events WHERE object_id = $1 ORDER BY sequence', [id]);

interface Due extends Scene {
  readonly id: string;
  readonly orderId: string;
  readonly declinedAt: string;
  /** The card that was declined. */
  readonly bad: string;
  /** Another card on file that the subscription does not use. */
  readonly good: string;
}

/** Its second cycle was declined an hour ago; the customer has a good card on file. */
async function pastDue(second: string = cards.good): Promise<Due> {
  const at = await openScene(service, monthly30, cards.declinesAfterFirst);
  const { id, next_billing_at, payment_method } = await created(service, at);
  const good = await addCard(service, at, second);
  await moveTo(service, at.key, later(next_billing_at, hourMs));
  const { status, latest_order_id } = await readSubscription(service, id, at);
  assert.equal(status, 'past_due');
  return { ...at, id, orderId: latest_order_id, declinedAt: next_billing_at, bad: payment_method.id, good };
}

const salesOf = async (due: Due): Promise<string[]> =>
  (await readOrder(service, due.orderId, due)).transactions.map(({ status }: { status: string }) => status);

describe('set_as_default', () => {
  it('makes the card the default, answers it, and sends customer.updated once', async () => {
    const at = await openScene(service);
    const before = await customerOf(at);
    const second = await addCard(service, at, cards.good);
    const body = await used(at, second, { set_as_default: true });
    assert.deepEqual(body, (await service.call('GET', pathOf(at, second), { key: at.key })).body);
    assert.equal(body.is_default, true);
    assert.deepEqual(await used(at, second, { set_as_default: true }), body, 'again changes nothing');
    assert.equal((await customerOf(at)).default_payment_method_id, second);
    assert.deepEqual(await eventsOf(at.customer_id), [
      { type: 'customer.created', sequence: 1, previous: null },
      {
        type: 'customer.updated',
        sequence: 2,
        previous: { default_payment_method_id: before.default_payment_method_id },
      },
    ]);
    const first = before.default_payment_method_id;
    assert.equal((await service.call('GET', pathOf(at, first), { key: at.key })).body.is_default, false);
  });

  it('leaves the subscriptions where they are', async () => {
    const at = await openScene(service);
    const { id, payment_method } = await created(service, at);
    const second = await addCard(service, at, cards.good);
    await used(at, second, { set_as_default: true });
    assert.deepEqual((await readSubscription(service, id, at)).payment_method, payment_method);
    const next = await created(service, at);
    assert.equal(next.payment_method.id, second, 'new ones use the default');
  });

  it('false is refused for the default card, which always is one, and changes nothing for another', async () => {
    const at = await openScene(service);
    const { default_payment_method_id: first } = await customerOf(at);
    const second = await addCard(service, at, cards.good);
    const refused = await patch(at, first, { set_as_default: false, update_subscriptions: true });
    assertRefused(refused, 400, 'validation_error', 'set_as_default');
    assert.equal((await used(at, second, { set_as_default: false })).is_default, false);
    assert.equal((await customerOf(at)).default_payment_method_id, first);
    assert.equal((await eventsOf(at.customer_id)).length, 1);
  });
});

describe('a request', () => {
  it('needs at least one field, takes no other and no null', async () => {
    const at = await openScene(service);
    const { default_payment_method_id: card } = await customerOf(at);
    for (const [body, param] of [
      [{}, 'body'],
      [undefined, undefined],
      [{ set_as_default: null }, 'set_as_default'],
      [{ update_subscriptions: 'yes' }, 'update_subscriptions'],
      [{ set_as_default: true, billing_details: {} }, 'billing_details'],
    ] as const) {
      const reply = await patch(at, card, body);
      assert.equal(reply.status, 400, reply.text);
      if (param) assertRefused(reply, 400, 'validation_error', param);
    }
  });

  it('is 404 for a card that is deleted, unknown or of another customer, and 400 for a deleted customer', async () => {
    const [at, other] = await Promise.all([openScene(service), openScene(service)]);
    const own = await addCard(service, at, cards.good);
    const { default_payment_method_id: foreign } = await customerOf(other);
    const { default_payment_method_id: kept } = await customerOf(at);
    assert.equal((await remove(at, own, kept)).status, 200);
    for (const card of [own, foreign, randomUUID(), 'nonsense']) {
      const reply = await patch(at, card, { set_as_default: true });
      assertRefused(reply, 404, 'resource_not_found', 'pm_id');
    }
    await service.call('DELETE', `/v1/customers/${at.customer_id}`, { key: at.key });
    assertRefused(await patch(at, kept, { set_as_default: true }), 400, 'invalid_request', 'customer_id');
  });

  it('needs payment_methods:write', async () => {
    const at = await openScene(service);
    const key = await service.createKey(at.company, { permissions: ['payment_methods:read', 'subscriptions:write'] });
    const { default_payment_method_id: card } = await customerOf(at);
    const reply = await patch(at, card, { set_as_default: true }, { key });
    assertRefused(reply, 403, 'insufficient_permissions');
  });

  it('with a repeated key is carried out once, and with another body is a conflict', async () => {
    const due = await pastDue();
    const idempotencyKey = randomUUID();
    const body = { set_as_default: true, update_subscriptions: true };
    const first = await patch(due, due.good, body, { idempotencyKey });
    // Moved back by another request: the repeated key must not move it again.
    await used(due, due.bad, { update_subscriptions: true });
    const again = await patch(due, due.good, body, { idempotencyKey });
    assert.equal(again.text, first.text);
    assert.equal((await readSubscription(service, due.id, due)).payment_method.id, due.bad);
    const other = await patch(due, due.good, { set_as_default: true }, { idempotencyKey });
    assertRefused(other, 422, 'idempotency_key_conflict');
  });

  it('is in the audit log with its fields', async () => {
    const at = await openScene(service);
    const { default_payment_method_id: card } = await customerOf(at);
    await used(at, card, { update_subscriptions: true });
    const entriesOf = (): Promise<object[]> =>
      service.db.query(
        `SELECT fields, object_id FROM audit_entries WHERE company_id = $1 AND action = 'updatePaymentMethod'`,
        [at.company.id],
      );
    await until('the entry of a key, which follows its answer', async () => (await entriesOf()).length > 0);
    assert.deepEqual(await entriesOf(), [{ fields: ['update_subscriptions'], object_id: at.customer_id }]);
  });
});

describe('update_subscriptions', () => {
  it('charges one that is past due at once, exactly as attaching a card does', async () => {
    const due = await pastDue();
    await used(due, due.good, { update_subscriptions: true });
    assert.equal((await customerOf(due)).default_payment_method_id, due.bad, 'the default is another matter');
    await service.subscriptions.billDue(100);
    const body = await readSubscription(service, due.id, due);
    assert.partialDeepStrictEqual(body, { status: 'active', completed_cycles: 2, next_retry_at: null });
    assert.equal(body.payment_method.id, due.good);
    assert.equal(body.next_billing_at, later(due.declinedAt, 30 * dayMs), 'the regular date');
    assert.deepEqual((await typesOf(service, due.id)).slice(6), [
      'subscription.updated',
      'order.succeeded',
      'subscription.charged',
      'subscription.recovered',
    ]);
  });

  it('moves active and paused ones without a charge, and no canceled or failed ones', async () => {
    const at = await openScene(service);
    const [active, paused, canceled] = [
      await created(service, at),
      await created(service, at),
      await created(service, at),
    ];
    await pauseSubscription(await operator(service, at), paused.id);
    await service.call('DELETE', `/v1/subscriptions/${canceled.id}`, { key: at.key });
    const declining = await addCard(service, at, cards.declined);
    const failed = await created(service, at, { payment_method_id: declining }, 'failed');
    const second = await addCard(service, at, cards.good);
    await used(at, second, { update_subscriptions: true });
    await service.subscriptions.billDue(100);
    for (const { id, expected } of [
      { id: active.id, expected: second },
      { id: paused.id, expected: second },
      { id: canceled.id, expected: canceled.payment_method.id },
      { id: failed.id, expected: declining },
    ]) {
      assert.equal((await readSubscription(service, id, at)).payment_method.id, expected);
    }
    assert.equal((await ordersOf(service, at)).length, 4);
    const event = (await eventsOf(active.id)).at(-1);
    assert.deepEqual(event, {
      type: 'subscription.updated',
      sequence: 2,
      previous: { payment_method: active.payment_method },
    });
  });

  it('to the card it is on already moves nothing and charges nothing, however often', async () => {
    const due = await pastDue();
    const before = await readSubscription(service, due.id, due);
    for (let n = 0; n < 3; n += 1) await used(due, due.bad, { update_subscriptions: true });
    await service.subscriptions.billDue(100);
    assert.deepEqual(await readSubscription(service, due.id, due), before);
    assert.deepEqual(await salesOf(due), ['failed']);
  });

  it('to a card that is also declined continues with the remaining retries', async () => {
    const due = await pastDue(cards.noFunds);
    await used(due, due.good, { update_subscriptions: true });
    await service.subscriptions.billDue(100);
    assert.partialDeepStrictEqual(await readSubscription(service, due.id, due), {
      status: 'past_due',
      attempt_count: 2,
      next_retry_at: later(due.declinedAt, dayMs),
    });
  });
});

describe('at the same time', () => {
  /** A dunning retry has reached the processor, which answers when it is let go. */
  async function retryUnderWay(due: Due, outcome: Faults['charge']): Promise<() => Promise<void>> {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    const { promise: letGo, resolve: answer } = Promise.withResolvers<void>();
    faults.charge = async (request) => {
      delete faults.charge;
      arrive();
      await letGo;
      assert.ok(outcome);
      return outcome(request);
    };
    await service.db.query('UPDATE companies SET clock_offset_ms = clock_offset_ms + $2 WHERE id = $1', [
      due.company.id,
      dayMs,
    ]);
    const billed = service.subscriptions.billDue(100);
    await arrived;
    return async () => {
      answer();
      await billed;
    };
  }

  it('a dunning retry that is declined is followed by a charge of the new card', async () => {
    const due = await pastDue();
    const end = await retryUnderWay(due, declinedOutcome);
    await used(due, due.good, { update_subscriptions: true });
    assert.equal(await service.subscriptions.billDue(100), 0, 'not while the other card is being charged');
    await end();
    await service.subscriptions.billDue(100);
    assert.deepEqual(await salesOf(due), ['failed', 'failed', 'succeeded']);
    assert.partialDeepStrictEqual(await readSubscription(service, due.id, due), {
      status: 'active',
      completed_cycles: 2,
      payment_method: { id: due.good },
    });
  });

  it('a dunning retry that is approved pays the cycle, and the new card is not charged for it', async () => {
    const due = await pastDue();
    const end = await retryUnderWay(due, approvedOutcome);
    await used(due, due.good, { update_subscriptions: true });
    await end();
    await service.subscriptions.billDue(100);
    assert.deepEqual(await salesOf(due), ['failed', 'succeeded']);
    const body = await readSubscription(service, due.id, due);
    assert.deepEqual([body.status, body.payment_method.id], ['active', due.good]);
  });

  it('the deletion of the card never leaves a subscription or a default on a deleted card', async () => {
    for (let round = 0; round < raceRounds; round += 1) {
      const at = await openScene(service);
      const { id, payment_method } = await created(service, at);
      const second = await addCard(service, at, cards.good);
      const [moved, deleted] = await Promise.all([
        patch(at, second, { set_as_default: true, update_subscriptions: true }),
        remove(at, second, payment_method.id),
      ]);
      assert.ok([200, 404].includes(moved.status), moved.text);
      assert.equal(deleted.status, 200, deleted.text);
      assert.equal((await customerOf(at)).default_payment_method_id, payment_method.id);
      assert.equal((await readSubscription(service, id, at)).payment_method.id, payment_method.id);
    }
  });

  it('new cards, moves and workers charge a past due cycle once', async () => {
    for (let round = 0; round < raceRounds; round += 1) {
      const due = await pastDue();
      const replies = await Promise.all([
        patch(due, due.good, { update_subscriptions: true, set_as_default: true }),
        patch(due, due.good, { update_subscriptions: true }),
        addCard(service, due, '4000000000001111', { update_subscriptions: true }),
        service.subscriptions.billDue(100),
        patch(due, due.good, { update_subscriptions: true }),
        service.subscriptions.billDue(100),
      ]);
      for (const reply of replies) if (typeof reply === 'object') assert.equal(reply.status, 200, reply.text);
      while ((await service.subscriptions.billDue(100)) > 0);
      const paid = (await salesOf(due)).filter((status) => status === 'succeeded');
      assert.equal(paid.length, 1);
      assert.partialDeepStrictEqual(await readSubscription(service, due.id, due), {
        status: 'active',
        completed_cycles: 2,
      });
    }
  });
});

describe('DELETE …/payment_methods/{pm_id}', () => {
  it('sends customer.updated when another card becomes the default', async () => {
    const at = await openScene(service);
    const { default_payment_method_id: first } = await customerOf(at);
    const second = await addCard(service, at, cards.good);
    assert.equal((await remove(at, first, second)).status, 200);
    assert.deepEqual((await eventsOf(at.customer_id)).slice(1), [
      { type: 'customer.updated', sequence: 2, previous: { default_payment_method_id: first } },
    ]);
  });
});
