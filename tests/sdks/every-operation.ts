import assert from 'node:assert/strict';
import { operations } from '../../sdk/generator/document.ts';
import { methodNames } from '../../sdk/generator/names.ts';
import { eventually } from '../support/webhooks.ts';
import type { Driver, Seen } from './driver.ts';

/** Calls each operation once with the driver of an SDK, in an order in which a shop could. */

// Answers of any operation, which the checks below read.
// oxlint-disable-next-line typescript/no-explicit-any
type Answer = any;

interface Input {
  readonly ids?: readonly string[];
  readonly body?: object;
  readonly query?: object;
  readonly file?: string;
}

const pixel = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const operationOf = new Map(Object.entries(methodNames).map(([id, method]) => [method, id]));

class Caller {
  readonly called = new Set<string>();
  readonly #driver: Driver;
  #serial = Date.now() % 1_000_000;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  number(): number {
    this.#serial += 1;
    return this.#serial;
  }

  async client(env: Readonly<Record<string, string>>): Promise<void> {
    const seen = await this.#driver.tell({ do: 'client', key: env.SVC_KEY, base_url: env.SVC_URL });
    assert.equal(seen.error, undefined);
  }

  async #tell(method: string, input: Input): Promise<Seen> {
    const operation = operationOf.get(method);
    assert.ok(operation, `there is no operation for ${method}`);
    this.called.add(operation);
    return this.#driver.tell({ do: 'call', method, ...input });
  }

  async call(method: string, input: Input = {}): Promise<Answer> {
    const { result, error } = await this.#tell(method, input);
    assert.equal(error, undefined, `${method}: ${JSON.stringify(error)}`);
    return result;
  }

  async refused(method: string, input: Input): Promise<unknown> {
    return (await this.#tell(method, input)).error?.code;
  }

  async customer(): Promise<Answer> {
    const serial = this.number();
    const body = { email: `ada.${serial}@example.com`, first_name: 'Ada', last_name: 'Lovelace' };
    const more = { phone: `+1555${String(serial).padStart(7, '0')}`, tags: ['vip'], metadata: { level: 1 } };
    return this.call('customers.create', { body: { ...body, ...more } });
  }

  card(customerId: string, number = '4242424242424242'): Promise<Answer> {
    const card = { number, exp_month: '12', exp_year: '2040', cvc: '999' };
    return this.call('paymentMethods.capture', { body: { customer_id: customerId, card } });
  }

  product(): Promise<Answer> {
    const pricing = { amount: 4900, currency: 'usd' };
    const body = { name: 'Tea pot', description: 'Holds six cups.', pricing, requires_shipping: true };
    return this.call('products.create', { body: { ...body, sku: `tea-pot-${this.number()}` } });
  }

  async order(number?: string, more: object = {}): Promise<Answer> {
    const customer = await this.customer();
    await this.card(customer.id, number);
    const items = [{ product_id: (await this.product()).id, quantity: 2 }];
    return this.call('orders.create', { body: { customer_id: customer.id, items, ...more } });
  }
}

async function customers(svc: Caller): Promise<void> {
  const { id, email } = await svc.customer();
  const changed = await svc.call('customers.update', { ids: [id], body: { first_name: 'Grace', company: null } });
  assert.deepEqual([changed.first_name, changed.company], ['Grace', null]);
  const shown = await svc.call('customers.get', { ids: [id], query: { expand: ['payment_methods'] } });
  assert.deepEqual(shown.payment_methods, []);
  assert.equal((await svc.call('customers.list', { query: { email } })).data[0].id, id);
  assert.equal((await svc.call('customers.delete', { ids: [id] })).deleted, true);
}

async function paymentMethods(svc: Caller): Promise<void> {
  const { id } = await svc.customer();
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2040', cvc: '999' };
  const token = await svc.call('cardTokens.create', { body: { card } });
  const first = await svc.call('paymentMethods.attach', { ids: [id], body: { card_token: token.id } });
  const second = await svc.card(id, '5555555555554444');
  assert.equal((await svc.call('paymentMethods.list', { ids: [id] })).data.length, 2);
  assert.equal((await svc.call('paymentMethods.get', { ids: [id, first.id] })).is_default, true);
  const body = { set_as_default: true };
  assert.equal((await svc.call('paymentMethods.update', { ids: [id, second.id], body })).is_default, true);
  const replacement = { replacement_payment_method_id: first.id };
  await svc.call('paymentMethods.delete', { ids: [id, second.id], body: replacement });
}

