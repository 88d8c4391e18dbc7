import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { compareLedger } from '../../../../tests/support/ledger.ts';
import { assertRefused, openShop, type Shop } from '../../../../tests/support/orders.ts';
import {
  connectMerchant,
  type LiveMerchant,
  openAcquirer,
  type OwnAcquirer,
} from '../../../../tests/support/own-acquirer.ts';
import { type Reply, startTestService, type TestService } from '../../../../tests/support/service.ts';
import { readSubscription, somePlan, someSubscriber, subscribe } from '../../../../tests/support/subscriptions.ts';
import type { Operation } from '../../../vault/processors/acquirer/protocol.ts';
import { reconcile } from '../../reconciliation/service.ts';
import { deriveReference, subjects } from '../operations/reference.ts';
import { logLine } from '../../../../tests/support/log-lines.ts';

/** The processor has an operation that our books have lost: what is made of its answer. */

const hourMs = 3_600_000;
const card = { number: '4242424242424242', exp_month: 12, exp_year: 2031 };

let acquirer: OwnAcquirer;
let service: TestService;
let merchant: LiveMerchant;
let shop: Shop;

before(async () => {
  [acquirer, service] = await Promise.all([openAcquirer(), startTestService()]);
  merchant = await connectMerchant(service, acquirer);
  shop = await openShop(service, undefined, merchant);
});
after(async () => {
  await Promise.all([acquirer.stop(), service.stop()]);
});

const derived = (subject: readonly string[], number = 0): string =>
  deriveReference(merchant.company.id, { subject, number });

/** An operation that the service sent some time ago, and that the books have lost. */
async function lose(
  reference: string,
  { amount = 4900, agoMs = 60_000, number = card.number, fault = '' } = {},
): Promise<Operation> {
  acquirer.offsetMs = -agoMs;
  if (fault) await acquirer.control({ next: [fault] });
  const operation = await acquirer.charge({ reference, amount, currency: 'usd', card: { ...card, number } });
  acquirer.offsetMs = 0;
  return operation;
}

/** What was lost before closed the gate of the company. */
async function open(): Promise<void> {
  await service.db.query('DELETE FROM company_gates');
  await service.db.query('UPDATE companies SET gate = NULL WHERE gate IS NOT NULL');
}

const place = async (idempotencyKey: string): Promise<Reply> => {
  await open();
  return placeBehind(idempotencyKey);
};
const placeBehind = (idempotencyKey: string): Promise<Reply> =>
  service.call('POST', '/v1/orders', {
    key: merchant.key,
    body: { customer_id: shop.customerId, items: [{ product_id: shop.productId, quantity: 1 }] },
    idempotencyKey,
  });

async function takenUnder(subject: readonly string[]): Promise<string[]> {
  const numbers = new Map(Array.from({ length: 10 }, (_, number) => [derived(subject, number), number]));
  const journal = await acquirer.journal();
  return journal.flatMap(({ reference, status, amount }) =>
    numbers.has(reference) ? `${numbers.get(reference)}: ${status} ${amount}` : [],
  );
}

async function recover(): Promise<void> {
  await service.db.query('UPDATE open_transactions SET next_check_at = now(), locked_until = now()');
  await service.orders.reconcileDue(100);
}

