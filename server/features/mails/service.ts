import type { Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import type { Shards } from '../../shards/shards.ts';
import {
  countDueMails,
  countMailsOfDay,
  dropLinksFor,
  findLatestMails,
  insertLinkMail,
  insertMails,
  type MailKey,
  type MailRow,
} from './queries.ts';

export interface NewMail {
  readonly recipient: string;
  readonly subject: string;
  /** Plain text. */
  readonly body: string;
}

/** A link that grants access to an account. */
interface AccountLink {
  readonly url: string;
  /** The id of the member or user that the link grants access to. */
  readonly for: string;
  readonly expiresAt: Date;
}

export interface NewLinkMail extends Omit<NewMail, 'body'> {
  readonly link: AccountLink;
  readonly body: (link: string) => string;
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
  { recipient, subject, body, link }: NewLinkMail,
): Promise<void> {
  await dropLinksFor(db, link.for);
  const mail = { company_id: companyId, id: newId(nowMs) };
  await insertLinkMail(db, {
    ...mail,
    recipient,
    subject,
    body: body(removedLink),
    sealed_body: key.seal(Buffer.from(body(link.url)), aboutMail(mail)),
    link_for: link.for,
    link_expires_at: link.expiresAt,
  });
}

/** Returns the full text of the mail, with the link. */
export function bodyOf(key: ServiceKey, mail: MailRow): string {
  return mail.sealed_body ? key.open(mail.sealed_body, aboutMail(mail)).toString() : mail.body;
}

export interface KeptMail extends NewMail {
  readonly id: string;
  readonly inserted_at: Date;
}

export async function latestMails({ all }: Pick<Shards, 'all'>, key: ServiceKey, count: number): Promise<KeptMail[]> {
  const found = (await Promise.all(all.map(({ db }) => findLatestMails(db, count)))).flat();
  const mails = found.toSorted((one, other) => other.inserted_at.getTime() - one.inserted_at.getTime());
  return mails.slice(0, count).map((mail) => {
    const { id, recipient, subject, inserted_at } = mail;
    return { id, recipient, subject, body: bodyOf(key, mail), inserted_at };
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
