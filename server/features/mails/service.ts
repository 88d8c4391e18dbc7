import type { Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { insertMails } from './queries.ts';

export { countMailsOfDay, findLatestMails, type KeptMail } from './queries.ts';

export interface NewMail {
  readonly recipient: string;
  readonly subject: string;
  /** Plain text. */
  readonly body: string;
}

/** A mail is a row of the transaction it speaks of; a worker sends it. */
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
