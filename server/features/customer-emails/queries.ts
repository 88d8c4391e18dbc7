import { type Company, type CompanyRow, toCompany } from '../../company.ts';
import type { Queryable } from '../../platform/database.ts';
import { staysHere } from '../../shards/queries.ts';

/** Emails are written unless the merchant turns them off. */
const sends = `coalesce((p.emails ->> 'enabled')::boolean, true)`;
const companiesWithProfile = 'companies c LEFT JOIN company_profiles p ON p.company_id = c.id';

/** The companies that send emails to customers. */
export async function findSendingCompanies(db: Queryable, shard: string): Promise<Company[]> {
  const rows = await db.query<CompanyRow>(
    `SELECT c.id, c.account_id, c.name, c.mode, c.api_version, c.clock_offset_ms, c.processor, c.locale
     FROM ${companiesWithProfile} WHERE ${sends} AND ${staysHere('c.id')}`,
  );
  return rows.map((row) => toCompany(row, shard));
}

export interface Cursor {
  readonly company_id: string;
  readonly after_id: string;
  readonly cards_checked_on: string | null;
}

/** Companies that have begun to send emails start with the events from now on. Those that have stopped lose their cursor. */
export async function syncCursors(
  db: Queryable,
  companies: readonly { readonly company_id: string; readonly after_id: string }[],
): Promise<Cursor[]> {
  const ids = companies.map(({ company_id }) => company_id);
  const firstIds = companies.map(({ after_id }) => after_id);
  // Not by the list, which lacks companies that were moving when it was read.
  await db.query(
    `DELETE FROM email_cursors k WHERE ${staysHere('k.company_id')} AND EXISTS (
       SELECT 1 FROM ${companiesWithProfile} WHERE c.id = k.company_id AND NOT ${sends})`,
  );
  await db.query(
    `INSERT INTO email_cursors (company_id, after_id) SELECT * FROM unnest($1::uuid[], $2::uuid[]) ON CONFLICT DO NOTHING`,
    [ids, firstIds],
  );
  return db.query<Cursor>(
    'SELECT company_id, after_id, cards_checked_on::text FROM email_cursors WHERE company_id = ANY($1::uuid[])',
    [ids],
  );
}

export interface FoundEvent {
  readonly company_id: string;
  readonly id: string;
  readonly inserted_at: Date;
  /** No transaction that is older can still add an event before this one. */
  readonly complete: boolean;
}

/** Limits which partitions are read: an event is inserted at most this long after its cursor was. */
const lateMinutesMax = 60;
const passedMax = 20_000;

/** Finds events after a place in each company, in the order of their ids. */
export async function findEventsAfter(
  db: Queryable,
  places: readonly { readonly company_id: string; readonly after_id: string }[],
  types: readonly string[],
  { count, openSeconds }: { readonly count: number; readonly openSeconds: number },
): Promise<FoundEvent[]> {
  return db.query<FoundEvent>(
    `SELECT e.company_id, e.id, e.inserted_at, e.inserted_at < now() - $5 * interval '1 s' AS complete
     FROM unnest($1::uuid[], $2::uuid[]) AS place (company_id, after_id)
     JOIN email_cursors c ON c.company_id = place.company_id
     CROSS JOIN LATERAL (
       SELECT company_id, id, inserted_at FROM events
       WHERE company_id = place.company_id AND id > place.after_id AND type = ANY($3::text[])
         AND inserted_at >= c.after_at - $6 * interval '1 minute'
       ORDER BY id LIMIT $4
     ) e ORDER BY e.company_id, e.id`,
    [
      places.map(({ company_id }) => company_id),
      places.map(({ after_id }) => after_id),
      types,
      count,
      openSeconds,
      lateMinutesMax,
    ],
  );
}

export interface EventToMail {
  readonly id: string;
  readonly type: string;
  readonly request_id: string | null;
  readonly object: object;
}

export async function readEvents(
  db: Queryable,
  companyId: string,
  events: readonly Pick<FoundEvent, 'id' | 'inserted_at'>[],
): Promise<EventToMail[]> {
  return db.query<EventToMail>(
    `SELECT id, type, request_id, object FROM events
     WHERE company_id = $1 AND id = ANY($2::uuid[]) AND inserted_at BETWEEN $3 AND $4 ORDER BY id`,
    [
      companyId,
      events.map(({ id }) => id),
      new Date(Math.min(...events.map(({ inserted_at }) => inserted_at.getTime())) - 1),
      new Date(Math.max(...events.map(({ inserted_at }) => inserted_at.getTime())) + 1),
    ],
  );
}

/** The events of these types between two ids, oldest first. */
export async function findEventsBetween(
  db: Queryable,
  companyId: string,
  [first, end]: readonly [string, string],
  types: readonly string[],
): Promise<EventToMail[]> {
  return db.query<EventToMail>(
    `SELECT id, type, request_id, object FROM events
     WHERE company_id = $1 AND id >= $2 AND id < $3 AND type = ANY($4::text[]) ORDER BY id`,
    [companyId, first, end, types],
  );
}

