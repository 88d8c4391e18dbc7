import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addCard,
  cards,
  clockOf,
  create,
  created,
  day,
  dayMs,
  everyDays,
  later,
  moveTo,
  openScene,
  operator,
  ordersOf,
  type Scene,
} from '../../../tests/support/billing.ts';
import {
  approvedOutcome,
  type Faults,
  unknownOutcome,
  useFaultyService,
} from '../../../tests/support/faulty-service.ts';
import { assertRefused, checkAllOpen, eventTypes, retry } from '../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';
import { advance, allEventsOf, readSubscription } from '../../../tests/support/subscriptions.ts';
import { pauseSubscription, resumeSubscription } from './service.ts';
import { nextSubscriptionStatus, subscriptionStatuses, subscriptionTransitions } from './transitions.ts';

let service: TestService;
const faults = useFaultyService((started) => {
  service = started;
});

type Lookup = NonNullable<Faults['lookup']>;

interface Held extends Scene {
  readonly id: string;
}

/** Paid for thirty days. */
async function active(number?: string, more: Record<string, unknown> = {}): Promise<Held> {
  const at = await openScene(service, { billing_cycle: everyDays(30) }, number);
  return { ...at, id: (await created(service, at, more)).id };
}

async function failedFirst(number: string = cards.declined): Promise<Held> {
  const at = await openScene(service, {}, number);
  return { ...at, id: (await created(service, at, {}, 'failed')).id };
}

/** Active; its first charge is still to come. */
async function toStart(number?: string): Promise<Held> {
  const at = await openScene(service, {}, number);
  const start_date = day(later(await clockOf(service, at.key), 5 * dayMs));
  return { ...at, id: (await created(service, at, { start_date })).id };
}

const pass = async (held: Held, days: number): Promise<Held> => {
  const reply = await advance(service, { by: { days, hours: 1 } }, { key: held.key });
  assert.equal(reply.status, 200, reply.text);
  return held;
};
const pastDue = async (): Promise<Held> => pass(await active(cards.declinesAfterFirst), 30);
const dunningFailed = async (): Promise<Held> => pass(await pastDue(), 7);
async function paused(): Promise<Held> {
  const held = await active();
  await pauseSubscription(await operator(service, held), held.id);
  return held;
}
/** The renewal waited for the vault at the pause, and is discarded. */
async function pausedWaiting(): Promise<Held> {
  const held = await active();
  faults.charge = async () => ({ outcome: 'unavailable', reason: 'away' });
  const dueMs = Date.parse((await read(held)).next_billing_at) - Date.parse(await clockOf(service, held.key));
  await service.db.query('UPDATE companies SET clock_offset_ms = clock_offset_ms + $2 WHERE id = $1', [
    held.company.id,
    dueMs + 60_000,
  ]);
  await service.subscriptions.billDue(64);
  assert.equal((await latestOrder(held)).status, 'pending');
  await pauseSubscription(await operator(service, held), held.id);
  await assert.rejects(resumeSubscription(await operator(service, held), held.id), /is being discarded/);
  delete faults.charge;
  await service.orders.reconcileDue(1000);
  const discarded = await latestOrder(held);
  assert.deepEqual([discarded.status, discarded.failure_code], ['failed', 'transaction_not_allowed']);
  assert.match(discarded.failure_reason, /was paused before/);
  return held;
}
const completed = async (): Promise<Held> => pass(await active(undefined, { billing_cycles: 1 }), 31);
const canceled = async (): Promise<Held> => {
  const held = await active();
  await cancel(held);
  return held;
};

const read = ({ id, key }: Held): Promise<Reply['body']> => readSubscription(service, id, { key });
const cancel = ({ id, key }: Held): Promise<Reply> => service.call('DELETE', `/v1/subscriptions/${id}`, { key });
const retryLatest = async (held: Held): Promise<Reply> =>
  retry(service, (await read(held)).latest_order_id, { key: held.key });
const latestOrder = async (held: Held): Promise<Reply['body']> => (await ordersOf(service, held)).at(-1) ?? {};

