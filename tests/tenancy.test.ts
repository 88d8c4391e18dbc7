import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { eventIdOf, isUuid, newId } from '../server/platform/ids.ts';
import { connectAcquirer } from './support/connect.ts';
import { routes } from './support/openapi.ts';
import { approvedOutcome, startFaultyService } from './support/faulty-service.ts';
import {
  type CallOptions,
  type Merchant,
  type Reply,
  someCustomer,
  someProduct,
  type TestService,
} from './support/service.ts';
import { invoicesFor, numberNow } from './support/invoices.ts';

/**
 * What belongs to one company does not exist for any other. Every route has a case here that names all ids it
 * takes; the ids of another company must be answered as ids that never existed are.
 */

/** One object of each kind, and some that were deleted. */
interface Ids {
  readonly customer: string;
  readonly deletedCustomer: string;
  readonly product: string;
  readonly deletedProduct: string;
  readonly image: string;
  readonly card: string;
  readonly order: string;
  readonly transaction: string;
  readonly invoice: string;
  readonly endpoint: string;
  readonly event: string;
  readonly log: string;
  readonly plan: string;
  readonly address: string;
  readonly subscription: string;
  readonly coupon: string;
  readonly couponCode: string;
  readonly role: string;
  readonly member: string;
  readonly request: string;
  readonly session: string;
  readonly customerSession: string;
  readonly link: string;
}

type Attempt = readonly [method: string, path: string, options?: CallOptions];

/** `theirs` are the ids in question, `own` are ids of the company that asks. */
type Case = (theirs: Ids, own: Ids) => Attempt[];

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
);

function upload(): CallOptions {
  const head =
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n';
  return {
    raw: Buffer.concat([Buffer.from(head), pixel, Buffer.from('\r\n--x--\r\n')]),
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  };
}

const keyed = (body: unknown): CallOptions => ({ body, idempotencyKey: randomUUID() });
const someCredit = { type: 'grant', amount: 500, currency: 'usd', reason: 'Late delivery' };
const takesNoIds: Case = () => [];

const cursors = (path: string, sorts: readonly string[], ids: readonly string[]): Attempt[] =>
  ids.flatMap((id) =>
    (sorts.length > 0 ? sorts.map((sort) => `sort=${sort}&`) : ['']).flatMap((sort) =>
      ['starting_after', 'ending_before'].map((name): Attempt => ['GET', `${path}?${sort}${name}=${id}`]),
    ),
  );

const rawCard = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };
const cardPath = (customer: string, card: string): string => `/v1/customers/${customer}/payment_methods/${card}`;

const sells = (product: string): object => ({ mode: 'payment', items: [{ product_id: product, quantity: 1 }] });

const endpoints = '/v1/webhook_endpoints';

let members = 0;
function someMember(role_id: string): Record<string, string> {
  members += 1;
  const email = `member-${members}@example.com`;
  return { first_name: 'Grace', last_name: 'Hopper', email, phone_number: '+15551234567', role_id };
}

const cart = (customer_id: string, product_id: string) => ({ customer_id, items: [{ product_id, quantity: 1 }] });

