import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Environment } from './environment.ts';

/**
 * Writes the same rows as an order, one statement at a time with the same two commits, as a careful program without batches
 * would. Uses pgbench if it is installed, otherwise a program that does the same.
 */

/** `:name` is a value from the first statement. */
const statements = [
  `BEGIN`,
  `INSERT INTO idempotency_keys (company_id, key, method, path, field_hashes, request_id, api_version, operation_id,
     expires_at)
   VALUES (:company_id, :key, 'POST', '/v1/orders', :hashes, :request_id, '2026-02-11', :order_id,
     now() + interval '1 day')`,
  `INSERT INTO orders (company_id, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status,
     items, currency, subtotal, discount_amount, total, refunded_amount, metadata, attempt_count, request_id, sequence,
     updated_at)
   VALUES (:company_id, :order_id, :number, :customer_id, :payment_method_id, 'visa', '4242', 'pending', :items, 'usd',
     9800, 0, 9800, 0, '{}', 0, :request_id, 1, now())`,
  `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount, currency,
     card_brand, card_last4, updated_at, locked_until, next_check_at)
   VALUES (:company_id, :order_id, '00000000-0000-0000-0000-000000000000', :sale_id, :customer_id, :payment_method_id,
     'sale', 9800, 'usd', 'visa', '4242', now(), now() + interval '5 s', now() + interval '5 s')`,
  `INSERT INTO events (company_id, id, type, object_id, sequence, request_id, object)
   VALUES (:company_id, :created_id, 'order.created', :order_id, 1, :request_id, :object)`,
  `COMMIT`,
  `BEGIN`,
  `UPDATE orders SET status = 'succeeded', sequence = 2, sale_id = :sale_id, answer_event_id = :succeeded_id,
     updated_at = now()
   WHERE company_id = :company_id AND id = :order_id AND status = 'pending' AND sequence = 1`,
  `DELETE FROM open_transactions WHERE company_id = :company_id AND order_id = :order_id`,
  `INSERT INTO transactions (company_id, id, order_id, customer_id, payment_method_id, type, amount, currency,
     card_brand, card_last4, status, processor_response, updated_at)
   VALUES (:company_id, :sale_id, :order_id, :customer_id, :payment_method_id, 'sale', 9800, 'usd', 'visa', '4242',
     'succeeded', :response, now())`,
  `INSERT INTO events (company_id, id, type, object_id, sequence, request_id, object)
   VALUES (:company_id, :succeeded_id, 'order.succeeded', :order_id, 2, :request_id, :object)`,
  `COMMIT`,
];

const choose = `SELECT s.company_id, s.customer_id, s.payment_method_id, p.items, p.object, p.response, p.hashes,
    uuidv7() AS order_id, uuidv7() AS sale_id, uuidv7() AS created_id, uuidv7() AS succeeded_id,
    gen_random_uuid() AS key, 'req_' || left(md5(random()::text), 24) AS request_id,
    left(md5(random()::text), 10) AS number
  FROM bench_shoppers s, bench_payload p WHERE s.n = :n`;

/** Customers, and values with the length of real orders, for the raw writer. */
export async function prepareRawOrders({ sql }: Environment, sampleOrder: object, companyId: string): Promise<number> {
  await sql.query(`CREATE TABLE bench_shoppers AS
    SELECT row_number() OVER ()::integer AS n, company_id, id AS customer_id,
      default_payment_method_id AS payment_method_id
    FROM customers WHERE company_id = '${companyId}' AND default_payment_method_id IS NOT NULL`);
  await sql.query('CREATE UNIQUE INDEX ON bench_shoppers (n)');
  await sql.query('CREATE TABLE bench_payload (items json, object json, response json, hashes jsonb)');
  const { items } = sampleOrder as { items: object[] };
  const response = {
    transaction_id: 'sbx_019c4c214a007e128c3d7e6f5a4b3c2d',
    authorization_code: '4B3C2D',
    avs_result: 'Y',
    cvv_result: 'M',
    response_code: '00',
    response_text: 'Approved',
  };
  const hashes = { items: 'AAAAAAAAAAAAAAAA', customer_id: 'AAAAAAAAAAAAAAAA' };
  await sql.query('INSERT INTO bench_payload VALUES ($1, $2, $3, $4)', [
    JSON.stringify(items),
    JSON.stringify(sampleOrder),
    JSON.stringify(response),
    JSON.stringify(hashes),
  ]);
  const { rows } = await sql.query<{ count: number }>('SELECT count(*)::integer AS count FROM bench_shoppers');
  return rows[0]?.count ?? 0;
}

export interface RawResult {
  readonly perSecond: number;
  readonly count: number;
}

export const hasPgbench = (): boolean => spawnSync('pgbench', ['--version']).status === 0;

const run = promisify(execFile);

export async function writeRawOrders(
  connectionString: string,
  shoppers: number,
  clients: number,
  seconds: number,
): Promise<RawResult> {
  return hasPgbench()
    ? withPgbench(connectionString, shoppers, clients, seconds)
    : withProgram(connectionString, shoppers, clients, seconds);
}

async function withPgbench(
  connectionString: string,
  shoppers: number,
  clients: number,
  seconds: number,
): Promise<RawResult> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-pgbench-'));
  try {
    const script = join(folder, 'order.sql');
    const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');
    const lines = [
      `\\set n random(1, ${shoppers})`,
      `${oneLine(choose)} \\gset`,
      ...statements.map((text) => `${oneLine(text)};`),
    ];
    await writeFile(script, `${lines.join('\n')}\n`);
    const args = ['-n', '-M', 'prepared', '-f', script, '-c', String(clients), '-j', '2', '-T', String(seconds)];
    const { stdout } = await run('pgbench', [...args, connectionString]);
    const count = Number(/transactions actually processed: (\d+)/.exec(stdout)?.[1]);
    const perSecond = Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
    return { perSecond, count };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Replaces named parameters with numbered ones. */
function bound(text: string): { text: string; names: string[] } {
  const names: string[] = [];
  const numbered = text.replaceAll(/(?<!:):([a-z_]+)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { text: numbered, names };
}

async function withProgram(
  connectionString: string,
  shoppers: number,
  clients: number,
  seconds: number,
): Promise<RawResult> {
  const prepared = statements.map((text, index) => ({ name: `raw${index}`, ...bound(text) }));
  const chosen = bound(choose);
  const startedAtMs = performance.now();
  const untilMs = startedAtMs + seconds * 1000;
  let count = 0;
  const asText = (value: unknown): unknown =>
    typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
  async function loop(): Promise<void> {
    const client = new pg.Client({ connectionString });
    await client.connect();
    while (performance.now() < untilMs) {
      const n = 1 + Math.floor(Math.random() * shoppers);
      const { rows } = await client.query({ name: 'choose', text: chosen.text, values: [n] });
      const values = rows[0] as Record<string, unknown>;
      for (const { name, text, names } of prepared) {
        await client.query({ name, text, values: names.map((wanted) => asText(values[wanted])) });
      }
      count += 1;
    }
    await client.end();
  }
  await Promise.all(Array.from({ length: clients }, loop));
  return { perSecond: count / ((performance.now() - startedAtMs) / 1000), count };
}
