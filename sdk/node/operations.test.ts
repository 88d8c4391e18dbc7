import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { document } from '../../tests/support/openapi.ts';
import { type Receiver, startReceiver } from '../../tests/support/receiver.ts';
import { someInvoice } from '../../tests/support/invoices.ts';
import { aCard, aCustomer, aProduct, aShop, recordedSdk, type RecordedSdk } from '../../tests/support/sdk.ts';
import type { TestService } from '../../tests/support/service.ts';
import { somePlan } from '../../tests/support/subscriptions.ts';
import { dispatchFor, eventually, startWebhookService } from '../../tests/support/webhooks.ts';
import type { Dispatcher } from '../../server/features/webhooks/dispatcher.ts';
import { ProcessingError, type Svc } from './src/index.ts';

/** Calls every operation through the SDK and compares each response with the OpenAPI document. */

let service: TestService;
let dispatcher: Dispatcher;
let receiver: Receiver;
let sdk: RecordedSdk;
let svc: Svc;

before(async () => {
  service = await startWebhookService();
  dispatcher = dispatchFor(service);
  receiver = await startReceiver();
  sdk = recordedSdk(service);
  svc = sdk.svc;
});
after(async () => {
  await dispatcher.stop();
  await receiver.stop();
  await service.stop();
});

const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