const cases: Readonly<Record<string, Case>> = {
  createCardToken: takesNoIds,
  captureCard: (theirs) => [
    ['POST', '/capture', { body: { customer_id: theirs.customer, card: rawCard } }],
    ['POST', '/capture', keyed({ customer_id: theirs.customer, card: rawCard })],
    ['POST', '/capture', { body: { customer_id: theirs.deletedCustomer, card: rawCard } }],
  ],
  attachPaymentMethod: (theirs) => [
    ['POST', `/v1/customers/${theirs.customer}/payment_methods`, { body: { card_token: 'cct_any' } }],
    ['POST', `/v1/customers/${theirs.deletedCustomer}/payment_methods`, { body: { card_token: 'cct_any' } }],
  ],
  listPaymentMethods: (theirs, own) => [
    ['GET', `/v1/customers/${theirs.customer}/payment_methods`],
    ['GET', `/v1/customers/${own.customer}/payment_methods?starting_after=${theirs.card}`],
  ],
  getPaymentMethod: (theirs, own) => [
    ['GET', cardPath(theirs.customer, theirs.card)],
    ['GET', cardPath(own.customer, theirs.card)],
    ['GET', cardPath(theirs.customer, own.card)],
  ],
  updatePaymentMethod: (theirs, own) => [
    ['PATCH', cardPath(theirs.customer, theirs.card), { body: { set_as_default: true } }],
    ['PATCH', cardPath(own.customer, theirs.card), { body: { update_subscriptions: true } }],
    ['PATCH', cardPath(theirs.customer, own.card), keyed({ set_as_default: true, update_subscriptions: true })],
    ['PATCH', cardPath(theirs.deletedCustomer, own.card), { body: { set_as_default: true } }],
  ],
  deletePaymentMethod: (theirs, own) => [
    ['DELETE', cardPath(theirs.customer, theirs.card)],
    ['DELETE', cardPath(own.customer, theirs.card)],
    ['DELETE', cardPath(own.customer, own.card), { body: { replacement_payment_method_id: theirs.card } }],
  ],
  createOrder: (theirs, own) => [
    ['POST', '/v1/orders', keyed(cart(theirs.customer, theirs.product))],
    ['POST', '/v1/orders', keyed(cart(theirs.customer, own.product))],
    ['POST', '/v1/orders', keyed(cart(theirs.deletedCustomer, own.product))],
    ['POST', '/v1/orders', keyed(cart(own.customer, theirs.product))],
    ['POST', '/v1/orders', keyed(cart(own.customer, theirs.deletedProduct))],
    ['POST', '/v1/orders', keyed({ ...cart(own.customer, own.product), payment_method_id: theirs.card })],
    ['POST', '/v1/orders', keyed({ ...cart(theirs.customer, own.product), payment_method_id: own.card })],
    ['POST', '/v1/orders', keyed({ ...cart(own.customer, own.product), coupon_code: theirs.couponCode })],
  ],
  listOrders: (theirs) => [
    ...cursors('/v1/orders', ['created_at', '-total'], [theirs.order, theirs.transaction, theirs.customer]),
    ['GET', `/v1/orders?customer_id=${theirs.customer}&expand=customer`],
    ['GET', `/v1/orders?subscription_id=${theirs.subscription}`],
    ['GET', `/v1/orders?product_id=${theirs.product}`],
    ['GET', `/v1/orders?coupon_id=${theirs.coupon}&plan_id=${theirs.plan}`],
    ['GET', `/v1/orders?q=${theirs.order}`],
    ['GET', `/v1/orders?customer_id=${theirs.customer}&status=pending,succeeded,failed`],
  ],
  getOrder: (theirs) => [
    ['GET', `/v1/orders/${theirs.order}`],
    ['GET', `/v1/orders/${theirs.order.toUpperCase()}`],
    ['GET', `/v1/orders/${theirs.order}?expand=customer&fields[orders]=total`],
  ],
  getOrderReceipt: (theirs) => [
    ['GET', `/v1/orders/${theirs.order}/receipt`],
    ['GET', `/v1/orders/${theirs.order}/receipt?refund_id=${theirs.transaction}`],
  ],
  refundOrder: (theirs) => [
    ['POST', `/v1/orders/${theirs.order}/refund`],
    ['POST', `/v1/orders/${theirs.order}/refund`, keyed({ amount: 1 })],
  ],
  captureOrder: (theirs) => [
    ['POST', `/v1/orders/${theirs.order}/capture`],
    ['POST', `/v1/orders/${theirs.order}/capture`, keyed({ amount: 1 })],
  ],
  voidOrder: (theirs) => [
    ['POST', `/v1/orders/${theirs.order}/void`],
    ['POST', `/v1/orders/${theirs.order}/void`, keyed({})],
  ],
  retryOrder: (theirs) => [
    ['POST', `/v1/orders/${theirs.order}/retry`],
    ['POST', `/v1/orders/${theirs.order}/retry`, keyed({})],
  ],
  listInvoices: (theirs) => [
    ...cursors('/v1/invoices', ['created_at'], [theirs.invoice, theirs.order, theirs.customer]),
    ['GET', `/v1/invoices?customer_id=${theirs.customer}`],
    ['GET', `/v1/invoices?order_id=${theirs.order}&kind=invoice`],
    ['GET', `/v1/invoices?q=${theirs.order}`],
  ],
  getInvoice: (theirs) => [
    ['GET', `/v1/invoices/${theirs.invoice}`],
    ['GET', `/v1/invoices/${theirs.invoice}?fields[invoices]=number`],
  ],
  getInvoicePdf: (theirs) => [['GET', `/v1/invoices/${theirs.invoice}/pdf`]],
  getInvoiceMonth: takesNoIds,
  createInvoiceCorrection: (theirs) => [
    ['POST', `/v1/invoices/${theirs.invoice}/corrections`, keyed({ reason: 'Company added', company: 'Own' })],
  ],
  getInvoiceXml: (theirs) => [['GET', `/v1/invoices/${theirs.invoice}/xml`]],
  listTransactions: (theirs) => [
    ...cursors('/v1/transactions', ['created_at', '-amount'], [theirs.transaction, theirs.order]),
    ['GET', `/v1/transactions?customer_id=${theirs.customer}&expand=customer,order`],
    ['GET', `/v1/transactions?order_id=${theirs.order}`],
  ],
  getTransaction: (theirs) => [
    ['GET', `/v1/transactions/${theirs.transaction}`],
    ['GET', `/v1/transactions/${theirs.transaction}?expand=customer,order`],
  ],
  listPlans: (theirs) => [['GET', `/v1/plans?starting_after=${theirs.plan}`]],
  getPlan: (theirs) => [['GET', `/v1/plans/${theirs.plan}`]],
  createSubscription: (theirs, own) => [
    ['POST', '/v1/subscriptions', { body: { customer_id: theirs.customer, plan_id: theirs.plan } }],
    ['POST', '/v1/subscriptions', keyed({ customer_id: theirs.customer, plan_id: own.plan })],
    ['POST', '/v1/subscriptions', keyed({ customer_id: theirs.deletedCustomer, plan_id: own.plan })],
    ['POST', '/v1/subscriptions', keyed({ customer_id: own.customer, plan_id: theirs.plan })],
    [
      'POST',
      '/v1/subscriptions',
      { body: { customer_id: own.customer, plan_id: own.plan, payment_method_id: theirs.card } },
    ],
    [
      'POST',
      '/v1/subscriptions',
      { body: { customer_id: own.customer, plan_id: own.plan, shipping_address_id: theirs.address } },
    ],
  ],
  changePlan: (theirs, own) => [
    ['POST', `/v1/subscriptions/${theirs.subscription}/change_plan`, { body: { plan_id: own.plan, when: 'renewal' } }],
    ['POST', `/v1/subscriptions/${theirs.subscription}/change_plan`, keyed({ plan_id: own.plan, when: 'now' })],
    ['POST', `/v1/subscriptions/${own.subscription}/change_plan`, keyed({ plan_id: theirs.plan, when: 'now' })],
  ],
  previewPlanChange: (theirs, own) => [
    [
      'POST',
      `/v1/subscriptions/${theirs.subscription}/change_plan/preview`,
      { body: { plan_id: own.plan, when: 'now' } },
    ],
    [
      'POST',
      `/v1/subscriptions/${own.subscription}/change_plan/preview`,
      { body: { plan_id: theirs.plan, when: 'now' } },
    ],
  ],
  undoPlanChange: (theirs) => [['POST', `/v1/subscriptions/${theirs.subscription}/change_plan/undo`]],
  addRenewalItem: (theirs, own) => [
    ['POST', `/v1/subscriptions/${theirs.subscription}/renewal_items`, { body: { product_id: own.product } }],
    ['POST', `/v1/subscriptions/${own.subscription}/renewal_items`, { body: { product_id: theirs.product } }],
  ],
  removeRenewalItem: (theirs) => [['DELETE', `/v1/subscriptions/${theirs.subscription}/renewal_items/${theirs.order}`]],
  listSubscriptions: (theirs) => [
    ...cursors('/v1/subscriptions', ['created_at'], [theirs.subscription, theirs.order]),
    ['GET', `/v1/subscriptions?customer_id=${theirs.customer}&expand=customer,plan`],
    ['GET', `/v1/subscriptions?plan_id=${theirs.plan}&status=active,paused`],
  ],
  getSubscription: (theirs) => [
    ['GET', `/v1/subscriptions/${theirs.subscription}`],
    ['GET', `/v1/subscriptions/${theirs.subscription}?expand=customer,plan`],
  ],
  listUpcomingBills: (theirs) => [['GET', `/v1/subscriptions/${theirs.subscription}/upcoming`]],
  updateSubscription: (theirs, own) => [
    ['PATCH', `/v1/subscriptions/${theirs.subscription}`, { body: { description: 'mine now' } }],
    ['PATCH', `/v1/subscriptions/${theirs.subscription}`, keyed({ payment_method_id: own.card })],
    ['PATCH', `/v1/subscriptions/${own.subscription}`, { body: { payment_method_id: theirs.card } }],
    ['PATCH', `/v1/subscriptions/${own.subscription}`, { body: { shipping_address_id: theirs.address } }],
  ],
  cancelSubscription: (theirs) => [
    ['DELETE', `/v1/subscriptions/${theirs.subscription}`],
    ['DELETE', `/v1/subscriptions/${theirs.subscription}`, keyed({})],
  ],
  pauseSubscription: (theirs) => [['POST', `/v1/subscriptions/${theirs.subscription}/pause`]],
  resumeSubscription: (theirs) => [['POST', `/v1/subscriptions/${theirs.subscription}/resume`]],
  createCoupon: (theirs, own) => [
    [
      'POST',
      '/v1/coupons',
      keyed({ name: 'Any', percentage: 5, product_scope: 'specific', product_ids: [theirs.product] }),
    ],
    [
      'POST',
      '/v1/coupons',
      keyed({ name: 'Any', percentage: 5, plan_scope: 'specific', plan_ids: [own.plan, theirs.plan] }),
    ],
  ],
  listCoupons: (theirs) => cursors('/v1/coupons', ['created_at', '-name', 'updated_at'], [theirs.coupon, theirs.order]),
  getCoupon: (theirs) => [['GET', `/v1/coupons/${theirs.coupon}`]],
  updateCoupon: (theirs, own) => [
    ['PATCH', `/v1/coupons/${theirs.coupon}`, { body: { active: false } }],
    ['PATCH', `/v1/coupons/${own.coupon}`, { body: { product_scope: 'specific', product_ids: [theirs.product] } }],
  ],
  deleteCoupon: (theirs) => [['DELETE', `/v1/coupons/${theirs.coupon}`]],
  archiveCoupon: (theirs) => [['POST', `/v1/coupons/${theirs.coupon}/archive`, { body: { archived: true } }]],
  mintCouponCodes: (theirs) => [['POST', `/v1/coupons/${theirs.coupon}/codes`, { body: { count: 1 } }]],
  listCouponCodes: (theirs, own) => [
    ['GET', `/v1/coupons/${theirs.coupon}/codes`],
    ...cursors(`/v1/coupons/${own.coupon}/codes`, [], [theirs.coupon]),
  ],
  validateCoupon: (theirs) => [
    ['POST', '/v1/coupons/validate', { body: { code: 'TEA', amount: 100, customer_id: theirs.customer } }],
    ['POST', '/v1/coupons/validate', { body: { code: 'TEA', plan_id: theirs.plan } }],
    ['POST', '/v1/coupons/validate', { body: { code: 'TEA', items: [{ product_id: theirs.product, quantity: 1 }] } }],
  ],
  listRoles: takesNoIds,
  createTeamMember: (theirs) => [
    ['POST', '/v1/team_members', { body: someMember(theirs.role) }],
    ['POST', '/v1/team_members', keyed(someMember(theirs.role))],
  ],
  listTeamMembers: (theirs) => cursors('/v1/team_members', ['created_at'], [theirs.member, theirs.order]),
  getClock: takesNoIds,
  advanceClock: takesNoIds,
  raiseChargeback: (theirs) => [
    ['POST', `/v1/sandbox/orders/${theirs.order}/chargeback`],
    ['POST', `/v1/sandbox/orders/${theirs.order}/chargeback`, keyed({})],
  ],
  resolveChargeback: (theirs) => [
    ['POST', `/v1/sandbox/orders/${theirs.order}/chargeback/resolve`, { body: { outcome: 'accepted' } }],
    ['POST', `/v1/sandbox/orders/${theirs.order}/chargeback/resolve`, keyed({ outcome: 'dismissed' })],
  ],
  triggerEvent: takesNoIds,
  createCheckoutSession: (theirs, own) => [
    ['POST', '/v1/checkout_sessions', { body: sells(theirs.product) }],
    ['POST', '/v1/checkout_sessions', { body: { ...sells(own.product), customer_id: theirs.customer } }],
    ['POST', '/v1/checkout_sessions', { body: { mode: 'subscription', plan_id: theirs.plan } }],
  ],
  listCheckoutSessions: (theirs) => [
    ...cursors('/v1/checkout_sessions', [], [theirs.session, theirs.order]),
    ['GET', `/v1/checkout_sessions?customer_id=${theirs.customer}`],
    ['GET', `/v1/checkout_sessions?payment_link_id=${theirs.link}`],
  ],
  getCheckoutSession: (theirs) => [['GET', `/v1/checkout_sessions/${theirs.session}`]],
  expireCheckoutSession: (theirs) => [['POST', `/v1/checkout_sessions/${theirs.session}/expire`]],
  createCustomerSession: (theirs) => [['POST', '/v1/customer_sessions', { body: { customer_id: theirs.customer } }]],
  getCustomerSession: (theirs) => [['GET', `/v1/customer_sessions/${theirs.customerSession}`]],
  deleteCustomerSession: (theirs) => [['DELETE', `/v1/customer_sessions/${theirs.customerSession}`]],
  deleteCustomerSessions: (theirs) => [['DELETE', `/v1/customers/${theirs.customer}/customer_sessions`]],
  createPaymentLink: (theirs) => [
    ['POST', '/v1/payment_links', { body: { name: 'Tea', ...sells(theirs.product) } }],
    ['POST', '/v1/payment_links', { body: { name: 'Tea', mode: 'subscription', plan_id: theirs.plan } }],
  ],
  listPaymentLinks: (theirs) => cursors('/v1/payment_links', [], [theirs.link, theirs.order]),
  getPaymentLink: (theirs) => [['GET', `/v1/payment_links/${theirs.link}`]],
  updatePaymentLink: (theirs) => [['PATCH', `/v1/payment_links/${theirs.link}`, { body: { active: false } }]],
  createWebhookEndpoint: takesNoIds,
  listWebhookEndpoints: (theirs) => cursors(endpoints, [], [theirs.endpoint, theirs.customer]),
  getWebhookEndpoint: (theirs) => [['GET', `${endpoints}/${theirs.endpoint}`]],
  updateWebhookEndpoint: (theirs) => [
    ['PATCH', `${endpoints}/${theirs.endpoint}`, { body: { url: 'https://elsewhere.invalid/' } }],
    ['PATCH', `${endpoints}/${theirs.endpoint}`, keyed({ status: 'disabled' })],
  ],
  deleteWebhookEndpoint: (theirs) => [['DELETE', `${endpoints}/${theirs.endpoint}`]],
  rotateWebhookEndpointSecret: (theirs) => [
    ['POST', `${endpoints}/${theirs.endpoint}/rotate_secret`],
    ['POST', `${endpoints}/${theirs.endpoint}/rotate_secret`, keyed({ grace_period_hours: 1 })],
  ],
  testWebhookEndpoint: (theirs) => [['POST', `${endpoints}/${theirs.endpoint}/test`]],
  listWebhookEndpointEvents: (theirs, own) => [
    ['GET', `${endpoints}/${theirs.endpoint}/events`],
    ...cursors(`${endpoints}/${own.endpoint}/events`, [], [theirs.event, eventIdOf(theirs.event)]),
  ],
  listWebhookEndpointDeliveryLogs: (theirs, own) => [
    ['GET', `${endpoints}/${theirs.endpoint}/delivery_logs`],
    ...cursors(`${endpoints}/${own.endpoint}/delivery_logs`, [], [theirs.log]),
  ],
  upgradeWebhookEndpointVersion: (theirs) => [
    ['POST', `${endpoints}/${theirs.endpoint}/upgrade_version`, { body: { api_version: '2026-02-11' } }],
  ],
  downgradeWebhookEndpointVersion: (theirs) => [
    ['POST', `${endpoints}/${theirs.endpoint}/downgrade_version`, { body: { api_version: '2025-11-04' } }],
  ],
  replayWebhookEndpointEvent: (theirs, own) => [
    ['POST', `${endpoints}/${theirs.endpoint}/events/${eventIdOf(theirs.event)}/replay`, { body: { force: true } }],
    ['POST', `${endpoints}/${theirs.endpoint}/events/${own.event}/replay`, { body: { force: true } }],
    ['POST', `${endpoints}/${own.endpoint}/events/${theirs.event}/replay`, { body: { force: true } }],
  ],
  listEvents: (theirs) => [
    ...cursors('/v1/events', [], [theirs.event, eventIdOf(theirs.event), theirs.order]),
    ['GET', `/v1/events?object_id=${theirs.customer}`],
  ],
  // Not the side that grows while it is compared.
  listRequests: (theirs) => [
    ['GET', `/v1/requests?starting_after=${theirs.event}`],
    ['GET', `/v1/requests?request_id=${theirs.request}`],
  ],
  getRequest: (theirs) => [['GET', `/v1/requests/${theirs.request}`]],
  readEventFeed: takesNoIds,
  getEvent: (theirs) => [
    ['GET', `/v1/events/${theirs.event}`],
    ['GET', `/v1/events/${eventIdOf(theirs.event)}`],
  ],
  createCustomer: takesNoIds,
  listCustomers: (theirs) =>
    cursors('/v1/customers', ['created_at', '-updated_at'], [theirs.customer, theirs.deletedCustomer, theirs.product]),
  getCustomer: (theirs) => [
    ['GET', `/v1/customers/${theirs.customer}`],
    ['GET', `/v1/customers/${theirs.customer.toUpperCase()}`],
    ['GET', `/v1/customers/${theirs.deletedCustomer}`],
    ['GET', `/v1/customers/${theirs.customer}?fields[customers]=email`],
  ],
  getCustomerCredit: (theirs, own) => [
    ['GET', `/v1/customers/${theirs.customer}/credit`],
    ['GET', `/v1/customers/${theirs.deletedCustomer}/credit`],
    ['GET', `/v1/customers/${own.customer}/credit?starting_after=${theirs.order}`],
  ],
  createCustomerCredit: (theirs) => [
    ['POST', `/v1/customers/${theirs.customer}/credit`, keyed(someCredit)],
    ['POST', `/v1/customers/${theirs.deletedCustomer}/credit`, keyed(someCredit)],
  ],
  updateCustomer: (theirs) => [
    ['PATCH', `/v1/customers/${theirs.customer}`, { body: { first_name: 'Eve' } }],
    ['PATCH', `/v1/customers/${theirs.customer}`, keyed({ metadata: { stolen: true } })],
    ['PATCH', `/v1/customers/${theirs.deletedCustomer}`, { body: { first_name: 'Eve' } }],
  ],
  deleteCustomer: (theirs) => [
    ['DELETE', `/v1/customers/${theirs.customer}`],
    ['DELETE', `/v1/customers/${theirs.deletedCustomer}`],
  ],
  createProduct: takesNoIds,
  listProducts: (theirs) =>
    cursors(
      '/v1/products',
      ['created_at', '-updated_at', 'name', 'amount'],
      [theirs.product, theirs.deletedProduct, theirs.customer],
    ),
  getProduct: (theirs) => [
    ['GET', `/v1/products/${theirs.product}`],
    ['GET', `/v1/products/${theirs.product}?expand=images`],
    ['GET', `/v1/products/${theirs.deletedProduct}`],
  ],
  updateProduct: (theirs) => [
    ['PATCH', `/v1/products/${theirs.product}`, keyed({ pricing: { amount: 1 } })],
    ['PATCH', `/v1/products/${theirs.deletedProduct}`, keyed({ active: true })],
  ],
  deleteProduct: (theirs) => [
    ['DELETE', `/v1/products/${theirs.product}`],
    ['DELETE', `/v1/products/${theirs.deletedProduct}`],
  ],
  uploadProductImage: (theirs) => [
    ['POST', `/v1/products/${theirs.product}/images`, upload()],
    ['POST', `/v1/products/${theirs.deletedProduct}/images`, upload()],
  ],
  deleteProductImage: (theirs, own) => [
    ['DELETE', `/v1/products/${theirs.product}/images/${theirs.image}`],
    ['DELETE', `/v1/products/${own.product}/images/${theirs.image}`],
    ['DELETE', `/v1/products/${theirs.product}/images/${own.image}`],
  ],
  reorderProductImages: (theirs, own) => [
    ['PATCH', `/v1/products/${theirs.product}/images/reorder`, { body: { image_ids: [theirs.image] } }],
    ['PATCH', `/v1/products/${theirs.product}/images/reorder`, { body: { image_ids: [own.image] } }],
    ['PATCH', `/v1/products/${own.product}/images/reorder`, { body: { image_ids: [theirs.image] } }],
    ['PATCH', `/v1/products/${own.product}/images/reorder`, { body: { image_ids: [own.image, theirs.image] } }],
  ],
};

