import type { Database } from '../../platform/database.ts';
import { failingEndpoint, members } from './catalog.ts';
import { deleteCards, deleteImages, deleteRows, hasOpenOperations, releaseDefaultCards } from './clear-queries.ts';

/** Clears a sandbox table by table, in an order that its foreign keys allow. */

const rowsAtOnce = 2_000;

type Step = (db: Database, companyId: string) => Promise<number>;

const rowsOf =
  (table: string, where = 'true'): Step =>
  (db, companyId) =>
    deleteRows(db, companyId, table, where, rowsAtOnce);

const texts = (list: readonly string[]): string => list.map((text) => `'${text}'`).join();

/** What stays is listed in the test. */
const steps: readonly Step[] = [
  ...[
    'checkout_sessions',
    'payment_links',
    'customer_sessions',
    'card_tokens',
    'exports',
    'bulk_refund_orders',
    'bulk_refunds',
    'notes',
    'receipts',
    'invoices',
    'consents',
    'declarations',
    'disputes',
    'scheduled_chargebacks',
    'voids',
    'orders_by_object',
    'transactions',
    'orders',
    'price_change_subscriptions',
    'price_changes',
    'subscriptions',
    'coupon_redemptions',
    'coupon_codes',
    'coupons',
    'plan_group_plans',
    'plan_groups',
    'plan_products',
    'plans',
    'credit_entries',
    'credit_balances',
  ].map((table) => rowsOf(table)),
  (db, companyId) => deleteImages(db, companyId, rowsAtOnce),
  rowsOf('products'),
  (db, companyId) => releaseDefaultCards(db, companyId, rowsAtOnce),
  (db, companyId) => deleteCards(db, companyId, rowsAtOnce),
  rowsOf('customers'),
  rowsOf('webhook_deliveries'),
  rowsOf('webhook_delivery_logs'),
  rowsOf('events'),
  rowsOf('mails'),
  rowsOf('idempotency_keys'),
  rowsOf('tombstones'),
  rowsOf('card_warnings'),
  rowsOf('card_testing'),
  rowsOf('figure_marks'),
  rowsOf('webhook_endpoints', `url = '${failingEndpoint.url}'`),
  rowsOf('team_members', `email_key IN (${texts(members.map(({ email }) => email))})`),
];

export const clearSteps = steps.length;

/** Returns whether the step is complete. A charge that is under way is recorded first. */
export async function clearNext(db: Database, companyId: string, number: number): Promise<boolean> {
  const step = steps[number];
  if (!step) return true;
  return db.transaction(async (transaction) => {
    if (await hasOpenOperations(transaction, companyId)) return false;
    return (await step(transaction, companyId)) < rowsAtOnce;
  });
}
