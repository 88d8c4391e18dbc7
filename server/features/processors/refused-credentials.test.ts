import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { examine } from '../../../cli/doctor.ts';
import { everyDays, ordersOf, typesOf } from '../../../tests/support/billing.ts';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';
import {
  executedAt,
  liveConfiguration,
  type LiveKind,
  liveKinds,
  type LiveProcessors,
  liveSecrets,
} from '../../../tests/support/live-processors.ts';
import {
  assertRefused,
  connectionOf,
  order,
  readOrder,
  refund,
  retry,
  runWorker,
} from '../../../tests/support/orders.ts';
import { waitUntil } from '../../../tests/support/embedded-postgres.ts';
import { readProbe } from '../../../tests/support/probes.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';
import { readSubscription, somePlan, subscribe } from '../../../tests/support/subscriptions.ts';
import { Secret } from '../../platform/secret.ts';
import { claimWaiting, findOpenOf } from '../orders/operations/open-queries.ts';
import { reconcile } from '../reconciliation/service.ts';

/** The key of a connection is revoked at the processor: a mistake of the merchant, and never a decline of a customer. */

let live: LiveService;
let service: TestService;
let fakes: LiveProcessors;

before(async () => {
  live = await startLiveService();
  ({ service, fakes } = live);
});
after(() => live.stop());

/** The processor no longer knows the key that is stored. */
async function revoke({ company, connections }: ConnectedMerchant, kind: LiveKind): Promise<void> {
  await store(company.id, connections[0] ?? '', kind, `${liveSecrets[kind].slice(0, -1)}7`);
}

async function store(companyId: string, id: string, kind: LiveKind, key: string): Promise<void> {
  const configuration = new Secret(liveConfiguration(fakes, kind, key));
  assert.equal(await service.vault.connect({ companyId, id, kind, configuration, timeoutMs: 1_000 }), undefined);
}

const place = ({ shop, key }: ConnectedMerchant): Promise<Reply> =>
  order(service, shop, {}, { key, idempotencyKey: randomUUID() });

const connectionsOf = async ({ owner, company }: ConnectedMerchant): Promise<Reply['body'][]> =>
  (await owner.in('GET', '/dashboard/processors', undefined, { company: company.id })).body.connections;

async function attentionOf({ owner, company }: ConnectedMerchant): Promise<Reply['body'][]> {
  const { body } = await owner.in('GET', '/dashboard/attention', undefined, { company: company.id });
  return body.data.map(({ kind, count }: Reply['body']) => ({ kind, count }));
}

/** The charges that the dashboard shows as waiting. */
async function waitingOf({ owner, company }: ConnectedMerchant, orderId?: string): Promise<Reply['body'][]> {
  const path = `/dashboard/waiting_charges${orderId === undefined ? '' : `?order_id=${orderId}`}`;
  return (await owner.in('GET', path, undefined, { company: company.id })).body.data;
}

async function subscribed({ company, key, shop: { customerId } }: ConnectedMerchant): Promise<Reply['body']> {
  const plan = await somePlan(service, { billing_cycle: everyDays(1) }, company);
  const reply = await subscribe(service, { plan_id: plan.id, customer_id: customerId }, { key });
  assert.deepEqual([reply.status, reply.body.status], [201, 'active'], reply.text);
  return reply.body;
}

const act = (
  { owner, company }: ConnectedMerchant,
  id: string,
  action: 'pause' | 'resume' | 'end_renewal',
): Promise<Reply> => owner.in('POST', `/dashboard/subscriptions/${id}/${action}`, {}, { company: company.id });

async function renew({ company }: ConnectedMerchant): Promise<void> {
  await service.db.query('UPDATE companies SET clock_offset_ms = 90000000 WHERE id = $1', [company.id]);
  await service.subscriptions.billDue(64);
}

