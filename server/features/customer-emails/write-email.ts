import type { Company } from '../../company.ts';
import type { Words } from '../../customer-texts/words.ts';
import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import { dayMs } from '../../platform/durations.ts';
import type { MailContent } from '../../platform/mail/mailer.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import { isValidLink, type LinkQuery, signLink } from '../../platform/signed-links.ts';
import type { RequestContext } from '../../request-context.ts';
import type { Customer } from '../customers/schemas.ts';
import type { Profile } from '../profile/schemas.ts';
import { defaultColor, ownText } from '../profile/service.ts';
import { contentOf, type Occasion, optionalKinds } from './content.ts';
import { htmlOf, textOf } from './layout.ts';

/** Creates a link to the page of a customer. Undefined if the customer has another email address by now. */
export type CustomerPageLink = (
  context: RequestContext,
  customer: Pick<Customer, 'id' | 'email'>,
) => Promise<string | undefined>;

export interface EmailLinks {
  readonly baseUrl: string;
  readonly linkKey: ServiceKey;
  /** Links expire by real time, not by the company's sandbox clock. */
  readonly clock: Clock;
}

export interface WrittenEmail extends MailContent {
  readonly subject: string;
  readonly html: string;
}

export interface EmailReader {
  /** The language of the customer. */
  readonly words: Words;
  /** Undefined in a preview for those who may not read customers. */
  readonly firstName: string | undefined;
  readonly unsubscribeUrl: string;
}

/** Writes the email about an occasion in the brand of the merchant. */
export function writeEmail(
  { baseUrl }: Pick<EmailLinks, 'baseUrl'>,
  company: Pick<Company, 'mode'>,
  profile: Profile,
  { words, firstName, unsubscribeUrl }: EmailReader,
  occasion: Occasion,
  customerPageUrl: string | undefined,
): WrittenEmail {
  const content = contentOf(occasion, { merchant: profile.display_name, words, customerPageUrl });
  const { address, support_email, website, emails } = profile;
  const brand = {
    name: profile.display_name,
    logoUrl: profile.logo_url && baseUrl + profile.logo_url,
    color: profile.color ?? defaultColor,
    textColor: profile.text_color,
    address: words.address(address),
    contact: support_email ?? website,
    support: ownText(profile, 'support', words.locale)?.text ?? null,
    note: words.texts.emails.notes[company.mode],
    words,
    firstName,
    unsubscribeUrl,
  };
  const replyTo = emails.reply_to ?? support_email;
  return {
    subject: content.subject,
    text: textOf(content, brand),
    html: htmlOf(content, brand),
    fromName: emails.from_name ?? profile.display_name,
    ...(replyTo !== null && { replyTo }),
    ...(optionalKinds.has(occasion.kind) && { unsubscribeUrl }),
  };
}

const unsubscribePath = (companyId: string, customerId: string): string => `/unsubscribe/${companyId}/${customerId}`;

export function unsubscribeLink(
  { baseUrl, linkKey, clock }: EmailLinks,
  companyId: string,
  customerId: string,
): string {
  const expiresAtMs = clock.nowMs() + limits.unsubscribeLinkDays * dayMs;
  return baseUrl + signLink(linkKey, 'unsubscribe', unsubscribePath(companyId, customerId), expiresAtMs);
}

export const isUnsubscribeLink = (
  { linkKey, clock }: EmailLinks,
  companyId: string,
  customerId: string,
  query: LinkQuery,
): boolean => isValidLink(linkKey, 'unsubscribe', unsubscribePath(companyId, customerId), query, clock.nowMs());
