import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import createClient from 'openapi-fetch';
import type { components, paths, webhooks } from './dist/api.ts';

/** Calls every operation of a running service with the types that openapi-typescript makes from its document. */

type Schemas = components['schemas'];

const { SVC_URL = '', SVC_KEY, SVC_PUBLISHABLE_KEY, SVC_PLAN_ID = '', SVC_RECEIVER_URL = '' } = process.env;

const version: Schemas['ApiVersion'] = '2026-02-11';
const clientOf = (key: string | undefined) =>
  createClient<paths>({ baseUrl: SVC_URL, headers: { Authorization: `Bearer ${key}`, 'SVC-Version': version } });
const svc = clientOf(SVC_KEY);
const browser = clientOf(SVC_PUBLISHABLE_KEY);

/** The answer of a call that succeeds. */
async function done<Data>(answer: Promise<{ data?: Data; error?: unknown; response: Response }>): Promise<Data> {
  const { data, error, response } = await answer;
  assert.ok(data !== undefined, `${response.url}: ${response.status} ${JSON.stringify(error)}`);
  return data;
}

/** The error of a call that is refused. */
async function refused(
  answer: Promise<{ error?: Schemas['Error']; response: Response }>,
  status: number,
): Promise<Schemas['ErrorCode']> {
  const { error, response } = await answer;
  assert.equal(response.status, status);
  assert.ok(error);
  return error.error.code;
}

async function eventually<Value>(what: string, look: () => Promise<Value | undefined>): Promise<Value> {
  for (const deadline = Date.now() + 15_000; Date.now() < deadline; await sleep(50)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`still not so: ${what}`);
}

let serial = Date.now() % 1_000_000_000;
const number = (): number => (serial += 1);
const key = () => ({ header: { 'X-SVC-Idempotency-Key': randomUUID() } });

const newCustomer = (): Promise<Schemas['Customer']> =>
  done(
    svc.POST('/v1/customers', {
      body: {
        email: `ada.${number()}@example.com`,
        first_name: 'Ada',
        last_name: 'Lovelace',
        phone: `+1555${String(number()).padStart(9, '0')}`,
        tags: ['vip'],
        metadata: { level: 1 },
      },
    }),
  );

const card = (digits: string): Schemas['CardInput'] => ({
  number: digits,
  exp_month: '12',
  exp_year: '2036',
  cvc: '999',
});

const newCard = (customer_id: string, digits = '4242424242424242'): Promise<Schemas['PaymentMethod']> =>
  done(svc.POST('/capture', { body: { customer_id, card: card(digits), set_as_default: true } }));

const newProduct = (): Promise<Schemas['Product']> =>
  done(
    svc.POST('/v1/products', {
      params: key(),
      body: {
        name: 'Tea pot',
        description: 'Holds six cups.',
        pricing: { amount: 4900, currency: 'usd' },
        requires_shipping: true,
        sku: `tea-pot-${number()}`,
      },
    }),
  );

async function newOrder(digits?: string, capture?: Schemas['CaptureMode']): Promise<Schemas['Order']> {
  const customer = await newCustomer();
  await newCard(customer.id, digits);
  const items = [{ product_id: (await newProduct()).id, quantity: 2 }];
  const body = { customer_id: customer.id, items, ...(capture && { capture }) };
  return done(svc.POST('/v1/orders', { params: key(), body }));
}

async function customers(): Promise<void> {
  const { id, email } = await newCustomer();
  const path = { id };
  const changed = await done(svc.PATCH('/v1/customers/{id}', { params: { path }, body: { first_name: 'Grace' } }));
  assert.deepEqual([changed.first_name, changed.company], ['Grace', null]);
  const grant = { type: 'grant', amount: 500, currency: 'usd', reason: 'Late delivery' } as const;
  await done(svc.POST('/v1/customers/{id}/credit', { params: { path, ...key() }, body: grant }));
  const credit = await done(svc.GET('/v1/customers/{id}/credit', { params: { path } }));
  assert.equal(credit.entries[0]?.balance, 500);
  const expand = ['payment_methods' as const];
  const shown = await done(svc.GET('/v1/customers/{id}', { params: { path, query: { expand } } }));
  assert.deepEqual(shown.payment_methods, []);
  const listed = await done(svc.GET('/v1/customers', { params: { query: { email } } }));
  assert.deepEqual(
    listed.data.map((one) => one.id),
    [id],
  );
  assert.equal((await done(svc.DELETE('/v1/customers/{id}', { params: { path } }))).deleted, true);
}

