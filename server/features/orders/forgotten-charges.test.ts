import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';
import type { LiveKind, LiveProcessors } from '../../../tests/support/live-processors.ts';
import { assertRefused, order } from '../../../tests/support/orders.ts';
import { everyDays } from '../../../tests/support/billing.ts';
import { restoresWith } from '../../../tests/support/restores.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';
import { somePlan, subscribe } from '../../../tests/support/subscriptions.ts';
import { reconcile } from '../reconciliation/service.ts';
import { deriveReference, subjects } from './reference.ts';
import { dayMs, hourMs } from '../../platform/durations.ts';
import { idTimeMs } from '../../platform/ids.ts';
import { type LookupOutcome, noResponse } from '../../vault/processors/processor.ts';
import type { Vault, VaultCharge, VaultOutcome } from '../../vault/vault.ts';

/**
 * The credentials at one connection were refused during a charge, and another connection was paid. Then the database
 * forgot that, and the vault did not. The charge must not be executed again, and an authorization that is left over at
 * Adyen must not be captured.
 */

let live: LiveService;
let service: TestService;
let fakes: LiveProcessors;
let vault: Vault;
let interference: Partial<Vault> = {};
let isRestored = false;
let mayRepeatKey = true;
let isCompared = false;
let noticedAgoMs = 0;

before(async () => {
  const restores = restoresWith({
    isRestored: () => isRestored && !isCompared,
    looksFirst: () => isRestored,
    mayRepeatKey: () => mayRepeatKey,
    noticedAgoMs: () => noticedAgoMs,
  });
  live = await startLiveService({ restores }, () => interference);
  ({ service, fakes, vault } = live);
});
after(() => live.stop());

async function repair(): Promise<void> {
  for (const fake of [fakes.adyen, fakes.stripe]) await fake.control({ next: [], revoked: false });
}
beforeEach(async () => {
  interference = {};
  isRestored = false;
  mayRepeatKey = true;
  isCompared = false;
  noticedAgoMs = 0;
  await repair();
});

async function paid(): Promise<Record<LiveKind, number>> {
  const count = async (kind: LiveKind): Promise<number> =>
    (await fakes[kind].call('GET', '/journal')).operations.filter(
      (one: Reply['body']) => one.kind === 'charge' && one.status === 'approved',
    ).length;
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
  isRestored = true;
  return send;
}

