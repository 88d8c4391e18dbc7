import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { connectTo } from '../../../../tests/support/connect.ts';
import { companyOf, type Person, signUp } from '../../../../tests/support/dashboard.ts';
import {
  assertRefused,
  checkAllOpen,
  eventTypes,
  openShop,
  order,
  readOrder,
  refund,
  retry,
  type Shop,
} from '../../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../../tests/support/service.ts';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import { applyDueNotices } from '../../../features/processors/notices.ts';
import { silentLog } from '../../../../tests/support/silent-log.ts';
import { localVault } from '../../vault.ts';

/** Events that Stripe sends, and disputes: what they do to the order, and to the figures of the merchant. */

const secretKey = 'sk_live_51NotARealKey00000000';
const signingSecret = 'whsec_ofTheSimulatedStripe';
let stripe: Simulator;
let service: TestService;

before(async () => {
  stripe = await startSimulator('stripe', secretKey);
  service = await startTestService({ settings: { SVC_PROCESSOR_ORIGINS: stripe.url } });
});
after(async () => {
  await Promise.all([stripe.stop(), service.stop()]);
});

interface Merchant {
  readonly owner: Person;
  readonly companyId: string;
  readonly key: string;
  readonly shop: Shop;
}

/** The simulated Stripe sends its events to the newest merchant. */
async function openMerchant(): Promise<Merchant> {
  const owner = await signUp(service);
  const companyId = companyOf(owner, 'live');
  const connection = await connectTo(service, companyId, {
    kind: 'stripe',
    configuration: { secret_key: secretKey, signing_secret: signingSecret, api_url: stripe.url },
    timeoutMs: 1_000,
    requestLifeMs: 60_000,
    extraOrigins: [stripe.url],
  });
  const url = new URL(`/processors/${connection}/notices`, service.baseUrl).href;
  await stripe.control({ webhook: { url, secret: signingSecret } });
  const key = await service.createKey({ ...service.company, id: companyId, mode: 'live', processor: 'connected' });
  return { owner, companyId, key, shop: await openShop(service, undefined, { key }) };
}

async function paid({ shop, key }: Merchant): Promise<Reply['body']> {
  const { body } = await order(service, shop, {}, { key, idempotencyKey: randomUUID() });
  assert.equal(body.status, 'succeeded');
  return body;
}

const disputesOf = async ({ owner, companyId }: Merchant, orderId: string): Promise<Reply['body'][]> =>
  (await owner.in('GET', `/dashboard/disputes?order_id=${orderId}`, undefined, { company: companyId })).body.data;

async function applyAll(): Promise<void> {
  const vault = localVault(service.vaultDb, service.keys, service.clock);
  await service.db.query('UPDATE processor_notices SET next_try_at = now() WHERE applied_at IS NULL');
  await applyDueNotices({ db: service.db, vault, orders: service.orders, log: silentLog }, 100);
}

/** Moves the dispute of an order at Stripe, and waits until the dispute has this state here. */
async function move(
  merchant: Merchant,
  { id, transactions }: Reply['body'],
  action: string,
  state: string,
  amount?: number,
) {
  const transaction_id = transactions[0].processor_transaction_id;
  await stripe.call('POST', '/control/disputes', { transaction_id, action, amount });
  await waitUntil(async () => {
    await applyAll();
    return (await disputesOf(merchant, id)).at(0)?.status === state;
  });
}

/** Gross volume, refunds, disputes and net volume of today. */
async function figuresOf({ owner, companyId }: Merchant): Promise<number[]> {
  const { body } = await owner.in('GET', '/dashboard/statistics?range=today', undefined, { company: companyId });
  const { gross_volume, refunded, disputed, net_volume } = body.figures;
  return [gross_volume.value, refunded.value, disputed.value, net_volume.value];
}

const statusOf = async ({ key }: Merchant, { id }: Reply['body']): Promise<string> =>
  (await readOrder(service, id, { key })).status;

