import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Queryable } from '../../server/platform/database.ts';
import type { ChaosProcessor } from './processor.ts';

/** Subscriptions that fall due again and again, also while the processors refuse the credentials for a while. */

const everyMs = 500;
const dueAtOnce = 4;

/** A day passes for some subscriptions: the next renewal is due, or the retry of a declined one. */
const makeDue = `WITH next AS (
    SELECT company_id, id, CASE WHEN status = 'active' THEN interval '1 day' ELSE interval '0' END AS shift
    FROM subscriptions
    WHERE due_at > now() + interval '1 minute' AND (status = 'active' OR (status = 'past_due' AND next_retry_at IS NOT NULL))
    ORDER BY random() LIMIT $1 FOR UPDATE SKIP LOCKED
  ), changed AS (
    UPDATE subscriptions s SET due_at = now(), next_retry_at = CASE WHEN status = 'past_due' THEN now() END,
      start_at = start_at - shift, base_at = base_at - shift,
      current_period_start = current_period_start - shift, current_period_end = current_period_end - shift
    FROM next WHERE s.company_id = next.company_id AND s.id = next.id RETURNING 1
  )
  SELECT pg_notify('subscriptions_due', '') FROM changed LIMIT 1`;

/** Runs until the signal. The database may be killed at any moment. */
export async function keepRenewing(
  connectionString: string,
  stopped: AbortSignal,
  pauseMs: number = everyMs,
): Promise<void> {
  while (!stopped.aborted) {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      for (; !stopped.aborted; await sleep(pauseMs)) await client.query(makeDue, [dueAtOnce]);
    } catch {
      await sleep(everyMs);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** In the middle of the run, for a sixth of it, every processor answers as if the key had been revoked. */
export async function refuseForAWhile(
  processors: readonly ChaosProcessor[],
  runMs: number,
  stopped: AbortSignal,
): Promise<void> {
  const pause = (ms: number): Promise<unknown> => sleep(ms, undefined, { signal: stopped }).catch(() => undefined);
  await pause(runMs * 0.4);
  await Promise.all(processors.map((processor) => processor.setRevoked(true)));
  await pause(runMs / 6);
  await Promise.all(processors.map((processor) => processor.setRevoked(false)));
}

/** What waits for the merchant is sent again, as if five minutes had passed. Returns how many renewals waited. */
export async function endWaiting(db: Queryable): Promise<number> {
  const rows = await db.query(
    `UPDATE open_transactions SET next_check_at = now() WHERE state = 'waiting' AND cause = 'renewal' RETURNING id`,
  );
  return rows.length;
}

/** Waits until every due subscription is charged. */
export async function settleRenewals(db: Queryable, untilMs: number): Promise<void> {
  const due = `SELECT 1 FROM subscriptions WHERE status IN ('active', 'past_due') AND coalesce(due_at <= now(), true) LIMIT 1`;
  while (performance.now() < untilMs && (await db.query(due)).length > 0) {
    await endWaiting(db);
    await sleep(250);
  }
}

interface BilledSubscription {
  readonly id: string;
  readonly status: string;
  readonly completed_cycles: number;
  readonly is_scheduled: boolean;
  /** How often a cycle fell due. */
  readonly days: number;
  readonly cycles: readonly number[];
  readonly statuses: readonly string[];
}

/** `uuid_extract_timestamp`, which PostgreSQL 15 does not have. */
const createdAt = `to_timestamp(('x' || translate(left(s.id::text, 13), '-', ''))::bit(48)::bigint / 1000.0)`;

const billedStatement = `
  SELECT s.id, s.status, s.completed_cycles, coalesce(s.due_at > now(), false) AS is_scheduled,
    round(extract(epoch FROM ${createdAt} - s.start_at) / 86400)::integer AS days,
    array_agg(coalesce(o.subscription_cycle, 0) ORDER BY o.id) AS cycles, array_agg(o.status ORDER BY o.id) AS statuses
  FROM subscriptions s JOIN orders o ON o.company_id = s.company_id AND o.subscription_id = s.id
  GROUP BY s.company_id, s.id`;

export interface RenewalTotals {
  readonly renewals: number;
  readonly pastDue: number;
  /** Declined charges of renewals, by their code. */
  readonly declines: ReadonlyMap<string, number>;
}

/** Each cycle must have been billed once, and only what a processor declined counts as an attempt. */
export async function verifyRenewals(db: Queryable): Promise<{ violations: string[]; totals: RenewalTotals }> {
  const billed = await db.query<BilledSubscription>(billedStatement);
  const declines = await db.query<{ code: string; count: number }>(
    `SELECT t.failure_code AS code, count(*)::integer AS count
     FROM transactions t JOIN orders o ON o.company_id = t.company_id AND o.id = t.order_id
     WHERE o.subscription_id IS NOT NULL AND t.type = 'sale' AND t.status = 'failed' GROUP BY 1 ORDER BY 1`,
  );
  const refused = declines.find(({ code }) => code === 'invalid_merchant_configuration');
  return {
    violations: [
      ...billed.flatMap((one) => problemsOf(one).map((problem) => `subscription ${one.id} ${problem}`)),
      ...(refused ? [`${refused.count} renewals were declined because the credentials were refused`] : []),
    ],
    totals: {
      renewals: billed.reduce((sum, { days }) => sum + days, 0),
      pastDue: billed.filter(({ status }) => status !== 'active').length,
      declines: new Map(declines.map(({ code, count }) => [code, count])),
    },
  };
}

function problemsOf(subscription: BilledSubscription): string[] {
  const { status, completed_cycles, is_scheduled, days, cycles, statuses } = subscription;
  const problems: string[] = [];
  const expected = Array.from({ length: days + 1 }, (_, index) => index + 1);
  if (cycles.join() !== expected.join()) problems.push(`has the cycles ${cycles.join()} instead of 1 to ${days + 1}`);
  const unpaid = statuses.filter((one) => !['succeeded', 'voided'].includes(one));
  if (completed_cycles !== statuses.length - unpaid.length) problems.push(`counts ${completed_cycles} paid cycles`);
  const [last] = unpaid;
  if (unpaid.length > 1 || (last !== undefined && last !== statuses.at(-1))) problems.push('went on unpaid');
  if (last !== undefined && last !== 'failed') problems.push(`has an order that is ${last}`);
  if (status === 'active' && last !== undefined) problems.push('is active and not paid');
  if (status === 'active' && !is_scheduled) problems.push('is due and was not billed');
  if (!['active', 'past_due', 'failed'].includes(status)) problems.push(`is ${status}`);
  return problems;
}
