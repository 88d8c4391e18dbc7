import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { everyDays, ordersOf } from '../../tests/support/billing.ts';
import { connectTo } from '../../tests/support/connect.ts';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../tests/support/live-merchants.ts';
import { liveConfiguration, type LiveKind, liveSecrets } from '../../tests/support/live-processors.ts';
import { capture, openShop, order, readOrder, retry } from '../../tests/support/orders.ts';
import type { Reply, TestService } from '../../tests/support/service.ts';
import { readSubscription, somePlan, subscribe } from '../../tests/support/subscriptions.ts';

/** A card that is declined again and again, at live processors. The limits are low: three, and two a day. */

const visa = '4242424242424242';
const otherVisa = '4000056655665556';
const mastercard = '5555555555554444';

let live: LiveService;
let service: TestService;

before(async () => {
  live = await startLiveService({ settings: { SVC_DECLINES_VISA: '3', SVC_DECLINES_MASTERCARD_DAILY: '2' } });
  ({ service } = live);
});
after(() => live.stop());
beforeEach(() => Promise.all([decline('nmi', false), decline('stripe', false)]));

/** Whether the processor declines everything. */
async function decline(kind: LiveKind, all: boolean): Promise<void> {
  const code = kind === 'nmi' ? 'decline:202' : 'decline:insufficient_funds';
  await live.fakes[kind].control({ next: [], faults: all ? { [code]: 1 } : {} });
}

const place = ({ shop, key }: ConnectedMerchant, more: Partial<ConnectedMerchant['shop']> = {}): Promise<Reply> =>
  order(service, { ...shop, ...more }, {}, { key });

/** Returns the last order. */
async function declined(merchant: ConnectedMerchant, times: number, more = {}): Promise<Reply['body']> {
  let last: Reply['body'] | undefined;
  for (let count = 0; count < times; count += 1) last = (await place(merchant, more)).body;
  assert.equal(last?.status, 'failed');
  return last;
}

const sentTo = async (kind: LiveKind): Promise<number> => (await operationsAt(kind)).length;
async function operationsAt(kind: LiveKind): Promise<{ kind: string; status: string }[]> {
  return (await live.fakes[kind].call('GET', '/journal')).operations;
}

const rowsOf = async ({ companyId }: ConnectedMerchant): Promise<number> =>
  (await service.vaultDb.query('SELECT 1 FROM vault.card_declines WHERE company_id = $1', [companyId])).length;

/** As if the declines had happened this much earlier. */
const age = (merchant: ConnectedMerchant, interval: string): Promise<unknown> =>
  service.vaultDb.query('UPDATE vault.card_declines SET at = at - $2::interval WHERE company_id = $1', [
    merchant.companyId,
    interval,
  ]);

function assertStopped(found: Reply['body'], code = 'insufficient_funds'): void {
  assert.deepEqual([found.status, found.failure_code], ['failed', code], JSON.stringify(found));
  assert.match(found.failure_reason, /^Not sent to the bank: this card was declined \d+ times/);
}

for (const kind of ['nmi', 'stripe'] as const) {
  describe(`at ${kind}`, () => {
    it('stops sending a card, and says why', async () => {
      const merchant = await live.openMerchant(kind);
      await decline(kind, true);
      assert.doesNotMatch((await declined(merchant, 3)).failure_reason, /Not sent/);
      const sent = await sentTo(kind);
      const { body } = await place(merchant);
      assertStopped(body);
      assert.equal(body.next_retry_at, null, 'nothing retries an order by itself');
      assert.equal(await sentTo(kind), sent);
      const [transaction] = body.transactions;
      assert.deepEqual([transaction.status, transaction.processor_transaction_id], ['failed', null]);
    });

    it('counts an answer that was lost once it is known', async () => {
      const merchant = await live.openMerchant(kind);
      await decline(kind, true);
      await declined(merchant, 2);
      await live.fakes[kind].control({ next: ['reset_after'], faults: {} });
      assert.equal((await place(merchant)).status, 502);
      assert.equal((await place(merchant)).body.status, 'succeeded', 'an unknown outcome is not counted');
    });
  });
}