/** The outcome of the next charge is unknown; meanwhile the subscription is canceled. */
async function canceledInFlight(held: Held, days: number, end: Lookup): Promise<Held> {
  [faults.charge, faults.lookup] = [unknownOutcome, unknownOutcome];
  await pass(held, days);
  assert.equal((await latestOrder(held)).status, 'pending');
  assert.equal((await cancel(held)).status, 200);
  faults.lookup = end;
  await checkAllOpen(service);
  return held;
}
const notFound: Lookup = async () => ({ outcome: 'not_found' });

/** The rows of POST /v1/subscriptions are in `subscriptions.test.ts`. */
describe('the state table of the contract', () => {
  it('active, last cycle billed, all cycles finished: completed', async () => {
    const held = await active(undefined, { billing_cycles: 2 });
    await pass(held, 59);
    assert.partialDeepStrictEqual(await read(held), { status: 'active', completed_cycles: 2, next_billing_at: null });
    await pass(held, 1);
    const body = await read(held);
    assert.partialDeepStrictEqual(body, { status: 'completed', completed_cycles: 2, canceled_at: null });
    assert.equal(body.completed_at, body.current_period_end);
    assert.deepEqual((await eventTypes(service, held.id)).slice(1), ['subscription.charged', 'subscription.completed']);
  });

  it('active, renewal charge declines: past_due, order.failed with subscription_cycle and next_retry_at', async () => {
    const held = await pastDue();
    assert.equal((await read(held)).status, 'past_due');
    const failed = (await allEventsOf(service, held.id)).filter(({ type }) => type === 'order.failed');
    assert.equal(failed.length, 1);
    assert.equal(failed[0]?.object.subscription_cycle, 2);
    assert.ok(failed[0]?.object.next_retry_at);
  });

  for (const [status, make] of Object.entries({ active, paused, past_due: pastDue, failed: dunningFailed })) {
    it(`${status}, DELETE /v1/subscriptions/{id}: canceled, immediate and permanent, subscription.canceled`, async () => {
      const held = await make();
      assert.equal((await read(held)).status, status);
      const orders = await ordersOf(service, held);
      const reply = await cancel(held);
      assert.deepEqual([reply.status, reply.body.status], [200, 'canceled'], reply.text);
      assert.equal((await eventTypes(service, held.id)).at(-1), 'subscription.canceled');
      await pass(held, 90);
      assert.equal((await read(held)).status, 'canceled');
      assert.deepEqual(
        (await ordersOf(service, held)).map(({ attempt_count }) => attempt_count),
        orders.map(({ attempt_count }) => attempt_count),
        'nothing is charged any more',
      );
    });
  }

  for (const [status, make, code] of [
    ['canceled', canceled, 'already_canceled'],
    ['completed', completed, 'subscription_completed'],
  ] as const) {
    it(`${status}, DELETE /v1/subscriptions/{id}: unchanged, 409 ${code}`, async () => {
      const held = await make();
      const [before, events] = [await read(held), await eventTypes(service, held.id)];
      assertRefused(await cancel(held), 409, code);
      assert.deepEqual(await read(held), before);
      assert.deepEqual(await eventTypes(service, held.id), events);
    });
  }

  for (const [status, make, action] of [
    ['active', active, 'pause'],
    ['paused', paused, 'resume'],
  ] as const) {
    it(`${status}, POST /v1/subscriptions/{id}/${action}: unchanged, 501 not_implemented`, async () => {
      const held = await make();
      const [before, events] = [await read(held), await eventTypes(service, held.id)];
      const reply = await service.call('POST', `/v1/subscriptions/${held.id}/${action}`, { key: held.key });
      assertRefused(reply, 501, 'not_implemented');
      assert.equal(reply.body.error.type, 'processing_error');
      assert.deepEqual(await read(held), before);
      assert.equal(before.status, status);
      assert.deepEqual(await eventTypes(service, held.id), events);
    });
  }
});

