import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Queryable } from '../server/platform/database.ts';
import { migrationNames } from '../server/platform/migration-files.ts';
import { svc } from '../tests/support/command.ts';
import { openShop, order, refund, checkAllOpen } from '../tests/support/orders.ts';
import { startTestService, type TestService } from '../tests/support/service.ts';
import { advance, somePlan, someSubscriber, subscribe } from '../tests/support/subscriptions.ts';
import { examine } from './doctor.ts';
import { checks } from './doctor-queries.ts';
import { programPath } from '../tests/support/programs.ts';

const run = promisify(execFile);
let service: TestService;

/** A company with every kind of object and history. */
before(async () => {
  service = await startTestService();
  const shop = await openShop(service);
  const declined = await openShop(service, '4000000000000002');
  const coupon = { kind: 'promo', name: 'TEA', percentage: 25, duration: 'forever' };
  await service.call('POST', '/v1/coupons', { body: coupon, idempotencyKey: randomUUID() });
  const { body: paid } = await order(service, shop, { coupon_code: 'TEA' });
  await refund(service, paid.id, 100);
  await order(service, shop);
  await order(service, declined, { coupon_code: 'TEA' });
  await order(service, await openShop(service, '4000000000000259'));
  for (const action of [undefined, 'capture', 'void']) {
    const { body: held } = await order(service, shop, { capture: 'manual', coupon_code: 'TEA' });
    if (action) await service.call('POST', `/v1/orders/${held.id}/${action}`);
  }
  const plan = await somePlan(service);
  for (const card of [undefined, '4000009999000341', '4000009999003220', '4000009999007070']) {
    const customer_id = await someSubscriber(service, card);
    await subscribe(service, { customer_id, plan_id: plan.id, coupon_code: 'TEA' });
  }
  const later = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10);
  const customer_id = await someSubscriber(service);
  await subscribe(service, { customer_id, plan_id: plan.id, start_date: later, coupon_code: 'TEA' });
  for (const type of ['checkout_session.completed', 'checkout_session.expired']) {
    await service.call('POST', '/v1/sandbox/events/trigger', { body: { type } });
  }
  const credit = { type: 'grant', amount: 500, currency: 'eur', reason: 'Late delivery' };
  await service.call('POST', `/v1/customers/${shop.customerId}/credit`, { body: credit, idempotencyKey: randomUUID() });
  await checkAllOpen(service);
  await advance(service, { by: { months: 1, days: 2 } });
  await checkAllOpen(service);
  await order(service, shop, { capture: 'manual', coupon_code: 'TEA' });
});
after(() => service.stop());

class Undone extends Error {}

/** Corrupts the database, returns what the doctor finds, and rolls back. */
async function findingsAfter(corrupt: (db: Queryable) => Promise<unknown>): Promise<string[]> {
  let found: string[] = [];
  await service.db
    .transaction(async (transaction) => {
      await corrupt(transaction);
      found = (await examine(transaction)).map(({ check }) => check);
      throw new Undone();
    })
    .catch((error: unknown) => assert.ok(error instanceof Undone, String(error)));
  return found;
}