async function products(svc: Caller): Promise<void> {
  const { id } = await svc.product();
  const ids = [id];
  const changed = await svc.call('products.update', { ids, body: { pricing: { amount: 5100 } } });
  assert.equal(changed.pricing.amount, 5100);
  const [one, two] = [0, 1].map(() => svc.call('products.images.upload', { ids, file: pixel }));
  const [first, second] = [await one, await two];
  const body = { image_ids: [second.id, first.id] };
  assert.equal((await svc.call('products.images.reorder', { ids, body })).data[0].id, second.id);
  await svc.call('products.images.delete', { ids: [id, first.id] });
  const shown = await svc.call('products.get', { ids, query: { expand: ['images'] } });
  assert.equal(shown.images[0].id, second.id);
  assert.equal((await svc.call('products.list', { query: { sort: '-updated_at' } })).data[0].id, id);
  await svc.call('products.delete', { ids });
}

async function orders(svc: Caller): Promise<void> {
  const order = await svc.order();
  const ids = [order.id];
  assert.deepEqual([order.status, order.total], ['succeeded', 9800]);
  assert.equal((await svc.call('orders.refund', { ids, body: { amount: 800 } })).status, 'partially_refunded');
  assert.equal((await svc.call('orders.refund', { ids })).status, 'refunded');
  const shown = await svc.call('orders.get', { ids, query: { expand: ['customer'] } });
  assert.deepEqual([shown.customer.id, shown.refunded_amount], [order.customer_id, 9800]);
  const found = await svc.call('orders.list', { query: { customer_id: order.customer_id, status: ['refunded'] } });
  assert.equal(found.data.length, 1);
  const refunds = await svc.call('transactions.list', { query: { order_id: order.id, type: ['refund'] } });
  assert.equal(refunds.data.length, 2);
  assert.equal((await svc.call('transactions.get', { ids: [refunds.data[0].id] })).type, 'refund');
  assert.match((await svc.call('orders.receipt', { ids })).url, /^http/);
  const invoices = await svc.call('invoices.list', { query: { kind: ['invoice'] } });
  const invoice = { ids: [invoices.data[0].id] };
  assert.match((await svc.call('invoices.get', invoice)).number, /^INV-\d{4}-\d{6}$/);
  assert.match((await svc.call('invoices.pdf', invoice)).url, /^http/);
  assert.match((await svc.call('invoices.xml', invoice)).url, /^http/);
  const correction = { reason: 'The company was missing', company: 'Hopper GmbH' };
  assert.ok((await svc.call('invoices.correct', { ...invoice, body: correction })).invoice_id);
  assert.match((await svc.call('invoices.month', { query: { month: '2026-02' } })).url, /^http/);

  const declined = await svc.order('4000009999003220');
  assert.equal(declined.failure_code, 'do_not_honor');
  assert.equal((await svc.call('orders.retry', { ids: [declined.id] })).status, 'succeeded');
  const held = { ids: [(await svc.order(undefined, { capture: 'manual' })).id] };
  assert.equal((await svc.call('orders.capture', { ...held, body: { amount: 4900 } })).captured_amount, 4900);
  const released = { ids: [(await svc.order(undefined, { capture: 'manual' })).id] };
  assert.equal((await svc.call('orders.void', released)).status, 'voided');
  const disputed = { ids: [(await svc.order()).id] };
  await svc.call('sandbox.orders.chargeback', disputed);
  const body = { outcome: 'dismissed' };
  const resolved = await svc.call('sandbox.orders.resolveChargeback', { ...disputed, body });
  assert.equal(resolved.status, 'chargeback_dismissed');
}