/** Each gives a subscription that has just gone through the row. */
const scenarios: Record<string, () => Promise<Held>> = {
  'pending, first_charge_approved: active': () => inDoubt(approvedOutcome),
  'pending, first_charge_declined: failed': () => inDoubt(notFound),
  'active, first_charge_approved: active': async () => pass(await toStart(), 6),
  'active, first_charge_declined: failed': async () => pass(await toStart(cards.declined), 6),
  'failed, first_charge_approved: active': () => retried(() => failedFirst(cards.declinesFirst), 'succeeded'),
  'failed, first_charge_declined: failed': () => retried(() => failedFirst(), 'failed'),
  'active, renewal_approved: active': async () => pass(await active(), 30),
  'active, renewal_declined: past_due': pastDue,
  'past_due, renewal_approved: active': async () => {
    const held = await pastDue();
    await addCard(service, held, cards.good, { update_subscriptions: true });
    return pass(held, 0);
  },
  'past_due, renewal_declined: past_due': async () => pass(await pastDue(), 1),
  'failed, renewal_approved: active': () => {
    return retried(async () => {
      const held = await dunningFailed();
      faults.charge = approvedOutcome;
      return held;
    }, 'succeeded');
  },
  'failed, renewal_declined: failed': () => retried(dunningFailed, 'failed'),
  'past_due, dunning_ended: failed': dunningFailed,
  'active, last_period_ended: completed': completed,
  'active, canceled: canceled': canceled,
  'paused, canceled: canceled': () => then(paused, cancel),
  'past_due, canceled: canceled': () => then(pastDue, cancel),
  'failed, canceled: canceled': () => then(failedFirst, cancel),
  'canceled, first_charge_approved: canceled': async () => canceledInFlight(await toStart(), 6, approvedOutcome),
  'canceled, first_charge_declined: canceled': async () => canceledInFlight(await toStart(), 6, notFound),
  'canceled, renewal_approved: canceled': async () => canceledInFlight(await active(), 30, approvedOutcome),
  'canceled, renewal_declined: canceled': async () => canceledInFlight(await active(), 30, notFound),
  'active, paused: paused': paused,
  'paused, renewal_declined: paused': pausedWaiting,
  'paused, renewal_approved: paused': () => retried(pausedWaiting, 'succeeded'),
  'paused, resumed: active': () =>
    then(paused, async (held) => resumeSubscription(await operator(service, held), held.id)),
};

async function then(make: () => Promise<Held>, act: (held: Held) => Promise<unknown>): Promise<Held> {
  const held = await make();
  await act(held);
  return held;
}

async function inDoubt(end: Lookup): Promise<Held> {
  const at = await openScene(service);
  [faults.charge, faults.lookup] = [unknownOutcome, unknownOutcome];
  assertRefused(await create(service, at), 502, 'gateway_error');
  const [order] = await ordersOf(service, at);
  faults.lookup = end;
  await checkAllOpen(service);
  return { ...at, id: order?.subscription_id };
}

async function retried(make: () => Promise<Held>, status: string): Promise<Held> {
  return then(make, async (held) => {
    const reply = await retryLatest(held);
    assert.deepEqual([reply.status, reply.body.status], [200, status], reply.text);
  });
}

/** The last event, where the row has one. */
const lastEvents: Record<string, string> = {
  'active, first_charge_declined: failed': 'subscription.failed',
  'failed, first_charge_approved: active': 'subscription.recovered',
  'active, renewal_approved: active': 'subscription.charged',
  'active, renewal_declined: past_due': 'subscription.past_due',
  'past_due, renewal_approved: active': 'subscription.recovered',
  'past_due, renewal_declined: past_due': 'subscription.past_due',
  'failed, renewal_approved: active': 'subscription.recovered',
  'failed, renewal_declined: failed': 'subscription.failed',
  'past_due, dunning_ended: failed': 'subscription.failed',
  'active, last_period_ended: completed': 'subscription.completed',
  'active, canceled: canceled': 'subscription.canceled',
  'paused, canceled: canceled': 'subscription.canceled',
  'past_due, canceled: canceled': 'subscription.canceled',
  'failed, canceled: canceled': 'subscription.canceled',
  'active, paused: paused': 'subscription.paused',
  'paused, resumed: active': 'subscription.resumed',
};

