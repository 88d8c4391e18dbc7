import { limits } from './limits.ts';

/**
 * How long the rows of each table are kept. A test compares this with the schema, so a new table needs a row here;
 * docs/retention.md lists it.
 */
export type Retention =
  /** Records of merchants, which nothing but the merchant deletes. */
  | { readonly kept: 'records'; readonly holds: string }
  /** A job of the worker deletes the rows. */
  | { readonly kept: 'time'; readonly holds: string; readonly until: string; readonly job: string }
  /** The number of rows has a bound other than time. */
  | { readonly kept: 'bounded'; readonly holds: string; readonly bound: string };

const records = (holds: string): Retention => ({ kept: 'records', holds });
const time = (holds: string, until: string, job: string): Retention => ({ kept: 'time', holds, until, job });
const bounded = (holds: string, bound: string): Retention => ({ kept: 'bounded', holds, bound });
const days = (count: number): string => `${count} days`;

export const retentions: Readonly<Record<string, Retention>> = {
  agent_approvals: time('what agents asked to do in live', days(limits.agentApprovalDays), 'old approvals'),
  api_key_lookups: time('where the company of a key is', 'the key is gone', 'lookups without a key'),
  api_keys: records('API keys, with those that were revoked'),
  audit_entries: time(
    'who changed what',
    '`SVC_AUDIT_DAYS` for people and operators, `SVC_AUDIT_KEY_DAYS` for API keys',
    'old audit entries',
  ),
  bulk_refund_orders: records('orders of refunds of several orders at once'),
  bulk_refunds: records('refunds of several orders at once'),
  card_setups: bounded(
    'cards that a customer confirms with the bank',
    'one row for each card until the bank has decided',
  ),
  card_testing: bounded('the latest attack with stolen cards', 'one row for each company'),
  card_tokens: time('cards that were just typed', 'a day after they expire', 'old card tokens'),
  card_warnings: bounded('fields in which card numbers arrived', 'one row for each field of each operation'),
  checkout_payments: time('attempts to pay a checkout session', 'the session is deleted', 'old checkout sessions'),
  checkout_sessions: time(
    'checkout sessions; those that were paid are records',
    `${days(limits.eventRetentionDays)} after they expire`,
    'old checkout sessions',
  ),
  companies: records('companies'),
  company_fences: bounded('companies that move between shards', 'one row for each company'),
  company_gates: bounded('comparisons after a restore', 'one row for each live company'),
  company_names: bounded('names of companies in addresses', `at most ${limits.companyNames} rows for each company`),
  company_profiles: bounded('branding of companies', 'one row for each company'),
  company_shards: bounded('the shard of each company', 'one row for each company'),
  coupon_codes: records('codes of coupons'),
  coupon_redemptions: records('uses of coupons'),
  coupons: records('coupons'),
  credit_balances: bounded('credit of customers', 'one row for each customer and currency'),
  credit_entries: records('changes of the credit of customers'),
  customer_sessions: time('links to the customer page', 'they expire', 'old customer sessions'),
  customers: records('customers'),
  dispute_files: records('evidence of disputes; the evidence of a deleted customer is erased'),
  disputes: records('disputes'),
  draining_shards: bounded('shards that take no new companies', 'one row for each shard'),
  email_cursors: bounded('which events have an email already', 'one row for each company'),
  email_opt_outs: records('customers who want no emails'),
  events: time('events', days(limits.eventRetentionDays), 'partitions'),
  export_chunks: time('parts of exported lists', 'a day', 'old exports'),
  exports: time('exported lists', 'a day', 'old exports'),
  figure_days: bounded('sums of the home page', 'one row for each day and company'),
  figure_marks: bounded('days whose sums are to be made again', 'one row for each change until the worker has read it'),
  figure_states: bounded('how far the sums are', 'one row for each company'),
  failed_order_links: records('which payment link asks for the money of a failed order'),
  idempotency_keys: time('responses to idempotency keys', 'a day', 'expired idempotency keys'),
  installation: bounded('the name of the installation', 'one row'),
  key_readers: bounded('processes that use the keys', 'a day after a process was last seen'),
  key_rotations: bounded('rotations of the keys', 'one row for each rotation'),
  login_attempts: time('failed sign-ins', `${limits.lockMinutes} minutes`, 'ended login attempts'),
  mails: time('emails; the text of an email is deleted as soon as it is sent', '`SVC_MAIL_DAYS`', 'old mails'),
  memberships: time('the companies of a user', 'the member is gone', 'memberships without a member'),
  missing_operations: records('operations of a processor that a restored database lacks'),
  notes: records('notes of the team'),
  open_transactions: bounded('operations in progress or in doubt', 'one row until the outcome is known'),
  order_index_cursors: bounded('how far the search of orders is', 'one row for each company'),
  orders: records('orders'),
  orders_by_object: records('which orders contain a product, a coupon or a plan'),
  password_resets: time('links to set a password', `${limits.passwordResetMinutes} minutes`, 'expired password links'),
  payment_links: records('payment links'),
  payment_methods: records('cards of customers, without their numbers'),
  plan_products: records('products of plans'),
  plans: records('plans'),
  processor_connections: records('connections to processors'),
  processor_notices: time(
    'notices of processors',
    `${days(limits.noticeRetentionDays)} after they were applied`,
    'old notices',
  ),
  product_images: records('images of products'),
  products: records('products'),
  rate_limits: time('counters of rate limits', 'they are full again', 'stale rate limits'),
  receipts: records('numbers of receipts'),
  rehearsals: records('results of rehearsals'),
  requests: time('requests of the API', days(limits.requestRetentionDays), 'partitions of requests'),
  restores: bounded('restored backups', 'one row for each restore'),
  roles: records('roles of the team'),
  sample_data: bounded('sandboxes with sample data', 'one row for each sandbox'),
  saved_views: records('saved views of lists'),
  scheduled_chargebacks: bounded('simulated chargebacks of a sandbox', 'one row until it is raised'),
  secret_checks: bounded('fingerprints of the secrets', 'one row for each secret'),
  service_key_copies: bounded('encrypted keys', 'one row for each key and master secret'),
  service_keys: time('keys of the service', 'a retired key is no longer needed', 'retired keys'),
  sessions: time('signed-in browsers', `${limits.sessionDays} days`, 'ended sessions'),
  subscription_changes: records('changes of plan'),
  subscription_movements: records('changes of subscriptions, for the figures'),
  subscriptions: records('subscriptions'),
  table_sizes: time('the size of each table, measured daily', `${limits.tableSizeDays} days`, 'sizes of tables'),
  team_members: records('members of the team'),
  tombstones: bounded('places of deleted objects, for pages of lists', 'one row for each deleted object'),
  transactions: records('charges and refunds'),
  unfinished_sign_ups: time('sign-ups in progress', 'they are finished or given up', 'unfinished sign-ups'),
  unmatched_chargebacks: records('chargebacks that a person matches with a payment'),
  unreferenced_cards: time('cards that no object uses', 'the vault has deleted them', 'unreferenced cards'),
  unreferenced_files: time('files that no object uses', 'they are deleted', 'unreferenced files'),
  users: records('users of the dashboard'),
  voids: records('canceled charges'),
  webhook_deliveries: time('deliveries of events', days(limits.eventRetentionDays), 'partitions'),
  webhook_delivery_logs: time('attempts to deliver', days(limits.eventRetentionDays), 'partitions'),
  webhook_endpoints: records('webhook endpoints'),
  shard_leases: bounded('which worker does the jobs of which shard', 'two rows for each shard'),
  shard_uses: bounded('which shards are in use', 'one row for each shard'),
  shard_workers: bounded('workers that share the shards', 'one row until a worker has ended'),
  workers: bounded('running workers', 'one row until a worker has ended'),
};
