import { wordsToCustomer } from '../../customer-texts/words.ts';
import { ApiError, notFound } from '../../errors.ts';
import { lackingOf } from '../../http/caller.ts';
import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import { hourMs } from '../../platform/durations.ts';
import { newId } from '../../platform/ids.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import { isValidLink, type LinkQuery, signLink } from '../../platform/signed-links.ts';
import type { RequestContext } from '../../request-context.ts';
import type { Customer } from '../customers/schemas.ts';
import { customersById, emailKeyOf } from '../customers/service.ts';
import type { Order } from '../orders/schemas.ts';
import { ordersById } from '../orders/service.ts';
import { logoOfProfile, profileOf } from '../profile/service.ts';
import { planChargeOf } from '../subscriptions/service.ts';
import { type ReceiptDocument, receiptDocument, refundsOf } from './document.ts';
import { ensureReceipt, findReceipt } from './queries.ts';
import type { Receipt } from './schemas.ts';

export {
  creditSums,
  discountText,
  paperOf,
  type ReceiptDocument,
  receiptLines,
  refundsOf,
} from './document.ts';
export { openRenderer } from './renderer.ts';

export interface ReceiptLinks {
  readonly baseUrl: string;
  readonly linkKey: ServiceKey;
  /** Links expire by real time, not by the company's sandbox clock. */
  readonly clock: Clock;
}

/** A payment was made, even if the money was returned later. */
const paidStatuses: readonly Order['status'][] = [
  'succeeded',
  'partially_refunded',
  'refunded',
  'refund_failed',
  'chargeback',
  'chargeback_accepted',
  'chargeback_dismissed',
];

export const isPaid = ({ status }: Pick<Order, 'status'>): boolean => paidStatuses.includes(status);

export const receiptNumber = (number: number): string => `R-${String(number).padStart(6, '0')}`;

/** Returns the receipt of an order, or of one of its refunds. The first call gives it its number. */
export async function getReceipt(
  context: RequestContext,
  links: ReceiptLinks,
  orderId: string,
  refundId: string | undefined,
): Promise<Receipt> {
  const order = (await ordersById(context, [orderId])).get(orderId.toLowerCase());
  if (!order) throw notFound('order');
  if (!isPaid(order)) {
    const message = `Only a paid order has a receipt. The status of this order is ${order.status}.`;
    throw new ApiError('invalid_state_transition', message, { param: 'id' });
  }
  if (refundId !== undefined && !refundsOf(order).some(({ id }) => id === refundId)) {
    throw notFound('refund', 'refund_id');
  }
  const expiresAtMs = links.clock.nowMs() + limits.receiptLinkHours * hourMs;
  const customer = lackingOf(context.caller, ['customers:read']).length === 0 ? 'shown' : 'hidden';
  return linkedReceipt(context, links, { orderId: order.id, refundId: refundId ?? null, expiresAtMs, customer });
}

interface WantedReceipt {
  readonly orderId: string;
  readonly refundId: string | null;
  readonly expiresAtMs: number;
  /**
   * Whether the link opens a receipt with the customer's name and email. A link for the customer shows them as long as the email
   * address is the same, so the reader of an old mailbox does not learn the new one.
   */
  readonly customer: 'shown' | 'hidden' | Pick<Customer, 'email'>;
}

/** The caller has checked that the order is paid, and the refund made. */
export async function linkedReceipt(
  { db, company, nowMs }: Pick<RequestContext, 'db' | 'company' | 'nowMs'>,
  { baseUrl, linkKey }: ReceiptLinks,
  { orderId, refundId, expiresAtMs, customer }: WantedReceipt,
): Promise<Receipt> {
  const wanted = { id: newId(nowMs), order_id: orderId, refund_id: refundId, created_at: new Date(nowMs) };
  const { id, number } = await ensureReceipt(db, company.id, wanted);
  const path = receiptPath(company.id, id);
  return {
    number: receiptNumber(number),
    url: baseUrl + signReceipt(linkKey, path, expiresAtMs, customer),
    expires_at: new Date(Math.ceil(expiresAtMs / 1000) * 1000).toISOString(),
  };
}

const receiptPath = (companyId: string, id: string): string => `/receipts/${companyId}/${id}.pdf`;

/** The signature decides what the receipt shows, so a link cannot be changed into one that shows more. */
const purposes = { shown: 'receipt', hidden: 'receipt-without-customer', reader: 'receipt-to-customer' } as const;

const signReceipt = (
  linkKey: ServiceKey,
  path: string,
  expiresAtMs: number,
  customer: WantedReceipt['customer'],
): string =>
  typeof customer === 'string'
    ? signLink(linkKey, purposes[customer], path, expiresAtMs)
    : signLink(linkKey, purposes.reader, path, expiresAtMs, readersOf(linkKey, path, customer)[0]);

/** The names that a customer with this email address has in links, the newest first. */
const readersOf = (linkKey: ServiceKey, path: string, { email }: Pick<Customer, 'email'>): string[] =>
  linkKey.hashTexts(`reader of ${path}\n${emailKeyOf(email)}`);

/** What a valid link to a receipt shows of this customer. */
export interface ReceiptLink {
  readonly shows: (customer: Customer) => boolean;
}

/** Returns what a link to a receipt shows, or undefined if it is not valid at this time. */
export function readReceiptLink(
  linkKey: ServiceKey,
  nowMs: number,
  companyId: string,
  id: string,
  query: LinkQuery,
): ReceiptLink | undefined {
  const path = receiptPath(companyId, id);
  const isFor = (purpose: keyof typeof purposes): boolean =>
    isValidLink(linkKey, purposes[purpose], path, query, nowMs);
  if (isFor('hidden')) return { shows: () => false };
  if (isFor('shown')) return { shows: () => true };
  const { reader } = query;
  if (!isFor('reader') || typeof reader !== 'string') return undefined;
  return { shows: (customer) => readersOf(linkKey, path, customer).includes(reader) };
}

export interface ReadReceipt {
  readonly document: ReceiptDocument;
  readonly fileName: string;
  /** Changes whenever the document would. */
  readonly version: string;
}

/** Reads what the receipt says now: refunds since then, and the present profile of the merchant. */
export async function readReceipt(
  context: RequestContext,
  id: string,
  { shows }: ReceiptLink,
): Promise<ReadReceipt | undefined> {
  const { db, company } = context;
  const row = await findReceipt(db, company.id, id);
  const order = row && (await ordersById(context, [row.order_id])).get(row.order_id);
  if (!order) return undefined;
  const [customers, plan, profile, logo] = await Promise.all([
    customersById(context, [order.customer_id]),
    planChargeOf(context, order),
    profileOf(db, company),
    logoOfProfile(db, company.id),
  ]);
  const present = customers.get(order.customer_id);
  const customer = present && shows(present) ? present : undefined;
  const number = receiptNumber(row.number);
  const facts = {
    mode: context.company.mode,
    number,
    createdAt: row.created_at,
    refundId: row.refund_id,
    order,
    plan,
    customer,
    profile,
    logo,
    // Also for those who do not see who the customer is.
    words: await wordsToCustomer(present, profile),
  };
  return {
    document: receiptDocument(facts),
    fileName: `${number}.pdf`,
    version: [row.id, order.updated_at, plan?.name, profile.updated_at, customer?.updated_at, facts.words.locale].join(
      ' ',
    ),
  };
}