let service: TestService;
let stop: () => Promise<void>;
let victim: Merchant;
let theirs: Ids;
/** Differs from theirs in the last digits only, so that a cursor stands at the same place of a list. */
let never: Ids;

interface Asker {
  readonly key: string;
  readonly own: Ids;
}
const askers: Record<string, Asker> = {};

async function made(key: string, path: string, options: CallOptions): Promise<string> {
  const reply = await service.call('POST', path, { key, ...options });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

async function objectsOf(key: string): Promise<Ids> {
  const person = someCustomer({ tags: ['vip'], shipping_address: { line1: '1 Main St' } });
  const customer = await made(key, '/v1/customers', { body: person });
  const { body: shown, headers } = await service.call('GET', `/v1/customers/${customer}`, { key });
  const request = headers.get('svc-request-id') ?? '';
  const address = shown.shipping_address.id;
  const deletedCustomer = await made(key, '/v1/customers', { body: someCustomer() });
  const product = await made(key, '/v1/products', keyed(someProduct()));
  const deletedProduct = await made(key, '/v1/products', keyed(someProduct()));
  const image = await made(key, `/v1/products/${product}/images`, upload());
  for (const path of [`/v1/customers/${deletedCustomer}`, `/v1/products/${deletedProduct}`]) {
    assert.equal((await service.call('DELETE', path, { key })).status, 200);
  }
  const card = await made(key, '/capture', { body: { customer_id: customer, card: rawCard } });
  const companyId = await invoicesFor(service, customer);
  const order = await made(key, '/v1/orders', keyed(cart(customer, product)));
  await numberNow(service, companyId);
  const invoice = (await service.call('GET', '/v1/invoices', { key })).body.data[0].id;
  const sales = await service.call('GET', `/v1/transactions?order_id=${order}`, { key });
  const transaction = sales.body.data[0].id;
  const url = 'https://receiver.invalid/';
  const endpoint = await made(key, endpoints, { body: { url, enabled_events: ['*'] } });
  const { event, log } = await deliveredTo(endpoint);
  const plan = await planBeside(customer);
  const subscription = await made(key, '/v1/subscriptions', { body: { customer_id: customer, plan_id: plan } });
  const minted = await service.call('POST', '/v1/coupons', {
    key,
    ...keyed({ name: 'Tea', percentage: 5, codes: { count: 1 } }),
  });
  assert.equal(minted.status, 201, minted.text);
  const sold = { mode: 'payment', items: [{ product_id: product, quantity: 1 }] };
  const session = await made(key, '/v1/checkout_sessions', { body: { ...sold, customer_id: customer } });
  const customerSession = await made(key, '/v1/customer_sessions', { body: { customer_id: customer } });
  const link = await made(key, '/v1/payment_links', { body: { ...sold, name: 'Tea' } });
  const role = (await service.call('GET', '/v1/roles', { key })).body.data[0].id;
  const member = await made(key, '/v1/team_members', { body: someMember(role) });
  return {
    request,
    session,
    customerSession,
    link,
    role,
    member,
    coupon: minted.body.id,
    couponCode: minted.body.codes[0].code,
    address,
    subscription,
    customer,
    deletedCustomer,
    product,
    deletedProduct,
    image,
    card,
    order,
    transaction,
    invoice,
    endpoint,
    event,
    log,
    plan,
  };
}

/** Plans are not made by the API. */
async function planBeside(customer: string): Promise<string> {
  const id = newId(Date.now());
  await service.db.query(
    `INSERT INTO plans (company_id, id, name, plan_code, amount, one_time_amount, currency, interval, interval_count,
       billing_cycles, pricing_tiers, active, updated_at)
     SELECT company_id, $2::uuid, 'Tea', $3, 1900, 0, 'usd', 'month', 1, 0, '[]', true, now() FROM customers WHERE id = $1`,
    [customer, id, `plan-${id}`],
  );
  return id;
}

/** An event that the endpoint got, and the log of it. */
async function deliveredTo(endpoint: string): Promise<{ event: string; log: string }> {
  const log = newId(Date.now());
  const [row] = await service.db.query<{ id: string }>(
    `WITH event AS (
       SELECT e.company_id, e.id, e.type, e.inserted_at FROM events e JOIN webhook_endpoints w USING (company_id)
       WHERE w.id = $1 ORDER BY e.id DESC LIMIT 1
     ), delivered AS (
       INSERT INTO webhook_deliveries (company_id, endpoint_id, event_id, event_inserted_at, status, attempts)
       SELECT company_id, $1, id, inserted_at, 'delivered', 1 FROM event
     ), logged AS (
       INSERT INTO webhook_delivery_logs (company_id, endpoint_id, id, event_id, event_type, attempt, status, http_status,
         duration_ms, request_headers)
       SELECT company_id, $1, $2, id, type, 1, 'success', 200, 5, '{}' FROM event
     ) SELECT id FROM event`,
    [endpoint, log],
  );
  return { event: row?.id ?? '', log };
}

function unused(id: string): string {
  if (id.startsWith('req_')) return `${id.slice(0, -1)}${id.endsWith('a') ? 'b' : 'a'}`;
  if (!isUuid(id)) return `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`;
  const tail = Number.parseInt(id.slice(-6), 16) ^ 0x00a5a5;
  return id.slice(0, -6) + tail.toString(16).padStart(6, '0');
}

async function rowsOf(companyId: string): Promise<Record<string, string[]>> {
  const tables = await service.db.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name = 'company_id' AND table_name <> 'api_keys'
       AND table_name NOT LIKE 'requests%' ORDER BY 1`,
  );
  const rows: Record<string, string[]> = {};
  for (const { name } of tables) {
    const found = await service.db.query<{ text: string }>(
      `SELECT t::text AS text FROM ${name} t WHERE company_id = $1 ORDER BY 1`,
      [companyId],
    );
    rows[name] = found.map(({ text }) => text);
  }
  return rows;
}

before(async () => {
  const faulty = await startFaultyService();
  ({ service, stop } = faulty);
  victim = await service.createMerchant();
  const stranger = await service.createMerchant();
  // Live companies sell too, at a processor that likes every card.
  const timing = { timeoutMs: 1_000, requestLifeMs: 60_000 };
  await connectAcquirer(service, victim.live.id, { url: 'http://127.0.0.1:1/', secret: 'x'.repeat(32), ...timing });
  faulty.faults.charge = approvedOutcome;
  const live = await service.createKey(victim.live);
  // The askers have objects before and after the victim's, so that a cursor between them shows where it stands.
  await objectsOf(stranger.key);
  await objectsOf(live);
  theirs = await objectsOf(victim.key);
  never = Object.fromEntries(Object.entries(theirs).map(([name, id]) => [name, unused(id)])) as unknown as Ids;
  askers['another merchant'] = { key: stranger.key, own: await objectsOf(stranger.key) };
  askers['the live company of the same merchant'] = { key: live, own: await objectsOf(live) };
});
after(() => stop());

const askerNames = ['another merchant', 'the live company of the same merchant'];
const isLive = (name: string): boolean => name === askerNames[1];
const noSuchObject = [404, 'resource_not_found'];
const notForLive = [403, 'insufficient_permissions'];

function asker(name: string): Asker {
  const found = askers[name];
  assert.ok(found);
  return found;
}

const attemptAs = ({ key }: Asker, [method, path, options]: Attempt): Promise<Reply> =>
  service.call(method, path, { ...options, key });

const withoutRequestId = (reply: Reply): string => reply.text.replace(/req_\w+/, '');

describe('the table of cases', () => {
  test('has every route of the service and nothing else', () => {
    assert.deepEqual(Object.keys(cases).toSorted(), routes.map((route) => route.operationId).toSorted());
  });

  test('says of no route that it takes no ids when it does', () => {
    const claimed = routes.filter((route) => cases[route.operationId] === takesNoIds);
    for (const { operationId, path, list, body } of claimed) {
      const takesIds = path.includes(':') || list !== undefined || JSON.stringify(body ?? {}).includes('"uuid"');
      assert.equal(takesIds, false, operationId);
    }
  });
});

for (const name of askerNames) {
  describe(`ids of a company, asked for by ${name}, are answered as ids that never existed`, () => {
    for (const route of routes) {
      test(route.operationId, async () => {
        const attempts = cases[route.operationId];
        assert.ok(attempts, `${route.operationId} has no case`);
        const one = asker(name);
        const [foreign, unknown] = [attempts(theirs, one.own), attempts(never, one.own)];
        for (const [index, attempt] of foreign.entries()) {
          const [refused, missing] = [await attemptAs(one, attempt), await attemptAs(one, unknown[index] ?? attempt)];
          const what = `${attempt[0]} ${attempt[1]}`;
          assert.deepEqual(
            [refused.status, withoutRequestId(refused)],
            [missing.status, withoutRequestId(missing)],
            what,
          );
          // A code is not an id: one that is not there is a wrong value.
          const namesCode = route.operationId === 'validateCoupon' || 'coupon_code' in Object(attempt[2]?.body);
          if (route.list || namesCode || attempt[1].includes('starting_after=')) continue;
          const expected = isLive(name) && route.tag === 'Sandbox' ? notForLive : noSuchObject;
          assert.deepEqual([refused.status, refused.body.error.code], expected, what);
        }
      });
    }

    test('and the company sees none of it', async () => {
      const before = await rowsOf(victim.sandbox.id);
      assert.equal(before.customers?.length, 1);
      for (const route of routes) {
        for (const attempt of cases[route.operationId]?.(theirs, asker(name).own) ?? []) {
          await attemptAs(asker(name), attempt);
        }
      }
      assert.deepEqual(await rowsOf(victim.sandbox.id), before);
    });
  });

  describe(`for ${name}`, () => {
    for (const route of routes.filter(({ list, path }) => list && !path.includes(':'))) {
      test(`${route.operationId} never shows an object of the company`, async () => {
        const idsIn = (reply: Reply): string[] => reply.body.data.map(({ id }: { id: string }) => id);
        const email = (await service.call('GET', `/v1/customers/${theirs.customer}`, { key: victim.key })).body.email;
        const type = route.operationId === 'listEvents' ? 'order.created' : 'sale';
        const status =
          {
            listSubscriptions: 'active',
            listTeamMembers: 'pending',
            listRequests: '2xx',
            listCheckoutSessions: 'open',
          }[route.operationId] ?? 'succeeded';
        const invoice = `INV-${new Date().getUTCFullYear()}-000001`;
        const searched = { listProducts: 'pot', listCoupons: 'tea', listPaymentLinks: 'tea', listInvoices: invoice };
        const q = searched[route.operationId as keyof typeof searched] ?? 'Ada';
        const shared = { deleted: 'true', q, tags: 'vip', active: 'true', status, type };
        const named: Record<string, string> = {
          email,
          customer_id: theirs.customer,
          order_id: theirs.order,
          object_id: theirs.order,
          plan_id: theirs.plan,
          product_id: theirs.product,
          coupon_id: theirs.coupon,
          subscription_id: theirs.subscription,
        };
        const filters: Record<string, string> = { ...shared, ...named };
        const queries = ['', ...Object.keys(filters).filter((filter) => route.list && filter in route.list.filters)];
        for (const filter of queries) {
          const query = filter ? `&${filter}=${encodeURIComponent(filters[filter] ?? '')}` : '';
          const reply = await service.call('GET', `${route.path}?limit=100${query}`, { key: asker(name).key });
          const shown = new Set(idsIn(reply));
          for (const id of [...Object.values(theirs), eventIdOf(theirs.event)]) assert.ok(!shown.has(id), filter);
          if (filter in named) assert.equal(shown.size, 0, filter);
          else assert.ok(shown.size > 0, `its own objects are there: ${filter}`);
        }
      });
    }

    test('e-mail, phone and SKU of the company are free', async () => {
      const read = async (path: string) => (await service.call('GET', path, { key: victim.key })).body;
      const { email, phone } = await read(`/v1/customers/${theirs.customer}`);
      const { sku } = await read(`/v1/products/${theirs.product}`);
      const { key } = asker(name);
      await made(key, '/v1/customers', { body: someCustomer({ email, phone }) });
      await made(key, '/v1/products', keyed(someProduct({ sku })));
    });

    test('an idempotency key of the company is a key like any other', async () => {
      const request = keyed(someProduct());
      const first = await service.call('POST', '/v1/products', { ...request, key: victim.key });
      const second = await service.call('POST', '/v1/products', { ...request, key: asker(name).key });
      assert.deepEqual([first.status, second.status], [201, 201]);
      assert.equal(second.headers.get('svc-idempotent-replayed'), null);
      assert.notEqual(second.body.id, first.body.id);
    });
  });
}
