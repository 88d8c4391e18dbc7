import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { examine } from '../../cli/doctor.ts';
import { examineShards } from '../../cli/doctor-shards.ts';
import { startWorker } from '../../server/jobs/worker.ts';
import { createDiskStore } from '../../server/platform/files/disk-store.ts';
import { eventIdOf } from '../../server/platform/ids.ts';
import { createLog } from '../../server/platform/log.ts';
import { findAccount, type Mover, moveCompanies } from '../../server/shards/move/move.ts';
import { until } from '../../server/shards/move/sql.ts';
import * as steps from '../../server/shards/move/steps.ts';
import { openRenderer } from '../../server/features/receipts/service.ts';
import { openShards } from '../../server/shards/shards.ts';
import { keepRenewing } from '../drills/support/renewing.ts';
import { openShop, order } from '../support/orders.ts';
import { type Receiver, startReceiver, testAuthority } from '../support/receiver.ts';
import { type Merchant, someCustomer, type TestService } from '../support/service.ts';
import { type ShardServers, startShardServers } from '../support/shard-servers.ts';
import { somePlan, someSubscriber } from '../support/subscriptions.ts';

/** The short form of `npm run drill moves`: a worker runs on both shards while a company moves there and back. */

let servers: ShardServers;
let service: TestService;
let mover: Mover;
let receiver: Receiver;
let folder: string;
let worker: { stop(): Promise<void> } | undefined;
const workerLines: string[] = [];

const on = (shard: string) => service.shards.of({ shard }).db;

before(async () => {
  receiver = await startReceiver();
  servers = await startShardServers({
    settings: { SVC_WEBHOOK_ALLOW: '127.0.0.0/8' },
    certificates: [testAuthority],
  });
  ({ service } = servers);
  mover = { shards: service.shards, urlOf: servers.urlOf, keptMs: 1_000, onStep: () => undefined };
  folder = await mkdtemp(join(tmpdir(), 'svc-move-worker-'));
  const { clock, vault, mailKey, outbound, webhookSecretKey } = service;
  const parts = ['a', 'b'].map((name) => ({
    name,
    db: on(name),
    batchDb: on(name),
    clock,
    seen: { isUp: true },
    ...service.paymentsOn(name),
  }));
  const find = async (companyId: string): Promise<string> => (await service.shards.find(companyId)).name;
  worker = startWorker({
    shards: openShards(service.control, parts, { find }),
    clock,
    files: createDiskStore({ root: folder, baseUrl: service.baseUrl, signingKey: mailKey }),
    vault,
    mailer: undefined,
    renderer: openRenderer(undefined),
    mailKey,
    emails: undefined,
    outbound,
    webhookSecretKey,
    retention: { audit: { people: 400, keys: 90 }, mailDays: 30 },
    log: createLog('warn', { write: (line) => workerLines.push(line) }),
  });
});