async function gauge(name: string): Promise<number> {
  const { text } = await readProbe(service.baseUrl, '/metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? -1);
}

for (const kind of liveKinds) {
  describe(`after the key at ${kind} was revoked`, () => {
    it('an order fails as a configuration problem, and the connection says why', async () => {
      const merchant = await live.openMerchant(kind);
      assert.equal((await place(merchant)).body.status, 'succeeded');
      assert.deepEqual(await attentionOf(merchant), []);
      await revoke(merchant, kind);
      const { body } = await place(merchant);
      assert.deepEqual([body.status, body.failure_code], ['failed', 'invalid_merchant_configuration'], inspect(body));
      await waitUntil(async () => (await attentionOf(merchant)).length > 0);
      const [connection] = await connectionsOf(merchant);
      assert.match(connection?.health.last_calls[0].reason, /key|authentication/i);
      assert.equal(connection?.health.last_calls[0].outcome, 'refused');
      assert.equal(connection?.health.failures, 1);
      assert.ok(connection?.refused_at);
      assert.deepEqual(await attentionOf(merchant), [{ kind: 'processors_refusing', count: 1 }]);
    });

    it('the first charge of a subscription fails at once in the same way, because a customer waits', async () => {
      const merchant = await live.openMerchant(kind);
      await revoke(merchant, kind);
      const plan = await somePlan(service, { billing_cycle: everyDays(1) }, merchant.company);
      const { customerId } = merchant.shop;
      const idempotencyKey = randomUUID();
      const terms = { plan_id: plan.id, customer_id: customerId };
      const reply = await subscribe(service, terms, { key: merchant.key, idempotencyKey });
      assert.deepEqual([reply.status, reply.body.status], [201, 'failed'], reply.text);
      const path = `/v1/orders?customer_id=${customerId}`;
      const [first] = (await service.call('GET', path, { key: merchant.key })).body.data;
      assert.deepEqual([first?.status, first?.failure_code], ['failed', 'invalid_merchant_configuration']);
      assert.deepEqual(await waitingOf(merchant), []);
      await store(merchant.company.id, merchant.connections[0] ?? '', kind, liveSecrets[kind]);
      await runWorker(service);
      const repeated = await subscribe(service, terms, { key: merchant.key, idempotencyKey });
      assert.deepEqual([repeated.status, repeated.body.status], [201, 'failed'], 'nothing is charged later');
    });

    it('a charge in doubt stays in doubt, and a refund is not executed', async () => {
      const merchant = await live.openMerchant(kind);
      const paid = (await place(merchant)).body;
      // Adyen is asked a second time under the same key, and an authorization that is never captured moves no money.
      const isAdyen = kind === 'adyen';
      await fakes[kind].control({ next: isAdyen ? ['reset_after', 'reset_after'] : ['reset_after'] });
      const idempotencyKey = randomUUID();
      const { shop, key } = merchant;
      const repeat = (): Promise<Reply> => order(service, shop, {}, { key, idempotencyKey });
      assert.equal((await repeat()).status, 502);
      await revoke(merchant, kind);
      await runWorker(service);
      assert.equal((await repeat()).status, isAdyen ? 201 : 502, 'unknown is not failed');
      const refundKey = randomUUID();
      const giveBack = (): Promise<Reply> => refund(service, paid.id, undefined, { key, idempotencyKey: refundKey });
      assertRefused(await giveBack(), 502, 'gateway_error');
      assert.equal((await readOrder(service, paid.id, { key })).status, 'succeeded');
      await store(merchant.company.id, merchant.connections[0] ?? '', kind, liveSecrets[kind]);
      assert.equal((await giveBack()).body.status, 'refunded', 'the same key is sent again');
    });

    it('a renewal waits, and is charged once when the merchant has replaced the key', async () => {
      const merchant = await live.openMerchant(kind);
      const { id } = await subscribed(merchant);
      await revoke(merchant, kind);
      await renew(merchant);
      await runWorker(service);
      const waiting = await readSubscription(service, id, merchant);
      assert.deepEqual([waiting.status, waiting.attempt_count, waiting.last_failure_message], ['active', 0, null]);
      await waitUntil(async () => (await attentionOf(merchant)).length > 1);
      assert.ok((await gauge('svc_transactions_waiting')) >= 1);
      assert.ok((await gauge('svc_processor_connections_refused')) >= 1);
      const { status, text: readiness } = await readProbe(service.baseUrl, '/readyz');
      assert.deepEqual([status, JSON.parse(readiness).components.processor], [200, 'up']);
      assert.deepEqual(await attentionOf(merchant), [
        { kind: 'processors_refusing', count: 1 },
        { kind: 'renewals_waiting', count: 1 },
      ]);
      const [charge] = await waitingOf(merchant);
      assert.deepEqual([charge?.waits_for, charge?.fails_at], ['credentials', null]);
      assert.ok(Date.parse(charge?.next_attempt_at) > Date.now() + 200_000, charge?.next_attempt_at);
      assert.equal((await waitingOf(merchant, charge?.order_id)).length, 1);
      assert.deepEqual(await waitingOf(merchant, randomUUID()), []);
      await store(merchant.company.id, merchant.connections[0] ?? '', kind, liveSecrets[kind]);
      await runWorker(service);
      assert.deepEqual(await waitingOf(merchant), []);
      const renewed = await readSubscription(service, id, merchant);
      assert.deepEqual([renewed.status, renewed.completed_cycles, renewed.attempt_count], ['active', 2, 0]);
      const scene = { ...merchant, customer_id: merchant.shop.customerId, plan_id: '' };
      const [, second] = await ordersOf(service, scene);
      assert.deepEqual([second?.status, second?.transactions.length], ['succeeded', 1]);
      assert.ok(!(await typesOf(service, id)).includes('subscription.past_due'));
      // A charge that was answered ends the refusal.
      await waitUntil(async () => (await attentionOf(merchant)).length === 0);
    });
  });
}

describe('credentials that a processor refuses', () => {
  it('send a charge to the next connection, within the same transaction', async () => {
    const merchant = await live.openMerchant('stripe', 'nmi');
    await revoke(merchant, 'stripe');
    const { body } = await place(merchant);
    assert.equal(body.status, 'succeeded', inspect(body));
    assert.equal(body.transactions.length, 1);
    assert.equal(await connectionOf(service, body.id), merchant.connections[1]);
  });

  it('are named by the doctor until the owner replaces them', async () => {
    const merchant = await live.openMerchant('stripe');
    await revoke(merchant, 'stripe');
    await place(merchant);
    const [id] = merchant.connections;
    const named = async (): Promise<boolean> =>
      (await service.db.query('SELECT 1 FROM processor_connections WHERE id = $1 AND refused_at IS NOT NULL', [id]))
        .length === 1;
    await waitUntil(named);
    assert.ok((await examine(service.db)).some(({ check }) => check === 'refused_credentials'));
    const configuration = { secret_key: liveSecrets.stripe };
    const reply = await merchant.owner.in(
      'PATCH',
      `/dashboard/processors/${id}`,
      { configuration },
      { company: merchant.company.id },
    );
    assert.deepEqual([reply.status, reply.body.refused_at], [200, null], reply.text);
    assert.equal(await named(), false);
    assert.equal((await place(merchant)).body.status, 'succeeded');
  });
});

const chargesAtStripe = async (): Promise<number> => (await fakes.stripe.call('GET', '/journal')).operations.length;

describe('a renewal that waits', () => {
  it('is discarded if the subscription is paused, and can be retried by hand', async () => {
    const merchant = await live.openMerchant('stripe');
    const { id } = await subscribed(merchant);
    const before = await chargesAtStripe();
    await revoke(merchant, 'stripe');
    await renew(merchant);
    const [charge] = await waitingOf(merchant);
    const [open] = await findOpenOf(service.db, merchant.company.id, charge?.order_id);
    assert.ok(open?.state === 'waiting');
    assert.equal((await act(merchant, id, 'pause')).body.status, 'paused');
    assert.equal(await claimWaiting(service.db, open, 5_000), undefined, 'a worker that was about to send it does not');
    assertRefused(await act(merchant, id, 'resume'), 409, 'resource_in_use');
    await store(merchant.company.id, merchant.connections[0] ?? '', 'stripe', liveSecrets.stripe);
    await service.orders.reconcileDue(1000);
    assert.equal(await chargesAtStripe(), before);
    const discarded = await readOrder(service, open.order_id, merchant);
    assert.deepEqual([discarded.status, discarded.failure_code], ['failed', 'transaction_not_allowed']);
    assert.match(discarded.failure_reason, /subscription was paused/);
    assert.ok(!(await typesOf(service, id)).includes('subscription.past_due'));
    const retried = await retry(service, open.order_id, { key: merchant.key });
    assert.equal(retried.body.status, 'succeeded', retried.text);
    const { status, completed_cycles } = await readSubscription(service, id, merchant);
    assert.deepEqual([status, completed_cycles], ['paused', 2]);
    const resumed = await act(merchant, id, 'resume');
    assert.deepEqual([resumed.body.status, resumed.body.attempt_count], ['active', 0], resumed.text);
    assert.equal(await chargesAtStripe(), before + 1);
  });

  it('keeps the renewal from being ended, and the error says what to do', async () => {
    const merchant = await live.openMerchant('stripe');
    const { id } = await subscribed(merchant);
    await revoke(merchant, 'stripe');
    await renew(merchant);
    const refused = await act(merchant, id, 'end_renewal');
    assertRefused(refused, 409, 'resource_in_use');
    assert.match(refused.body.error.message, /Cancel the subscription now, or end the renewal after the charge/);
    const path = `/dashboard/subscriptions/${id}/renewal`;
    const renewal = await merchant.owner.in('GET', path, undefined, { company: merchant.company.id });
    assert.equal(renewal.body.can_end, false);
  });
});

describe('a renewal that no connected processor takes', () => {
  it('waits, and is charged when the merchant has corrected the rules', async () => {
    const merchant = await live.openMerchant('stripe');
    const { id } = await subscribed(merchant);
    const path = `/dashboard/processors/${merchant.connections[0]}`;
    const limit = (rules: object) => merchant.owner.in('PATCH', path, { rules }, { company: merchant.company.id });
    assert.equal((await limit({ currencies: ['eur'] })).status, 200);
    await renew(merchant);
    const waiting = await readSubscription(service, id, merchant);
    assert.deepEqual([waiting.status, waiting.attempt_count], ['active', 0]);
    assert.deepEqual(await attentionOf(merchant), [{ kind: 'renewals_waiting', count: 1 }]);
    assert.equal((await waitingOf(merchant))[0]?.waits_for, 'connection');
    assert.equal((await limit({})).status, 200);
    await runWorker(service);
    const renewed = await readSubscription(service, id, merchant);
    assert.deepEqual([renewed.status, renewed.completed_cycles], ['active', 2]);
  });
});

/** A charge at these processors is two requests. The key works for the first one and is revoked before the second. */
const secondSteps = { stripe: 'revoke:charge', adyen: 'capture:revoke' } as const;

for (const [kind, fault] of Object.entries(secondSteps) as [keyof typeof secondSteps, string][]) {
  describe(`if the key at ${kind} is revoked between the two requests of a charge`, () => {
    const revokeMidway = (): Promise<void> => fakes[kind].control({ next: [fault] });
    const repair = (): Promise<void> => fakes[kind].control({ next: [], revoked: false });
    beforeEach(repair);
    after(repair);

    /** How often the processor has taken money. */
    const payments = (): Promise<number> => executedAt(fakes[kind], 'charge');

    /** A merchant whose renewal was refused midway and waits. */
    async function waitingRenewal(): Promise<{
      merchant: ConnectedMerchant;
      id: string;
      before: number;
      orderId: string;
    }> {
      const merchant = await live.openMerchant(kind);
      const { id } = await subscribed(merchant);
      const before = await payments();
      await revokeMidway();
      await renew(merchant);
      const [charge] = await waitingOf(merchant);
      assert.equal(charge?.waits_for, 'credentials');
      return { merchant, id, before, orderId: charge?.order_id };
    }

    async function assertRenewedOnce(merchant: ConnectedMerchant, id: string, transactions = 1): Promise<void> {
      const { status, completed_cycles, attempt_count } = await readSubscription(service, id, merchant);
      assert.deepEqual([status, completed_cycles, attempt_count], ['active', 2, 0]);
      const scene = { ...merchant, customer_id: merchant.shop.customerId, plan_id: '' };
      const [, second] = await ordersOf(service, scene);
      assert.deepEqual([second?.status, second?.transactions.length], ['succeeded', transactions], inspect(second));
      assert.ok(!(await typesOf(service, id)).includes('subscription.past_due'));
      assert.deepEqual(await waitingOf(merchant), []);
    }

    it('a renewal waits, however often it is sent, and is charged once with the new key', async () => {
      const { merchant, id, before, orderId } = await waitingRenewal();
      for (let sent = 0; sent < 3; sent += 1) await runWorker(service);
      const waiting = await readSubscription(service, id, merchant);
      assert.deepEqual([waiting.status, waiting.attempt_count, waiting.last_failure_message], ['active', 0, null]);
      assert.equal((await waitingOf(merchant, orderId))[0]?.waits_for, 'credentials');
      await waitUntil(async () => (await attentionOf(merchant)).length > 1);
      assert.equal(await payments(), before);
      await repair();
      await runWorker(service);
      await assertRenewedOnce(merchant, id);
      assert.equal(await payments(), before + 1);
    });

    it('a renewal is charged once if the process dies before it has noted the refusal', async () => {
      const { merchant, id, before, orderId } = await waitingRenewal();
      await service.db.query('UPDATE open_transactions SET waiting = false, waits_for = NULL WHERE order_id = $1', [
        orderId,
      ]);
      await runWorker(service);
      assert.equal((await readSubscription(service, id, merchant)).attempt_count, 0, 'unknown is not failed');
      await repair();
      await runWorker(service);
      await runWorker(service);
      // The payment at Stripe is cancelled and replaced; the authorization at Adyen is captured.
      await assertRenewedOnce(merchant, id, kind === 'stripe' ? 2 : 1);
      assert.equal(await payments(), before + 1);
    });

    it('a renewal is charged once elsewhere if the connection is replaced by another', async () => {
      const { merchant, id, before } = await waitingRenewal();
      const path = `/dashboard/processors/${merchant.connections[0]}`;
      const { company } = merchant;
      await live.connect(company.id, 'nmi');
      const gone = await merchant.owner.in('POST', `${path}/disconnect`, {}, { company: company.id });
      assert.equal(gone.status, 200, gone.text);
      const remove = (): Promise<Reply> => merchant.owner.in('DELETE', path, undefined, { company: company.id });
      assert.equal((await remove()).status, 409, 'the renewal is still open there');
      await repair();
      await runWorker(service);
      await assertRenewedOnce(merchant, id);
      assert.equal(await payments(), before);
      assert.equal((await remove()).status, 200);
    });

    it('a renewal is never charged if the subscription is canceled meanwhile', async () => {
      const { merchant, id, before, orderId } = await waitingRenewal();
      const { key } = merchant;
      assert.equal((await service.call('DELETE', `/v1/subscriptions/${id}`, { key })).body.status, 'canceled');
      await repair();
      await runWorker(service);
      const discarded = await readOrder(service, orderId, { key });
      assert.equal(discarded.status, 'failed');
      assert.match(discarded.failure_reason, /subscription ended/);
      assert.equal((await readSubscription(service, id, merchant)).status, 'canceled');
      assert.equal(await payments(), before);
    });

    it('an order fails as a configuration problem, the connection says why, and a retry charges it once', async () => {
      const merchant = await live.openMerchant(kind);
      const before = await payments();
      await revokeMidway();
      const { body } = await place(merchant);
      assert.deepEqual([body.status, body.failure_code], ['failed', 'invalid_merchant_configuration'], inspect(body));
      await waitUntil(async () => (await attentionOf(merchant)).length > 0);
      assert.ok((await connectionsOf(merchant))[0]?.refused_at);
      await repair();
      const retried = await retry(service, body.id, { key: merchant.key });
      assert.equal(retried.body.status, 'succeeded', retried.text);
      assert.equal(await payments(), before + 1);
    });

    it('an order is charged once if its idempotency key is used again after it has expired', async () => {
      const merchant = await live.openMerchant(kind);
      const { shop, key, company } = merchant;
      const before = await payments();
      await revokeMidway();
      const idempotencyKey = randomUUID();
      const send = async (): Promise<string> => (await order(service, shop, {}, { key, idempotencyKey })).body.status;
      assert.equal(await send(), 'failed');
      await repair();
      const ids = [company.id, idempotencyKey];
      const expired = `UPDATE idempotency_keys SET expires_at = now() - interval '1 second' WHERE company_id = $1 AND key = $2`;
      await service.db.query(expired, ids);
      assert.equal(await send(), 'succeeded');
      assert.equal(await payments(), before + 1);
    });

    it('an order is charged at the next connection, within the same transaction', async () => {
      const merchant = await live.openMerchant(kind, 'nmi');
      const before = await payments();
      await revokeMidway();
      const { body } = await place(merchant);
      assert.deepEqual([body.status, body.transactions.length], ['succeeded', 1], inspect(body));
      assert.equal(await connectionOf(service, body.id), merchant.connections[1]);
      await repair();
      await runWorker(service);
      assert.equal(await payments(), before);
    });
  });
}

for (const kind of liveKinds) {
  it(`a void at ${kind} with a revoked key is not executed, and can be repeated`, async () => {
    const merchant = await live.openMerchant(kind);
    const { id } = (await place(merchant)).body;
    await revoke(merchant, kind);
    const idempotencyKey = randomUUID();
    const giveBack = (): Promise<Reply> =>
      merchant.owner.in('POST', `/v1/orders/${id}/void`, {}, { company: merchant.company.id, idempotencyKey });
    assertRefused(await giveBack(), 502, 'gateway_error');
    assert.equal((await readOrder(service, id, merchant)).status, 'succeeded');
    await store(merchant.company.id, merchant.connections[0] ?? '', kind, liveSecrets[kind]);
    const reply = await giveBack();
    assert.deepEqual([reply.status, reply.body.status], [200, 'voided'], reply.text);
  });
}

it('reconciliation reports a charge that two connections executed', async () => {
  const merchant = await live.openMerchant('stripe', 'nmi');
  const { body } = await place(merchant);
  const [, other] = merchant.connections;
  // As if the charge had then been sent to the other connection, too.
  await service.db.query('UPDATE transactions SET connection_id = $2 WHERE order_id = $1', [body.id, other]);
  const { db, vault, clock } = service;
  const { comparisons } = await reconcile({ name: service.company.shard, db, vault, clock }, { adopt: false });
  const found = comparisons.find(({ company }) => company.id === merchant.company.id);
  assert.deepEqual(
    found?.differences.map(({ booked, state }) => [booked.order_id, state]),
    [[body.id, 'elsewhere']],
    inspect(found),
  );
});
