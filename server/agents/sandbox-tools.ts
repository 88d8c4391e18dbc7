import { randomUUID } from 'node:crypto';
import Type from 'typebox';
import { asked, type CallApi, type Fields, read, rowsOf } from './call.ts';
import { linkOf, rowOf } from './resources.ts';
import { defineTool, type Tool } from './tool.ts';

/** Tools that change objects of a sandbox. The API checks the permissions of the key; a live key gets those of `live-tools.ts` instead. */

const closed = { additionalProperties: false } as const;
const id = (of: string): ReturnType<typeof Type.String> =>
  Type.String({ minLength: 1, maxLength: 100, pattern: '^[\\w-]+$', description: `The ID of the ${of}.` });

/** A repeated call with the same key returns the first result, so that a client that lost an answer charges once. */
const repeatable = Type.Optional(
  Type.String({
    pattern: '^[A-Za-z0-9_-]{1,255}$',
    description: 'The idempotency key. Repeat a call whose result was lost with the same key.',
  }),
);

const post = (call: CallApi, path: string, body?: Fields, key = randomUUID() as string): Promise<Fields> =>
  asked(call, { method: 'POST', path, idempotencyKey: key, ...(body && { body }) });

const createOrder = defineTool({
  name: 'create_order',
  title: 'Create an order (sandbox)',
  description:
    'Creates an order and charges the card of the customer. Amounts follow from the products. A declined charge is no error: ' +
    'the order has status failed and a failure_code.',
  input: Type.Object(
    {
      customer_id: id('customer'),
      items: Type.Array(Type.Object({ product_id: id('product'), quantity: Type.Integer({ minimum: 1 }) }, closed), {
        minItems: 1,
        maxItems: 100,
      }),
      payment_method_id: Type.Optional(id('card, if it is not the default of the customer')),
      coupon_code: Type.Optional(Type.String({ maxLength: 100 })),
      idempotency_key: repeatable,
    },
    closed,
  ),
  changes: 'sandbox',
  async run({ idempotency_key, ...body }, { call, baseUrl }) {
    const order = await post(call, '/v1/orders', body, idempotency_key);
    return { ...order, ...linkOf('orders', order, baseUrl) };
  },
});

const refundOrder = defineTool({
  name: 'refund_order',
  title: 'Refund an order (sandbox)',
  description:
    'Refunds an order, in full without `amount`. `amount` is in the smallest unit of the currency: 500 is $5.00.',
  input: Type.Object(
    {
      order_id: id('order'),
      amount: Type.Optional(Type.Integer({ minimum: 1 })),
      idempotency_key: repeatable,
    },
    closed,
  ),
  changes: 'sandbox',
  destructive: true,
  async run({ order_id, amount, idempotency_key }, { call, baseUrl }) {
    const body = amount === undefined ? undefined : { amount };
    const order = await post(call, `/v1/orders/${order_id}/refund`, body, idempotency_key);
    return { ...rowOf('orders', order, baseUrl), refunded_amount: order.refunded_amount, refund: lastRefund(order) };
  },
});

export const lastRefund = ({ transactions }: Fields): Fields | null =>
  ((transactions ?? []) as readonly Fields[]).findLast(({ type }) => type === 'refund') ?? null;

const retryOrder = defineTool({
  name: 'retry_order',
  title: 'Retry a failed order (sandbox)',
  description: 'Charges the card of a failed order again.',
  input: Type.Object({ order_id: id('order'), idempotency_key: repeatable }, closed),
  changes: 'sandbox',
  async run({ order_id, idempotency_key }, { call, baseUrl }) {
    return rowOf('orders', await post(call, `/v1/orders/${order_id}/retry`, undefined, idempotency_key), baseUrl);
  },
});

const cancelSubscription = defineTool({
  name: 'cancel_subscription',
  title: 'Cancel a subscription (sandbox)',
  description: 'Cancels a subscription at once. This cannot be undone, and refunds nothing.',
  input: Type.Object({ subscription_id: id('subscription'), idempotency_key: repeatable }, closed),
  changes: 'sandbox',
  destructive: true,
  isIdempotent: true,
  async run({ subscription_id, idempotency_key: key = randomUUID() as string }, { call, baseUrl }) {
    const request = { method: 'DELETE', path: `/v1/subscriptions/${subscription_id}`, idempotencyKey: key } as const;
    return rowOf('subscriptions', await asked(call, request), baseUrl);
  },
});

const trigger = defineTool({
  name: 'trigger_event',
  title: 'Trigger an event (sandbox)',
  description:
    'Makes a real object reach the state that sends an event, for example order.failed, so that webhooks can be tested.',
  input: Type.Object({ type: Type.String({ maxLength: 100 }) }, closed),
  changes: 'sandbox',
  reachesOut: true,
  run: ({ type }, { call }) => post(call, '/v1/sandbox/events/trigger', { type }),
});

const advanceClock = defineTool({
  name: 'advance_clock',
  title: 'Advance the sandbox clock',
  description:
    'Advances the clock of the sandbox and runs everything that falls due: renewals, retries, disputes. It never goes back.',
  input: Type.Object(
    {
      months: Type.Optional(Type.Integer({ minimum: 1, maximum: 24 })),
      days: Type.Optional(Type.Integer({ minimum: 1, maximum: 366 })),
      hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    },
    { ...closed, minProperties: 1 },
  ),
  changes: 'sandbox',
  destructive: true,
  async run(by, { call }) {
    const { now, happened } = await post(call, '/v1/sandbox/clock/advance', { by });
    const all = (happened ?? []) as readonly Fields[];
    return { now, happened: all.slice(-50), left_out: Math.max(0, all.length - 50) };
  },
});

const deliveries = defineTool({
  name: 'test_webhook',
  title: 'Send a test event to a webhook endpoint (sandbox)',
  description:
    'Sends an example event to an endpoint and returns what it answered. Without an ID, uses the only endpoint.',
  input: Type.Object(
    { webhook_endpoint_id: Type.Optional(id('endpoint')), event_type: Type.Optional(Type.String({ maxLength: 100 })) },
    closed,
  ),
  changes: 'sandbox',
  reachesOut: true,
  async run({ webhook_endpoint_id, event_type }, { call }) {
    const endpoint = webhook_endpoint_id ?? rowsOf(await read(call, '/v1/webhook_endpoints', { limit: 1 }))[0]?.id;
    return post(call, `/v1/webhook_endpoints/${String(endpoint)}/test`, event_type ? { event_type } : {});
  },
});

export const sandboxTools: readonly Tool[] = [
  createOrder,
  refundOrder,
  retryOrder,
  cancelSubscription,
  trigger,
  advanceClock,
  deliveries,
];
