import type { CompanyRow } from '../../company.ts';
import type { Queryable } from '../../platform/database.ts';
import { rowsOf } from '../../platform/rows.ts';
import { staysHere } from '../../shards/queries.ts';

export interface PriceChangeRow {
  readonly company_id: string;
  readonly id: string;
  readonly member_id: string | null;
  readonly request_id: string;
  readonly plan_id: string;
  readonly to_plan_id: string;
  readonly chosen: readonly string[] | null;
  readonly state: 'running' | 'paused' | 'undone';
  readonly after_id: string | null;
  readonly collected: boolean;
  readonly next_step_at: Date | null;
}

const columns =
  'p.company_id, p.id, p.member_id, p.request_id, p.plan_id, p.to_plan_id, p.chosen, p.state, p.after_id, p.collected, p.next_step_at';

/** The subscribers of a plan. One in dunning is one too. */
const subscribers = `s.company_id = $1 AND s.plan_id = $2 AND ($3::uuid[] IS NULL OR s.id = ANY($3))
  AND s.status IN ('active', 'paused', 'past_due')`;

/** The same rules as when the change is scheduled. */
const kindOf = `CASE WHEN s.status = 'past_due' THEN 'past_due' WHEN s.scheduled_change IS NOT NULL THEN 'change_scheduled'
  WHEN s.renewal_ended_at IS NOT NULL OR (s.billing_cycles > 0 AND s.current_cycle >= s.billing_cycles)
    OR coalesce(s.current_period_end, s.due_at, s.start_at) >= s.end_date::timestamp AT TIME ZONE 'UTC' THEN 'not_renewing' END`;

export interface ExpectedPart {
  readonly kind: 'past_due' | 'change_scheduled' | 'not_renewing' | null;
  readonly count: number;
  readonly seats: number;
  readonly amount: number;
  readonly first: Date | null;
  readonly last: Date | null;
}

export async function countExpected(
  db: Queryable,
  companyId: string,
  planId: string,
  chosen: readonly string[] | null,
): Promise<ExpectedPart[]> {
  return db.query<ExpectedPart>(
    `SELECT ${kindOf} AS kind, count(*)::integer AS count, sum(s.quantity)::bigint AS seats, sum(s.amount)::bigint AS amount,
       min(s.due_at) FILTER (WHERE s.status = 'active') AS first, max(s.due_at) FILTER (WHERE s.status = 'active') AS last
     FROM subscriptions s WHERE ${subscribers} GROUP BY 1 ORDER BY 1`,
    [companyId, planId, chosen],
  );
}

export async function countChosen(
  db: Queryable,
  companyId: string,
  planId: string,
  ids: readonly string[],
): Promise<number> {
  const rows = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM subscriptions s
     WHERE s.company_id = $1 AND s.plan_id = $2 AND s.id = ANY($3::uuid[]) AND s.status <> 'pending'`,
    [companyId, planId, ids],
  );
  return rows[0]?.count ?? 0;
}

export async function insertPriceChange(
  db: Queryable,
  row: Pick<PriceChangeRow, 'company_id' | 'id' | 'member_id' | 'request_id' | 'plan_id' | 'to_plan_id' | 'chosen'>,
): Promise<void> {
  await db.query(
    `INSERT INTO price_changes (company_id, id, member_id, request_id, plan_id, to_plan_id, chosen)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [row.company_id, row.id, row.member_id, row.request_id, row.plan_id, row.to_plan_id, row.chosen],
  );
}

const counted = `
  LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE m.state = 'waiting')::integer AS waiting,
      count(*) FILTER (WHERE m.state = 'refused')::integer AS refused,
      count(*) FILTER (WHERE m.state = 'undone')::integer AS undone,
      count(*) FILTER (WHERE m.state = 'scheduled' AND c.id IS NOT NULL)::integer AS changed,
      count(*) FILTER (WHERE m.state = 'scheduled' AND c.id IS NULL AND s.status IN ('active', 'paused', 'past_due')
        AND (s.scheduled_change ->> 'id')::uuid = m.scheduled_id)::integer AS scheduled,
      count(*) FILTER (WHERE m.state = 'scheduled')::integer AS begun
    FROM price_change_subscriptions m
    JOIN subscriptions s ON s.company_id = m.company_id AND s.id = m.subscription_id
    LEFT JOIN subscription_changes c ON c.company_id = m.company_id AND c.id = m.scheduled_id
    WHERE m.company_id = p.company_id AND m.change_id = p.id) n ON true`;