describe('the transitions of the program', () => {
  it('all have a scenario here', () => {
    const rows = subscriptionTransitions.map(([from, because, to]) => `${from}, ${because}: ${to}`);
    assert.deepEqual(Object.keys(scenarios).toSorted(), rows.toSorted());
  });

  for (const [row, go] of Object.entries(scenarios)) {
    it(row, async () => {
      const held = await go();
      const body = await read(held);
      assert.equal(body.status, row.split(': ')[1]);
      const events = await eventTypes(service, held.id);
      assert.equal(events[0], 'subscription.created');
      if (lastEvents[row]) assert.equal(events.at(-1), lastEvents[row]);
      if (body.status !== 'active') assert.equal(body.next_billing_at, null);
      if (body.status !== 'past_due') assert.equal(body.next_retry_at, null);
      if (body.status !== 'past_due') assert.equal((await latestOrder(held)).next_retry_at, null);
      const { status, attempt_count } = await latestOrder(held);
      const isPaid = body.status === 'active' || status === 'succeeded';
      if (body.latest_order_id) assert.equal(body.attempt_count, isPaid ? 0 : attempt_count);
    });
  }

  it('nothing leads out of completed, and nothing but itself out of canceled', () => {
    const triggers = [...new Set(subscriptionTransitions.map(([, because]) => because))];
    for (const trigger of triggers) {
      assert.equal(nextSubscriptionStatus('completed', trigger), undefined);
      assert.ok([undefined, 'canceled'].includes(nextSubscriptionStatus('canceled', trigger)));
    }
    const reachable = new Set(subscriptionTransitions.map(([, , to]) => to));
    assert.deepEqual([...reachable].toSorted(), [...subscriptionStatuses].toSorted());
  });

  it('a charge in flight when it is canceled counts, and its event says that it was paid', async () => {
    const held = await canceledInFlight(await active(), 30, approvedOutcome);
    const order = await latestOrder(held);
    assert.deepEqual([order.status, order.subscription_cycle], ['succeeded', 2]);
    assert.equal((await read(held)).completed_cycles, 2);
    delete faults.charge;
    await pass(held, 60);
    assert.equal((await ordersOf(service, held)).length, 2);
  });

  it('a first charge in flight when it is canceled counts: the order is cycle 1', async () => {
    const held = await canceledInFlight(await toStart(), 6, approvedOutcome);
    const order = await latestOrder(held);
    assert.deepEqual([order.status, order.subscription_cycle], ['succeeded', 1]);
  });

  it('a paused one is not paused again, nor an active one resumed; canceled and past due ones neither', async () => {
    for (const make of [paused, canceled, pastDue, dunningFailed, completed]) {
      const held = await make();
      const context = await operator(service, held);
      await assert.rejects(pauseSubscription(context, held.id), /must be active/);
      if (make !== paused) await assert.rejects(resumeSubscription(context, held.id), /must be paused/);
    }
    const held = await active();
    await assert.rejects(resumeSubscription(await operator(service, held), held.id), /must be paused/);
  });

  it('a last cycle that is recovered late is completed, not billed once more', async () => {
    const held = await active(cards.declinesAfterFirst, { billing_cycles: 2 });
    await pass(held, 31);
    assert.equal((await read(held)).status, 'past_due');
    await addCard(service, held, cards.good, { update_subscriptions: true });
    await pass(held, 0);
    assert.partialDeepStrictEqual(await read(held), { status: 'active', completed_cycles: 2, next_billing_at: null });
    await moveTo(service, held.key, later(await clockOf(service, held.key), 40 * dayMs));
    assert.equal((await read(held)).status, 'completed');
    assert.equal((await ordersOf(service, held)).length, 2);
  });
});
