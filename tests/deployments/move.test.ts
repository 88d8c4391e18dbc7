import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { examine } from '../../cli/doctor.ts';
import { examineShards } from '../../cli/doctor-shards.ts';
import { openAuditLog } from '../../server/features/audit/service.ts';
import { numberInvoices } from '../../server/features/invoices/jobs.ts';
import { settingDefaults, updateSettings } from '../../server/features/invoices/settings-queries.ts';
import { sendDueMails } from '../../server/features/mails/jobs.ts';
import { writeMails } from '../../server/features/mails/service.ts';
import { openDatabase, controlPlaneOn } from '../../server/platform/database.ts';
import { createLog } from '../../server/platform/log.ts';
import { silentLog } from '../support/silent-log.ts';
import { movedFrom } from '../../server/shards/follow.ts';
import { abortMove, findAccount, moveCompanies, type Mover } from '../../server/shards/move/move.ts';
import { MoveError, until } from '../../server/shards/move/sql.ts';
import * as steps from '../../server/shards/move/steps.ts';
import { findTables } from '../../server/shards/move/tables.ts';
import { cloneDatabase } from '../support/database.ts';
import { waitUntil } from '../support/embedded-postgres.ts';
import { numbersOf } from '../support/invoices.ts';
import { checkAllOpen, openShop, order, type Shop, succeeded } from '../support/orders.ts';
import { somePlan, someSubscriber } from '../support/subscriptions.ts';
import type { Merchant, TestService } from '../support/service.ts';
import { type ShardServers, startShardServers } from '../support/shard-servers.ts';

/** Companies move between two PostgreSQL servers while they are in use. */

let servers: ShardServers;
let service: TestService;
let mover: Mover;

before(async () => {
  servers = await startShardServers();
  ({ service } = servers);
  mover = { shards: service.shards, urlOf: servers.urlOf, keptMs: 100, onStep: () => undefined };
});

after(async () => servers?.stop());

const on = (shard: string) => service.shards.of({ shard }).db;