/** The database itself prevents most of this, so the test removes its constraint first, as a broken restore might. */
const corruptions: Readonly<Record<string, readonly string[]>> = {
  due_too_late: [`INSERT INTO workers (id, seen_at) VALUES (uuidv7(), now() + interval '25 h')`],
  refunded_beyond_captured: [
    `UPDATE transactions SET amount = amount * 1000 WHERE id = (SELECT id FROM transactions WHERE type = 'refund' LIMIT 1)`,
  ],
  refunded_amount_differs: [`UPDATE orders SET refunded_amount = refunded_amount + 1 WHERE refunded_amount > 0`],
  charged_twice: [
    `DROP INDEX transactions_one_successful_sale`,
    `INSERT INTO transactions SELECT (t).* FROM (SELECT jsonb_populate_record(NULL::transactions,
       to_jsonb(t) || jsonb_build_object('id', uuidv7(), 'reference', NULL)) AS t FROM transactions t
       WHERE type = 'sale' AND status = 'succeeded' LIMIT 1) copies`,
  ],
  paid_without_charge: [
    `DELETE FROM transactions WHERE id = (SELECT sale_id FROM orders WHERE sale_id IS NOT NULL LIMIT 1)`,
  ],
  charged_other_amount: [
    `UPDATE transactions SET amount = amount + 1 WHERE id = (SELECT sale_id FROM orders WHERE sale_id IS NOT NULL LIMIT 1)`,
  ],
  released_and_captured: [
    `UPDATE transactions SET status = 'voided' WHERE type = 'auth' AND order_id IN (
       SELECT id FROM orders WHERE captured_amount IS NOT NULL)`,
  ],
  held_without_authorization: [`UPDATE orders SET capture_before = NULL WHERE capture_before IS NOT NULL`],
  authorization_not_released: [
    `UPDATE orders SET capture_before = now() - interval '2 days' WHERE capture_before IS NOT NULL`,
  ],
  pending_without_charge_under_way: [
    `UPDATE orders SET status = 'pending', failure_code = NULL WHERE id = (SELECT id FROM orders WHERE status = 'failed' LIMIT 1)`,
  ],
  long_in_doubt: [
    `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount, currency,
       card_brand, card_last4, updated_at, opened_at, locked_until, next_check_at)
     SELECT company_id, id, '00000000-0000-0000-0000-000000000000', uuidv7(), customer_id, payment_method_id, 'sale',
       total, currency, card_brand, card_last4, now(), now() - interval '2 days', now(), now()
     FROM orders WHERE status = 'failed' LIMIT 1`,
  ],
  waiting_for_the_vault: [
    `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount, currency,
       card_brand, card_last4, updated_at, opened_at, locked_until, next_check_at, state, waits_for, cause)
     SELECT company_id, id, '00000000-0000-0000-0000-000000000000', uuidv7(), customer_id, payment_method_id, 'sale',
       total, currency, card_brand, card_last4, now(), now() - interval '1 hour', now(), now(), 'waiting', 'service', 'renewal'
     FROM orders WHERE status = 'failed' LIMIT 1`,
  ],
  refused_credentials: [
    `INSERT INTO processor_connections (company_id, id, kind, name, position, request_life_ms, refused_at)
     SELECT id, uuidv7(), 'stripe', 'Stripe', 1, 60000, now() FROM companies WHERE mode = 'live' LIMIT 1`,
  ],
  rejected_account: [
    `INSERT INTO processor_connections (company_id, id, kind, name, position, request_life_ms, rejected_at, rejection,
       rejected_operation)
     SELECT id, uuidv7(), 'stripe', 'Stripe', 2, 60000, now(), 'a test', 'charge' FROM companies
     WHERE mode = 'live' LIMIT 1`,
  ],
  rejected_operation: [
    `INSERT INTO processor_connections (company_id, id, kind, name, position, request_life_ms, rejected_at, rejection,
       rejected_operation)
     SELECT id, uuidv7(), 'stripe', 'Stripe', 3, 60000, now(), 'a test', 'refund' FROM companies
     WHERE mode = 'live' LIMIT 1`,
  ],
  restored: [
    `INSERT INTO company_gates (company_id, noticed_by, detail) SELECT id, 'operator', 'a test' FROM companies
     WHERE mode = 'live' LIMIT 1`,
  ],
  open_restore: [`INSERT INTO restores (id, noticed_by, detail) VALUES (uuidv7(), 'operator', 'a test')`],
  refund_without_notice: [
    `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount, currency,
       card_brand, card_last4, updated_at, opened_at, locked_until, next_check_at)
     SELECT company_id, id, made, made, customer_id, payment_method_id, 'refund',
       total, currency, card_brand, card_last4, now(), now() - interval '11 days', now(), now()
     FROM orders, uuidv7() AS made WHERE status = 'succeeded' LIMIT 1`,
  ],
  missing_operation: [
    `INSERT INTO missing_operations (company_id, reference, kind, processor_transaction_id, executed_at)
     SELECT id, uuidv7(), 'charge', 'acq_1', now() FROM companies LIMIT 1`,
  ],
  checkout_without_payment: [`UPDATE checkout_sessions SET order_id = uuidv7() WHERE status = 'completed'`],
  long_checkout: [
    `INSERT INTO checkout_payments (company_id, session_id, number, state, input, total, started_at, check_at)
     SELECT company_id, id, 1, 'open', '{}', 0, now() - interval '2 days', now() FROM checkout_sessions
     WHERE status <> 'completed' LIMIT 1`,
  ],
  payment_link_count_differs: [
    `INSERT INTO payment_links (company_id, id, token_hash, sealed_token, name, mode, items, allow_coupons, collect, metadata,
       payments, updated_at)
     SELECT id, uuidv7(), '\\x00', '\\x00', 'Tea', 'payment', '[]', false, '{}', '{}', 1, now() FROM companies LIMIT 1`,
  ],
  cycle_charged_twice: [
    `DROP INDEX orders_cycle`,
    `DROP INDEX orders_first_charge`,
    `UPDATE orders SET subscription_cycle = 1 WHERE subscription_cycle = 2`,
  ],
  cycles_miscounted: [
    `UPDATE subscriptions SET completed_cycles = completed_cycles - 1 WHERE completed_cycles > 1 AND status = 'active'`,
  ],
  change_without_payment: [
    `INSERT INTO subscription_changes (company_id, subscription_id, number, id, order_id, at, recorded_at, restarts, before, after, lines)
     SELECT o.company_id, s.id, 1, o.id, o.id, now(), now(), false, '{}', '{}', '[]'
     FROM orders o JOIN subscriptions s ON s.company_id = o.company_id WHERE o.status = 'failed' LIMIT 1`,
  ],
  change_not_made: [
    `DROP INDEX orders_change`,
    `ALTER TABLE orders DROP CONSTRAINT orders_of_change`,
    `UPDATE orders SET subscription_change = 9 WHERE subscription_cycle = 2 AND status = 'succeeded'`,
  ],
  overdue_renewal: [`UPDATE subscriptions SET due_at = now() - interval '1 day' WHERE status = 'active'`],
  forgotten_subscription: [`UPDATE subscriptions SET due_at = NULL WHERE status = 'active'`],
  day_missummed: [
    `INSERT INTO figure_days (company_id, starts_at, zone, day, ends_at, figures, due_at)
     SELECT id, now() - interval '1 day', 'UTC', '2026-01-01', now(), '{"usd": {"gross": 1}}', now() FROM companies LIMIT 1`,
  ],
  revenue_missummed: [`UPDATE subscription_movements SET monthly = monthly + 1`],
  order_not_indexed: [
    `INSERT INTO order_index_cursors (company_id, after_id, until_id)
     SELECT company_id, id, id FROM orders ORDER BY id DESC LIMIT 1
     ON CONFLICT (company_id) DO UPDATE SET after_id = excluded.after_id`,
    `DELETE FROM orders_by_object`,
  ],
  coupon_miscounted: [`UPDATE coupons SET used = used + 1`],
  coupon_reserved_for_nothing: [`UPDATE coupon_redemptions SET counted = false WHERE counted`],
  credit_miscounted: [`UPDATE credit_balances SET balance = balance + 1`],
  credit_of_order_differs: [`UPDATE orders SET credit_applied = total WHERE total > 0 AND credit_applied IS NULL`],
  customer_without_default_card: [
    `UPDATE payment_methods SET deleted_at = now() WHERE id = (SELECT default_payment_method_id FROM customers
       WHERE default_payment_method_id IS NOT NULL LIMIT 1)`,
  ],
  card_not_erased: [
    `INSERT INTO unreferenced_cards (company_id, card_id, due_at, noted_at)
     SELECT id, uuidv7(), now() + interval '5 minutes', now() - interval '25 hours' FROM companies LIMIT 1`,
  ],
  stuck_delivery: [
    `INSERT INTO webhook_endpoints (company_id, id, url, enabled_events, status, api_version, secret, updated_at)
     SELECT id, uuidv7(), 'https://receiver.invalid/', '{*}', 'enabled', '2026-02-11', '\\x00', now() FROM companies LIMIT 1`,
    `INSERT INTO webhook_deliveries (company_id, endpoint_id, event_id, event_inserted_at, next_attempt_at)
     SELECT w.company_id, w.id, uuidv7(), now(), now() - interval '2 hours' FROM webhook_endpoints w`,
    `UPDATE webhook_deliveries SET inserted_at = now() - interval '2 hours'`,
  ],
};

