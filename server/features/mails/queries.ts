import { fetchPage, type ListSource, type Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Queryable } from '../../platform/database.ts';
import { anyRow, type Sql, sql } from '../../platform/sql.ts';
import type { MailState } from './schemas.ts';
import { staysHere } from '../../shards/queries.ts';

export interface MailKey {
  readonly company_id: string;
  readonly id: string;
}

export interface MailText {
  readonly id: string;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
}

/**
 * A mail as it is stored. While it has a link that grants access to an account, its full text is encrypted next to
 * the text without the link.
 */
export interface MailRow extends MailText, MailKey {
  readonly sealed_body: Buffer | null;
  /** Null for an email to the team. */
  readonly kind: string | null;
  /** The invoice or credit note that it carries. */
  readonly invoice_id: string | null;
}

const columns = 'company_id, id, recipient, subject, body, sealed_body, kind, invoice_id';

const invoiceNumber = `(SELECT i.full_number FROM invoices i WHERE i.company_id = mails.company_id AND i.id = mails.invoice_id)
  AS invoice_number`;

export async function insertMails(db: Queryable, companyId: string, mails: readonly MailText[]): Promise<void> {
  await db.query(
    `INSERT INTO mails (id, company_id, recipient, subject, body)
     SELECT id, $1, recipient, subject, body FROM json_to_recordset($2::json)
       AS m (id uuid, recipient text, subject text, body text)`,
    [companyId, JSON.stringify(mails)],
  );
}

/** An email that a visitor of a page caused, most of them with a link. It counts neither as an email to the team nor as a notice. */
const requestedLink = 'requested_link';
const isNotice = `kind IS NOT NULL AND kind <> '${requestedLink}'`;

/**
 * When an email to a customer is first sent. A sandbox sends only to members of its team, since the addresses of its customers may be
 * those of real people: null keeps all others. It is decided here, so that no worker, also of the release before, sends them.
 */
const firstAttemptAt = (recipientKey: string): string =>
  `(SELECT now() FROM companies c WHERE c.id = $1 AND (c.mode = 'live' OR ${anyRow(
    `team_members m WHERE m.company_id = $1 AND m.email_key = ${recipientKey} AND m.status = 'active'`,
  )}))`;

export async function insertLinkMail(
  db: Queryable,
  mail: Omit<MailRow, 'kind' | 'invoice_id'> & {
    readonly recipient_key: string;
    readonly link_for: string;
    readonly link_expires_at: Date;
  },
  toCustomer: boolean,
): Promise<void> {
  await db.query(
    `INSERT INTO mails (company_id, id, recipient, subject, body, sealed_body, link_for, link_expires_at
       ${toCustomer ? ', kind, occasion, customer_id, object_id, next_attempt_at' : ''})
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8
       ${toCustomer ? `, '${requestedLink}', 'link ' || $2::uuid, $7, $7, ${firstAttemptAt('$9')}` : ''})`,
    [
      mail.company_id,
      mail.id,
      mail.recipient,
      mail.subject,
      mail.body,
      mail.sealed_body,
      mail.link_for,
      mail.link_expires_at,
      ...(toCustomer ? [mail.recipient_key] : []),
    ],
  );
}

export type RequestedMail = MailText & {
  readonly recipient_key: string;
  /** `answer`: to the visitor. `notice`: to the merchant. */
  readonly as: 'answer' | 'notice';
  readonly about: string;
};

export async function insertRequestedMail(db: Queryable, companyId: string, mail: RequestedMail): Promise<void> {
  await db.query(
    `INSERT INTO mails (company_id, id, recipient, subject, body, kind, occasion, customer_id, object_id, next_attempt_at)
     VALUES ($1, $2, $3, $4, $5, '${requestedLink}', $8 || ' ' || $6::uuid, $6, $6, ${firstAttemptAt('$7')})`,
    [companyId, mail.id, mail.recipient, mail.subject, mail.body, mail.about, mail.recipient_key, mail.as],
  );
}

export interface CustomerMailRow extends MailRow {
  readonly recipient_key: string;
  readonly kind: string;
  readonly occasion: string;
  readonly customer_id: string;
  readonly object_id: string;
}

/**
 * Returns false if there is an email for this occasion already. The links in it are valid longer than it is retried. The email of
 * a history has the time of its occasion; the clock of a sandbox may be ahead.
 */