async function paymentMethods(): Promise<void> {
  const { id } = await newCustomer();
  const token = await done(browser.POST('/v1/card_tokens', { body: { card: card('4242424242424242') } }));
  assert.equal(token.card.brand satisfies Schemas['CardBrand'], 'visa');
  const all = '/v1/customers/{id}/payment_methods';
  const one = '/v1/customers/{id}/payment_methods/{pm_id}';
  const first = await done(svc.POST(all, { params: { path: { id } }, body: { card_token: token.id } }));
  const second = await newCard(id, '5555555555554444');
  assert.equal((await done(svc.GET(all, { params: { path: { id } } }))).data.length, 2);
  const path = { id, pm_id: first.id };
  const moved = await done(svc.PATCH(one, { params: { path }, body: { set_as_default: true } }));
  assert.equal(moved.is_default, true);
  assert.deepEqual(await done(svc.GET(one, { params: { path } })), moved);
  await done(svc.DELETE(one, { params: { path }, body: { replacement_payment_method_id: second.id } }));
}

async function upload(id: string): Promise<Schemas['ProductImage']> {
  const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
  const form = new FormData();
  form.append('file', new Blob([pixel], { type: 'image/gif' }), 'pixel.gif');
  const bodySerializer = () => form;
  return done(svc.POST('/v1/products/{id}/images', { params: { path: { id } }, body: { file: '' }, bodySerializer }));
}

async function products(): Promise<void> {
  const { id } = await newProduct();
  const path = { id };
  const body = { pricing: { amount: 5100 } };
  const changed = await done(svc.PATCH('/v1/products/{id}', { params: { path, ...key() }, body }));
  assert.deepEqual([changed.pricing.amount, changed.availability], [5100, 'in_stock']);
  const [first, second] = [await upload(id), await upload(id)];
  const image_ids = [second.id, first.id];
  const reordered = await done(
    svc.PATCH('/v1/products/{id}/images/reorder', { params: { path }, body: { image_ids } }),
  );
  assert.equal(reordered.data[0]?.id, second.id);
  await done(svc.DELETE('/v1/products/{id}/images/{imageId}', { params: { path: { id, imageId: first.id } } }));
  const query = { expand: ['images' as const] };
  const shown = await done(svc.GET('/v1/products/{id}', { params: { path, query } }));
  assert.ok(URL.canParse(shown.images?.[0]?.url ?? ''));
  const listed = await done(svc.GET('/v1/products', { params: { query: { sort: '-updated_at' } } }));
  assert.equal(listed.data[0]?.id, id);
  await done(svc.DELETE('/v1/products/{id}', { params: { path } }));
}

async function orders(): Promise<void> {
  const order = await newOrder();
  assert.deepEqual([order.status, order.total], ['succeeded', 9800]);
  const path = { id: order.id };
  const part = await done(svc.POST('/v1/orders/{id}/refund', { params: { path }, body: { amount: 800 } }));
  assert.equal(part.status, 'partially_refunded');
  await done(svc.POST('/v1/orders/{id}/refund', { params: { path } }));
  const shown = await done(svc.GET('/v1/orders/{id}', { params: { path, query: { expand: ['customer'] } } }));
  assert.deepEqual([shown.customer?.id, shown.refunded_amount], [order.customer_id, 9800]);
  const query = { customer_id: order.customer_id, status: ['refunded' as const, 'failed' as const], 'total[gte]': 1 };
  assert.equal((await done(svc.GET('/v1/orders', { params: { query } }))).data.length, 1);
  const refunds = await done(
    svc.GET('/v1/transactions', { params: { query: { order_id: order.id, type: ['refund'] } } }),
  );
  assert.equal(refunds.data.length, 2);
  const id = refunds.data[0]?.id ?? '';
  assert.equal((await done(svc.GET('/v1/transactions/{id}', { params: { path: { id } } }))).type, 'refund');

  const declined = await newOrder('4000009999003220');
  assert.equal(declined.failure_code satisfies Schemas['FailureCode'] | null, 'do_not_honor');
  const retried = await done(svc.POST('/v1/orders/{id}/retry', { params: { path: { id: declined.id } } }));
  assert.equal(retried.status, 'succeeded');

  const held = { path: { id: (await newOrder(undefined, 'manual')).id } };
  const captured = await done(svc.POST('/v1/orders/{id}/capture', { params: held, body: { amount: 4900 } }));
  assert.equal(captured.captured_amount, 4900);
  const released = { path: { id: (await newOrder(undefined, 'manual')).id } };
  assert.equal((await done(svc.POST('/v1/orders/{id}/void', { params: released }))).status, 'voided');

  const disputed = { path: { id: (await newOrder()).id } };
  await done(svc.POST('/v1/sandbox/orders/{id}/chargeback', { params: disputed }));
  const resolved = await done(
    svc.POST('/v1/sandbox/orders/{id}/chargeback/resolve', { params: disputed, body: { outcome: 'dismissed' } }),
  );
  assert.equal(resolved.status, 'chargeback_dismissed');

  const missing = svc.GET('/v1/orders/{id}', { params: { path: { id: randomUUID() } } });
  assert.equal(await refused(missing, 404), 'resource_not_found');
}