async function coupons(svc: Caller): Promise<void> {
  const coupon = await svc.call('coupons.create', { body: { name: 'Tea', percentage: 12.5, codes: { count: 1 } } });
  const ids = [coupon.id];
  const ask = (code: string): Promise<Answer> =>
    svc.call('coupons.validate', { body: { code, amount: 1000, currency: 'usd' } });
  assert.equal((await ask(coupon.codes[0].code)).total_after_discount, 875);
  assert.equal((await ask('is-not-there')).reason, 'code_not_found');
  await svc.call('coupons.codes.mint', { ids, body: { count: 2 } });
  assert.equal((await svc.call('coupons.codes.list', { ids })).data.length, 3);
  await svc.call('coupons.update', { ids, body: { description: 'All teas' } });
  assert.notEqual((await svc.call('coupons.archive', { ids, body: { archived: true } })).archived_at, null);
  assert.equal((await svc.call('coupons.delete', { ids })).active, false);
  assert.equal((await svc.call('coupons.get', { ids })).id, coupon.id);
  const listed = await svc.call('coupons.list', { query: { archived: 'true' } });
  assert.ok(listed.data.some(({ id }: Answer) => id === coupon.id));
}

async function pages(svc: Caller): Promise<void> {
  const { id: customerId } = await svc.customer();
  const items = [{ product_id: (await svc.product()).id, quantity: 1 }];
  const session = await svc.call('checkoutSessions.create', { body: { mode: 'payment', items } });
  const ids = [session.id];
  assert.equal((await svc.call('checkoutSessions.get', { ids })).url, session.url);
  assert.equal((await svc.call('checkoutSessions.expire', { ids })).status, 'expired');
  assert.ok((await svc.call('checkoutSessions.list', { query: { status: ['expired'] } })).data.length > 0);
  const link = await svc.call('paymentLinks.create', { body: { name: 'Tea', mode: 'payment', items } });
  assert.equal((await svc.call('paymentLinks.update', { ids: [link.id], body: { active: false } })).active, false);
  assert.equal((await svc.call('paymentLinks.get', { ids: [link.id] })).url, link.url);
  assert.ok((await svc.call('paymentLinks.list', { query: { active: false } })).data.length > 0);
  const opened = await svc.call('customerSessions.create', { body: { customer_id: customerId } });
  await svc.call('customerSessions.get', { ids: [opened.id] });
  await svc.call('customerSessions.delete', { ids: [opened.id] });
  await svc.call('customerSessions.deleteAll', { ids: [customerId] });
}

async function subscriptions(svc: Caller, planId: string): Promise<void> {
  assert.ok((await svc.call('plans.list', { query: { active: true } })).data.length > 0);
  const plan = await svc.call('plans.get', { ids: [planId] });
  const customer = await svc.customer();
  await svc.card(customer.id);
  const body = { customer_id: customer.id, plan_id: planId };
  const subscription = await svc.call('subscriptions.create', { body });
  assert.deepEqual([subscription.status, subscription.plan.amount], ['active', plan.amount]);
  const ids = [subscription.id];
  assert.equal((await svc.call('subscriptions.upcoming', { ids, query: { count: 3 } })).data.length, 3);
  await svc.call('sandbox.clock.get');
  assert.ok((await svc.call('sandbox.clock.advance', { body: { by: { days: 32 } } })).happened.length > 0);
  assert.equal((await svc.call('subscriptions.get', { ids })).completed_cycles, 2);
  const query = { customer_id: customer.id, status: ['active'] };
  assert.equal((await svc.call('subscriptions.list', { query })).data.length, 1);
  await svc.call('subscriptions.update', { ids, body: { description: 'For the office' } });
  const twoSeats = { plan_id: planId, quantity: 2, when: 'renewal' };
  assert.equal((await svc.call('subscriptions.previewPlanChange', { ids, body: twoSeats })).amount_due, 0);
  assert.equal((await svc.call('subscriptions.changePlan', { ids, body: twoSeats })).status, 'scheduled');
  assert.equal((await svc.call('subscriptions.undoPlanChange', { ids })).scheduled_change, null);
  const item = { product_id: (await svc.product()).id, quantity: 2 };
  const { renewal_items: added } = await svc.call('subscriptions.addRenewalItem', { ids, body: item });
  assert.equal(added[0].quantity, 2);
  const removed = await svc.call('subscriptions.removeRenewalItem', { ids: [...ids, added[0].id] });
  assert.deepEqual(removed.renewal_items, []);
  assert.equal(await svc.refused('subscriptions.pause', { ids }), 'not_implemented');
  assert.equal(await svc.refused('subscriptions.resume', { ids }), 'not_implemented');
  assert.equal((await svc.call('subscriptions.cancel', { ids })).status, 'canceled');
  const granted = { type: 'grant', amount: 500, currency: 'usd', reason: 'Late delivery' };
  const { balance } = await svc.call('customers.credit.create', { ids: [customer.id], body: granted });
  const { balances } = await svc.call('customers.credit.get', { ids: [customer.id], query: { limit: 1 } });
  assert.deepEqual([balance, balances[0].amount], [500, 500]);
}

