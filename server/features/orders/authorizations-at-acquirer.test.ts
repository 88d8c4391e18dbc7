import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { compareLedger } from '../../../tests/support/ledger.ts';
import { openShop, order, readOrder, refund, runWorker, type Shop } from '../../../tests/support/orders.ts';
import {
  connectMerchant,
  type LiveMerchant,
  openAcquirer,
  type OwnAcquirer,
} from '../../../tests/support/own-acquirer.ts';
import { seededRandom } from '../../../tests/support/seeded-random.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { dayMs } from '../../platform/durations.ts';

/** Held funds at an acquirer whose clock decides when they end, with lost answers. */

let service: TestService;
let acquirer: OwnAcquirer;
let merchant: LiveMerchant;
let shop: Shop;
before(async () => {
  acquirer = await openAcquirer();
  service = await startTestService({ settings: { SVC_PROCESSOR_ORIGINS: acquirer.url } });
  merchant = await connectMerchant(service, acquirer);
  shop = await openShop(service, undefined, { key: merchant.key });
});
after(async () => {
  await service.stop();
  await acquirer.stop();
});

const total = 4900;
const post = (id: string, action: string, body: object = {}, idempotencyKey: string = randomUUID()): Promise<Reply> =>
  service.call('POST', `/v1/orders/${id}/${action}`, { body, idempotencyKey, key: merchant.key });
const read = (id: string): Promise<Reply['body']> => readOrder(service, id, { key: merchant.key });
const authorize = async (idempotencyKey: string = randomUUID()): Promise<Reply> =>
  order(service, shop, { capture: 'manual' }, { key: merchant.key, idempotencyKey });
const held = async (): Promise<Reply['body']> => {
  const reply = await authorize();
  assert.deepEqual([reply.status, reply.body.status], [201, 'pending'], reply.text);
  return reply.body;
};
/** Everything is looked up as if it were due, and what has ended is released. */
async function settle(): Promise<void> {
  await service.db.query(
    `UPDATE open_transactions SET locked_until = now(), valid_until = now() - interval '1 minute', next_check_at = now()`,
  );
  await runWorker(service);
  await service.orders.releaseEnded(1000);
}
const agree = async (): Promise<void> =>
  assert.deepEqual(await compareLedger(service.db, await acquirer.journal()), []);

describe('an authorization at an acquirer', () => {
  it('stands until the time that the acquirer says', async () => {
    await acquirer.control({ hold_for_ms: 3 * dayMs } as object);
    const { id, capture_before, created_at } = await held();
    await acquirer.control({ hold_for_ms: 7 * dayMs } as object);
    const holdsMs = Date.parse(capture_before) - Date.parse(created_at);
    assert.ok(Math.abs(holdsMs - 3 * dayMs) < 60_000, String(holdsMs));
    assert.equal((await post(id, 'capture', { amount: 1000 })).body.status, 'succeeded');
    assert.equal((await refund(service, id, 1000, { key: merchant.key })).body.status, 'refunded');
    await settle();
    await agree();
  });

  it('has ended by its clock: a capture voids the order', async () => {
    const { id } = await held();
    acquirer.offsetMs += 8 * dayMs;
    const reply = await post(id, 'capture');
    assert.deepEqual([reply.status, reply.body.status], [200, 'voided'], reply.text);
    acquirer.offsetMs -= 8 * dayMs;
    await agree();
  });
});

describe('held funds under lost answers, kills and races', () => {
  const faults = ['reset_before', 'reset_after', 'error_before', 'error_after', 'decline:57'];

  for (const seed of [1, 2, 3]) {
    it(`end captured, voided or given up, and are captured at most once (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const { next, pick, between } = random;
      const ids: string[] = [];
      for (let round = 0; round < 8; round += 1) {
        if (next() < 0.4) await acquirer.control({ next: [pick(faults)] });
        const key = randomUUID();
        await authorize(key);
        await settle();
        const placed = await authorize(key);
        await acquirer.control({ next: [] });
        if (placed.status !== 201) continue;
        const { id } = placed.body;
        ids.push(id);
        for (let step = 0; step < 4; step += 1) {
          if (next() < 0.6) await acquirer.control({ next: [pick(faults)] });
          const actions = [
            () => post(id, 'capture', { amount: between(1, total) }),
            () => post(id, 'capture'),
            () => post(id, 'void'),
            () => service.orders.releaseEnded(100),
            () => settle(),
            async () => {
              const past = `UPDATE orders SET capture_before = now() - interval '1 s' WHERE id = $1 AND capture_before IS NOT NULL`;
              if (next() < 0.3) await service.db.query(past, [id]);
            },
          ];
          await Promise.all(Array.from({ length: between(1, 3) }, () => pick(actions)()));
          await acquirer.control({ next: [] });
        }
      }
      await settle();
      await settle();
      await agree();
      for (const id of ids) {
        const { status, transactions, captured_amount, authorized_amount } = await read(id);
        const taken = transactions.filter(
          ({ type, status: of }: Record<string, string>) => type === 'sale' && of !== 'failed',
        );
        assert.ok(taken.length <= 1, 'captured at most once');
        assert.ok(['pending', 'succeeded', 'voided', 'failed'].includes(status), status);
        if (status === 'succeeded') assert.equal(taken[0]?.amount, captured_amount);
        assert.ok(captured_amount <= (authorized_amount ?? 0));
        // What is still held is given up at its end.
        if (status !== 'pending') continue;
        await service.db.query(`UPDATE orders SET capture_before = now() - interval '1 s' WHERE id = $1`, [id]);
        await service.db.query(`UPDATE voids SET recorded_at = recorded_at - interval '2 hours' WHERE order_id = $1`, [
          id,
        ]);
        await settle();
        assert.equal((await read(id)).status, 'voided');
      }
      await agree();
    });
  }
});

// The last one: afterwards the records and the acquirer do not agree.
it('held funds are not released while they were captured there: a person has to look', async () => {
  const { id } = await held();
  const { db } = service;
  const [auth] = await db.query<{ reference: string }>(
    `SELECT reference FROM transactions WHERE order_id = $1 AND type = 'auth'`,
    [id],
  );
  const money = { amount: 100, currency: 'usd' };
  await acquirer.operate('captures', { reference: randomUUID(), charge_reference: auth?.reference, ...money });
  await db.query(`UPDATE orders SET capture_before = now() - interval '1 minute' WHERE id = $1`, [id]);
  await service.orders.releaseEnded(100);
  await service.orders.releaseEnded(100);
  assert.equal((await read(id)).status, 'pending');
  const voids = await db.query('SELECT failure_reason FROM voids WHERE order_id = $1', [id]);
  assert.equal(voids.length, 1, 'it is asked again an hour later');
  const late = await post(id, 'capture');
  assert.deepEqual(
    [late.body.status, late.body.transactions.at(-1).failure_code],
    ['pending', 'duplicate_transaction'],
  );
});