describe('an order whose key the processor knows', { concurrency: false }, () => {
  it('is the charge that was made, approved or declined, when that is less than 24 hours old', async () => {
    for (const [fault, status] of [
      ['', 'succeeded'],
      ['decline:51', 'failed'],
    ] as const) {
      const key = randomUUID();
      const { transaction_id } = await lose(derived(subjects.key(key)), { agoMs: 23 * hourMs, fault });
      const reply = await place(key);
      assert.deepEqual([reply.status, reply.body.status], [201, status], reply.text);
      assert.equal(reply.body.transactions[0].processor_transaction_id, transaction_id);
      assert.equal((await takenUnder(subjects.key(key))).length, 1);
    }
  });

  it('is charged under the next generation when that is older than 24 hours', async () => {
    const key = randomUUID();
    await lose(derived(subjects.key(key), 0), { agoMs: 50 * hourMs });
    await lose(derived(subjects.key(key), 1), { agoMs: 25 * hourMs, amount: 100 });
    const reply = await place(key);
    assert.deepEqual([reply.status, reply.body.status], [201, 'succeeded'], reply.text);
    assert.deepEqual(await takenUnder(subjects.key(key)), ['0: approved 4900', '1: approved 100', '2: approved 4900']);
    assert.equal((await place(key)).text, reply.text);
  });

  it('is refused as a conflict when amount or card differ, again and again, and charges nothing', async () => {
    for (const other of [{ amount: 4800 }, { number: '5555555555554444' }]) {
      const key = randomUUID();
      await lose(derived(subjects.key(key)), other);
      const first = await place(key);
      assertRefused(first, 422, 'idempotency_key_conflict');
      const again = await place(key);
      assert.equal(again.text, first.text);
      assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
      assert.equal((await takenUnder(subjects.key(key))).length, 1);
      const [row] = await service.db.query<{ own: boolean; status: string }>(
        `SELECT t.reference IS NULL AS own, o.status FROM transactions t JOIN orders o ON o.id = t.order_id
         ORDER BY t.id DESC LIMIT 1`,
      );
      assert.deepEqual(row, { own: true, status: 'failed' }, 'the other charge is recorded as nothing of this order');
    }
  });

  it('is refused as a conflict also when the answer was lost and recovery finds it', async () => {
    const key = randomUUID();
    await lose(derived(subjects.key(key)), { amount: 4800 });
    await acquirer.control({ next: ['reset_after'] });
    assertRefused(await place(key), 502, 'gateway_error');
    await recover();
    assertRefused(await place(key), 422, 'idempotency_key_conflict');
    assert.equal((await takenUnder(subjects.key(key))).length, 1);
  });

  it('of an expired use, whose answer was lost, fails without taking over the old charge', async () => {
    const key = randomUUID();
    await lose(derived(subjects.key(key)), { agoMs: 30 * hourMs });
    await acquirer.control({ next: ['reset_after'] });
    assertRefused(await place(key), 502, 'gateway_error');
    await recover();
    const reply = await place(key);
    assert.deepEqual([reply.status, reply.body.failure_code], [201, 'issuer_unavailable'], reply.text);
    const retried = await service.call('POST', `/v1/orders/${reply.body.id}/retry`, { key: merchant.key });
    assert.equal(retried.body.status, 'succeeded', retried.text);
  });

  it('makes no second order while the processor says that the key is younger than our clock believes', async () => {
    const key = randomUUID();
    const first = await place(key);
    const refundKey = randomUUID();
    const path = `/v1/orders/${first.body.id}/refund`;
    const giveBack = (): Promise<Reply> =>
      service.call('POST', path, { key: merchant.key, body: { amount: 100 }, idempotencyKey: refundKey });
    assert.equal((await giveBack()).body.refunded_amount, 100);
    await recover();
    const before = await acquirer.journal();
    service.clock.advance(25 * hourMs);
    try {
      const repeated = await place(key);
      assert.deepEqual([repeated.status, repeated.body.id], [201, first.body.id], repeated.text);
      const refunded = await giveBack();
      assert.deepEqual([refunded.status, refunded.body.refunded_amount], [200, 100], refunded.text);
      assert.equal((await acquirer.journal()).length, before.length);
      acquirer.offsetMs = 25 * hourMs;
      const next = await place(key);
      assert.equal(next.body.status, 'succeeded', next.text);
      assert.notEqual(next.body.id, first.body.id);
      assert.equal((await takenUnder(subjects.key(key))).length, 2);
    } finally {
      service.clock.advance(-25 * hourMs);
      acquirer.offsetMs = 0;
    }
  });
});