async function connectionOf(orderId: string): Promise<string | undefined> {
  const [row] = await service.db.query<{ connection_id: string }>(
    `SELECT connection_id FROM transactions WHERE order_id = $1 AND status = 'succeeded'`,
    [orderId],
  );
  return row?.connection_id;
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

async function secondsToNextCheck({ companyId }: ConnectedMerchant): Promise<number> {
  const [row] = await service.db.query<{ seconds: number }>(
    `SELECT extract(epoch FROM next_check_at - now())::float8 AS seconds FROM open_transactions WHERE company_id = $1`,
    [companyId],
  );
  return row?.seconds ?? Number.NaN;
}

async function runWorker(): Promise<void> {
  await service.db.query('UPDATE open_transactions SET next_check_at = now()');
  await service.orders.reconcileDue(1_000);
}

it('a comparison includes the connections after one that cannot list its operations', async () => {
  const merchant = await live.openMerchant('adyen', 'nmi');
  forgets(merchant.connections.slice(1), undefined, unsent);
  await placeForgotten(merchant, 503);
  await service.db.query('DELETE FROM open_transactions WHERE company_id = $1', [merchant.companyId]);
  await service.db.query('DELETE FROM transactions WHERE company_id = $1', [merchant.companyId]);
  const dependencies = { name: service.company.shard, db: service.db, vault, clock: service.clock };
  const { comparisons } = await reconcile(dependencies, { adopt: false, sinceMs: Date.now() - hourMs });
  const found = comparisons.find(({ company }) => company.id === merchant.companyId);
  assert.equal(found?.failure, 'adyen: the processor has no list of operations; compare with its report');
  assert.ok(found.missing.length > 0);
});

it('a comparison begins with the company if the restored database has no payment', async (t) => {
  const { companyId } = await live.openMerchant('nmi');
  await service.db.query(`INSERT INTO restores (id, noticed_by, detail) VALUES ($1, 'operator', 'a test')`, [
    randomUUID(),
  ]);
  t.after(() => service.db.query('DELETE FROM restores'));
  const from = new Map<string, number>();
  const operations: Vault['operations'] = async ({ companyId: id, fromMs }) => {
    from.set(id, fromMs);
    return { operations: [], next: null, nowMs: Date.now() };
  };
  const dependencies = { name: service.company.shard, db: service.db, vault: { operations }, clock: service.clock };
  await reconcile(dependencies, { adopt: false });
  assert.equal(from.get(companyId), idTimeMs(companyId) - 2 * dayMs);
});

it('a comparison includes a company that has disconnected its only processor', async () => {
  const merchant = await live.openMerchant('adyen');
  await disconnectFirst(merchant);
  const dependencies = { name: service.company.shard, db: service.db, vault, clock: service.clock };
  const { comparisons } = await reconcile(dependencies, { adopt: false });
  const found = comparisons.find(({ company }) => company.id === merchant.companyId);
  assert.match(found?.failure ?? '', /no list of operations/);
});

for (const kind of ['nmi', 'stripe'] as const) {
  describe(`a restored service that forgot a payment at ${kind}`, () => {
    it('captures nothing at the connection that was refused before, although it is asked first', async () => {
      const merchant = await live.openMerchant('adyen', kind);
      const before = await paid();
      forgets(merchant.connections, 'capture:revoke', unsent);
      const send = await placeForgotten(merchant, 503);
      await disconnectFirst(merchant);
      const { body } = await send();
      assert.equal(body.status, 'succeeded');
      assert.equal(await connectionOf(body.id), merchant.connections[1]);
      assert.deepEqual(await paid(), { ...before, [kind]: before[kind] + 1 });
    });

    it('captures nothing when the worker looks up the charge where it was sent first', async () => {
      const merchant = await live.openMerchant('adyen', kind);
      const before = await paid();
      forgets(merchant.connections, 'capture:revoke', inDoubt);
      const send = await placeForgotten(merchant, 502);
      await runWorker();
      const { body } = await send();
      assert.equal(body.status, 'succeeded');
      assert.equal(await connectionOf(body.id), merchant.connections[1]);
      assert.deepEqual(await paid(), { ...before, [kind]: before[kind] + 1 });
    });
  });
}

describe('a restored service that forgot a charge at Adyen', () => {
  it('completes it if the other connection has not executed it', async () => {
    const merchant = await live.openMerchant('adyen', 'nmi');
    const before = await paid();
    forgets(merchant.connections.slice(0, 1), 'capture:revoke', unsent);
    const send = await placeForgotten(merchant, 503);
    await disconnectFirst(merchant);
    const { body } = await send();
    assert.equal(body.status, 'succeeded');
    assert.equal(await connectionOf(body.id), merchant.connections[0]);
    assert.deepEqual(await paid(), { ...before, adyen: before.adyen + 1 });
  });

  it('has the worker complete it if the other connection has not executed it', async () => {
    const merchant = await live.openMerchant('adyen', 'nmi');
    const before = await paid();
    forgets(merchant.connections.slice(0, 1), 'capture:revoke', inDoubt);
    const send = await placeForgotten(merchant, 502);
    await runWorker();
    assert.equal((await send()).body.status, 'succeeded');
    assert.deepEqual(await paid(), { ...before, adyen: before.adyen + 1 });
  });

  it('captures nothing while the other connection cannot be asked', async () => {
    for (const answer of [unsent, inDoubt]) {
      const merchant = await live.openMerchant('adyen', 'nmi');
      const before = await paid();
      forgets(merchant.connections, 'capture:revoke', answer);
      const send = await placeForgotten(merchant, answer === unsent ? 503 : 502);
      if (answer === unsent) await disconnectFirst(merchant);
      const [, other] = merchant.connections;
      const silent = { outcome: 'unknown', reason: 'no answer' } as const;
      interference.lookup = async (request) => (request.connectionId === other ? silent : vault.lookup(request));
      // The worker would give up an order that waits for its request, as if an hour had passed.
      if (answer === inDoubt) await runWorker();
      const refused = await send();
      assertRefused(
        refused,
        answer === unsent ? 503 : 502,
        answer === unsent ? 'service_unavailable' : 'gateway_error',
      );
      assert.deepEqual(await paid(), { ...before, nmi: before.nmi + 1 });
      interference = {};
      assert.equal((await send()).body.status, 'succeeded');
      assert.deepEqual(await paid(), { ...before, nmi: before.nmi + 1 });
      isRestored = false;
    }
  });

  it('captures nothing if it is prepared at two connections', async () => {
    const merchant = await live.openMerchant('adyen', 'nmi', 'adyen');
    const [first = '', , second = ''] = merchant.connections;
    const before = await paid();
    const lost: string[] = [];
    interference.charge = async (request: VaultCharge) => {
      await fakes.adyen.control({ next: ['capture:revoke'] });
      for (const connectionId of [first, second]) {
        await vault.charge({ ...request, connectionId });
        await fakes.adyen.control({ next: ['capture:revoke'], revoked: false });
        lost.push(connectionId);
      }
      await repair();
      return inDoubt;
    };
    const send = await placeForgotten(merchant, 502);
    assert.equal(lost.length, 2);
    await runWorker();
    assertRefused(await send(), 502, 'gateway_error');
    assert.deepEqual(await paid(), before);
  });
});

describe('a restored service that forgot that the second connection was paid', () => {
  it('does not record the order as failed because the first one did not execute it', async () => {
    const merchant = await live.openMerchant('stripe', 'nmi');
    const before = await paid();
    forgets(merchant.connections, 'revoke:charge', inDoubt, 'stripe');
    const send = await placeForgotten(merchant, 502);
    await runWorker();
    const { body } = await send();
    assert.equal(body.status, 'succeeded');
    assert.equal(await connectionOf(body.id), merchant.connections[1]);
    assert.deepEqual(await paid(), { ...before, nmi: before.nmi + 1 });
  });

  it('does not charge the renewal at the first one', async () => {
    const merchant = await live.openMerchant('stripe', 'nmi');
    await beginSubscription(merchant);
    const before = await paid();
    forgets(merchant.connections, 'revoke:charge', { ...inDoubt, isInterrupted: true }, 'stripe');
    await billNextCycle(merchant);
    interference = {};
    isRestored = true;
    for (let run = 0; run < 3; run += 1) await runWorker();
    assert.deepEqual(await paid(), { ...before, nmi: before.nmi + 1 });
  });
});

for (const kind of ['adyen', 'stripe'] as const) {
  it(`a restored service that forgot that a renewal was given up at ${kind} and paid there with the next reference charges nothing`, async (t) => {
    const merchant = await live.openMerchant(kind, 'nmi');
    const { companyId, connections } = merchant;
    const subject = subjects.cycle(await beginSubscription(merchant), 2);
    const before = await paid();
    interference.charge = async (request: VaultCharge) => {
      assert.equal((await vault.lookup({ ...request, kind: 'charge', ageMs: hourMs })).outcome, 'not_found');
      const reference = deriveReference(companyId, { subject, number: 1 });
      assert.equal((await vault.charge({ ...request, reference })).outcome, 'approved');
      return unsent;
    };
    if (kind === 'stripe') {
      await fakes.stripe.control({ search_lag_ms: hourMs });
      t.after(() => fakes.stripe.control({ search_lag_ms: 0 }));
    }
    await billNextCycle(merchant);
    interference = {};
    isRestored = true;
    await runWorker();
    assert.deepEqual(await paid(), { ...before, [kind]: before[kind] + 1 });
    const [renewal] = await service.db.query<{ status: string; connection_id: string }>(
      `SELECT o.status, t.connection_id FROM orders o JOIN transactions t ON t.company_id = o.company_id AND t.id = o.sale_id
       WHERE o.company_id = $1 AND o.subscription_cycle = 2`,
      [companyId],
    );
    assert.deepEqual(renewal, { status: 'succeeded', connection_id: connections[0] });
  });
}

it('a restored service finds a renewal that Adyen was paid for with the next reference, also after the comparison', async () => {
  const merchant = await live.openMerchant('nmi', 'adyen');
  const { companyId, connections } = merchant;
  const subject = subjects.cycle(await beginSubscription(merchant), 2);
  const before = await paid();
  interference.charge = async (request: VaultCharge) => {
    const reference = deriveReference(companyId, { subject, number: 1 });
    await vault.charge({ ...request, reference, connectionId: connections[1] ?? '' });
    return unsent;
  };
  await billNextCycle(merchant);
  interference = {};
  isRestored = true;
  isCompared = true;
  await runWorker();
  assert.deepEqual(await paid(), { ...before, adyen: before.adyen + 1 });
});

describe('an order that was not sent after a restore, and whose request is not repeated', () => {
  for (const isPaid of [true, false]) {
    it(`is recorded as ${isPaid ? 'paid' : 'failed'} if the other connection was${isPaid ? '' : ' not'} paid`, async () => {
      const merchant = await live.openMerchant('nmi', 'stripe');
      const before = await paid();
      forgets(isPaid ? merchant.connections.slice(1) : [], undefined, unsent);
      const send = await placeForgotten(merchant, 503);
      noticedAgoMs = 3 * hourMs;
      await runWorker();
      await service.db.query(`UPDATE open_transactions SET valid_until = now() - interval '1 minute'`);
      await runWorker();
      const { body } = await send();
      assert.equal(body.status, isPaid ? 'succeeded' : 'failed');
      if (isPaid) assert.equal(await connectionOf(body.id), merchant.connections[1]);
      assert.deepEqual(await paid(), { ...before, stripe: before.stripe + (isPaid ? 1 : 0) });
    });
  }
});

it('a restored service finds a charge although its card was deleted since', async () => {
  for (const kinds of [['nmi'], ['nmi', 'stripe']] as const) {
    const merchant = await live.openMerchant(...kinds);
    const before = await paid();
    forgets(merchant.connections.slice(-1), undefined, unsent);
    const send = await placeForgotten(merchant, 503);
    await deleteCard(merchant);
    assert.equal((await send()).body.status, 'succeeded');
    const [last = 'nmi'] = kinds.slice(-1);
    assert.deepEqual(await paid(), { ...before, [last]: before[last] + 1 });
    isRestored = false;
  }
});

describe('a charge that was not sent after a restore, and is not wanted any more', () => {
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
      noticedAgoMs = 3 * dayMs;
      const undecided = async (): Promise<number> => {
        await runWorker();
        await service.db.query(`UPDATE open_transactions SET valid_until = now() - interval '1 minute'`);
        await runWorker();
        const { length } = await service.db.query('SELECT 1 FROM open_transactions WHERE company_id = $1', [companyId]);
        return length;
      };
      assert.equal(await undecided(), 2);
      isCompared = true;
      assert.equal(await undecided(), 0);
      const failed = await service.db.query(`SELECT 1 FROM orders WHERE company_id = $1 AND status = 'failed'`, [
        companyId,
      ]);
      assert.equal(failed.length, 2);
      assert.deepEqual(await paid(), { ...before, [kinds[0]]: before[kinds[0]] + 1 }, 'only the first cycle was paid');
    });
  }
});

