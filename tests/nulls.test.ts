import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { languages } from '../server/customer-texts/languages.ts';
import { type Person, signUp } from './support/dashboard.ts';
import { document } from './support/openapi.ts';
import { assertRefused, openShop, order, readOrder, type Shop, succeeded } from './support/orders.ts';
import {
  bodyWith,
  fieldsOf,
  inlined,
  type Json,
  type RequestField,
  requestFields,
  sendBody,
  takesNull,
} from './support/request-fields.ts';
import { type Reply, someCustomer, someProduct, startTestService, type TestService } from './support/service.ts';
import { somePlan, subscribe } from './support/subscriptions.ts';

/**
 * Null in a request. Fields that only describe may be null: not set in a POST, cleared by a PATCH. All others refuse it, above
 * all those that decide what is charged, on which card, when or how often.
 */

const address = ['line1', 'line2', 'city', 'state', 'postal_code', 'country'];
const within = (field: string, names: readonly string[]): string[] => [
  field,
  ...names.map((name) => `${field}.${name}`),
];
const shipping = within('shipping', ['name', ...address, 'phone']);
const shippingAddress = within('shipping_address', ['name', ...address, 'phone']);
const billingDetails = [
  ...within('billing_details', ['name', 'email', 'phone']),
  ...within('billing_details.address', address),
];
const product = ['description', 'category', 'brand', 'material', 'weight', 'return_window', 'inventory_quantity'];
/** Those that the contract itself calls nullable. */
const coupon = ['description', 'amount', 'max_discount_amount', 'duration_in_cycles'];

/** All fields that may be null, and no other. */
const clearable: Readonly<Record<string, readonly string[]>> = {
  createCustomer: ['company', 'tax_id', 'locale', ...shippingAddress, 'metadata'],
  updateCustomer: ['company', 'tax_id', 'locale', ...shippingAddress, 'metadata'],
  createCardToken: billingDetails,
  captureCard: billingDetails,
  attachPaymentMethod: billingDetails,
  createProduct: [...product, 'metadata'],
  updateProduct: [...product, 'metadata'],
  createOrder: ['description', ...shipping, 'metadata'],
  createInvoiceCorrection: ['company', 'tax_id', 'address', ...within('address', address)],
  createSubscription: ['description', ...shipping, 'metadata'],
  updateSubscription: ['description', ...shipping, 'metadata'],
  createCoupon: coupon,
  updateCoupon: coupon,
  createCheckoutSession: ['metadata'],
  createPaymentLink: ['metadata'],
  updatePaymentLink: ['success_url', 'slug', 'locale', 'metadata'],
  createWebhookEndpoint: ['description'],
  updateWebhookEndpoint: ['description'],
  createPlan: ['description'],
  updatePlan: ['description'],
  // Customers cannot choose seats.
  createPlanGroup: ['seats_max'],
  updatePlanGroup: ['seats_max'],
  updateProfile: [
    'display_name',
    'color',
    'support_email',
    'website',
    ...within('address', address),
    'tax_id',
    'terms_url',
    'terms_version',
    'locale',
    ...languages.flatMap((language) =>
      within(`texts.${language}`, ['thank_you', 'support', 'terms_text', 'terms_url', 'terms_version']),
    ),
    'emails.from_name',
    'emails.reply_to',
    'customer_page.headline',
    'customer_page.return_url',
  ],
  updateInvoiceSettings: ['legal_name', 'tax_rates[0].region', 'tax_rates[0].category', 'tax_rates[0].valid_until'],
  // The branding and the coupon that are typed, as their forms have them.
  previewCheckout: [
    'coupon.percentage',
    'coupon.amount',
    'coupon.max_discount_amount',
    'profile.display_name',
    'profile.color',
    'profile.terms_url',
    'profile.texts.terms_text',
    'profile.texts.terms_url',
  ],
  updateDispute: ['defense'],
  // A key whose expiry is lifted reads null; only a member of the team who gave the password can do it.
  updateApiKey: ['expires_at'],
};

const mayBeNull = ({ operation, field }: Pick<RequestField, 'operation' | 'field'>): boolean =>
  clearable[operation]?.includes(field) ?? false;

let service: TestService;
let owner: Person;
before(async () => {
  service = await startTestService({ settings: { SVC_TRUST_PROXY: '127.0.0.1' } });
  owner = await signUp(service);
});
after(() => service.stop());