async function events(svc: Caller): Promise<void> {
  const { cursor } = await svc.call('events.feed');
  const triggered = await svc.call('sandbox.events.trigger', { body: { type: 'order.failed' } });
  const ids = [triggered.id];
  assert.equal(triggered.data.object.status, 'failed');
  const fed = await svc.call('events.feed', { query: { cursor } });
  assert.ok(fed.data.some(({ id }: Answer) => id === triggered.id));
  assert.deepEqual(await svc.call('events.get', { ids }), triggered);
  const query = { type: ['order.failed'], object_id: triggered.data.object.id };
  assert.deepEqual((await svc.call('events.list', { query })).data, [triggered]);
  const logged = await eventually('a request is logged', async () => {
    const { data } = await svc.call('requests.list', { query: { path: '/v1/customers', method: 'GET' } });
    return data[0];
  });
  assert.equal((await svc.call('requests.get', { ids: [logged.request_id] })).actor.kind, 'key');
}

async function webhookEndpoints(svc: Caller, url: string): Promise<void> {
  const body = { url, enabled_events: ['customer.*'] };
  const { id, signing_secret: secret } = await svc.call('webhookEndpoints.create', { body });
  assert.match(secret, /^whsec_/);
  const ids = [id];
  await svc.customer();
  const delivered = await eventually('the event is delivered', async () => {
    const { data } = await svc.call('webhookEndpoints.listEvents', { ids, query: { delivery_status: 'delivered' } });
    return data[0];
  });
  assert.equal((await svc.call('webhookEndpoints.listDeliveryLogs', { ids })).data[0].status, 'success');
  await svc.call('webhookEndpoints.replayEvent', { ids: [id, delivered.id], body: { force: true } });
  const tested = await svc.call('webhookEndpoints.test', { ids, body: { event_type: 'order.succeeded' } });
  assert.equal(tested.http_status, 200);
  await svc.call('webhookEndpoints.downgradeVersion', { ids, body: { api_version: '2025-11-04' } });
  await svc.call('webhookEndpoints.upgradeVersion', { ids, body: { api_version: '2026-02-11', dry_run: true } });
  await svc.call('webhookEndpoints.rotateSecret', { ids });
  await svc.call('webhookEndpoints.get', { ids });
  const changed = await svc.call('webhookEndpoints.update', { ids, body: { status: 'disabled' } });
  assert.equal(changed.status, 'disabled');
  assert.ok((await svc.call('webhookEndpoints.list')).data.some((one: Answer) => one.id === id));
  await svc.call('webhookEndpoints.delete', { ids });
}

async function team(svc: Caller): Promise<void> {
  const { data } = await svc.call('roles.list', { query: { expand: ['permissions'] } });
  const support = data.find(({ name }: Answer) => name === 'Support');
  const person = { first_name: 'Alan', last_name: 'Turing', phone_number: '+15551234567' };
  const body = { ...person, email: `alan.${svc.number()}@example.com`, role_id: support.id };
  await svc.call('teamMembers.create', { body });
  assert.ok((await svc.call('teamMembers.list', { query: { status: ['pending'] } })).data.length > 0);
}

/** The operations that were called. */
export async function callEverything(
  driver: Driver,
  env: Readonly<Record<string, string>>,
): Promise<ReadonlySet<string>> {
  const svc = new Caller(driver);
  await svc.client(env);
  for (const part of [customers, paymentMethods, products, orders, coupons, pages, team, events]) await part(svc);
  await webhookEndpoints(svc, env.SVC_RECEIVER_URL ?? '');
  await subscriptions(svc, env.SVC_PLAN_ID ?? '');
  const missing = operations.map(({ id }) => id).filter((id) => !svc.called.has(id));
  assert.deepEqual(missing, [], 'add these operations to tests/sdks/every-operation.ts');
  return svc.called;
}