it('a restored service sends nothing elsewhere while the processor that may have executed it cannot be reached', async () => {
  const merchant = await live.openMerchant('adyen', 'nmi');
  const before = await paid();
  forgets(merchant.connections.slice(0, 1), undefined, unsent);
  const send = await placeForgotten(merchant, 503);
  await fakes.adyen.kill();
  try {
    assert.equal((await send()).status, 502);
  } finally {
    await fakes.adyen.restart();
  }
  assert.deepEqual(await paid(), { ...before, adyen: before.adyen + 1 });
});

describe('a notice after a restore', () => {
  const approved = { outcome: 'approved', response: { ...noResponse, transaction_id: 'PSP1' } } as const;
  const notice = async (
    { companyId }: ConnectedMerchant,
    connectionId: string,
    found: LookupOutcome,
  ): Promise<string> => {
    const [open] = await service.db.query<{ reference: string }>(
      'SELECT reference FROM open_transactions WHERE company_id = $1',
      [companyId],
    );
    const about = { kind: 'operation', reference: open?.reference ?? '', found } as const;
    return (await service.orders.applyNotice({ companyId, connectionId, about, happenedAt: new Date() })).result;
  };

  for (const answer of [unsent, inDoubt]) {
    it(`says that another connection was paid for an order that is ${answer === unsent ? 'waiting' : 'in doubt'}`, async () => {
      const merchant = await live.openMerchant('nmi', 'adyen');
      const [, adyen = ''] = merchant.connections;
      forgets([], undefined, answer);
      const send = await placeForgotten(merchant, answer === unsent ? 503 : 502);
      await notice(merchant, adyen, approved);
      const { body } = await send();
      assert.equal(body.status, 'succeeded');
      assert.equal(await connectionOf(body.id), adyen);
    });
  }

  it('that nothing was executed does not hide that another connection was paid', async () => {
    const merchant = await live.openMerchant('adyen', 'nmi');
    const [adyen = '', nmi = ''] = merchant.connections;
    forgets([nmi], undefined, inDoubt);
    const send = await placeForgotten(merchant, 502);
    const silent = { outcome: 'unknown', reason: 'no answer' } as const;
    interference.lookup = async (request) => (request.connectionId === nmi ? silent : vault.lookup(request));
    const cancelled = { outcome: 'not_found', isFinal: true } as const;
    assert.match(await notice(merchant, adyen, cancelled), /another connection/);
    interference = {};
    await notice(merchant, adyen, cancelled);
    const { body } = await send();
    assert.deepEqual([body.status, await connectionOf(body.id)], ['succeeded', nmi]);
  });
});

