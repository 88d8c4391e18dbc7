import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { readMark } from '../../server/features/restores/high-water-mark.ts';
import type { Queryable } from '../../server/platform/database.ts';
import { freePorts } from '../chaos/chaos.ts';
import { openShops } from '../chaos/shops.ts';
import { svc } from '../support/command.ts';
import { compareLedger } from '../support/ledger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { atMost, type Drill, exactly, shown } from './drill.ts';
import { startBackends } from './support/backends.ts';
import { statusOf, until } from './support/probes.ts';
import { replaceDatabase, saveDatabase } from './support/restore.ts';

/**
 * A database is restored from a backup that lacks 20 renewals, 100 orders and a refund of the processor. The drill
 * follows the steps of docs/self-hosting.md, except `svc restored`: the service has to detect the restore itself.
 */

const renewals = 20;
const keys = 100;
const patienceMs = 60_000;

interface Request {
  readonly path: string;
  readonly body: object;
  readonly key: string;
}

/** The response for an order, a plan or a subscription. */
interface Reply {
  readonly id: string;
  readonly status?: string;
  readonly total?: number;
}

interface Listed {
  readonly companies: readonly {
    readonly missing: readonly { readonly reference: string; readonly state: string }[];
  }[];
}

export const drill: Drill = {
  summary: 'The database is restored from a backup and misses 20 renewals, 100 orders and a refund.',
  programs: [],
  async run(stage) {
    const { note } = stage;
    const [database = 0, acquirerPort = 0, port = 0] = await freePorts(seededRandom(Date.now() % 1_000_000), 3);
    const backends = await startBackends(stage, { database, acquirer: acquirerPort }, 1);
    const { acquirer, apiKey, environment, startProcess } = backends;
    const url = `http://127.0.0.1:${port}`;
    const api = { SVC_ROLES: 'api,vault', PORT: String(port) };
    const everything = { SVC_ROLES: 'api,worker,vault', PORT: String(port) };

    async function post({ path, body, key }: Request): Promise<Reply> {
      const headers = {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'x-svc-idempotency-key': key,
      };
      const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      const text = await response.text();
      if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
      return JSON.parse(text) as Reply;
    }
    const command = async (...parameters: string[]): Promise<string> => {
      const { code, stdout, stderr } = await svc(environment, ...parameters);
      if (code !== 0) throw new Error(`svc ${parameters.join(' ')}: ${stderr}`);
      return stdout;
    };
    const reconcile = async (...parameters: string[]): Promise<Listed> =>
      JSON.parse(await command('reconcile', '--json', ...parameters)) as Listed;

    note(`${renewals} subscriptions begin; a backup is made`);
    const first = await startProcess('before', api);
    const shops = await openShops(url, apiKey, renewals);
    const everyDay = { interval: 'day', interval_count: 1, anchor_day: 'signup_date' };
    const terms = { name: 'Tea of a drill', amount: 1900, currency: 'usd', billing_cycle: everyDay };
    const created = await command('plans', 'create', JSON.stringify(terms), '--company', 'live', '--json');
    const { id: plan_id } = JSON.parse(created) as Reply;
    for (const customer_id of shops.customerIds) {
      await post({ path: '/v1/subscriptions', key: randomUUID(), body: { customer_id, plan_id } });
    }
    const anOrder = (quantity: number): Request => ({
      path: '/v1/orders',
      key: randomUUID(),
      body: { customer_id: shops.customerIds[0], items: [{ product_id: shops.goods[0]?.productId, quantity }] },
    });
    const known = await post(anOrder(1));
    await first.stop();
    const ofDatabase = backends.openDatabase();
    await makeDue(ofDatabase);
    await ofDatabase.close();
    await saveDatabase(backends.postgres.connectionString);

    note('renewals, orders and a refund that the backup does not have');
    const atBackup = (await acquirer.journal()).length;
    const backupMs = Date.now();
    const second = await startProcess('lost', everything);
    const requests = Array.from({ length: keys }, (_, index) => anOrder(1 + (index % 3)));
    const replies = await Promise.all(requests.map(post));
    await post({ path: `/v1/orders/${known.id}/refund`, key: randomUUID(), body: { amount: 700 } });
    const lostDb = backends.openDatabase();
    await within(patienceMs, async () => (await renewed(lostDb)) === renewals);
    await lostDb.close();
    // The mark is written once a second, and the process is killed.
    const markFile = join(environment.SVC_DATA_DIR ?? '', 'high-water.json');
    await within(patienceMs, async () => ((await readMark(markFile))?.recordedAtMs ?? 0) > backupMs);
    await second.stop();
    const journal = await acquirer.journal();
    const lost = journal.slice(atBackup);

    note('the database is restored');
    await replaceDatabase(backends.postgres.connectionString);
    const db = backends.openDatabase();
    await startProcess('restored', everything);
    const readiness = (await (await fetch(`${url}/readyz`)).json()) as Record<string, unknown>;
    const [refused] = await Promise.allSettled([post(anOrder(1))]);
    const billed = await renewed(db);
    const readyStatus = await statusOf(`${url}/readyz`);

    note('the worker compares, and opens the company');
    const startedMs = performance.now();
    const isOpen = async (): Promise<boolean> =>
      (await db.query('SELECT 1 FROM company_gates WHERE opened_at IS NULL')).length === 0;
    await within(patienceMs, isOpen);
    const openSeconds = (performance.now() - startedMs) / 1_000;
    await within(patienceMs, async () => (await renewed(db)) === renewals);
    const afterRenewals = repeated(journal, await acquirer.journal());
    note('every key is repeated');
    const again = await Promise.all(requests.map(post));
    const afterKeys = repeated(journal, await acquirer.journal());
    await within(patienceMs, async () => (await compareLedger(db, await acquirer.journal())).length === 0);
    const differences = await compareLedger(db, await acquirer.journal());
    for (const difference of differences) note(difference);
    const { companies } = await reconcile();
    const left = companies.flatMap((company) => company.missing);

    return [
      shown('operations that the backup misses', lost.length),
      exactly('the service notices the restore', typeof readiness.restored === 'string', true),
      exactly('/readyz meanwhile', readyStatus, 200),
      exactly('renewals while the company is closed', billed, 0),
      exactly('an order while the company is closed', /503 .*restore_in_progress/s.test(reasonOf(refused)), true),
      atMost('the company is open after', openSeconds, patienceMs / 1_000, ' s'),
      exactly(`charges repeated over ${renewals} renewals`, afterRenewals, 0),
      exactly(`charges repeated over ${keys} repeated keys`, afterKeys, 0),
      exactly(
        'repeated keys with another result',
        again.filter(({ status, total }, index) => status !== replies[index]?.status || total !== replies[index]?.total)
          .length,
        0,
      ),
      exactly('missing operations in the end', left.length, 0),
      exactly('differences between the books', differences.length, 0),
      exactly('svc doctor finds no problem', (await command('doctor')).startsWith('No problems'), true),
    ];
  },
};

const reasonOf = (settled: PromiseSettledResult<unknown> | undefined): string =>
  settled?.status === 'rejected' ? String(settled.reason) : '';

/** Counts the operations that the acquirer executed since. */
const repeated = (before: readonly object[], now: readonly object[]): number => now.length - before.length;

/** Moves every subscription one day into the past. */
async function makeDue(db: Queryable): Promise<void> {
  await db.query(
    `UPDATE subscriptions SET start_at = start_at - interval '25 hours', base_at = base_at - interval '25 hours',
       current_period_start = current_period_start - interval '25 hours',
       current_period_end = current_period_end - interval '25 hours', due_at = now()`,
  );
}

async function renewed(db: Queryable): Promise<number> {
  const rows = await db.query(`SELECT 1 FROM orders WHERE subscription_cycle = 2 AND status = 'succeeded'`);
  return rows.length;
}

/** On a timeout it does not throw: the figures show what did not happen in time. */
async function within(ms: number, condition: () => Promise<boolean>): Promise<void> {
  const patience = AbortSignal.timeout(ms);
  await until(async () => patience.aborted || (await condition()));
}