describe('a renewal that the processor knows', { concurrency: false }, () => {
  /** A subscription whose second cycle is due. */
  async function due(): Promise<{ id: string; subject: readonly string[] }> {
    await open();
    const everyDay = { interval: 'day', interval_count: 1, anchor_day: 'signup_date' } as const;
    const { id: plan_id } = await somePlan(service, { amount: 4900, billing_cycle: everyDay }, merchant.company);
    const customer_id = await someSubscriber(service, undefined, merchant);
    const { id } = (await subscribe(service, { customer_id, plan_id }, merchant)).body;
    await service.db.query(
      `UPDATE subscriptions SET start_at = start_at - interval '25 hours', base_at = base_at - interval '25 hours',
         due_at = now() WHERE id = $1`,
      [id],
    );
    return { id, subject: subjects.cycle(id, 2) };
  }
  const bill = async (): Promise<void> => {
    await open();
    while ((await service.subscriptions.billDue(64)) > 0);
  };

  it('is recorded as it was, however old', async () => {
    const { id, subject } = await due();
    await lose(derived(subject), { agoMs: 72 * hourMs });
    await bill();
    const { status, completed_cycles } = await readSubscription(service, id, merchant);
    assert.deepEqual([status, completed_cycles], ['active', 2]);
    assert.deepEqual(await takenUnder(subject), ['0: approved 4900']);
  });

  it('takes the next number when a declined charge has another card', async () => {
    const { id, subject } = await due();
    await lose(derived(subject), { number: '5555555555554444', fault: 'decline:51' });
    await bill();
    const { completed_cycles, attempt_count } = await readSubscription(service, id, merchant);
    assert.deepEqual([completed_cycles, attempt_count], [2, 0]);
    assert.deepEqual(await takenUnder(subject), ['0: declined 4900', '1: approved 4900']);
  });

  it('takes the next number also when the answer was lost and recovery finds it', async () => {
    const { id, subject } = await due();
    await lose(derived(subject), { number: '5555555555554444', fault: 'decline:51' });
    await acquirer.control({ next: ['reset_after'] });
    await bill();
    await recover();
    assert.equal((await readSubscription(service, id, merchant)).completed_cycles, 2);
    assert.deepEqual(await takenUnder(subject), ['0: declined 4900', '1: approved 4900']);
  });

  it('is not charged again when another card has paid the cycle', async () => {
    const { id, subject } = await due();
    await lose(derived(subject), { number: '5555555555554444' });
    await bill();
    await recover();
    await bill();
    assert.deepEqual(await takenUnder(subject), ['0: approved 4900']);
    const { status, attempt_count } = await readSubscription(service, id, merchant);
    assert.deepEqual([status, attempt_count], ['active', 0], 'it is in doubt, and nothing was declined');
    const open = await service.db.query('SELECT 1 FROM open_transactions WHERE in_doubt');
    assert.equal(open.length, 1);
    const compare = async (adopt: boolean): Promise<string[]> => {
      const { db, vault, clock } = service;
      const { comparisons } = await reconcile({ name: service.company.shard, db, vault, clock }, { adopt });
      return comparisons.flatMap(({ differences }) => differences.map(({ state }) => state));
    };
    assert.deepEqual(await compare(false), ['held'], 'it is listed');
    await recover();
    assert.equal((await readSubscription(service, id, merchant)).completed_cycles, 1);
    assert.deepEqual(await compare(true), ['adopted']);
    await recover();
    const paid = await readSubscription(service, id, merchant);
    assert.deepEqual([paid.status, paid.completed_cycles], ['active', 2]);
    const order = (await service.call('GET', `/v1/orders/${paid.latest_order_id}`, merchant)).body;
    assert.deepEqual([order.status, order.payment_method.card_last_four], ['succeeded', '4444']);
    assert.deepEqual(await takenUnder(subject), ['0: approved 4900']);
  });
});

describe('a request that the processor calls expired', { concurrency: false }, () => {
  it('is sent again with a validity by the clock of the processor, and logged as an error', async () => {
    acquirer.offsetMs = 2 * hourMs;
    try {
      const lines = service.logLines.length;
      const reply = await place(randomUUID());
      assert.deepEqual([reply.status, reply.body.status], [201, 'succeeded'], reply.text);
      const path = `/v1/orders/${reply.body.id}/refund`;
      const refunded = await service.call('POST', path, { key: merchant.key, body: { amount: 100 } });
      assert.equal(refunded.body.refunded_amount, 100, refunded.text);
      const logged = service.logLines.slice(lines).filter((line) => line.includes('rejected a request as expired'));
      assert.equal(logged.length, 2);
      assert.ok(logged.every((line) => logLine(line).severity_text === 'ERROR'));
    } finally {
      acquirer.offsetMs = 0;
    }
  });

  it('again and again is not declined: the order waits, and its repeated key charges it', async () => {
    const { db } = service;
    const life = (ms: number): Promise<unknown> =>
      db.query('UPDATE companies SET request_life_ms = $2 WHERE id = $1', [merchant.company.id, ms]);
    const key = randomUUID();
    await life(1);
    acquirer.offsetMs = hourMs;
    try {
      assertRefused(await place(key), 503, 'service_unavailable');
      assert.deepEqual(await takenUnder(subjects.key(key)), []);
    } finally {
      await life(60_000);
      acquirer.offsetMs = 0;
    }
    const reply = await place(key);
    assert.deepEqual([reply.status, reply.body.status], [201, 'succeeded'], reply.text);
  });
});

it('the books and the journal differ by what was lost, and by nothing else', async () => {
  await recover();
  const differences = await compareLedger(service.db, await acquirer.journal());
  assert.deepEqual(
    differences.filter((text) => !text.endsWith('; we do not know it')),
    [],
  );
});
