import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cloneDatabase, type TestDatabase } from './support/database.ts';
import { compareLedger } from './support/ledger.ts';
import { openShop, type Shop } from './support/orders.ts';
import { connectMerchant, type LiveMerchant, openAcquirer, type OwnAcquirer } from './support/own-acquirer.ts';
import { type Reply, startTestService, type TestService } from './support/service.ts';
import { type SteppedDatabase, stepDatabase } from './support/stepped-database.ts';
import { readProbe } from './support/probes.ts';

/**
 * Clocks may be wrong: those of the process and of the database are set while charges are under way. Nothing may be lost,
 * and nothing charged twice. `npm run drill clocks` plays the same on real processes, the vault's included.
 */

const requestLifeMs = 1_500;
const minuteMs = 60_000;
const hourMs = 3_600_000;

let acquirer: OwnAcquirer;
let database: TestDatabase;
let stepped: SteppedDatabase;
let service: TestService;
let merchant: LiveMerchant;
let shop: Shop;
let wallOffsetMs = 0;

before(async () => {
  [acquirer, database] = await Promise.all([openAcquirer(), cloneDatabase(1)]);
  stepped = await stepDatabase(database);
  const local = { wallMs: () => Date.now() + wallOffsetMs, monotonicMs: () => performance.now() };
  service = await startTestService({ database, local });
  merchant = await connectMerchant(service, acquirer, { timeoutMs: 800, requestLifeMs });
  shop = await openShop(service, undefined, merchant);
});
after(async () => {
  await service.stop();
  await Promise.all([acquirer.stop(), stepped.close()]);
  await database.drop();
});

const place = (idempotencyKey: string): Promise<Reply> =>
  service.call('POST', '/v1/orders', {
    key: merchant.key,
    body: { customer_id: shop.customerId, items: [{ product_id: shop.productId, quantity: 1 }] },
    idempotencyKey,
  });

async function placeAll(keys: readonly string[], ...faults: readonly string[]): Promise<number[]> {
  await acquirer.control({ next: faults });
  return Promise.all(keys.map(async (key) => (await place(key)).status));
}

/** The worker's look, as if its time had come. */
async function recover(): Promise<void> {
  await service.db.query('UPDATE open_transactions SET next_check_at = stepped.now(), locked_until = stepped.now()');
  await service.orders.reconcileDue(100);
}

const newKeys = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

/** Sets a clock and puts it right again. */
type Step = (ms: number) => Promise<void>;
const steps: Record<string, Step> = {
  async 'the database'(ms) {
    await stepped.setOffset(ms);
    await service.clock.sync();
  },
  async 'the process'(ms) {
    wallOffsetMs = ms;
  },
};

const cases: readonly [where: string, ms: number][] = [
  ['the database', 2 * minuteMs],
  ['the database', -2 * hourMs],
  ['the database', 25 * hourMs],
  ['the process', -2 * minuteMs],
  ['the process', 25 * hourMs],
];

describe('a step of a clock', { concurrency: false }, () => {
  for (const [where, ms] of cases) {
    it(`of ${ms / minuteMs} minutes on ${where} loses nothing and doubles nothing`, async () => {
      const step = steps[where] as Step;
      const [done, late, lost, fresh] = [newKeys(2), newKeys(3), newKeys(2), newKeys(2)];
      const before = (await acquirer.journal()).length;
      assert.deepEqual(await placeAll(done), [201, 201]);
      assert.deepEqual(await placeAll(lost, 'reset_after', 'reset_after'), [502, 502]);
      assert.deepEqual(await placeAll(late, 'late', 'late', 'late'), [502, 502, 502]);
      await step(ms);
      try {
        await recover();
        assert.deepEqual(await placeAll(done), [201, 201], 'a finished key is answered again');
        for (const status of await placeAll(fresh)) assert.equal(status, 201, 'new orders are charged');
        await sleep(requestLifeMs + 100);
        await recover();
      } finally {
        await step(0);
      }
      await recover();
      const keys = [...done, ...late, ...lost, ...fresh];
      const replies = await Promise.all(keys.map((key) => place(key)));
      assert.deepEqual(
        replies.map(({ status, body }) => `${status} ${body.status}`),
        keys.map(() => '201 succeeded'),
      );
      assert.equal(new Set(replies.map(({ body }) => body.id)).size, keys.length);
      assert.equal((await acquirer.journal()).length - before, keys.length, 'each key was charged once');
      await recover();
      assert.deepEqual(await compareLedger(service.db, await acquirer.journal()), []);
    });
  }

  it('makes the process not ready above 30 seconds, and names the clock', async () => {
    const readiness = (): ReturnType<typeof readProbe> => readProbe(service.baseUrl, '/readyz');
    assert.equal((await readiness()).status, 200);
    wallOffsetMs = -65_000;
    const { status, text } = await readiness();
    assert.equal(status, 503);
    assert.match(text, /the clock of this process is 65 s behind the database/);
    const { text: metrics } = await readProbe(service.baseUrl, '/metrics');
    const [, skew] = /^svc_clock_skew_seconds\{of="process"\} (\S+)$/m.exec(metrics) ?? [];
    assert.equal(Math.round(Number(skew)), -65);
    wallOffsetMs = 0;
    assert.equal((await readiness()).status, 200);
  });
});

it('"not found" is believed when the clock of the processor is past the validity, and not before', async () => {
  const [key = ''] = newKeys(1);
  assert.deepEqual(await placeAll([key], 'error_before'), [502]);
  await stepped.setOffset(25 * hourMs);
  await recover();
  await stepped.setOffset(0);
  assert.equal((await place(key)).status, 502, 'also if the database has another time');
  acquirer.offsetMs = requestLifeMs;
  await recover();
  acquirer.offsetMs = 0;
  const reply = await place(key);
  assert.deepEqual([reply.status, reply.body.failure_code], [201, 'issuer_unavailable'], reply.text);
});

it('an expired request is counted, and shown in readiness', async () => {
  acquirer.offsetMs = 10 * minuteMs;
  const [key = ''] = newKeys(1);
  assert.deepEqual(await placeAll([key]), [201]);
  acquirer.offsetMs = 0;
  const { text: metrics } = await readProbe(service.baseUrl, '/metrics');
  assert.match(metrics, /^svc_processor_expired_requests_total [1-9]/m);
  const response = await fetch(`${service.baseUrl}/readyz`);
  assert.deepEqual(await response.json(), {
    status: 'ready',
    components: { database: 'up', processor: 'up', vault: 'up' },
    clocks: 'a processor rejected requests as expired',
  });
});
