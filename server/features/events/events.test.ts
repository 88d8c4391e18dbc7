import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  assertInvalid,
  assertRefused,
  capture,
  checkAllOpen,
  countOf,
  openShop,
  order,
  refund,
  retry,
  succeeded,
} from '../../../tests/support/orders.ts';
import { type Reply, someCustomer, startTestService, type TestService } from '../../../tests/support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

type Shown = Record<string, any>;

/** The events of one object, oldest first, as the API shows them. */
async function eventsAbout(id: string, key = service.key): Promise<Shown[]> {
  const reply = await service.call('GET', `/v1/events?limit=100&object_id=${id}`, { key });
  assert.equal(reply.status, 200, reply.text);
  return reply.body.data.toSorted((left: Shown, right: Shown) => left.sequence - right.sequence);
}

const namesOf = (events: readonly Shown[]): string[] => events.map(({ type }) => type);

async function newCustomer(overrides: Record<string, unknown> = {}): Promise<Reply> {
  const reply = await service.call('POST', '/v1/customers', { body: someCustomer(overrides) });
  assert.equal(reply.status, 201, reply.text);
  return reply;
}

describe('an event', () => {
  it('says what happened to which object, when, and by which request', async () => {
    const made = await newCustomer();
    const [event] = await eventsAbout(made.body.id);
    assert.ok(event);
    assert.match(event.id, /^evt_[0-9a-f]{32}$/);
    assert.deepEqual(event, {
      id: event.id,
      type: 'customer.created',
      created_at: made.body.created_at,
      api_version: '2026-02-11',
      livemode: false,
      sequence: 1,
      request_id: made.headers.get('svc-request-id'),
      data: { object: made.body },
    });
    assert.deepEqual((await service.call('GET', `/v1/events/${event.id}`)).body, event);
  });

  it('of a live company says so', async () => {
    const { live } = await service.createMerchant();
    const key = await service.createKey(live);
    const made = await service.call('POST', '/v1/customers', { key, body: someCustomer() });
    assert.equal((await eventsAbout(made.body.id, key))[0]?.livemode, true);
  });

  it('of a change says what was there before', async () => {
    const { body: customer } = await newCustomer({ metadata: { level: 1 } });
    const change = { first_name: 'Grace', metadata: { level: 2 } };
    const changed = await service.call('PATCH', `/v1/customers/${customer.id}`, { body: change });
    await service.call('DELETE', `/v1/customers/${customer.id}`);
    const events = await eventsAbout(customer.id);
    assert.deepEqual(namesOf(events), ['customer.created', 'customer.updated', 'customer.deleted']);
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      [1, 2, 3],
    );
    assert.deepEqual(events[1]?.data, {
      object: changed.body,
      previous: { first_name: 'Ada', metadata: { level: 1 } },
    });
    assert.deepEqual(
      [events[2]?.data.object.id, events[2]?.data.object.deleted, 'previous' in (events[2]?.data ?? {})],
      [customer.id, true, false],
    );
  });

  it('is written when a card is attached and detached', async () => {
    const { body: customer } = await newCustomer();
    const cardId = await capture(service, customer.id);
    const path = `/v1/customers/${customer.id}/payment_methods/${cardId}`;
    const { body: card } = await service.call('GET', path);
    assert.equal((await service.call('DELETE', path)).status, 200);
    const events = await eventsAbout(cardId);
    assert.deepEqual(namesOf(events), ['payment_method.attached', 'payment_method.detached']);
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      [1, 2],
    );
    assert.deepEqual(events[0]?.data.object, card);
    assert.ok(!JSON.stringify(events).includes('4242424242424242'));
  });

  it('is written for each step of an order, with the whole order in it', async () => {
    const shop = await openShop(service);
    const whole = await succeeded(service, shop);
    await refund(service, whole.id, 100);
    await checkAllOpen(service);
    await refund(service, whole.id);
    await checkAllOpen(service);
    const steps = await eventsAbout(whole.id);
    assert.deepEqual(namesOf(steps), [
      'order.created',
      'order.succeeded',
      'order.partially_refunded',
      'order.refunded',
    ]);
    assert.deepEqual(
      steps.map(({ sequence }) => sequence),
      [1, 2, 3, 4],
    );
    const { body: shown } = await service.call('GET', `/v1/orders/${whole.id}`);
    assert.deepEqual(steps[3]?.data.object, shown);
    const declined = await openShop(service, '4000000000000002');
    const { body: failed } = await order(service, declined);
    await retry(service, failed.id);
    const failures = await eventsAbout(failed.id);
    assert.deepEqual(namesOf(failures), ['order.created', 'order.failed', 'order.failed']);
    for (const name of ['subscription_id', 'subscription_cycle', 'attempt_count', 'next_retry_at']) {
      assert.ok(name in (failures[2]?.data.object ?? {}), name);
    }
  });

  it('is not written for reads, rejected requests and changes that fail', async () => {
    const { body: customer } = await newCustomer();
    const { body: other } = await newCustomer();
    const events = () => countOf(service, 'events', 'company_id = $1', [service.company.id]);
    const before = await events();
    const path = `/v1/customers/${customer.id}`;
    await service.call('GET', path);
    await service.call('GET', '/v1/events');
    assertRefused(await service.call('PATCH', path, { body: { email: other.email } }), 409, 'email_already_exists');
    assertRefused(
      await service.call('POST', '/v1/customers', { body: someCustomer({ phone: other.phone }) }),
      409,
      'phone_already_exists',
    );
    assertRefused(await service.call('DELETE', '/v1/customers/unknown'), 404, 'resource_not_found');
    assert.equal(await events(), before);
  });

  it('is committed together with its change', async () => {
    const { body: customer } = await newCustomer();
    const shop = await openShop(service);
    const charged = await succeeded(service, shop);
    const changes: [string, string, unknown?][] = [
      ['POST', '/v1/customers', someCustomer()],
      ['PATCH', `/v1/customers/${customer.id}`, { first_name: 'Eve' }],
      ['DELETE', `/v1/customers/${customer.id}`],
      ['DELETE', `/v1/customers/${shop.customerId}/payment_methods/${shop.paymentMethodId}`],
      ['POST', `/v1/sandbox/orders/${charged.id}/chargeback`],
    ];
    const state = () =>
      service.db.query(
        `SELECT (SELECT count(*) FROM customers)::int, (SELECT count(*) FROM events)::int,
           (SELECT array_agg(first_name || sequence ORDER BY id) FROM customers) AS names,
           (SELECT array_agg(status ORDER BY id) FROM orders) AS orders`,
      );
    const before = await state();
    await service.db.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no events today'; END $$`,
    );
    await service.db.query('CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse()');
    try {
      for (const [method, path, body] of changes) {
        const reply = await service.call(method, path, body === undefined ? {} : { body });
        assert.equal(reply.status, 500, `${method} ${path}`);
      }
    } finally {
      await service.db.query('DROP FUNCTION refuse() CASCADE');
    }
    assert.deepEqual(await state(), before);
  });
});

