import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createApiKey, openApiKeyDirectory, reserveApiKey } from './features/api-keys/service.ts';
import { createCompanies, allCompanies } from './features/companies/service.ts';
import { createCoupon } from './features/coupons/service.ts';
import { createLink, getLinks } from './features/payment-links/service.ts';
import type { PlanCreate } from './features/plans/schemas.ts';
import { createPlan } from './features/plans/service.ts';
import { activeBySku, createProduct } from './features/products/service.ts';
import { changeProfile } from './features/profile/service.ts';
import { ensureOwner, hasAccount } from './features/users/service.ts';
import type { Clock } from './platform/clock.ts';
import { withDatabaseLock } from './platform/database-lock.ts';
import { shardForNew } from './shards/placement.ts';
import { insertShards } from './shards/queries.ts';
import type { Shards } from './shards/shards.ts';
import { newRequestId, randomBase62 } from './platform/ids.ts';
import type { ServiceKeys } from './platform/service-keys.ts';
import type { Company } from './company.ts';

/** What a new user needs to start; also the content of `demo.json`. */
export interface Demo {
  readonly base_url: string;
  readonly capture_url: string;
  readonly dashboard_url: string;
  /** A payment link of the sandbox: each visit opens a checkout session. */
  readonly checkout_url: string;
  readonly email: string;
  readonly password: string;
  readonly secret_key: string;
  readonly publishable_key: string;
  readonly live_secret_key: string;
  readonly live_publishable_key: string;
}

export interface DemoDependencies {
  readonly shards: Shards;
  /** The URL of the first shard. */
  readonly controlUrl: string;
  readonly clock: Clock;
  readonly keys: ServiceKeys;
  readonly dataDir: string;
  readonly baseUrl: string;
}

const demoName = 'Tea House';

const demoColor = '#1f6b4f';

/** A code for the demo checkout. */
const demoCoupon = { kind: 'promo', name: 'TEA10', percentage: 10, duration: 'once' } as const;

const demoProducts = [
  { name: 'Tea pot', description: 'Holds six cups.', sku: 'tea-pot', amount: 4900, requires_shipping: true },
  {
    name: 'Tea cup',
    description: 'Thin porcelain, two hands warm.',
    sku: 'tea-cup',
    amount: 1200,
    requires_shipping: true,
  },
  { name: 'Brewing class', description: 'Two hours, online.', sku: 'class', amount: 3500, requires_shipping: false },
];

const monthly = { interval: 'month', interval_count: 1, anchor_day: 'signup_date' } as const;

/** Plans for `demoProducts`, by SKU. */
const demoPlans: readonly { readonly sku: string; readonly plan: Omit<PlanCreate, 'currency' | 'products'> }[] = [
  { sku: 'tea-cup', plan: { name: 'Tea of the month', amount: 1900, billing_cycle: monthly } },
  {
    sku: 'class',
    plan: {
      name: 'Brewing course, four quarters',
      amount: 9900,
      one_time_amount: 2500,
      billing_cycle: { ...monthly, interval_count: 3 },
      billing_cycles: 4,
    },
  },
  {
    sku: 'tea-pot',
    plan: {
      name: 'Fresh tea weekly',
      amount: 700,
      billing_cycle: { interval: 'day', interval_count: 7, anchor_day: 'signup_date' },
    },
  },
];

/**
 * Creates the demo company once; later starts read its keys from `demo.json`, the only place where they are readable.
 * Processes that start at the same time do this one after the other, so that they share the company.
 */
export const ensureDemo = (dependencies: DemoDependencies): Promise<Demo> =>
  withDatabaseLock(dependencies.controlUrl, 'demo company', () => ensureAlone(dependencies));

