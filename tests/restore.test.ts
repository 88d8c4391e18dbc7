import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cloneDatabase, copyDatabase, type TestDatabase } from './support/database.ts';
import { afterFlight, compareOnce } from './support/gates.ts';
import { compareLedger } from './support/ledger.ts';
import { reconcile, type Reconciliation } from '../server/features/reconciliation/service.ts';
import { deriveReference, subjects } from '../server/features/orders/operations/reference.ts';
import { withoutKey } from '../server/http/phases.ts';
import { svc } from './support/command.ts';
import { assertRefused, contextOf, openShop, readOrder, type Shop } from './support/orders.ts';
import { connectMerchant, type LiveMerchant, openAcquirer, type OwnAcquirer } from './support/own-acquirer.ts';
import { type Reply, startTestService, type TestService } from './support/service.ts';
import { somePlan, someSubscriber, subscribe } from './support/subscriptions.ts';
import { readProbe } from './support/probes.ts';

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
/** A request that the backup knows. */
let beforeBackup: Request;
/** Orders that the backup knows. */
const known: Record<'paid' | 'toRefund' | 'toVoid' | 'failed' | 'retried', string> = {
  paid: '',
  toRefund: '',
  toVoid: '',
  failed: '',
  retried: '',
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
    cloneDatabase(1),
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
  await acquirer.control({ settle_after_ms: null });
  known.toVoid = await placed();
  await acquirer.control({ settle_after_ms: 0 });
  beforeBackup = anOrder();
  assert.equal((await call(beforeBackup)).status, 201);
  known.failed = await placed('decline:51');
  known.retried = await placed('decline:51');
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

const compare = (adopt: boolean): Promise<Reconciliation> =>
  reconcile({ name: service.company.shard, db: service.db, vault: service.vault, clock: service.clock }, { adopt });

async function recover(): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await service.db.query('UPDATE open_transactions SET next_check_at = now(), locked_until = now()');
    await service.orders.reconcileDue(500);
  }
}

async function readiness(): Promise<Record<string, unknown>> {
  return JSON.parse((await readProbe(service.baseUrl, '/readyz')).text) as Record<string, unknown>;
}

const restored = (): Promise<{ noticed_by: string; open: boolean }[]> =>
  service.db.query('SELECT noticed_by, reconciled_at IS NULL AS open FROM restores ORDER BY noticed_at');
const gates = (): Promise<{ noticed_by: string; waits_for: string; open: boolean }[]> =>
  service.db.query('SELECT noticed_by, waits_for, opened_at IS NOT NULL AS open FROM company_gates');

