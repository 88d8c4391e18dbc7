import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { DatabasePool } from './database.ts';

export interface Metrics {
  readonly registry: Registry;
  observeRequest(method: string, route: string, status: number, seconds: number): void;
  countUnloggedRequests(count: number): void;
}

export interface InDoubt {
  readonly count: number;
  readonly oldestSeconds: number;
}

export function createMetrics(db: DatabasePool, inDoubt: () => Promise<InDoubt>): Metrics {
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
  const oldest = new Gauge({
    name: 'svc_transactions_in_doubt_oldest_seconds',
    help: 'Age of the oldest operation at a processor whose outcome nobody knows.',
    registers: [registry],
  });
  new Gauge({
    name: 'svc_transactions_in_doubt',
    help: 'Operations at a processor whose outcome nobody knows yet.',
    registers: [registry],
    async collect() {
      // A database that does not answer must not keep the other figures back.
      const found = await inDoubt().catch(() => undefined);
      if (!found) return;
      this.set(found.count);
      oldest.set(found.oldestSeconds);
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