it('a restored service asks the other connections about a charge that Adyen can say nothing about', async () => {
  const merchant = await live.openMerchant('adyen', 'nmi');
  forgets(merchant.connections.slice(1), undefined, inDoubt);
  const send = await placeForgotten(merchant, 502);
  await runWorker();
  const { body } = await send();
  assert.deepEqual([body.status, await connectionOf(body.id)], ['succeeded', merchant.connections[1]]);
});

describe('a renewal after a restore', () => {
  it('that waited when the subscription was paused is not charged after it is resumed', async () => {
    const merchant = await live.openMerchant('nmi', 'stripe');
    const { owner, companyId } = merchant;
    const id = await beginSubscription(merchant);
    const before = await paid();
    const change = (what: string): Promise<Reply> =>
      owner.in('POST', `/dashboard/subscriptions/${id}/${what}`, {}, { company: companyId });
    isRestored = true;
    await billNextCycle(merchant);
    assert.equal((await change('pause')).status, 200);
    await runWorker();
    assertRefused(await change('resume'), 409, 'resource_in_use');
    noticedAgoMs = 3 * hourMs;
    await service.db.query(`UPDATE open_transactions SET valid_until = now() - interval '1 minute'`);
    await runWorker();
    const [renewal] = await service.db.query<{ failure_reason: string }>(
      'SELECT failure_reason FROM orders WHERE company_id = $1 AND subscription_cycle = 2',
      [companyId],
    );
    assert.match(renewal?.failure_reason ?? '', /was paused before/);
    const resumed = await change('resume');
    assert.deepEqual([resumed.status, resumed.body.status], [200, 'active'], resumed.text);
    assert.deepEqual(await paid(), before);
  });

  it('waits while the search of another connection may lag, and not longer', async () => {
    const merchant = await live.openMerchant('nmi', 'stripe');
    await beginSubscription(merchant);
    const before = await paid();
    isRestored = true;
    await billNextCycle(merchant);
    await runWorker();
    assert.deepEqual(await paid(), before);
    assert.ok((await secondsToNextCheck(merchant)) > 60, 'a connection that cannot be asked is not asked all the time');
    noticedAgoMs = 3 * hourMs;
    await runWorker();
    assert.deepEqual(await paid(), { ...before, nmi: before.nmi + 1 });
  });

  it('waits until the operator has compared a connection that cannot say what it executed', async () => {
    const merchant = await live.openMerchant('nmi', 'adyen');
    await beginSubscription(merchant);
    const before = await paid();
    isRestored = true;
    noticedAgoMs = dayMs;
    await billNextCycle(merchant);
    await runWorker();
    assert.deepEqual(await paid(), before);
    isCompared = true;
    await runWorker();
    assert.deepEqual(await paid(), { ...before, nmi: before.nmi + 1 });
  });
});

