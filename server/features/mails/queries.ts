import type { Queryable } from '../../platform/database.ts';

export interface MailKey {
  readonly company_id: string;
  readonly id: string;
}

export interface MailRow {
  readonly id: string;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
}

export async function insertMails(db: Queryable, companyId: string, mails: readonly MailRow[]): Promise<void> {
  await db.query(
    `INSERT INTO mails (id, company_id, recipient, subject, body)
     SELECT id, $1, recipient, subject, body FROM json_to_recordset($2::json)
       AS m (id uuid, recipient text, subject text, body text)`,
    [companyId, JSON.stringify(mails)],
  );
}

export async function countMailsOfDay(db: Queryable, companyId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM mails WHERE company_id = $1 AND inserted_at > now() - interval '1 day'`,
    [companyId],
  );
  return row?.count ?? 0;
}

/** Takes what is due and puts off its next attempt: whoever dies while sending leaves it to be found again. */
export async function claimDueMails(
  db: Queryable,
  batch: number,
  delaysSeconds: readonly number[],
): Promise<(MailRow & MailKey & { readonly attempts: number })[]> {
  return db.query(
    `UPDATE mails SET attempts = attempts + 1,
       next_attempt_at = now() + ($2::integer[])[least(attempts + 1, array_length($2::integer[], 1))] * interval '1 s'
     WHERE (company_id, id) IN (SELECT company_id, id FROM mails WHERE next_attempt_at <= now()
       ORDER BY next_attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED)
     RETURNING company_id, id, recipient, subject, body, attempts`,
    [batch, delaysSeconds],
  );
}

export async function markSent(db: Queryable, { company_id, id }: MailKey): Promise<void> {
  await db.query(
    `UPDATE mails SET sent_at = now(), next_attempt_at = NULL, last_error = NULL WHERE company_id = $1 AND id = $2`,
    [company_id, id],
  );
}

export async function markFailed(
  db: Queryable,
  { company_id, id }: MailKey,
  error: string,
  givenUp: boolean,
): Promise<void> {
  await db.query(
    `UPDATE mails SET last_error = $3, next_attempt_at = CASE WHEN $4 THEN NULL ELSE next_attempt_at END
     WHERE company_id = $1 AND id = $2`,
    [company_id, id, error, givenUp],
  );
}

export async function deleteOldMails(db: Queryable, batch: number, keptDays: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM mails WHERE (company_id, id) IN (
       SELECT company_id, id FROM mails WHERE inserted_at < now() - $2 * interval '1 day' ORDER BY inserted_at LIMIT $1
     ) RETURNING 1`,
    [batch, keptDays],
  );
  return rows.length;
}

export interface KeptMail extends MailRow {
  readonly inserted_at: Date;
}

export async function findLatestMails(db: Queryable, count: number): Promise<KeptMail[]> {
  return db.query<KeptMail>(
    'SELECT id, recipient, subject, body, inserted_at FROM mails ORDER BY inserted_at DESC, id DESC LIMIT $1',
    [count],
  );
}