describe('the list of events', () => {
  it('is walked both ways, newest first, with ids of events', async () => {
    const { key } = await service.createMerchant();
    for (let count = 0; count < 5; count += 1) {
      await service.call('POST', '/v1/customers', { key, body: someCustomer() });
    }
    const list = async (query: string): Promise<Reply> => {
      const reply = await service.call('GET', `/v1/events?${query}`, { key });
      assert.equal(reply.status, 200, reply.text);
      return reply;
    };
    const idsIn = (reply: Reply): string[] => reply.body.data.map(({ id }: Shown) => id);
    const all = idsIn(await list('limit=100'));
    assert.deepEqual(all, all.toSorted().toReversed());
    const first = await list('limit=2');
    assert.deepEqual([idsIn(first), first.body.cursors.previous], [all.slice(0, 2), null]);
    assert.equal(first.body.cursors.next, all[1]);
    const second = await list(`limit=2&starting_after=${first.body.cursors.next}`);
    assert.deepEqual(idsIn(second), all.slice(2, 4));
    const last = await list(`limit=2&starting_after=${second.body.cursors.next}`);
    assert.deepEqual([idsIn(last), last.body.cursors.next], [all.slice(4), null]);
    const back = await list(`limit=2&ending_before=${last.body.cursors.previous}`);
    assert.deepEqual(idsIn(back), all.slice(2, 4));
    const wrong = await service.call('GET', '/v1/events?starting_after=evt_1', { key });
    assertInvalidCursor(wrong);
  });

  function assertInvalidCursor(reply: Reply): void {
    assert.deepEqual([reply.status, reply.body.error?.param], [400, 'starting_after'], reply.text);
  }

  it('is filtered by type, object and time', async () => {
    const { body: customer } = await newCustomer();
    await service.call('PATCH', `/v1/customers/${customer.id}`, { body: { first_name: 'Grace' } });
    const list = async (query: string): Promise<string[]> => {
      const reply = await service.call('GET', `/v1/events?limit=100&object_id=${customer.id}&${query}`);
      assert.equal(reply.status, 200, reply.text);
      return reply.body.data.map(({ type }: Shown) => type);
    };
    assert.deepEqual(await list(''), ['customer.updated', 'customer.created']);
    assert.deepEqual(await list('type=customer.created'), ['customer.created']);
    assert.deepEqual(await list('type=customer.created,customer.updated'), ['customer.updated', 'customer.created']);
    assert.deepEqual(await list('type=order.created'), []);
    assert.deepEqual(await list('created_at[gte]=2020-01-01'), ['customer.updated', 'customer.created']);
    assert.deepEqual(await list('created_at[lt]=2020-01-01'), []);
    assertInvalid(await service.call('GET', '/v1/events?type=order.paid'), 'type');
    assertRefused(await service.call('GET', '/v1/events?color=red'), 400, 'validation_error');
  });

  it('has no event that never happened', async () => {
    for (const id of [`evt_${'0'.repeat(32)}`, 'evt_', 'nonsense']) {
      assertRefused(await service.call('GET', `/v1/events/${id}`), 404, 'resource_not_found');
    }
  });
});