describe('null in a request', () => {
  it('is looked at for every field of every body', () => {
    assert.ok(requestFields.length > 300, `${requestFields.length} fields`);
    const named = Object.entries(clearable).flatMap(([operation, fields]) =>
      fields.map((field) => `${operation} ${field}`),
    );
    const known = new Set(requestFields.map(({ operation, field }) => `${operation} ${field}`));
    assert.deepEqual(
      named.filter((field) => !known.has(field)),
      [],
    );
  });

  for (const [operation, fields] of Map.groupBy(requestFields, (field) => field.operation)) {
    it(`is refused by ${operation} unless the field only describes`, async () => {
      for (const request of fields) {
        const reply = await sendBody(service, owner, request, bodyWith(request.field, null));
        const errors: { field: string; code: string }[] = reply.body.error?.field_errors ?? [];
        const codes = errors.filter(({ field }) => field === request.field).map(({ code }) => code);
        assert.deepEqual(codes, mayBeNull(request) ? [] : ['invalid_value'], `${request.field}: ${reply.text}`);
        if (codes.length > 0) assert.deepEqual([reply.status, reply.body.error.code], [400, 'validation_error']);
      }
    });
  }

  it('is what the OpenAPI document says it is', () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods)) as unknown as Json[];
    let count = 0;
    for (const { operationId, requestBody } of operations) {
      const schema = (requestBody as { content: Record<string, { schema: Json }> } | undefined)?.content[
        'application/json'
      ];
      if (!schema) continue;
      for (const { field, schemas } of fieldsOf(inlined(schema.schema) as Json)) {
        assert.equal(
          takesNull(schemas),
          mayBeNull({ operation: String(operationId), field }),
          `${operationId} ${field}`,
        );
        count += 1;
      }
    }
    assert.ok(count > 200, `${count} fields`);
  });
});

const nothing = (fields: readonly string[]): Record<string, null> =>
  Object.fromEntries(fields.filter((field) => !field.includes('.')).map((field) => [field, null]));

/** What a field that is not set reads: metadata is an object always. */
const unset = (fields: readonly string[]): Record<string, unknown> => ({
  ...nothing(fields),
  ...(fields.includes('metadata') && { metadata: {} }),
});

const picked = (body: Reply['body'], fields: object): Record<string, unknown> =>
  Object.fromEntries(Object.keys(fields).map((name) => [name, body[name]]));

