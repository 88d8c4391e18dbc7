import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Queryable } from '../../server/platform/database.ts';
import { moveCompanies } from '../../server/shards/move/move.ts';
import { findTables } from '../../server/shards/move/tables.ts';
import { openShop, order, succeeded } from '../support/orders.ts';
import { durable, startShardServers } from '../support/shard-servers.ts';
import { atMost, type Drill, exactly, shown } from './drill.ts';

/** A company with 200,000 orders moves to another PostgreSQL server while it charges. */

const orders = 200_000;
const clients = 4;
const paceMs = 200;
/** A request that began before the switch ends by then. */
const keptMs = 6_000;

const seedOrders = `
  INSERT INTO orders (company_id, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status,
    items, currency, subtotal, discount_amount, total, refunded_amount, metadata, attempt_count, request_id, sale_id,
    sequence, answer_event_id, updated_at)
  SELECT o.company_id, made.id, 'S' || made.n, o.customer_id, o.payment_method_id, o.card_brand, o.card_last4, o.status,
    o.items, o.currency, o.subtotal, o.discount_amount, o.total, o.refunded_amount, o.metadata, o.attempt_count, 'req_seed',
    made.id, o.sequence, made.id, o.updated_at
  FROM orders o CROSS JOIN (
    SELECT n, (lpad(to_hex($2::bigint + n), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid AS id
    FROM generate_series(1, ${orders}) n) made
  WHERE o.id = $1`;
const seedTransactions = `
  INSERT INTO transactions (company_id, id, order_id, customer_id, payment_method_id, type, amount, currency, card_brand,
    card_last4, status, processor_response, updated_at)
  SELECT company_id, id, id, customer_id, payment_method_id, 'sale', total, currency, card_brand, card_last4, 'succeeded',
    '{"transaction_id": "seed"}', updated_at FROM orders WHERE company_id = $1 AND request_id = 'req_seed'`;
const seedEvents = `
  INSERT INTO events (company_id, id, type, object_id, sequence, request_id, object)
  SELECT o.company_id, o.id, 'order.succeeded', o.id, 2, 'req_seed', e.object
  FROM orders o JOIN events e ON e.company_id = o.company_id AND e.object_id = $2 AND e.type = 'order.succeeded'
  WHERE o.company_id = $1 AND o.request_id = 'req_seed'`;

async function countRows(db: Queryable, companyId: string): Promise<number> {
  let sum = 0;
  for (const { name, company } of await findTables(db)) {
    const [row] = await db.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM ${name} t WHERE ${company('t')}::text = $1`,
      [companyId],
    );
    sum += row?.count ?? 0;
  }
  return sum;
}

export const drill: Drill = {
  summary: 'A company with 200,000 orders moves to another shard while it charges.',
  programs: [],
  async run({ note, cleanUp }) {
    const { service, urlOf, stop } = await startShardServers({}, durable);
    cleanUp(stop);
    const { key, sandbox } = await service.createMerchant();
    const on = (shard: string): Queryable => service.shards.of({ shard }).db;
    const shop = await openShop(service, undefined, { key });
    const first = await succeeded(service, shop, { key });
    note(`${orders} orders are seeded`);
    const seeding = new pg.Client({ connectionString: urlOf('b') });
    await seeding.connect();
    await seeding.query(seedOrders, [first.id, Date.now() - 60_000 - orders]);
    await seeding.query(seedTransactions, [sandbox.id]);
    await seeding.query(seedEvents, [sandbox.id, first.id]);
    await seeding.query('ANALYZE');
    await seeding.end();
    const before = await countRows(on('b'), sandbox.id);

    const placed: string[] = [];
    let [stopped, repeated, longestMs] = [false, 0, 0];
    const ordering = Array.from({ length: clients }, async () => {
      while (!stopped) {
        const idempotencyKey = randomUUID();
        const startedMs = performance.now();
        for (;;) {
          const reply = await order(service, shop, {}, { key, idempotencyKey });
          if (reply.status === 201) placed.push(reply.body.id);
          if (reply.status === 201) break;
          repeated += 1;
          await sleep(50);
          for (const shard of ['a', 'b']) await service.paymentsOn(shard).orders.reconcileDue(100);
        }
        longestMs = Math.max(longestMs, performance.now() - startedMs);
        await sleep(paceMs);
      }
    });
    note('it moves');
    const times = new Map<string, number>();
    const onStep = (step: string): void => void times.set(step, performance.now());
    const mover = { shards: service.shards, urlOf, keptMs, onStep };
    const { stopMs = Infinity } = await moveCompanies(mover, sandbox.id, 'a');
    const endedMs = performance.now();
    stopped = true;
    await Promise.all(ordering);
    const seconds = (from: string, toMs: number | undefined): string =>
      `${Math.round(((toMs ?? 0) - (times.get(from) ?? 0)) / 100) / 10} s`;
    const sales = await on('a').query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM transactions WHERE company_id = $1 AND order_id = ANY($2) AND type = 'sale'
       AND status = 'succeeded'`,
      [sandbox.id, placed],
    );
    return [
      shown('rows of the company', before),
      shown('triggers', seconds('prepare', times.get('copy'))),
      shown('copy', seconds('copy', times.get('switch'))),
      atMost('stop of writes', stopMs, 1_000, ' ms'),
      shown('removal from the old shard', seconds('clean', endedMs)),
      shown('orders during the move', placed.length),
      shown('requests that were repeated', repeated),
      shown('longest time until an answer', `${Math.round(longestMs)} ms`),
      exactly('orders that were lost or charged twice', placed.length - (sales[0]?.count ?? 0), 0),
      exactly('rows left on the old shard', await countRows(on('b'), sandbox.id), 0),
    ];
  },
};
