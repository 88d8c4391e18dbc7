import { notFound } from '../../errors.ts';
import { lackingOf } from '../../http/caller.ts';
import { limits } from '../../limits.ts';
import { secondMs } from '../../platform/durations.ts';
import { firstIdOf, idTimeMs } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { consentsOf } from '../consents/service.ts';
import { customersById } from '../customers/service.ts';
import type { Order } from '../orders/schemas.ts';
import { ordersById } from '../orders/service.ts';
import { profileOf } from '../profile/service.ts';
import { receiptNumber } from '../receipts/service.ts';
import { getSubscription } from '../subscriptions/service.ts';
import { draftOf, type KnownFacts } from './evidence-draft.ts';
import { findDispute } from './queries.ts';
import type { EvidenceSuggestions } from './schemas.ts';
import {
  findAuthentication,
  findChecks,
  findCheckout,
  findEmails,
  findPast,
  findReceiptNumber,
  findSold,
} from './suggestion-queries.ts';

/** What the service knows of a disputed payment, as a draft of the evidence. Nothing is stored or sent. */
export async function suggestEvidence(context: RequestContext, id: string): Promise<EvidenceSuggestions> {
  const { db, company } = context;
  const dispute = await findDispute(db, company.id, id);
  if (!dispute) throw notFound('dispute');
  const order = (await ordersById(context, [dispute.order_id])).get(dispute.order_id);
  if (!order) throw notFound('order');
  const draft = draftOf(await factsOf(context, order, dispute.transaction_id));
  return { data: Object.entries(draft).map(([field, lines]) => ({ field, lines: [...lines] })) } as EvidenceSuggestions;
}

async function factsOf(context: RequestContext, order: Order, transactionId: string): Promise<KnownFacts> {
  const { db, company, caller } = context;
  const may = (permission: string): boolean => lackingOf(caller, [permission]).length === 0;
  const refunds = order.transactions.filter(({ type }) => type === 'refund').map(({ id }) => `refund ${id}`);
  const receipt = await findReceiptNumber(db, company.id, order.id);
  const { customer_page } = await profileOf(db, company);
  const earliest = firstIdOf(idTimeMs(order.id) - limits.checkoutSecondsMax * secondMs);
  const subscriptionId = may('subscriptions:read') ? order.subscription_id : null;
  // A renewal rests on what was agreed to when the subscription began.
  const [of, ofId] =
    subscriptionId === null ? (['order_id', order.id] as const) : (['subscription_id', subscriptionId] as const);
  const productIds = order.items.map(({ product_id }) => product_id);
  return {
    order,
    customer: may('customers:read')
      ? (await customersById(context, [order.customer_id])).get(order.customer_id)
      : undefined,
    past: await findPast(db, company.id, order),
    receipt: receipt && { number: receiptNumber(receipt.number), created_at: receipt.created_at },
    emails: await findEmails(db, company.id, [`receipt ${order.id}`, ...refunds]),
    paidOnPageAt: await findCheckout(db, company.id, order.id, earliest),
    consents: (await consentsOf(db, company.id, of, [ofId])).get(ofId) ?? [],
    checks: await findChecks(db, company.id, transactionId),
    authentication: await findAuthentication(db, company.id, order.id),
    products: await findSold(db, company.id, productIds),
    subscription: subscriptionId === null ? undefined : await getSubscription(context, subscriptionId, new Set()),
    canCancel: customer_page.allow_cancel || customer_page.allow_end_renewal,
  };
}
