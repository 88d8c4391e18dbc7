import type { Queryable } from '../../platform/database.ts';
import { insist } from '../../platform/insist.ts';
import type { Logger } from '../../platform/log.ts';
import { counter } from '../../platform/metrics.ts';
import { type MailAttachment, type Mailer, RefusedRecipientError } from '../../platform/mail/mailer.ts';
import { claimDueMails, deleteOldMails, dropExpiredLinks, type MailRow, markFailed, markSent } from './queries.ts';
import type { DocumentOf } from '../invoices/service.ts';
import { contentOf } from './service.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import { type MovedTo, recordWhereItIs } from '../../shards/follow.ts';

export async function removeExpiredLinks(db: Queryable): Promise<number> {
  return dropExpiredLinks(db);
}

const count = counter('svc_mails_total');

/** The delays between attempts. After the last attempt the mail is not sent any more, but stays visible. */
export const retryDelaysSeconds = [1, 5, 30, 120, 480, 1_440].map((minutes) => minutes * 60);

/** Connections to the mail server at once. */
const atOnce = 5;

/** An email whose document cannot be made is sent without it in the third attempt. */
const attemptsWithDocument = 2;

interface Sending {
  readonly db: Queryable;
  readonly mailer: Mailer;
  readonly key: ServiceKey;
  readonly log: Logger;
  readonly movedTo: MovedTo<Queryable> | undefined;
  readonly documentOf: DocumentOf | undefined;
}

/**
 * Sends one batch of due mails, to customers or to teams: each has its own turn, so that receipts delay no invitation. Without a
 * mailer, mails are only stored and shown.
 */
export async function sendDueMails(
  db: Queryable,
  mailer: Mailer | undefined,
  key: ServiceKey,
  log: Logger,
  batch: number,
  {
    toCustomers = false,
    movedTo,
    documentOf,
  }: { toCustomers?: boolean; movedTo?: MovedTo<Queryable>; documentOf?: DocumentOf } = {},
): Promise<number> {
  if (!mailer) return 0;
  const due = await claimDueMails(db, batch, retryDelaysSeconds, toCustomers);
  const queue = due.values();
  const sendNext = async (): Promise<void> => {
    for (const mail of queue) await sendOne({ db, mailer, key, log, movedTo, documentOf }, mail);
  };
  await Promise.all(Array.from({ length: atOnce }, sendNext));
  return due.length;
}

type ClaimedMail = MailRow & { readonly attempts: number };

async function sendOne(sending: Sending, mail: ClaimedMail): Promise<void> {
  const { mailer, key, log } = sending;
  const { id, recipient, subject, attempts } = mail;
  let attachment: MailAttachment | undefined;
  try {
    attachment = await attachmentOf(sending, mail);
    await mailer.send({ id, recipient, subject, ...contentOf(key, mail), attachment });
  } catch (error) {
    // The server will never accept this address, so a retry would only hurt the reputation of the sender.
    const isLast = error instanceof RefusedRecipientError || attempts >= retryDelaysSeconds.length;
    log.warn(
      { err: error, mail_id: id },
      `failed to send an email; ${isLast ? 'it is given up' : 'it will be retried'}`,
    );
    const message = error instanceof Error ? error.message : String(error);
    count({ result: isLast ? 'given_up' : 'failed' });
    await record(sending, mail, (db) => markFailed(db, mail, message, isLast));
    return;
  }
  count({ result: 'sent' });
  await record(sending, mail, (db) => markSent(db, mail, attachment !== undefined));
}

async function attachmentOf(
  { documentOf, log }: Sending,
  { id, company_id, invoice_id, attempts }: ClaimedMail,
): Promise<MailAttachment | undefined> {
  if (invoice_id === null || !documentOf) return undefined;
  try {
    return await documentOf(company_id, invoice_id);
  } catch (error) {
    if (attempts <= attemptsWithDocument) throw error;
    log.error({ err: error, mail_id: id }, 'the document of an email could not be made; it is sent without it');
    return undefined;
  }
}

/** The company may have moved to another shard meanwhile. A result that is lost is a mail that is sent again. */
async function record(
  { db, movedTo, log }: Sending,
  { company_id, id }: ClaimedMail,
  write: (db: Queryable) => Promise<boolean>,
): Promise<void> {
  await insist(() => recordWhereItIs(db, movedTo, company_id, write)).catch((error: unknown) =>
    log.error({ err: error, mail_id: id }, 'the result of an email was not recorded; the email may be sent again'),
  );
}

/** Job: deletes a batch of old mails; 0 days keep them for ever. */
export async function forgetOldMails(db: Queryable, batch: number, keptDays: number): Promise<number> {
  return keptDays === 0 ? 0 : deleteOldMails(db, batch, keptDays);
}
