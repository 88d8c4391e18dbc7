import { wordsToCustomer } from '../../customer-texts/words.ts';
import { ApiError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { hourMs } from '../../platform/durations.ts';
import { counter } from '../../platform/metrics.ts';
import type { RequestContext } from '../../request-context.ts';
import type { Customer } from '../customers/schemas.ts';
import { customersById } from '../customers/service.ts';
import { writeCustomerMail } from '../mails/service.ts';
import type { Order } from '../orders/schemas.ts';
import { profileOf } from '../profile/service.ts';
import type { Occasion, requestKinds } from './content.ts';
import { type EmailDependencies, isOverDailyLimit } from './mail.ts';
import { unsubscribeLink, writeEmail } from './write-email.ts';

type Request = Extract<Occasion, { readonly kind: (typeof requestKinds)[number] }>;

const count = counter('svc_customer_emails_total');

/**
 * Sends an email about an order that a member asked for, at most once an hour. Returns false if this hour has one already.
 */
export async function sendRequest(
  context: RequestContext,
  dependencies: EmailDependencies,
  request: Request,
): Promise<boolean> {
  const { db, company, nowMs } = context;
  const { kind, order } = request;
  const customer = await recipientOf(context, order);
  if (await isOverDailyLimit({ context, dependencies })) {
    const message = `This company has sent ${limits.customerEmailsPerDay[company.mode]} emails to customers today. Try again tomorrow.`;
    throw new ApiError('too_many_requests', message);
  }
  const pageUrl = kind === 'card_request' ? await dependencies.customerPageLink(context, customer) : undefined;
  const profile = await profileOf(db, company);
  const reader = {
    words: await wordsToCustomer(customer, profile),
    firstName: customer.first_name,
    unsubscribeUrl: unsubscribeLink(dependencies, company.id, customer.id),
  };
  const { subject, ...content } = writeEmail(dependencies, company, profile, reader, request, pageUrl);
  const isNew = await writeCustomerMail(db, dependencies.mailKey, company.id, nowMs, {
    recipient: customer.email,
    subject,
    kind,
    occasion: `${kind} ${order.id} ${Math.floor(nowMs / hourMs)}`,
    customerId: customer.id,
    objectId: order.id,
    content,
    invoiceId: null,
  });
  if (isNew) count({ kind });
  return isNew;
}

async function recipientOf(context: RequestContext, { customer_id }: Order): Promise<Customer> {
  const customer = (await customersById(context, [customer_id])).get(customer_id);
  if (customer && !customer.deleted) return customer;
  throw new ApiError('invalid_request', 'The customer of this order was deleted.', { param: 'customer_id' });
}
