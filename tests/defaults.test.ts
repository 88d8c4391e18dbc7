import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { document, routes } from './support/openapi.ts';
import { openShop, type Shop } from './support/orders.ts';
import { fieldsOf, inlined, type Json, takesNull } from './support/request-fields.ts';
import { type Reply, someCustomer, someProduct, startTestService, type TestService } from './support/service.ts';
import { somePlan } from './support/subscriptions.ts';

/** What a field is that is left out stands in the API document, and is what the service makes of it. */

interface Field {
  readonly operation: string;
  readonly method: string;
  readonly field: string;
  readonly required: boolean;
  readonly nullable: boolean;
  readonly fallback: unknown;
}

const fields: Field[] = Object.values(document.paths).flatMap((methods) =>
  Object.entries(methods).flatMap(([method, operation]) => {
    const { operationId, requestBody } = operation as unknown as Json;
    const media = (requestBody as { content: Record<string, { schema: Json }> } | undefined)?.content[
      'application/json'
    ];
    return media
      ? [...fieldsOf(inlined(media.schema) as Json)].map(({ field, schemas, schema, required }) => ({
          operation: String(operationId),
          method,
          field,
          required,
          nullable: takesNull(schemas),
          fallback: schema['default'],
        }))
      : [];
  }),
);

/** Left out, they are something that depends on the rest, or there is nothing. */
const depends: Readonly<Record<string, readonly string[]>> = {
  createOrder: ['payment_method_id', 'currency', 'coupon_code', 'authentication'],
  createSubscription: [
    'payment_method_id',
    'billing_cycle',
    // A default of two types is in the description: generated Java does not compile with it.
    'billing_cycle.anchor_day',
    'billing_cycle.interval',
    'billing_cycle.interval_count',
    'billing_cycles',
    'start_date',
    'end_date',
    'coupon_code',
    'shipping_address_id',
  ],
  changePlan: ['quantity', 'proration', 'at', 'expected_amount'],
  previewPlanChange: ['quantity', 'proration', 'at', 'expected_amount'],
  captureOrder: ['amount'],
  refundOrder: ['amount'],
  deletePaymentMethod: ['replacement_payment_method_id'],
  createCoupon: [
    'percentage',
    'currency',
    'max_redemptions',
    'max_redemptions_per_customer',
    'max_redemptions_per_code',
    'starts_at',
    'expires_at',
    'code_prefix',
    'codes',
    'codes.prefix',
  ],
  mintCouponCodes: ['prefix'],
  validateCoupon: ['amount', 'currency', 'customer_id', 'plan_id', 'product_ids', 'items'],
  createCheckoutSession: [
    'items',
    'items[0].quantity_min',
    'items[0].quantity_max',
    'plan_id',
    'customer_id',
    'success_url',
    'cancel_url',
    'coupon_code',
    'locale',
  ],
  createCustomerSession: ['return_url'],
  // What is left out stays as it is.
  createInvoiceCorrection: ['name'],
  createPaymentLink: [
    'items',
    'items[0].product_id',
    'items[0].product',
    'items[0].quantity_min',
    'items[0].quantity_max',
    'plan_id',
    'success_url',
    'coupon_code',
    'max_payments',
    'ends_at',
    'slug',
    'locale',
  ],
  createWebhookEndpoint: ['api_version'],
  testWebhookEndpoint: ['api_version'],
  triggerEvent: ['overrides'],
  advanceClock: ['to', 'by', 'by.months', 'by.days', 'by.hours', 'by.minutes', 'by.seconds'],
};