export interface CountedPriceChange extends PriceChangeRow {
  readonly waiting: number;
  readonly refused: number;
  readonly undone: number;
  readonly changed: number;
  readonly scheduled: number;
  readonly begun: number;
}

export async function findPriceChange(
  db: Queryable,
  companyId: string,
  id: string,
): Promise<CountedPriceChange | undefined> {
  const [row] = await db.query<CountedPriceChange>(
    `SELECT ${columns}, n.* FROM price_changes p ${counted} WHERE p.company_id = $1 AND p.id = $2`,
    [companyId, id],
  );
  return row;
}

export async function findPriceChanges(
  db: Queryable,
  companyId: string,
  planId: string | null,
  count: number,
): Promise<CountedPriceChange[]> {
  return db.query<CountedPriceChange>(
    `SELECT p.*, n.* FROM (
       SELECT ${columns} FROM price_changes p WHERE p.company_id = $1 AND ($2::uuid IS NULL OR p.plan_id = $2)
       ORDER BY p.id DESC LIMIT $3) p ${counted} ORDER BY p.id DESC`,
    [companyId, planId, count],
  );
}

export interface Exception {
  readonly subscription_id: string;
  readonly reason: string;
}

export async function findExceptions(
  db: Queryable,
  companyId: string,
  id: string,
  count: number,
): Promise<Exception[]> {
  return db.query<Exception>(
    `SELECT subscription_id, reason FROM price_change_subscriptions
     WHERE company_id = $1 AND change_id = $2 AND state = 'refused' ORDER BY subscription_id LIMIT $3`,
    [companyId, id, count],
  );
}

/** Keeps the worker and others from it until the transaction ends. */
export async function lockPriceChange(
  db: Queryable,
  companyId: string,
  id: string,
): Promise<PriceChangeRow | undefined> {
  const [row] = await db.query<PriceChangeRow>(
    `SELECT ${columns} FROM price_changes p WHERE p.company_id = $1 AND p.id = $2 FOR NO KEY UPDATE`,
    [companyId, id],
  );
  return row;
}

export async function setState(
  db: Queryable,
  { company_id, id }: PriceChangeRow,
  state: PriceChangeRow['state'],
): Promise<void> {
  await db.query('UPDATE price_changes SET state = $3, next_step_at = now() WHERE company_id = $1 AND id = $2', [
    company_id,
    id,
    state,
  ]);
}

export interface DuePriceChange extends PriceChangeRow {
  readonly company: CompanyRow;
}

/** The price change that waits longest, which no other process works on. */
export async function lockDuePriceChange(db: Queryable): Promise<DuePriceChange | undefined> {
  const [row] = await db.query<DuePriceChange>(
    `SELECT ${columns}, to_json(c) AS company FROM price_changes p JOIN companies c ON c.id = p.company_id
     WHERE p.next_step_at <= now() AND ${staysHere('p.company_id')} ORDER BY p.next_step_at LIMIT 1 FOR NO KEY UPDATE OF p SKIP LOCKED`,
  );
  return row;
}

/** A price change that failed continues later, and does not hold up the others. */
export async function postponePriceChange(db: Queryable, { company_id, id }: PriceChangeRow): Promise<void> {
  await db.query(
    `UPDATE price_changes SET next_step_at = now() + interval '1 minute' WHERE company_id = $1 AND id = $2 AND next_step_at IS NOT NULL`,
    [company_id, id],
  );
}

