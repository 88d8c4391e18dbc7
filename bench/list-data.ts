import { seedCustomers, withoutIndexes } from './customer-data.ts';
import type { Environment } from './environment.ts';

/** A year of a merchant, inserted directly in PostgreSQL: orders with their transactions, cards, products, plans and subscriptions. */

const customers = 100_000;
const products = 300;
const subscriptions = 50_000;

/** An id with this time in milliseconds. */
const idAt = (ms: string, seed: string): string =>
  `(lpad(to_hex(${ms}), 12, '0') || '7' || substr(md5(${seed}), 1, 3) || '8' || substr(md5(${seed}), 4, 15))::uuid`;

const seedCards = `
  INSERT INTO payment_methods (company_id, id, customer_id, card_id, brand, last4, exp_month, exp_year, fingerprint)
  SELECT company_id, gen_random_uuid(), id, gen_random_uuid(),
    (ARRAY['visa', 'visa', 'visa', 'visa', 'mastercard', 'mastercard', 'amex', 'discover'])[1 + n % 8],
    lpad((n * 7919 % 10000)::text, 4, '0'), 1 + n % 12, 2027 + n % 7, 'bench'
  FROM (SELECT company_id, id, row_number() OVER (ORDER BY id) AS n FROM customers WHERE company_id = $1) numbered`;

const buyers = `
  CREATE TABLE bench_buyers AS
  SELECT row_number() OVER (ORDER BY id) AS n, customer_id, id AS payment_method_id, brand, last4
  FROM payment_methods WHERE company_id = $1`;

const seedProducts = `
  INSERT INTO products (company_id, id, name, amount, currency, requires_shipping, sku, availability, metadata, active, updated_at)
  SELECT $1, ${idAt('$2::bigint + n', "'p' || n")}, 'Product ' || n || ' ' || substr(md5(n::text), 1, 6), 1000 + n, 'usd', false,
    'sku-' || n, 'in_stock', '{}', true, now()
  FROM generate_series(1, ${products}) n`;

const goods = `CREATE TABLE bench_goods AS SELECT row_number() OVER (ORDER BY id) - 1 AS n, id, name FROM products WHERE company_id = $1`;

const seedPlans = `
  INSERT INTO plans (company_id, id, name, plan_code, amount, one_time_amount, currency, interval, interval_count, anchor_day,
    billing_cycles, pricing_tiers, active, updated_at)
  SELECT $1, ${idAt('$2::bigint + n', "'l' || n")}, 'Plan ' || n, 'plan-' || n, 900 * n, 0, 'usd', 'month', 1, 1, 0, '[]', true, now()
  FROM generate_series(1, 10) n`;

const seedSubscriptions = `
  INSERT INTO subscriptions (company_id, id, customer_id, plan_id, payment_method_id, card_brand, card_last4, status, plan_name,
    amount, one_time_amount, currency, items, interval, interval_count, anchor_day, billing_cycles, metadata, start_at, base_at,
    next_number, current_cycle, completed_cycles, attempt_count, sequence, updated_at, canceled_at)
  SELECT $1, ${idAt('$2::bigint + b.n * 600', "'s' || b.n")}, b.customer_id, p.id, b.payment_method_id, b.brand, b.last4,
    CASE WHEN b.n % 10 = 0 THEN 'canceled' WHEN b.n % 50 = 1 THEN 'past_due' ELSE 'active' END, p.name, p.amount, 0, 'usd', '[]',
    'month', 1, 1, 0, '{}', now(), now(), 1, 1, 1, 0, 1, now(), CASE WHEN b.n % 10 = 0 THEN now() END
  FROM bench_buyers b JOIN (SELECT row_number() OVER (ORDER BY id) - 1 AS n, * FROM plans WHERE company_id = $1) p ON p.n = b.n % 10
  WHERE b.n <= ${subscriptions}`;

