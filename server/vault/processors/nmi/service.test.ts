import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectTo } from '../../../../tests/support/connect.ts';
import { eventTypes, openShop, order, readOrder, refund, type Shop } from '../../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../../tests/support/service.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import type { SimulatedOperation } from '../../../../simulators/nmi/books.ts';

/** A live company whose orders are charged at the fake NMI. */

const securityKey = 'FakeSecurityKey'.padEnd(32, '8');
const timeoutMs = 500;
/** Longer than twice the timeout: in the last part of it nothing is sent. */
const requestLifeMs = 3_000;

let fake: Simulator;
let service: TestService;
let company: string;
let connection: string;
let key: string;
let shop: Shop;

before(async () => {
  // A request that is late arrives before the connector stops to send.
  fake = await startSimulator('nmi', securityKey, {
    'request-life-ms': 2 * timeoutMs,
    'settle-after-ms': 0,
  });
  service = await startTestService({ settings: { SVC_PROCESSOR_ORIGINS: fake.url } });
  const { live } = await service.createMerchant();
  const configuration = { security_key: securityKey, api_url: fake.url };
  const timing = { timeoutMs, requestLifeMs, extraOrigins: [fake.url] };
  company = live.id;
  connection = await connectTo(service, live.id, { kind: 'nmi', configuration, ...timing });
  key = await service.createKey({ ...live, processor: 'connected' });
  shop = await openShop(service, undefined, { key });
});
after(async () => {
  await Promise.all([fake.stop(), service.stop()]);
});
beforeEach(() => fake.control({ next: [], faults: {} }));

/** Repeats a request with its key, as a client does while the outcome is unknown. */
async function repeated(send: (idempotencyKey: string) => Promise<Reply>): Promise<Reply> {
  const idempotencyKey = randomUUID();
  for (let attempt = 0; ; attempt += 1) {
    const reply = await send(idempotencyKey);
    if (reply.status < 500 && reply.status !== 409) return reply;
    assert.ok(attempt < 60, `no outcome: ${reply.text}`);
    await sleep(200);
  }
}

const place = (): Promise<Reply> => repeated((idempotencyKey) => order(service, shop, {}, { key, idempotencyKey }));
const giveBack = (id: string, amount: number): Promise<Reply> =>
  repeated((idempotencyKey) => refund(service, id, amount, { key, idempotencyKey }));

async function executed(orderId: string): Promise<SimulatedOperation[]> {
  const rows = await service.db.query<{ reference: string }>(
    'SELECT reference FROM all_transactions WHERE order_id = $1',
    [orderId],
  );
  const references = rows.map(({ reference }) => reference);
  const { operations } = (await fake.call('GET', '/journal')) as { operations: SimulatedOperation[] };
  return operations.filter(({ reference }) => references.includes(reference ?? ''));
}

describe('a company that is connected to NMI', () => {
  it('charges an order and refunds it in part, twice by the same amount', async () => {
    const { body } = await place();
    assert.equal(body.status, 'succeeded');
    for (let round = 0; round < 2; round += 1) assert.equal((await giveBack(body.id, 100)).status, 200);
    assert.deepEqual(
      (await executed(body.id)).map(({ kind, amount, status }) => [kind, amount, status]),
      [
        ['charge', body.total, 'approved'],
        ['refund', 100, 'approved'],
        ['refund', 100, 'approved'],
      ],
    );
  });

  // The tests of the adapter have every way to lose an answer.
  for (const fault of ['reset_after', 'late']) {
    it(`${fault}: charges once and refunds once`, async () => {
      await fake.control({ next: [fault] });
      const { body } = await place();
      assert.equal(body.status, 'succeeded');
      await fake.control({ next: [fault] });
      assert.equal((await giveBack(body.id, 100)).status, 200);
      assert.deepEqual(
        (await executed(body.id)).map(({ kind }) => kind),
        ['charge', 'refund'],
      );
    });
  }

  it('reset_before: an order whose charge never arrived fails after the life of the request, uncharged', async () => {
    await fake.control({ next: ['reset_before'] });
    const { body } = await place();
    assert.deepEqual([body.status, body.failure_code], ['failed', 'issuer_unavailable']);
    assert.deepEqual(await executed(body.id), []);
  });

  it('code_301_before: an order is not charged, and its refund can be repeated', async () => {
    await fake.control({ next: ['code_301_before'] });
    const { body: refused } = await place();
    assert.deepEqual([refused.status, refused.failure_code], ['failed', 'issuer_unavailable']);
    assert.deepEqual(await executed(refused.id), []);
    const { body } = await place();
    await fake.control({ next: ['code_301_before'] });
    assert.equal((await giveBack(body.id, 100)).status, 200);
    assert.equal((await executed(body.id)).filter(({ kind }) => kind === 'refund').length, 1);
  });

  it('a charge that is returned after it settled voids its order, once', async () => {
    const { body } = await place();
    const news = async (): Promise<void> => {
      for (let after: string | undefined; ; ) {
        const about = { companyId: company, connectionId: connection };
        const polled = await service.vault.poll({ ...about, ...(after !== undefined && { after }) });
        assert.ok(polled);
        for (const notice of polled.notices) {
          const happenedAt = new Date(notice.atMs);
          await service.orders.applyNotice({ ...about, about: notice.about, happenedAt });
        }
        if (!polled.hasMore) return;
        after = polled.cursor;
      }
    };
    const [charge] = await service.db.query<{ reference: string }>(
      "SELECT reference FROM transactions WHERE order_id = $1 AND type = 'sale'",
      [body.id],
    );
    await news();
    assert.equal((await readOrder(service, body.id, { key })).status, 'succeeded');
    await fake.call('POST', '/control/returns', { reference: charge?.reference });
    for (let round = 0; round < 2; round += 1) {
      await news();
      assert.equal((await readOrder(service, body.id, { key })).status, 'voided');
    }
    const voided = (await eventTypes(service, body.id)).filter((type) => type === 'order.voided');
    assert.equal(voided.length, 1);
  });

  it('fails an order with the reason of the bank', async () => {
    await fake.control({ next: ['decline:202'] });
    const { body } = await place();
    assert.deepEqual([body.status, body.failure_code], ['failed', 'insufficient_funds']);
  });
});