/** Adds the next subscribers. Those that began later than the price change are not part of it. */
export async function collectNext(db: Queryable, change: PriceChangeRow, count: number): Promise<void> {
  await db.query(
    `WITH next AS (
       SELECT s.id FROM subscriptions s WHERE ${subscribers} AND s.id > coalesce($4::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
         AND s.id < $5 ORDER BY s.id LIMIT $6
     ), added AS (
       INSERT INTO price_change_subscriptions (company_id, change_id, subscription_id) SELECT $1, $5, id FROM next
       ON CONFLICT DO NOTHING
     ), last AS (SELECT max(id::text)::uuid AS id, count(*) AS count FROM next)
     UPDATE price_changes p SET after_id = coalesce(last.id, p.after_id), collected = last.count < $6
     FROM last WHERE p.company_id = $1 AND p.id = $5`,
    [change.company_id, change.plan_id, change.chosen, change.after_id, change.id, count],
  );
}

/** The next subscriptions to schedule. */
export async function findWaiting(db: Queryable, change: PriceChangeRow, count: number): Promise<string[]> {
  const rows = await db.query<{ subscription_id: string }>(
    `SELECT subscription_id FROM price_change_subscriptions
     WHERE company_id = $1 AND change_id = $2 AND state = 'waiting' AND check_at <= now() ORDER BY check_at, subscription_id LIMIT $3`,
    [change.company_id, change.id, count],
  );
  return rows.map(({ subscription_id }) => subscription_id);
}

export interface RowOutcome {
  readonly subscription_id: string;
  readonly state: 'waiting' | 'scheduled' | 'refused' | 'undone';
  readonly scheduled_id: string | null;
  readonly reason: string | null;
}

const outcomeRows = rowsOf({ subscription_id: 'uuid', state: 'text', scheduled_id: 'uuid', reason: 'text' });

/** One that still waits is tried again after some seconds. */
export async function recordOutcomes(
  db: Queryable,
  change: PriceChangeRow,
  outcomes: readonly RowOutcome[],
  laterSeconds: number,
): Promise<void> {
  await db.query(
    `UPDATE price_change_subscriptions m SET state = o.state, scheduled_id = o.scheduled_id, reason = o.reason,
       check_at = CASE o.state WHEN 'waiting' THEN now() + $3 * interval '1 s' END
     FROM ${outcomeRows.from(4)} AS o
     WHERE m.company_id = $1 AND m.change_id = $2 AND m.subscription_id = o.subscription_id`,
    [change.company_id, change.id, laterSeconds, ...outcomeRows.values(outcomes)],
  );
}

/** The changes that may still be taken back: those that have not begun. */
export async function findScheduled(
  db: Queryable,
  change: PriceChangeRow,
  count: number,
): Promise<{ id: string; scheduledId: string }[]> {
  return db.query<{ id: string; scheduledId: string }>(
    `SELECT m.subscription_id AS id, m.scheduled_id AS "scheduledId" FROM price_change_subscriptions m
     JOIN subscriptions s ON s.company_id = m.company_id AND s.id = m.subscription_id
     WHERE m.company_id = $1 AND m.change_id = $2 AND m.state = 'scheduled'
       AND (s.scheduled_change ->> 'id')::uuid = m.scheduled_id ORDER BY m.subscription_id LIMIT $3`,
    [change.company_id, change.id, count],
  );
}

/** All that still wait are undone as well. */
export async function undoWaiting(db: Queryable, change: PriceChangeRow): Promise<void> {
  await db.query(
    `UPDATE price_change_subscriptions SET state = 'undone', check_at = NULL
     WHERE company_id = $1 AND change_id = $2 AND state = 'waiting'`,
    [change.company_id, change.id],
  );
}

/** Sets when the worker continues: at once if there is more to do, or when the next subscription is tried again. */
export async function planNext(db: Queryable, change: PriceChangeRow, isMore: boolean): Promise<void> {
  await db.query(
    `UPDATE price_changes p SET next_step_at = CASE WHEN $3 THEN clock_timestamp() ELSE (
       SELECT min(m.check_at) FROM price_change_subscriptions m
       WHERE m.company_id = $1 AND m.change_id = $2 AND m.state = 'waiting' AND p.state = 'running') END
     WHERE p.company_id = $1 AND p.id = $2`,
    [change.company_id, change.id, isMore],
  );
}