describe('a restored database', { concurrency: false }, () => {
  const requests: Request[] = [];
  let journal: string[];
  /** The references of what the backup does not know. */
  let lostReferences: string[];

  it('has lost renewals, orders, refunds, a retry, a void and a new subscription', async () => {
    service = await startTestService({ database: lost, dataDir });
    const before = (await acquirer.journal()).length;
    await billAll();
    for (let index = 0; index < keys; index += 1) requests.push(anOrder(1 + (index % 3)));
    requests.push(action(known.toRefund, 'refund', { amount: 700 }), action(known.failed, 'retry'), {
      path: '/v1/subscriptions',
      body: { customer_id: shop.customerId, plan_id: planId },
      idempotencyKey: randomUUID(),
    });
    const replies = await Promise.all(requests.map((request) => call(request)));
    for (const reply of replies) assert.ok(reply.status === 201 || reply.status === 200, reply.text);
    // A key of more than a day ago is no other key.
    acquirer.offsetMs = -30 * 3_600_000;
    await call(action(known.paid, 'refund', { amount: 300 }));
    await call(action(known.retried, 'retry'));
    acquirer.offsetMs = 0;
    await service.orders.void(contextOf(service, merchant.company), known.toVoid, withoutKey);
    assert.deepEqual(await cyclesOf(), [
      { status: 'active', cycle: 1, orders: renewals + 1 },
      { status: 'active', cycle: 2, orders: renewals },
    ]);
    journal = await charges();
    lostReferences = (await acquirer.journal()).slice(before).map(({ reference }) => reference);
    assert.equal(lostReferences.length, renewals + keys + 6);
    await service.stop();
  });

  it('is noticed by the transaction that the data folder knows of, and closed: nothing is billed, and no money moves', async () => {
    service = await startTestService({ database: backup, dataDir });
    assert.deepEqual(await restored(), [{ noticed_by: 'high_water_mark', open: true }]);
    assert.deepEqual(await gates(), [{ noticed_by: 'high_water_mark', waits_for: 'comparison', open: false }]);
    const { status, restored: shown } = await readiness();
    assert.equal(status, 'degraded');
    assert.match(String(shown), /closed until .* 1 for comparison/);
    const { text: metrics } = await readProbe(service.baseUrl, '/metrics');
    assert.match(metrics, /^svc_restored 1$/m);
    assert.match(metrics, /^svc_companies_closed\{waits_for="comparison"\} 1$/m);
    await billAll();
    assert.deepEqual(await cyclesOf(), [{ status: 'active', cycle: 1, orders: renewals }]);
    for (const request of [anOrder(), requests[0] as Request, ...requests.slice(keys)]) {
      const refused = await call(request);
      assertRefused(refused, 503, 'restore_in_progress');
      assert.ok(Number(refused.headers.get('retry-after')) > 0);
    }
    const voided = service.orders.void(contextOf(service, merchant.company), known.toVoid, withoutKey);
    await assert.rejects(voided, { code: 'restore_in_progress' });
    assert.equal((await readOrder(service, known.paid, merchant)).status, 'succeeded', 'reads work');
    const repeated = await call(beforeBackup);
    assert.deepEqual([repeated.status, repeated.headers.get('svc-idempotent-replayed')], [201, 'true']);
    assert.deepEqual(await charges(), journal);
  });

  it('is compared by the worker, which adopts every operation that it can attribute', async () => {
    const { finished, comparisons } = await compare(false);
    assert.equal(finished, false, 'the list is taken again when no request can be in flight any more');
    assert.deepEqual(await gates(), [{ noticed_by: 'high_water_mark', waits_for: 'second_list', open: false }]);
    const [comparison] = comparisons;
    assert.ok(comparison && comparisons.length === 1);
    const { missing, differences, failure } = comparison;
    assert.deepEqual([differences, failure], [[], undefined]);
    const states = Object.groupBy(missing, ({ state, operation }) => `${operation.kind} ${state}`);
    assert.deepEqual(Object.fromEntries(Object.entries(states).map(([name, some]) => [name, some?.length])), {
      'charge billing': renewals,
      'charge listed': keys + 1,
      'charge adopted': 2,
      'refund adopted': 2,
      'void adopted': 1,
    });
    assert.deepEqual(missing.map(({ operation }) => operation.reference).toSorted(), lostReferences.toSorted());
    await recover();
    assert.equal((await readOrder(service, known.paid, merchant)).refunded_amount, 300);
    assert.equal((await readOrder(service, known.toVoid, merchant)).status, 'voided');
    assert.equal((await readOrder(service, known.retried, merchant)).status, 'succeeded');
    assertRefused(await call(anOrder()), 503, 'restore_in_progress');
  });

  it('opens by itself when the list was taken again', async () => {
    await afterFlight(service);
    assert.equal(await compareOnce(service), 1);
    assert.deepEqual(await restored(), [{ noticed_by: 'high_water_mark', open: false }]);
    assert.equal((await gates())[0]?.open, true);
    assert.deepEqual(await charges(), journal);
  });

  it('then bills, charges no renewal again, and is not taken for restored once more', async () => {
    await billAll();
    assert.deepEqual(await cyclesOf(), [
      { status: 'active', cycle: 1, orders: renewals },
      { status: 'active', cycle: 2, orders: renewals },
    ]);
    assert.deepEqual(await charges(), journal);
    assert.equal((await restored()).length, 1);
  });

  it('charges no repeated key again, and finds what each of them did without asking the processor', async () => {
    await acquirer.control({ next: ['reset_before'] });
    const replies = await Promise.all(requests.slice(0, keys).map((request) => call(request)));
    const statuses = replies.map(({ status, body }) => `${status} ${body.status}`);
    assert.deepEqual(
      statuses,
      Array.from({ length: keys }, () => '201 succeeded'),
    );
    await acquirer.control({ next: [] });
    const others = await Promise.all(requests.slice(keys).map((request) => call(request)));
    assert.deepEqual(
      others.map(({ status, body }) => `${status} ${body.status}`),
      ['200 partially_refunded', '200 succeeded', '201 active'],
    );
    assert.deepEqual(await charges(), journal);
    // The refund was adopted, so its answer is not stored under the key: its reference finds it.
    const stored = requests.filter(({ path }) => !path.endsWith('/refund'));
    for (const request of stored) assert.equal((await call(request)).headers.get('svc-idempotent-replayed'), 'true');
    assert.deepEqual(await charges(), journal);
    assert.equal((await restored()).length, 1);
  });

  it('has the books of the acquirer afterwards, and nothing is missing any longer', async () => {
    await recover();
    assert.deepEqual(await compareLedger(service.db, await acquirer.journal()), []);
    assert.deepEqual((await compare(false)).comparisons[0]?.missing, []);
    assert.equal((await service.db.query('SELECT 1 FROM missing_operations')).length, 0);
    assert.deepEqual(await charges(), journal);
  });
});

