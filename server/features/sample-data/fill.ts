import { join } from 'node:path';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Company } from '../../company.ts';
import { ApiError } from '../../errors.ts';
import { keyForWork, type PhasedRequest } from '../../http/phases.ts';
import type { Clock } from '../../platform/clock.ts';
import type { DatabasePool } from '../../platform/database.ts';
import { dayMs, minuteMs } from '../../platform/durations.ts';
import type { FileStore } from '../../platform/files/file-store.ts';
import { newRequestId } from '../../platform/ids.ts';
import { programFolder } from '../../platform/program-folder.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import type { RequestContext } from '../../request-context.ts';
import type { Vault } from '../../vault/vault.ts';
import { type EmailDependencies, writePastEmails } from '../customer-emails/service.ts';
import { createCoupon, getCoupons } from '../coupons/service.ts';
import { createCustomer, findCustomerByEmail } from '../customers/service.ts';
import { orderOfKey, type Orders } from '../orders/service.ts';
import type { Order } from '../orders/schemas.ts';
import { captureCard, paymentMethodsOf, vaultCard } from '../payment-methods/service.ts';
import { createPlan, getPlans } from '../plans/service.ts';
import { activeBySku, addImage, createProduct, getProduct, storeImage } from '../products/service.ts';
import {
  cancelSubscription,
  getSubscription,
  pauseSubscription,
  subscriptionReferences,
  type Subscriptions,
} from '../subscriptions/service.ts';
import { addActive, getTeamMembers } from '../team/service.ts';
import { createEndpoint, getEndpoints } from '../webhooks/service.ts';
import { coupons, failingEndpoint, members, plans, products } from './catalog.ts';
import { person } from './people.ts';
import type { Action, Doing } from './script.ts';

/**
 * Performs the actions of the script through the services. Every action may be repeated: it looks for what it makes before it
 * makes it.
 */

export interface FillDependencies {
  readonly db: DatabasePool;
  /** Real time. */
  readonly clock: Clock;
  readonly vault: Vault;
  readonly files: FileStore;
  readonly webhookSecretKey: ServiceKey;
  /** Undefined if a mail server would send them. */
  readonly emails: EmailDependencies | undefined;
}

export interface History extends FillDependencies {
  readonly company: Company;
  /** How often the sandbox was filled. */
  readonly number: number;
  readonly startMs: number;
  readonly endMs: number;
  /** Opened with the clock of the history. */
  readonly orders: Orders;
  readonly subscriptions: Subscriptions;
  /** The ids of customers and products that were looked up. */
  readonly known: Map<string, string>;
}

type Perform<Kind extends Doing['does']> = (
  history: History,
  context: RequestContext,
  action: Extract<Action, { does: Kind }>,
) => Promise<void>;

export const timeOf = ({ startMs, endMs }: Pick<History, 'startMs' | 'endMs'>, { atMinute }: Action): number =>
  Math.min(startMs + atMinute * minuteMs, endMs);

const all = { limit: 100, sort: { field: 'created_at', descending: false }, cursor: null } as const;

/** The same at every attempt, and another one each time the sandbox is filled. */
const keyOf = ({ number }: History, name: string): string => `sample-data-${number}-${name}`;

const phased = (history: History, context: RequestContext, name: string): PhasedRequest =>
  keyForWork(context, keyOf(history, name), '/v1/sample_data');

async function idOf({ known }: History, name: string, find: () => Promise<string | undefined>): Promise<string> {
  const id = known.get(name) ?? (await find());
  if (id === undefined) throw new ApiError('resource_not_found', `The sample data lacks ${name}.`);
  known.set(name, id);
  return id;
}

const customerOf = (history: History, context: RequestContext, number: number): Promise<string> =>
  idOf(history, person(number).email, async () => (await findCustomerByEmail(context, person(number).email))?.id);

const productOf = (history: History, context: RequestContext, sku: string): Promise<string> =>
  idOf(history, sku, async () => (await activeBySku(context, [sku])).get(sku));

const orderOf = (history: History, name: string): Promise<string> =>
  idOf(history, name, () => orderOfKey(history.db, history.company.id, keyOf(history, name)));

