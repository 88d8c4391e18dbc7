import { wordsToCustomer } from '../../customer-texts/words.ts';
import { limits } from '../../limits.ts';
import type { Database } from '../../platform/database.ts';
import { dayMs, minuteMs } from '../../platform/durations.ts';
import { counter } from '../../platform/metrics.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import type { RequestContext } from '../../request-context.ts';
import type { Customer } from '../customers/schemas.ts';
import { customersById } from '../customers/service.ts';
import { attachedDocument } from '../invoices/service.ts';
import { customerMailsToday, writeCustomerMail, writtenOccasions } from '../mails/service.ts';
import type { Profile } from '../profile/schemas.ts';
import { linkedReceipt } from '../receipts/service.ts';
import type { Order } from '../orders/schemas.ts';
import { absentConfirmation } from '../orders/service.ts';
import { getRenewal, getSubscription, planChargeOf } from '../subscriptions/service.ts';
import { type Occasion, optionalKinds, pageKinds } from './content.ts';
import { DailyLimitError } from './each-alone.ts';
import type { Draft } from './occasions.ts';
import { hasOptedOut } from './queries.ts';
import { type CustomerPageLink, type EmailLinks, unsubscribeLink, writeEmail } from './write-email.ts';

export interface EmailDependencies extends EmailLinks {
  readonly mailKey: ServiceKey;
  readonly customerPageLink: CustomerPageLink;
}

export interface Maker {
  readonly context: RequestContext;
  readonly dependencies: EmailDependencies;
  readonly profile: Profile;
}

const count = counter('svc_customer_emails_total');

/** Writes one email, unless the merchant or the customer does not want it, or the occasion has one. */
export async function mail(maker: Maker, draft: Draft, ready?: Occasion): Promise<void> {
  const { context, profile, dependencies } = maker;
  const { db, company, nowMs } = context;
  const { kind, occasion, customerId, objectId } = draft;
  if (!profile.emails[kind] || (await writtenOccasions(db, company.id, [occasion])).has(occasion)) return;
  const customer = (await customersById(context, [customerId])).get(customerId);
  if (!customer || customer.deleted) return;
  if (optionalKinds.has(kind) && (await hasOptedOut(db, company.id, customerId))) return;
  if (await isOverDailyLimit(maker)) {
    const perDay = limits.customerEmailsPerDay[company.mode];
    throw new DailyLimitError(`the company has reached the limit of ${perDay} emails to customers a day`);
  }
  const happened = ready ?? (await occasionOf(maker, draft, customer));
  if (!happened) return;
  const pageUrl = pageKinds.has(kind) ? await dependencies.customerPageLink(context, customer) : undefined;
  // The events of the last minutes are read again, and then the email goes to the new address.
  if (pageKinds.has(kind) && pageUrl === undefined) return;
  const reader = {
    words: await wordsToCustomer(customer, profile),
    firstName: customer.first_name,
    unsubscribeUrl: unsubscribeLink(dependencies, company.id, customerId),
  };
  const { subject, ...content } = writeEmail(dependencies, company, profile, reader, happened, pageUrl);
  const invoiceId =
    'order' in draft.about ? await attachedDocument(context, draft.about.order.id, draft.about.refundId) : null;
  const mailToWrite = { recipient: customer.email, subject, kind, occasion, customerId, objectId, content, invoiceId };
  const isNew = await writeCustomerMail(db, dependencies.mailKey, company.id, nowMs, mailToWrite);
  if (isNew) count({ kind });
}

/** Counting a day of emails takes long, so it is done once a minute; the bound may be exceeded by the emails of a minute. */
const counted = new WeakMap<Database, Map<string, { mails: number; untilMs: number }>>();

export const isOverDailyLimit = async (maker: Pick<Maker, 'context' | 'dependencies'>): Promise<boolean> =>
  (await mailsTodayOf(maker)) >= limits.customerEmailsPerDay[maker.context.company.mode];

async function mailsTodayOf({
  context: { db, company },
  dependencies: { clock },
}: Pick<Maker, 'context' | 'dependencies'>): Promise<number> {
  const counts = counted.get(db) ?? new Map<string, { mails: number; untilMs: number }>();
  counted.set(db, counts);
  const known = counts.get(company.id);
  if (known && known.untilMs > clock.nowMs()) return known.mails;
  const mails = await customerMailsToday(db, company.id);
  counts.set(company.id, { mails, untilMs: clock.nowMs() + minuteMs });
  return mails;
}

/** The order is paid until the end of dunning, or not any more. */
async function confirmationOf(
  context: RequestContext,
  { authentication_url: url, subscription_id }: Order,
): Promise<Extract<Occasion, { kind: 'payment_failed' }>['confirmation']> {
  if (!url) return undefined;
  const { dunning } = await getRenewal(context, subscription_id ?? '');
  return { url, until: dunning?.ends_at ?? null };
}

/** Undefined if the customer was not absent, or the order needs no confirmation any more. */
async function toConfirm(context: RequestContext, order: Order): Promise<Occasion | undefined> {
  const confirmation = await absentConfirmation(context, order.id);
  if (!confirmation) return undefined;
  const { items, order_number, total: amount, currency, payment_method: card, failure_code: failureCode } = order;
  const [item] = items;
  const name = item && items.length === 1 ? item.name : order_number;
  return { kind: 'payment_failed', name, amount, currency, card, failureCode, nextAttemptAt: null, confirmation };
}

/** Reads what the email needs. Undefined if it would no longer be true. */
async function occasionOf(
  { context, dependencies }: Maker,
  { kind, about }: Pick<Draft, 'kind' | 'about'>,
  customer: Customer,
): Promise<Occasion | undefined> {
  if ('order' in about) {
    const { order, refundId } = about;
    const expiresAtMs = dependencies.clock.nowMs() + limits.receiptLinkInEmailDays * dayMs;
    const receipt = await linkedReceipt(context, dependencies, {
      orderId: order.id,
      refundId,
      expiresAtMs,
      customer,
    });
    const refund = order.transactions.find(({ id }) => id === refundId);
    if (refund) return { kind: 'refund_receipt', order, refund, receipt };
    const plan = await planChargeOf(context, order);
    return { kind: kind === 'renewal_receipt' ? kind : 'order_receipt', order, plan, receipt };
  }
  if ('unconfirmed' in about) return toConfirm(context, about.unconfirmed);
  if ('declined' in about) {
    const { declined: order } = about;
    const subscription = await getSubscription(context, order.subscription_id ?? '', new Set());
    // It was paid meanwhile, or has ended, of which another email tells.
    if (subscription.status !== 'past_due') return undefined;
    return {
      kind: 'payment_failed',
      name: subscription.plan.name,
      amount: order.total,
      currency: order.currency,
      card: order.payment_method,
      failureCode: order.failure_code,
      nextAttemptAt: subscription.next_retry_at,
      confirmation: await confirmationOf(context, order),
    };
  }
  const { plan, payment_method: card } = about.subscription;
  if (kind === 'final_notice') return { kind, name: plan.name, card };
  return { kind: 'subscription_canceled', name: plan.name };
}
