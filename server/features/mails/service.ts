import type { Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { emailKeyOf } from '../customers/service.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import type { Shards } from '../../shards/shards.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import type { MailContent } from '../../platform/mail/mailer.ts';
import {
  countCustomerMailsOfDay,
  countDueMails,
  countMailsOfDay,
  dropLinksFor,
  findLatestMails,
  findOccasions,
  insertCustomerMail,
  insertLinkMail,
  insertMails,
  insertRequestedMail,
  type ListedMail,
  listCustomerMails,
  type MailKey,
  type MailRow,
  type RequestedMail,
} from './queries.ts';
import type { MailState } from './schemas.ts';

export interface NewMail {
  readonly recipient: string;
  readonly subject: string;
  /** Plain text. */
  readonly body: string;
}

/** A link that grants access to an account. */
interface AccountLink {
  readonly url: string;
  /** The id of the member, user or customer that the link grants access to. */
  readonly for: string;
  readonly expiresAt: Date;
}

export interface NewLinkMail extends Omit<NewMail, 'body'> {
  readonly link: AccountLink;
  readonly body: (link: string) => string;
  /** Sent with the emails to customers, and not counted as one to the team. */
  readonly toCustomer?: boolean;
}

/** Inserts a mail in the transaction of the change it reports; a worker sends it. */
export async function writeMails(
  db: Queryable,
  companyId: string,
  nowMs: number,
  mails: readonly NewMail[],
): Promise<void> {
  await insertMails(
    db,
    companyId,
    mails.map((mail) => ({ ...mail, id: newId(nowMs) })),
  );
}

const removedLink = '[link removed]';
export const aboutMail = ({ company_id, id }: MailKey): string => `mail ${company_id} ${id}`;

/**
 * The link is stored encrypted, and only until the mail is sent or the link is invalid, so that a database dump
 * grants no access to an account. A new link replaces the previous one.
 */
export async function writeLinkMail(
  db: Queryable,
  key: ServiceKey,
  companyId: string,
  nowMs: number,
  { recipient, subject, body, link, toCustomer = false }: NewLinkMail,
): Promise<void> {
  await dropLinksFor(db, link.for);
  const mail = { company_id: companyId, id: newId(nowMs) };
  const text = body(link.url);
  const row = {
    ...mail,
    recipient,
    recipient_key: emailKeyOf(recipient),
    subject,
    body: body(removedLink),
    sealed_body: key.seal(Buffer.from(toCustomer ? JSON.stringify({ text }) : text), aboutMail(mail)),
    link_for: link.for,
    link_expires_at: link.expiresAt,
  };
  await insertLinkMail(db, row, toCustomer);
}

/**
 * The answer to what a visitor of a page sent, or a notice of it to the merchant. The answer goes to the address that was typed there,
 * so it has no link. A stranger causes both, so they use up no emails to the team.
 */
export async function writeRequestedMail(
  db: Queryable,
  companyId: string,
  nowMs: number,
  { recipient, subject, body, as, about }: NewMail & Pick<RequestedMail, 'as' | 'about'>,
): Promise<void> {
  const row = { id: newId(nowMs), recipient, subject, body, recipient_key: emailKeyOf(recipient), as, about };
  await insertRequestedMail(db, companyId, row);
}

/** Returns the full content of the mail, with its links. A mail that was sent has lost them. */
export function contentOf(key: ServiceKey, mail: Omit<MailRow, 'invoice_id'>): MailContent {
  if (!mail.sealed_body) return { text: mail.body };
  const opened = key.open(mail.sealed_body, aboutMail(mail)).toString();
  return mail.kind === null ? { text: opened } : (JSON.parse(opened) as MailContent);
}

export interface NewCustomerMail {
  readonly recipient: string;
  readonly subject: string;
  readonly kind: string;
  readonly occasion: string;
  readonly customerId: string;
  readonly objectId: string;
  readonly content: MailContent;
  /** The invoice or credit note that it carries. */
  readonly invoiceId: string | null;
}

const linkDays = 7;

/**
 * Stores an email to a customer, once for each occasion; a worker sends it. Its content is sealed until then, because links in
 * it open receipts and the page of the customer. Returns false if the occasion has an email already.
 */
export async function writeCustomerMail(
  db: Queryable,
  key: ServiceKey,
  companyId: string,
  nowMs: number,
  { recipient, subject, kind, occasion, customerId, objectId, content, invoiceId }: NewCustomerMail,
): Promise<boolean> {
  const mail = { company_id: companyId, id: newId(nowMs) };
  const row = {
    ...mail,
    recipient,
    recipient_key: emailKeyOf(recipient),
    subject,
    body: content.text.replaceAll(/https?:\/\/\S+/g, removedLink),
    sealed_body: key.seal(Buffer.from(JSON.stringify(content)), aboutMail(mail)),
    kind,
    occasion,
    customer_id: customerId,
    object_id: objectId,
    invoice_id: invoiceId,
  };
  return insertCustomerMail(db, row, new Date(nowMs), linkDays);
}

/** Of these occasions, those that have an email. */
export async function writtenOccasions(
  db: Queryable,
  companyId: string,
  occasions: readonly string[],
): Promise<ReadonlySet<string>> {
  return new Set(await findOccasions(db, companyId, occasions));
}

export async function customerMailsToday(db: Queryable, companyId: string): Promise<number> {
  return countCustomerMailsOfDay(db, companyId);
}

export async function customerMails(
  db: Queryable,
  companyId: string,
  filters: Parameters<typeof listCustomerMails>[2],
  page: PageRequest,
): Promise<Page<ListedMail>> {
  return listCustomerMails(db, companyId, filters, page);
}

type Progress = Pick<ListedMail, 'sent_at' | 'next_attempt_at' | 'last_error'>;

export function stateOf({ sent_at, next_attempt_at, last_error }: Progress): MailState {
  if (sent_at) return 'sent';
  if (next_attempt_at) return 'waiting';
  return last_error === null ? 'kept' : 'failed';
}

export interface KeptMail extends NewMail {
  readonly id: string;
  /** The name of the sender, if it is not the installation. */
  readonly fromName: string | undefined;
  readonly html: string | undefined;
  readonly inserted_at: Date;
  /** The invoice or credit note that it carries, once that has its number. */
  readonly document: { readonly companyId: string; readonly id: string; readonly number: string } | undefined;
}

export async function latestMails({ all }: Pick<Shards, 'all'>, key: ServiceKey, count: number): Promise<KeptMail[]> {
  const found = (await Promise.all(all.map(({ db }) => findLatestMails(db, count)))).flat();
  const mails = found.toSorted((one, other) => other.inserted_at.getTime() - one.inserted_at.getTime());
  return mails.slice(0, count).map((mail) => {
    const { id, company_id: companyId, recipient, subject, inserted_at, invoice_id, invoice_number: number } = mail;
    const document = invoice_id !== null && number !== null ? { companyId, id: invoice_id, number } : undefined;
    const { text, html, fromName } = contentOf(key, mail);
    return { id, recipient, subject, body: text, html, fromName, inserted_at, document };
  });
}

/** Removes the links that grant access to this member or user. Mails that contain them are not sent any more. */
export async function revokeLinksFor(db: Queryable, id: string): Promise<void> {
  await dropLinksFor(db, id);
}

export async function mailsToday(db: Queryable, companyId: string): Promise<number> {
  return countMailsOfDay(db, companyId);
}

const countedMax = 10_000;

export async function mailsDue(db: Queryable): ReturnType<typeof countDueMails> {
  return countDueMails(db, countedMax);
}
