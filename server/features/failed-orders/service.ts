import { ApiError, notFound } from '../../errors.ts';
import { lackingOf, requirePermissions } from '../../http/caller.ts';
import { limits } from '../../limits.ts';
import type { RequestContext } from '../../request-context.ts';
import { type LinkDependencies, priceNow } from '../checkout-sessions/service.ts';
import { type EmailDependencies, sendRequest } from '../customer-emails/service.ts';
import { localeOfCustomer } from '../customers/service.ts';
import type { Order } from '../orders/schemas.ts';
import { isManual, isStillFailed, ordersById } from '../orders/service.ts';
import type { PaymentLink } from '../payment-links/schemas.ts';
import { changeLink, createLink, getLink } from '../payment-links/service.ts';
import { findLaterPayment, findOrderLink, insertOrderLink, type OrderLinkRow, recordSent } from './queries.ts';
import type { Obstacle, OrderLink, SentLink, SentRequest, WhatNow } from './schemas.ts';

/** What a merchant can do about an order whose charge failed. */

export interface FailedOrderDependencies {
  readonly pageLinks: LinkDependencies;
  /** Undefined if no email can be sent. */
  readonly emails: EmailDependencies | undefined;
}

export async function getWhatNow(
  context: RequestContext,
  { pageLinks, emails }: FailedOrderDependencies,
  id: string,
): Promise<WhatNow> {
  const { db, company, caller } = context;
  const order = await orderById(context, id);
  const sends_emails = emails !== undefined;
  if (order.status !== 'failed') return { link: null, paid_by: null, obstacle: 'not_owed', sends_emails };
  const row = await findOrderLink(db, company.id, order.id);
  const mayReadLinks = lackingOf(caller, ['payment_links:read']).length === 0;
  const link = row && mayReadLinks ? shown(await getLink(context, pageLinks, row.payment_link_id), row) : null;
  const paidBy = await paymentOf(context, order, row);
  const obstacle = paidBy?.by_link ? 'not_owed' : await obstacleOf(context, order);
  return { link, paid_by: paidBy, obstacle, sends_emails };
}

/** The one link of the order: made now, or the one that it has, active again. */
export async function requestPayment(
  context: RequestContext,
  { pageLinks, emails }: FailedOrderDependencies,
  id: string,
  send: boolean,
): Promise<SentLink> {
  requirePermissions(context.caller, ['orders:read'], 'a payment link for an order needs');
  const { company, nowMs } = context;
  return context.db.transaction(async (transaction) => {
    const inside = { ...context, db: transaction };
    const order = await failedOrder(inside, id);
    // Two requests at the same time make one link: the second waits for the lock of the order.
    if (!(await isStillFailed(transaction, company.id, order.id))) throw inProgress();
    const row = await findOrderLink(transaction, company.id, order.id);
    if (row?.paid_order_id) throw refusals.not_owed();
    const obstacle = await obstacleOf(inside, order);
    if (obstacle) throw refusals[obstacle]();
    const link = await openLink(inside, pageLinks, order, row);
    const isNew =
      send && (await sendRequest(inside, required(emails), { kind: 'payment_request', order, url: link.url }));
    if (isNew) await recordSent(transaction, company.id, order.id, new Date(nowMs));
    const sentAt = isNew ? new Date(nowMs) : (row?.sent_at ?? null);
    return { link: shown(link, { sent_at: sentAt }), is_new: isNew };
  });
}

export async function requestCard(
  context: RequestContext,
  { emails }: FailedOrderDependencies,
  id: string,
): Promise<SentRequest> {
  requirePermissions(context.caller, ['orders:read'], 'asking for another card needs');
  const order = await failedOrder(context, id);
  return { is_new: await sendRequest(context, required(emails), { kind: 'card_request', order }) };
}

async function orderById(context: RequestContext, id: string): Promise<Order> {
  const order = (await ordersById(context, [id])).get(id.toLowerCase());
  if (!order) throw notFound('order');
  return order;
}

async function failedOrder(context: RequestContext, id: string): Promise<Order> {
  const order = await orderById(context, id);
  if (order.status === 'failed') return order;
  const message = `The status of this order is ${order.status}. Only the customer of a failed order is asked to pay again.`;
  throw new ApiError('invalid_state_transition', message, { param: 'id', status: 400 });
}

function required(emails: EmailDependencies | undefined): EmailDependencies {
  if (emails) return emails;
  throw new ApiError('invalid_request', 'No mail server is configured, so no email can be sent.');
}

const inProgress = (): ApiError =>
  new ApiError('resource_in_use', 'A charge of this order is in progress.', { headers: { 'Retry-After': '5' } });

const refusal = (message: string) => () => new ApiError('invalid_request', message);
const refusals: Readonly<Record<Obstacle, () => ApiError>> = {
  subscription: refusal('This order belongs to a subscription. Ask the customer for another card instead.'),
  not_for_sale: refusal('Something in this order is no longer sold, so a payment link cannot sell it.'),
  price_changed: refusal('These items have another price now, so a payment link would ask for another sum.'),
  not_owed: refusal('The payment link of this order was already paid.'),
};

/** A link sells at the prices of the catalog, so it can ask for the sum of the order only while they are the same. */
async function obstacleOf(context: RequestContext, order: Order): Promise<Obstacle | null> {
  if (order.subscription_id) return 'subscription';
  if (order.total === 0 || order.items.length > limits.checkoutItems) return 'not_for_sale';
  const price = await priceNow(context, { ...offerOf(order), customer_id: order.customer_id });
  if (!price) return 'not_for_sale';
  return price.total === order.total && price.currency === order.currency ? null : 'price_changed';
}

const offerOf = ({ items, coupon }: Order) => ({
  items: items.map(({ product_id, quantity }) => ({
    product_id,
    quantity,
    quantity_min: quantity,
    quantity_max: quantity,
  })),
  coupon_code: coupon?.code ?? null,
});

async function openLink(
  context: RequestContext,
  pageLinks: LinkDependencies,
  order: Order,
  row: OrderLinkRow | undefined,
): Promise<PaymentLink> {
  if (row) return changeLink(context, pageLinks, row.payment_link_id, { active: true, max_payments: 1 });
  const { items, coupon_code } = offerOf(order);
  const locale = await localeOfCustomer(context, order.customer_id);
  const link = await createLink(context, pageLinks, {
    name: `Order ${order.order_number}`,
    mode: 'payment',
    items,
    ...(coupon_code !== null && { coupon_code }),
    ...(isManual(order) && { capture: 'manual' }),
    ...(order.shipping && { collect: ['shipping'] }),
    ...(locale !== null && { locale }),
    metadata: order.metadata,
    max_payments: 1,
  });
  await insertOrderLink(context.db, context.company.id, order.id, link.id, order.total);
  return link;
}

const shown = ({ id, url, active }: PaymentLink, { sent_at }: Pick<OrderLinkRow, 'sent_at'>): OrderLink => ({
  id,
  url,
  active,
  sent_at: sent_at?.toISOString() ?? null,
});

/** Whether the customer has paid since: with the link, or with a later order for the same sum. */
async function paymentOf(
  context: RequestContext,
  order: Order,
  row: OrderLinkRow | undefined,
): Promise<WhatNow['paid_by']> {
  const paidId = row?.paid_order_id;
  const paid = paidId ? (await ordersById(context, [paidId])).get(paidId) : undefined;
  if (paid) return { id: paid.id, order_number: paid.order_number, by_link: true };
  if (order.subscription_id || order.total === 0) return null;
  const later = await findLaterPayment(context.db, context.company.id, order);
  return later ? { ...later, by_link: false } : null;
}
