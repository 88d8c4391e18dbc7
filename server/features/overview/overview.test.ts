import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { colleague, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused, checkAllOpen } from '../../../tests/support/orders.ts';
import {
  type Reply,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from '../../../tests/support/service.ts';

/** What Home, the search and the timelines of the dashboard show. */

let service: TestService;
let owner: Person;
before(async () => {
  service = await startTestService();
  owner = await signUp(service);
});
after(() => service.stop());

describe('the overview', () => {
  let person: Person;
  let customer: string;
  let order: Record<string, any>;
  before(async () => {
    person = await signUp(service);
    const post = async (path: string, body: object): Promise<Record<string, any>> => {
      const reply = await person.in('POST', path, body, { idempotencyKey: randomUUID() });
      assert.equal(reply.status, 201, reply.text);
      return reply.body;
    };
    customer = (await post('/v1/customers', someCustomer({ first_name: 'Zoë', last_name: 'Searchable' }))).id;
    const card = (number: string): object => ({ number, exp_month: '12', exp_year: '2032', cvc: '999' });
    await post('/capture', { customer_id: customer, card: card('4242424242424242') });
    const declining = await post('/capture', { customer_id: customer, card: card('4000000000009995') });
    const product = await post(
      '/v1/products',
      someProduct({ name: 'Findable pot', pricing: { amount: 1000, currency: 'usd' } }),
    );
    const items = [{ product_id: product.id, quantity: 1 }];
    order = await post('/v1/orders', { customer_id: customer, items });
    const refunded = await person.in('POST', `/v1/orders/${order.id}/refund`, { amount: 300 });
    assert.equal(refunded.status, 200, refunded.text);
    await checkAllOpen(service);
    await post('/v1/orders', { customer_id: customer, items, payment_method_id: declining.id });
  });

  it('sums a period by days, in the time of the company', async () => {
    await person.in('POST', '/v1/sandbox/clock/advance', { by: { days: 3 } });
    const { body } = await person.in('GET', '/dashboard/statistics?range=7d');
    assert.equal(body.buckets.length, 7);
    const values = Object.fromEntries(
      Object.entries(body.figures as Record<string, { value: number }>).map(([name, { value }]) => [name, value]),
    );
    assert.deepEqual(values, {
      gross_volume: 1000,
      net_volume: 700,
      refunded: 300,
      disputed: 0,
      payments: 1,
      failed_payments: 1,
      success_rate: 0.5,
      average_order: 1000,
      mrr: 0,
      new_mrr: 0,
      expansion: 0,
      contraction: 0,
      churned_mrr: 0,
      active_subscribers: 0,
      churn: null,
      new_customers: 1,
    });
    assert.deepEqual([body.currency, body.currencies, body.time_zone], ['usd', ['usd'], 'UTC']);
    assert.deepEqual(body.declines, [{ failure_code: 'insufficient_funds', count: 1, previous: 0 }]);
    assert.deepEqual(body.figures.gross_volume.series, [0, 0, 0, 1000, 0, 0, 0]);
    assert.deepEqual(
      body.buckets.map(({ unfinished }: { unfinished: boolean }) => unfinished),
      [false, false, false, false, false, false, true],
    );
    const { body: later } = await person.in('GET', '/dashboard/statistics?range=today');
    assert.equal(later.figures.gross_volume.value, 0);
  });

  it('uses the days of the time zone that the company has chosen', async () => {
    const set = (time_zone: unknown): Promise<Reply> => person.in('PATCH', '/dashboard/company', { time_zone });
    for (const wrong of ['', 'Mars/Olympus', 'UTC+3', 'EST5EDT4', 'posix/Europe/Berlin', null, 5]) {
      assertRefused(await set(wrong), 400, 'validation_error', 'time_zone');
    }
    const changed = await set('pacific/apia');
    assert.deepEqual([changed.status, changed.body.time_zone], [200, 'Pacific/Apia']);
    const { body } = await person.in('GET', '/dashboard/statistics');
    assert.equal(body.time_zone, 'Pacific/Apia');
    assert.equal(body.to, new Intl.DateTimeFormat('en-CA', { timeZone: 'Pacific/Apia' }).format(Date.parse(body.now)));
    assert.equal(body.figures.gross_volume.value, 1000);
    await set('UTC');
  });

  it('sums the credit that the company owes its customers', async () => {
    assert.deepEqual((await person.in('GET', '/dashboard/credit')).body.data, []);
    const { body: list } = await person.in('GET', '/v1/customers?limit=1');
    const path = `/v1/customers/${list.data[0].id}/credit`;
    for (const currency of ['usd', 'eur', 'usd']) {
      const body = { type: 'grant', amount: 700, currency, reason: 'Late delivery' };
      const reply = await person.in('POST', path, body, { idempotencyKey: randomUUID() });
      assert.equal(reply.status, 201, reply.text);
    }
    assert.deepEqual((await person.in('GET', '/dashboard/credit')).body.data, [
      { currency: 'usd', amount: 1400, customers: 1 },
      { currency: 'eur', amount: 700, customers: 1 },
    ]);
  });

  it('names what needs attention', async () => {
    assert.deepEqual((await person.in('GET', '/dashboard/attention')).body.data, []);
    const disputed = await person.in('POST', `/v1/sandbox/orders/${order.id}/chargeback`);
    assert.equal(disputed.status, 200, disputed.text);
    const { data } = (await person.in('GET', '/dashboard/attention')).body;
    assert.deepEqual(
      data.map(({ kind, count, has_more }: Record<string, unknown>) => [kind, count, has_more]),
      [['disputes_due', 1, false]],
    );
    assert.ok(data[0].since && data[0].object_id);
  });

  it('refuses periods that are none', async () => {
    for (const query of [
      'from=2026-02-02&to=2026-02-01',
      'from=2020-01-01&to=2026-01-01',
      'range=1d',
      'from=2026-02-30',
      'from=0001-01-01&to=0001-06-01',
      'to=0000-06-01',
      'to=0001-01-01',
      'to=1969-12-31',
    ]) {
      assertRefused(await person.in('GET', `/dashboard/statistics?${query}`), 400, 'validation_error');
    }
    const { status } = await person.in('GET', '/dashboard/statistics?from=1970-01-01&to=1970-12-31');
    assert.equal(status, 200);
  });

  it('finds by name, number and id, and only in the own company', async () => {
    const find = async (who: Person, q: string): Promise<string[]> => {
      const { body } = await who.in('GET', `/dashboard/search?q=${encodeURIComponent(q)}`);
      return body.data.map(({ type, title }: { type: string; title: string }) => `${type} ${title}`);
    };
    assert.deepEqual(await find(person, 'zoe search'), ['customer Zoë Searchable']);
    assert.deepEqual(await find(person, 'findable'), ['product Findable pot']);
    assert.deepEqual(await find(person, order.order_number.toLowerCase()), [`order ${order.order_number}`]);
    assert.deepEqual(await find(person, order.id), [`order ${order.order_number}`]);
    assert.deepEqual(await find(person, customer), ['customer Zoë Searchable']);
    for (const q of ['zoe', 'findable', order.order_number, order.id, customer]) {
      assert.deepEqual(await find(owner, q), []);
    }
    for (const q of ['%', '_', "'", '\\', '🫖', 'a b c d']) assert.ok(Array.isArray(await find(person, q)));
  });

  it('finds nothing that the member may not read', async () => {
    await person.in('POST', '/dashboard/roles', { name: 'Blind', permissions: ['products:read', 'team_members:read'] });
    const member = await colleague(service, person, 'Blind');
    const { body } = await member.in('GET', '/dashboard/search?q=zoe');
    assert.deepEqual(body.data, []);
    assert.equal((await member.in('GET', '/dashboard/search?q=findable')).body.data.length, 1);
  });

  it('lists the events of an object', async () => {
    const { body } = await person.in('GET', `/dashboard/timeline?object_id=${order.id}`);
    const types = body.data.map(({ type }: { type: string }) => type);
    assert.deepEqual(types, ['order.created', 'order.succeeded', 'order.partially_refunded', 'order.chargeback']);
    const refund = body.data[2];
    assert.deepEqual(
      [refund.amount, refund.currency, refund.card, refund.actor],
      [300, 'usd', { brand: 'visa', last4: '4242' }, { kind: 'member', name: 'Ada Lovelace' }],
    );
    assert.deepEqual([refund.object.title, refund.is_own], [order.order_number, true]);
    assert.deepEqual((await owner.in('GET', `/dashboard/timeline?object_id=${order.id}`)).body.data, []);
  });

  it('lists the events of a customer with its orders and cards, and actors only for the audit permission', async () => {
    const { data } = (await person.in('GET', `/dashboard/timeline?object_id=${customer}`)).body;
    const types = new Set(data.map(({ type }: { type: string }) => type));
    for (const type of ['customer.created', 'payment_method.attached', 'order.succeeded', 'order.failed']) {
      assert.ok(types.has(type), type);
    }
    assert.ok(!types.has('order.created'));
    const declined = data.find(({ type }: { type: string }) => type === 'order.failed');
    assert.deepEqual([declined.failure, declined.amount, declined.is_own], ['insufficient_funds', 1000, false]);
    await person.in('POST', '/dashboard/roles', { name: 'Reader', permissions: ['events:read', 'customers:read'] });
    const reader = await colleague(service, person, 'Reader');
    const seen = (await reader.in('GET', `/dashboard/timeline?object_id=${customer}`)).body.data;
    assert.ok(seen.length === data.length && seen.every(({ actor }: { actor: unknown }) => actor === null));
    const value = (await reader.in('GET', `/dashboard/customers/${customer}/value`)).body;
    assert.deepEqual([value.spend, value.mrr, value.last_order], [null, null, null]);
  });

  it('adds up what a customer has paid, by currency', async () => {
    const { body } = await person.in('GET', `/dashboard/customers/${customer}/value`);
    assert.deepEqual(body.spend, [{ currency: 'usd', gross: 1000, refunded: 300, payments: 1, failed_payments: 1 }]);
    assert.deepEqual([body.mrr, body.is_partial], [[], false]);
    assert.ok(body.last_order.order_number);
    assertRefused(await owner.in('GET', `/dashboard/customers/${customer}/value`), 404, 'resource_not_found');
  });

  it('sums up orders and payments of the customers of a list', async () => {
    const path = '/dashboard/customer_summaries?customer_id=';
    const { body } = await person.in('GET', `${path}${customer},${randomUUID()}`);
    const [{ last_order_at, ...summary }] = body.data;
    const spend = [{ currency: 'usd', amount: 700 }];
    assert.deepEqual([body.data.length, summary], [1, { customer_id: customer, orders: 2, spend, is_partial: false }]);
    assert.ok(Date.parse(last_order_at) > 0);
    assert.deepEqual((await owner.in('GET', path + customer)).body.data, []);
    const many = Array.from({ length: 101 }, () => randomUUID()).join();
    for (const ids of [many, 'x']) {
      assertRefused(await person.in('GET', path + ids), 400, 'validation_error', 'customer_id');
    }
  });

  it('keeps notes of the team on customers and orders', async () => {
    for (const [path, id] of [
      ['customers', customer],
      ['orders', order.id],
    ]) {
      const notes = `/dashboard/${path}/${id}/notes`;
      const made = await person.in('POST', notes, { text: 'Called about the pot.\nWill call again.' });
      assert.deepEqual([made.status, made.body.author.name], [201, 'Ada Lovelace'], made.text);
      assert.deepEqual((await person.in('GET', notes)).body.data, [made.body]);
      assertRefused(await person.in('POST', notes, { text: ' ' }), 400, 'validation_error', 'text');
      assertRefused(await owner.in('GET', notes), 404, 'resource_not_found');
      assertRefused(await owner.in('POST', notes, { text: 'Hello' }), 404, 'resource_not_found');
      assertRefused(await owner.in('DELETE', `${notes}/${made.body.id}`), 404, 'resource_not_found');
      const viewer = await colleague(service, person, 'Viewer');
      assert.equal((await viewer.in('GET', notes)).body.data.length, 1);
      assertRefused(await viewer.in('POST', notes, { text: 'Hello' }), 403, 'insufficient_permissions');
      assert.equal((await person.in('DELETE', `${notes}/${made.body.id}`)).status, 200);
      assert.deepEqual((await person.in('GET', notes)).body.data, []);
      const audit = (await person.in('GET', `/dashboard/audit_log?object_id=${id}`)).body.data;
      assert.ok(audit.some(({ action }: { action: string }) => /^create(Customer|Order)Note$/.test(action)));
    }
  });
});