async function ensureAlone(dependencies: DemoDependencies): Promise<Demo> {
  const file = join(dependencies.dataDir, 'demo.json');
  const known = await readDemo(file);
  const kept = known && (await stillValid(dependencies, known)) ? known : await makeDemo(dependencies);
  await ensureLogin(dependencies, kept);
  const { baseUrl } = dependencies;
  const demo = {
    ...kept,
    base_url: baseUrl,
    capture_url: `${baseUrl}/capture`,
    dashboard_url: `${baseUrl}/`,
    checkout_url: await ensureCheckout(dependencies),
  };
  await writeFile(`${file}.new`, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return demo;
}

/** How the link is found again at the next start. */
const demoLink = { demo: 'checkout' };

/** The payment link of the demo company; empty if the user has archived its products. */
async function ensureCheckout(dependencies: DemoDependencies): Promise<string> {
  const { shards, clock, keys, baseUrl } = dependencies;
  const { sandbox: company } = await demoCompanies(dependencies);
  const { db } = shards.of(company);
  const context = { requestId: newRequestId(), company, nowMs: clock.nowMs() + company.clockOffsetMs, db };
  const links = { baseUrl, linkKey: keys['page-links'] };
  const page = { limit: 100, sort: { field: 'created_at', descending: false }, cursor: null };
  const known = (await getLinks(context, links, { active: true }, page)).items;
  const found = known.find(({ metadata }) => metadata.demo === demoLink.demo);
  if (found) return found.url;
  const products = await activeBySku(context, ['tea-pot', 'tea-cup']);
  const [pot, cup] = [products.get('tea-pot'), products.get('tea-cup')];
  if (!pot || !cup) return '';
  const { url } = await createLink(context, links, {
    name: 'Demo checkout',
    mode: 'payment',
    items: [
      { product_id: pot, quantity: 1 },
      { product_id: cup, quantity: 2, quantity_min: 1, quantity_max: 10 },
    ],
    allow_coupons: true,
    collect: ['shipping'],
    metadata: demoLink,
  });
  return url;
}

async function readDemo(file: string): Promise<Demo | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Demo;
  } catch {
    return undefined;
  }
}

/** The file may have outlived its database. */
async function stillValid({ shards, clock, keys }: DemoDependencies, demo: Demo): Promise<boolean> {
  const directory = await openApiKeyDirectory(shards, keys['api-keys'], clock);
  const texts = [demo.secret_key, demo.publishable_key, demo.live_secret_key, demo.live_publishable_key];
  const found = await Promise.all(texts.map((key) => directory.find(key ?? '', '127.0.0.1')));
  return found.every((access) => typeof access === 'object');
}

async function makeDemo(dependencies: DemoDependencies): Promise<Demo> {
  const { shards, clock, keys, baseUrl } = dependencies;
  const { sandbox, live } = await demoCompanies(dependencies);
  const pepper = keys['api-keys'];
  const key = async (company: Company, kind: 'secret' | 'publishable'): Promise<string> => {
    const reserved = await reserveApiKey(shards.control, pepper, company, clock.nowMs(), kind);
    const { text } = await createApiKey(shards.of(company).db, reserved, clock.nowMs(), { name: `Demo ${kind} key` });
    return text.reveal();
  };
  const login = { email: 'demo@example.com', password: randomBase62(20) };
  await setLogin(dependencies, { sandbox, live }, login);
  return {
    base_url: baseUrl,
    capture_url: `${baseUrl}/capture`,
    dashboard_url: `${baseUrl}/`,
    checkout_url: '',
    ...login,
    secret_key: await key(sandbox, 'secret'),
    publishable_key: await key(sandbox, 'publishable'),
    live_secret_key: await key(live, 'secret'),
    live_publishable_key: await key(live, 'publishable'),
  };
}

type Login = Pick<Demo, 'email' | 'password'>;

async function setLogin(
  { shards, clock }: DemoDependencies,
  companies: Record<Company['mode'], Company>,
  { email, password }: Login,
): Promise<void> {
  await ensureOwner(shards, clock.nowMs(), companies, {
    email,
    password,
    first_name: 'Demo',
    last_name: 'Merchant',
    phone_number: '+15555550100',
  });
}

/** A demo company from before the dashboard existed gets a login. */
async function ensureLogin(dependencies: DemoDependencies, login: Login): Promise<void> {
  if (await hasAccount(dependencies.shards.control, login.email)) return;
  await setLogin(dependencies, await demoCompanies(dependencies), login);
}

async function demoCompanies({ shards, clock }: DemoDependencies): Promise<Record<Company['mode'], Company>> {
  const companies = await allCompanies(shards);
  const live = companies.find((company) => company.mode === 'live' && company.name === demoName);
  const sandbox = companies.find((company) => company.mode === 'sandbox' && company.accountId === live?.accountId);
  if (live && sandbox) return { live, sandbox };
  const { name, db } = await shardForNew(shards);
  const made = await db.transaction(async (transaction) => {
    const pair = await createCompanies({ name, db: transaction }, clock.nowMs(), demoName);
    const context = { requestId: newRequestId(), company: pair.sandbox, nowMs: clock.nowMs(), db: transaction };
    await changeProfile(context, { display_name: demoName, color: demoColor });
    await createCoupon(context, demoCoupon);
    for (const { amount, ...product } of demoProducts) {
      const { id } = await createProduct(context, { ...product, pricing: { amount, currency: 'usd' } });
      for (const { plan } of demoPlans.filter(({ sku }) => sku === product.sku)) {
        await createPlan(context, { ...plan, currency: 'usd', products: [{ product_id: id }] });
      }
    }
    return pair;
  });
  await insertShards(shards.control, name, [made.live.id, made.sandbox.id]);
  return made;
}