describe('the default of a field', () => {
  it('is in the document for each field that can be omitted in a POST, unless it depends on the others', () => {
    const optional = fields.filter(({ method, required, nullable }) => method !== 'patch' && !required && !nullable);
    const silent = optional.filter(({ fallback }) => fallback === undefined);
    const named = Object.entries(depends).flatMap(([operation, names]) => names.map((name) => `${operation} ${name}`));
    assert.deepEqual(silent.map(({ operation, field }) => `${operation} ${field}`).toSorted(), named.toSorted());
    assert.ok(optional.length - silent.length > 20);
  });

  it('is documented for no field of a PATCH, which leaves omitted fields unchanged', () => {
    const wrong = fields.filter(({ method, fallback }) => method === 'patch' && fallback !== undefined);
    assert.deepEqual(wrong, []);
  });

  it('is documented for the parameters of lists', () => {
    const parameterOf = (operationId: string, name: string): unknown => {
      const operation = Object.values(document.paths)
        .flatMap((methods) => Object.values(methods) as unknown as Json[])
        .find((one) => one['operationId'] === operationId);
      const parameters = ((operation?.['parameters'] ?? []) as Json[]).map((one) => inlined(one) as Json);
      const schema = (parameters.find((one) => one['name'] === name)?.['schema'] ?? {}) as Json;
      return schema['default'];
    };
    for (const { operationId, list } of routes)
      if (list) assert.equal(parameterOf(operationId, 'limit'), 10, operationId);
    assert.equal(parameterOf('listCustomers', 'sort'), 'created_at[desc]');
    assert.equal(parameterOf('listCustomers', 'deleted'), false);
    assert.equal(parameterOf('listCoupons', 'archived'), 'false');
    assert.equal(parameterOf('listUpcomingBills', 'count'), 10);
  });
});

describe('what is left out', () => {
  let service: TestService;
  let shop: Shop;
  before(async () => {
    service = await startTestService();
    shop = await openShop(service);
  });
  after(() => service.stop());

  const defaultsOf = (operation: string): Record<string, unknown> =>
    Object.fromEntries(
      fields
        .filter((one) => one.operation === operation && one.fallback !== undefined)
        .map(({ field, fallback }) => [field, fallback]),
    );

  const at = (body: Reply['body'], field: string): unknown =>
    field.split('.').reduce<unknown>((value, name) => (value as Json | undefined)?.[name], body);

  for (const [operation, path, bodyOf] of [
    ['createCustomer', '/v1/customers', () => someCustomer()],
    ['createProduct', '/v1/products', () => someProduct()],
    [
      'createOrder',
      '/v1/orders',
      () => ({ customer_id: shop.customerId, items: [{ product_id: shop.productId, quantity: 1 }] }),
    ],
    ['createCoupon', '/v1/coupons', () => ({ name: 'Week', percentage: 10, codes: { count: 1 } })],
    [
      'createSubscription',
      '/v1/subscriptions',
      async () => ({
        customer_id: shop.customerId,
        plan_id: (await somePlan(service)).id,
        billing_cycle: { interval: 'month' },
      }),
    ],
  ] as const) {
    it(`of ${operation} is its default`, async () => {
      const reply = await service.call('POST', path, { body: await bodyOf(), idempotencyKey: randomUUID() });
      assert.equal(reply.status, 201, reply.text);
      for (const [field, fallback] of Object.entries(defaultsOf(operation))) {
        if (field === 'codes.length') assert.equal(reply.body.codes[0].code.length, fallback);
        // An order that is captured at once holds nothing.
        else if (field === 'capture') assert.deepEqual([fallback, reply.body.authorized_amount], ['automatic', null]);
        // The order says what it is charged for, not who was there.
        else if (field === 'off_session') assert.equal(fallback, false);
        // The order says how much of it was used.
        else if (field === 'use_credit') assert.deepEqual([fallback, reply.body.credit_applied], [false, 0]);
        else assert.deepEqual(at(reply.body, field), fallback, field);
      }
    });
  }

  it('of a card is that it is not the default, unless it is the first, and moves no subscription', async () => {
    const card = { number: '5555555555554444', exp_month: '12', exp_year: '2032', cvc: '999' };
    const reply = await service.call('POST', '/capture', { body: { customer_id: shop.customerId, card } });
    assert.equal(reply.body.is_default, defaultsOf('captureCard')['set_as_default']);
    assert.deepEqual(defaultsOf('attachPaymentMethod'), { set_as_default: false, update_subscriptions: false });
  });
});
