import { wordsToCustomer } from '../../customer-texts/words.ts';
import { notFound } from '../../errors.ts';
import { lackingOf } from '../../http/caller.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { minuteMs } from '../../platform/durations.ts';
import { createdAt } from '../../platform/ids.ts';
import type { Queryable } from '../../platform/database.ts';
import { isValidLink, type LinkQuery, signLink } from '../../platform/signed-links.ts';
import type { RequestContext } from '../../request-context.ts';
import { customersById } from '../customers/service.ts';
import type { MailState } from '../mails/schemas.ts';
import { customerMails, stateOf } from '../mails/service.ts';
import { ordersById } from '../orders/service.ts';
import { profileOf } from '../profile/service.ts';
import { planChargeOf } from '../subscriptions/service.ts';
import type { EmailKind } from './content.ts';
import { previewOf } from './preview.ts';
import { insertOptOut } from './queries.ts';
import type { CustomerEmail, EmailPreview } from './schemas.ts';
import { type EmailLinks, writeEmail, type WrittenEmail } from './write-email.ts';

export type { EmailDependencies } from './mail.ts';
export { writePastEmails } from './past-emails.ts';
export { sendRequest } from './requests.ts';
export { type EmailLinks, isUnsubscribeLink } from './write-email.ts';

export async function stopOptionalEmails(db: Queryable, companyId: string, customerId: string): Promise<void> {
  await insertOptOut(db, companyId, customerId);
}

export interface EmailFilters {
  readonly customer_id?: string;
  readonly state?: MailState;
}

export async function getCustomerEmails(
  { db, company }: RequestContext,
  filters: EmailFilters,
  page: PageRequest,
): Promise<Page<CustomerEmail>> {
  const found = await customerMails(db, company.id, filters, page);
  return {
    ...found,
    items: found.items.map((mail) => ({
      id: mail.id,
      kind: mail.kind as CustomerEmail['kind'],
      state: stateOf(mail),
      recipient: mail.recipient,
      subject: mail.subject,
      customer_id: mail.customer_id,
      object_id: mail.object_id,
      attempts: mail.attempts,
      error: mail.last_error,
      attachment:
        mail.invoice_id !== null && mail.invoice_number !== null
          ? { invoice_id: mail.invoice_id, number: mail.invoice_number }
          : null,
      sent_at: mail.sent_at?.toISOString() ?? null,
      created_at: createdAt(mail.id),
    })),
  };
}

const previewMinutes = 10;
const previewPath = (companyId: string, kind: string, orderId: string): string =>
  `/email-previews/${companyId}/${kind}/${orderId}`;

interface WantedPreview {
  readonly kind: EmailKind;
  readonly orderId: string;
  /** Whether the email greets the customer by name. */
  readonly showsCustomer: boolean;
}

/** The email that a kind would be for this order. Nothing is stored or sent, and no receipt gets a number. */
export async function writePreview(
  context: RequestContext,
  links: EmailLinks,
  { kind, orderId, showsCustomer }: WantedPreview,
): Promise<WrittenEmail> {
  const order = (await ordersById(context, [orderId])).get(orderId.toLowerCase());
  if (!order) throw notFound('order', 'order_id');
  const customer = (await customersById(context, [order.customer_id])).get(order.customer_id);
  if (!customer) throw notFound('customer');
  const profile = await profileOf(context.db, context.company);
  const occasion = previewOf(kind, order, await planChargeOf(context, order), context.nowMs);
  // No link that acts for the customer, for example one that stops emails.
  const words = await wordsToCustomer(customer, profile);
  const reader = { words, firstName: showsCustomer ? customer.first_name : undefined, unsubscribeUrl: '#' };
  return writeEmail(links, context.company, profile, reader, occasion, links.baseUrl);
}

/** Describes a preview. The dashboard shows its HTML in a frame, from a link that is valid for some minutes. */
export async function getPreview(
  context: RequestContext,
  links: EmailLinks,
  kind: EmailKind,
  orderId: string,
): Promise<EmailPreview> {
  const showsCustomer = lackingOf(context.caller, ['customers:read']).length === 0;
  const wanted = { kind, orderId, showsCustomer };
  const { subject, text, fromName = '', replyTo } = await writePreview(context, links, wanted);
  const path = previewPath(context.company.id, kind, orderId.toLowerCase());
  const expiresAtMs = links.clock.nowMs() + previewMinutes * minuteMs;
  const url = signLink(links.linkKey, purposeOf(showsCustomer), path, expiresAtMs);
  return { subject, text, url, from_name: fromName, reply_to: replyTo ?? null };
}

/** The signature decides what the preview shows, so a link cannot be changed into one that shows more. */
const purposeOf = (showsCustomer: boolean): 'email-preview' | 'email-preview-without-customer' =>
  showsCustomer ? 'email-preview' : 'email-preview-without-customer';

/** Returns what a link to a preview shows, or undefined if it is not valid. */
export function readPreviewLink(
  { linkKey, clock }: EmailLinks,
  companyId: string,
  kind: string,
  orderId: string,
  query: LinkQuery,
): WantedPreview | undefined {
  const path = previewPath(companyId, kind, orderId);
  const showsCustomer = [true, false].find((shows) =>
    isValidLink(linkKey, purposeOf(shows), path, query, clock.nowMs()),
  );
  return showsCustomer === undefined ? undefined : { kind: kind as EmailKind, orderId, showsCustomer };
}
