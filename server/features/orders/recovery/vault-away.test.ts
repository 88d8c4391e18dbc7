import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAcquirer, type TestAcquirer } from '../../../../tests/support/acquirer.ts';
import { addCard, cards, created, everyDays, openScene, ordersOf } from '../../../../tests/support/billing.ts';
import { freePort } from '../../../../tests/support/listen.ts';
import {
  assertRefused,
  contextOf,
  eventTypes,
  openShop,
  readOrder,
  runWorker,
  type Shop,
} from '../../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../../tests/support/service.ts';
import { readSubscription, somePlan, someSubscriber, subscribe } from '../../../../tests/support/subscriptions.ts';
import { examine } from '../../../../cli/doctor.ts';
import type { Company } from '../../../company.ts';
import { withoutKey } from '../../../http/phases.ts';
import { getWaiting } from '../../overview/service.ts';
import { Secret } from '../../../platform/secret.ts';
import { remoteVault } from '../../../vault/client.ts';
import { buildVaultServer } from '../../../vault/server.ts';
import { localVault } from '../../../vault/vault.ts';
import { connectAcquirer } from '../../../../tests/support/connect.ts';
import { readProbe } from '../../../../tests/support/probes.ts';
import { eventually } from '../../../../tests/support/webhooks.ts';

/** The vault is a part of the service: while it is away, orders wait and renewals wait, and no card is declined. */

const credential = 'credential of the vault';
const requestLifeMs = 1_000;

let base: TestService;
let service: TestService;
let acquirer: TestAcquirer;
let port: number;
let vaultServer: ReturnType<typeof buildVaultServer> | undefined;
let live: Company;
let liveKey: string;
let shop: Shop;

async function startVault(db = base.vaultDb): Promise<void> {
  vaultServer = buildVaultServer(localVault(db, base.keys, base.clock), [new Secret(credential)]);
  await vaultServer.listen({ host: '127.0.0.1', port });
}
async function stopVault(): Promise<void> {
  await vaultServer?.close();
  vaultServer = undefined;
}

/** A vault that has lost its database. */
async function startVaultWithoutDatabase(): Promise<void> {
  const refuse = (): Promise<never> => Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
  await startVault({ ...base.vaultDb, query: refuse, ping: refuse });
}

const outages = {
  'is stopped': async () => undefined,
  'has lost its database': startVaultWithoutDatabase,
  'refuses the credential': async () => {
    vaultServer = buildVaultServer(base.vault, [new Secret('another')]);
    await vaultServer.listen({ host: '127.0.0.1', port });
  },
};

async function during<Result>(outage: () => Promise<unknown>, work: () => Promise<Result>): Promise<Result> {
  await stopVault();
  await outage();
  try {
    return await work();
  } finally {
    await stopVault();
    await startVault();
  }
}

before(async () => {
  const starting = startAcquirer({ settleAfterMs: 0, requestLifeMs });
  base = await startTestService();
  port = await freePort();
  const vault = remoteVault([`http://127.0.0.1:${port}`], new Secret(credential));
  service = await startTestService({ database: base.database, vault });
  await startVault();
  acquirer = await starting;
  ({ live } = await service.createMerchant());
  const { url, secret } = acquirer;
  await connectAcquirer(base, live.id, { url, secret, timeoutMs: 10_000, requestLifeMs });
  liveKey = await service.createKey({ ...live, processor: 'connected' });
  shop = await openShop(service, undefined, { key: liveKey });
});
after(async () => {
  await stopVault();
  await Promise.all([acquirer.stop(), service.stop()]);
  await base.stop();
});

const placeOrder = (idempotencyKey: string): Promise<Reply> =>
  service.call('POST', '/v1/orders', {
    key: liveKey,
    idempotencyKey,
    body: { customer_id: shop.customerId, items: [{ product_id: shop.productId, quantity: 1 }] },
  });

async function newestOrder(key = liveKey): Promise<Reply['body']> {
  return (await service.call('GET', '/v1/orders?limit=1', { key })).body.data[0];
}

function assertUnavailable(reply: Reply): void {
  assertRefused(reply, 503, 'service_unavailable');
  assert.match(reply.headers.get('retry-after') ?? '', /^\d+$/);
  assert.match(reply.body.error.message, /was not sent.*same idempotency key/);
}

const charges = async (): Promise<number> =>
  (await acquirer.journal()).filter(({ kind, status }) => kind === 'charge' && status === 'approved').length;