async function coupons(): Promise<void> {
  const coupon = await done(
    svc.POST('/v1/coupons', { params: key(), body: { name: 'Tea week', percentage: 12.5, codes: { count: 1 } } }),
  );
  const ask = (code: string) =>
    done(svc.POST('/v1/coupons/validate', { body: { code, amount: 1000, currency: 'usd' } }));
  const verdict = await ask(coupon.codes[0]?.code ?? '');
  assert.ok(verdict.valid && verdict.total_after_discount === 875);
  const refusal = await ask('is-not-there');
  assert.ok(!refusal.valid && refusal.reason === 'code_not_found');
  const params = { path: { id: coupon.id } };
  await done(svc.POST('/v1/coupons/{id}/codes', { params, body: { count: 2 } }));
  assert.equal((await done(svc.GET('/v1/coupons/{id}/codes', { params }))).data.length, 3);
  await done(svc.PATCH('/v1/coupons/{id}', { params, body: { description: 'All teas' } }));
  const archived = await done(svc.POST('/v1/coupons/{id}/archive', { params, body: { archived: true } }));
  assert.notEqual(archived.archived_at, null);
  assert.equal((await done(svc.DELETE('/v1/coupons/{id}', { params }))).active, false);
  assert.equal((await done(svc.GET('/v1/coupons/{id}', { params }))).id, coupon.id);
  assert.equal((await done(svc.GET('/v1/coupons', { params: { query: { archived: 'true' } } }))).data.length, 1);
}

async function pages(): Promise<void> {
  const order = await newOrder();
  const receipt = await done(svc.GET('/v1/orders/{id}/receipt', { params: { path: { id: order.id } } }));
  assert.ok(receipt.url);
  const [invoice] = (await done(svc.GET('/v1/invoices', { params: { query: { kind: ['invoice'] } } }))).data;
  assert.ok(invoice);
  const ofInvoice = { params: { path: { id: invoice.id } } };
  assert.equal((await done(svc.GET('/v1/invoices/{id}', ofInvoice))).number, invoice.number);
  assert.ok((await done(svc.GET('/v1/invoices/{id}/pdf', ofInvoice))).url);
  assert.ok((await done(svc.GET('/v1/invoices/{id}/xml', ofInvoice))).url);
  const correction = { reason: 'The company was missing', company: 'Hopper GmbH' };
  assert.ok((await done(svc.POST('/v1/invoices/{id}/corrections', { ...ofInvoice, body: correction }))).invoice_id);
  assert.ok((await done(svc.GET('/v1/invoices/month', { params: { query: { month: '2026-02' } } }))).url);
  const items = [{ product_id: (await newProduct()).id, quantity: 1 }];
  const session = await done(svc.POST('/v1/checkout_sessions', { body: { mode: 'payment', items } }));
  const path = { id: session.id };
  assert.equal((await done(svc.GET('/v1/checkout_sessions/{id}', { params: { path } }))).url, session.url);
  assert.equal((await done(svc.POST('/v1/checkout_sessions/{id}/expire', { params: { path } }))).status, 'expired');
  const expired = { query: { status: ['expired' as const] } };
  assert.equal((await done(svc.GET('/v1/checkout_sessions', { params: expired }))).data.length, 1);
  const link = await done(svc.POST('/v1/payment_links', { body: { name: 'Tea', mode: 'payment', items } }));
  const linkPath = { path: { id: link.id } };
  const changed = await done(svc.PATCH('/v1/payment_links/{id}', { params: linkPath, body: { active: false } }));
  assert.equal(changed.active, false);
  assert.equal((await done(svc.GET('/v1/payment_links/{id}', { params: linkPath }))).url, link.url);
  assert.equal((await done(svc.GET('/v1/payment_links', { params: { query: { active: false } } }))).data.length, 1);
  const opened = await done(svc.POST('/v1/customer_sessions', { body: { customer_id: order.customer_id } }));
  await done(svc.GET('/v1/customer_sessions/{id}', { params: { path: { id: opened.id } } }));
  await done(svc.DELETE('/v1/customer_sessions/{id}', { params: { path: { id: opened.id } } }));
  await done(svc.DELETE('/v1/customers/{id}/customer_sessions', { params: { path: { id: order.customer_id } } }));
}

