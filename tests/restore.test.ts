import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cloneDatabase, copyDatabase, type TestDatabase } from './support/database.ts';
import { compareLedger } from './support/ledger.ts';
import { openShop, type Shop } from './support/orders.ts';
import { connectMerchant, type LiveMerchant, openAcquirer, type OwnAcquirer } from './support/own-acquirer.ts';
import { type Reply, startTestService, type TestService } from './support/service.ts';
import { somePlan, someSubscriber, subscribe } from './support/subscriptions.ts';

/**
 * A database that is restored from a backup has forgotten what was charged since. The journal of the acquirer says whether
 * anything is charged again.
 */

const renewals = 20;
const keys = 100;

let acquirer: OwnAcquirer;
let dataDir: string;
let lost: TestDatabase;
let backup: TestDatabase;
let service: TestService;
let merchant: LiveMerchant;
let shop: Shop;
let planId: string;
/** Orders that the backup knows. */
const known: Record<'paid' | 'toRefund' | 'toVoid' | 'failed', string> = {
  paid: '',
  toRefund: '',
  toVoid: '',
  failed: '',
};

interface Request {
  readonly path: string;
  readonly body?: object;
  readonly idempotencyKey: string;
}

const call = ({ path, ...options }: Request, on = service): Promise<Reply> =>
  on.call('POST', path, { ...options, key: merchant.key });
const anOrder = (quantity = 1): Request => ({
  path: '/v1/orders',
  body: { customer_id: shop.customerId, items: [{ product_id: shop.productId, quantity }] },
  idempotencyKey: randomUUID(),
});
const action = (id: string, name: 'refund' | 'retry', body?: object): Request => ({
  path: `/v1/orders/${id}/${name}`,
  ...(body && { body }),
  idempotencyKey: randomUUID(),
});

async function placed(...faults: readonly string[]): Promise<string> {
  await acquirer.control({ next: faults });
  const reply = await call(anOrder());
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

const charges = async (): Promise<string[]> => {
  const journal = await acquirer.journal();
  return journal.map(({ kind, reference, amount, status }) => `${status} ${kind} ${reference} ${amount}`);
};

before(async () => {
  [acquirer, lost, dataDir] = await Promise.all([
    openAcquirer(),
    cloneDatabase(),
    mkdtemp(join(tmpdir(), 'svc-restore-')),
  ]);
  service = await startTestService({ database: lost, dataDir });
  merchant = await connectMerchant(service, acquirer);
  shop = await openShop(service, undefined, merchant);
  const everyDay = { interval: 'day', interval_count: 1, anchor_day: 'signup_date' } as const;
  planId = (await somePlan(service, { billing_cycle: everyDay }, merchant.company)).id;
  for (let index = 0; index < renewals; index += 1) {
    const customer_id = await someSubscriber(service, undefined, merchant);
    const reply = await subscribe(service, { customer_id, plan_id: planId }, merchant);
    assert.equal(reply.body.status, 'active', reply.text);
  }
  await service.db.query(
    `UPDATE subscriptions SET start_at = start_at - interval '25 hours', base_at = base_at - interval '25 hours',
       current_period_start = current_period_start - interval '25 hours',
       current_period_end = current_period_end - interval '25 hours', due_at = now()`,
  );
  known.paid = await placed();
  known.toRefund = await placed();
  known.toVoid = await placed();
  known.failed = await placed('decline:51');
  await service.stop();
  backup = await copyDatabase(lost);
});
after(async () => {
  await service.stop();
  await Promise.all([acquirer.stop(), rm(dataDir, { recursive: true, force: true })]);
  await Promise.all([lost.drop(), backup.drop()]);
});

async function billAll(): Promise<void> {
  while ((await service.subscriptions.billDue(64)) > 0);
}

const cyclesOf = (): Promise<{ status: string; cycle: number; orders: number }[]> =>
  service.db.query(
    `SELECT s.status, o.subscription_cycle AS cycle, count(*)::integer AS orders
     FROM subscriptions s JOIN orders o ON o.company_id = s.company_id AND o.subscription_id = s.id
     WHERE o.status = 'succeeded' GROUP BY 1, 2 ORDER BY 2`,
  );

describe('a restored database', { concurrency: false }, () => {
  const requests: Request[] = [];
  let journal: string[];

  it('has lost renewals, orders, a refund, a retry and a new subscription', async () => {
    service = await startTestService({ database: lost, dataDir });
    await billAll();
    for (let index = 0; index < keys; index += 1) requests.push(anOrder(1 + (index % 3)));
    requests.push(action(known.toRefund, 'refund', { amount: 700 }), action(known.failed, 'retry'), {
      path: '/v1/subscriptions',
      body: { customer_id: shop.customerId, plan_id: planId },
      idempotencyKey: randomUUID(),
    });
    const replies = await Promise.all(requests.map((request) => call(request)));
    for (const reply of replies) assert.ok(reply.status === 201 || reply.status === 200, reply.text);
    assert.deepEqual(await cyclesOf(), [
      { status: 'active', cycle: 1, orders: renewals + 1 },
      { status: 'active', cycle: 2, orders: renewals },
    ]);
    journal = await charges();
    await service.stop();
  });

  it('charges no renewal again', async () => {
    service = await startTestService({ database: backup, dataDir });
    await billAll();
    assert.deepEqual(await cyclesOf(), [
      { status: 'active', cycle: 1, orders: renewals },
      { status: 'active', cycle: 2, orders: renewals },
    ]);
    assert.deepEqual(await charges(), journal);
  });

  it('charges no repeated key again, and finds what each of them did', async () => {
    const replies = await Promise.all(requests.map((request) => call(request)));
    const statuses = replies.map(({ status, body }) => `${status} ${body.status}`);
    assert.deepEqual(
      statuses.slice(0, keys),
      Array.from({ length: keys }, () => '201 succeeded'),
    );
    assert.deepEqual(statuses.slice(keys), ['200 partially_refunded', '200 succeeded', '201 active']);
    assert.deepEqual(await charges(), journal);
    for (const request of requests) assert.equal((await call(request)).headers.get('svc-idempotent-replayed'), 'true');
    assert.deepEqual(await charges(), journal);
  });

  it('has the books of the acquirer afterwards', async () => {
    for (let round = 0; round < 3; round += 1) {
      await service.db.query('UPDATE open_transactions SET next_check_at = now()');
      await service.orders.reconcileDue(500);
    }
    assert.deepEqual(await compareLedger(service.db, await acquirer.journal()), []);
  });
});
