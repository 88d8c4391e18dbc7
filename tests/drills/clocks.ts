import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { DatabasePool } from '../../server/platform/database.ts';
import { drain, freePorts } from '../chaos/chaos.ts';
import { newDiary, runClient } from '../chaos/client.ts';
import { openShops } from '../chaos/shops.ts';
import { verify } from '../chaos/verify.ts';
import { startReceiver } from '../support/receiver.ts';
import { callAt } from '../support/service.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { setClock, steppedBy } from '../support/stepped-process.ts';
import { stepDatabase } from '../support/stepped-database.ts';
import { type Drill, exactly, shown } from './drill.ts';
import { startBackends } from './support/backends.ts';

/**
 * An API process, a worker and a separate vault run under load, while the acquirer loses, delays and repeats answers.
 * The clocks of API and worker, of the database and of the vault are set wrong one after the other, and then
 * corrected. The acquirer's journal is the truth. A receiver gets every event soon after the last correction.
 *
 * A request recorded while the database was ahead is valid for longer by that time, so "not found" means "never
 * executed" only after it. At the end of the drill the clocks move to the next day: the acquirer's first, since a
 * client that repeats its key after a day would create a new order.
 */

const clients = 8;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const steps: readonly [name: string, ms: number][] = [
  ['-2 h', -2 * hourMs],
  ['-2 min', -2 * minuteMs],
  ['+2 min', 2 * minuteMs],
  ['+2 h', 2 * hourMs],
  ['+25 h', 25 * hourMs],
];
const stepMs = 5_000;
/** Longer than processes take to follow the clock of the database. */
const followedMs = 65_000;
const settleMs = 3_000;
const restMs = 15_000;
const drainMaxMs = 120_000;
/** A worker brings back times that are too far ahead within a minute. */
const broughtBackMs = 120_000;
const nextDayMs = 25 * hourMs + 5 * minuteMs;
const faults = {
  timeout_after: 0.02,
  reset_after: 0.03,
  error_before: 0.02,
  late: 0.04,
  duplicate: 0.02,
  lookup_error: 0.05,
};