describe('what counts', () => {
  it('is the number of the card, not its entry', async () => {
    const merchant = await live.openMerchant('nmi');
    await decline('nmi', true);
    await declined(merchant, 3);
    await decline('nmi', false);
    const other = await openShop(service, visa, { key: merchant.key });
    assertStopped((await place(merchant, other)).body);
    const another = await openShop(service, otherVisa, { key: merchant.key });
    assert.equal((await place(merchant, another)).body.status, 'succeeded');
  });

  it('is forgotten when a charge succeeds', async () => {
    const merchant = await live.openMerchant('nmi');
    for (let round = 0; round < 3; round += 1) {
      await decline('nmi', true);
      await declined(merchant, 2);
      await decline('nmi', false);
      assert.equal((await place(merchant)).body.status, 'succeeded');
    }
    assert.equal(await rowsOf(merchant), 0);
  });

  it('leaves the window after 30 days, and is deleted', async () => {
    const merchant = await live.openMerchant('nmi');
    await decline('nmi', true);
    await declined(merchant, 3);
    await age(merchant, '30 days');
    assert.doesNotMatch((await declined(merchant, 1)).failure_reason, /Not sent/);
    assert.equal(await rowsOf(merchant), 1);
  });

  it('includes verifications, and no card is verified that is not sent', async () => {
    const merchant = await live.openMerchant('nmi');
    await decline('nmi', true);
    for (let count = 0; count < 3; count += 1) {
      await capture(service, merchant.shop.customerId, otherVisa, { key: merchant.key });
    }
    const sent = await sentTo('nmi');
    const paymentMethod = await capture(service, merchant.shop.customerId, otherVisa, { key: merchant.key });
    await decline('nmi', false);
    const body = { payment_method_id: paymentMethod };
    assertStopped((await order(service, merchant.shop, body, { key: merchant.key })).body, 'do_not_honor');
    assert.equal(await sentTo('nmi'), sent);
    // The usual card of the customer pays.
    const { paymentMethodId: payment_method_id } = merchant.shop;
    const paid = await order(service, merchant.shop, { payment_method_id }, { key: merchant.key });
    assert.equal(paid.body.status, 'succeeded', paid.text);
  });

  it('are declines by the bank, at this connection: a fault of the processor hands over, a stop does not', async () => {
    const merchant = await live.openMerchant('stripe', 'nmi');
    await live.fakes.stripe.control({ faults: { 'decline:insufficient_funds': 1 } });
    await declined(merchant, 3);
    const sent = await sentTo('nmi');
    assertStopped((await place(merchant)).body);
    assert.equal(await sentTo('nmi'), sent, 'the bank has decided');
  });

  it('counts charges with and without the customer apart for a Visa, and together for a Mastercard', async () => {
    const merchant = await live.openMerchant('nmi');
    await decline('nmi', true);
    const failed = await declined(merchant, 3);
    const retried = await retry(service, failed.id, { key: merchant.key });
    assert.doesNotMatch(retried.body.failure_reason, /Not sent/);
    const other = await openShop(service, mastercard, { key: merchant.key });
    const first = await declined(merchant, 2, other);
    assertStopped((await retry(service, first.id, { key: merchant.key })).body);
    assert.equal((await readOrder(service, first.id, { key: merchant.key })).attempt_count, 2);
    await age(merchant, '24 hours');
    const later = await retry(service, first.id, { key: merchant.key });
    assert.doesNotMatch(later.body.failure_reason, /Not sent/);
  });

  it('is nothing for a card that pays', async () => {
    const merchant = await live.openMerchant('nmi');
    for (let count = 0; count < 4; count += 1) assert.equal((await place(merchant)).body.status, 'succeeded');
    assert.equal(await rowsOf(merchant), 0);
  });

  it('counts a decline that a lookup finds', async () => {
    const merchant = await live.openMerchant('nmi');
    await decline('nmi', true);
    await declined(merchant, 2);
    const lost = await order(service, merchant.shop, {}, { key: merchant.key });
    const [row] = await service.vaultDb.query<{ reference: string }>(
      `UPDATE vault.card_declines SET failure_code = NULL WHERE reference = (
         SELECT reference FROM vault.card_declines WHERE company_id = $1 ORDER BY at DESC LIMIT 1) RETURNING reference`,
      [merchant.companyId],
    );
    assert.ok(row, lost.text);
    await decline('nmi', false);
    // As when its answer was lost: the vault is asked by the reference, and the bank has declined.
    const [card] = await service.db.query<{ card_id: string }>('SELECT card_id FROM payment_methods WHERE id = $1', [
      merchant.shop.paymentMethodId,
    ]);
    const found = await service.vault.lookup({
      ...{ companyId: merchant.companyId, mode: 'live', kind: 'charge', reference: row.reference },
      validUntilMs: Date.now() - 60_000,
      connectionId: merchant.connections[0] ?? '',
      sent: { amount: 4900, currency: 'usd', last4: '4242' },
      card: { cardId: card?.card_id ?? '', expMonth: 12, expYear: 2031 },
      credential: { initiator: 'customer', sequence: 'first' },
    });
    assert.equal(found.outcome, 'declined');
    assertStopped((await place(merchant)).body);
  });
});

