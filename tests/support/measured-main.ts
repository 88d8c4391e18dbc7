import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { healthServer } from '../../server/http/operations.ts';
import { openComponents } from '../../server/platform/components.ts';
import { createMetrics } from '../../server/platform/metrics.ts';
import { Secret } from '../../server/platform/secret.ts';
import { buildVaultServer } from '../../server/vault/server.ts';
import { localVault } from '../../server/vault/vault.ts';
import type { MeasuredServer } from './measured-service.ts';
import { mountedRoutes } from './mounted-routes.ts';
import { startTestService } from './service.ts';
import { silentLog } from './silent-log.ts';

/** The program of `startMeasured`: every server that listens, with the limits of an installation. */

const [database = '', dataDir = ''] = process.argv.slice(2);
const service = await startTestService({
  database: { ...JSON.parse(database), drop: async () => undefined },
  dataDir,
  settings: {
    SVC_RATE_LIMIT_GLOBAL: '1000/10',
    SVC_RATE_LIMIT_READ: '800/10',
    SVC_RATE_LIMIT_WRITE: '500/10',
    SVC_MAX_EVENT_LOOP_DELAY_MS: '200',
    SVC_TRUST_PROXY: '127.0.0.1',
  },
});
const metrics = createMetrics(['vault'], async () => []);
const vault = buildVaultServer(localVault(service.vaultDb, service.keys, service.clock), [new Secret('token')], {
  metrics,
});
const health = healthServer({
  checks: () => [],
  components: openComponents(silentLog),
  metrics,
  clocks: { expired: () => ({ recently: false }) } as never,
  restores: { isRestored: () => false, waiting: () => ({}) },
});
const apps = [service.app, vault, health];
for (const app of [vault, health]) await app.listen({ host: '127.0.0.1', port: 0 });

const servers = Object.entries({ api: service.app, vault, worker: health }).map(
  ([name, app]): MeasuredServer => ({
    name,
    port: (app.server.address() as AddressInfo).port,
    routes: mountedRoutes(app),
  }),
);

/** Resolves once as many requests have arrived, and starts to count again. */
let requests = 0;
const arrivals = new EventEmitter();
for (const { server } of apps) {
  server.on('request', () => {
    requests += 1;
    arrivals.emit('request');
  });
}
async function arrived(count: number): Promise<void> {
  while (requests < count) await once(arrivals, 'request');
  requests = 0;
}

async function bytes(): Promise<number> {
  service.logLines.length = 0;
  globalThis.gc?.();
  // What a connection held outside of the heap is freed in a later turn.
  await setImmediate();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

process.on('message', (asked: 'bytes' | number) => {
  if (asked === 'bytes') void bytes().then((count) => process.send?.(count));
  else void arrived(asked).then(() => process.send?.(asked));
});
process.on('disconnect', () => process.exit());
process.send?.(servers);
