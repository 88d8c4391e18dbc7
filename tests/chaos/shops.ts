import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../server/config.ts';
import { createApiKey, reserveApiKey } from '../../server/features/api-keys/service.ts';
import { createCompanies } from '../../server/features/companies/service.ts';
import { createPlan } from '../../server/features/plans/service.ts';
import { controlPlaneOn, type DatabasePool, openDatabase } from '../../server/platform/database.ts';
import { insertShards } from '../../server/shards/queries.ts';
import { firstShard } from '../../server/shards/shards.ts';
import { loadMasterSecrets } from '../../server/platform/master-secret.ts';
import { migrate } from '../../server/platform/migrations.ts';
import { originalKeys } from '../../server/platform/service-keys.ts';
import { openKeyStore } from '../../server/vault/open-key-store.ts';
import type { KindName } from '../../server/vault/processors/kind.ts';
import { connectTo } from '../support/connect.ts';
import type { Goods } from './client.ts';
import { chaosKinds, timing } from './kinds.ts';

/** The live company of the clients: its key, its processor, its products and customers with cards. */

export interface Shops {
  readonly apiKey: string;
  readonly customerIds: readonly string[];
  readonly goods: readonly Goods[];
}

interface PreparedCompany {
  readonly apiKey: string;
  /** The key of its sandbox. */
  readonly sandboxKey: string;
  readonly connectionId: string;
  readonly companyId: string;
  /** Of a subscription that is renewed every day. */
  readonly planId: string;
}

export async function prepareCompany(
  environment: NodeJS.ProcessEnv,
  { kind, url }: { readonly kind: KindName; readonly url: string },
  shard?: { readonly name: string; readonly connectionString: string },
): Promise<PreparedCompany> {
  const config = loadConfig(environment);
  const controlUrl = config.DATABASE_URL?.reveal() ?? '';
  const { name, connectionString } = shard ?? { name: firstShard, connectionString: controlUrl };
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
  await migrate(connectionString);
  const open = (address: string): DatabasePool =>
    openDatabase({ connectionString: address, poolSize: 1, applicationName: 'chaos', onError: () => undefined });
  const [db, first] = [open(connectionString), open(controlUrl)];
  const control = controlPlaneOn(first);
  try {
    const { configuration, timeoutMs } = chaosKinds[kind];
    const { live, sandbox } = await createCompanies({ name, db }, Date.now(), 'Chaos');
    await insertShards(control, name, [live.id, sandbox.id]);
    const installation = { db, vaultDb: db, keys: await openKeyStore(config, db) };
    const connectionId = await connectTo(installation, live.id, {
      kind,
      configuration: configuration(url),
      timeoutMs,
      requestLifeMs: timing.requestLifeMs,
      extraOrigins: [url],
    });
    const { current } = await loadMasterSecrets(config);
    const pepper = originalKeys(current)['api-keys'];
    const keyOf = async (company: typeof live): Promise<string> => {
      const reserved = await reserveApiKey(control, pepper, company, Date.now(), 'secret');
      return (await createApiKey(db, reserved, Date.now(), { name: 'chaos' })).text.reveal();
    };
    const [apiKey, sandboxKey] = [await keyOf(live), await keyOf(sandbox)];
    const context = { requestId: 'req_chaos', company: live, nowMs: Date.now(), db };
    const { id: planId } = await createPlan(context, dailyPlan);
    return { apiKey, sandboxKey, connectionId, companyId: live.id, planId };
  } finally {
    await Promise.all([db.close(), first.close()]);
  }
}

const dailyPlan = {
  name: 'Tea of the day',
  amount: 1_900,
  currency: 'usd',
  billing_cycle: { interval: 'day', interval_count: 1, anchor_day: 'signup_date' },
} as const;

const productCount = 40;

/** With a plan, every customer subscribes to it. */
export async function openShops(url: string, apiKey: string, customers: number, planId?: string): Promise<Shops> {
  async function create(path: string, body: object): Promise<string> {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'x-svc-idempotency-key': randomUUID(),
    };
    for (;;) {
      const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      const text = await response.text();
      if (response.status === 201) return JSON.parse(text).id;
      // The machine may be overloaded.
      if (response.status !== 503) throw new Error(`${path}: ${response.status} ${text}`);
      await sleep(500);
    }
  }

  const createCustomer = async (_: unknown, index: number): Promise<string> => {
    const person = {
      email: `chaos-${index}@example.com`,
      first_name: 'Ada',
      last_name: 'Lovelace',
      phone: `+1555${1_000_000 + index}`,
    };
    const customerId = await create('/v1/customers', person);
    const card = { number: '4242424242424242', exp_month: '12', exp_year: '2031', cvc: '999' };
    await create('/capture', { customer_id: customerId, card });
    if (planId !== undefined) await create('/v1/subscriptions', { customer_id: customerId, plan_id: planId });
    return customerId;
  };
  const createGoods = async (_: unknown, index: number): Promise<Goods> => {
    const amount = 4_900 + index * 37;
    const productId = await create('/v1/products', {
      name: `Tea pot ${index}`,
      description: 'Holds six cups.',
      pricing: { amount, currency: 'usd' },
      requires_shipping: true,
      sku: `chaos-${index}`,
    });
    return { productId, amount };
  };
  return {
    apiKey,
    customerIds: await Promise.all(Array.from({ length: customers }, createCustomer)),
    goods: await Promise.all(Array.from({ length: productCount }, createGoods)),
  };
}
