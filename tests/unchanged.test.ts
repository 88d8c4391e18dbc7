import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type Person, signUp } from './support/dashboard.ts';
import { document, resolve } from './support/openapi.ts';
import { openShop, type Shop } from './support/orders.ts';
import { type Reply, startTestService, type TestService } from './support/service.ts';
import { somePlan, subscribe } from './support/subscriptions.ts';
import { someCoupon } from './support/coupons.ts';

/** A change that changes nothing is answered as a change, sends no event and leaves `updated_at`. */

let service: TestService;
let shop: Shop;
let owner: Person;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
  owner = await signUp(service);
});
after(() => service.stop());

const eventCount = async (): Promise<number> => {
  const [row] = await service.db.query<{ count: number }>('SELECT count(*)::integer AS count FROM events');
  return row?.count ?? 0;
};

/** The fields of a PATCH, with the values that the object has. Fields without a value are left out. */
function sameFields(path: string, object: Reply['body']): Record<string, unknown> {
  const { requestBody } = (document.paths[path] as unknown as { patch: { requestBody: { content: any } } }).patch;
  const schema = resolve(requestBody.content['application/json'].schema) as { properties: Record<string, unknown> };
  const names = Object.keys(schema.properties).filter((name) => object[name] !== undefined && object[name] !== null);
  return Object.fromEntries(
    names.map((name) => [name, name.startsWith('shipping') ? given(object[name]) : object[name]]),
  );
}

/** An address as it is sent: without its ID and what it does not have. */
const given = (address: object): object =>
  Object.fromEntries(Object.entries(address).filter(([name, value]) => name !== 'id' && value !== null));

async function assertUnchanged(
  read: () => Promise<Reply>,
  change: (body: object) => Promise<Reply>,
  bodies: readonly object[],
): Promise<void> {
  const { body: before } = await read();
  const events = await eventCount();
  for (const body of bodies) {
    service.clock.advance(1000);
    const reply = await change(body);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(reply.body, before, JSON.stringify(body));
    assert.deepEqual((await read()).body, before);
  }
  assert.equal(await eventCount(), events);
}

const address = { name: 'Ada', line1: '1 Main St', city: 'London', country: 'GB' };
const metadata = { a: { y: 1, x: [1, { q: 2, p: 3 }] }, c: 'text' };
const reordered = { c: 'text', a: { x: [1, { p: 3, q: 2 }], y: 1 }, gone: null };

const resources: Readonly<Record<string, () => Promise<string>>> = {
  '/v1/customers/{id}': async () => {
    await service.call('PATCH', `/v1/customers/${shop.customerId}`, {
      body: { shipping_address: address, metadata, tags: ['vip'] },
    });
    return shop.customerId;
  },
  '/v1/products/{id}': async () => {
    const body = { metadata, description: 'Green' };
    await service.call('PATCH', `/v1/products/${shop.productId}`, { body, idempotencyKey: randomUUID() });
    return shop.productId;
  },
  '/v1/coupons/{id}': async () => (await someCoupon(service, { max_discount_amount: 500 })).id,
  '/v1/subscriptions/{id}': async () => {
    const plan = await somePlan(service);
    const shipping = { name: 'Ada', line1: '1 Main St', city: 'London', country: 'GB' };
    const body = { customer_id: shop.customerId, plan_id: plan.id, metadata, shipping };
    return (await subscribe(service, body)).body.id;
  },
  '/v1/webhook_endpoints/{id}': async () => {
    const body = { url: 'https://hooks.example.com/in', enabled_events: ['order.created', 'order.failed'] };
    return (await service.call('POST', '/v1/webhook_endpoints', { body })).body.id;
  },
  '/v1/payment_links/{id}': async () => {
    const items = [{ product_id: shop.productId, quantity: 1 }];
    const body = { name: 'Tea', mode: 'payment', items, metadata, max_payments: 4 };
    return (await service.call('POST', '/v1/payment_links', { body })).body.id;
  },
};

for (const [path, create] of Object.entries(resources)) {
  test(`PATCH ${path} with the values it has`, async () => {
    const at = path.replace('{id}', await create());
    const read = (): Promise<Reply> => service.call('GET', at);
    const { body: object } = await read();
    const all = sameFields(path, object);
    assert.ok(Object.keys(all).length > 2, Object.keys(all).join());
    const each = Object.entries(all).map(([name, value]) => ({ [name]: value }));
    const nested = 'metadata' in all ? [{ metadata: reordered }] : [];
    await assertUnchanged(read, (body) => service.call('PATCH', at, { body, idempotencyKey: randomUUID() }), [
      all,
      ...each,
      ...nested,
    ]);
  });
}

test('every resource of the API that has a PATCH and updated_at is here', () => {
  const patched = Object.entries(document.paths).flatMap(([path, methods]) => ('patch' in methods ? [path] : []));
  const others = patched.filter((path) => !(path in resources));
  // These have no updated_at.
  assert.deepEqual(others, ['/v1/customers/{id}/payment_methods/{pm_id}', '/v1/products/{id}/images/reorder']);
});

test('PATCH of a plan in the dashboard with the values it has', async () => {
  const body = {
    name: 'Tea',
    amount: 900,
    currency: 'usd',
    billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 'signup_date' },
  };
  const { body: plan, text } = await owner.in('POST', '/dashboard/plans', body);
  assert.ok(plan.id, text);
  await assertUnchanged(
    () => owner.in('GET', `/v1/plans/${plan.id}`),
    (change) => owner.in('PATCH', `/dashboard/plans/${plan.id}`, change),
    [{ name: 'Tea' }, { name: 'Tea', active: true, description: null }],
  );
});