export async function moveCursor(
  db: Queryable,
  companyId: string,
  { id, inserted_at }: Pick<FoundEvent, 'id' | 'inserted_at'>,
): Promise<void> {
  await db.query(
    'UPDATE email_cursors SET after_id = $2, after_at = greatest(after_at, $3) WHERE company_id = $1 AND after_id < $2',
    [companyId, id, inserted_at],
  );
}

/**
 * Moves the cursor past events of every type, so that those without an email are not read again and again: to the last one
 * before which no event can appear any more.
 */
export async function passAllComplete(db: Queryable, companyId: string, openSeconds: number): Promise<void> {
  await db.query(
    `WITH following AS MATERIALIZED (
       SELECT e.id, e.inserted_at, e.inserted_at < now() - $2 * interval '1 s' AS complete
       FROM email_cursors c JOIN events e ON e.company_id = c.company_id AND e.id > c.after_id
         AND e.inserted_at >= c.after_at - $3 * interval '1 minute'
       WHERE c.company_id = $1 ORDER BY e.id LIMIT $4
     ), last AS (
       SELECT id, inserted_at FROM following
       WHERE id < coalesce((SELECT id FROM following WHERE NOT complete ORDER BY id LIMIT 1), 'ffffffff-ffff-ffff-ffff-ffffffffffff')
       ORDER BY id DESC LIMIT 1
     )
     UPDATE email_cursors c SET after_id = last.id, after_at = greatest(c.after_at, last.inserted_at)
     FROM last WHERE c.company_id = $1 AND c.after_id < last.id`,
    [companyId, openSeconds, lateMinutesMax, passedMax],
  );
}

export async function markCardsChecked(db: Queryable, companyId: string, day: string): Promise<void> {
  await db.query('UPDATE email_cursors SET cards_checked_on = $2 WHERE company_id = $1', [companyId, day]);
}

export async function hasOptedOut(db: Queryable, companyId: string, customerId: string): Promise<boolean> {
  const rows = await db.query('SELECT 1 FROM email_opt_outs WHERE company_id = $1 AND customer_id = $2', [
    companyId,
    customerId,
  ]);
  return rows.length > 0;
}

/** Does nothing if there is no such customer. */
export async function insertOptOut(db: Queryable, companyId: string, customerId: string): Promise<void> {
  await db.query(
    `INSERT INTO email_opt_outs (company_id, customer_id)
     SELECT company_id, id FROM customers WHERE company_id = $1 AND id = $2 ON CONFLICT DO NOTHING`,
    [companyId, customerId],
  );
}

export interface ExpiringCard {
  readonly id: string;
  readonly customer_id: string;
  readonly card_brand: string;
  readonly card_last_four: string;
  readonly subscription_id: string;
}

/** The cards of running subscriptions that expire in this month, a page at a time. */
export async function findExpiringCards(
  db: Queryable,
  companyId: string,
  { year, month }: { readonly year: number; readonly month: number },
  afterId: string,
  count: number,
): Promise<ExpiringCard[]> {
  return db.query<ExpiringCard>(
    `SELECT DISTINCT ON (p.id) p.id, p.customer_id, p.brand AS card_brand, p.last4 AS card_last_four, s.id AS subscription_id
     FROM subscriptions s JOIN payment_methods p ON p.company_id = s.company_id AND p.id = s.payment_method_id
     WHERE s.company_id = $1 AND s.status IN ('active', 'past_due') AND p.exp_year = $2 AND p.exp_month = $3
       AND p.deleted_at IS NULL AND p.id > $4
     ORDER BY p.id, s.id LIMIT $5`,
    [companyId, year, month, afterId, count],
  );
}

/**
 * Subscriptions that renew in a span of time and have no reminder yet, a page at a time, without those whose customer gets none. The
 * due time of an active subscription is that of its next charge.
 */
export async function findRenewals(
  db: Queryable,
  companyId: string,
  { from, until }: { readonly from: Date; readonly until: Date },
  afterId: string,
  count: number,
): Promise<{ id: string; due_at: Date }[]> {
  return db.query(
    `SELECT id, due_at FROM subscriptions s
     WHERE company_id = $1 AND due_at > $2 AND due_at <= $3 AND status = 'active' AND current_cycle > 0
       AND (amount > 0 OR scheduled_change IS NOT NULL OR renewal_items IS NOT NULL) AND id > $4
       AND NOT EXISTS (SELECT 1 FROM email_opt_outs o WHERE o.company_id = s.company_id AND o.customer_id = s.customer_id)
       AND EXISTS (SELECT 1 FROM customers c WHERE c.company_id = s.company_id AND c.id = s.customer_id AND c.deleted_at IS NULL)
       AND NOT EXISTS (SELECT 1 FROM mails m WHERE m.company_id = s.company_id
         AND m.occasion = 'upcoming ' || s.id || ' ' || to_char(s.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'))
     ORDER BY id LIMIT $5`,
    [companyId, from, until, afterId, count],
  );
}
