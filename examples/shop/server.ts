import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
// In your own project, import from '@svc-payments/node'.
import {
  ConnectionError,
  type Customer,
  type Event,
  IdempotencyError,
  InvalidRequestError,
  type Order,
  type PaymentMethod,
  ProcessingError,
  Svc,
  SvcError,
  webhooks,
  WebhookSignatureError,
} from '../../sdk/node/src/index.ts';

/**
 * A small shop with two ways to pay: with card fields on its own page, or on the checkout page of the service. It treats an order
 * as paid when a webhook with a valid signature says so.
 */

const { baseUrl, secretKey, publishableKey } = readSettings();
const webhookSecret = process.env.SVC_WEBHOOK_SECRET;
const svc = new Svc(secretKey, { baseUrl });

interface Purchase {
  status: 'paying' | 'paid' | 'declined' | 'refunded';
  total?: string;
  orderNumber?: string;
  orderId?: string;
  /** Of a purchase on the checkout page. */
  sessionId?: string;
  /** The reason of a decline, for the customer. */
  message?: string;
  /** Sequence of the latest event, so that an older event that arrives late does not overwrite it. */
  sequence: number;
}

/** Purchases by the ID that the page chose. A real shop uses a database. */
const purchases = new Map<string, Purchase>();

/** Shoppers who have paid here before, by the cookie of their browser. A real shop has accounts with passwords. */
const shoppers = new Map<string, { readonly customerId: string }>();

const page = readFileSync(new URL('index.html', import.meta.url), 'utf8');
const style = readFileSync(new URL('shop.css', import.meta.url), 'utf8');

const routes: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => unknown>> = {
  'GET /': showPage,
  'GET /shop.css': (_request, response) => response.setHeader('Content-Type', 'text/css').end(style),
  'GET /products': async (_request, response) => sendJson(response, 200, await products()),
  'GET /plans': async (_request, response) => sendJson(response, 200, await plans()),
  'GET /card': showSavedCard,
  'POST /coupons': checkCoupon,
  'POST /purchases': buy,
  'POST /checkouts': openCheckout,
  'POST /webhooks': receiveWebhook,
};

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    process.stderr.write(`${error instanceof SvcError ? `${error.code}: ${error.message}` : String(error)}\n`);
    if (!response.headersSent) sendJson(response, 500, { message: 'Something went wrong. Please try again.' });
  });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const [, kind, id = ''] = path.split('/');
  if (request.method === 'GET' && kind === 'orders' && id) return showPage(request, response);
  if (request.method === 'GET' && kind === 'purchases' && id) return showPurchase(id, response);
  const route = routes[`${request.method} ${path}`];
  return route ? route(request, response) : response.writeHead(404).end('Not found.');
}

function showPage(_request: IncomingMessage, response: ServerResponse): void {
  const nonce = randomBytes(16).toString('base64');
  const policy =
    `default-src 'none'; script-src 'nonce-${nonce}' ${baseUrl}; style-src 'self'; connect-src 'self'; ` +
    `img-src http: https:; frame-src ${baseUrl}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  response.setHeader('Content-Type', 'text/html; charset=utf-8').setHeader('Content-Security-Policy', policy);
  const filled: Record<string, string> = { nonce, baseUrl, publishableKey };
  response.end(page.replaceAll(/\{\{(\w+)\}\}/g, (_match, name: string) => filled[name] ?? ''));
}

async function products(): Promise<unknown[]> {
  const { data } = await svc.products.list({ active: true, limit: 12, sort: 'created_at', expand: ['images'] });
  return data.map(({ id, name, description, pricing, images }) => ({
    id,
    name,
    description,
    picture: images?.[0]?.url,
    ...pricing,
  }));
}

async function plans(): Promise<unknown[]> {
  const { data } = await svc.plans.list({ active: true, limit: 3, sort: 'created_at' });
  return data.map(({ id, name, amount, currency, billing_cycle }) => ({ id, name, amount, currency, billing_cycle }));
}

function shopperOf(request: IncomingMessage): { readonly customerId: string } | undefined {
  const cookie = /(?:^|; )shopper=([\w-]+)/.exec(request.headers.cookie ?? '');
  return cookie?.[1] === undefined ? undefined : shoppers.get(cookie[1]);
}

/** The default card of a shopper who has paid here before. */
async function savedCardOf(request: IncomingMessage): Promise<PaymentMethod | undefined> {
  const shopper = shopperOf(request);
  if (!shopper) return undefined;
  const { data } = await svc.paymentMethods.list(shopper.customerId);
  return data.find(({ is_default }) => is_default);
}

async function showSavedCard(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const saved = await savedCardOf(request);
  return sendJson(response, 200, saved ? { brand: saved.card.brand, last4: saved.card.last4 } : {});
}

async function checkCoupon(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { code, items } = JSON.parse((await bodyOf(request)).toString()) as Pick<Cart, 'items'> & { code: string };
  const verdict = await svc.coupons.validate({ code, items });
  return sendJson(response, 200, verdict.valid ? { discount: verdict.discount_amount } : {});
}

/** Sends the shopper to the checkout page of the service, for the cart or for a plan. */
async function openCheckout(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { id, items, plan_id } = JSON.parse((await bodyOf(request)).toString()) as Pick<Cart, 'id' | 'items'> & {
    plan_id?: string;
  };
  const shop = `http://${request.headers.host}`;
  const shopper = shopperOf(request);
  const session = await svc.checkoutSessions.create(
    {
      ...(plan_id === undefined ? { mode: 'payment', items } : { mode: 'subscription', plan_id }),
      ...(shopper && { customer_id: shopper.customerId }),
      allow_coupons: true,
      success_url: `${shop}/orders/${id}`,
      cancel_url: shop,
      metadata: { purchase: id },
    },
    { idempotencyKey: `checkout-${id}` },
  );
  purchases.set(id, { status: 'paying', sequence: 0, sessionId: session.id });
  return sendJson(response, 200, { url: session.url });
}