describe('the doctor', () => {
  it('finds no problem in a company with a long history', async () => {
    assert.deepEqual(await examine(service.db), []);
  });

  it('leaves out the copy of a company that arrives on a shard or has left it', async () => {
    for (const [state, found] of [
      ['leaving', ['refunded_amount_differs']],
      ['arriving', []],
      ['left', []],
    ] as const) {
      const fence = `INSERT INTO company_fences (company_id, state) SELECT id, '${state}' FROM companies`;
      const differs = `UPDATE orders SET refunded_amount = refunded_amount + 1 WHERE refunded_amount > 0`;
      const findings = await findingsAfter(async (db) => {
        await db.query(differs);
        await db.query(fence);
      });
      assert.deepEqual(findings, found, state);
    }
  });

  it('has a corruption for each of its checks', () => {
    assert.deepEqual(Object.keys(corruptions).toSorted(), checks.map(({ name }) => name).toSorted());
  });

  for (const [check, statements] of Object.entries(corruptions)) {
    it(`finds ${check}`, async () => {
      const found = await findingsAfter(async (db) => {
        for (const statement of statements) await db.query(statement);
      });
      assert.ok(found.includes(check), `it found ${found.join() || 'nothing'}`);
    });
  }

  it('finds a delivery that a running worker claimed and never finished', async () => {
    const [endpoint = '', delivery = ''] = corruptions.stuck_delivery ?? [];
    const found = (claimed: string): Promise<string[]> =>
      findingsAfter(async (db) => {
        await db.query(endpoint);
        await db.query(delivery);
        await db.query(`UPDATE webhook_deliveries SET claimed_by = uuidv7(), claimed_at = now() - $1::interval`, [
          claimed,
        ]);
      });
    assert.ok(!(await found('10 minutes')).includes('stuck_delivery'));
    assert.ok((await found('16 minutes')).includes('stuck_delivery'));
  });

  it('exits with 1 only if it finds a problem', async () => {
    const env = {
      ...process.env,
      ...service.database.settings,
      SVC_MASTER_SECRET: Buffer.alloc(32, 7).toString('latin1'),
    };
    const healthy = await run(process.execPath, [programPath('svc'), 'doctor'], { env });
    assert.ok(healthy.stdout.startsWith(`No problems found: ${checks.length + 6} checks.`), healthy.stdout);
    await service.db.query('UPDATE coupons SET used = used + 1');
    const sick = await run(process.execPath, [programPath('svc'), 'doctor'], { env }).catch((error: unknown) => error);
    const asJson = await run(process.execPath, [programPath('svc'), 'doctor', '--json'], { env }).catch(
      (error: unknown) => error,
    );
    await service.db.query('UPDATE coupons SET used = used - 1');
    const { code, stderr } = sick as { code: number; stderr: string };
    assert.equal(code, 1);
    assert.match(stderr, /1 × (shard b: )?coupon whose counters differ/);
    const { code: codeToo, stdout } = asJson as { code: number; stdout: string };
    const { healthy: isHealthy, findings } = JSON.parse(stdout);
    assert.deepEqual([codeToo, isHealthy, findings[0].check], [1, false, 'coupon_miscounted']);
  });

  it('does not migrate a database of an older version', async () => {
    const newest = (await migrationNames()).at(-1) ?? '';
    const tables = ['schema_migrations', 'compatible_migrations'];
    const removed = await Promise.all(
      tables.map((table) =>
        service.db.query(`DELETE FROM ${table} m WHERE name = $1 RETURNING to_json(m) AS row`, [newest]),
      ),
    );
    const applied = async (): Promise<unknown[]> =>
      service.db.query(
        `SELECT 1 FROM schema_migrations FULL JOIN compatible_migrations c USING (name) WHERE name = $1`,
        [newest],
      );
    try {
      const settings = {
        ...service.database.settings,
        SVC_MASTER_SECRET: Buffer.alloc(32, 7).toString('latin1'),
      };
      const { code, stderr } = await svc(settings, 'doctor');
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`older than this version.*${newest}`));
      assert.deepEqual(await applied(), []);
    } finally {
      for (const [index, table] of tables.entries()) {
        for (const { row } of removed[index] as { row: object }[]) {
          await service.db.query(`INSERT INTO ${table} SELECT * FROM json_populate_record(NULL::${table}, $1)`, [row]);
        }
      }
    }
  });
});