describe('a new order of a merchant with two connections, after a restore', () => {
  it('is charged although its key may repeat a lost request, once the search of the other one can be believed', async () => {
    const { owner, companyId, shop, key } = await live.openMerchant('nmi', 'stripe');
    const before = await paid();
    isRestored = true;
    const place = (): Promise<Reply> => order(service, shop, {}, { key, idempotencyKey: randomUUID() });
    const refused = await place();
    assertRefused(refused, 503, 'service_unavailable');
    const [charge] = (await owner.in('GET', '/dashboard/waiting_charges', undefined, { company: companyId })).body.data;
    assert.deepEqual([charge?.waits_for, charge?.fails_at], ['processor', null]);
    assert.match(refused.body.error.message, /restored from a backup, so every processor .* must first say/);
    noticedAgoMs = 3 * hourMs;
    assert.equal((await place()).body.status, 'succeeded');
    assert.deepEqual(await paid(), { ...before, nmi: before.nmi + 1 });
  });

  it('does not go to the next connection after a failure of the processor while its key may repeat a lost request', async () => {
    const { shop, key } = await live.openMerchant('adyen', 'nmi');
    const before = await paid();
    isRestored = true;
    const place = async (): Promise<Reply> => {
      await fakes.adyen.control({ next: ['decline:4'] });
      return order(service, shop, {}, { key, idempotencyKey: randomUUID() });
    };
    assert.equal((await place()).body.status, 'failed');
    assert.deepEqual(await paid(), before);
    isRestored = false;
    assert.equal((await place()).body.status, 'succeeded');
    assert.deepEqual(await paid(), { ...before, nmi: before.nmi + 1 });
  });

  for (const kinds of [
    ['nmi', 'adyen'],
    ['nmi', 'stripe'],
  ] as const) {
    it(`is charged at ${kinds[0]} although ${kinds[1]} cannot say what it executed, once lost keys have expired`, async () => {
      const { shop, key } = await live.openMerchant(...kinds);
      const before = await paid();
      isRestored = true;
      const place = (): Promise<Reply> => order(service, shop, {}, { key, idempotencyKey: randomUUID() });
      assertRefused(await place(), 503, 'service_unavailable');
      assert.deepEqual(await paid(), before);
      mayRepeatKey = false;
      assert.equal((await place()).body.status, 'succeeded');
      assert.deepEqual(await paid(), { ...before, nmi: before.nmi + 1 });
    });
  }
});