export const drill: Drill = {
  summary: 'The clocks of API, database and vault are set by up to 25 h under load, one after the other.',
  programs: [],
  async run(stage) {
    const { folder, note } = stage;
    const seed = Date.now() % 1_000_000;
    const [database = 0, acquirerPort = 0, port = 0, vaultPort = 0] = await freePorts(seededRandom(seed), 4);
    const clockOf = {
      api: join(folder, 'api-clock'),
      vault: join(folder, 'vault-clock'),
      acquirer: join(folder, 'acquirer-clock'),
    };
    const ports = { database, acquirer: acquirerPort };
    const backends = await startBackends(stage, ports, seed, steppedBy(clockOf.acquirer));
    const { acquirer, apiKey, environment, startProcess } = backends;
    const stepped = await stepDatabase({ connectionString: environment.DATABASE_URL ?? '' });
    stage.cleanUp(() => stepped.close());

    const token = 'the token of the vault of a drill on this machine';
    const webhooks = {
      SVC_WEBHOOK_ALLOW: '127.0.0.0/8',
      SVC_WEBHOOK_CA: fileURLToPath(new URL('../support/certificates/ca.pem', import.meta.url)),
    };
    const vault = { ...webhooks, SVC_VAULT_URL: `http://127.0.0.1:${vaultPort}`, SVC_VAULT_TOKEN: token };
    const services = [
      await startProcess('vault', {
        ...steppedBy(clockOf.vault),
        SVC_ROLES: 'vault',
        SVC_VAULT_TOKEN: token,
        SVC_VAULT_PORT: String(vaultPort),
        SVC_VAULT_DATABASE_URL: environment.DATABASE_URL ?? '',
      }),
      await startProcess('api', { ...steppedBy(clockOf.api), ...vault, SVC_ROLES: 'api', PORT: String(port) }),
      await startProcess('worker', { ...steppedBy(clockOf.api), ...vault, SVC_ROLES: 'worker' }),
    ];
    const places: Readonly<Record<string, (ms: number) => Promise<void>>> = {
      'API and worker': async (ms) => setClock(clockOf.api, ms),
      vault: async (ms) => setClock(clockOf.vault, ms),
      database: (ms) => stepped.setOffset(ms),
    };

    const url = `http://127.0.0.1:${port}`;
    const shops = await openShops(url, apiKey, clients);
    const receiver = await startReceiver();
    stage.cleanUp(() => receiver.stop());
    const endpoint = await callAt(url, apiKey, 'POST', '/v1/webhook_endpoints', {
      body: { url: receiver.url, enabled_events: ['*'] },
    });
    if (endpoint.status !== 201) throw new Error(`the endpoint was refused: ${JSON.stringify(endpoint.body)}`);
    const diary = newDiary();
    const stopped = new AbortController();
    const abandoned = new AbortController();
    const load = shops.customerIds.map((customerId, index) =>
      runClient({
        urls: [url],
        apiKey,
        customerId,
        goods: shops.goods,
        random: seededRandom(seed + index),
        diary,
        thinkMs: 300,
        stopped: stopped.signal,
        abandoned: abandoned.signal,
      }),
    );
    await acquirer.setFaults(faults);
    const answered: string[] = [];
    for (const [place, set] of Object.entries(places)) {
      for (const [name, ms] of steps) {
        note(`${place}: ${name}`);
        const before = diary.answers.length;
        await set(ms);
        await sleep(place === 'database' && Math.abs(ms) >= 2 * hourMs ? followedMs : stepMs);
        answered.push(`${diary.answers.length - before}`);
        await set(0);
        await sleep(settleMs);
      }
    }

    stopped.abort();
    await acquirer.setFaults({});
    await sleep(restMs);
    const db = backends.openDatabase();
    const waiting = await db.query('SELECT 1 FROM open_transactions');
    const restores = await db.query('SELECT 1 FROM restores');
    const undelivered = await pendingDeliveries(db, performance.now() + broughtBackMs);
    note('the next day');
    setClock(clockOf.acquirer, nextDayMs);
    const giveUp = setTimeout(() => abandoned.abort(), drainMaxMs);
    await Promise.all(load);
    clearTimeout(giveUp);
    for (const set of Object.values(places)) await set(nextDayMs);
    await drain(db, { urls: [url], shops: [shops] }, performance.now() + drainMaxMs);
    const journal = await acquirer.journal();
    const { violations, totals } = await verify(db, journal, diary);
    for (const violation of violations) note(violation);

    return [
      shown('steps', answered.length),
      shown('answers during each step', answered.join(', ')),
      shown('orders', totals.ordersInLedger),
      shown('operations at the acquirer', journal.length),
      shown('answers that said "repeat"', [...diary.passing].map(([name, count]) => `${name} ${count}`).join(', ')),
      shown('operations that wait for the end of their validity', waiting.length),
      shown('events at the receiver', receiver.received.length),
      exactly('events that wait although their time has come', undelivered, 0),
      exactly('requests without an answer', diary.unanswered, 0),
      exactly('steps without an answered request', answered.filter((count) => count === '0').length, 0),
      exactly('orders lost, charged twice or different from the journal', violations.length, 0),
      exactly('processes that ended', services.flatMap(({ ownEnds }) => ownEnds).length, 0),
      exactly('steps taken for a restored backup', restores.length, 0),
    ];
  },
};

/** The deliveries that still wait: all were accepted at once, so none waits for a retry. */
async function pendingDeliveries(db: DatabasePool, deadlineMs: number): Promise<number> {
  for (;;) {
    const rows = await db.query(`SELECT 1 FROM webhook_deliveries WHERE status = 'pending'`);
    if (rows.length === 0 || performance.now() > deadlineMs) return rows.length;
    await sleep(1_000);
  }
}