after(async () => {
  await worker?.stop();
  await servers?.stop();
  await receiver?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function subscribe(key: string): Promise<void> {
  const endpoint = { url: receiver.url, enabled_events: ['*'] };
  const made = await service.call('POST', '/v1/webhook_endpoints', { key, body: endpoint });
  assert.equal(made.status, 201, made.text);
}

async function openStore(subscriptions: number): Promise<Merchant> {
  const merchant = await service.createMerchant();
  const { key } = merchant;
  await subscribe(key);
  const { id: plan_id } = await somePlan(
    service,
    { billing_cycle: { interval: 'day', interval_count: 1, anchor_day: 'signup_date' } },
    merchant.sandbox,
  );
  for (let count = 0; count < subscriptions; count += 1) {
    const customer_id = await someSubscriber(service, undefined, { key });
    const made = await service.call('POST', '/v1/subscriptions', { key, body: { customer_id, plan_id } });
    assert.equal(made.status, 201, made.text);
  }
  return merchant;
}

const receivedIds = (): string[] => receiver.received.map(({ event }) => String(event.id));

describe('a worker beside a move', () => {
  it('renews each cycle once, loses no charge, and delivers every event', async (test) => {
    const store = await openStore(4);
    const { key, sandbox } = store;
    const shop = await openShop(service, undefined, { key });
    const renewing = keepRenewing([sandbox.id], [on('a'), on('b')]);
    const orders = new Set<string>();
    const state = { stopped: false };
    const ordering = (async () => {
      while (!state.stopped) {
        const idempotencyKey = randomUUID();
        for (;;) {
          const reply = await order(service, shop, {}, { key, idempotencyKey });
          if (reply.status === 201) {
            assert.equal(reply.body.status, 'succeeded', reply.text);
            orders.add(reply.body.id);
            break;
          }
          assert.ok([503, 409, 502].includes(reply.status), reply.text);
          await sleep(100);
        }
        await sleep(50);
      }
    })();
    await sleep(1_000);
    for (const to of ['a', 'b']) {
      const { stopMs = Infinity } = await moveCompanies(mover, sandbox.id, to);
      test.diagnostic(`to ${to}: writes stopped for ${Math.round(stopMs)} ms`);
      await sleep(500);
    }
    state.stopped = true;
    await ordering;
    const figures = await renewing.stop(performance.now() + 30_000);
    test.diagnostic(`${orders.size} orders; ${figures.map(({ name, value }) => `${name}: ${value}`).join('; ')}`);
    assert.ok(
      figures.every(({ met = true }) => met),
      JSON.stringify(figures),
    );
    await until(
      'every charge',
      30_000,
      200,
      async () => (await on('b').query('SELECT 1 FROM open_transactions')).length === 0,
    );
    const charges = await on('b').query<{ order_id: string }>(
      `SELECT order_id FROM transactions WHERE company_id = $1 AND type = 'sale' AND status = 'succeeded'`,
      [sandbox.id],
    );
    assert.equal(new Set(charges.map(({ order_id }) => order_id)).size, charges.length, 'an order was charged twice');
    for (const id of orders)
      assert.ok(
        charges.some(({ order_id }) => order_id === id),
        'an order was lost',
      );
    const pending = `SELECT 1 FROM webhook_deliveries WHERE company_id = $1 AND status <> 'delivered'`;
    await until('every delivery', 90_000, 200, async () => (await on('b').query(pending, [sandbox.id])).length === 0);
    const events = await on('b').query<{ id: string }>('SELECT id FROM events WHERE company_id = $1', [sandbox.id]);
    const received = new Set(receivedIds());
    const missing = events.map(({ id }) => eventIdOf(id)).filter((id) => !received.has(id));
    test.diagnostic(`${events.length} events, ${receivedIds().length - received.size} delivered twice`);
    // Events of the shop and its subscriptions before the endpoint existed have no delivery.
    const deliveries = await on('b').query('SELECT 1 FROM webhook_deliveries WHERE company_id = $1', [sandbox.id]);
    assert.ok(missing.length <= events.length - deliveries.length, `${missing.length} events were not delivered`);
    assert.deepEqual(await examineShards(service.shards), []);
    for (const shard of ['a', 'b']) assert.deepEqual(await examine(on(shard)), []);
  });

  it('records a delivery on the new shard that was in flight during the switch', async () => {
    const store = await openStore(0);
    const { companyIds, accountId, current: source } = await findAccount(mover, store.sandbox.id);
    const target = service.shards.of({ shard: 'a' });
    const { control } = service;
    const move = { control, source, target, sourceUrl: mover.urlOf('b'), accountId, companyIds, keptMs: 1 };
    for (const step of [steps.prepare, steps.copy]) await step(move);
    const held: ServerResponse[] = [];
    receiver.behave((_, response) => void held.push(response));
    const made = await service.call('POST', '/v1/customers', { key: store.key, body: someCustomer() });
    assert.equal(made.status, 201, made.text);
    await until('the delivery', 10_000, 20, async () => held.length > 0);
    for (const step of [steps.stop, steps.arrive, steps.switchOver]) await step(move);
    receiver.behave(200);
    for (const response of held) response.writeHead(200).end('ok');
    const delivered = async (): Promise<boolean> => {
      const rows = await on('a').query<{ status: string }>(
        'SELECT status FROM webhook_deliveries WHERE company_id = $1',
        [store.sandbox.id],
      );
      return rows.length > 0 && rows.every(({ status }) => status === 'delivered');
    };
    await until('the record', 10_000, 50, delivered);
    const logs = await on('a').query('SELECT 1 FROM webhook_delivery_logs WHERE company_id = $1', [store.sandbox.id]);
    assert.equal(logs.length, held.length);
    await steps.clean(move);
    const left = await on('b').query('SELECT 1 FROM webhook_delivery_logs WHERE company_id = $1', [store.sandbox.id]);
    assert.deepEqual(left, []);
  });
});
