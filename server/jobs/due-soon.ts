import type { Queryable } from '../platform/database.ts';
import { anyRow, ofClocksAhead } from '../platform/sql.ts';
import { pollEveryMs } from '../features/processors/notices.ts';
import { billable } from '../features/subscriptions/queries.ts';
import type { ShardJobName } from './shard-jobs.ts';

/**
 * What a worker looks for on a shard that rests, in one statement: whether a job has something to do soon. Without it, the
 * jobs would ask their own questions all the time. The conditions are those of the jobs, a little wider.
 */

/** `$1` is how far ahead to look, in milliseconds; `$2` is whether mails are sent. */
const soon = `now() + $1 * interval '1 ms'`;

const due = (table: string, column: string, rows = 'true'): string =>
  anyRow(`${table} t WHERE ${rows} AND t.${column} <= ${soon}`);

/** Due by the clock of the company, which is ahead in a sandbox whose clock was advanced. */
function dueByClock(table: string, column: string, rows: string): string {
  const ahead = `SELECT 1 FROM ${table} t WHERE t.company_id = c.id AND ${rows}
    AND t.${column} <= ${soon} + c.clock_offset_ms * interval '1 ms' LIMIT 1`;
  return `${due(table, column, rows)} OR ${anyRow(ofClocksAhead(ahead, 'found'))}`;
}

/** What requests and other jobs leave is done while the shard is in use; what is left over waits for the hourly turn. */
const followsUse = undefined;
const hourly = undefined;

/** By the job that does it. */
const dueSoon: Readonly<Record<ShardJobName | 'webhooks', string | undefined>> = {
  webhooks: `${dueByClock('webhook_deliveries', 'next_attempt_at', `t.status = 'pending'`)}
    OR ${anyRow(`webhook_deliveries WHERE status = 'pending' AND claimed_by IS NOT NULL`)}`,
  'open transactions': due('open_transactions', 'next_check_at'),
  'processors that answer again': due('open_transactions', 'opened_at', `t.state IN ('in_doubt', 'interrupted')`),
  'due subscriptions': dueByClock(
    'subscriptions',
    'due_at',
    `(SELECT ${billable} FROM companies c WHERE c.id = t.company_id)`,
  ),
  'comparisons after a restore': due('company_gates', 'next_compare_at', 't.opened_at IS NULL'),
  'due chargebacks': dueByClock('scheduled_chargebacks', 'due_at', 'true'),
  'ended authorizations': dueByClock('orders', 'capture_before', 't.capture_before IS NOT NULL'),
  'customers at their bank': due('open_transactions', 'customer_check_at'),
  'cards at the bank': due('card_setups', 'check_at', 'true'),
  'index of orders': followsUse,
  'numbers of invoices': anyRow('invoices WHERE number IS NULL'),
  'unanswered disputes': dueByClock(
    'disputes',
    'evidence_due_at',
    `t.state = 'needs_response'
    AND EXISTS (SELECT 1 FROM companies o WHERE o.id = t.company_id AND o.mode = 'sandbox')`,
  ),
  'notices of processors': due('processor_notices', 'next_try_at', 't.applied_at IS NULL'),
  'checkout payments': due('checkout_payments', 'check_at', `t.state = 'open'`),
  'due checkout sessions': dueByClock('checkout_sessions', 'expires_at', `t.status = 'open'`),
  'old checkout sessions': hourly,
  'old customer sessions': hourly,
  'expired approvals': hourly,
  'old approvals': hourly,
  'polls of processors': anyRow(`processor_connections t WHERE t.removed_at IS NULL
    AND (t.polled_at IS NULL OR t.polled_at < now() - ${pollEveryMs} * interval '1 ms')`),
  'bulk refunds': due('bulk_refund_orders', 'check_at', `t.state = 'waiting'`),
  'price changes': due('price_changes', 'next_step_at'),
  exports: due('exports', 'leased_until', `t.state = 'running' AND t.expires_at > now()`),
  'sample data': due('sample_data', 'leased_until', `t.state IN ('filling', 'clearing')`),
  rehearsals: due('rehearsals', 'leased_until', `t.state = 'running'`),
  'old exports': hourly,
  'evidence of deleted customers': hourly,
  'old notices': hourly,
  'expired idempotency keys': hourly,
  'unreferenced files': due('unreferenced_files', 'due_at'),
  'unreferenced cards': due('unreferenced_cards', 'due_at'),
  'old card tokens': hourly,
  'failing webhook endpoints': hourly,
  'due mails': due('mails', 'next_attempt_at', '$2 AND t.kind IS NULL'),
  'due emails to customers': due('mails', 'next_attempt_at', '$2 AND t.kind IS NOT NULL'),
  'emails to customers': followsUse,
  'reminders to customers': hourly,
  'daily figures': `${due('figure_states', 'due_at')} OR ${due('figure_days', 'due_at', 't.figures IS NULL')}`,
  'expired links in mails': hourly,
  'unfinished sign-ups': hourly,
  'times too far ahead': hourly,
  'old mails': hourly,
  'old audit entries': hourly,
  'sizes of tables': hourly,
  partitions: hourly,
  'partitions of requests': hourly,
};

/** What these do may be done later, when something else is due on many shards. */
export const canWait: ReadonlySet<string> = new Set<ShardJobName>([
  'daily figures',
  'polls of processors',
  'unreferenced cards',
  'unreferenced files',
]);

const questions = Object.entries(dueSoon).flatMap(([job, condition]) =>
  condition === undefined ? [] : [`CASE WHEN ${condition} THEN '${job}' END`],
);
const statement = `SELECT array_remove(ARRAY[${questions.join(',\n  ')}], NULL) AS jobs`;

/** The jobs that have something to do within this time. */
export async function findDueSoon(db: Queryable, withinMs: number, sendsMail: boolean): Promise<string[]> {
  const [row] = await db.query<{ jobs: string[] }>(statement, [withinMs, sendsMail]);
  return row?.jobs ?? [];
}