async function addCardTo(
  { vault, clock, endMs }: History,
  context: RequestContext,
  customerId: string,
  number: string,
  expires: 'next month' | undefined,
): Promise<void> {
  const end = new Date(endMs);
  const at = expires ? new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1)) : new Date(endMs + 1100 * dayMs);
  const card = {
    number,
    exp_month: at.getUTCMonth() + 1,
    exp_year: at.getUTCFullYear(),
    cvc: number.startsWith('3') ? '1234' : '123',
  };
  const dependencies = { vault, clock, verifierOf: async () => undefined, noteVerification: () => undefined };
  const vaulted = await vaultCard(context, dependencies, { card });
  await captureCard(context, subscriptionReferences, { customer_id: customerId, card, set_as_default: true }, vaulted);
}

const setUp: Perform<'setUp'> = async (_, context) => {
  const known = new Set((await getCoupons(context, {}, all)).items.map(({ name }) => name));
  for (const coupon of coupons) if (!known.has(coupon.name)) await createCoupon(context, coupon);
};

/** A product with its picture and its plans. */
const addProduct: Perform<'product'> = async ({ files, clock }, context, { sku }) => {
  const product = products.find((one) => one.sku === sku);
  if (!product) throw new Error(`the sample data has no product ${sku}`);
  const { amount, ...others } = product;
  const known = (await activeBySku(context, [sku])).get(sku);
  const id = known ?? (await createProduct(context, { ...others, pricing: { amount, currency: 'usd' } })).id;
  const links = { files, clock };
  const { images = [] } = await getProduct(context, links, id, new Set(['images']));
  if (images.length === 0) await addPicture(context, links, id, sku);
  const plansMade = new Set((await getPlans(context, {}, all)).items.map(({ name }) => name));
  for (const { plan } of plans.filter((one) => one.sku === sku && !plansMade.has(one.plan.name))) {
    await createPlan(context, { ...plan, currency: 'usd', products: [{ product_id: id, quantity: 1 }] });
  }
};