export async function insertCustomerMail(
  db: Queryable,
  mail: CustomerMailRow,
  at: Date,
  linkDays: number,
): Promise<boolean> {
  const rows = await db.query(
    `INSERT INTO mails (company_id, id, recipient, subject, body, sealed_body, link_for, link_expires_at,
       kind, occasion, customer_id, object_id, inserted_at, next_attempt_at, invoice_id)
     VALUES ($1, $2, $3, $4, $5, $6, $2, now() + $11 * interval '1 day', $7, $8, $9, $10, least(now(), $12),
       ${firstAttemptAt('$13')}, $14)
     ON CONFLICT (company_id, occasion) WHERE occasion IS NOT NULL DO NOTHING RETURNING 1`,
    [
      mail.company_id,
      mail.id,
      mail.recipient,
      mail.subject,
      mail.body,
      mail.sealed_body,
      mail.kind,
      mail.occasion,
      mail.customer_id,
      mail.object_id,
      linkDays,
      at,
      mail.recipient_key,
      mail.invoice_id,
    ],
  );
  return rows.length > 0;
}

export async function findOccasions(db: Queryable, companyId: string, occasions: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ occasion: string }>(
    'SELECT occasion FROM mails WHERE company_id = $1 AND occasion = ANY($2::text[])',
    [companyId, occasions],
  );
  return rows.map(({ occasion }) => occasion);
}

export async function countCustomerMailsOfDay(db: Queryable, companyId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM mails
     WHERE company_id = $1 AND ${isNotice} AND inserted_at > now() - interval '1 day'`,
    [companyId],
  );
  return row?.count ?? 0;
}

export interface ListedMail {
  readonly id: string;
  readonly kind: string;
  readonly recipient: string;
  readonly subject: string;
  readonly customer_id: string;
  readonly object_id: string;
  readonly attempts: number;
  readonly next_attempt_at: Date | null;
  readonly sent_at: Date | null;
  readonly last_error: string | null;
  readonly invoice_id: string | null;
  /** Null until the document has its number. */
  readonly invoice_number: string | null;
}

const listed: ListSource = {
  table: 'mails',
  objectType: 'email',
  columns: `id, kind, recipient, subject, customer_id, object_id, attempts, next_attempt_at, sent_at, last_error, invoice_id,
    ${invoiceNumber}`,
  sorts: {},
};

const notices = sql`kind IS NOT NULL AND kind <> ${requestedLink}`;

const inState: Readonly<Record<MailState, Sql>> = {
  sent: sql`sent_at IS NOT NULL`,
  waiting: sql`sent_at IS NULL AND next_attempt_at IS NOT NULL`,
  failed: sql`sent_at IS NULL AND next_attempt_at IS NULL AND last_error IS NOT NULL`,
  kept: sql`sent_at IS NULL AND next_attempt_at IS NULL AND last_error IS NULL`,
};

export async function listCustomerMails(
  db: Queryable,
  companyId: string,
  filters: { readonly customer_id?: string; readonly state?: MailState },
  page: PageRequest,
): Promise<Page<ListedMail>> {
  const where: Sql[] = [notices];
  if (filters.customer_id) where.push(sql`customer_id = ${filters.customer_id}::uuid`);
  if (filters.state) where.push(inState[filters.state]);
  return fetchPage(db, companyId, listed, page, where);
}

const noLink = 'sealed_body = NULL, link_for = NULL, link_expires_at = NULL';

/** A mail without its link is not sent. One that is kept has no error: it was never to be sent. */
const dropLink = `${noLink}, next_attempt_at = NULL, last_error = CASE WHEN next_attempt_at IS NULL THEN last_error
  ELSE COALESCE(last_error, 'the link opens nothing any more') END`;

export async function dropLinksFor(db: Queryable, id: string): Promise<void> {
  await db.query(`UPDATE mails SET ${dropLink} WHERE link_for = $1`, [id]);
}

export async function dropExpiredLinks(db: Queryable): Promise<number> {
  const rows = await db.query(
    `UPDATE mails SET ${dropLink} WHERE link_expires_at <= now() AND ${staysHere('company_id')} RETURNING 1`,
  );
  return rows.length;
}

export async function countMailsOfDay(db: Queryable, companyId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM mails
     WHERE company_id = $1 AND kind IS NULL AND inserted_at > now() - interval '1 day'`,
    [companyId],
  );
  return row?.count ?? 0;
}