const seedOrders = `
  INSERT INTO orders (company_id, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status, items,
    currency, subtotal, discount_amount, total, refunded_amount, coupon, metadata, attempt_count, failure_code, sale_id, sequence,
    updated_at)
  SELECT $1, made.id, upper(lpad(to_hex((made.n::bigint * 2654435761) % 4294967296), 8, '0')), b.customer_id, b.payment_method_id, b.brand, b.last4, made.status,
    json_build_array(json_build_object('product_id', g.id, 'quantity', 1, 'name', g.name, 'sku', g.name, 'unit_price', made.total,
      'total', made.total)),
    CASE WHEN made.n % 100 = 0 THEN 'jpy' WHEN made.n % 12 = 0 THEN 'eur' ELSE 'usd' END, made.total, 0, made.total,
    CASE WHEN made.status = 'refunded' THEN made.total ELSE 0 END,
    CASE WHEN made.n % 50 = 0 THEN json_build_object('id', $5::uuid, 'code', 'BENCH', 'discount_amount', 0) END, '{}', 1,
    CASE WHEN made.status = 'failed' THEN (ARRAY['insufficient_funds', 'do_not_honor', 'expired_card'])[1 + made.n % 3] END,
    CASE WHEN made.status <> 'failed' THEN made.id END, 2, to_timestamp(made.ms / 1000.0)
  FROM (
    SELECT n, ms, 100 + (n::bigint * 7919) % 90000 AS total, ${idAt('ms', "'o' || n")} AS id,
      CASE WHEN n % 13 = 0 THEN 'failed' WHEN n % 31 = 0 THEN 'refunded' WHEN n % 1009 = 0 THEN 'chargeback' ELSE 'succeeded' END
        AS status
    FROM (SELECT n, $2::bigint + n * $6::bigint AS ms FROM generate_series($3::integer, $4::integer) n) numbered
  ) made
  JOIN bench_buyers b ON b.n = 1 + (made.n::bigint * 48271) % ${customers}
  JOIN bench_goods g ON g.n = made.n % ${products}`;

const seedTransactions = `
  INSERT INTO transactions (company_id, id, order_id, customer_id, payment_method_id, type, amount, currency, card_brand,
    card_last4, status, failure_code, updated_at)
  SELECT company_id, id, id, customer_id, payment_method_id, 'sale', greatest(total, 1), currency, card_brand, card_last4,
    CASE WHEN status = 'failed' THEN 'failed' ELSE 'succeeded' END, failure_code, updated_at
  FROM orders WHERE company_id = $1`;

const seedIndex = `
  INSERT INTO orders_by_object (company_id, object_id, order_id)
  SELECT company_id, (items -> 0 ->> 'product_id')::uuid, id FROM orders WHERE company_id = $1
  UNION ALL SELECT company_id, (coupon ->> 'id')::uuid, id FROM orders WHERE company_id = $1 AND coupon IS NOT NULL`;

const seedCursor = `
  INSERT INTO order_index_cursors (company_id, after_id, until_id)
  SELECT company_id, id, id FROM orders WHERE company_id = $1 ORDER BY id DESC LIMIT 1 OFFSET 2000
  ON CONFLICT (company_id) DO UPDATE SET after_id = excluded.after_id, until_id = excluded.until_id`;

export const couponId = '019c4c1e-6f00-7a3b-9d1c-00000000c0de';

/** The newest 2,000 orders are not in the index of the worker yet, as after a busy quarter of an hour. */
export async function seedLists(environment: Environment, orders: number, note: (text: string) => void): Promise<void> {
  const { sql, companyId } = environment;
  const yearMs = 365 * 24 * 3600 * 1000;
  const firstMs = Date.now() - 60_000 - yearMs;
  await seedCustomers(environment, customers);
  // Without the triggers of foreign keys: the rows refer to each other by construction.
  await sql.query('SET session_replication_role = replica');
  await sql.query(seedCards, [companyId]);
  await sql.query(buyers, [companyId]);
  await sql.query(seedProducts, [companyId, firstMs]);
  await sql.query(goods, [companyId]);
  await sql.query(seedPlans, [companyId, firstMs]);
  await sql.query(seedSubscriptions, [companyId, firstMs]);
  await sql.query('ANALYZE bench_buyers');
  note('customers, products and subscriptions seeded');
  await withoutIndexes(environment, 'orders', () =>
    sql.query(seedOrders, [companyId, firstMs, 1, orders, couponId, Math.floor(yearMs / orders)]),
  );
  note(`${orders} orders seeded`);
  await withoutIndexes(environment, 'transactions', () => sql.query(seedTransactions, [companyId]));
  await sql.query(seedIndex, [companyId]);
  await sql.query(seedCursor, [companyId]);
  await sql.query('SET session_replication_role = origin');
  await sql.query('VACUUM ANALYZE');
  await sql.query('CHECKPOINT');
}
