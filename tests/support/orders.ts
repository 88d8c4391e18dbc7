import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Order } from '../../server/features/orders/schemas.ts';
import { withoutKey } from '../../server/http/phases.ts';
import { type CallOptions, type Reply, someCustomer, someProduct, type TestService } from './service.ts';
import type { RequestContext } from '../../server/request-context.ts';

/** A shop: a customer with a card, and products. */

export interface Shop {
  readonly customerId: string;
  readonly paymentMethodId: string;
  readonly productId: string;
}

export const approvedCard = '4242424242424242';

export async function capture(
  service: TestService,
  customerId: string,
  number = approvedCard,
  options: CallOptions = {},
): Promise<string> {
  const card = { number, exp_month: '12', exp_year: '2031', cvc: '999' };
  const reply = await service.call('POST', '/capture', { body: { customer_id: customerId, card }, ...options });
  return created(reply);
}

export async function openShop(service: TestService, number = approvedCard, options: CallOptions = {}): Promise<Shop> {
  const customerId = created(await service.call('POST', '/v1/customers', { body: someCustomer(), ...options }));
  const paymentMethodId = await capture(service, customerId, number, options);
  return { customerId, paymentMethodId, productId: await createProduct(service, 4900, options) };
}

/** The items of a new order. */
export const items = (...products: (readonly [id: string, quantity: number])[]) => ({
  items: products.map(([product_id, quantity]) => ({ product_id, quantity })),
});

export async function createProduct(service: TestService, amount: number, options: CallOptions = {}): Promise<string> {
  const body = someProduct({ pricing: { amount, currency: 'usd' } });
  return created(await service.call('POST', '/v1/products', { body, idempotencyKey: randomUUID(), ...options }));
}

function created(reply: Reply): string {
  if (reply.status !== 201) throw new Error(`${reply.status} ${reply.text}`);
  return String(reply.body.id);
}

export async function order(
  service: TestService,
  shop: Shop,
  body: Record<string, unknown> = {},
  options: CallOptions = {},
): Promise<Reply> {
  return service.call('POST', '/v1/orders', {
    body: { customer_id: shop.customerId, items: [{ product_id: shop.productId, quantity: 1 }], ...body },
    idempotencyKey: randomUUID(),
    ...options,
  });
}

export async function succeeded(service: TestService, shop: Shop, options: CallOptions = {}): Promise<Reply['body']> {
  const reply = await order(service, shop, {}, options);
  assert.deepEqual([reply.status, reply.body.status], [201, 'succeeded'], reply.text);
  return reply.body;
}

export const refund = (service: TestService, id: string, amount?: number, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', `/v1/orders/${id}/refund`, { body: amount === undefined ? {} : { amount }, ...options });

export const retry = (service: TestService, id: string, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', `/v1/orders/${id}/retry`, options);

export async function readOrder(service: TestService, id: string, options: CallOptions = {}): Promise<Reply['body']> {
  const reply = await service.call('GET', `/v1/orders/${id}`, options);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

export function assertRefused(reply: Reply, status: number, code: string, param?: string): void {
  assert.deepEqual([reply.status, reply.body.error?.code], [status, code], reply.text);
  if (param !== undefined) assert.equal(reply.body.error.param, param, reply.text);
}

export function assertInvalid(reply: Reply, ...fields: string[]): void {
  assertRefused(reply, 400, 'validation_error', fields[0]);
  const named = reply.body.error.field_errors.map(({ field, code }: Record<string, string>) => [field, code]);
  assert.deepEqual(
    named,
    fields.map((field) => [field, 'invalid_value']),
  );
}

export interface OrderEvent {
  readonly type: string;
  readonly sequence: number;
  readonly object: Record<string, any>;
}

export async function eventsOf(service: TestService, orderId: string): Promise<OrderEvent[]> {
  return service.db.query<OrderEvent>(
    'SELECT type, sequence, object FROM events WHERE object_id = $1 ORDER BY sequence, inserted_at',
    [orderId],
  );
}

export async function eventTypes(service: TestService, orderId: string): Promise<string[]> {
  const events = await eventsOf(service, orderId);
  assert.deepEqual(
    events.map(({ sequence }) => sequence),
    events.map((_, index) => index + 1),
    'the sequence counts the events of an order',
  );
  return events.map(({ type }) => type);
}

/** Runs the reconciliation job as if every operation had been open for long. */
export async function checkAllOpen(service: TestService): Promise<void> {
  await service.db.query(
    `UPDATE open_transactions SET next_check_at = now(), locked_until = now(), valid_until = now() - interval '1 minute'`,
  );
  await service.orders.reconcileDue(1000);
}

/** Runs the reconciliation job as if every operation that is not reserved were due. */
export async function runWorker(service: TestService): Promise<void> {
  await service.db.query('UPDATE open_transactions SET next_check_at = now()');
  await service.orders.reconcileDue(1000);
}

/** The connection at which the charge of an order was made. */
export async function connectionOf(service: TestService, orderId: string): Promise<string | undefined> {
  const [row] = await service.db.query<{ connection_id: string }>(
    `SELECT connection_id FROM transactions WHERE order_id = $1 AND status = 'succeeded'`,
    [orderId],
  );
  return row?.connection_id;
}

/** A request context like that of the dashboard, for operations without an API call. */
export function contextOf(service: TestService, company = service.company): RequestContext {
  return { requestId: 'req_test', company, nowMs: service.clock.nowMs(), db: service.db };
}

/** Voids an order without an idempotency key, like the command line. */
export async function voidOrder(service: TestService, id: string, context = contextOf(service)): Promise<Order> {
  const { body } = await service.orders.void(context, id, withoutKey);
  return JSON.parse(body) as Order;
}

export async function countOf(service: TestService, table: string, where: string, values: unknown[]): Promise<number> {
  const [row] = await service.db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM ${table} WHERE ${where}`,
    values,
  );
  return row?.count ?? -1;
}

export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadlineMs = Date.now() + 5_000;
  while (!(await condition())) {
    assert.ok(Date.now() < deadlineMs, `still not so: ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
