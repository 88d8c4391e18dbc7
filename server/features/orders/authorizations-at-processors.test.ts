import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../tests/support/embedded-postgres.ts';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';
import { order, readOrder, refund } from '../../../tests/support/orders.ts';
import type { Reply } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { applyDueNotices } from '../processors/notices.ts';

/** Held funds at Stripe, Adyen and NMI, through the whole service, with their notices. */

let live: LiveService;
const merchants = new Map<string, ConnectedMerchant>();
const kinds = ['stripe', 'adyen', 'nmi'] as const;

before(async () => {
  live = await startLiveService();
  for (const kind of kinds) merchants.set(kind, await live.openMerchant(kind));
  const notice_url = `${live.service.baseUrl}/processors/${merchants.get('adyen')?.connections[0]}/notices`;
  await live.fakes.adyen.control({ notice_url });
});
after(() => live.stop());

/** Waits until Adyen has delivered everything, and applies it. */
async function deliver(): Promise<void> {
  const { service, vault } = live;
  await waitUntil(async () => {
    await sleep(20);
    return (await live.fakes.adyen.call('GET', '/healthz')).undelivered === 0;
  }, 120_000);
  while ((await applyDueNotices({ db: service.db, vault, orders: service.orders, log: silentLog }, 200)) > 0);
}

async function settle(): Promise<void> {
  await deliver();
  await live.service.db.query(
    `UPDATE open_transactions SET locked_until = now(), valid_until = now() - interval '1 minute', next_check_at = now()`,
  );
  await live.service.orders.reconcileDue(100);
  await live.service.orders.releaseEnded(100);
}

for (const kind of kinds) {
  describe(`held funds at ${kind}`, () => {
    const merchant = (): ConnectedMerchant => merchants.get(kind) as ConnectedMerchant;
    const key = (): string => merchant().key;
    const read = (id: string): Promise<Reply['body']> => readOrder(live.service, id, { key: key() });
    const post = (id: string, action: string, body: object = {}): Promise<Reply> =>
      live.service.call('POST', `/v1/orders/${id}/${action}`, { body, key: key(), idempotencyKey: randomUUID() });
    async function held(): Promise<Reply['body']> {
      const reply = await order(live.service, merchant().shop, { capture: 'manual' }, { key: key() });
      assert.deepEqual([reply.status, reply.body.status], [201, 'pending'], reply.text);
      return reply.body;
    }

    it('are neither captured nor released by lookups and late notices', async () => {
      const { id, capture_before } = await held();
      assert.ok(Date.parse(capture_before) > Date.now());
      await settle();
      await settle();
      assert.deepEqual([(await read(id)).status, (await read(id)).capture_before], ['pending', capture_before]);
    });

    it('are captured in part, and what was captured is refunded', async () => {
      const { id } = await held();
      const captured = await post(id, 'capture', { amount: 3000 });
      assert.deepEqual([captured.body.status, captured.body.captured_amount], ['succeeded', 3000], captured.text);
      await settle();
      assert.equal((await read(id)).status, 'succeeded');
      if (kind === 'nmi') await live.fakes.nmi.control({ settle_after_ms: 0 });
      const refunded = await refund(live.service, id, 3000, { key: key() });
      assert.equal(refunded.body.status, 'refunded', refunded.text);
    });

    it('are released by a void, and not captured afterwards', async () => {
      const { id } = await held();
      const voided = await post(id, 'void');
      assert.equal(voided.body.status, 'voided', voided.text);
      await settle();
      const { status, transactions } = await read(id);
      assert.deepEqual([status, transactions[0].status], ['voided', 'voided']);
    });

    it('are released at their end', async () => {
      const { id } = await held();
      await live.service.db.query(`UPDATE orders SET capture_before = now() - interval '1 s' WHERE id = $1`, [id]);
      await settle();
      assert.equal((await read(id)).status, 'voided');
    });

    it('are found after a lost answer to the capture', async () => {
      const { id } = await held();
      await live.fakes[kind].control({ next: [kind === 'adyen' ? 'capture:reset_after' : 'reset_after'] });
      const lost = await post(id, 'capture');
      assert.equal(lost.status, 502, lost.text);
      await settle();
      const { status, captured_amount, transactions } = await read(id);
      assert.deepEqual([status, captured_amount, transactions.length], ['succeeded', 4900, 2]);
    });
  });
}

it('a capture that Adyen accepts and then refuses voids the order', async () => {
  const { shop, key } = merchants.get('adyen') as ConnectedMerchant;
  const { body: held } = await order(live.service, shop, { capture: 'manual' }, { key });
  await live.fakes.adyen.control({ next: ['capture_refused'] });
  const options = { body: {}, key, idempotencyKey: randomUUID() };
  const captured = await live.service.call('POST', `/v1/orders/${held.id}/capture`, options);
  assert.equal(captured.body.status, 'succeeded', captured.text);
  await deliver();
  assert.equal((await readOrder(live.service, held.id, { key })).status, 'voided');
});

it('an authorization that was cancelled at the processor is voided here', async () => {
  const { shop, key } = merchants.get('adyen') as ConnectedMerchant;
  const { body: held } = await order(live.service, shop, { capture: 'manual' }, { key });
  const [auth] = await live.service.db.query<{ reference: string; psp: string }>(
    `SELECT reference, processor_response->>'transaction_id' AS psp FROM transactions WHERE order_id = $1`,
    [held.id],
  );
  await live.fakes.adyen.call('POST', '/control/notices', {
    eventCode: 'CANCELLATION',
    pspReference: 'CANCELLEDBYPERSON',
    originalReference: auth?.psp,
    merchantReference: auth?.reference,
    amount: { currency: 'USD', value: 4900 },
    isSuccess: true,
  });
  await deliver();
  assert.equal((await readOrder(live.service, held.id, { key })).status, 'voided');
});

it('the notice about a void is known as ours, though a void leaves no transaction', async () => {
  const { shop, key } = merchants.get('adyen') as ConnectedMerchant;
  const { body: held } = await order(live.service, shop, { capture: 'manual' }, { key });
  const options = { body: {}, key, idempotencyKey: randomUUID() };
  const voided = await live.service.call('POST', `/v1/orders/${held.id}/void`, options);
  assert.equal(voided.body.status, 'voided', voided.text);
  await deliver();
  const rows = await live.service.db.query<{ result: string }>(
    `SELECT DISTINCT result FROM processor_notices WHERE type = 'CANCELLATION'`,
  );
  const results = rows.map(({ result }) => result);
  assert.ok(results.includes('the outcome was known'), results.join());
  assert.ok(!results.some((result) => result.startsWith('no charge')), results.join());
});
