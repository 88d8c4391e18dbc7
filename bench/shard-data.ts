import type pg from 'pg';
import { generateKey } from '../server/features/api-keys/key-format.ts';
import { roleTemplates } from '../server/features/team/roles.ts';
import { latestVersion } from '../server/http/versions/latest.ts';
import { permissions } from '../server/http/permissions.ts';
import type { ServiceKey } from '../server/platform/service-keys.ts';

/** Companies with customers, cards, orders and an API key, inserted directly in the database of a shard. */

export interface SeededCompany {
  readonly shard: string;
  readonly companyId: string;
  /** Of sandbox companies. */
  readonly key: string;
  readonly customerId: string;
}

export interface KeyLookup {
  readonly lookup_id: string;
  readonly company_id: string;
  readonly api_key_id: string;
}

export interface SeededShard {
  readonly companyIds: readonly string[];
  readonly sandboxes: readonly SeededCompany[];
  readonly lookups: readonly KeyLookup[];
}

export interface ShardAmounts {
  /** Two for each account: live and sandbox. */
  readonly companies: number;
  readonly ordersOfCompany: number;
}

const customersOfCompany = 2;
const dayMs = 24 * 3600 * 1000;

/** An id with this time in milliseconds, the same for the same seed. */
const idAt = (ms: string, seed: string): string =>
  `(lpad(to_hex(${ms}), 12, '0') || '7' || substr(md5(${seed}), 1, 3) || '8' || substr(md5(${seed}), 4, 15))::uuid`;

const companies = `
  INSERT INTO companies (id, account_id, name, mode, api_version, processor, request_life_ms)
  SELECT ${idAt('$2::bigint + n', "$1 || ' company ' || n")}, ${idAt('$2::bigint + n / 2', "$1 || ' account ' || n / 2")},
    'Shop ' || $1 || ' ' || n / 2 || CASE WHEN n % 2 = 1 THEN ' (demo)' ELSE '' END,
    CASE WHEN n % 2 = 1 THEN 'sandbox' ELSE 'live' END, $4, CASE WHEN n % 2 = 1 THEN 'sandbox' END,
    CASE WHEN n % 2 = 1 THEN 2000 ELSE 60000 END
  FROM generate_series(0, $3::integer - 1) n
  RETURNING id, mode`;

const roles = `
  INSERT INTO roles (company_id, id, name, description, default_page, permissions)
  SELECT c.id, gen_random_uuid(), r.name, r.description, r.page, r.permissions
  FROM companies c, json_to_recordset($1::json) AS r (name text, description text, page text, permissions text[])`;

const customers = `
  INSERT INTO customers (company_id, id, email, email_key, first_name, last_name, phone, phone_key, tags, metadata, search, updated_at)
  SELECT c.id, ${idAt('$1::bigint + n', "c.id::text || ' customer ' || n")}, 'buyer' || n || '@example.com', 'buyer' || n || '@example.com',
    'Buyer', 'No ' || n, '+1202555' || lpad(n::text, 4, '0'), '1202555' || lpad(n::text, 4, '0'), '{}', '{}', '', now()
  FROM companies c, generate_series(1, ${customersOfCompany}) n`;

const cards = `
  INSERT INTO payment_methods (company_id, id, customer_id, card_id, brand, last4, exp_month, exp_year, fingerprint)
  SELECT company_id, id, id, gen_random_uuid(), 'visa', '4242', 12, 2030, 'bench' FROM customers`;

const orders = `
  INSERT INTO orders (company_id, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status, items, currency,
    subtotal, discount_amount, total, refunded_amount, metadata, attempt_count, request_id, sale_id, sequence, updated_at)
  SELECT b.company_id, made.id, 'S' || made.n, b.id, b.id, 'visa', '4242', 'succeeded',
    json_build_array(json_build_object('product_id', gen_random_uuid(), 'quantity', 1, 'name', 'Sample', 'sku', 'sample', 'unit_price', total, 'total', total)),
    'usd', total, 0, total, 0, '{}', 0, 'req_seed', made.id, 2, to_timestamp(made.ms / 1000.0)
  FROM (SELECT company_id, id, row_number() OVER (PARTITION BY company_id ORDER BY id) - 1 AS n FROM customers) b
  CROSS JOIN LATERAL (
    SELECT n, ms, 100 + n % 90000 AS total, ${idAt('ms', "b.company_id::text || ' order ' || n")} AS id
    FROM (SELECT n, $1::bigint + n * $2::bigint AS ms FROM generate_series(1, $3::integer) n WHERE n % ${customersOfCompany} = b.n) numbered
  ) made`;

