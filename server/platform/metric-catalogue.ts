/**
 * Every metric of the service. The instruments are created from this table, and docs/observability.md lists it. Each label
 * has a bounded set of values; no label names a company, a customer or an address.
 */

type ProcessRole = 'api' | 'worker' | 'vault';

interface Metric {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** The labels with their values. A text describes values that are not listed. */
  readonly labels?: Readonly<Record<string, readonly string[] | string>>;
  readonly buckets?: readonly number[];
  /** The roles whose processes have the metric; all by default. */
  readonly roles?: readonly ProcessRole[];
}

const callSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
const serving: readonly ProcessRole[] = ['api', 'worker'];
const modes = ['sandbox', 'rehearsal', 'live'];
const outcomes = [
  'approved',
  'declined',
  'needs_customer',
  'conflict',
  'expired',
  'not_sent',
  'unknown',
  'not_found',
  'unavailable',
  'done',
  'failed',
];

export const catalogue = {
  svc_build_info: {
    kind: 'gauge',
    help: 'Always 1. The labels are the version of the service, of Node, and the roles of the process.',
    labels: { version: 'for example 0.1.0', node: 'for example v24.0.0', roles: 'for example api,worker' },
  },
  svc_component_up: {
    kind: 'gauge',
    help: '1 if the last use of this part of the installation by the process succeeded, otherwise 0.',
    labels: { component: ['database', 'vault', 'processor', 'object_store', 'mail', 'rate_limit_store', 'replica'] },
  },
  svc_http_request_duration_seconds: {
    kind: 'histogram',
    help: 'Duration of requests.',
    labels: { method: 'HTTP method', route: 'pattern of the path', status: 'HTTP status' },
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    roles: ['api'],
  },
  svc_http_requests_refused_total: {
    kind: 'counter',
    help: 'Requests that returned 503 because the service was overloaded.',
    roles: ['api'],
  },
  svc_http_requests_rate_limited_total: {
    kind: 'counter',
    help: 'Requests that returned 429, by the limit that they exceeded.',
    labels: {
      limit: ['global', 'read', 'write', 'capture', 'coupon_validation', 'refused_cards', 'declined_payments'],
    },
    roles: ['api'],
  },
  svc_http_admission_running: { kind: 'gauge', help: 'Total cost of the running requests.', roles: ['api'] },
  svc_http_admission_waiting: { kind: 'gauge', help: 'Requests that wait to run.', roles: ['api'] },
  svc_http_admission_limit: {
    kind: 'gauge',
    help: 'Highest total cost that can run at the same time.',
    roles: ['api'],
  },
  svc_request_log_dropped_total: {
    kind: 'counter',
    help: 'Requests that are missing in the request log because the database was too slow.',
    roles: ['api'],
  },
  svc_orders_total: {
    kind: 'counter',
    help: 'Attempts to charge an order, by outcome. Failed charges have the group of their failure code. A charge that is captured later counts as authorized first, and as succeeded or failed with each capture.',
    labels: {
      mode: modes,
      outcome: ['succeeded', 'authorized', 'failed', 'in_doubt', 'waiting', 'with_customer'],
      failure_group: ['none', 'soft', 'card_data', 'account_status', 'fraud', 'configuration'],
    },
    roles: serving,
  },
  svc_transactions_in_doubt: {
    kind: 'gauge',
    help: 'Operations at a processor with an unknown outcome.',
    roles: serving,
  },
  svc_transactions_in_doubt_oldest_seconds: {
    kind: 'gauge',
    help: 'Age of the oldest operation at a processor with an unknown outcome.',
    roles: serving,
  },
  svc_transactions_waiting: {
    kind: 'gauge',
    help: 'Charges that wait because the vault was unavailable, and renewals that wait until a merchant has corrected the connection to the processor.',
    roles: serving,
  },
  svc_authorizations: {
    kind: 'gauge',
    help: 'Authorizations whose funds are held: standing in all, ending within a day, and ended but not released yet by the processor. Counted up to 10,000.',
    labels: { state: ['standing', 'ending', 'ended'] },
    roles: serving,
  },
  svc_renewals_due: {
    kind: 'gauge',
    help: 'Subscriptions that are due now: to be charged, retried or ended. Counted up to 10,000.',
    roles: serving,
  },
  svc_renewals_overdue: {
    kind: 'gauge',
    help: 'Subscriptions that have been due for more than 10 minutes. Counted up to 10,000.',
    roles: serving,
  },
  svc_renewals_oldest_due_seconds: {
    kind: 'gauge',
    help: 'How long the subscription that is due longest has been due.',
    roles: serving,
  },
  svc_renewals_total: {
    kind: 'counter',
    help: 'Outcomes of charges of subscriptions. A retry is a charge after a declined one in the same cycle (dunning).',
    labels: { mode: modes, attempt: ['first', 'retry'], outcome: ['charged', 'declined'] },
    roles: serving,
  },
  svc_dunning_ended_total: {
    kind: 'counter',
    help: 'Subscriptions whose retries were all declined.',
    labels: { mode: modes },
    roles: serving,
  },
  svc_vault_call_duration_seconds: {
    kind: 'histogram',
    help: 'Duration of calls to the vault. Charges, authorizations, captures, refunds, voids and lookups have their outcome as result, the others done or failed.',
    labels: {
      operation: [
        'charge',
        'authorize',
        'capture',
        'refund',
        'void',
        'lookup',
        'resume',
        'store',
        'fingerprint',
        'remove',
        'connect',
        'list',
      ],
      result: outcomes,
    },
    buckets: callSeconds,
    roles: serving,
  },
  svc_vault_tokens_refused_total: {
    kind: 'counter',
    help: 'Requests that a vault refused because of their token, counted by the caller and by the vault.',
    labels: { side: ['caller', 'vault'] },
  },
  svc_processor_call_duration_seconds: {
    kind: 'histogram',
    help: 'Duration of calls to processors, measured in the vault.',
    labels: {
      processor: ['sandbox', 'acquirer', 'stripe', 'nmi', 'adyen'],
      operation: ['charge', 'authorize', 'capture', 'refund', 'void', 'lookup', 'resume', 'list'],
      result: outcomes,
    },
    buckets: callSeconds,
    roles: ['vault'],
  },
  svc_processor_connections_broken: {
    kind: 'gauge',
    help: 'Connections to processors that new charges try last, because most of their calls of the last five minutes failed.',
    roles: serving,
  },
  svc_processor_connections_refused: {
    kind: 'gauge',
    help: 'Connections whose credentials the processor refuses. Renewals that no other connection takes wait until the owner replaces the credentials.',
    roles: serving,
  },
  svc_processor_connections_rejected: {
    kind: 'gauge',
    help: 'Connections whose processor takes the credentials and refuses charges, captures, refunds, voids or verifications because of the account or its settings, until one of the same kind is approved.',
    roles: serving,
  },
  svc_processor_notices_total: {
    kind: 'counter',
    help: 'Notices of processors: kept, received again, or refused because of a wrong signature or age.',
    labels: { processor: ['acquirer', 'stripe', 'nmi', 'adyen'], result: ['kept', 'repeated', 'refused'] },
    roles: ['api'],
  },
  svc_processor_expired_requests_total: {
    kind: 'counter',
    help: 'Requests that a processor rejected as expired. The service sent them again.',
    roles: serving,
  },
  svc_webhook_deliveries_due: {
    kind: 'gauge',
    help: 'Deliveries of events to webhook endpoints that are due. Counted up to 100,000.',
    roles: serving,
  },
  svc_webhook_oldest_due_seconds: {
    kind: 'gauge',
    help: 'How long the delivery that is due longest has been due.',
    roles: serving,
  },
  svc_webhook_attempt_duration_seconds: {
    kind: 'histogram',
    help: 'Duration of delivery attempts, by the class of the result.',
    labels: { result: ['succeeded', 'redirect', 'client_error', 'server_error', 'timeout', 'unreachable', 'not_sent'] },
    buckets: callSeconds,
    roles: ['worker'],
  },
  svc_mails_total: {
    kind: 'counter',
    help: 'Attempts to send an email. A failed one is retried; the last failed one is given up.',
    labels: { result: ['sent', 'failed', 'given_up'] },
    roles: ['worker'],
  },
  svc_customer_emails_total: {
    kind: 'counter',
    help: 'Emails to customers that were written, by their kind.',
    labels: {
      kind: [
        'order_receipt',
        'refund_receipt',
        'renewal_receipt',
        'payment_failed',
        'final_notice',
        'card_expiring',
        'subscription_canceled',
        'upcoming_renewal',
        'payment_request',
        'card_request',
      ],
    },
    roles: ['worker'],
  },
  svc_mails_due: {
    kind: 'gauge',
    help: 'Emails that are due to be sent. Counted up to 10,000. Only with SMTP_URL.',
    roles: serving,
  },
  svc_mails_oldest_unsent_seconds: {
    kind: 'gauge',
    help: 'Age of the oldest email that is not sent and will be retried. Only with SMTP_URL.',
    roles: serving,
  },
  svc_due_times_corrected_total: {
    kind: 'counter',
    help: 'Rows that were due later than their schedule allows, because the clock of the database was ahead, and were brought back.',
    roles: ['worker'],
  },
  svc_job_failures_total: {
    kind: 'counter',
    help: 'Runs of background jobs that failed and are retried.',
    labels: { task: 'name of the job' },
    roles: ['worker'],
  },
  svc_shard_up: {
    kind: 'gauge',
    help: '1 while the database of the shard responds, otherwise 0. Of a shard that rests: what the last look at it showed.',
    labels: { shard: 'name of the shard; a without SVC_SHARDS' },
    roles: serving,
  },
  svc_shard_writes_blocked: {
    kind: 'gauge',
    help: '1 while writes on the shard wait for a synchronous standby that is not there, otherwise 0.',
    labels: { shard: 'name of the shard; a without SVC_SHARDS' },
    roles: serving,
  },
  svc_replica_up: {
    kind: 'gauge',
    help: '1 while the replica of the shard can be used for reads, otherwise 0. Only with a replica.',
    labels: { shard: 'name of the shard; a without SVC_SHARDS' },
    roles: serving,
  },
  svc_replica_lag_seconds: {
    kind: 'gauge',
    help: 'How far the replica of the shard is behind. Only while it responds.',
    labels: { shard: 'name of the shard; a without SVC_SHARDS' },
    roles: serving,
  },
  svc_replica_reads_total: {
    kind: 'counter',
    help: 'Reads that could use a replica, by the server that answered them. Only with a replica.',
    labels: { server: ['replica', 'primary'] },
    roles: serving,
  },
  svc_database_connections: {
    kind: 'gauge',
    help: 'Database connections, by pool.',
    labels: { pool: ['requests', 'money', 'webhooks', 'vault', 'replica'], state: ['active', 'idle'] },
  },
  svc_database_connections_max: {
    kind: 'gauge',
    help: 'Largest number of database connections, by pool.',
    labels: { pool: ['requests', 'money', 'webhooks', 'vault', 'replica'] },
  },
  svc_database_waiting: {
    kind: 'gauge',
    help: 'Statements and transactions that wait for a database connection, by pool.',
    labels: { pool: ['requests', 'money', 'webhooks', 'vault', 'replica'] },
  },
  svc_batch_size: {
    kind: 'histogram',
    help: 'Items in one batch of statements that run together.',
    labels: {
      batch: [
        'facts',
        'intents',
        'redeeming_intents',
        'outcomes',
        'other_outcomes',
        'cards',
        'deliveries',
        'audit_entries',
      ],
    },
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  },
  svc_clock_skew_seconds: {
    kind: 'gauge',
    help: 'How far the clocks of this process and of the vault are ahead of the database.',
    labels: { of: ['process', 'vault'] },
    roles: serving,
  },
  svc_restored: {
    kind: 'gauge',
    help: '1 while companies are closed because the database was restored from a backup.',
    roles: serving,
  },
  svc_companies_closed: {
    kind: 'gauge',
    help: 'Live companies that are closed after a restore, or whose renewals wait, by what they wait for.',
    labels: { waits_for: ['comparison', 'second_list', 'processor', 'connection', 'operator'] },
    roles: serving,
  },
  svc_backup_age_seconds: {
    kind: 'gauge',
    help: 'Age of the newest backup in SVC_BACKUP_PATH. Only with SVC_BACKUP_PATH.',
    roles: serving,
  },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof catalogue;
export const metricOf = (name: MetricName): Metric => catalogue[name];
