import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { everyDays } from '../../../../tests/support/billing.ts';
import { afterFlight, compareAll, compareOnce, finish, gateOf, restore } from '../../../../tests/support/gates.ts';
import {
  type ConnectedMerchant,
  type LiveService,
  startLiveService,
} from '../../../../tests/support/live-merchants.ts';
import { executedAt, type LiveKind, type LiveProcessors } from '../../../../tests/support/live-processors.ts';
import { assertRefused, connectionOf, order, refund, runWorker } from '../../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../../tests/support/service.ts';
import { somePlan, subscribe } from '../../../../tests/support/subscriptions.ts';
import { dayMs, hourMs } from '../../../platform/durations.ts';
import { idTimeMs } from '../../../platform/ids.ts';
import { type LookupOutcome, noResponse } from '../../../vault/processors/processor.ts';
import type { Vault, VaultCharge, VaultOutcome } from '../../../vault/vault.ts';
import { reconcile } from '../../reconciliation/service.ts';
import { deriveReference, subjects } from '../operations/reference.ts';

/**
 * The gate after a restore. A processor executed a charge, and then the database forgot that, and the vault did not. The charge
 * must not be executed again, not be lost, and not be recorded as failed.
 */

let live: LiveService;
let service: TestService;
let fakes: LiveProcessors;
let vault: Vault;
let interference: Partial<Vault> = {};

before(async () => {
  live = await startLiveService({}, () => interference);
  ({ service, fakes, vault } = live);
});
after(() => live.stop());

async function repair(): Promise<void> {
  for (const fake of [fakes.adyen, fakes.stripe]) await fake.control({ next: [], revoked: false });
}
beforeEach(async () => {
  interference = {};
  await repair();
  await service.db.query('DELETE FROM restores');
  await service.db.query('DELETE FROM company_gates');
  await service.db.query('UPDATE companies SET gate = NULL WHERE gate IS NOT NULL');
  // So that each test compares its own company.
  await service.db.query('UPDATE processor_connections SET disconnected_at = now(), removed_at = now()');
});

async function paid(): Promise<Record<LiveKind, number>> {
  const count = (kind: LiveKind): Promise<number> => executedAt(fakes[kind], 'charge');
  return { stripe: await count('stripe'), nmi: await count('nmi'), adyen: await count('adyen') };
}

/** What the database forgets: the charges that these connections were sent, the one at this processor with a fault. */
function forgets(
  connections: readonly string[],
  fault: string | undefined,
  answer: VaultOutcome,
  at: LiveKind = 'adyen',
): void {
  interference.charge = async (request: VaultCharge) => {
    await fakes[at].control({ next: fault ? [fault] : [] });
    for (const connectionId of connections) await vault.charge({ ...request, connectionId });
    await repair();
    return answer;
  };
}

const unsent = { outcome: 'unavailable', reason: 'forgotten' } as const;
const inDoubt = { outcome: 'unknown', reason: 'forgotten' } as const;

async function disconnectFirst({ owner, companyId, connections }: ConnectedMerchant): Promise<void> {
  const path = `/dashboard/processors/${connections[0]}/disconnect`;
  const reply = await owner.in('POST', path, {}, { company: companyId });
  assert.equal(reply.status, 200, reply.text);
}

/** Places an order that the database then does not remember as sent. Returns a function that repeats the request. */
async function placeForgotten({ shop, key }: ConnectedMerchant, status: number): Promise<() => Promise<Reply>> {
  const options = { key, idempotencyKey: randomUUID() };
  const send = (): Promise<Reply> => order(service, shop, {}, options);
  assert.equal((await send()).status, status);
  interference = {};
  await restore(service);
  return send;
}

/** The database forgets the order itself, too. */
async function forgetOrder({ companyId }: ConnectedMerchant): Promise<void> {
  for (const table of ['open_transactions', 'transactions', 'events', 'idempotency_keys', 'orders'])
    await service.db.query(`DELETE FROM ${table} WHERE company_id = $1`, [companyId]);
}

/** The order is paid, once, at this connection of its merchant. */
async function assertPaidAt(reply: Reply, connectionId: string | undefined, charged: object): Promise<void> {
  assert.equal(reply.body.status, 'succeeded', reply.text);
  assert.equal(await connectionOf(service, reply.body.id), connectionId);
  assert.deepEqual(await paid(), charged);
}

