import { randomUUID } from 'node:crypto';
import { type CallOptions, type Reply, someCustomer, someProduct, type TestService } from './service.ts';

/** A shop to order from: a customer with a card, and products. */

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