/** How long an email waits for the number of its document, which usually comes within seconds. */
const documentMinutes = 5;
const hasDocument = `(invoice_id IS NULL OR inserted_at < now() - interval '${documentMinutes} minutes'
  OR ${anyRow('invoices i WHERE i.company_id = mails.company_id AND i.id = mails.invoice_id AND i.number IS NOT NULL')})`;

/** Claims due mails and postpones their next attempt, so that a mail whose worker dies is claimed again. */
export async function claimDueMails(
  db: Queryable,
  batch: number,
  delaysSeconds: readonly number[],
  toCustomers: boolean,
): Promise<(MailRow & { readonly attempts: number })[]> {
  return db.query(
    `UPDATE mails SET attempts = attempts + 1,
       next_attempt_at = now() + ($2::integer[])[least(attempts + 1, array_length($2::integer[], 1))] * interval '1 s'
     WHERE (company_id, id) IN (SELECT company_id, id FROM mails WHERE next_attempt_at <= now() AND ${staysHere('company_id')}
       AND (link_expires_at IS NULL OR link_expires_at > now()) AND kind IS ${toCustomers ? 'NOT ' : ''}NULL
       AND ${hasDocument}
       ORDER BY next_attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED)
     RETURNING ${columns}, attempts`,
    [batch, delaysSeconds],
  );
}

/**
 * Its text is no longer needed, and would be most of what the table holds. Keeps its document only if it carried it. Returns false if
 * the mail is not on this shard any more.
 */
export async function markSent(db: Queryable, { company_id, id }: MailKey, carried: boolean): Promise<boolean> {
  const rows = await db.query(
    `UPDATE mails SET sent_at = now(), next_attempt_at = NULL, last_error = NULL, body = '', ${noLink},
       invoice_id = CASE WHEN $3 THEN invoice_id END
     WHERE company_id = $1 AND id = $2 RETURNING 1`,
    [company_id, id, carried],
  );
  return rows.length > 0;
}

/** Returns false if the mail is not on this shard any more. */
export async function markFailed(
  db: Queryable,
  { company_id, id }: MailKey,
  error: string,
  givenUp: boolean,
): Promise<boolean> {
  const rows = await db.query(
    `UPDATE mails SET last_error = $3, next_attempt_at = CASE WHEN $4 THEN NULL ELSE next_attempt_at END
     WHERE company_id = $1 AND id = $2 RETURNING 1`,
    [company_id, id, error, givenUp],
  );
  return rows.length > 0;
}

export async function deleteOldMails(db: Queryable, batch: number, keptDays: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM mails WHERE (company_id, id) IN (
       SELECT company_id, id FROM mails WHERE inserted_at < now() - $2 * interval '1 day' AND ${staysHere('company_id')}
       ORDER BY inserted_at LIMIT $1
     ) RETURNING 1`,
    [batch, keptDays],
  );
  return rows.length;
}

export async function findLatestMails(
  db: Queryable,
  count: number,
): Promise<(MailRow & { readonly inserted_at: Date; readonly invoice_number: string | null })[]> {
  return db.query(
    `SELECT ${columns}, inserted_at, ${invoiceNumber} FROM mails ORDER BY inserted_at DESC, id DESC LIMIT $1`,
    [count],
  );
}

/** Counts the mails that are due, up to a limit, and finds the oldest that is not sent and will be tried again. */
export async function countDueMails(db: Queryable, countMax: number): Promise<{ due: number; oldestSeconds: number }> {
  const [row] = await db.query<{ due: number; oldest: number | null }>(
    `SELECT count(*) FILTER (WHERE next_attempt_at <= now())::integer AS due,
       extract(epoch FROM now() - min(inserted_at))::float8 AS oldest
     FROM (SELECT next_attempt_at, inserted_at FROM mails WHERE next_attempt_at IS NOT NULL
           ORDER BY next_attempt_at LIMIT $1) first`,
    [countMax],
  );
  return { due: row?.due ?? 0, oldestSeconds: row?.oldest ?? 0 };
}
