import { retryDelaysSeconds as mailDelaysSeconds } from '../features/mails/jobs.ts';
import {
  checkDelaysMs,
  correctedDelayMs,
  customerDelaysMs,
  customerMs,
  lockMs,
  repeatWithinMs,
} from '../features/orders/operations/timing.ts';
import { noticeDelaysMs } from '../features/processors/notices.ts';
import { limits } from '../limits.ts';
import { usedMs } from '../shards/use.ts';
import { dayMs, hourMs, minuteMs, secondMs } from '../platform/durations.ts';
import { anyRow } from '../platform/sql.ts';

/**
 * Every stored time at which the service itself has to do something, with the furthest one that its schedule allows. A row
 * that was written while the clock of the database was ahead is due later than that. The worker brings such rows back, and
 * `svc doctor` reports them.
 */
export interface DueTime {
  readonly table: string;
  readonly column: string;
  /** The primary key. With `company_id` as its first column, the rows of a company that is being moved are left alone. */
  readonly key: readonly string[];
  /** The rows to which the time applies, as SQL on `t`. */
  readonly rows?: string;
  /** The furthest time from now, as SQL on `t`, in milliseconds. */
  readonly furthestMs: string;
  /** The time is by the clock of the company, which is ahead in a sandbox whose clock was advanced. */
  readonly byCompanyClock?: true;
}

/** The delay after this number of attempts, the last one from then on; 0 before the first attempt. */
const delayAfter = (count: string, delaysMs: readonly number[]): string =>
  `CASE WHEN t.${count} = 0 THEN 0 ELSE (ARRAY[${delaysMs.join()}])[least(t.${count}, ${delaysMs.length})] END`;

/** How long ahead a time may be beyond its schedule: clocks differ a little. */
export const toleranceMs = minuteMs;