describe('the restored state', { concurrency: false }, () => {
  const settings = (): Record<string, string> => ({
    DATABASE_URL: backup.connectionString,
    SVC_DATA_DIR: dataDir,
    SVC_MASTER_SECRET: Buffer.alloc(32, 7).toString('base64url'),
  });

  it('is entered by an answer that was executed before it was asked for', async () => {
    await service.db.query('DELETE FROM restores');
    await service.db.query('DELETE FROM company_gates');
    await service.stop();
    await rm(join(dataDir, 'high-water.json'), { force: true });
    service = await startTestService({ database: backup, dataDir });
    const key = randomUUID();
    const reference = deriveReference(merchant.company.id, { subject: subjects.key(key), number: 0 });
    acquirer.offsetMs = -60_000;
    const card = { number: '4242424242424242', exp_month: 12, exp_year: 2031 };
    await acquirer.charge({ reference, amount: 4900, currency: 'usd', card });
    acquirer.offsetMs = 0;
    assert.equal((await call({ ...anOrder(), idempotencyKey: key })).body.status, 'succeeded');
    assert.deepEqual(await gates(), [{ noticed_by: 'earlier_result', waits_for: 'comparison', open: false }]);
    assert.deepEqual(await restored(), [], 'it concerns one company, not the shard');
    assertRefused(await call(anOrder()), 503, 'restore_in_progress');
    assert.ok((await readiness()).restored);
  });

  it('is not left while a company cannot be compared, except on demand', async () => {
    const silent = { operations: async () => Promise.reject(new Error('no answer')) };
    const dependencies = { name: service.company.shard, db: service.db, vault: silent, clock: service.clock };
    const { finished, comparisons } = await reconcile(dependencies, { adopt: false });
    assert.deepEqual([finished, comparisons[0]?.failure], [false, 'acquirer: no answer']);
    assert.deepEqual(await gates(), [{ noticed_by: 'earlier_result', waits_for: 'processor', open: false }]);
    assert.equal((await reconcile(dependencies, { adopt: false, finish: true })).finished, true);
  });

  it('is entered and left by commands, which say what they did', async () => {
    const noted = await svc(settings(), 'restored');
    assert.match(
      noted.stdout,
      /^The database is marked as restored\. Requests that move money and renewals are closed until/,
      noted.stderr,
    );
    assert.match((await svc(settings(), 'restored')).stdout, /^The database is marked as restored since /);
    const status = await svc(settings(), 'status');
    assert.match(status.stdout, /^Restored from a backup +since .*svc restored/m, status.stderr);
    const doctor = await svc(settings(), 'doctor');
    assert.match(status.stdout, /^Closed companies +1; they wait: 1 for the comparison$/m);
    assert.match(doctor.stderr, /company that is closed after a restore/);
    await afterFlight(service);
    const reference = randomUUID();
    const card = { number: '4242424242424242', exp_month: 12, exp_year: 2031 };
    await acquirer.charge({ reference, amount: 1234, currency: 'usd', card });
    const { code, stdout, stderr } = await svc(settings(), 'reconcile');
    assert.equal(code, 0, stderr);
    assert.match(
      stdout,
      new RegExp(`charge of 1234 usd on 4242, acq_\\d+, reference ${reference}: recorded when the client`),
    );
    assert.match(stdout, /1 operation is missing in our records\.\nCharges and renewals of all companies are open\./);
    assert.match(
      (await svc(settings(), 'doctor')).stderr,
      /1 × operation that a processor executed and that is missing in our records/,
    );
    assert.match(
      (await svc(settings(), 'reconcile', '--dismiss', randomUUID())).stderr,
      /No missing operation has the reference/,
    );
    assert.match((await svc(settings(), 'reconcile', '--dismiss', reference)).stdout, /is no longer listed/);
    assert.match((await svc(settings(), 'reconcile')).stdout, /\n0 operations are missing in our records/);
    assert.match((await svc(settings(), 'doctor')).stdout, /No problems found/);
  });
});
