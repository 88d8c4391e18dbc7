import { randomUUID } from 'node:crypto';
import { createApiKey, reserveApiKey } from '../../server/features/api-keys/service.ts';
import { createCompanies } from '../../server/features/companies/service.ts';
import { loadConfig } from '../../server/config.ts';
import { controlPlaneOn } from '../../server/platform/database.ts';
import { loadMasterSecrets } from '../../server/platform/master-secret.ts';
import { originalKeys } from '../../server/platform/service-keys.ts';
import { firstShard } from '../../server/shards/shards.ts';
import { openKeyStore } from '../../server/vault/open-key-store.ts';
import { freePorts } from '../chaos/chaos.ts';
import { connectAcquirer } from '../support/connect.ts';
import { type OwnAcquirer, openAcquirer } from '../support/own-acquirer.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { atMost, type Drill, exactly, shown } from './drill.ts';
import { startBackends } from './support/backends.ts';
import { until } from './support/probes.ts';
import { replaceDatabase, saveDatabase } from './support/restore.ts';

/**
 * 100 companies, each with an account at an acquirer of its own, have charged 10,000 orders since the backup that is restored.
 * How long do they take no payments? Afterwards every key is repeated.
 */

const companies = 100;
const ordersEach = 100;
const atOnce = 32;
const lifeMs = 60_000;
const boundSeconds = 120;

interface Merchant {
  readonly key: string;
  readonly acquirer: OwnAcquirer;
}

interface Placed {
  readonly merchant: Merchant;
  readonly idempotencyKey: string;
  readonly body: object;
}

export const drill: Drill = {
  summary: `${companies} companies have made ${companies * ordersEach} charges since a backup, and are open again within ${boundSeconds} s.`,
  programs: [],
  async run(stage) {
    const { note, cleanUp } = stage;
    const [database = 0, acquirerPort = 0, port = 0] = await freePorts(seededRandom(Date.now() % 1_000_000), 3);
    const backends = await startBackends(stage, { database, acquirer: acquirerPort }, 1);
    const { environment, startProcess, postgres } = backends;
    const url = `http://127.0.0.1:${port}`;
    const everything = { SVC_ROLES: 'api,worker,vault', PORT: String(port) };

    async function post(key: string, path: string, body: object, idempotencyKey: string = randomUUID()) {
      const headers = {
        ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        'x-svc-idempotency-key': idempotencyKey,
      };
      const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      const text = await response.text();
      return {
        status: response.status,
        body: JSON.parse(text) as { readonly id: string; readonly status?: string },
        text,
      };
    }
    async function make(key: string, path: string, body: object): Promise<string> {
      const made = await post(key, path, body);
      if (made.status !== 201) throw new Error(`${path}: ${made.status} ${made.text}`);
      return made.body.id;
    }

    note(`${companies} companies are connected`);
    const merchants = await openMerchants(environment, backends.openDatabase(), cleanUp);
    const first = await startProcess('before', everything);
    const requests: Placed[] = [];
    await inTurns(merchants, async (merchant) => {
      const email = `${randomUUID()}@example.com`;
      const person = { email, first_name: 'Ada', last_name: 'Lovelace', phone: '+15551000000' };
      const customer_id = await make(merchant.key, '/v1/customers', person);
      const card = { number: '4242424242424242', exp_month: '12', exp_year: '2031', cvc: '999' };
      await make(merchant.key, '/capture', { customer_id, card });
      const pricing = { amount: 4_900, currency: 'usd' };
      const tea = { name: 'Tea', description: 'Green.', pricing, requires_shipping: false, sku: 'tea' };
      const product_id = await make(merchant.key, '/v1/products', tea);
      for (let index = 0; index < ordersEach; index += 1) {
        const body = { customer_id, items: [{ product_id, quantity: 1 + (index % 3) }] };
        requests.push({ merchant, idempotencyKey: randomUUID(), body });
      }
    });
    await first.stop();
    await saveDatabase(postgres.connectionString);

    note(`${requests.length} orders that the backup does not have`);
    const second = await startProcess('lost', everything);
    const place = async ({ merchant, idempotencyKey, body }: Placed): Promise<string> => {
      const { status, body: made } = await post(merchant.key, '/v1/orders', body, idempotencyKey);
      return `${status} ${made.status}`;
    };
    const placed = await inTurns(requests, place);
    await second.stop();
    const charged = await journals(merchants);

    note('the database is restored');
    await replaceDatabase(postgres.connectionString);
    const startedMs = performance.now();
    await startProcess('restored', everything);
    const db = backends.openDatabase();
    const closed = async (): Promise<number> =>
      (await db.query('SELECT 1 FROM company_gates WHERE opened_at IS NULL')).length;
    const closedFirst = await closed();
    const [refused] = await inTurns(requests.slice(0, 1), place);
    await until(async () => (await closed()) === 0 || performance.now() - startedMs > 5 * boundSeconds * 1_000);
    const openSeconds = (performance.now() - startedMs) / 1_000;

    note('every key is repeated');
    const again = await inTurns(requests, place);
    const after = await journals(merchants);
    return [
      shown('charges since the backup', charged),
      exactly('companies that are closed at the start', closedFirst >= companies, true),
      exactly('an order meanwhile', refused ?? '', '503 undefined'),
      atMost('all companies are open after', openSeconds, boundSeconds, ' s'),
      exactly('charges made twice', after - charged, 0),
      exactly('repeated keys with another outcome', again.filter((one, index) => one !== placed[index]).length, 0),
      exactly('orders that are not paid', again.filter((one) => one !== '201 succeeded').length, 0),
    ];
  },
};

async function openMerchants(
  environment: Record<string, string>,
  db: ReturnType<Awaited<ReturnType<typeof startBackends>>['openDatabase']>,
  cleanUp: (step: () => unknown) => void,
): Promise<Merchant[]> {
  const config = loadConfig(environment);
  const installation = { db, vaultDb: db, keys: await openKeyStore(config, db) };
  const pepper = originalKeys((await loadMasterSecrets(config)).current)['api-keys'];
  const control = controlPlaneOn(db);
  const merchants: Merchant[] = [];
  for (let index = 0; index < companies; index += 1) {
    const acquirer = await openAcquirer();
    cleanUp(() => acquirer.stop());
    const { live } = await createCompanies({ name: firstShard, db }, Date.now(), `Merchant ${index}`);
    const { url, secret } = acquirer;
    await connectAcquirer(installation, live.id, { url, secret, timeoutMs: 5_000, requestLifeMs: lifeMs });
    const reserved = await reserveApiKey(control, pepper, live, Date.now(), 'secret');
    const { text } = await createApiKey(db, reserved, Date.now(), { name: 'drill' });
    merchants.push({ key: text.reveal(), acquirer });
  }
  return merchants;
}

async function journals(merchants: readonly Merchant[]): Promise<number> {
  const each = await inTurns(merchants, async ({ acquirer }) => (await acquirer.journal()).length);
  return each.reduce((sum, count) => sum + count, 0);
}

/** Works on some items at once. */
async function inTurns<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < items.length) {
      const index = next;
      next += 1;
      results[index] = await work(items[index] as Item);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return results;
}
