import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { maintainPartitions } from '../server/features/events/jobs.ts';
import { type Receiver, startReceiver, testAuthority } from './support/receiver.ts';
import type { TestService } from './support/service.ts';
import { eventually, insertSomeEvents, newSubscriber, startWebhookService } from './support/webhooks.ts';

/**
 * Workers are processes of their own and are killed while they deliver. In the usual run they only deliver, and are
 * believed dead after a second. `SVC_WEBHOOK_KILLS=20` kills whole services as they run in production, with 10,000 events.
 */

const longKills = Number(process.env.SVC_WEBHOOK_KILLS ?? 0);
const kills = longKills || 3;
const eventCount = longKills ? 10_000 : 500;
const workerCount = 2;
/** Requests under way, and answers that are not written down yet. */
const underWayPerEndpointMax = 80;

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const deliverOnly = `
  import { startDispatcher } from ${JSON.stringify(file('../server/features/webhooks/dispatcher.ts'))};
  import { systemClock } from ${JSON.stringify(file('../server/platform/clock.ts'))};
  import { openDatabase } from ${JSON.stringify(file('../server/platform/database.ts'))};
  import { createLog } from ${JSON.stringify(file('../server/platform/log.ts'))};
  import { addressCheck } from ${JSON.stringify(file('../server/platform/outbound/addresses.ts'))};
  import { Secret } from ${JSON.stringify(file('../server/platform/secret.ts'))};
  import { originalKeys } from ${JSON.stringify(file('../server/platform/service-keys.ts'))};
  import { createOutbound } from ${JSON.stringify(file('../server/platform/outbound/outbound.ts'))};
  const [connectionString, authority] = process.argv.slice(1);
  const db = openDatabase({ connectionString, poolSize: 4, applicationName: 'worker', onError: () => undefined });
  startDispatcher({
    db,
    batchDb: db,
    clock: systemClock,
    log: createLog('warn', { write: (line) => process.stderr.write(line) }),
    outbound: createOutbound({ isAllowed: addressCheck(['127.0.0.0/8', '::1']), certificates: [authority] }),
    secretKey: originalKeys(new Secret(Buffer.alloc(32, 7)))['webhook-secrets'],
    random: Math.random,
    times: { silenceMs: 1_000 },
  });`;

let service: TestService;
let receiver: Receiver;
const workers = new Set<ChildProcess>();

async function startWorker(): Promise<void> {
  const known = await workerIds();
  const { database, config } = service;
  const script = [database.apiUrl, testAuthority];
  const parameters = longKills
    ? [file('../server/main.ts')]
    : ['--input-type=module', '--eval', deliverOnly, ...script];
  const worker = spawn(process.execPath, parameters, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      PORT: '0',
      SVC_ROLES: 'worker,vault',
      SVC_LOG_LEVEL: 'error',
      SVC_DATA_DIR: config.dataDir,
      // That of the test's own service.
      SVC_MASTER_SECRET: '\u0007'.repeat(32),
      DATABASE_URL: database.connectionString,
      SVC_WEBHOOK_ALLOW: '127.0.0.0/8,::1',
      SVC_WEBHOOK_CA: file('support/certificates/ca.pem'),
    },
  });
  workers.add(worker);
  const isNew = (id: string): boolean => !known.includes(id);
  await eventually('the worker is at work', async () => (await workerIds()).some(isNew), 30_000);
}

async function workerIds(): Promise<string[]> {
  return (await service.db.query<{ id: string }>('SELECT id FROM workers')).map(({ id }) => id);
}

async function killOne(): Promise<void> {
  const [oldest] = workers;
  assert.ok(oldest);
  workers.delete(oldest);
  const gone = once(oldest, 'exit');
  assert.ok(oldest.kill('SIGKILL'), 'it was alive');
  await gone;
}

before(async () => {
  service = await startWebhookService();
  await maintainPartitions(service.db);
  receiver = await startReceiver((_, response) => setTimeout(() => response.writeHead(200).end('ok'), 5));
});
after(async () => {
  while (workers.size > 0) await killOne();
  await receiver.stop();
  await service.stop();
});

/** How often each event reached each path. */
function arrivals(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { path, event } of receiver.received) {
    const one = `${path} ${event.id}`;
    counts.set(one, (counts.get(one) ?? 0) + 1);
  }
  return counts;
}

describe('workers that are killed while they deliver', { timeout: longKills ? 600_000 : 60_000 }, () => {
  it('lose no event, and repeat only deliveries in progress', async () => {
    const subscriber = await newSubscriber(service);
    const paths = ['/all', '/customers'];
    const origin = new URL(receiver.url).origin;
    await subscriber.subscribe(`${origin}/all`);
    await subscriber.subscribe(`${origin}/customers`, { enabled_events: ['customer.created'] });
    for (let count = 0; count < workerCount; count += 1) await startWorker();
    await insertSomeEvents(service, subscriber.company.id, 1);
    await receiver.count(paths.length, 30_000);
    const startedAtMs = Date.now();
    const made: string[] = [];
    const perKill = Math.ceil(eventCount / (kills + 1));
    let killed = 0;
    for (let batch = 0; made.length < eventCount; batch += 1) {
      made.push(...(await insertSomeEvents(service, subscriber.company.id, Math.min(25, eventCount - made.length))));
      await sleep(longKills ? 60 : 40);
      if (killed < kills && made.length >= perKill * (killed + 1)) {
        // In the midst of it: what was just made is on its way.
        await killOne();
        await startWorker();
        killed += 1;
      }
    }
    assert.equal(killed, kills);
    const wanted = made.flatMap((id) => paths.map((path) => `${path} ${id}`));
    await eventually(
      'every event has arrived',
      async () => {
        const counts = arrivals();
        return wanted.every((one) => counts.has(one));
      },
      longKills ? 300_000 : 30_000,
    );
    await eventually(
      'and is known to have arrived',
      async () => {
        const open = await service.db.query(`SELECT 1 FROM webhook_deliveries WHERE status <> 'delivered' LIMIT 1`);
        return open.length === 0;
      },
      30_000,
    );
    const counts = arrivals();
    const extra = wanted.reduce((sum, one) => sum + (counts.get(one) ?? 0) - 1, 0);
    process.stdout.write(
      `${wanted.length} deliveries, ${kills} kills, ${extra} duplicates, ${Date.now() - startedAtMs} ms\n`,
    );
    assert.ok(extra <= kills * underWayPerEndpointMax * paths.length, `${extra} duplicates`);
  });
});