async function subscriptions(): Promise<void> {
  assert.ok((await done(svc.GET('/v1/plans', { params: { query: { active: true } } }))).data.length > 0);
  const plan = await done(svc.GET('/v1/plans/{id}', { params: { path: { id: SVC_PLAN_ID } } }));
  const customer = await newCustomer();
  await newCard(customer.id);
  const subscription = await done(
    svc.POST('/v1/subscriptions', { body: { customer_id: customer.id, plan_id: SVC_PLAN_ID } }),
  );
  assert.deepEqual([subscription.status, subscription.plan.amount], ['active', plan.amount]);
  const params = { path: { id: subscription.id } };
  const upcoming = await done(
    svc.GET('/v1/subscriptions/{id}/upcoming', { params: { ...params, query: { count: 3 } } }),
  );
  assert.equal(upcoming.data.length, 3);
  await done(svc.GET('/v1/sandbox/clock'));
  const advanced = await done(svc.POST('/v1/sandbox/clock/advance', { body: { by: { days: 32 } } }));
  assert.ok(advanced.happened.length > 0);
  assert.equal((await done(svc.GET('/v1/subscriptions/{id}', { params }))).completed_cycles, 2);
  const query = { customer_id: customer.id, status: ['active' as const] };
  assert.equal((await done(svc.GET('/v1/subscriptions', { params: { query } }))).data.length, 1);
  await done(svc.PATCH('/v1/subscriptions/{id}', { params, body: { description: 'For the office' } }));
  const twoSeats = { plan_id: SVC_PLAN_ID, quantity: 2, when: 'renewal' as const };
  const preview = await done(svc.POST('/v1/subscriptions/{id}/change_plan/preview', { params, body: twoSeats }));
  assert.equal(preview.amount_due, 0);
  const change = await done(svc.POST('/v1/subscriptions/{id}/change_plan', { params, body: twoSeats }));
  assert.equal(change.status, 'scheduled');
  const undone = await done(svc.POST('/v1/subscriptions/{id}/change_plan/undo', { params }));
  assert.equal(undone.scheduled_change, null);
  const item = { product_id: (await newProduct()).id, quantity: 2 };
  const { renewal_items: added } = await done(svc.POST('/v1/subscriptions/{id}/renewal_items', { params, body: item }));
  const path = { id: subscription.id, item_id: added[0]?.id ?? '' };
  const without = await done(svc.DELETE('/v1/subscriptions/{id}/renewal_items/{item_id}', { params: { path } }));
  assert.deepEqual(without.renewal_items, []);
  for (const call of ['/v1/subscriptions/{id}/pause', '/v1/subscriptions/{id}/resume'] as const) {
    assert.equal(await refused(svc.POST(call, { params }), 501), 'not_implemented');
  }
  assert.equal((await done(svc.DELETE('/v1/subscriptions/{id}', { params }))).status, 'canceled');
}