describe('a notice about a charge in doubt', () => {
  const signingSecret = 'whsec_ofTheSimulatedStripe';

  /** A company whose card was declined twice, and a third charge of which is in doubt. */
  async function inDoubt(): Promise<{ merchant: ConnectedMerchant; reference: string }> {
    const opened = await live.connectMerchant();
    const configuration = liveConfiguration(live.fakes, 'stripe', liveSecrets.stripe);
    const connection = await connectTo(service, opened.companyId, {
      kind: 'stripe',
      configuration: { ...configuration, signing_secret: signingSecret },
      ...{ timeoutMs: 1_000, requestLifeMs: 60_000, extraOrigins: [live.fakes.stripe.url] },
    });
    const shop = await openShop(service, undefined, { key: opened.key });
    const merchant = { ...opened, connections: [connection], shop };
    await decline('stripe', true);
    await declined(merchant, 3);
    await decline('stripe', false);
    const [row] = await service.vaultDb.query<{ reference: string }>(
      `UPDATE vault.card_declines SET failure_code = NULL WHERE reference = (
         SELECT reference FROM vault.card_declines WHERE company_id = $1 ORDER BY at DESC LIMIT 1) RETURNING reference`,
      [merchant.companyId],
    );
    assert.ok(row);
    return { merchant, reference: row.reference };
  }

  /** As Stripe sends it, twice. */
  async function notice({ companyId, connections }: ConnectedMerchant, charge: object): Promise<void> {
    const object = { object: 'charge', id: 'ch_1', amount: 4900, currency: 'usd', created: 1, ...charge };
    const event = { object: 'event', id: 'evt_1', type: 'charge.failed', created: 1, data: { object } };
    const body = Buffer.from(JSON.stringify(event));
    const timestamp = Math.floor(Date.now() / 1_000);
    const signature = createHmac('sha256', signingSecret).update(`${timestamp}.`).update(body).digest('hex');
    const headers = { 'stripe-signature': `t=${timestamp},v1=${signature}` };
    for (let times = 0; times < 2; times += 1) {
      const received = await service.vault.receive({ companyId, connectionId: connections[0] ?? '', headers, body });
      assert.equal(received.outcome, 'accepted', JSON.stringify(received));
    }
  }

  it('counts its decline', async () => {
    const { merchant, reference } = await inDoubt();
    const outcome = { type: 'issuer_declined', network_status: 'declined_by_network' };
    await notice(merchant, {
      status: 'failed',
      failure_code: 'expired_card',
      outcome,
      metadata: { svc_reference: reference },
    });
    assertStopped((await place(merchant)).body, 'expired_card');
  });

  it('counts no block by Radar, which no card network has seen', async () => {
    const { merchant, reference } = await inDoubt();
    const outcome = { type: 'blocked', network_status: 'not_sent_to_network', reason: 'highest_risk_level' };
    await notice(merchant, {
      status: 'failed',
      failure_code: 'card_declined',
      outcome,
      metadata: { svc_reference: reference },
    });
    assert.equal((await place(merchant)).body.status, 'succeeded');
  });

  it('forgets the declines if it was paid', async () => {
    const { merchant, reference } = await inDoubt();
    await notice(merchant, { status: 'succeeded', captured: true, metadata: { svc_reference: reference } });
    assert.equal(await rowsOf(merchant), 0);
  });
});

describe('a renewal', () => {
  it('is sent again after the window, and its subscription waits for that', async () => {
    const merchant = await live.openMerchant('nmi');
    const plan = await somePlan(service, { billing_cycle: everyDays(30) }, merchant.company);
    const { customerId } = merchant.shop;
    const made = await subscribe(service, { plan_id: plan.id, customer_id: customerId }, { key: merchant.key });
    assert.deepEqual([made.status, made.body.status], [201, 'active'], made.text);
    await decline('nmi', true);
    // As many declines without the customer as are allowed.
    const failed = await declined(merchant, 1);
    for (let count = 0; count < 3; count += 1) await retry(service, failed.id, { key: merchant.key });
    await age(merchant, '10 days');
    const sent = await sentTo('nmi');
    await service.db.query('UPDATE companies SET clock_offset_ms = $2 WHERE id = $1', [
      merchant.companyId,
      30 * 86_400_000 + 3_600_000,
    ]);
    // The clocks of live companies are real: the declines move with it.
    await service.vaultDb.query(
      `UPDATE vault.card_declines SET at = at + interval '30 days 1 hour' WHERE company_id = $1`,
      [merchant.companyId],
    );
    await service.subscriptions.billDue(64);
    assert.equal(await sentTo('nmi'), sent);
    const body = await readSubscription(service, made.body.id, { key: merchant.key });
    assert.equal(body.status, 'past_due');
    const found = (await ordersOf(service, { ...merchant, plan_id: plan.id, customer_id: customerId })).at(-1);
    assert.ok(found);
    assertStopped(found);
    const opensAt = Date.now() + (20 * 24 + 30 * 24 + 1) * 3_600_000;
    assert.ok(Math.abs(Date.parse(found.next_retry_at) - opensAt) < 60_000, found.next_retry_at);
    assert.equal(body.next_retry_at, found.next_retry_at);
  });
});
