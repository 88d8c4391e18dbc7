import { limits } from '../../limits.ts';
import type { Queryable } from '../../platform/database.ts';
import type { Logger } from '../../platform/log.ts';
import type { Mailer } from '../../platform/mail/mailer.ts';
import { claimDueMails, deleteOldMails, markFailed, markSent } from './queries.ts';

/** Seconds until the next attempt; after the last of them the mail is given up, and stays to be seen. */
const retryDelays = [60, 300, 1_800, 7_200, 28_800, 86_400];

/** One batch of what is due. Without a mailer mails are kept and shown instead. */
export async function sendDueMails(
  db: Queryable,
  mailer: Mailer | undefined,
  log: Logger,
  batch: number,
): Promise<number> {
  if (!mailer) return 0;
  const due = await claimDueMails(db, batch, retryDelays);
  for (const { company_id, id, attempts, ...mail } of due) {
    const key = { company_id, id };
    try {
      await mailer.send({ ...mail, id });
      await markSent(db, key);
    } catch (error) {
      log.warn({ err: error, mail_id: id }, 'a mail could not be sent; it will be tried again');
      await markFailed(db, key, error instanceof Error ? error.message : String(error), attempts >= retryDelays.length);
    }
  }
  return due.length;
}

export function forgetOldMails(db: Queryable, batch: number): Promise<number> {
  return deleteOldMails(db, batch, limits.eventRetentionDays);
}