async function events(): Promise<void> {
  const { cursor } = await done(svc.GET('/v1/events/feed'));
  const triggered = await done(svc.POST('/v1/sandbox/events/trigger', { body: { type: 'order.failed' } }));
  // The type of an event tells what it is about.
  assert.ok(triggered.type === 'order.failed');
  const order: Schemas['Order'] = triggered.data.object;
  assert.equal(order.status, 'failed');
  const sent: webhooks['order.failed']['post']['requestBody']['content']['application/json'] = triggered;
  const fed = await done(svc.GET('/v1/events/feed', { params: { query: { cursor } } }));
  assert.ok(fed.data.some(({ id }) => id === sent.id));
  const shown = await done(svc.GET('/v1/events/{id}', { params: { path: { id: triggered.id } } }));
  assert.deepEqual(shown, triggered);
  const query = { type: ['order.failed' as const], object_id: order.id };
  assert.deepEqual((await done(svc.GET('/v1/events', { params: { query } }))).data, [triggered]);
}

async function requests(): Promise<void> {
  const query = { path: '/v1/customers', method: 'GET' as const };
  const logged = await eventually('a request is logged', async () => {
    const { data } = await done(svc.GET('/v1/requests', { params: { query } }));
    return data[0];
  });
  const path = { requestId: logged.request_id };
  assert.equal((await done(svc.GET('/v1/requests/{requestId}', { params: { path } }))).actor.kind, 'key');
}

async function webhookEndpoints(): Promise<void> {
  const endpoint = await done(
    svc.POST('/v1/webhook_endpoints', { body: { url: SVC_RECEIVER_URL, enabled_events: ['customer.*'] } }),
  );
  assert.match(endpoint.signing_secret, /^whsec_/);
  await newCustomer();
  const params = { path: { id: endpoint.id } };
  const delivered = await eventually('the event is delivered', async () => {
    const query = { delivery_status: 'delivered' as const };
    const listed = await done(svc.GET('/v1/webhook_endpoints/{id}/events', { params: { ...params, query } }));
    return listed.data[0];
  });
  const logs = await done(svc.GET('/v1/webhook_endpoints/{id}/delivery_logs', { params }));
  assert.equal(logs.data[0]?.status, 'success');
  const replay = { path: { id: endpoint.id, eventId: delivered.id } };
  await done(svc.POST('/v1/webhook_endpoints/{id}/events/{eventId}/replay', { params: replay, body: { force: true } }));
  const event_type = 'order.succeeded';
  const tested = await done(svc.POST('/v1/webhook_endpoints/{id}/test', { params, body: { event_type } }));
  assert.equal(tested.http_status, 200);
  const down = { api_version: '2025-11-04' as const };
  await done(svc.POST('/v1/webhook_endpoints/{id}/downgrade_version', { params, body: down }));
  const up = { api_version: '2026-02-11' as const, dry_run: true };
  await done(svc.POST('/v1/webhook_endpoints/{id}/upgrade_version', { params, body: up }));
  await done(svc.POST('/v1/webhook_endpoints/{id}/rotate_secret', { params }));
  await done(svc.GET('/v1/webhook_endpoints/{id}', { params }));
  const changed = await done(svc.PATCH('/v1/webhook_endpoints/{id}', { params, body: { status: 'disabled' } }));
  assert.equal(changed.status, 'disabled');
  assert.equal((await done(svc.GET('/v1/webhook_endpoints'))).data.length, 1);
  await done(svc.DELETE('/v1/webhook_endpoints/{id}', { params }));
}

async function team(): Promise<void> {
  const roles = await done(svc.GET('/v1/roles', { params: { query: { expand: ['permissions'] } } }));
  const support = roles.data.find(({ name }) => name === 'Support');
  await done(
    svc.POST('/v1/team_members', {
      body: {
        first_name: 'Alan',
        last_name: 'Turing',
        email: `alan.${number()}@example.com`,
        phone_number: '+15551234567',
        role_id: support?.id ?? '',
      },
    }),
  );
  assert.ok((await done(svc.GET('/v1/team_members', { params: { query: { status: ['pending'] } } }))).data.length > 0);
}

for (const part of [
  customers,
  paymentMethods,
  products,
  orders,
  coupons,
  pages,
  subscriptions,
  events,
  requests,
  webhookEndpoints,
  team,
]) {
  await part();
}
