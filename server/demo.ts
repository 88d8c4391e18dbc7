import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { createApiKey, openApiKeyDirectory, reserveApiKey } from './features/api-keys/service.ts';
import { type CompanyPair, createCompanies, allCompanies } from './features/companies/service.ts';
import { createCoupon } from './features/coupons/service.ts';
import { createLink, getLinks } from './features/payment-links/service.ts';
import { createPlan } from './features/plans/service.ts';
import { activeBySku, createProduct } from './features/products/service.ts';
import { changeProfile } from './features/profile/service.ts';
import {
  beginFill,
  firstCoupon,
  firstProducts,
  getSampleData,
  historyDays,
  samplePlans,
} from './features/sample-data/service.ts';
import { ensureOwner, hasAccount, type OneTimeSignIn } from './features/users/service.ts';
import type { Clock } from './platform/clock.ts';
import { withDatabaseLock } from './platform/database-lock.ts';
import { dayMs } from './platform/durations.ts';
import { shardForNew } from './shards/placement.ts';
import { insertShards } from './shards/queries.ts';
import type { Shards } from './shards/shards.ts';
import { newRequestId, randomBase62 } from './platform/ids.ts';
import type { ServiceKeys } from './platform/service-keys.ts';
import type { Company } from './company.ts';
import type { RequestContext } from './request-context.ts';

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

export interface DemoAtStart extends Demo {
  /** Whether the worker creates sample data. */
  readonly isBeingFilled: boolean;
  readonly companyIds: readonly string[];
}

/** What the pages of the service know of the demo company. It is prepared after they are. */
export interface KnownDemo {
  checkoutUrl?: string;
  /** Only where the service listens on the local machine. */
  readonly signIn: OneTimeSignIn | undefined;
}

export interface DemoDependencies {
  readonly shards: Shards;
  /** The URL of the first shard. */
  readonly controlUrl: string;
  readonly clock: Clock;
  readonly keys: ServiceKeys;
  readonly dataDir: string;
  readonly baseUrl: string;
  /** Whether a new demo company gets sample data. */
  readonly isEmpty: boolean;
}

const demoName = 'Tea House';

const demoColor = '#1f6b4f';

type Wishes = Omit<DemoDependencies, 'dataDir' | 'isEmpty'> & {
  readonly config: Pick<Config, 'SVC_DEMO' | 'DATABASE_URL' | 'dataDir'>;
};

/** Undefined if there is to be no demo company, or if it may be on a shard that is away. */
export async function prepareDemo({ config, ...dependencies }: Wishes): Promise<DemoAtStart | undefined> {
  const wanted = config.SVC_DEMO ?? (config.DATABASE_URL ? 'none' : 'full');
  if ((wanted === 'none' && config.DATABASE_URL) || dependencies.shards.away.size > 0) return undefined;
  return ensureDemo({ ...dependencies, dataDir: config.dataDir, isEmpty: wanted !== 'full' });
}

/**
 * Creates the demo company once; later starts read its keys from `demo.json`, the only place where they are readable.
 * Processes that start at the same time do this one after the other, so that they share the company.
 */
export const ensureDemo = (dependencies: DemoDependencies): Promise<DemoAtStart> =>
  withDatabaseLock(dependencies.controlUrl, 'demo company', () => ensureAlone(dependencies));

async function ensureAlone(dependencies: DemoDependencies): Promise<DemoAtStart> {
  const file = join(dependencies.dataDir, 'demo.json');
  const known = await readDemo(file);
  const kept = known && (await stillValid(dependencies, known)) ? known : await makeDemo(dependencies);
  await ensureLogin(dependencies, kept);
  const { baseUrl, clock, shards } = dependencies;
  const { sandbox: company, live } = await demoCompanies(dependencies);
  const { db } = shards.of(company);
  const context = { requestId: newRequestId(), company, nowMs: clock.nowMs() + company.clockOffsetMs, db };
  const demo = {
    ...kept,
    base_url: baseUrl,
    capture_url: `${baseUrl}/capture`,
    dashboard_url: `${baseUrl}/`,
    checkout_url: await ensureCheckout(dependencies, context),
  };
  await writeFile(`${file}.new`, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  const isBeingFilled = (await getSampleData(context)).state === 'filling';
  return { ...demo, isBeingFilled, companyIds: [company.id, live.id] };
}

/** How the link is found again at the next start. */
const demoLink = { demo: 'checkout' };

/** The payment link of the demo company; empty if the user has archived its products. */
async function ensureCheckout({ keys, baseUrl }: DemoDependencies, context: RequestContext): Promise<string> {
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
  companies: CompanyPair,
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

async function demoCompanies({ shards, clock, isEmpty }: DemoDependencies): Promise<CompanyPair> {
  const companies = await allCompanies(shards);
  const live = companies.find((company) => company.mode === 'live' && company.name === demoName);
  const sandbox = companies.find((company) => company.mode === 'sandbox' && company.accountId === live?.accountId);
  if (live && sandbox) return { live, sandbox };
  const { name, db } = await shardForNew(shards);
  const nowMs = clock.nowMs();
  // With sample data, the company begins with its history.
  const beginsMs = isEmpty ? nowMs : nowMs - historyDays * dayMs;
  const made = await db.transaction(async (transaction) => {
    const pair = await createCompanies({ name, db: transaction }, beginsMs, demoName);
    const context = { requestId: newRequestId(), company: pair.sandbox, nowMs: beginsMs, db: transaction };
    await changeProfile(context, { display_name: demoName, color: demoColor });
    await createCoupon(context, firstCoupon);
    for (const { amount, ...product } of firstProducts) {
      const { id } = await createProduct(context, { ...product, pricing: { amount, currency: 'usd' } });
      for (const { plan } of samplePlans.filter(({ sku }) => sku === product.sku)) {
        await createPlan(context, { ...plan, currency: 'usd', products: [{ product_id: id }] });
      }
    }
    if (!isEmpty) await beginFill(transaction, pair.sandbox.id, nowMs);
    return pair;
  });
  await insertShards(shards.control, name, [made.live.id, made.sandbox.id]);
  return made;
}