describe('while the vault', { concurrency: false }, () => {
  for (const [outage, begin] of Object.entries(outages)) {
    it(`${outage}, an order is 503 and stays pending, and its repeated key charges it once`, async () => {
      const key = randomUUID();
      const before = await charges();
      await during(begin, async () => {
        assertUnavailable(await placeOrder(key));
        assertUnavailable(await placeOrder(key));
        const waiting = await newestOrder();
        assert.deepEqual([waiting.status, waiting.failure_code], ['pending', null]);
        assert.equal(waiting.transactions[0].status, 'in_progress');
      });
      const waiting = await newestOrder();
      const [first, second] = await Promise.all([placeOrder(key), placeOrder(key)]);
      const statuses = [first.status, second.status].toSorted((left, right) => left - right);
      assert.ok(statuses[0] === 201 && [201, 409].includes(statuses[1] ?? 0), String(statuses));
      const repeated = await placeOrder(key);
      assert.deepEqual([repeated.status, repeated.body.status, repeated.body.id], [201, 'succeeded', waiting.id]);
      assert.equal(await charges(), before + 1);
      assert.deepEqual(await eventTypes(service, waiting.id), ['order.created', 'order.succeeded']);
    });
  }

  it('is away, the dashboard shows that the charge of an order waits, and when the order fails', async () => {
    const key = randomUUID();
    await during(outages['is stopped'], async () => {
      assertUnavailable(await placeOrder(key));
      const { id } = await newestOrder();
      const [charge] = (await getWaiting(contextOf(service, live), id)).data;
      assert.deepEqual([charge?.order_id, charge?.waits_for, charge?.next_attempt_at], [id, 'service', null]);
      const inMs = Date.parse(charge?.fails_at ?? '') - Date.now();
      assert.ok(inMs > 3_500_000 && inMs <= 3_600_000, `fails in ${inMs} ms`);
    });
    await placeOrder(key);
    assert.deepEqual((await getWaiting(contextOf(service, live), null)).data, []);
  });

  it('was away for longer than a request lives, the repeated key still charges', async () => {
    const key = randomUUID();
    await during(outages['is stopped'], async () => {
      assertUnavailable(await placeOrder(key));
      await sleep(requestLifeMs + 200);
    });
    assert.equal((await placeOrder(key)).body.status, 'succeeded');
  });

  it('is away, reading an order sends nothing', async () => {
    const key = randomUUID();
    await during(outages['is stopped'], () => placeOrder(key));
    const before = await charges();
    const { id } = await newestOrder();
    await readOrder(service, id, { key: liveKey });
    await service.orders.reconcile((await newestOrder()).company_id, id);
    await sleep(50);
    assert.equal((await newestOrder()).status, 'pending');
    assert.equal(await charges(), before);
    await placeOrder(key);
  });

  it('is away and the key is not repeated within an hour, the order fails as issuer_unavailable', async () => {
    const key = randomUUID();
    await during(outages['is stopped'], () => placeOrder(key));
    await service.orders.reconcileDue(1000);
    assert.equal((await newestOrder()).status, 'pending', 'not before the hour is over');
    const before = await charges();
    await runWorker(service);
    const failed = await newestOrder();
    assert.deepEqual([failed.status, failed.failure_code], ['failed', 'issuer_unavailable']);
    assert.equal((await placeOrder(key)).body.status, 'failed');
    assert.equal(await charges(), before);
  });

  it('is away, a retry is 503 and counts no attempt, and its repeated key charges', async () => {
    const key = randomUUID();
    await acquirer.control({ next: ['decline:51'] });
    const failed = (await placeOrder(randomUUID())).body;
    assert.equal(failed.status, 'failed');
    const retry = (): Promise<Reply> =>
      service.call('POST', `/v1/orders/${failed.id}/retry`, { key: liveKey, idempotencyKey: key });
    await during(outages['is stopped'], async () => {
      assertUnavailable(await retry());
      const now = await readOrder(service, failed.id, { key: liveKey });
      assert.deepEqual([now.status, now.attempt_count, now.transactions.length], ['failed', 1, 1]);
    });
    const retried = await retry();
    assert.deepEqual([retried.body.status, retried.body.attempt_count], ['succeeded', 1]);
  });

  it('is away, a refund and a void are not sent and leave the order as it was', async () => {
    const paid = (await placeOrder(randomUUID())).body;
    const key = randomUUID();
    const refund = (): Promise<Reply> =>
      service.call('POST', `/v1/orders/${paid.id}/refund`, {
        key: liveKey,
        idempotencyKey: key,
        body: { amount: 100 },
      });
    await during(outages['is stopped'], async () => {
      assertUnavailable(await refund());
      const company = { ...live, processor: 'connected' } as const;
      await assert.rejects(service.orders.void(contextOf(service, company), paid.id, withoutKey), /was not sent/);
      assert.equal((await readOrder(service, paid.id, { key: liveKey })).status, 'succeeded');
    });
    assert.equal((await refund()).body.status, 'partially_refunded');
  });

  it('is away, a subscription is not made until its key is repeated', async () => {
    const at = await openScene(service);
    const key = randomUUID();
    const subscribeOnce = (): Promise<Reply> =>
      subscribe(service, { plan_id: at.plan_id, customer_id: at.customer_id }, { key: at.key, idempotencyKey: key });
    await during(outages['is stopped'], async () => assertUnavailable(await subscribeOnce()));
    const reply = await subscribeOnce();
    assert.deepEqual([reply.status, reply.body.status, reply.body.completed_cycles], [201, 'active', 1]);
    assert.equal((await ordersOf(service, at)).length, 1);
  });

  it('is away, a renewal waits without an attempt and is charged by the worker when the vault is back', async () => {
    const at = await openScene(service, { billing_cycle: everyDays(1) });
    const { id } = await created(service, at);
    await during(outages['is stopped'], async () => {
      await service.db.query(`UPDATE companies SET clock_offset_ms = 90000000 WHERE id = $1`, [at.company.id]);
      await service.subscriptions.billDue(64);
      await runWorker(service);
      await runWorker(service);
      const waiting = await readSubscription(service, id, at);
      assert.deepEqual([waiting.status, waiting.attempt_count, waiting.last_failure_message], ['active', 0, null]);
    });
    await runWorker(service);
    const renewed = await readSubscription(service, id, at);
    assert.deepEqual([renewed.status, renewed.completed_cycles], ['active', 2]);
    const [, second] = await ordersOf(service, at);
    assert.deepEqual([second?.status, second?.attempt_count, second?.transactions.length], ['succeeded', 0, 1]);
  });

  it('is away, a dunning retry waits without an attempt', async () => {
    const at = await openScene(service, { billing_cycle: everyDays(30) }, cards.declinesAfterFirst);
    const { id } = await created(service, at);
    const pass = (days: number): Promise<unknown> =>
      service.db.query(`UPDATE companies SET clock_offset_ms = clock_offset_ms + $2 WHERE id = $1`, [
        at.company.id,
        days * 86_400_000 + 60_000,
      ]);
    await pass(30);
    await service.subscriptions.billDue(64);
    assert.equal((await readSubscription(service, id, at)).attempt_count, 1);
    await addCard(service, at, cards.good, { set_as_default: true });
    await during(outages['is stopped'], async () => {
      await pass(1);
      await service.subscriptions.billDue(64);
      await runWorker(service);
      const waiting = await readSubscription(service, id, at);
      assert.deepEqual([waiting.status, waiting.attempt_count], ['past_due', 1]);
    });
    await runWorker(service);
    const declined = await readSubscription(service, id, at);
    assert.deepEqual([declined.status, declined.attempt_count], ['past_due', 2]);
  });

  it('is away, metrics, readiness, the log and doctor show it', async () => {
    const plan = await somePlan(service, { billing_cycle: everyDays(1) });
    const customer_id = await someSubscriber(service);
    assert.equal((await subscribe(service, { plan_id: plan.id, customer_id })).status, 201);
    const read = async (path: '/readyz' | '/metrics'): Promise<string> => (await readProbe(service.baseUrl, path)).text;
    const metric = async (name: string): Promise<string | undefined> =>
      new RegExp(`^${name} (\\S+)$`, 'm').exec(await read('/metrics'))?.[1];
    const vaultUp = 'svc_component_up\\{component="vault"\\}';
    await eventually('the vault is up', async () => (await metric(vaultUp)) === '1');
    service.logLines.length = 0;
    await during(startVaultWithoutDatabase, async () => {
      await service.db.query(`UPDATE companies SET clock_offset_ms = 90000000 WHERE id = $1`, [service.company.id]);
      await service.subscriptions.billDue(64);
      assert.match(service.logLines.join(''), /the charge was not sent; it waits for the vault/);
      await eventually('the vault is down', async () => (await metric(vaultUp)) === '0');
      const line = /"severity_text":"ERROR".*"svc.component":"vault".*"body":"unavailable: vault"/;
      await eventually('it is logged', async () => line.test(service.logLines.join('')));
      assert.equal(await metric('svc_transactions_waiting'), '1');
      const components = { database: 'up', processor: 'up', vault: 'down' };
      await eventually('it is known why', async () => (await read('/readyz')).includes('cannot use its database'));
      // On a slow machine, the processor may have rejected requests of the tests before as expired.
      const { shards: _, clocks: __, ...readiness } = JSON.parse(await read('/readyz')) as Record<string, unknown>;
      const message = 'Degraded: the vault cannot use its database.';
      assert.deepEqual(readiness, { status: 'degraded', message, components });
      await service.db.query(`UPDATE open_transactions SET opened_at = now() - interval '11 minutes' WHERE waiting`);
      const findings = await examine(service.db);
      assert.ok(findings.some(({ check }) => check === 'waiting_for_the_vault'));
    });
    await eventually('it is ready', async () => (await read('/readyz')).includes('"status":"ready"'));
    assert.match(service.logLines.join(''), /"svc.component":"vault".*"body":"available again: vault"/);
    await runWorker(service);
    assert.equal(await metric('svc_transactions_waiting'), '0');
  });
});