export const dueTimes: readonly DueTime[] = [
  {
    table: 'webhook_deliveries',
    column: 'next_attempt_at',
    key: ['company_id', 'endpoint_id', 'event_id', 'inserted_at'],
    rows: `t.status = 'pending' AND t.claimed_by IS NULL`,
    // The pause that its last attempt chose: by the schedule, or as long as the receiver asked for.
    // One before its last attempt was brought back already.
    furthestMs: `CASE WHEN t.last_attempt_at IS NULL THEN 0 WHEN t.next_attempt_at < t.last_attempt_at THEN ${2 * dayMs}
      ELSE extract(epoch FROM t.next_attempt_at - t.last_attempt_at) * 1000 END`,
    byCompanyClock: true,
  },
  {
    table: 'mails',
    column: 'next_attempt_at',
    key: ['company_id', 'id'],
    rows: 't.next_attempt_at IS NOT NULL',
    furthestMs: delayAfter(
      'attempts',
      mailDelaysSeconds.map((seconds) => seconds * secondMs),
    ),
  },
  {
    table: 'processor_notices',
    column: 'next_try_at',
    key: ['company_id', 'connection_id', 'id'],
    rows: 't.applied_at IS NULL',
    furthestMs: delayAfter('tries', noticeDelaysMs),
  },
  {
    table: 'open_transactions',
    column: 'next_check_at',
    key: ['company_id', 'order_id', 'slot'],
    furthestMs: `greatest(${delayAfter('checks', checkDelaysMs)},
      CASE WHEN t.state = 'waiting' THEN ${repeatWithinMs} WHEN t.state = 'with_customer' THEN ${customerMs} ELSE ${Math.max(correctedDelayMs, lockMs.live)} END)`,
  },
  {
    table: 'open_transactions',
    column: 'locked_until',
    key: ['company_id', 'order_id', 'slot'],
    furthestMs: `CASE WHEN t.state = 'with_customer' THEN ${customerMs} ELSE ${lockMs.live} END`,
  },
  {
    table: 'open_transactions',
    column: 'customer_check_at',
    key: ['company_id', 'order_id', 'slot'],
    rows: 't.customer_check_at IS NOT NULL',
    furthestMs: String(Math.max(...customerDelaysMs, lockMs.live)),
  },
  {
    table: 'open_transactions',
    column: 'customer_locked_until',
    key: ['company_id', 'order_id', 'slot'],
    rows: 't.customer_locked_until IS NOT NULL',
    furthestMs: String(lockMs.live),
  },
  {
    table: 'bulk_refund_orders',
    column: 'check_at',
    key: ['company_id', 'bulk_id', 'order_id'],
    rows: `t.state = 'waiting'`,
    furthestMs: String(10 * minuteMs),
  },
  {
    table: 'price_changes',
    column: 'next_step_at',
    key: ['company_id', 'id'],
    rows: 't.next_step_at IS NOT NULL',
    furthestMs: String(minuteMs),
  },
  {
    table: 'price_change_subscriptions',
    column: 'check_at',
    key: ['company_id', 'change_id', 'subscription_id'],
    rows: `t.state = 'waiting'`,
    furthestMs: String(minuteMs),
  },
  {
    table: 'card_setups',
    column: 'check_at',
    key: ['company_id', 'payment_method_id'],
    furthestMs: String(minuteMs),
  },
  {
    table: 'checkout_payments',
    column: 'check_at',
    key: ['company_id', 'session_id', 'number'],
    rows: `t.state = 'open'`,
    furthestMs: String(minuteMs),
  },
  {
    table: 'exports',
    column: 'leased_until',
    key: ['company_id', 'id'],
    rows: `t.state = 'running'`,
    furthestMs: String(minuteMs),
  },
  // The end of the day in the time zone of the company, which can have 25 hours.
  { table: 'figure_states', column: 'due_at', key: ['company_id'], furthestMs: String(26 * hourMs) },
  {
    table: 'figure_days',
    column: 'due_at',
    key: ['company_id', 'zone', 'starts_at'],
    // A day that has its sums is only summed again after a change, and there are many of them.
    rows: 't.figures IS NULL',
    furthestMs: String(10 * minuteMs),
  },
  {
    table: 'company_gates',
    column: 'next_compare_at',
    key: ['company_id'],
    rows: 't.opened_at IS NULL',
    furthestMs: String(dayMs),
  },
  { table: 'order_index_cursors', column: 'until_at', key: ['company_id'], furthestMs: '0' },
  {
    table: 'invoices',
    column: 'due_at',
    key: ['company_id', 'id'],
    rows: 't.number IS NULL',
    furthestMs: String(2 * secondMs),
  },
  {
    table: 'companies',
    column: 'clock_moved_until',
    key: ['id'],
    // While a sandbox is filled or cleared, its jobs wait as long as that takes.
    rows: `NOT ${anyRow(`sample_data d WHERE d.company_id = t.id AND d.state IN ('filling', 'clearing')`)}`,
    furthestMs: String(minuteMs),
  },
  {
    table: 'sample_data',
    column: 'leased_until',
    key: ['company_id'],
    rows: `t.state IN ('filling', 'clearing')`,
    furthestMs: String(minuteMs),
  },
  {
    table: 'agent_approvals',
    column: 'expires_at',
    key: ['company_id', 'id'],
    rows: `t.state IN ('waiting', 'approved')`,
    furthestMs: String(limits.agentApprovalMinutes * minuteMs),
  },
  {
    table: 'rehearsals',
    column: 'leased_until',
    key: ['company_id', 'id'],
    rows: `t.state = 'running'`,
    furthestMs: String(minuteMs),
  },
  { table: 'processor_connections', column: 'polled_at', key: ['company_id', 'id'], furthestMs: '0' },
  { table: 'processor_connections', column: 'notice_seen_at', key: ['company_id', 'id'], furthestMs: '0' },
  { table: 'processor_connections', column: 'notice_refused_at', key: ['company_id', 'id'], furthestMs: '0' },
  {
    table: 'unreferenced_cards',
    column: 'due_at',
    key: ['company_id', 'card_id'],
    furthestMs: String((limits.cardTokenSeconds + limits.unreferencedCardSeconds) * secondMs),
  },
  { table: 'unreferenced_files', column: 'due_at', key: ['file_key'], furthestMs: String(hourMs) },
  // A worker that has ended is noticed by its silence, and its deliveries wait until then.
  { table: 'workers', column: 'seen_at', key: ['id'], furthestMs: '0' },
  // A worker that has ended keeps its leases until then.
  { table: 'shard_workers', column: 'seen_at', key: ['id'], furthestMs: '0' },
  { table: 'shard_uses', column: 'used_until', key: ['shard'], furthestMs: String(usedMs) },
  // A rotation of keys waits for the processes that were seen lately.
  { table: 'key_readers', column: 'seen_at', key: ['id'], furthestMs: '0' },
  {
    table: 'login_attempts',
    column: 'expires_at',
    key: ['key'],
    furthestMs: String(limits.lockMinutes * minuteMs),
  },
];