describe('null for a field that only describes', () => {
  const somewhere = { name: 'Ada', line1: '1 Main St', city: 'London', country: 'GB' };
  const words = { description: 'words', metadata: { a: 1 } };

  async function ask(method: string, path: string, body: unknown): Promise<Reply['body']> {
    const reply = await service.call(method, path, { body, idempotencyKey: randomUUID() });
    assert.ok(reply.status < 300, reply.text);
    return reply.body;
  }

  /** Made with null, filled, and cleared again. */
  async function goesThrough(path: string, operation: string, body: object, filled: object): Promise<void> {
    const fields = clearable[operation] ?? [];
    const made = await ask('POST', path, { ...body, ...nothing(fields) });
    assert.deepEqual(picked(made, unset(fields)), unset(fields));
    const one = `${path}/${made.id}`;
    const changed = await ask('PATCH', one, filled);
    for (const name of Object.keys(filled)) assert.notDeepEqual(changed[name], unset(fields)[name], name);
    const cleared = await ask('PATCH', one, nothing(Object.keys(filled)));
    assert.deepEqual(picked(cleared, filled), picked(unset(fields) as Reply['body'], filled));
  }

  it('is "not set" in a POST and clears in a PATCH: customers', () =>
    goesThrough('/v1/customers', 'createCustomer', someCustomer(), {
      company: 'Engines',
      tax_id: 'DE123456789',
      shipping_address: somewhere,
      metadata: { a: 1 },
    }));

  it('products', () =>
    goesThrough('/v1/products', 'createProduct', someProduct(), {
      ...words,
      category: 'a',
      brand: 'b',
      material: 'c',
      weight: 'd',
      return_window: 3,
      inventory_quantity: 4,
    }));

  it('subscriptions, where `shipping` takes the address of the customer with it', async () => {
    const shop = await openShop(service);
    const { id: plan_id } = await somePlan(service);
    const body = { customer_id: shop.customerId, plan_id };
    await goesThrough('/v1/subscriptions', 'createSubscription', body, { ...words, shipping: somewhere });

    const { shipping_address } = await ask('PATCH', `/v1/customers/${shop.customerId}`, {
      shipping_address: somewhere,
    });
    const made = await ask('POST', '/v1/subscriptions', { ...body, shipping_address_id: shipping_address.id });
    assert.equal(made.shipping.city, 'London');
    const cleared = await ask('PATCH', `/v1/subscriptions/${made.id}`, { shipping: null });
    assert.deepEqual([cleared.shipping, cleared.shipping_address_id], [null, null]);
  });

  it('webhook endpoints', () =>
    goesThrough(
      '/v1/webhook_endpoints',
      'createWebhookEndpoint',
      { url: 'https://shop.example.com/hooks', enabled_events: ['*'] },
      { description: 'words' },
    ));

  it('orders, and every line of an address by itself', async () => {
    const shop = await openShop(service);
    const items = [{ product_id: shop.productId, quantity: 1 }];
    const body = { customer_id: shop.customerId, items };
    const made = await ask('POST', '/v1/orders', { ...body, ...nothing(clearable['createOrder'] ?? []) });
    assert.deepEqual(picked(made, words), { description: null, metadata: {} });
    const lines = Object.fromEntries(['name', ...address, 'phone'].map((line) => [line, null]));
    assert.deepEqual((await ask('POST', '/v1/orders', { ...body, shipping: lines })).shipping, lines);
  });

  it('coupons: an amount, a most of a percentage and a number of cycles can be taken away', async () => {
    const body = { name: 'Week', percentage: 10, duration: 'once', ...nothing(coupon) };
    const made = await ask('POST', '/v1/coupons', body);
    assert.deepEqual(picked(made, nothing(coupon)), nothing(coupon));
    const one = `/v1/coupons/${made.id}`;
    const terms = { max_discount_amount: 500, duration: 'repeating', duration_in_cycles: 3, description: 'words' };
    assert.deepEqual(picked(await ask('PATCH', one, terms), terms), terms);
    const cleared = { max_discount_amount: null, duration: 'once', duration_in_cycles: null, description: null };
    assert.deepEqual(picked(await ask('PATCH', one, cleared), cleared), cleared);
    const fixed = await ask('POST', '/v1/coupons', { name: 'Three', amount: 300, currency: 'eur' });
    const changed = await ask('PATCH', `/v1/coupons/${fixed.id}`, { amount: null, percentage: 20 });
    assert.deepEqual([changed.percentage, changed.amount, changed.currency], [20, null, null]);
    await ask('PATCH', one, { code_prefix: 'TEA-' });
    assert.equal((await ask('PATCH', one, { code_prefix: '' })).code_prefix, null);
  });
});

describe('null where money moves', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop(service);
  });
  const ordersOf = async (): Promise<number> =>
    (await service.call('GET', `/v1/orders?customer_id=${shop.customerId}`)).body.data.length;

  it('refunds nothing', async () => {
    const { id } = await succeeded(service, shop);
    const reply = await service.call('POST', `/v1/orders/${id}/refund`, { body: { amount: null } });
    assertRefused(reply, 400, 'validation_error', 'amount');
    assert.equal((await readOrder(service, id)).refunded_amount, 0);
  });

  for (const field of ['payment_method_id', 'currency', 'coupon_code']) {
    it(`charges no order with ${field}: null`, async () => {
      const before = await ordersOf();
      assertRefused(await order(service, shop, { [field]: null }), 400, 'validation_error', field);
      assert.equal(await ordersOf(), before);
    });
  }

  for (const field of [
    'payment_method_id',
    'start_date',
    'end_date',
    'billing_cycles',
    'billing_cycle',
    'coupon_code',
  ]) {
    it(`starts no subscription with ${field}: null`, async () => {
      const { id: plan_id } = await somePlan(service);
      const before = await ordersOf();
      const reply = await subscribe(service, { customer_id: shop.customerId, plan_id, [field]: null });
      assertRefused(reply, 400, 'validation_error', field);
      assert.equal(await ordersOf(), before);
    });
  }
});