const transactions = `
  INSERT INTO transactions (company_id, id, order_id, customer_id, payment_method_id, type, amount, currency, card_brand, card_last4, status, updated_at)
  SELECT company_id, id, id, customer_id, payment_method_id, 'sale', total, 'usd', 'visa', '4242', 'succeeded', updated_at FROM orders`;

const found = `
  INSERT INTO orders_by_object (company_id, object_id, order_id)
  SELECT company_id, (items -> 0 ->> 'product_id')::uuid, id FROM orders`;

// Otherwise the worker would index the seeded orders during the measurement.
const indexed = `
  UPDATE order_index_cursors o SET after_id = newest.id, until_id = newest.id
  FROM (SELECT DISTINCT ON (company_id) company_id, id FROM orders ORDER BY company_id, id DESC) newest
  WHERE newest.company_id = o.company_id`;

// The same for the sums of their days.
const summed = `UPDATE figure_states SET due_at = now() + interval '20 hours'`;

const keys = `
  INSERT INTO api_keys (company_id, id, kind, name, lookup_id, secret_hash, permissions, allowed_addresses)
  SELECT k.company_id, k.api_key_id, 'secret', 'bench', k.lookup_id, decode(k.secret_hash, 'hex'), $2, '{}'
  FROM json_to_recordset($1::json) AS k (company_id uuid, api_key_id uuid, lookup_id text, secret_hash text)`;

/** Fills a migrated, empty database. */
export async function seedShard(
  sql: pg.Client,
  shard: string,
  pepper: ServiceKey,
  { companies: count, ordersOfCompany }: ShardAmounts,
): Promise<SeededShard> {
  const firstMs = Date.now() - 30 * dayMs;
  await sql.query('BEGIN');
  const { rows: made } = await sql.query<{ id: string; mode: 'live' | 'sandbox' }>(companies, [
    shard,
    firstMs,
    count,
    latestVersion,
  ]);
  const templates = roleTemplates.map(({ name, description, defaultPage, permissions: granted }) => ({
    name,
    description,
    page: defaultPage,
    permissions: `{${granted.join()}}`,
  }));
  // Without the triggers of foreign keys: the rows refer to each other by construction.
  await sql.query('SET LOCAL session_replication_role = replica');
  await sql.query(roles, [JSON.stringify(templates)]);
  await sql.query(customers, [firstMs]);
  await sql.query(cards);
  const apartMs = Math.floor((29 * dayMs) / Math.max(ordersOfCompany, 1));
  await sql.query(orders, [firstMs, apartMs, ordersOfCompany]);
  await sql.query(transactions);
  await sql.query(found);
  await sql.query(indexed);
  await sql.query(summed);
  const sandboxes = made.filter(({ mode }) => mode === 'sandbox').map(({ id }) => id);
  const issued = sandboxes.map((companyId) => ({
    companyId,
    apiKeyId: crypto.randomUUID(),
    ...generateKey('sandbox', 'secret'),
  }));
  const lookups = issued.map(({ companyId, apiKeyId, lookupId }) => ({
    lookup_id: lookupId,
    company_id: companyId,
    api_key_id: apiKeyId,
  }));
  const rows = issued.map(({ secret }, index) => ({
    ...lookups[index],
    secret_hash: pepper.hash(secret.reveal()).toString('hex'),
  }));
  await sql.query(keys, [JSON.stringify(rows), permissions]);
  const { rows: buyers } = await sql.query<{ company_id: string; id: string }>(
    'SELECT DISTINCT ON (company_id) company_id, id FROM customers ORDER BY company_id, id',
  );
  await sql.query('COMMIT');
  await sql.query('VACUUM ANALYZE');
  const buyerOf = new Map(buyers.map(({ company_id, id }) => [company_id, id]));
  return {
    companyIds: made.map(({ id }) => id),
    sandboxes: issued.map(({ companyId, text }) => ({
      shard,
      companyId,
      key: text.reveal(),
      customerId: buyerOf.get(companyId) ?? '',
    })),
    lookups,
  };
}
