import { limits } from '../../limits.ts';
import type { Queryable } from '../../platform/database.ts';
import type { Logger } from '../../platform/log.ts';
import { counter } from '../../platform/metrics.ts';
import type { Mailer } from '../../platform/mail/mailer.ts';
import { claimDueMails, deleteOldMails, dropExpiredLinks, markFailed, markSent } from './queries.ts';
import { bodyOf } from './service.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';

export async function removeExpiredLinks(db: Queryable): Promise<number> {
  return dropExpiredLinks(db);
}

const count = counter('svc_mails_total');

/** The delays between attempts. After the last attempt the mail is not sent any more, but stays visible. */
const retryDelaysSeconds = [1, 5, 30, 120, 480, 1_440].map((minutes) => minutes * 60);

/** Sends one batch of due mails. Without a mailer, mails are only stored and shown. */
export async function sendDueMails(
  db: Queryable,
  mailer: Mailer | undefined,
  key: ServiceKey,
  log: Logger,
  batch: number,
): Promise<number> {
  if (!mailer) return 0;
  const due = await claimDueMails(db, batch, retryDelaysSeconds);
  for (const mail of due) {
    const { id, recipient, subject, attempts } = mail;
    try {
      await mailer.send({ id, recipient, subject, body: bodyOf(key, mail) });
      await markSent(db, mail);
      count({ result: 'sent' });
    } catch (error) {
      log.warn({ err: error, mail_id: id }, 'failed to send an email; it will be retried');
      const message = error instanceof Error ? error.message : String(error);
      const isLast = attempts >= retryDelaysSeconds.length;
      count({ result: isLast ? 'given_up' : 'failed' });
      await markFailed(db, mail, message, isLast);
    }
  }
  return due.length;
}

export function forgetOldMails(db: Queryable, batch: number): Promise<number> {
  return deleteOldMails(db, batch, limits.eventRetentionDays);
}
