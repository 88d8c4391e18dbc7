import { randomUUID } from 'node:crypto';
import type { JobResult } from './client.ts';
import type { ServerProcess } from './environment.ts';
import { connections, openShop, workload as orders } from './orders.ts';
import type { Bench } from './workload.ts';

/** Subscriptions in the database, paid once and without a due date, and orders of the same customers. */

const shopperCount = 500;
/** Until Node has compiled what an order needs. */
export const warmUpSeconds = 15;

export interface Shop {
  readonly planId: string;
  readonly customers: readonly string[];
  readonly products: readonly string[];
}

/** Orders for some seconds. The answer counts them. */
export async function order(
  { client, environment }: Bench,
  server: ServerProcess,
  { customers, products }: Pick<Shop, 'customers' | 'products'>,
  seconds: number,
): Promise<JobResult> {
  const { baseUrl } = server;
  const { key } = environment;
  return client.run({
    module: orders.module,
    request: 'order',
    baseUrl,
    key,
    connections,
    seconds,
    data: { customers, products },
  });
}

/**
 * Creates customers with cards and orders through the API, and subscriptions in the database: paid once, without a due date.
 * The orders come first, because PostgreSQL plans badly for tables that it found empty.
 */
export async function seedSubscriptions(bench: Bench, count: number, dataDir: string): Promise<Shop> {
  const { environment, note } = bench;
  const { sql, key, companyId } = environment;
  const server = await environment.startService('seeding', {
    settings: { SVC_ROLES: 'api,vault', SVC_DATA_DIR: dataDir },
  });
  const { customers, products } = await openShop(server, key, shopperCount);
  await order(bench, server, { customers, products }, warmUpSeconds);
  await server.stop();
  const planId = randomUUID();
  await sql.query(
    `INSERT INTO plans (company_id, id, name, plan_code, amount, one_time_amount, currency, interval, interval_count,
       billing_cycles, pricing_tiers, active, updated_at)
     VALUES ($1, $2, 'Tea of the month', 'tea', 1900, 0, 'usd', 'month', 1, 0, '[]', true, now())`,
    [companyId, planId],
  );
  const items = [
    { product_id: randomUUID(), quantity: 1, name: 'Tea pot', sku: 'tea-pot', unit_price: null, total: null },
  ];
  await sql.query(
    `INSERT INTO subscriptions (company_id, id, customer_id, plan_id, payment_method_id, card_brand, card_last4, status,
       plan_name, amount, one_time_amount, currency, items, interval, interval_count, billing_cycles, metadata, start_at,
       base_at, next_number, current_cycle, completed_cycles, current_period_start, current_period_end, attempt_count,
       sequence, updated_at)
     SELECT $1, uuidv7(), s.customer_id, $2, s.payment_method_id, 'visa', '4242', 'active', 'Tea of the month', 1900, 0,
       'usd', $3::json, 'month', 1, 0, '{}', now(), now(), 1, 1, 1, now(), now() + interval '1 month', 0, 1, now()
     FROM generate_series(1, $4::integer) n
     JOIN (SELECT row_number() OVER () AS place, id AS customer_id, default_payment_method_id AS payment_method_id
           FROM customers WHERE company_id = $1) s ON s.place = 1 + n % $5::integer`,
    [companyId, planId, JSON.stringify(items), count, shopperCount],
  );
  note(`${count} subscriptions seeded`);
  return { planId, customers, products };
}