/** How many rows of the companies a shard has, in all tables. */
async function rowsOn(shard: string, { live, sandbox }: Merchant): Promise<number> {
  let sum = 0;
  for (const { name, company } of await findTables(on(shard))) {
    const [row] = await on(shard).query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM ${name} t WHERE ${company('t')}::text = ANY($1)`,
      [[live.id, sandbox.id]],
    );
    sum += row?.count ?? 0;
  }
  const rows = await on(shard).query('SELECT 1 FROM companies WHERE id = ANY($1)', [[live.id, sandbox.id]]);
  return sum + rows.length;
}

/** Nothing of a move is left, and no check finds a problem. */
async function assertTidy(): Promise<void> {
  assert.deepEqual(await examineShards(service.shards), []);
  for (const { db } of service.shards.all) {
    assert.deepEqual(await examine(db), []);
    for (const left of [
      'SELECT subname FROM pg_subscription',
      'SELECT pubname FROM pg_publication',
      'SELECT slot_name FROM pg_replication_slots',
      `SELECT tgname FROM pg_trigger WHERE tgname LIKE 'svc_move%'`,
      `SELECT state FROM company_fences WHERE state <> 'left'`,
    ])
      assert.deepEqual(await db.query(left), [], left);
  }
}

interface Store extends Merchant {
  readonly shop: Shop;
}

/** A merchant on shard b with something in most tables. */
async function openStore(): Promise<Store> {
  const merchant = await service.createMerchant();
  const { key } = merchant;
  const shop = await openShop(service, undefined, { key });
  await succeeded(service, shop, { key });
  const endpoint = { url: 'https://example.com/hook', enabled_events: ['*'] };
  const made = await service.call('POST', '/v1/webhook_endpoints', { key, body: endpoint });
  assert.equal(made.status, 201, made.text);
  await succeeded(service, shop, { key });
  const { id: plan_id } = await somePlan(service, {}, merchant.sandbox);
  const customer_id = await someSubscriber(service, undefined, { key });
  const subscribed = await service.call('POST', '/v1/subscriptions', { key, body: { customer_id, plan_id } });
  assert.equal(subscribed.status, 201, subscribed.text);
  return { ...merchant, shop };
}

/** The move of a store from shard b to shard a, for tests that take its steps one by one. */
async function moveOf({ sandbox }: Store): Promise<steps.Move> {
  const { companyIds, accountId, current: source } = await findAccount(mover, sandbox.id);
  const target = service.shards.of({ shard: 'a' });
  const { control } = service;
  return { control, source, target, sourceUrl: mover.urlOf('b'), accountId, companyIds, keptMs: 100 };
}

/** Between two orders of a client, which must not use the whole machine for as long as companies move. */
const paceMs = 100;

/** Sends orders until it is stopped, and repeats each one with the same key until it has an answer. */
function keepOrdering({ key, shop }: Store, width: number) {
  const answers = new Map<string, string>();
  const state = { stopped: false, refused: 0, longestMs: 0 };
  const client = async (): Promise<void> => {
    while (!state.stopped) {
      const idempotencyKey = randomUUID();
      const startedMs = performance.now();
      for (;;) {
        const reply = await order(service, shop, {}, { key, idempotencyKey });
        if (reply.status === 201) {
          assert.equal(reply.body.status, 'succeeded', reply.text);
          answers.set(idempotencyKey, reply.body.id);
          break;
        }
        assert.ok([503, 409, 202].includes(reply.status), reply.text);
        if (reply.status === 503) assert.ok(reply.headers.get('retry-after'));
        state.refused += 1;
        assert.ok(performance.now() - startedMs < 60_000, `no answer: ${reply.text}`);
        await sleep(50);
        // Another process would find what the first one could not record.
        for (const shard of ['a', 'b']) await service.paymentsOn(shard).orders.reconcileDue(100);
      }
      state.longestMs = Math.max(state.longestMs, performance.now() - startedMs);
      await sleep(paceMs);
    }
  };
  const clients = Array.from({ length: width }, client);
  return {
    answers,
    state,
    async stop() {
      state.stopped = true;
      await Promise.all(clients);
    },
  };
}

describe('a company that moves', () => {
  it('loses and doubles no charge, and stops for less than a second', async (test) => {
    const store = await openStore();
    const bystander = await openStore();
    const { key, sandbox } = store;
    const mark = (await service.call('GET', '/v1/events/feed', { key })).body.cursor;
    const [busy, other] = [keepOrdering(store, 4), keepOrdering(bystander, 1)];
    try {
      for (const to of ['a', 'b']) {
        await sleep(300);
        const { stopMs = Infinity } = await moveCompanies({ ...mover, keptMs: 500 }, sandbox.id, to);
        test.diagnostic(`to ${to}: writes stopped for ${Math.round(stopMs)} ms`);
        assert.ok(stopMs < 2_000, `${stopMs} ms`);
        await sleep(300);
        assert.equal(await rowsOn(to === 'a' ? 'b' : 'a', store), 0);
        assert.equal((await service.call('GET', '/v1/customers', { key })).status, 200);
      }
    } finally {
      await Promise.all([busy.stop(), other.stop()]);
    }
    test.diagnostic(
      `${busy.answers.size} orders, ${busy.state.refused} repeated, ${Math.round(busy.state.longestMs)} ms at most`,
    );
    await checkAllOpen(service);
    assert.equal(other.state.refused, 0, 'another company of the shard is refused');
    assert.equal(new Set(busy.answers.values()).size, busy.answers.size);
    const charged = await on('b').query<{ order_id: string; count: number }>(
      `SELECT order_id, count(*)::integer AS count FROM transactions WHERE company_id = $1 AND type = 'sale' GROUP BY 1`,
      [sandbox.id],
    );
    assert.ok(charged.every(({ count }) => count === 1));
    // Two orders and the first charge of a subscription before the move.
    assert.equal(charged.length, busy.answers.size + 3);
    const [books] = await on('b').query<{ orders: number; open: number }>(
      `SELECT (SELECT count(*) FROM orders WHERE company_id = $1 AND rare_status IS NULL)::integer AS orders,
         (SELECT count(*) FROM open_transactions WHERE company_id = $1)::integer AS open`,
      [sandbox.id],
    );
    assert.deepEqual(books, { orders: charged.length, open: 0 });
    const seen = new Set<string>();
    for (let [cursor, more] = [mark, true]; more; ) {
      const { body } = await service.call('GET', `/v1/events/feed?limit=100&cursor=${encodeURIComponent(cursor)}`, {
        key,
      });
      for (const { type, data } of body.data) if (type === 'order.succeeded') seen.add(data.object.id);
      [cursor, more] = [body.cursor, body.has_more];
    }
    for (const id of busy.answers.values()) assert.ok(seen.has(id), 'an event is missing from the feed');
    const advanced = await service.call('POST', '/v1/sandbox/clock/advance', { key, body: { by: { months: 1 } } });
    assert.equal(advanced.status, 200, advanced.text);
    const renewed = await on('b').query('SELECT 1 FROM orders WHERE company_id = $1 AND subscription_cycle = 2', [
      sandbox.id,
    ]);
    assert.equal(renewed.length, 1, 'the subscription was not renewed');
    await assertTidy();
  });

  it('has one number for each payment, without a gap, while workers of both shards give them', async () => {
    const store = await openStore();
    const companyId = store.sandbox.id;
    await updateSettings(on('b'), companyId, { ...settingDefaults, enabled: true });
    const busy = keepOrdering(store, 2);
    const state = { isStopped: false };
    const workers = ['a', 'b', 'a', 'b'].map(async (shard) => {
      for (; !state.isStopped; await sleep(5)) await numberInvoices(on(shard), service.clock, silentLog);
    });
    try {
      for (const to of ['a', 'b']) {
        // By then the first payments are due.
        await sleep(2_500);
        await moveCompanies(mover, companyId, to);
      }
      await busy.stop();
      await checkAllOpen(service);
      await waitUntil(async () => !(await numbersOf({ db: on('b') }, companyId)).includes(null), 30_000);
    } finally {
      state.isStopped = true;
      await Promise.all([busy.stop(), ...workers]);
    }
    const numbers = await numbersOf({ db: on('b') }, companyId);
    assert.equal(numbers.length, busy.answers.size);
    assert.ok(numbers.length > 20, `only ${numbers.length} payments`);
    const expected = numbers.map((_, index) => String(index + 1).padStart(settingDefaults.padding, '0'));
    assert.deepEqual(
      numbers.map((number) => number?.split('-').at(-1)),
      expected,
    );
    await assertTidy();
  });

  it('continues after a kill at any step: each can be repeated', async () => {
    const store = await openStore();
    const { control } = service;
    const move = await moveOf(store);
    const before = await rowsOn('b', store);
    await control.query(`INSERT INTO company_shards VALUES ($1, 'b') ON CONFLICT DO NOTHING`, [store.live.id]);
    for (const step of [steps.prepare, steps.copy]) {
      await step(move);
      await step(move);
      await succeeded(service, store.shop, { key: store.key });
    }
    await steps.stop(move);
    await steps.stop(move);
    const refused = await order(service, store.shop, {}, { key: store.key });
    assert.deepEqual([refused.status, refused.headers.has('retry-after')], [503, true], refused.text);
    assert.equal((await service.call('GET', '/v1/customers', { key: store.key })).status, 200);
    for (const step of [steps.arrive, steps.switchOver]) {
      await step(move);
      await step(move);
    }
    await assert.rejects(() => steps.abort(move), /already/);
    await assert.rejects(
      on('b').query('UPDATE customers SET first_name = $2 WHERE company_id = $1', [store.sandbox.id, 'Old']),
      /moves to another shard/,
      'a process with the old shard can write',
    );
    await succeeded(service, store.shop, { key: store.key });
    for (const step of [steps.clean, steps.clean]) await step(move);
    assert.equal(await rowsOn('b', store), 0);
    assert.ok((await rowsOn('a', store)) > before);
    await assertTidy();
    const { stopMs } = await moveCompanies(mover, store.live.id, 'a');
    assert.equal(stopMs, undefined);
  });

  it('is continued by the same command after a kill', async () => {
    const store = await openStore();
    const dying = (at: string): Mover => ({
      ...mover,
      onStep: (step) => {
        if (step === at) throw new Error('killed');
      },
    });
    for (const at of ['copy', 'switch', 'clean'])
      await assert.rejects(moveCompanies(dying(at), store.sandbox.id, 'a'), /killed/);
    await moveCompanies(mover, store.sandbox.id, 'a');
    await succeeded(service, store.shop, { key: store.key });
    await assertTidy();
    assert.equal(await rowsOn('b', store), 0);
  });

  it('copies its rows again if a failover has lost the replication slot, and can be aborted', async () => {
    const store = await openStore();
    const move = await moveOf(store);
    const name = `svc_move_${move.accountId.replaceAll('-', '')}`;
    const paused = async (isPaused: boolean): Promise<unknown> =>
      on('a').query(`ALTER SUBSCRIPTION ${name} ${isPaused ? 'DISABLE' : 'ENABLE'}`);
    const loseSlot = async (): Promise<void> => {
      await paused(true);
      await until('The end of the sender', 30_000, 50, async () => {
        const [slot] = await on('b').query<{ active: boolean }>(
          'SELECT active FROM pg_replication_slots WHERE slot_name = $1',
          [name],
        );
        return slot?.active === false;
      });
      await on('b').query('SELECT pg_drop_replication_slot($1)', [name]);
      // The change that a new slot would lack.
      await succeeded(service, store.shop, { key: store.key });
      await paused(false);
    };
    await steps.prepare(move);
    await steps.copy(move);
    await loseSlot();
    await assert.rejects(steps.stopAndSwitch(move), /slot on shard "b" is gone.*Run this command again/);
    await abortMove(mover, store.sandbox.id);
    await assertTidy();
    await steps.prepare(move);
    await steps.copy(move);
    await loseSlot();
    const orders = 'SELECT id FROM orders WHERE company_id = $1 ORDER BY id';
    const before = await on('b').query(orders, [store.sandbox.id]);
    await moveCompanies(mover, store.sandbox.id, 'a');
    assert.deepEqual(await on('a').query(orders, [store.sandbox.id]), before);
    assert.equal(await rowsOn('b', store), 0);
    await assertTidy();
  });

  it('copies its rows again if a failover of the target has lost the slot of a table, and can be aborted', async () => {
    const store = await openStore();
    const move = await moveOf(store);
    const name = `svc_move_${move.accountId.replaceAll('-', '')}`;
    // As after a failover between the drop of the slot and the commit of the state.
    const loseTableSlot = async (): Promise<void> => {
      const target = on('a');
      await target.query(`ALTER SUBSCRIPTION ${name} DISABLE`);
      await target.query(
        `UPDATE pg_subscription_rel SET srsubstate = 'f' WHERE srrelid = 'orders'::regclass
         AND srsubid = (SELECT oid FROM pg_subscription WHERE subname = $1)`,
        [name],
      );
      await succeeded(service, store.shop, { key: store.key });
      await target.query(`ALTER SUBSCRIPTION ${name} ENABLE`);
    };
    await steps.prepare(move);
    await steps.copy(move);
    await loseTableSlot();
    await abortMove(mover, store.sandbox.id);
    await assertTidy();
    await steps.prepare(move);
    await steps.copy(move);
    await loseTableSlot();
    const orders = 'SELECT id FROM orders WHERE company_id = $1 ORDER BY id';
    const before = await on('b').query(orders, [store.sandbox.id]);
    await moveCompanies(mover, store.sandbox.id, 'a');
    assert.deepEqual(await on('a').query(orders, [store.sandbox.id]), before);
    assert.equal(await rowsOn('b', store), 0);
    await assertTidy();
  });

  it('stays where it is after an abort', async () => {
    const store = await openStore();
    await assert.rejects(abortMove(mover, store.sandbox.id), /nothing to abort/);
    const move = await moveOf(store);
    await steps.prepare(move);
    await steps.copy(move);
    await steps.stop(move);
    await steps.arrive(move);
    assert.ok((await rowsOn('a', store)) > 0);
    await abortMove(mover, store.live.id);
    assert.equal(await rowsOn('a', store), 0);
    await succeeded(service, store.shop, { key: store.key });
    await assertTidy();
  });

  it('creates the partitions as the owner of the table, also with the login of a superuser', async () => {
    const store = await openStore();
    const ownerOf = async (table: string): Promise<unknown> =>
      (
        await on('a').query<{ owner: string }>('SELECT tableowner AS owner FROM pg_tables WHERE tablename = $1', [
          table,
        ])
      )[0]?.owner;
    const owner = await ownerOf('requests');
    await on('b').query(
      `CREATE TABLE requests_20200101 PARTITION OF requests FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')`,
    );
    await on('a').query('CREATE ROLE keeper');
    await on('a').query('ALTER TABLE requests OWNER TO keeper');
    try {
      await moveCompanies(mover, store.live.id, 'a');
      assert.equal(await ownerOf('requests_20200101'), 'keeper');
    } finally {
      await on('a').query(`REASSIGN OWNED BY keeper TO ${owner}`);
      await on('a').query('DROP ROLE keeper');
    }
  });

  it('waits until its restored shard was compared, and takes along that its charges are looked up', async () => {
    const store = await openStore();
    const id = randomUUID();
    await on('b').query(`INSERT INTO restores (id, noticed_by, detail) VALUES ($1, 'operator', 'a test')`, [id]);
    await assert.rejects(moveCompanies(mover, store.live.id, 'a'), /Run svc reconcile before companies leave it/);
    await on('b').query('UPDATE restores SET reconciled_at = now(), reconciled_until = now()');
    await moveCompanies(mover, store.live.id, 'a');
    const noticed = 'SELECT noticed_at, reconciled_at FROM restores WHERE id = $1';
    assert.deepEqual(await on('a').query(noticed, [id]), await on('b').query(noticed, [id]));
    for (const shard of ['a', 'b']) await on(shard).query('DELETE FROM restores');
    await assertTidy();
  });

  it('takes along that a company is closed until it is compared', async () => {
    const store = await openStore();
    await on('b').query(`UPDATE companies SET gate = 'closed' WHERE id = $1`, [store.live.id]);
    await on('b').query(
      `INSERT INTO company_gates (company_id, noticed_by, detail) VALUES ($1, 'earlier_result', 'a test')`,
      [store.live.id],
    );
    await moveCompanies(mover, store.live.id, 'a');
    const [moved] = await on('a').query(
      'SELECT gate, waits_for FROM companies c JOIN company_gates g ON g.company_id = c.id WHERE c.id = $1',
      [store.live.id],
    );
    assert.deepEqual(moved, { gate: 'closed', waits_for: 'comparison' });
    await on('a').query('DELETE FROM company_gates');
    await on('a').query('UPDATE companies SET gate = NULL WHERE id = $1', [store.live.id]);
    await assertTidy();
  });

  it('is refused with the name of the setting if its server does not write logical WAL', async () => {
    const { connectionString, drop } = await cloneDatabase(1);
    const db = openDatabase({ connectionString, poolSize: 1, applicationName: 'test', onError: () => undefined });
    const one = { name: 'b', db };
    const move = {
      control: controlPlaneOn(db),
      source: one,
      target: one,
      sourceUrl: '',
      accountId: '',
      companyIds: [''] as [string],
      keptMs: 0,
    };
    await assert.rejects(steps.check(move), (error) => {
      assert.ok(error instanceof MoveError);
      assert.match(error.message, /shard "b" has wal_level = replica.*ALTER SYSTEM SET wal_level = 'logical'/);
      return true;
    });
    await db.close();
    await drop();
  });
});