interface Cart {
  readonly id: string;
  readonly items: { readonly product_id: string; readonly quantity: number }[];
  readonly coupon_code?: string;
  /** Without it, the saved card pays. */
  readonly card_token?: string;
  readonly customer: { readonly name: string; readonly email: string; readonly phone: string };
}

/** Prices come from the catalog. The page sends products, never prices. */
async function buy(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const cart = JSON.parse((await bodyOf(request)).toString()) as Cart;
  // Stored before the payment, because the webhook can arrive before the response.
  const purchase: Purchase = purchases.get(cart.id) ?? { status: 'paying', sequence: 0 };
  purchases.set(cart.id, purchase);
  try {
    const order = await placeOrder(cart, request, response);
    if (order.status !== 'failed') {
      purchase.orderId = order.id;
      return sendJson(response, 200, { status: 'paying' });
    }
    purchases.delete(cart.id);
    const why = kindWords[order.failure_code ?? ''] ?? 'Your bank declined the payment. Please try another card.';
    return sendJson(response, 200, { status: 'declined', message: `Your card was not charged. ${why}` });
  } catch (error) {
    // The outcome is unknown. A webhook will report it.
    if (unclear.some((kind) => error instanceof kind)) return sendJson(response, 200, { status: 'paying' });
    if (!purchase.orderId) purchases.delete(cart.id);
    if (!(error instanceof InvalidRequestError)) throw error;
    const [field] = error.fieldErrors;
    return sendJson(response, 400, { message: field ? `${field.field}: ${field.message}` : error.message });
  }
}

const unclear = [ConnectionError, IdempotencyError, ProcessingError];

/** One purchase is one order, even if the customer clicks twice or a response is lost. */
async function placeOrder(cart: Cart, request: IncomingMessage, response: ServerResponse): Promise<Order> {
  const { id, items, coupon_code } = cart;
  const card = await cardFor(cart, request);
  const order = await svc.orders.create(
    {
      customer_id: card.customer_id,
      payment_method_id: card.id,
      items,
      ...(coupon_code && { coupon_code }),
      metadata: { purchase: id },
    },
    { idempotencyKey: `order-${id}` },
  );
  if (order.status === 'succeeded') {
    const shopper = randomBytes(16).toString('base64url');
    shoppers.set(shopper, { customerId: card.customer_id });
    response.setHeader('Set-Cookie', `shopper=${shopper}; HttpOnly; SameSite=Lax; Path=/; Max-Age=2592000`);
  }
  return order;
}

async function cardFor({ id, customer: shopper, card_token }: Cart, request: IncomingMessage): Promise<PaymentMethod> {
  if (card_token === undefined) {
    const saved = await savedCardOf(request);
    if (saved) return saved;
    throw new Error('a cart without a card token, from a shopper without a saved card');
  }
  const customer = await findOrCreateCustomer(shopper);
  const attach = { card_token, set_as_default: true };
  return svc.paymentMethods.attach(customer.id, attach, { idempotencyKey: `card-${id}` });
}

const kindWords: Readonly<Record<string, string>> = {
  insufficient_funds: 'The card has insufficient funds. Please try another card.',
  expired_card: 'The card has expired. Please try another card.',
  incorrect_cvv: 'The CVC is wrong. Please check it and try again.',
};