describe('the SDK', () => {
  it('manages customers', async () => {
    const made = await svc.customers.create(aCustomer({ tags: ['vip'], metadata: { level: 1 } }));
    const changed = await svc.customers.update(made.id, { first_name: 'Grace', metadata: { level: 2 } });
    assert.deepEqual([changed.first_name, changed.metadata], ['Grace', { level: 2 }]);
    assert.deepEqual(await svc.customers.get(made.id), changed);
    const page = await svc.customers.list({ tags: ['vip'], created_at: { gte: '2020-01-01' }, limit: 5 });
    assert.deepEqual(
      page.data.map(({ id }) => id),
      [made.id],
    );
    assert.equal((await svc.customers.delete(made.id)).deleted, true);
  });

  it('manages cards', async () => {
    const customer = await svc.customers.create(aCustomer());
    const token = await svc.cardTokens.create({ card: aCard() });
    const attached = await svc.paymentMethods.attach(customer.id, { card_token: token.id });
    const captured = await svc.paymentMethods.capture({ customer_id: customer.id, card: aCard('5555555555554444') });
    assert.equal(attached.is_default, true);
    assert.deepEqual(await svc.paymentMethods.get(customer.id, captured.id), captured);
    assert.equal((await svc.paymentMethods.list(customer.id)).data.length, 2);
    const preferred = await svc.paymentMethods.update(customer.id, captured.id, { set_as_default: true });
    assert.deepEqual(preferred, { ...captured, is_default: true });
    await svc.paymentMethods.update(customer.id, attached.id, { set_as_default: true, update_subscriptions: true });
    assert.equal((await svc.paymentMethods.delete(customer.id, captured.id)).deleted, true);
    const replacement = await svc.paymentMethods.capture({ customer_id: customer.id, card: aCard('4111111111111111') });
    await svc.paymentMethods.delete(customer.id, attached.id, { replacement_payment_method_id: replacement.id });
    assert.equal((await svc.customers.get(customer.id)).default_payment_method_id, replacement.id);
  });

  it('manages products and their images', async () => {
    const product = await svc.products.create(aProduct());
    const changed = await svc.products.update(product.id, { pricing: { amount: 5100 } });
    assert.equal(changed.pricing.amount, 5100);
    const first = await svc.products.images.upload(product.id, pixel);
    const second = await svc.products.images.upload(product.id, new Blob([pixel], { type: 'image/gif' }));
    const reordered = await svc.products.images.reorder(product.id, { image_ids: [second.id, first.id] });
    assert.deepEqual(reordered.data, [
      { id: second.id, order: 0 },
      { id: first.id, order: 1 },
    ]);
    await svc.products.images.delete(product.id, first.id);
    const shown = await svc.products.get(product.id, { expand: ['images'] });
    assert.deepEqual(
      shown.images.map(({ id }) => id),
      [second.id],
    );
    const listed = await svc.products.list({ active: true, sort: '-updated_at', limit: 1 });
    assert.equal(listed.data[0]?.id, product.id);
    assert.equal((await svc.products.delete(product.id)).deleted, true);
  });

  it('creates and refunds orders', async () => {
    const { customerId, productId } = await aShop(svc);
    const order = await svc.orders.create({
      customer_id: customerId,
      items: [{ product_id: productId, quantity: 2 }],
    });
    assert.deepEqual([order.status, order.total], ['succeeded', 9800]);
    assert.match((await svc.orders.receipt(order.id)).number, /^R-\d{6}$/);
    assert.equal((await svc.orders.refund(order.id, { amount: 800 })).status, 'partially_refunded');
    assert.equal((await svc.orders.refund(order.id)).status, 'refunded');
    const shown = await svc.orders.get(order.id, { expand: ['customer'] });
    assert.equal(shown.customer.id, customerId);
    const listed = await svc.orders.list({
      customer_id: customerId,
      status: ['refunded', 'failed'],
      total: { gte: 1 },
    });
    assert.equal(listed.data.length, 1);

    const [refund] = (await svc.transactions.list({ order_id: order.id, type: 'refund' })).data;
    assert.ok(refund);
    const transaction = await svc.transactions.get(refund.id, { expand: ['order', 'customer'] });
    assert.deepEqual([transaction.order?.id, transaction.customer.id], [order.id, customerId]);
  });

  it('reads invoices', async () => {
    await someInvoice(service);
    const [invoice] = (await svc.invoices.list({ kind: ['invoice'], limit: 1 })).data;
    assert.ok(invoice);
    assert.deepEqual(await svc.invoices.get(invoice.id), invoice);
    assert.equal((await svc.invoices.pdf(invoice.id)).number, invoice.number);
    assert.equal((await svc.invoices.xml(invoice.id)).number, invoice.number);
    const correction = { reason: 'The company was missing', company: 'Hopper GmbH' };
    assert.equal((await svc.invoices.correct(invoice.id, correction)).corrects_id, invoice.id);
    assert.equal((await svc.invoices.month({ month: '2026-02' })).month, '2026-02');
  });

  it('returns declined orders and retries them', async () => {
    const { customerId, productId } = await aShop(svc, '4000009999003220');
    const items = [{ product_id: productId, quantity: 1 }];
    const declined = await svc.orders.create({ customer_id: customerId, items });
    assert.deepEqual([declined.status, declined.failure_code], ['failed', 'do_not_honor']);
    assert.equal((await svc.orders.retry(declined.id)).status, 'succeeded');
  });

  it('captures and releases funds that are held', async () => {
    const { customerId, productId } = await aShop(svc);
    const items = [{ product_id: productId, quantity: 1 }];
    const hold = () => svc.orders.create({ customer_id: customerId, items, capture: 'manual' });
    const [held, released] = [await hold(), await hold()];
    const amount = held.total - 100;
    assert.equal((await svc.orders.capture(held.id, { amount })).captured_amount, amount);
    assert.equal((await svc.orders.void(released.id)).status, 'voided');
  });

  it('disputes orders in the sandbox', async () => {
    const { customerId, productId } = await aShop(svc);
    const items = [{ product_id: productId, quantity: 1 }];
    const order = await svc.orders.create({ customer_id: customerId, items });
    assert.equal((await svc.sandbox.orders.chargeback(order.id)).status, 'chargeback');
    const resolved = await svc.sandbox.orders.resolveChargeback(order.id, { outcome: 'dismissed' });
    assert.equal(resolved.status, 'chargeback_dismissed');
  });

  it('manages coupons', async () => {
    const coupon = await svc.coupons.create({ name: 'Tea week', percentage: 10, codes: { count: 1 } });
    const [code] = coupon.codes;
    assert.ok(code);
    const verdict = await svc.coupons.validate({ code: code.code, amount: 1000, currency: 'usd' });
    assert.ok(verdict.valid);
    assert.equal(verdict.total_after_discount, 900);
    const refused = await svc.coupons.validate({ code: 'no-such-code', amount: 1000 });
    assert.ok(!refused.valid);
    assert.equal(refused.reason, 'code_not_found');
    assert.equal((await svc.coupons.codes.mint(coupon.id, { count: 2 })).data.length, 2);
    assert.equal((await svc.coupons.codes.list(coupon.id, { limit: 2 })).has_more, true);
    assert.equal((await svc.coupons.update(coupon.id, { description: 'All teas' })).description, 'All teas');
    assert.notEqual((await svc.coupons.archive(coupon.id, { archived: true })).archived_at, null);
    assert.equal((await svc.coupons.archive(coupon.id, { archived: false })).archived_at, null);
    assert.equal((await svc.coupons.delete(coupon.id)).active, false);
    assert.equal((await svc.coupons.get(coupon.id)).id, coupon.id);
    assert.equal((await svc.coupons.list({ archived: 'true', kind: 'generated' })).data[0]?.id, coupon.id);
  });

  it('sends customers to their own page', async () => {
    const customer = await svc.customers.create(aCustomer());
    const session = await svc.customerSessions.create({ customer_id: customer.id });
    assert.match(session.url ?? '', /\/customer\/\w{44}$/);
    assert.deepEqual(await svc.customerSessions.get(session.id), { ...session, url: null });
    assert.equal((await svc.customerSessions.delete(session.id)).deleted, true);
    await svc.customerSessions.create({ customer_id: customer.id });
    const ended = await svc.customerSessions.deleteAll(customer.id);
    assert.deepEqual(ended, { customer_id: customer.id, deleted_count: 1 });
  });

  it('sends customers to checkout pages', async () => {
    const product = await svc.products.create(aProduct());
    const sold = { mode: 'payment', items: [{ product_id: product.id, quantity: 1 }] } as const;
    const session = await svc.checkoutSessions.create({ ...sold, success_url: 'https://shop.example.com/thanks' });
    assert.match(session.url ?? '', /\/checkout\/\w{44}$/);
    assert.equal((await svc.checkoutSessions.get(session.id)).url, session.url);
    assert.equal((await svc.checkoutSessions.expire(session.id)).status, 'expired');
    assert.equal((await svc.checkoutSessions.list({ status: 'expired' })).data[0]?.id, session.id);
    const link = await svc.paymentLinks.create({ ...sold, name: 'Newsletter', max_payments: 5 });
    assert.equal((await svc.paymentLinks.update(link.id, { active: false })).active, false);
    assert.equal((await svc.paymentLinks.get(link.id)).url, link.url);
    assert.equal((await svc.paymentLinks.list({ active: false })).data[0]?.id, link.id);
  });

  it('manages subscriptions and advances the clock', async () => {
    const plan = await somePlan(service);
    assert.equal((await svc.plans.get(plan.id)).amount, 1900);
    assert.ok((await svc.plans.list({ active: true })).data.some(({ id }) => id === plan.id));
    const { customerId } = await aShop(svc);
    const made = await svc.subscriptions.create({ customer_id: customerId, plan_id: plan.id });
    assert.equal(made.status, 'active');
    const upcoming = await svc.subscriptions.upcoming(made.id, { count: 3 });
    assert.deepEqual(
      upcoming.data.map(({ cycle, total }) => [cycle, total]),
      [
        [2, 1900],
        [3, 1900],
        [4, 1900],
      ],
    );
    const before = await svc.sandbox.clock.get();
    const advanced = await svc.sandbox.clock.advance({ by: { days: 32 } });
    assert.ok(advanced.offset_seconds > before.offset_seconds);
    const shown = await svc.subscriptions.get(made.id, { expand: ['plan', 'customer'] });
    assert.deepEqual(
      [shown.completed_cycles, shown.plan.plan_code, shown.customer.id],
      [2, plan.plan_code, customerId],
    );
    assert.equal((await svc.subscriptions.list({ customer_id: customerId, status: 'active' })).data.length, 1);
    const changed = await svc.subscriptions.update(made.id, { description: 'For the office' });
    assert.equal(changed.description, 'For the office');
    const twoSeats = { plan_id: plan.id, quantity: 2, when: 'renewal' } as const;
    assert.equal((await svc.subscriptions.previewPlanChange(made.id, twoSeats)).amount_due, 0);
    assert.equal((await svc.subscriptions.changePlan(made.id, twoSeats)).status, 'scheduled');
    assert.equal((await svc.subscriptions.undoPlanChange(made.id)).scheduled_change, null);
    const product = await svc.products.create(aProduct());
    const added = await svc.subscriptions.addRenewalItem(made.id, { product_id: product.id, quantity: 2 });
    const [item] = added.renewal_items;
    assert.equal(item?.quantity, 2);
    assert.deepEqual((await svc.subscriptions.removeRenewalItem(made.id, item?.id ?? '')).renewal_items, []);
    for (const call of [() => svc.subscriptions.pause(made.id), () => svc.subscriptions.resume(made.id)]) {
      await assert.rejects(call, (error) => error instanceof ProcessingError && error.code === 'not_implemented');
    }
    assert.equal((await svc.subscriptions.cancel(made.id)).status, 'canceled');
    const reason = 'Late delivery';
    const granted = await svc.customers.credit.create(customerId, {
      type: 'grant',
      amount: 500,
      currency: 'usd',
      reason,
    });
    assert.deepEqual((await svc.customers.credit.get(customerId, { limit: 1 })).entries, [granted]);
  });

  it('reads and triggers events', async () => {
    const { cursor } = await svc.events.feed();
    const triggered = await svc.sandbox.events.trigger({ type: 'order.failed' });
    const fed = await svc.events.feed({ cursor });
    assert.ok(fed.data.some(({ id }) => id === triggered.id));
    assert.ok(triggered.type === 'order.failed');
    const event = await svc.events.get(triggered.id);
    assert.ok(event.type === 'order.failed');
    assert.equal(event.data.object.status, 'failed');
    const [listed] = (await svc.events.list({ object_id: event.data.object.id, type: 'order.failed' })).data;
    assert.deepEqual(listed, event);
  });

  it('reads the request log', async () => {
    const page = await svc.customers.list({ limit: 1 });
    assert.ok(page);
    const [logged] = await eventually('it is logged', async () => {
      const { data } = await svc.requests.list({ path: '/v1/customers', method: 'GET', status: '2xx' });
      return data.length > 0 && data;
    });
    const details = await svc.requests.get(logged?.request_id ?? '');
    assert.deepEqual([details.id, details.actor.kind], [logged?.id, 'key']);
  });

  it('manages webhook endpoints', async () => {
    const endpoint = await svc.webhookEndpoints.create({ url: receiver.url, enabled_events: ['customer.*'] });
    assert.match(endpoint.signing_secret, /^whsec_/);
    assert.equal((await svc.webhookEndpoints.get(endpoint.id)).url, receiver.url);
    const customer = await svc.customers.create(aCustomer());
    const [delivered] = await eventually('it is delivered', async () => {
      const { data } = await svc.webhookEndpoints.listEvents(endpoint.id, { delivery_status: 'delivered' });
      return data.length > 0 && data;
    });
    assert.equal(delivered?.data.object.id, customer.id);
    const [log] = (await svc.webhookEndpoints.listDeliveryLogs(endpoint.id)).data;
    assert.deepEqual([log?.status, log?.http_status], ['success', 200]);
    const replayed = await svc.webhookEndpoints.replayEvent(endpoint.id, delivered?.id ?? '', { force: true });
    assert.equal(replayed.id, delivered?.id);
    assert.equal((await svc.webhookEndpoints.test(endpoint.id, { event_type: 'customer.created' })).status, 'success');
    const down = await svc.webhookEndpoints.downgradeVersion(endpoint.id, { api_version: '2025-11-04' });
    const up = await svc.webhookEndpoints.upgradeVersion(endpoint.id, { api_version: '2026-02-11', dry_run: true });
    assert.deepEqual([down.api_version, up.previous_api_version], ['2025-11-04', '2025-11-04']);
    assert.match((await svc.webhookEndpoints.rotateSecret(endpoint.id)).new_signing_secret, /^whsec_/);
    assert.equal((await svc.webhookEndpoints.update(endpoint.id, { status: 'disabled' })).status, 'disabled');
    assert.equal((await svc.webhookEndpoints.list()).data.length, 1);
    assert.equal((await svc.webhookEndpoints.delete(endpoint.id)).deleted, true);
  });

  it('invites team members', async () => {
    const roles = await svc.roles.list({ expand: ['permissions'] });
    const support = roles.data.find(({ name }) => name === 'Support');
    assert.ok(support);
    assert.ok(support.permissions.includes('orders:read'));
    const member = await svc.teamMembers.create({
      first_name: 'Alan',
      last_name: 'Turing',
      email: 'alan@example.com',
      phone_number: '+15551234567',
      role_id: support.id,
    });
    assert.equal(member.status, 'pending');
    assert.ok((await svc.teamMembers.list({ status: 'pending' })).data.some(({ id }) => id === member.id));
  });

  it('was tested with every operation of the document, and no other', () => {
    const paths = document.paths as unknown as Record<string, Record<string, { operationId: string }>>;
    const documented = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    const called = new Set(sdk.attempts.map(({ operation }) => operation));
    assert.deepEqual([...called].toSorted(), documented.toSorted());
  });
});