const sign = (body: string, secret: string, ageSeconds = 0): string => {
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds;
  return `t=${timestamp},v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
};

async function deliver(connection: string, body: string, signature: string): Promise<number> {
  const url = new URL(`/processors/${connection}/notices`, service.baseUrl);
  const headers = { 'content-type': 'application/json', 'stripe-signature': signature };
  return (await fetch(url, { method: 'POST', headers, body })).status;
}

const connectionOf = async ({ owner, companyId }: Merchant): Promise<Reply['body']> =>
  (await owner.in('GET', '/dashboard/processors', undefined, { company: companyId })).body.connections[0];

async function attentionOf({ owner, companyId }: Merchant): Promise<string[]> {
  const { body } = await owner.in('GET', '/dashboard/attention', undefined, { company: companyId });
  return body.data.map(({ kind }: Reply['body']) => kind);
}

describe('an event that Stripe sends', () => {
  const event = JSON.stringify({
    id: `evt_${randomUUID()}`,
    object: 'event',
    type: 'customer.created',
    created: Math.floor(Date.now() / 1000),
    data: { object: {} },
  });

  it('shows the merchant that the signing secret is wrong, until one is accepted', async () => {
    const merchant = await openMerchant();
    const { id } = await connectionOf(merchant);
    assert.equal(await deliver(id, event, sign(event, 'whsec_ofAnotherEndpoint')), 400);
    const { notice_refused_at, notice_refusal, notice_seen_at } = await connectionOf(merchant);
    assert.ok(notice_refused_at);
    assert.deepEqual([notice_refusal, notice_seen_at], ['the signature does not match', null]);
    assert.deepEqual(await attentionOf(merchant), ['notices_refused']);
    assert.equal(await deliver(id, event, sign(event, signingSecret)), 200);
    assert.equal((await connectionOf(merchant)).notice_refused_at, null);
    assert.deepEqual(await attentionOf(merchant), []);
  });

  it('is kept once however often it is sent, and refused when it is replayed later', async () => {
    const merchant = await openMerchant();
    const { id } = await connectionOf(merchant);
    const kept = async (): Promise<number> =>
      (await service.db.query('SELECT 1 FROM processor_notices WHERE connection_id = $1', [id])).length;
    for (let times = 0; times < 2; times += 1) {
      assert.equal(await deliver(id, event, sign(event, signingSecret)), 200);
      assert.equal(await kept(), 1);
    }
    assert.equal(await deliver(id, event, sign(event, signingSecret, 301)), 400);
    assert.match((await connectionOf(merchant)).notice_refusal, /5 minutes/);
  });

  it('changes nothing if it is about a payment of another account', async () => {
    const other = await openMerchant();
    const theirs = await paid(other);
    const merchant = await openMerchant();
    const { id } = await connectionOf(merchant);
    const transaction_id = theirs.transactions[0].processor_transaction_id;
    await stripe.call('POST', '/control/disputes', { transaction_id, action: 'open' });
    await waitUntil(async () => {
      const rows = await service.db.query(
        `SELECT 1 FROM processor_notices WHERE connection_id = $1 AND type LIKE 'charge.dispute.%'`,
        [id],
      );
      return rows.length === 2;
    });
    await applyAll();
    const rows = await service.db.query<{ result: string }>(
      `SELECT result FROM processor_notices WHERE connection_id = $1 AND type LIKE 'charge.dispute.%'`,
      [id],
    );
    assert.deepEqual(new Set(rows.map(({ result }) => result)), new Set(['no charge of this connection has this id']));
    assert.equal(await statusOf(other, theirs), 'succeeded');
    assert.deepEqual(await figuresOf(merchant), [0, 0, 0, 0]);
  });
});

describe('a dispute that Stripe reports', () => {
  it('takes its amount out of the figures while it is open, and returns it when it is won', async () => {
    const merchant = await openMerchant();
    const body = await paid(merchant);
    assert.deepEqual(await figuresOf(merchant), [4900, 0, 0, 4900]);
    await move(merchant, body, 'open', 'needs_response');
    assert.equal(await statusOf(merchant, body), 'chargeback');
    assert.deepEqual(await figuresOf(merchant), [4900, 0, 4900, 0]);
    const [dispute] = await disputesOf(merchant, body.id);
    assert.deepEqual([dispute?.amount, dispute?.currency, dispute?.processor], [4900, 'usd', 'stripe']);
    await move(merchant, body, 'win', 'won');
    assert.equal(await statusOf(merchant, body), 'chargeback_dismissed');
    assert.deepEqual(await figuresOf(merchant), [4900, 0, 0, 4900]);
  });

  it('stays out of the figures when it is lost, with the amount that Stripe withdrew', async () => {
    const merchant = await openMerchant();
    const body = await paid(merchant);
    const back = await refund(service, body.id, 1000, { key: merchant.key, idempotencyKey: randomUUID() });
    assert.equal(back.body.status, 'partially_refunded');
    await move(merchant, body, 'open', 'needs_response', 3900);
    await move(merchant, body, 'lose', 'lost');
    assert.equal(await statusOf(merchant, body), 'chargeback_accepted');
    assert.equal((await disputesOf(merchant, body.id))[0]?.amount, 3900);
    assert.deepEqual(await figuresOf(merchant), [4900, 1000, 3900, 0]);
    const types = ['order.chargeback', 'order.chargeback_accepted'];
    assert.deepEqual((await eventTypes(service, body.id)).slice(-2), types, 'each is sent once');
  });

  it('takes nothing as an inquiry', async () => {
    const merchant = await openMerchant();
    const body = await paid(merchant);
    await move(merchant, body, 'inquiry', 'inquiry');
    await move(merchant, body, 'close_inquiry', 'inquiry_closed');
    assert.equal(await statusOf(merchant, body), 'succeeded');
    assert.deepEqual(await figuresOf(merchant), [4900, 0, 0, 4900]);
  });

  it('forbids to refund again an order whose refund failed: the cardholder would be paid twice', async () => {
    const merchant = await openMerchant();
    const body = await paid(merchant);
    await stripe.control({ next: ['reject_refund'] });
    await refund(service, body.id, undefined, { key: merchant.key, idempotencyKey: randomUUID() });
    await checkAllOpen(service);
    assert.equal(await statusOf(merchant, body), 'refund_failed');
    await move(merchant, body, 'open', 'needs_response');
    const again = (): Promise<Reply> => retry(service, body.id, { key: merchant.key, idempotencyKey: randomUUID() });
    const refused = await again();
    assertRefused(refused, 400, 'invalid_state_transition', 'id');
    assert.match(refused.body.error.message, /chargeback/);
    await move(merchant, body, 'lose', 'lost');
    assertRefused(await again(), 400, 'invalid_state_transition', 'id');
    assert.deepEqual(await figuresOf(merchant), [4900, 0, 4900, 0]);
  });
});