async function findOrCreateCustomer({ name, email, phone }: Cart['customer']): Promise<Customer> {
  const [known] = (await svc.customers.list({ email, limit: 1 })).data;
  if (known) return known;
  const [first_name = '', ...rest] = name.trim().split(/\s+/);
  return svc.customers.create({ email, phone, first_name, last_name: rest.join(' ') || first_name });
}

async function showPurchase(id: string, response: ServerResponse): Promise<void> {
  const purchase = purchases.get(id);
  if (!purchase) return sendJson(response, 404, { message: 'This order does not exist.' });
  // Without webhooks the shop polls. With webhooks it also learns about refunds and late outcomes.
  if (!webhookSecret && purchase.sessionId) {
    const { order_id } = await svc.checkoutSessions.get(purchase.sessionId);
    if (order_id) learnOf(purchase, await svc.orders.get(order_id), 'paid');
  } else if (!webhookSecret && purchase.orderId) {
    for await (const event of svc.events.list({ object_id: purchase.orderId, sort: 'created_at' })) await learn(event);
  }
  const { status, total, orderNumber, message } = purchase;
  return sendJson(response, 200, { status, total, orderNumber, message });
}

async function receiveWebhook(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const event = await webhooks.verify(await bodyOf(request), request.headers, webhookSecret ?? '');
    await learn(event);
    response.writeHead(204).end();
  } catch (error) {
    if (!(error instanceof WebhookSignatureError) && !(error instanceof TypeError)) throw error;
    response.writeHead(400).end(error.message);
  }
}

/** Can be called several times with the same event, and in any order. */
async function learn(event: Event): Promise<void> {
  if (event.type === 'checkout_session.completed') {
    const { metadata, order_id } = event.data.object;
    const paid = purchases.get(String(metadata.purchase));
    if (paid && order_id) learnOf(paid, await svc.orders.get(order_id), 'paid');
    return;
  }
  if (event.type !== 'order.succeeded' && event.type !== 'order.failed' && event.type !== 'order.refunded') return;
  const { object: order } = event.data;
  const purchase = purchases.get(String(order.metadata.purchase));
  if (!purchase || event.sequence <= purchase.sequence) return;
  // A payment that is declined on the checkout page can be tried again there.
  if (purchase.sessionId && event.type === 'order.failed') return;
  purchase.sequence = event.sequence;
  const status = { 'order.succeeded': 'paid', 'order.failed': 'declined', 'order.refunded': 'refunded' } as const;
  learnOf(purchase, order, status[event.type]);
}

function learnOf(purchase: Purchase, order: Order, status: Purchase['status']): void {
  if (purchase.status !== 'refunded') purchase.status = status;
  purchase.orderId = order.id;
  purchase.orderNumber = order.order_number;
  purchase.total = new Intl.NumberFormat('en-US', { style: 'currency', currency: order.currency }).format(
    order.total / 100,
  );
  if (order.failure_reason) purchase.message = order.failure_reason;
}

const bodyLimitBytes = 100_000;

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyLimitBytes) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  response.end(JSON.stringify(body));
}

/** The keys from the environment, or those of the demo company. */
function readSettings(): { baseUrl: string; secretKey: string; publishableKey: string } {
  const { SVC_URL, SVC_KEY, SVC_PUBLISHABLE_KEY, SVC_DATA_DIR = '.svc' } = process.env;
  if (SVC_URL && SVC_KEY && SVC_PUBLISHABLE_KEY) {
    return { baseUrl: SVC_URL, secretKey: SVC_KEY, publishableKey: SVC_PUBLISHABLE_KEY };
  }
  const file = join(SVC_DATA_DIR, 'demo.json');
  if (!existsSync(file)) {
    process.stderr.write(`${file} does not exist. Start the service first, in another terminal: npm start\n`);
    process.exit(1);
  }
  const demo = JSON.parse(readFileSync(file, 'utf8')) as Record<'base_url' | 'secret_key' | 'publishable_key', string>;
  return { baseUrl: demo.base_url, secretKey: demo.secret_key, publishableKey: demo.publishable_key };
}

server.listen(Number(process.env.PORT ?? 4242), () => {
  const { port } = server.address() as AddressInfo;
  const listen = `npm run svc -- listen --forward-to localhost:${port}/webhooks`;
  process.stdout.write(
    `The shop is running: http://localhost:${port}\n` +
      (webhookSecret
        ? `The shop receives webhooks at /webhooks. To forward them: ${listen}\n`
        : `SVC_WEBHOOK_SECRET is not set, so the shop polls the API instead of receiving webhooks. See examples/shop/README.md.\n`),
  );
});