/**
 * Every stored place up to which the service has read objects in the order of their ids, which begin with their time. While the
 * clock of the database was ahead, the place moved ahead too. Objects that are made after the correction are before it, and would
 * never be read.
 */
export interface ReadPlace {
  readonly table: string;
  /** The columns with an id; `company_id` is the primary key. */
  readonly ids: readonly string[];
  /** A column with the time of the place by the clock of the database. */
  readonly at?: string;
  /** How far before now a place that is ahead is set: reading an object again has no effect. */
  readonly backMs: number;
}

export const readPlaces: readonly ReadPlace[] = [
  // Not longer, because a merchant may just have turned on an email.
  { table: 'email_cursors', ids: ['after_id'], at: 'after_at', backMs: hourMs },
  { table: 'order_index_cursors', ids: ['after_id', 'until_id'], backMs: dayMs },
];

/** The other columns that look like a place, and why no clock can make them pass over an object. */
export const otherPlaces: Readonly<Record<string, string>> = {
  'exports.after_id': 'the last row that an export has written, in a list that is read once',
  'price_changes.after_id':
    'the last subscription of a plan that was added, among those that existed when the price change was made',
  'figure_states.movements_after': 'the last subscription that was read, once for each company',
};

const merchants = 'chosen by the merchant, or computed from what the merchant chose';
const expiry = 'an end of validity: what was written while the clock was ahead is valid for longer by that time';
const history = 'a time in the past, which no work waits for';

/** The other times with a similar name, and why no clock can delay work by them. */
export const otherTimes: Readonly<Record<string, string>> = {
  'api_keys.expires_at': merchants,
  'card_tokens.expires_at': expiry,
  'card_warnings.first_seen_at': history,
  'card_warnings.last_seen_at': history,
  // The processor must not execute the operation after it, so it may never be earlier than what was sent.
  'checkout_payments.valid_until': expiry,
  'open_transactions.valid_until': expiry,
  'open_transactions.customer_until':
    'by the clock of the company; `next_check_at` says the same by that of the database',
  'card_setups.customer_until': 'by the clock of the company; `check_at` says by that of the database when to look',
  'checkout_payments.customer_until': 'shown to the merchant, and no work waits for it',
  'checkout_sessions.expires_at': merchants,
  'coupons.expires_at': merchants,
  'customer_sessions.expires_at': expiry,
  'disputes.evidence_due_at': 'set by the card network',
  'exports.expires_at': expiry,
  'figure_states.days_until': 'a place in the calendar of the company; `reopenDays` brings it back',
  'idempotency_keys.expires_at': expiry,
  'mails.link_expires_at': expiry,
  'orders.authentication_until': expiry,
  'orders.next_retry_at': merchants,
  'password_resets.expires_at': expiry,
  'company_gates.books_until': history,
  'company_gates.compared_until': history,
  'processor_connections.refused_at': history,
  'restores.books_until': history,
  'restores.reconciled_until': history,
  'scheduled_chargebacks.due_at': 'a simulation by the clock of a sandbox, which the merchant advances',
  'sessions.expires_at': expiry,
  'sessions.last_seen_at': expiry,
  'subscriptions.due_at': merchants,
  'subscriptions.next_retry_at': merchants,
  'team_members.invitation_expires_at': expiry,
  'webhook_endpoints.previous_secrets_until': expiry,
};
