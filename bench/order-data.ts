import type pg from 'pg';
import type { Environment } from './environment.ts';

/** Inserts millions of completed orders, within PostgreSQL: that costs less than COPY of rows from outside. */

// IDs are UUID v7 with ascending milliseconds up to a minute ago, so that orders of the run come after them.
const seedOrders = `
  INSERT INTO orders (company_id, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status,
    items, currency, subtotal, discount_amount, total, refunded_amount, metadata, attempt_count, request_id, sale_id,
    sequence, answer_event_id, updated_at)
  SELECT s.company_id, made.id, 'S' || made.n, s.customer_id, s.payment_method_id, 'visa', '4242', 'succeeded', p.items, 'usd',
    total, 0, total, 0, '{}', 0, 'req_seed', made.id, 2, made.id, to_timestamp(ms / 1000.0)
  FROM (
    SELECT n, ms, 100 + n % 90000 AS total,
      (lpad(to_hex(ms), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid AS id
    FROM (SELECT n, $1::bigint + n AS ms FROM generate_series($2::integer, $3::integer) n) numbered
  ) made
  JOIN bench_shoppers s ON s.n = 1 + made.n % $4::integer
  CROSS JOIN bench_payload p`;

const seedTransactions = `
  INSERT INTO transactions (company_id, id, order_id, customer_id, payment_method_id, type, amount, currency, card_brand,
    card_last4, status, processor_response, updated_at)
  SELECT company_id, id, id, customer_id, payment_method_id, 'sale', total, 'usd', 'visa', '4242', 'succeeded',
    response, updated_at
  FROM orders CROSS JOIN bench_payload
  WHERE request_id = 'req_seed' AND NOT EXISTS (SELECT 1 FROM transactions t WHERE t.company_id = orders.company_id AND t.id = orders.id)`;

const seedEvents = `
  INSERT INTO events (company_id, id, type, object_id, sequence, request_id, object)
  SELECT company_id, id, 'order.succeeded', id, 2, 'req_seed', '{}' FROM orders WHERE request_id = 'req_seed'
  ON CONFLICT DO NOTHING`;

// Otherwise the worker would index the seeded orders during the measurement.
const markIndexed = `
  INSERT INTO order_index_cursors (company_id, after_id, until_id)
  SELECT company_id, id, id FROM orders WHERE request_id = 'req_seed' ORDER BY id DESC LIMIT 1
  ON CONFLICT (company_id) DO UPDATE SET after_id = excluded.after_id, until_id = excluded.until_id`;

const batch = 100_000;
/** More orders than this have no events, so that the disk holds them. */
const withEventsMax = 1_000_000;

/** Fills up to `wanted` seeded orders. */
export async function seedOrdersTo(
  { sql }: Environment,
  wanted: number,
  shoppers: number,
  note: (text: string) => void,
): Promise<void> {
  const { rows } = await sql.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM orders WHERE request_id = 'req_seed'`,
  );
  const have = rows[0]?.count ?? 0;
  const firstMs = Date.now() - 60_000 - Math.max(wanted, 2_000_000);
  await withoutChecks(sql, async () => {
    for (let from = have + 1; from <= wanted; from += batch) {
      await sql.query(seedOrders, [firstMs, from, Math.min(from + batch - 1, wanted), shoppers]);
      note(`${Math.min(from + batch - 1, wanted)} orders seeded`);
    }
    await sql.query(seedTransactions);
    if (wanted <= withEventsMax) await sql.query(seedEvents);
  });
  await sql.query(markIndexed);
  await sql.query('VACUUM ANALYZE');
  await sql.query('CHECKPOINT');
  note('the indexes are built');
}

/** Without foreign keys, and with indexes that are built at the end, ten million rows take minutes and not an hour. */
async function withoutChecks(sql: pg.Client, work: () => Promise<void>): Promise<void> {
  const { rows: indexes } = await sql.query<{ name: string; definition: string }>(
    `SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
     FROM pg_index i WHERE i.indrelid IN ('orders'::regclass, 'transactions'::regclass)
       AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)`,
  );
  await sql.query(`SET session_replication_role = replica`);
  await sql.query(`SET synchronous_commit = off`);
  await sql.query(`SET maintenance_work_mem = '1GB'`);
  for (const { name } of indexes) await sql.query(`DROP INDEX ${name}`);
  await work();
  for (const { definition } of indexes) await sql.query(definition);
  await sql.query('RESET ALL');
}