/** Returns its ID. */
async function beginSubscription({ company, shop, key }: ConnectedMerchant): Promise<string> {
  const plan = await somePlan(service, { billing_cycle: everyDays(1) }, company);
  const reply = await subscribe(service, { plan_id: plan.id, customer_id: shop.customerId }, { key });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

async function billNextCycle({ companyId }: ConnectedMerchant): Promise<void> {
  await service.db.query('UPDATE companies SET clock_offset_ms = $2 WHERE id = $1', [companyId, 25 * hourMs]);
  await service.subscriptions.billDue(64);
}

async function deleteCard({ shop: { customerId, paymentMethodId }, key }: ConnectedMerchant): Promise<void> {
  const path = `/v1/customers/${customerId}/payment_methods/${paymentMethodId}`;
  const reply = await service.call('DELETE', path, { key });
  assert.equal(reply.status, 200, reply.text);
}

/** The worker, when the answers of the processors can no longer change. */
async function runWorkerLater(): Promise<void> {
  await runWorker(service);
  await service.db.query(`UPDATE open_transactions SET valid_until = now() - interval '1 minute'`);
  await runWorker(service);
}

const approved = { outcome: 'approved', response: { ...noResponse, transaction_id: 'PSP1' } } as const;
const cancelled = { outcome: 'not_found', isFinal: true } as const;

const notice = async (
  companyId: string,
  connectionId: string,
  reference: string,
  found: LookupOutcome,
): Promise<string> => {
  const about = { kind: 'operation', reference, found } as const;
  return (await service.orders.applyNotice({ companyId, connectionId, about, happenedAt: new Date() })).result;
};

/** A notice that arrives before what it is about is recorded. */
async function keepNotice(companyId: string, connectionId: string, reference: string): Promise<void> {
  const about = JSON.stringify({ kind: 'operation', reference, found: approved });
  await service.db.query(
    `INSERT INTO processor_notices (company_id, connection_id, id, type, about, happened_at)
     VALUES ($1, $2, $3, 'CAPTURE', $4, now())`,
    [companyId, connectionId, randomUUID(), about],
  );
}

const openReference = async ({ companyId }: ConnectedMerchant): Promise<string> => {
  const [open] = await service.db.query<{ reference: string }>(
    'SELECT reference FROM open_transactions WHERE company_id = $1',
    [companyId],
  );
  return open?.reference ?? '';
};

describe('a comparison', () => {
  const dependencies = (with_: Pick<Vault, 'operations'> = vault) => ({
    ...{ name: service.company.shard, db: service.db, vault: with_, clock: service.clock },
  });

  it('includes the connections after one that cannot list its operations', async () => {
    const merchant = await live.openMerchant('adyen', 'nmi');
    forgets(merchant.connections.slice(1), undefined, unsent);
    await placeForgotten(merchant, 503);
    await forgetOrder(merchant);
    const { comparisons } = await reconcile(dependencies(), { adopt: false, sinceMs: Date.now() - hourMs });
    const found = comparisons.find(({ company }) => company.id === merchant.companyId);
    assert.equal(found?.failure, 'adyen: the processor has no list of operations; compare with its report');
    assert.ok(found.missing.length > 0);
  });

  it('begins with the company if the restored database has no payment', async () => {
    const { companyId } = await live.openMerchant('nmi');
    await service.db.query(
      `INSERT INTO company_gates (company_id, noticed_by, detail) VALUES ($1, 'operator', 'a test')`,
      [companyId],
    );
    const from = new Map<string, number>();
    const operations: Vault['operations'] = async ({ companyId: id, fromMs }) => {
      from.set(id, fromMs);
      return { operations: [], next: null, nowMs: Date.now() };
    };
    await reconcile(dependencies({ operations }), { adopt: false });
    assert.equal(from.get(companyId), idTimeMs(companyId) - 2 * dayMs);
  });

  it('includes a company that has disconnected its only processor', async () => {
    const merchant = await live.openMerchant('adyen');
    await disconnectFirst(merchant);
    const { comparisons } = await reconcile(dependencies(), { adopt: false });
    const found = comparisons.find(({ company }) => company.id === merchant.companyId);
    assert.match(found?.failure ?? '', /no list of operations/);
  });
});

describe('the gate of a company', () => {
  it('opens by itself after two lists, and not before no request can be in flight', async () => {
    const merchant = await live.openMerchant('nmi', 'stripe');
    const { companyId } = merchant;
    const place = (): Promise<Reply> =>
      order(service, merchant.shop, {}, { key: merchant.key, idempotencyKey: randomUUID() });
    await restore(service);
    assert.equal(await gateOf(service, companyId), 'closed: comparison');
    const refused = await place();
    assertRefused(refused, 503, 'restore_in_progress');
    assert.match(refused.body.error.message, /restored from a backup.* comparison is in progress/);
    await compareOnce(service);
    assert.equal(await gateOf(service, companyId), 'closed: second_list');
    assert.match((await place()).body.error.message, /expected to end at 20/);
    assert.equal(await compareOnce(service), 0, 'it waits');
    await afterFlight(service);
    await compareOnce(service);
    assert.match(await gateOf(service, companyId), /^(open|remembers)$/);
    assert.equal((await place()).body.status, 'succeeded', 'at once, although the search of Stripe lags by hours');
  });

  it('stays closed while a processor does not answer, and is tried again', async () => {
    const merchant = await live.openMerchant('nmi', 'stripe');
    const [, other] = merchant.connections;
    const before = await paid();
    forgets(merchant.connections.slice(1), undefined, unsent);
    const send = await placeForgotten(merchant, 503);
    const operations: Vault['operations'] = async (request) => {
      if (request.connectionId === other) throw new Error('no answer');
      return vault.operations(request);
    };
    await compareAll(service, { operations });
    assert.equal(await gateOf(service, merchant.companyId), 'closed: processor');
    assertRefused(await send(), 503, 'restore_in_progress');
    await runWorkerLater();
    await afterFlight(service);
    await compareAll(service);
    await runWorker(service);
    assert.equal((await send()).body.status, 'succeeded');
    assert.deepEqual(await paid(), { ...before, stripe: before.stripe + 1 });
  });

  it('of a merchant with Adyen alone lets requests through, and only its renewals wait', async () => {
    const merchant = await live.openMerchant('adyen');
    await beginSubscription(merchant);
    const before = await paid();
    const send = await placeLost(merchant);
    await compareAll(service);
    assert.equal(await gateOf(service, merchant.companyId), 'renewals_wait: operator');
    await billNextCycle(merchant);
    assert.equal((await send()).body.status, 'succeeded');
    assert.deepEqual(await paid(), { ...before, adyen: before.adyen + 1 }, 'Adyen has answered with the first charge');
    await finish(service);
    assert.equal(await gateOf(service, merchant.companyId), 'open');
    await service.subscriptions.billDue(64);
    assert.deepEqual(await paid(), { ...before, adyen: before.adyen + 2 });
  });

  it('of a merchant with Adyen alone records no lost charge as failed while Adyen is away', async () => {
    const merchant = await live.openMerchant('adyen');
    const before = await paid();
    const send = await placeLost(merchant);
    interference.charge = async () => ({ outcome: 'not_sent', reason: 'no connection' });
    const { status, body } = await send();
    assert.deepEqual([status, body.error?.code], [503, 'restore_in_progress']);
    await runWorker(service);
    interference = {};
    assert.equal((await send()).body.status, 'succeeded');
    assert.deepEqual(await paid(), { ...before, adyen: before.adyen + 1 }, 'Adyen has answered with the first charge');
    await finish(service);
  });

  it('is closed again by a second restore, which compares from the earlier end of the records', async () => {
    const { companyId } = await live.openMerchant('nmi');
    await restore(service);
    await service.db.query(`UPDATE company_gates SET books_until = now() - interval '4 days'`);
    await compareOnce(service);
    await restore(service);
    const [gate] = await service.db.query<{ waits_for: string; days: number }>(
      `SELECT waits_for, extract(day FROM now() - books_until)::integer AS days FROM company_gates WHERE company_id = $1`,
      [companyId],
    );
    assert.deepEqual(gate, { waits_for: 'comparison', days: 4 });
  });
});

/** Places an order that the records then lose, and nothing else. Returns a function that repeats the request. */
async function placeLost({ companyId, shop, key }: ConnectedMerchant): Promise<() => Promise<Reply>> {
  const options = { key, idempotencyKey: randomUUID() };
  const send = (): Promise<Reply> => order(service, shop, {}, options);
  const { id } = (await send()).body;
  await service.db.query('DELETE FROM transactions WHERE company_id = $1 AND order_id = $2', [companyId, id]);
  await service.db.query('DELETE FROM idempotency_keys WHERE company_id = $1', [companyId]);
  await service.db.query('DELETE FROM orders WHERE company_id = $1 AND id = $2', [companyId, id]);
  await restore(service);
  return send;
}

for (const kind of ['nmi', 'stripe'] as const) {
  describe(`an order that was paid at ${kind}, after Adyen had refused the credentials`, () => {
    for (const isKnown of [true, false]) {
      it(`is found when the records have lost ${isKnown ? 'only that it was sent' : 'it'}, and nothing is captured at Adyen`, async () => {
        const merchant = await live.openMerchant('adyen', kind);
        const before = await paid();
        forgets(merchant.connections, 'capture:revoke', unsent);
        const send = await placeForgotten(merchant, 503);
        if (!isKnown) await forgetOrder(merchant);
        await disconnectFirst(merchant);
        assertRefused(await send(), 503, 'restore_in_progress');
        await compareAll(service);
        assert.equal(await gateOf(service, merchant.companyId), 'closed: operator');
        await finish(service);
        await runWorker(service);
        await assertPaidAt(await send(), merchant.connections[1], { ...before, [kind]: before[kind] + 1 });
      });
    }

    it('is found when it is in doubt where it was sent first', async () => {
      const merchant = await live.openMerchant('adyen', kind);
      const before = await paid();
      forgets(merchant.connections, 'capture:revoke', inDoubt);
      const send = await placeForgotten(merchant, 502);
      await runWorkerLater();
      assertRefused(await send(), 503, 'restore_in_progress');
      assert.deepEqual(await paid(), { ...before, [kind]: before[kind] + 1 }, 'nothing is looked up behind the gate');
      await compareAll(service);
      await finish(service);
      await runWorker(service);
      await assertPaidAt(await send(), merchant.connections[1], { ...before, [kind]: before[kind] + 1 });
    });
  });
}

describe('an order whose authorization at Adyen was not captured', () => {
  for (const answer of [unsent, inDoubt]) {
    it(`is charged once when the operator has finished, if it is ${answer === unsent ? 'waiting' : 'in doubt'}`, async () => {
      const merchant = await live.openMerchant('adyen', 'nmi');
      const before = await paid();
      forgets(merchant.connections.slice(0, 1), 'capture:revoke', answer);
      const send = await placeForgotten(merchant, answer === unsent ? 503 : 502);
      await compareAll(service);
      assertRefused(await send(), 503, 'restore_in_progress');
      assert.deepEqual(await paid(), before);
      await finish(service);
      await service.orders.reconcileDue(1_000);
      assert.equal((await send()).body.status, 'succeeded');
      const now = await paid();
      assert.equal(now.adyen + now.nmi, before.adyen + before.nmi + 1);
    });
  }
});

describe('an order that the second connection was paid for', () => {
  it('is not recorded as failed because the first one did not execute it', async () => {
    const merchant = await live.openMerchant('stripe', 'nmi');
    const before = await paid();
    forgets(merchant.connections, 'revoke:charge', inDoubt, 'stripe');
    const send = await placeForgotten(merchant, 502);
    await runWorkerLater();
    await compareAll(service);
    await runWorkerLater();
    await assertPaidAt(await send(), merchant.connections[1], { ...before, nmi: before.nmi + 1 });
  });

  it('is found if it is a renewal', async () => {
    const merchant = await live.openMerchant('stripe', 'nmi');
    await beginSubscription(merchant);
    const before = await paid();
    forgets(merchant.connections, 'revoke:charge', { ...inDoubt, isInterrupted: true }, 'stripe');
    await billNextCycle(merchant);
    interference = {};
    await restore(service);
    await compareAll(service);
    for (let run = 0; run < 3; run += 1) await runWorkerLater();
    assert.deepEqual(await paid(), { ...before, nmi: before.nmi + 1 });
    assert.deepEqual(await renewalOf(merchant), { status: 'succeeded', connection_id: merchant.connections[1] });
  });

  it('is found although its card was deleted since', async () => {
    for (const kinds of [['nmi'], ['nmi', 'stripe']] as const) {
      const merchant = await live.openMerchant(...kinds);
      const before = await paid();
      forgets(merchant.connections.slice(-1), undefined, unsent);
      const send = await placeForgotten(merchant, 503);
      await deleteCard(merchant);
      await compareAll(service);
      await runWorker(service);
      assert.equal((await send()).body.status, 'succeeded');
      const [last = 'nmi'] = kinds.slice(-1);
      assert.deepEqual(await paid(), { ...before, [last]: before[last] + 1 });
    }
  });
});

const renewalOf = async ({ companyId }: ConnectedMerchant): Promise<object | undefined> => {
  const [renewal] = await service.db.query<{ status: string; connection_id: string }>(
    `SELECT o.status, t.connection_id FROM orders o JOIN transactions t ON t.company_id = o.company_id AND t.id = o.sale_id
     WHERE o.company_id = $1 AND o.subscription_cycle = 2`,
    [companyId],
  );
  return renewal;
};

describe('a refund that was adopted, so that its key is forgotten', () => {
  for (const kind of ['stripe', 'nmi'] as const) {
    it(`is the answer to its repeated key, and not made again, at ${kind}`, async () => {
      const { shop, key, companyId } = await live.openMerchant(kind);
      const { body } = await order(service, shop, {}, { key });
      const options = { key, idempotencyKey: randomUUID() };
      const giveBack = (): Promise<Reply> => refund(service, body.id, 100, options);
      assert.equal((await giveBack()).body.refunded_amount, 100);
      const before = await executedAt(fakes[kind], 'refund');
      await service.db.query('DELETE FROM idempotency_keys WHERE company_id = $1', [companyId]);
      const repeated = await giveBack();
      assert.deepEqual([repeated.status, repeated.body.refunded_amount], [200, 100], repeated.text);
      assert.equal(await executedAt(fakes[kind], 'refund'), before);
    });
  }
});

describe('a renewal that was given up and paid with the next reference', () => {
  for (const isOpen of [true, false]) {
    it(`is recorded and not charged again, if the records have it ${isOpen ? 'as open' : 'not yet'}`, async (t) => {
      const merchant = await live.openMerchant('stripe', 'nmi');
      const { companyId, connections } = merchant;
      const subject = subjects.cycle(await beginSubscription(merchant), 2);
      const before = await paid();
      interference.charge = async (request: VaultCharge) => {
        assert.equal((await vault.lookup({ ...request, kind: 'charge', ageMs: hourMs })).outcome, 'not_found');
        const reference = deriveReference(companyId, { subject, number: 1 });
        assert.equal((await vault.charge({ ...request, reference })).outcome, 'approved');
        return unsent;
      };
      await fakes.stripe.control({ search_lag_ms: hourMs });
      t.after(() => fakes.stripe.control({ search_lag_ms: 0 }));
      const [backup] = await service.db.query<{ row: string }>(
        'SELECT to_jsonb(s)::text AS row FROM subscriptions s WHERE company_id = $1',
        [companyId],
      );
      await billNextCycle(merchant);
      interference = {};
      if (!isOpen) {
        await service.db.query('DELETE FROM open_transactions WHERE company_id = $1', [companyId]);
        await service.db.query('DELETE FROM orders WHERE company_id = $1 AND subscription_cycle = 2', [companyId]);
        await service.db.query(
          `UPDATE subscriptions s SET current_cycle = b.current_cycle, next_number = b.next_number, due_at = b.due_at,
             current_period_start = b.current_period_start, current_period_end = b.current_period_end,
             latest_order_id = b.latest_order_id
           FROM jsonb_populate_record(NULL::subscriptions, $1::jsonb) b WHERE s.company_id = b.company_id AND s.id = b.id`,
          [backup?.row],
        );
      }
      await restore(service);
      await service.subscriptions.billDue(64);
      await compareAll(service);
      await runWorker(service);
      await service.subscriptions.billDue(64);
      assert.deepEqual(await paid(), { ...before, stripe: before.stripe + 1 });
      assert.deepEqual(await renewalOf(merchant), { status: 'succeeded', connection_id: connections[0] });
    });
  }

  it('at Adyen is recorded if Adyen has sent its notice again', async () => {
    const merchant = await live.openMerchant('nmi', 'adyen');
    const { companyId, connections } = merchant;
    const [, adyen = ''] = connections;
    const reference = deriveReference(companyId, {
      subject: subjects.cycle(await beginSubscription(merchant), 2),
      number: 1,
    });
    const before = await paid();
    interference.charge = async (request: VaultCharge) => {
      await vault.charge({ ...request, reference, connectionId: adyen });
      return unsent;
    };
    await billNextCycle(merchant);
    interference = {};
    await restore(service);
    assert.match(await notice(companyId, adyen, reference, approved), /database was restored/);
    await keepNotice(companyId, adyen, reference);
    await compareAll(service);
    await finish(service);
    await runWorker(service);
    assert.deepEqual(await paid(), { ...before, adyen: before.adyen + 1 });
    assert.deepEqual(await renewalOf(merchant), { status: 'succeeded', connection_id: adyen });
  });
});

describe('an order that was given up and paid with the next reference', () => {
  const backupTables = ['orders', 'open_transactions', 'idempotency_keys'] as const;
  type Backup = readonly (readonly [table: string, rows: string])[];

  async function backUp({ companyId }: ConnectedMerchant): Promise<Backup> {
    const rowsOf = async (table: string): Promise<Backup[number]> => {
      const [row] = await service.db.query<{ rows: string }>(
        `SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${table} t WHERE company_id = $1`,
        [companyId],
      );
      return [table, row?.rows ?? '[]'];
    };
    return Promise.all(backupTables.map(rowsOf));
  }

  async function bringBack(backup: Backup): Promise<void> {
    for (const [table, rows] of backup) {
      const [written] = await service.db.query<{ columns: string }>(
        `SELECT string_agg(quote_ident(column_name), ', ') AS columns FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name = $1 AND is_generated = 'NEVER'`,
        [table],
      );
      const columns = written?.columns ?? '';
      const from = `json_populate_recordset(NULL::${table}, $1::json)`;
      await service.db.query(`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${from}`, [rows]);
    }
  }

  /**
   * The vault stops before it sends the charge, the worker gives the reference up, and the repeated request pays. Returns the
   * request, and a backup from before it was given up.
   */
  async function paidLater(merchant: ConnectedMerchant): Promise<[() => Promise<Reply>, Backup]> {
    const { shop, key } = merchant;
    const options = { key, idempotencyKey: randomUUID() };
    const send = (): Promise<Reply> => order(service, shop, {}, options);
    interference.charge = async () => ({ ...inDoubt, isInterrupted: true });
    assert.equal((await send()).status, 502);
    interference = {};
    const backup = await backUp(merchant);
    await runWorker(service);
    const reply = await send();
    assert.equal(reply.body.status, 'succeeded', reply.text);
    return [send, backup];
  }

  for (const kinds of [['stripe'], ['stripe', 'nmi']] as const) {
    for (const isNoticed of [true, false]) {
      it(`is not charged again at ${kinds.join(' and ')} after a restore that was ${isNoticed ? '' : 'not '}noticed`, async () => {
        const merchant = await live.openMerchant(...kinds);
        const [send] = await paidLater(merchant);
        const charged = await paid();
        await forgetOrder(merchant);
        if (isNoticed) {
          await restore(service);
          await compareAll(service);
        }
        await assertPaidAt(await send(), merchant.connections[0], charged);
      });
    }
  }

  it('is found at the second connection, where its next reference was paid', async () => {
    const merchant = await live.openMerchant('stripe', 'nmi');
    const { companyId } = merchant;
    const before = await paid();
    const [, nmi] = merchant.connections;
    const revokes: NonNullable<Vault['charge']> = async (request) => {
      if (request.connectionId === nmi) return vault.charge(request);
      await fakes.stripe.control({ next: ['revoke:charge'] });
      const outcome = await vault.charge(request);
      await repair();
      return outcome;
    };
    const options = { key: merchant.key, idempotencyKey: randomUUID() };
    const send = (): Promise<Reply> => order(service, merchant.shop, {}, options);
    interference.charge = async () => ({ ...inDoubt, isInterrupted: true });
    assert.equal((await send()).status, 502);
    await runWorker(service);
    interference.charge = revokes;
    await assertPaidAt(await send(), nmi, { ...before, nmi: before.nmi + 1 });
    interference = {};
    await forgetOrder(merchant);
    await restore(service);
    await compareAll(service);
    assert.equal(await gateOf(service, companyId), 'remembers');
    await assertPaidAt(await send(), nmi, { ...before, nmi: before.nmi + 1 });
  });

  it('is recorded as paid, although its request is not repeated, if the records have it as open', async () => {
    const merchant = await live.openMerchant('stripe', 'nmi');
    const [send, backup] = await paidLater(merchant);
    const charged = await paid();
    await forgetOrder(merchant);
    await bringBack(backup);
    await restore(service);
    await compareAll(service);
    for (let run = 0; run < 3; run += 1) await runWorkerLater();
    const [row] = await service.db.query('SELECT status FROM orders WHERE company_id = $1', [merchant.companyId]);
    assert.deepEqual(row, { status: 'succeeded' });
    await assertPaidAt(await send(), merchant.connections[0], charged);
  });
});

describe('an order that was not sent, and whose request is not repeated', () => {
  for (const isPaid of [true, false]) {
    it(`is recorded as ${isPaid ? 'paid' : 'failed'} if the other connection was${isPaid ? '' : ' not'} paid`, async () => {
      const merchant = await live.openMerchant('nmi', 'stripe');
      const before = await paid();
      forgets(isPaid ? merchant.connections.slice(1) : [], undefined, unsent);
      const send = await placeForgotten(merchant, 503);
      await runWorkerLater();
      await compareAll(service);
      await runWorkerLater();
      const reply = await send();
      if (isPaid) return assertPaidAt(reply, merchant.connections[1], { ...before, stripe: before.stripe + 1 });
      assert.equal(reply.body.status, 'failed');
      assert.deepEqual(await paid(), before);
    });
  }

  for (const kinds of [['adyen'], ['nmi', 'adyen']] as const) {
    it(`is recorded as failed once the operator has compared the records with Adyen, at ${kinds.join(' and ')}`, async () => {
      const merchant = await live.openMerchant(...kinds);
      const { companyId, key } = merchant;
      const before = await paid();
      const subscriptionId = await beginSubscription(merchant);
      forgets([], undefined, unsent);
      await billNextCycle(merchant);
      const canceled = await service.call('DELETE', `/v1/subscriptions/${subscriptionId}`, { key });
      assert.equal(canceled.status, 200, canceled.text);
      await placeForgotten(merchant, 503);
      const undecided = async (): Promise<number> => {
        await runWorkerLater();
        const { length } = await service.db.query('SELECT 1 FROM open_transactions WHERE company_id = $1', [companyId]);
        return length;
      };
      assert.equal(await undecided(), 2);
      await compareAll(service);
      await finish(service);
      assert.equal(await undecided(), 0);
      const failed = await service.db.query(`SELECT 1 FROM orders WHERE company_id = $1 AND status = 'failed'`, [
        companyId,
      ]);
      assert.equal(failed.length, 2);
      assert.deepEqual(await paid(), { ...before, [kinds[0]]: before[kinds[0]] + 1 }, 'only the first cycle was paid');
    });
  }
});

describe('a notice behind the gate', () => {
  for (const answer of [unsent, inDoubt]) {
    it(`says that another connection was paid for an order that is ${answer === unsent ? 'waiting' : 'in doubt'}`, async () => {
      const merchant = await live.openMerchant('nmi', 'adyen');
      const [, adyen = ''] = merchant.connections;
      const before = await paid();
      forgets([], undefined, answer);
      const send = await placeForgotten(merchant, answer === unsent ? 503 : 502);
      await notice(merchant.companyId, adyen, await openReference(merchant), approved);
      await assertPaidAt(await send(), adyen, before);
    });
  }

  it('that nothing was executed waits for the comparison', async () => {
    const merchant = await live.openMerchant('adyen', 'nmi');
    const [adyen = '', nmi = ''] = merchant.connections;
    forgets([nmi], undefined, inDoubt);
    const send = await placeForgotten(merchant, 502);
    const charged = await paid();
    const reference = await openReference(merchant);
    assert.match(await notice(merchant.companyId, adyen, reference, cancelled), /being compared/);
    await compareAll(service);
    await finish(service);
    await runWorker(service);
    await assertPaidAt(await send(), nmi, charged);
  });
});
