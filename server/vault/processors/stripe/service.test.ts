import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { connectTo } from '../../../../tests/support/connect.ts';
import { checkAllOpen, openShop, order, readOrder, refund, type Shop } from '../../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../../tests/support/service.ts';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import { applyDueNotices } from '../../../features/processors/notices.ts';
import { silentLog } from '../../../../tests/support/silent-log.ts';
import { localVault } from '../../vault.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import type { Operation } from '../acquirer/protocol.ts';

/** Orders of a live company that is connected to the simulated Stripe. */

const secretKey = 'sk_test_51NotARealKey00000000';
const signingSecret = 'whsec_ofTheSimulatedStripe';
let stripe: Simulator;
let service: TestService;
let shop: Shop;
let key: string;

before(async () => {
  stripe = await startSimulator('stripe', secretKey, { 'request-life-ms': 200 });
  const extraOrigins = [stripe.url];
  service = await startTestService({ settings: { SVC_PROCESSOR_ORIGINS: stripe.url } });
  const { live } = await service.createMerchant();
  const connection = await connectTo(service, live.id, {
    kind: 'stripe',
    configuration: { secret_key: secretKey, signing_secret: signingSecret, api_url: stripe.url },
    timeoutMs: 1_000,
    requestLifeMs: 60_000,
    extraOrigins,
  });
  key = await service.createKey({ ...live, processor: 'connected' });
  shop = await openShop(service, undefined, { key });
  const url = new URL(`/processors/${connection}/notices`, service.baseUrl).href;
  await stripe.control({ webhook: { url, secret: signingSecret } });
});
after(async () => {
  await Promise.all([stripe.stop(), service.stop()]);
});
beforeEach(() => stripe.control({ next: [], faults: {} }));

const place = (idempotencyKey: string = randomUUID()): Promise<Reply> =>
  order(service, shop, {}, { key, idempotencyKey });

/** Places an order whose answer is lost, and repeats it after the look-up. */
async function placeInDoubt(fault: string): Promise<Reply['body']> {
  const idempotencyKey = randomUUID();
  await stripe.control({ next: [fault] });
  assert.equal((await place(idempotencyKey)).status, 502);
  await checkAllOpen(service);
  const reply = await place(idempotencyKey);
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

/** The operations of an order in the books of Stripe. */
async function atStripe(orderId: string): Promise<[string, string][]> {
  const rows = await service.db.query<{ reference: string }>(
    'SELECT reference FROM all_transactions WHERE order_id = $1',
    [orderId],
  );
  const references = rows.map(({ reference }) => reference);
  const operations: Operation[] = (await stripe.call('GET', '/journal')).operations;
  return operations.filter(({ reference }) => references.includes(reference)).map(({ kind, status }) => [kind, status]);
}

/** Waits until the events that Stripe sends have brought the order into this status. */
async function waitForStatus(orderId: string, status: string): Promise<void> {
  const vault = localVault(service.vaultDb, service.keys, service.clock);
  await waitUntil(async () => {
    await service.db.query('UPDATE processor_notices SET next_try_at = now() WHERE applied_at IS NULL');
    await applyDueNotices({ db: service.db, vault, orders: service.orders, log: silentLog }, 100);
    return (await readOrder(service, orderId, { key })).status === status;
  });
}

describe('an order that is charged by Stripe', () => {
  it('shows the payment and its authorization code', async () => {
    const { status, body } = await place();
    assert.deepEqual([status, body.status], [201, 'succeeded'], inspect(body));
    assert.deepEqual(await atStripe(body.id), [['charge', 'approved']]);
    const reply = await service.call('GET', `/v1/transactions/${body.transactions[0].id}`, { key });
    const { processor_response: shown } = reply.body;
    assert.match(shown.transaction_id, /^pi_/);
    assert.match(shown.authorization_code, /^\d{6}$/);
    assert.equal(shown.response_code, 'approved_by_network');
  });

  it('is declined with the reason of the bank', async () => {
    await stripe.control({ next: ['decline:lost_card'] });
    const { body } = await place();
    assert.deepEqual([body.status, body.failure_code], ['failed', 'lost_stolen_card'], inspect(body));
    assert.deepEqual(await atStripe(body.id), [['charge', 'declined']]);
  });

  // The tests of the adapter have every way to lose an answer.
  it('succeeds once, although the answer was lost', async () => {
    const found = await placeInDoubt('reset_after');
    assert.equal(found.status, 'succeeded', inspect(found));
    assert.deepEqual(await atStripe(found.id), [['charge', 'approved']]);
  });

  for (const fault of ['reset_before', 'saved_error']) {
    it(`${fault}: fails at the first look-up, and is never charged`, async () => {
      const found = await placeInDoubt(fault);
      assert.deepEqual([found.status, found.failure_code], ['failed', 'issuer_unavailable'], inspect(found));
      assert.deepEqual(await atStripe(found.id), []);
    });
  }

  it('late: the first look-up decides whether it is ever charged', async () => {
    const found = await placeInDoubt('late');
    await sleep(250);
    const charges = { failed: [], succeeded: [['charge', 'approved']] };
    assert.deepEqual(await atStripe(found.id), charges[found.status as keyof typeof charges], inspect(found));
  });

  it('is refunded once, although the answer was lost', async () => {
    const { body } = await place();
    await stripe.control({ next: ['reset_after'] });
    await refund(service, body.id, undefined, { key, idempotencyKey: randomUUID() });
    await checkAllOpen(service);
    const found = await readOrder(service, body.id, { key });
    assert.equal(found.status, 'refunded', inspect(found));
    assert.deepEqual(await atStripe(body.id), [
      ['charge', 'approved'],
      ['refund', 'approved'],
    ]);
  });

  it('is in doubt until an event decides it', async () => {
    const idempotencyKey = randomUUID();
    await stripe.control({ next: ['reset_after'] });
    assert.equal((await place(idempotencyKey)).status, 502);
    const { body } = await service.call('GET', '/v1/orders?status=pending', { key });
    await waitForStatus(body.data[0].id, 'succeeded');
  });
});
