import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ClockWatch } from './clock-watch.ts';
import type { AdmissionControl } from './admission-control.ts';
import type { DatabasePool } from './database.ts';

export interface Metrics {
  readonly registry: Registry;
  observeRequest(method: string, route: string, status: number, seconds: number): void;
  countUnloggedRequests(count: number): void;
  /** Counts requests rejected because of overload. */
  countRefusedRequests(): void;
}

export interface OpenTransactions {
  readonly inDoubt: number;
  readonly oldestInDoubtSeconds: number;
  readonly waiting: number;
}

export interface MetricSources {
  readonly db: Pick<DatabasePool, 'stats'>;
  readonly vault: { isReady(): Promise<boolean> };
  readonly openTransactions: () => Promise<OpenTransactions>;
  readonly clocks: Pick<ClockWatch, 'skews' | 'expired'>;
  readonly restores: { isRestored(): boolean };
  /** Undefined in a process that does not serve the API. */
  readonly admission?: Pick<AdmissionControl, 'stats'>;
}

export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'svc_http_request_duration_seconds',
    help: 'Duration of requests.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const unlogged = new Counter({
    name: 'svc_request_log_dropped_total',
    help: 'Requests that are missing in the request log because the database was too slow.',
    registers: [registry],
  });
  const refused = new Counter({
    name: 'svc_http_requests_refused_total',
    help: 'Requests that returned 503 because the service was overloaded.',
    registers: [registry],
  });
  const gauges = [poolGauges, transactionGauges, stateGauges, admissionGauges];
  for (const metric of gauges.flatMap((gaugesOf) => gaugesOf(sources))) registry.registerMetric(metric);
  return {
    registry,
    observeRequest: (method, route, status, seconds) => requests.observe({ method, route, status }, seconds),
    countUnloggedRequests: (count) => unlogged.inc(count),
    countRefusedRequests: () => refused.inc(),
  };
}

/** Reads its value at each scrape, and keeps the last value if there is no new one. */
function gauge(name: string, help: string, read: () => number | undefined | Promise<number | undefined>): Gauge {
  return new Gauge({
    name,
    help,
    registers: [],
    async collect() {
      const value = await read();
      if (value !== undefined) this.set(value);
    },
  });
}

const poolGauges = ({ db }: MetricSources): Gauge[] => [
  gauge('svc_database_connections_total', 'Database connections of the pool: total.', () => db.stats().total),
  gauge('svc_database_connections_idle', 'Database connections of the pool: idle.', () => db.stats().idle),
  gauge('svc_database_connections_waiting', 'Requests waiting for a database connection.', () => db.stats().waiting),
];

function transactionGauges({ openTransactions }: MetricSources): Gauge[] {
  // One query serves all gauges of one scrape. A database that does not answer must not hold back the other metrics.
  let reading: Promise<OpenTransactions | undefined> | undefined;
  const read = (): Promise<OpenTransactions | undefined> =>
    (reading ??= openTransactions()
      .catch(() => undefined)
      .finally(() => {
        reading = undefined;
      }));
  return [
    gauge(
      'svc_transactions_in_doubt',
      'Operations at a processor with an unknown outcome.',
      async () => (await read())?.inDoubt,
    ),
    gauge(
      'svc_transactions_in_doubt_oldest_seconds',
      'Age of the oldest operation at a processor with an unknown outcome.',
      async () => (await read())?.oldestInDoubtSeconds,
    ),
    gauge(
      'svc_transactions_waiting',
      'Charges that wait because the vault was unavailable.',
      async () => (await read())?.waiting,
    ),
  ];
}

const stateGauges = ({ vault, clocks, restores }: MetricSources): Gauge[] => [
  gauge('svc_vault_ready', '1 if the vault responds and reaches its database, otherwise 0.', async () =>
    (await vault.isReady()) ? 1 : 0,
  ),
  new Gauge({
    name: 'svc_clock_skew_seconds',
    help: 'How far the clocks of this process and of the vault are ahead of the database.',
    labelNames: ['of'],
    registers: [],
    collect() {
      const { databaseMs, vaultMs } = clocks.skews();
      this.set({ of: 'process' }, databaseMs / 1_000);
      if (vaultMs !== undefined) this.set({ of: 'vault' }, vaultMs / 1_000);
    },
  }),
  gauge(
    'svc_processor_expired_requests',
    'Requests that a processor rejected as expired since this process started. They were sent again.',
    () => clocks.expired().count,
  ),
  gauge(
    'svc_restored',
    '1 while the database is restored from a backup and not reconciled: live subscriptions are not billed.',
    () => (restores.isRestored() ? 1 : 0),
  ),
];

const admissionGauges = ({ admission }: MetricSources): Gauge[] =>
  admission
    ? [
        gauge('svc_http_admission_running', 'Requests that are running, by cost.', () => admission.stats().running),
        gauge('svc_http_admission_waiting', 'Requests that wait to run.', () => admission.stats().waiting),
        gauge('svc_http_admission_limit', 'How much can run at the same time, by cost.', () => admission.stats().limit),
      ]
    : [];
