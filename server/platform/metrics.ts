import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ClockWatch } from './clock-watch.ts';
import type { DatabasePool } from './database.ts';

export interface Metrics {
  readonly registry: Registry;
  observeRequest(method: string, route: string, status: number, seconds: number): void;
  countUnloggedRequests(count: number): void;
}

export interface OpenTransactions {
  readonly inDoubt: number;
  readonly oldestInDoubtSeconds: number;
  readonly waiting: number;
}

export function createMetrics(
  db: DatabasePool,
  vault: { isReady(): Promise<boolean> },
  openTransactions: () => Promise<OpenTransactions>,
  clocks: Pick<ClockWatch, 'skews' | 'expired'>,
  restores: { isRestored(): boolean },
): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'svc_http_request_duration_seconds',
    help: 'Time from the arrival of a request to its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  for (const state of ['total', 'idle', 'waiting'] as const) {
    new Gauge({
      name: `svc_database_connections_${state}`,
      help:
        state === 'waiting'
          ? 'Requests waiting for a database connection.'
          : `Database connections of the pool: ${state}.`,
      registers: [registry],
      collect() {
        this.set(db.stats()[state]);
      },
    });
  }
  // One read serves the gauges of one scrape. A database that does not answer must not keep the other figures back.
  let reading: Promise<OpenTransactions | undefined> | undefined;
  const read = (): Promise<OpenTransactions | undefined> =>
    (reading ??= openTransactions()
      .catch(() => undefined)
      .finally(() => {
        reading = undefined;
      }));
  const openGauges: readonly [name: string, help: string, figure: keyof OpenTransactions][] = [
    ['svc_transactions_in_doubt', 'Operations at a processor whose outcome is unknown so far.', 'inDoubt'],
    [
      'svc_transactions_in_doubt_oldest_seconds',
      'Age of the oldest operation at a processor whose outcome is unknown.',
      'oldestInDoubtSeconds',
    ],
    [
      'svc_transactions_waiting',
      'Charges that were not sent because the vault could not be reached, and wait to be sent.',
      'waiting',
    ],
  ];
  for (const [name, help, figure] of openGauges) {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const found = await read();
        if (found) this.set(found[figure]);
      },
    });
  }
  new Gauge({
    name: 'svc_vault_ready',
    help: '1 when the vault answers and reaches its database, otherwise 0.',
    registers: [registry],
    async collect() {
      this.set((await vault.isReady()) ? 1 : 0);
    },
  });
  new Gauge({
    name: 'svc_clock_skew_seconds',
    help: 'How far the clock of this process, and that of the vault, is ahead of the database.',
    labelNames: ['of'],
    registers: [registry],
    collect() {
      const { databaseMs, vaultMs } = clocks.skews();
      this.set({ of: 'process' }, databaseMs / 1_000);
      if (vaultMs !== undefined) this.set({ of: 'vault' }, vaultMs / 1_000);
    },
  });
  new Gauge({
    name: 'svc_processor_expired_requests',
    help: 'Requests that a processor refused as expired since this process started. They were sent again.',
    registers: [registry],
    collect() {
      this.set(clocks.expired().count);
    },
  });
  new Gauge({
    name: 'svc_restored',
    help: '1 while the database is restored from a backup and not reconciled: live subscriptions are not billed.',
    registers: [registry],
    collect() {
      this.set(restores.isRestored() ? 1 : 0);
    },
  });
  const unlogged = new Counter({
    name: 'svc_request_log_dropped_total',
    help: 'Requests that are missing in the request log, because the database could not follow.',
    registers: [registry],
  });
  return {
    registry,
    observeRequest: (method, route, status, seconds) => requests.observe({ method, route, status }, seconds),
    countUnloggedRequests: (count) => unlogged.inc(count),
  };
}
