import { dueTooLate } from '../server/jobs/due-time-queries.ts';

/** The checks of `doctor`. Each query returns the inconsistent objects as `company_id` and `id`. */
export interface Check {
  readonly name: string;
  /** Shown to the user. */
  readonly means: string;
  readonly sql: string;
}

export const checks: readonly Check[] = [
  {
    name: 'due_too_late',
    means:
      'row that is due later than its schedule allows, because the clock of the database was ahead; a running worker brings it back within a minute',
    sql: dueTooLate,
  },
  {
    name: 'refunded_beyond_captured',
    means: 'order with refunds above the captured amount',
    sql: `SELECT o.company_id, o.id FROM orders o JOIN transactions t ON t.company_id = o.company_id AND t.order_id = o.id
          WHERE t.type = 'refund' AND t.status = 'succeeded' GROUP BY o.company_id, o.id, o.total, o.captured_amount, o.credit_applied
          HAVING sum(t.amount) > coalesce(o.captured_amount, o.total - coalesce(o.credit_applied, 0))`,
  },
  {
    name: 'refunded_amount_differs',
    means: 'order whose refunded amount differs from the sum of its refunds',
    sql: `SELECT o.company_id, o.id FROM orders o
          LEFT JOIN all_transactions t ON t.company_id = o.company_id AND t.order_id = o.id AND t.type = 'refund'
            AND (t.status = 'succeeded' OR (t.status = 'in_progress' AND EXISTS (SELECT 1 FROM open_transactions u
              WHERE u.company_id = t.company_id AND u.order_id = t.order_id AND u.slot = u.id AND u.id = t.id)))
          GROUP BY o.company_id, o.id, o.refunded_amount, o.credit_refunded
          HAVING o.refunded_amount - coalesce(o.credit_refunded, 0) <> coalesce(sum(t.amount), 0)`,
  },
  {
    name: 'charged_twice',
    means: 'order that was charged more than once',
    sql: `SELECT company_id, order_id AS id FROM transactions WHERE type = 'sale' AND status <> 'failed'
          GROUP BY company_id, order_id HAVING count(*) > 1`,
  },
  {
    name: 'paid_without_charge',
    means: 'order that is paid without a charge, or charged but not paid',
    sql: `SELECT o.company_id, o.id FROM orders o WHERE o.total > coalesce(o.credit_applied, 0) AND (o.status NOT IN ('pending', 'failed')
            AND NOT (o.status = 'voided' AND o.authorized_amount IS NOT NULL AND o.captured_amount IS NULL)) <> EXISTS (
            SELECT 1 FROM transactions t WHERE t.company_id = o.company_id AND t.order_id = o.id AND t.type = 'sale'
              AND t.status <> 'failed')`,
  },
  {
    name: 'charged_other_amount',
    means: 'order whose charge differs from its total less the credit that pays for it',
    sql: `SELECT o.company_id, o.id FROM orders o JOIN transactions t ON t.company_id = o.company_id AND t.order_id = o.id
          WHERE t.type = 'sale' AND t.status <> 'failed' AND t.amount <> coalesce(o.captured_amount, o.total - coalesce(o.credit_applied, 0))`,
  },
  {
    name: 'released_and_captured',
    means: 'order whose authorization was released, and captured all the same',
    sql: `SELECT a.company_id, a.order_id AS id FROM transactions a JOIN transactions t
            ON t.company_id = a.company_id AND t.order_id = a.order_id AND t.type = 'sale' AND t.status <> 'failed'
          WHERE a.type = 'auth' AND a.status = 'voided'`,
  },
  {
    name: 'held_without_authorization',
    means: 'order that waits for a capture of funds without an authorization, or has one and does not wait',
    sql: `SELECT o.company_id, o.id FROM orders o WHERE (o.capture_before IS NOT NULL) <> EXISTS (
            SELECT 1 FROM transactions t WHERE t.company_id = o.company_id AND t.order_id = o.id AND t.type = 'auth'
              AND t.status = 'succeeded') AND (o.capture_before IS NOT NULL OR o.status = 'pending')`,
  },
  {
    name: 'authorization_not_released',
    means:
      'authorization that ended more than a day ago and that the processor has not released: it may have been captured there',
    sql: `SELECT o.company_id, o.id FROM orders o JOIN companies c ON c.id = o.company_id
          WHERE o.capture_before < now() + c.clock_offset_ms * interval '1 ms' - interval '1 day'`,
  },
  {
    name: 'pending_without_charge_under_way',
    means: 'pending order without a charge in progress and without held funds',
    sql: `SELECT o.company_id, o.id FROM orders o WHERE o.status = 'pending' AND o.capture_before IS NULL AND NOT EXISTS (
            SELECT 1 FROM open_transactions t WHERE t.company_id = o.company_id AND t.order_id = o.id
              AND t.type IN ('sale', 'auth'))`,
  },
  {
    name: 'long_in_doubt',
    means: 'operation that has been in doubt for more than a day',
    sql: `SELECT company_id, id FROM open_transactions WHERE state <> 'accepted' AND opened_at < now() - interval '1 day'`,
  },
  {
    name: 'waiting_for_the_vault',
    means: 'charge that still waits because the vault was unreachable',
    sql: `SELECT company_id, id FROM open_transactions WHERE state = 'waiting' AND opened_at < now() -
            CASE WHEN cause = 'renewal' THEN interval '10 minutes' ELSE interval '2 hours' END`,
  },
  {
    name: 'refused_credentials',
    means: 'connection whose credentials the processor refuses: its owner must replace them',
    sql: `SELECT company_id, id FROM processor_connections WHERE refused_at IS NOT NULL AND disconnected_at IS NULL`,
  },
  {
    name: 'rejected_account',
    means:
      'connection whose processor refuses charges because of the account or its settings: its owner must correct them at the processor',
    sql: `SELECT company_id, id FROM processor_connections
          WHERE rejected_operation = 'charge' AND refused_at IS NULL AND disconnected_at IS NULL`,
  },
  {
    name: 'rejected_operation',
    means:
      'connection whose processor refuses captures, refunds, voids or verifications because of the account: `svc processors list` shows which, its owner must correct it at the processor',
    sql: `SELECT company_id, id FROM processor_connections
          WHERE rejected_operation <> 'charge' AND refused_at IS NULL AND disconnected_at IS NULL`,
  },
  {
    name: 'restored',
    means: 'company that is closed after a restore: `svc status` says what it waits for, `svc reconcile` compares it',
    sql: `SELECT company_id, company_id AS id FROM company_gates WHERE opened_at IS NULL`,
  },
  {
    name: 'open_restore',
    means: 'restore from a backup that is not finished: `svc status` shows what waits, `svc reconcile` finishes it',
    sql: `SELECT noticed_by AS company_id, id FROM restores WHERE reconciled_at IS NULL`,
  },
  {
    name: 'refund_without_notice',
    means:
      'refund that a processor accepted more than ten days ago and did not report as settled: have it send its notices again',
    sql: `SELECT company_id, id FROM open_transactions WHERE slot = id AND opened_at < now() - interval '10 days'`,
  },
  {
    name: 'missing_operation',
    means: 'operation that a processor executed and that is missing in our records; `svc reconcile` lists it',
    sql: `SELECT company_id, reference AS id FROM missing_operations m WHERE dismissed_at IS NULL AND NOT EXISTS (
            SELECT 1 FROM transactions t WHERE t.company_id = m.company_id AND t.reference = m.reference)
          AND NOT EXISTS (SELECT 1 FROM voids v WHERE v.company_id = m.company_id AND v.reference = m.reference)`,
  },
  {
    name: 'checkout_without_payment',
    means: 'completed checkout session whose order is neither paid nor authorized',
    sql: `SELECT s.company_id, s.id FROM checkout_sessions s
          LEFT JOIN orders o ON o.company_id = s.company_id AND o.id = s.order_id
          WHERE s.status = 'completed' AND coalesce(o.status, 'pending') IN ('pending', 'failed')
            AND o.capture_before IS NULL`,
  },
  {
    name: 'long_checkout',
    means: 'payment of a checkout session whose outcome has been unknown for more than a day',
    sql: `SELECT company_id, session_id AS id FROM checkout_payments
          WHERE state = 'open' AND started_at < now() - interval '1 day'`,
  },
  {
    name: 'payment_link_count_differs',
    means: 'payment link whose number of payments differs from its paid sessions',
    sql: `SELECT l.company_id, l.id FROM payment_links l WHERE l.payments <> (SELECT count(*) FROM checkout_sessions s
            JOIN checkout_payments p ON p.company_id = s.company_id AND p.session_id = s.id AND p.state <> 'ended'
            WHERE s.company_id = l.company_id AND s.payment_link_id = l.id)`,
  },
  {
    name: 'cycle_charged_twice',
    means: 'subscription with two orders for one cycle',
    sql: `SELECT company_id, subscription_id AS id FROM orders WHERE subscription_cycle IS NOT NULL
          GROUP BY company_id, subscription_id, subscription_cycle HAVING count(*) > 1`,
  },
  {
    name: 'cycles_miscounted',
    means: 'subscription whose count of cycles differs from its paid orders and restarts',
    sql: `SELECT s.company_id, s.id FROM subscriptions s WHERE s.completed_cycles <> (
            SELECT count(*) FROM orders o WHERE o.company_id = s.company_id AND o.subscription_id = s.id
              AND o.subscription_cycle IS NOT NULL AND o.status NOT IN ('pending', 'failed'))
            + (SELECT count(*) FROM subscription_changes h WHERE h.company_id = s.company_id AND h.subscription_id = s.id
                AND h.restarts)`,
  },
  {
    name: 'change_without_payment',
    means: 'change of plan that took effect without the payment of its order',
    sql: `SELECT h.company_id, h.subscription_id AS id FROM subscription_changes h
          JOIN orders o ON o.company_id = h.company_id AND o.id = h.order_id WHERE o.status IN ('pending', 'failed')`,
  },
  {
    name: 'change_not_made',
    means: 'paid order of a change of plan that did not take effect, although the subscription was not canceled',
    sql: `SELECT o.company_id, o.subscription_id AS id FROM orders o
          JOIN subscriptions s ON s.company_id = o.company_id AND s.id = o.subscription_id
          WHERE o.subscription_change IS NOT NULL AND o.status NOT IN ('pending', 'failed') AND s.canceled_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM subscription_changes h WHERE h.company_id = o.company_id AND h.order_id = o.id)`,
  },
  {
    name: 'overdue_renewal',
    means: 'subscription whose renewal is overdue by more than an hour',
    sql: `SELECT s.company_id, s.id FROM subscriptions s JOIN companies c ON c.id = s.company_id
          WHERE s.due_at < now() + c.clock_offset_ms * interval '1 ms' - interval '1 hour' AND c.processor IS NOT NULL
            AND (c.clock_moved_until IS NULL OR c.clock_moved_until <= now())`,
  },
  {
    name: 'forgotten_subscription',
    means: 'active or past-due subscription without a due date and without a charge in progress',
    sql: `SELECT s.company_id, s.id FROM subscriptions s
          WHERE s.status IN ('active', 'past_due') AND s.due_at IS NULL AND NOT EXISTS (SELECT 1 FROM open_transactions t
            WHERE t.company_id = s.company_id AND t.type = 'sale'
              AND t.order_id IN (s.latest_order_id, (s.pending_change ->> 'order_id')::uuid))`,
  },
  {
    name: 'day_missummed',
    means: 'day whose stored figures differ from its transactions, disputes, customers and subscriptions',
    sql: `SELECT d.company_id, d.day::text AS id FROM figure_days d
          WHERE d.figures IS NOT NULL AND d.figures <> figures_between(d.company_id, d.starts_at, d.ends_at)
            AND NOT EXISTS (SELECT 1 FROM figure_marks m
              WHERE m.company_id = d.company_id AND m.at >= d.starts_at AND m.at < d.ends_at)`,
  },
  {
    name: 'revenue_missummed',
    means: 'subscription whose movements do not add up to its monthly amount',
    sql: `SELECT s.company_id, s.id FROM subscriptions s LEFT JOIN subscription_movements m
            ON m.company_id = s.company_id AND m.subscription_id = s.id
          -- The worker is still adding the first movements of these companies.
          WHERE NOT EXISTS (SELECT 1 FROM figure_states f WHERE f.company_id = s.company_id AND f.movements_after IS NOT NULL)
          GROUP BY s.company_id, s.id HAVING coalesce(sum(m.subscribers), 0) <> (s.status IN ('active', 'past_due'))::integer
            OR coalesce(sum(m.monthly), 0) <> CASE WHEN s.status IN ('active', 'past_due') THEN monthly_amount(s.amount,
              s."interval", s.interval_count, s.coupon, greatest(s.current_cycle, 1) + 1) ELSE 0 END`,
  },
  {
    name: 'order_not_indexed',
    means: 'order that a search for one of its products does not find',
    sql: `SELECT DISTINCT o.company_id, o.id FROM order_index_cursors k
          JOIN orders o ON o.company_id = k.company_id AND o.id <= k.after_id
          CROSS JOIN LATERAL json_array_elements(o.items) AS item
          WHERE NOT EXISTS (SELECT 1 FROM orders_by_object b
            WHERE b.company_id = o.company_id AND b.object_id = (item ->> 'product_id')::uuid AND b.order_id = o.id)`,
  },
  {
    name: 'coupon_miscounted',
    means: 'coupon whose counters differ from its redemptions',
    sql: `SELECT c.company_id, c.id FROM coupons c LEFT JOIN coupon_redemptions r ON r.company_id = c.company_id AND r.coupon_id = c.id
          GROUP BY c.company_id, c.id, c.used, c.total_redemptions
          HAVING c.used <> count(r.id) OR c.total_redemptions <> count(r.id) FILTER (WHERE r.counted)`,
  },
  {
    name: 'coupon_reserved_for_nothing',
    means: 'reserved redemption without a charge in progress',
    sql: `SELECT r.company_id, r.id FROM coupon_redemptions r WHERE NOT r.counted AND NOT r.waits AND NOT EXISTS (
            SELECT 1 FROM open_transactions t WHERE t.company_id = r.company_id AND t.type = 'sale' AND t.order_id IN (
              SELECT r.id UNION ALL SELECT s.latest_order_id FROM subscriptions s
              WHERE s.company_id = r.company_id AND s.id = r.id))`,
  },
  {
    name: 'credit_miscounted',
    means: 'customer whose credit differs from the sum of its entries, or whose entries do not follow each other',
    sql: `SELECT b.company_id, b.customer_id AS id FROM credit_balances b LEFT JOIN (
            SELECT e.*, sum(e.amount) OVER (PARTITION BY e.company_id, e.customer_id, e.currency ORDER BY e.number) AS summed
            FROM credit_entries e) e
            ON e.company_id = b.company_id AND e.customer_id = b.customer_id AND e.currency = b.currency
          GROUP BY b.company_id, b.customer_id, b.currency, b.balance, b.entries
          HAVING b.balance <> coalesce(sum(e.amount), 0) OR b.entries <> count(e.id) OR b.entries <> coalesce(max(e.number), 0)
            OR coalesce(bool_or(e.balance <> e.summed), false)`,
  },
  {
    name: 'credit_of_order_differs',
    means: 'order that was paid with another amount of credit than the entries say',
    sql: `SELECT o.company_id, o.id FROM orders o
          LEFT JOIN credit_entries e ON e.company_id = o.company_id AND e.order_id = o.id
          WHERE o.credit_applied IS NOT NULL OR e.id IS NOT NULL
          GROUP BY o.company_id, o.id, o.status, o.credit_applied, o.credit_refunded
          HAVING coalesce(sum(e.amount), 0) <> CASE WHEN o.status = 'voided' THEN 0
            ELSE coalesce(o.credit_refunded, 0) - coalesce(o.credit_applied, 0) END`,
  },
  {
    name: 'customer_without_default_card',
    means: 'customer whose default card was deleted or belongs to another customer',
    sql: `SELECT c.company_id, c.id FROM customers c WHERE c.default_payment_method_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM payment_methods m WHERE m.company_id = c.company_id AND m.customer_id = c.id
              AND m.id = c.default_payment_method_id AND m.deleted_at IS NULL)`,
  },
  {
    name: 'card_not_erased',
    means: 'deleted card that is still in the vault, or saved at a processor, after a day',
    sql: `SELECT company_id, card_id AS id FROM unreferenced_cards WHERE noted_at < now() - interval '1 day'`,
  },
  {
    name: 'stuck_delivery',
    means: 'webhook delivery that is overdue by more than an hour, or claimed by a worker for more than 15 minutes',
    sql: `SELECT d.company_id, d.event_id AS id FROM webhook_deliveries d JOIN companies c ON c.id = d.company_id
          JOIN webhook_endpoints w ON w.company_id = d.company_id AND w.id = d.endpoint_id AND w.status = 'enabled'
          WHERE d.status = 'pending' AND CASE WHEN d.claimed_by IS NULL
            THEN d.inserted_at < now() - interval '1 hour'
              AND d.next_attempt_at < now() + c.clock_offset_ms * interval '1 ms' - interval '1 hour'
            ELSE coalesce(d.claimed_at, d.inserted_at) < now() - interval '15 minutes' END`,
  },
];