/** The picture is stored as an upload would be: the service changes the file that it gets. */
async function addPicture(
  context: RequestContext,
  links: Parameters<typeof addImage>[1],
  productId: string,
  sku: string,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-sample-'));
  try {
    const path = join(folder, `${sku}.png`);
    await copyFile(fileURLToPath(new URL(`server/sample-pictures/${sku}.png`, programFolder)), path);
    const stored = await storeImage(context, links, productId, { path, sizeBytes: 0, sha256: '' });
    await addImage(context, links, productId, stored);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const addMembers: Perform<'addMembers'> = async (_, context) => {
  const known = new Set((await getTeamMembers(context, {}, all)).items.map(({ email }) => email));
  for (const { role, ...member } of members) {
    if (!known.has(member.email)) await addActive(context.db, context.company.id, context.nowMs, member, role);
  }
};

const addEndpoint: Perform<'addEndpoint'> = async ({ webhookSecretKey: secretKey }, context) => {
  const { url } = failingEndpoint;
  if ((await getEndpoints(context, all)).items.some((endpoint) => endpoint.url === url)) return;
  await createEndpoint(
    context,
    { secretKey },
    { ...failingEndpoint, enabled_events: [...failingEndpoint.enabled_events] },
    { url },
  );
};

const addCustomer: Perform<'addCustomer'> = async (history, context, { person: number, card, expires }) => {
  const { tags, ...rest } = person(number);
  const known = await findCustomerByEmail(context, rest.email);
  const customer = known ?? (await createCustomer(context, { ...rest, tags: [...tags] }));
  const cards = await paymentMethodsOf(context.db, context.company.id, [customer.id]);
  if (!cards.has(customer.id)) await addCardTo(history, context, customer.id, card, expires);
};

const addCard: Perform<'addCard'> = async (history, context, { person: number, card }) => {
  const id = await customerOf(history, context, number);
  const cards = (await paymentMethodsOf(context.db, context.company.id, [id])).get(id) ?? [];
  if (cards.length < 2) await addCardTo(history, context, id, card, undefined);
};

const order: Perform<'order'> = async (history, context, { key, person: number, items, coupon }) => {
  const { db, company, orders } = history;
  if (await orderOfKey(db, company.id, keyOf(history, key))) return;
  const customer_id = await customerOf(history, context, number);
  const lines: { product_id: string; quantity: number }[] = [];
  for (const { sku, quantity } of items) lines.push({ product_id: await productOf(history, context, sku), quantity });
  const { first_name, last_name, shipping_address } = person(number);
  const isShipped = items.some(({ sku }) => sku !== 'class');
  const shipping = { name: `${first_name} ${last_name}`, ...shipping_address };
  const input = { customer_id, items: lines, ...(isShipped && { shipping }), ...(coupon && { coupon_code: coupon }) };
  await orders.create(context, input, phased(history, context, key));
};

const refund: Perform<'refund'> = async (history, context, { order: name, share }) => {
  const { company, orders } = history;
  const id = await orderOf(history, name);
  const key = `refund-${name}`;
  if (await orders.keyedRefund(company.id, id, keyOf(history, key))) return;
  const { total } = await orders.get(context, id, new Set());
  await orders.refund(context, id, { amount: Math.round(total * share) }, phased(history, context, key));
  await orders.reconcile(company.id, id);
};

const subscribe: Perform<'subscribe'> = async (history, context, { key, person: number, plan, coupon }) => {
  const { db, company, subscriptions } = history;
  if (await orderOfKey(db, company.id, keyOf(history, key))) return;
  const customer_id = await customerOf(history, context, number);
  const plan_id = (await getPlans(context, { active: true }, all)).items.find(({ name }) => name === plan)?.id;
  if (!plan_id) return;
  const input = { customer_id, plan_id, ...(coupon && { coupon_code: coupon }) };
  await subscriptions.create(context, input, phased(history, context, key));
};

async function subscriptionOf(history: History, context: RequestContext, name: string) {
  const { subscription_id } = await history.orders.get(context, await orderOf(history, name), new Set());
  return getSubscription(context, subscription_id ?? '', new Set());
}

const cancel: Perform<'cancel'> = async (history, context, { subscription: name }) => {
  const { id, status } = await subscriptionOf(history, context, name);
  if (status === 'active') await cancelSubscription(context, id);
};

const pause: Perform<'pause'> = async (history, context, { subscription: name }) => {
  const { id, status } = await subscriptionOf(history, context, name);
  if (status === 'active') await pauseSubscription(context, id);
};

/** Only an order in this status gets the dispute, or its end. */
async function inStatus(history: History, context: RequestContext, name: string, status: Order['status']) {
  const id = await orderOf(history, name);
  return (await history.orders.get(context, id, new Set())).status === status ? id : undefined;
}

const dispute: Perform<'dispute'> = async (history, context, { order: name }) => {
  const id = await inStatus(history, context, name, 'succeeded');
  if (id) await history.orders.raiseChargeback(context, id);
};

const win: Perform<'win'> = async (history, context, { order: name }) => {
  const id = await inStatus(history, context, name, 'chargeback');
  if (id) await history.orders.resolveChargeback(context, id, 'dismissed');
};

/** Emails are kept for a month, so those of the last weeks are enough. */
const mailedDays = 14;

const writeEmails: Perform<'writeEmails'> = async ({ db, emails, company, endMs }) => {
  const span = { fromMs: endMs - mailedDays * dayMs, untilMs: endMs };
  if (emails) await writePastEmails(db, emails, company, span);
};

const performers: { readonly [Kind in Doing['does']]: Perform<Kind> } = {
  setUp,
  product: addProduct,
  addMembers,
  addEndpoint,
  addCustomer,
  addCard,
  order,
  refund,
  subscribe,
  cancel,
  pause,
  dispute,
  win,
  writeEmails,
};

export async function perform(history: History, action: Action): Promise<void> {
  const { company, db } = history;
  const context = { requestId: newRequestId(), company, nowMs: timeOf(history, action), db };
  await (performers[action.does] as Perform<Action['does']>)(history, context, action);
}