describe('a request that outlives the move of its company', () => {
  /** The answer of the processor to the next charge or refund is held until it is released. */
  function hold(kind: 'charge' | 'refund') {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { vault } = service;
    const usual = vault[kind] as (request: unknown) => Promise<never>;
    vault[kind] = async (request: unknown) => {
      vault[kind] = usual;
      const outcome = await usual(request);
      reached.resolve();
      await released.promise;
      return outcome;
    };
    return { reached: reached.promise, release: released.resolve };
  }

  const rushed = (): Mover => ({ ...mover, keptMs: 1 });

  it('is answered with its charge, which is recorded once on the new shard', async () => {
    const store = await openStore();
    const move = await moveOf(store);
    for (const step of [steps.prepare, steps.copy]) await step(move);
    const idempotencyKey = randomUUID();
    const { reached, release } = hold('charge');
    const late = order(service, store.shop, {}, { key: store.key, idempotencyKey });
    await reached;
    await steps.stop(move);
    // The process tries to record the outcome during the stop, and goes on after the switch.
    release();
    for (const step of [steps.arrive, steps.switchOver]) await step(move);
    const answered = await late;
    assert.deepEqual([answered.status, answered.body.status], [201, 'succeeded'], answered.text);
    await steps.clean(move);
    const repeated = await order(service, store.shop, {}, { key: store.key, idempotencyKey });
    assert.deepEqual([repeated.status, repeated.body.id], [201, answered.body.id], repeated.text);
    const sales = await on('a').query(`SELECT 1 FROM transactions WHERE company_id = $1 AND order_id = $2`, [
      store.sandbox.id,
      repeated.body.id,
    ]);
    assert.equal(sales.length, 1);
    assert.deepEqual(await on('a').query('SELECT 1 FROM open_transactions'), []);
    await assertTidy();
  });

  it('is answered with its charge even after its rows are gone from the old shard', async () => {
    const store = await openStore();
    const { reached, release } = hold('charge');
    const late = order(service, store.shop, {}, { key: store.key });
    await reached;
    await moveCompanies(rushed(), store.sandbox.id, 'a');
    release();
    const answered = await late;
    assert.deepEqual([answered.status, answered.body.status], [201, 'succeeded'], answered.text);
    assert.equal(await rowsOn('b', store), 0);
    await assertTidy();
  });

  it('never reports a refund as not sent that the processor has', async () => {
    const store = await openStore();
    const { id } = await succeeded(service, store.shop, { key: store.key });
    const options = { key: store.key, idempotencyKey: randomUUID(), body: { amount: 100 } };
    const { reached, release } = hold('refund');
    const late = service.call('POST', `/v1/orders/${id}/refund`, options);
    await reached;
    const move = await moveOf(store);
    for (const step of [steps.prepare, steps.copy, steps.stop, steps.arrive, steps.switchOver]) await step(move);
    release();
    const refused = await late;
    assert.deepEqual([refused.status, refused.headers.has('retry-after')], [503, true], refused.text);
    const repeated = await service.call('POST', `/v1/orders/${id}/refund`, options);
    assert.deepEqual([repeated.status, repeated.body.refunded_amount], [200, 100], repeated.text);
    await steps.clean(move);
    await assertTidy();
  });

  it('has its email sent once', async () => {
    const store = await openStore();
    const move = await moveOf(store);
    for (const step of [steps.prepare, steps.copy]) await step(move);
    const mail = { recipient: 'late@example.com', subject: 'While we moved', body: 'Hello' };
    await writeMails(on('b'), store.sandbox.id, service.clock.nowMs(), [mail]);
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let sent = 0;
    const send = async (): Promise<void> => {
      sent += 1;
      reached.resolve();
      await released.promise;
    };
    const mailer = { send, check: async () => undefined, close: async () => undefined };
    const sendFrom = (shard: string): Promise<number> => {
      const movedTo = movedFrom(service.shards, shard, ({ db }) => db);
      return sendDueMails(on(shard), mailer, service.mailKey, silentLog, 10, { movedTo });
    };
    const sending = sendFrom('b');
    await reached.promise;
    await steps.stop(move);
    released.resolve();
    for (const step of [steps.arrive, steps.switchOver]) await step(move);
    await sending;
    await on('a').query('UPDATE mails SET next_attempt_at = now() WHERE next_attempt_at IS NOT NULL');
    assert.equal(await sendFrom('a'), 0);
    assert.equal(sent, 1);
    await steps.clean(move);
    await assertTidy();
  });

  it('cannot write on the old shard, however late', async () => {
    const store = await openStore();
    await moveCompanies(rushed(), store.sandbox.id, 'a');
    const alone = (await findTables(on('b'))).filter(({ isReferring }) => !isReferring).map(({ name }) => name);
    for (const name of ['public.idempotency_keys', 'public.card_tokens', 'public.events'])
      assert.ok(alone.includes(name));
    for (const name of alone) {
      const column = name === 'public.unreferenced_files' ? 'file_key' : 'company_id';
      const late = on('b').query(`INSERT INTO ${name} (${column}) VALUES ($1)`, [store.sandbox.id]);
      await assert.rejects(late, /the company is on another shard/, name);
    }
  });

  it('has its audit entry and its line in the request log on the new shard, and others have theirs', async () => {
    const [store, bystander] = [await openStore(), await openStore()];
    const move = await moveOf(store);
    for (const step of [steps.prepare, steps.copy, steps.stop]) await step(move);
    const lines: string[] = [];
    const audit = openAuditLog(service.shards, createLog('error', { write: (line) => lines.push(line) }));
    const requestId = 'req_during_the_stop';
    const actor = { kind: 'operator', id: null, name: 'a test' } as const;
    const entry = { atMs: Date.now(), actor, action: 'a test', objectId: null, fields: [], address: '', requestId };
    audit.write('b', { ...entry, companyId: store.sandbox.id });
    const replies = await Promise.all(
      [store, bystander].map(({ key }) => service.call('GET', '/v1/customers', { key })),
    );
    for (const step of [steps.arrive, steps.switchOver]) await step(move);
    await audit.flush();
    assert.deepEqual(lines, []);
    const count = async (shard: string, table: string, id: string | null): Promise<number> =>
      (await on(shard).query(`SELECT 1 FROM ${table} WHERE request_id = $1`, [id])).length;
    assert.equal(await count('a', 'audit_entries', requestId), 1);
    for (const [index, shard] of ['a', 'b'].entries())
      await until('the request log', 10_000, 50, async () => {
        return (await count(shard, 'requests', replies[index]?.headers.get('svc-request-id') ?? null)) === 1;
      });
    await steps.clean(move);
    await assertTidy();
  });
});
