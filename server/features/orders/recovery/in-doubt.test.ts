import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAcquirer, type TestAcquirer } from '../../../../tests/support/acquirer.ts';
import { companyOf, type Person, signUp } from '../../../../tests/support/dashboard.ts';
import { compareLedger } from '../../../../tests/support/ledger.ts';
import { eventTypes, openShop, type Shop, until } from '../../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../../tests/support/service.ts';
import type { Operation } from '../../../vault/processors/acquirer/protocol.ts';
import { localVault, type Vault } from '../../../vault/vault.ts';
import { allCompanies } from '../../companies/service.ts';
import type { Company } from '../../../company.ts';
import { claimDue } from './due-queries.ts';
import { connectAcquirer, vaultBehind } from '../../../../tests/support/connect.ts';
import { readProbe } from '../../../../tests/support/probes.ts';

/** An acquirer that lies, is late or is gone: what happened is asked for, and never guessed. */

const timeoutMs = 800;
const requestLifeMs = 1_000;

let acquirer: TestAcquirer;
let service: TestService;
/** Owns the company. */
let operator: Person;
let company: Company;
let key: string;
let shop: Shop;
/** What stands between the service and its vault, when a test puts something there. */
let interference: Partial<Vault> = {};
let vault: Vault;

before(async () => {
  const starting = startAcquirer({ settleAfterMs: 0 });
  const own = { nowMs: async () => Date.now(), operations: async () => undefined };
  const between = vaultBehind(
    () => vault,
    () => ({ ...own, ...interference }),
  );
  service = await startTestService({ vault: between });
  vault = localVault(service.vaultDb, service.keys, service.clock);
  acquirer = await starting;
  operator = await signUp(service);
  const live = (await allCompanies(service.shards)).find(({ id }) => id === companyOf(operator, 'live'));
  assert.ok(live);
  const { url, secret } = acquirer;
  await connectAcquirer(service, live.id, { url, secret, timeoutMs, requestLifeMs });
  company = { ...live, processor: 'connected' };
  key = await service.createKey(company);
  shop = await openShop(service, undefined, { key });
});
after(async () => {
  await Promise.all([acquirer.stop(), service.stop()]);
});

interface Request {
  readonly path: string;
  readonly body?: object;
  readonly idempotencyKey: string;
}

const call = ({ path, ...options }: Request): Promise<Reply> => service.call('POST', path, { ...options, key });
const read = async (id: string): Promise<Reply['body']> =>
  (await service.call('GET', `/v1/orders/${id}`, { key })).body;

const orderRequest = (): Request => ({
  path: '/v1/orders',
  body: { customer_id: shop.customerId, items: [{ product_id: shop.productId, quantity: 1 }] },
  idempotencyKey: randomUUID(),
});
const actionRequest = (orderId: string, action: 'refund' | 'retry', body?: object): Request => ({
  path: `/v1/orders/${orderId}/${action}`,
  ...(body && { body }),
  idempotencyKey: randomUUID(),
});

async function placeOrder(...faults: readonly string[]): Promise<string> {
  await acquirer.control({ next: faults });
  const reply = await call(orderRequest());
  assert.equal(reply.status, 201, reply.text);
  return String(reply.body.id);
}

const voidRequest = (orderId: string): Request => ({
  path: `/v1/orders/${orderId}/void`,
  idempotencyKey: randomUUID(),
});

/** The order of a request whose answer was an error. */
async function orderOf({ idempotencyKey }: Request): Promise<string> {
  const [row] = await service.db.query<{ operation_id: string }>(
    'SELECT operation_id FROM idempotency_keys WHERE company_id = $1 AND key = $2',
    [company.id, idempotencyKey],
  );
  assert.ok(row, 'the key stands for the order');
  return row.operation_id;
}

interface OpenRow {
  readonly id: string;
  readonly in_doubt: boolean;
  readonly locked: boolean;
  readonly due_in_ms: number;
}

const openOf = (orderId: string): Promise<OpenRow[]> =>
  service.db.query<OpenRow>(
    `SELECT id, in_doubt, locked_until > now() AS locked,
       extract(epoch FROM next_check_at - now())::float8 * 1000 AS due_in_ms
     FROM open_transactions WHERE order_id = $1`,
    [orderId],
  );

/** The worker's look, as if its time had come. */
async function recover(orderId: string): Promise<void> {
  await service.db.query('UPDATE open_transactions SET next_check_at = now() WHERE order_id = $1', [orderId]);
  await service.orders.reconcileDue(100);
}

/** From now on, nothing that was sent can still arrive: time passes, or what was never taken grows older at once. */
async function outlive(orderId: string, arrives: 'never' | 'later'): Promise<void> {
  if (arrives === 'later') return sleep(requestLifeMs + 50);
  await setValidity(orderId, -1_000);
}

/** As if the request had been sent so that it is valid until then; a busy machine does not decide what a test sees. */
async function setValidity(orderId: string, fromNowMs: number): Promise<void> {
  await service.db.query(
    `UPDATE open_transactions SET valid_until = now() + $2 * interval '1 ms' WHERE order_id = $1`,
    [orderId, fromNowMs],
  );
}

async function drain(): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    const due = await service.db.query('UPDATE open_transactions SET next_check_at = now() RETURNING 1');
    if (due.length === 0) return;
    await service.orders.reconcileDue(100);
  }
}

const takenFor = async (orderId: string): Promise<Operation[]> => {
  const rows = await service.db.query<{ reference: string }>(
    `SELECT reference FROM all_transactions WHERE order_id = $1
     UNION ALL SELECT reference FROM open_transactions WHERE order_id = $1 AND type = 'void'`,
    [orderId],
  );
  const ours = new Set(rows.map(({ reference }) => reference));
  return (await acquirer.journal()).filter(
    ({ reference, charge_reference }) => ours.has(reference) || ours.has(charge_reference ?? ''),
  );
};

const summary = (operations: readonly Operation[]): string[] =>
  operations.map(({ status, kind }) => `${status} ${kind}`);

async function booksAgree(): Promise<void> {
  await drain();
  assert.deepEqual(await compareLedger(service.db, await acquirer.journal()), []);
}

const isGatewayError = (reply: Reply): void => {
  assert.equal(reply.status, 502, reply.text);
  assert.equal(reply.body.error.code, 'gateway_error');
};

/** The acquirer has this fault, so the service does not know the outcome of the request. */
async function lose(fault: string, request: Request): Promise<void> {
  await acquirer.control({ next: [fault] });
  isGatewayError(await call(request));
}

const faults = {
  timeout_before: 'never',
  timeout_after: 'taken',
  error_before: 'never',
  error_after: 'taken',
  reset_before: 'never',
  reset_after: 'taken',
  late: 'later',
} as const;
const entries = Object.entries(faults) as [keyof typeof faults, (typeof faults)[keyof typeof faults]][];
/** One of each kind: for the adapter, every fault is an unknown outcome, as its tests show for each operation. */
const oneOfEach = entries.filter(([fault]) => fault === 'late' || fault.startsWith('reset_'));

/** The outcome is unknown; with "never" and "later" until the request has expired. */
async function staysOpen(orderId: string, arrives: 'never' | 'taken' | 'later', repeat: Request): Promise<void> {
  const [open] = await openOf(orderId);
  assert.ok(open?.in_doubt && !open.locked && open.due_in_ms > 3_000, 'it is to be asked about after 5 s');
  if (arrives === 'taken') return;
  if (arrives === 'never') {
    await setValidity(orderId, 60_000);
    await recover(orderId);
    isGatewayError(await call(repeat));
    assert.equal((await openOf(orderId)).length, 1, 'not found says nothing yet');
  }
  await outlive(orderId, arrives);
}

describe('a charge', { concurrency: false }, () => {
  for (const [fault, arrives] of entries) {
    it(`in doubt after ${fault}`, async () => {
      const request = orderRequest();
      await lose(fault, request);
      const orderId = await orderOf(request);
      const pending = await service.call('GET', `/v1/orders?status=pending`, { key });
      const [shown] = pending.body.data.filter(({ id }: { id: string }) => id === orderId);
      assert.equal(shown.status, 'pending');
      assert.deepEqual(
        shown.transactions.map(({ type, status }: Record<string, string>) => `${type} ${status}`),
        ['sale in_progress'],
      );
      await staysOpen(orderId, arrives, request);
      await recover(orderId);

      const reply = await call(request);
      assert.equal(reply.status, 201, reply.text);
      assert.equal(reply.body.id, orderId);
      assert.equal(reply.headers.get('svc-idempotent-replayed'), 'true');
      assert.equal(reply.body.status, arrives === 'never' ? 'failed' : 'succeeded');
      assert.equal(reply.body.failure_code, arrives === 'never' ? 'issuer_unavailable' : null);
      assert.deepEqual(summary(await takenFor(orderId)), arrives === 'never' ? [] : ['approved charge']);
      await booksAgree();
    });
  }

  it('is not found for the whole life of a request before that means it never happened', async () => {
    const startedAtMs = performance.now();
    const request = orderRequest();
    await lose('error_before', request);
    let reply = await call(request);
    for (; reply.status === 502; reply = await call(request)) await sleep(50);
    assert.equal(reply.body.status, 'failed', reply.text);
    assert.ok(performance.now() - startedAtMs > requestLifeMs);
    await booksAgree();
  });

  it('is recorded once when many repeat its key while the worker reconciles', async () => {
    for (let round = 0; round < 5; round += 1) {
      const request = orderRequest();
      await lose('reset_after', request);
      const orderId = await orderOf(request);
      const [replies] = await Promise.all([
        Promise.all(Array.from({ length: 12 }, () => call(request))),
        recover(orderId),
        recover(orderId),
      ]);
      for (const reply of replies) assert.equal(reply.status, 201, reply.text);
      assert.equal(new Set(replies.map(({ text }) => text)).size, 1);
      assert.deepEqual(summary(await takenFor(orderId)), ['approved charge']);
      assert.deepEqual(await eventTypes(service, orderId), ['order.created', 'order.succeeded']);
    }
    await booksAgree();
  });
});

describe('a retry', { concurrency: false }, () => {
  for (const [fault, arrives] of oneOfEach) {
    it(`in doubt after ${fault}`, async () => {
      const orderId = await placeOrder('decline:51');
      const request = actionRequest(orderId, 'retry');
      await lose(fault, request);
      const [listed] = (await service.call('GET', `/v1/transactions?order_id=${orderId}`, { key })).body.data;
      assert.equal(listed.status, 'in_progress');
      const other = await call(actionRequest(orderId, 'retry'));
      assert.equal(other.status, 409, other.text);
      await staysOpen(orderId, arrives, request);
      await recover(orderId);

      const reply = await call(request);
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.body.status, arrives === 'never' ? 'failed' : 'succeeded');
      assert.equal(reply.body.failure_code, arrives === 'never' ? 'issuer_unavailable' : null);
      assert.equal(reply.body.attempt_count, arrives === 'never' ? 2 : 1);
      const second = arrives === 'never' ? [] : ['approved charge'];
      assert.deepEqual(summary(await takenFor(orderId)), ['declined charge', ...second]);
      assert.equal((await call(request)).text, reply.text);
      await booksAgree();
    });
  }
});

describe('a refund', { concurrency: false }, () => {
  for (const [fault, arrives] of oneOfEach) {
    it(`in doubt after ${fault}`, async () => {
      const orderId = await placeOrder();
      const request = actionRequest(orderId, 'refund', { amount: 1_000 });
      await lose(fault, request);
      const [row] = await service.db.query<{ status: string; refunded_amount: number }>(
        'SELECT status, refunded_amount FROM orders WHERE id = $1',
        [orderId],
      );
      assert.deepEqual(row, { status: 'succeeded', refunded_amount: 0 });
      const other = await call(actionRequest(orderId, 'refund', { amount: 1 }));
      assert.equal(other.status, 409, other.text);
      assert.equal(other.body.error.code, 'resource_in_use');
      await staysOpen(orderId, arrives, request);
      await recover(orderId);

      const found = await service.db.query<{ refunded_amount: number }>(
        'SELECT refunded_amount FROM orders WHERE id = $1',
        [orderId],
      );
      assert.deepEqual(found, [{ refunded_amount: arrives === 'never' ? 0 : 1_000 }]);
      // The repeated request executes an operation that never happened, and only reports one that did.
      const reply = await call(request);
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.body.status, 'partially_refunded');
      assert.equal(reply.body.refunded_amount, 1_000);
      assert.deepEqual(summary(await takenFor(orderId)), ['approved charge', 'approved refund']);
      assert.equal((await call(request)).text, reply.text);
      await booksAgree();
    });
  }

  it('that never happened is done once when many repeat its key', async () => {
    for (let round = 0; round < 4; round += 1) {
      const orderId = await placeOrder();
      const request = actionRequest(orderId, 'refund', { amount: 100 });
      await lose('error_before', request);
      await outlive(orderId, 'never');
      await Promise.all(Array.from({ length: 16 }, () => call(request)));
      const last = await call(request);
      assert.equal(last.status, 200, last.text);
      assert.deepEqual(summary(await takenFor(orderId)), ['approved charge', 'approved refund']);
    }
    await booksAgree();
  });
});

describe('a void', { concurrency: false }, () => {
  /** Requests the void with another key. */
  const voidOf = async (orderId: string): Promise<string> => {
    const { body } = await call(voidRequest(orderId));
    return body.error?.code ?? body.status;
  };
  before(() => acquirer.control({ settle_after_ms: 600_000 }));
  after(() => acquirer.control({ settle_after_ms: 0 }));

  for (const [fault, arrives] of oneOfEach) {
    it(`in doubt after ${fault}`, async () => {
      const orderId = await placeOrder();
      const request = voidRequest(orderId);
      await lose(fault, request);
      // Not by the API, which would look.
      const [row] = await service.db.query<{ status: string }>('SELECT status FROM orders WHERE id = $1', [orderId]);
      assert.equal(row?.status, 'succeeded');
      assert.equal(await voidOf(orderId), 'resource_in_use');
      assert.equal((await call(actionRequest(orderId, 'refund'))).status, 409);
      await staysOpen(orderId, arrives, request);
      await recover(orderId);
      const order = await read(orderId);
      assert.equal(order.status, arrives === 'never' ? 'succeeded' : 'voided');
      assert.deepEqual(
        order.transactions.map(({ type, status }: Record<string, string>) => [type, status]),
        [['sale', order.status]],
        'a void is no transaction of its own',
      );
      const taken = arrives === 'never' ? [] : ['approved void'];
      assert.deepEqual(summary(await takenFor(orderId)), ['approved charge', ...taken]);
      // One that never happened is done by the repeated request; one that did is answered from the books.
      const reply = await call(request);
      assert.deepEqual([reply.status, reply.body.status], [200, 'voided'], reply.text);
      assert.equal(reply.headers.get('svc-idempotent-replayed'), arrives === 'never' ? null : 'true');
      const again = await call(request);
      assert.deepEqual([again.text, again.headers.get('svc-idempotent-replayed')], [reply.text, 'true']);
      assert.equal(await voidOf(orderId), 'invalid_state_transition');
      assert.deepEqual(summary(await takenFor(orderId)), ['approved charge', 'approved void']);
      assert.deepEqual((await eventTypes(service, orderId)).slice(2), ['order.voided']);
      await booksAgree();
    });
  }

  it('that did not reach the processor is sent again by its key', async () => {
    const orderId = await placeOrder();
    interference = { void: async () => ({ outcome: 'not_sent', reason: 'down' }) };
    const request = voidRequest(orderId);
    isGatewayError(await call(request));
    interference = {};
    assert.equal((await call(request)).body.status, 'voided');
    assert.deepEqual(summary(await takenFor(orderId)), ['approved charge', 'approved void']);
  });

  it('happens once when 100 requests race with one key', async () => {
    const orderId = await placeOrder();
    const request = voidRequest(orderId);
    const replies = await Promise.all(Array.from({ length: 100 }, () => call(request)));
    for (const { status, text } of replies) assert.ok(status === 200 || text.includes('request_in_progress'), text);
    const last = await call(request);
    assert.deepEqual([last.status, last.body.status], [200, 'voided'], last.text);
    const answers = replies.filter(({ status }) => status === 200).map(({ text }) => text);
    assert.deepEqual([...new Set([...answers, last.text])], [last.text]);
    assert.deepEqual(summary(await takenFor(orderId)), ['approved charge', 'approved void']);
    await booksAgree();
  });

  it('happens once when 100 keys race, also while its first answer is lost', async () => {
    for (const faults of [[], ['reset_after']]) {
      const orderId = await placeOrder();
      await acquirer.control({ next: faults });
      const requests = Array.from({ length: 100 }, () => voidRequest(orderId));
      const replies = await Promise.all(requests.map(call));
      const codes = replies.map(({ status, body }) => body.error?.code ?? status);
      assert.equal(
        codes.filter((code) => code === (faults.length > 0 ? 'gateway_error' : 200)).length,
        1,
        codes.join(),
      );
      const won = requests[replies.findIndex(({ status }) => status === 200 || status === 502)];
      assert.ok(won);
      assert.equal((await call(won)).body.status, 'voided');
      // On a slow machine, some get 503. The check below shows that the order was voided once.
      const others = ['resource_in_use', 'invalid_state_transition', 'service_unavailable'];
      for (const code of codes) assert.ok([200, 'gateway_error', ...others].includes(code), String(code));
      assert.deepEqual(summary(await takenFor(orderId)), ['approved charge', 'approved void']);
    }
    await booksAgree();
  });

  it('that the processor refused has the same response for every request', async () => {
    await acquirer.control({ settle_after_ms: 0 });
    const orderIds = [await placeOrder(), await placeOrder()];
    await acquirer.control({ settle_after_ms: 600_000 });
    for (const [fault, orderId] of [
      [[], orderIds[0] ?? ''],
      [['reset_after'], orderIds[1] ?? ''],
    ] as const) {
      await acquirer.control({ next: fault });
      const request = voidRequest(orderId);
      const first = await call(request);
      if (fault.length > 0) {
        isGatewayError(first);
        await recover(orderId);
      }
      const reply = await call(request);
      assert.deepEqual([reply.status, reply.body.error.code], [422, 'invalid_state_transition'], reply.text);
      assert.match(reply.body.error.message, /cannot be voided: /);
      if (fault.length === 0) assert.equal(reply.text, first.text);
      assert.equal((await call(request)).text, reply.text);
      assert.deepEqual(summary(await takenFor(orderId)), ['approved charge', 'declined void']);
      assert.equal((await read(orderId)).status, 'succeeded');
    }
    await booksAgree();
  });
});

/** Each operation that a request can cause, on an order that allows it. */
const operations: readonly (readonly [name: string, begin: () => Promise<Request>, status: string])[] = [
  ['a charge', async () => orderRequest(), 'succeeded'],
  ['a retry', async () => actionRequest(await placeOrder('decline:51'), 'retry'), 'succeeded'],
  ['a refund', async () => actionRequest(await placeOrder(), 'refund'), 'refunded'],
  ['a void', async () => voidRequest(await placeOrder()), 'voided'],
];
for (const [name, begin, status] of operations) {
  describe(name, { concurrency: false }, () => {
    // Only a charge that has not settled can be voided.
    before(() => acquirer.control({ settle_after_ms: name === 'a void' ? 600_000 : 0 }));
    after(() => acquirer.control({ settle_after_ms: 0 }));

    it('is answered at once when the answer comes twice', async () => {
      const request = await begin();
      const before = (await acquirer.journal()).length;
      await acquirer.control({ next: ['duplicate'] });
      const reply = await call(request);
      assert.equal(reply.body.status, status, reply.text);
      assert.equal((await acquirer.journal()).length, before + 1);
      assert.equal((await read(await placeOrder())).status, 'succeeded', 'the rest of the connection does no harm');
    });

    it('is continued by its key, without the worker', async () => {
      const request = await begin();
      const before = (await acquirer.journal()).length;
      await lose('reset_after', request);
      const reply = await call(request);
      assert.equal(reply.body.status, status, reply.text);
      assert.equal((await call(request)).text, reply.text);
      assert.equal((await acquirer.journal()).length, before + 1);
    });
  });
}

/** Holds a request back until the test lets it go on. */
function newGate(): { readonly arrived: Promise<void>; pass(): Promise<void>; open(): void } {
  const [arrived, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const pass = (): Promise<void> => {
    arrived.resolve();
    return opened.promise;
  };
  return { arrived: arrived.promise, pass, open: opened.resolve };
}

describe('an acquirer that is down', { concurrency: false }, () => {
  it('fails a charge at once, and a retry when it is back succeeds', async () => {
    await acquirer.kill();
    const request = orderRequest();
    const reply = await call(request);
    assert.equal(reply.status, 201, reply.text);
    assert.equal(reply.body.status, 'failed');
    assert.equal(reply.body.failure_code, 'issuer_unavailable');
    const orderId = String(reply.body.id);
    assert.deepEqual(await openOf(orderId), []);
    const retry = await call(actionRequest(orderId, 'retry'));
    assert.equal(retry.status, 200, retry.text);
    assert.equal(retry.body.attempt_count, 2);
    await acquirer.restart();
    assert.equal((await call(request)).text, reply.text);
    assert.equal((await call(actionRequest(orderId, 'retry'))).body.status, 'succeeded');
    await booksAgree();
  });

  it('leaves a refund undone, and the same key does it later', async () => {
    const orderId = await placeOrder();
    const before = await read(orderId);
    await acquirer.kill();
    const request = actionRequest(orderId, 'refund', { amount: 700 });
    for (let repeat = 0; repeat < 2; repeat += 1) {
      isGatewayError(await call(request));
      assert.deepEqual(await read(orderId), before);
      assert.deepEqual(await openOf(orderId), []);
    }
    await acquirer.restart();
    const reply = await call(request);
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.body.refunded_amount, 700);
    assert.deepEqual(summary(await takenFor(orderId)), ['approved charge', 'approved refund']);
    await booksAgree();
  });

  it('leaves what is in doubt open, as does one that fails to say', async () => {
    const request = orderRequest();
    await lose('error_after', request);
    const orderId = await orderOf(request);
    await outlive(orderId, 'never');
    await acquirer.kill();
    await recover(orderId);
    isGatewayError(await call(request));
    await acquirer.restart();
    for (const fault of ['lookup_error', 'lookup_timeout']) {
      await acquirer.control({ next: [fault, fault] });
      await recover(orderId);
      isGatewayError(await call(request));
      assert.equal((await openOf(orderId)).length, 1, fault);
    }
    await acquirer.control({ next: [] });
    assert.equal((await call(request)).body.status, 'succeeded');
    await booksAgree();
  });
});

describe('what is in doubt', { concurrency: false }, () => {
  const metric = async (name: string): Promise<number> => {
    const { text } = await readProbe(service.baseUrl, '/metrics');
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  };

  it('is shown with its age in /metrics, and reconciled when its order is read', async () => {
    await drain();
    assert.equal(await metric('svc_transactions_in_doubt'), 0);
    const request = orderRequest();
    await lose('error_after', request);
    const orderId = await orderOf(request);
    await service.db.query(`UPDATE open_transactions SET opened_at = now() - interval '1 hour' WHERE order_id = $1`, [
      orderId,
    ]);
    assert.equal(await metric('svc_transactions_in_doubt'), 1);
    const age = await metric('svc_transactions_in_doubt_oldest_seconds');
    assert.ok(age >= 3_600 && age < 3_700, `${age} s`);
    const [before] = await service.db.query<{ status: string }>('SELECT status FROM orders WHERE id = $1', [orderId]);
    assert.equal(before?.status, 'pending');
    await read(orderId);
    await until('it is found', async () => (await read(orderId)).status === 'succeeded');
    assert.equal(await metric('svc_transactions_in_doubt'), 0);
    await booksAgree();
  });

  it('for a month is still reconciled, and blocks nothing else', async () => {
    const [old, fresh] = [orderRequest(), orderRequest()];
    await lose('error_after', old);
    await lose('error_after', fresh);
    const [oldId, freshId] = [await orderOf(old), await orderOf(fresh)];
    await service.db.query(`UPDATE open_transactions SET opened_at = now() - interval '40 days' WHERE order_id = $1`, [
      oldId,
    ]);
    await service.db.query('UPDATE open_transactions SET next_check_at = now() WHERE order_id = $1', [oldId]);
    await recover(freshId);
    assert.deepEqual([await openOf(oldId), await openOf(freshId)], [[], []]);
    await booksAgree();
  });

  it('is looked up oldest first, where several are due at once', async () => {
    await drain();
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) {
      const request = orderRequest();
      await lose('error_after', request);
      ids.push(await orderOf(request));
    }
    // PostgreSQL stores the changed rows in this order: the latest first.
    for (const id of ids.toReversed()) {
      await service.db.query(`UPDATE open_transactions SET next_check_at = timestamptz 'epoch' WHERE order_id = $1`, [
        id,
      ]);
    }
    const due = await claimDue(service.db, 100, [5_000], 5_000);
    assert.deepEqual(
      due.map(({ order_id }) => order_id),
      ids,
    );
    await booksAgree();
  });

  it('is not recorded as failed while our own process delays the request', async () => {
    const gate = newGate();
    interference = { charge: (request) => gate.pass().then(() => vault.charge(request)) };
    const request = orderRequest();
    const sent = call(request);
    await gate.arrived;
    interference = {};
    await sleep(requestLifeMs + 200);
    const orderId = await orderOf(request);
    await recover(orderId);
    gate.open();
    await sent;
    await recover(orderId);
    const reply = await call(request);
    assert.equal(reply.status, 201, reply.text);
    assert.equal(reply.body.status, 'failed');
    await booksAgree();
  });

  it('and a refund that our own process held back is done once, by the repeated request', async () => {
    const orderId = await placeOrder();
    const gate = newGate();
    interference = { refund: (request) => gate.pass().then(() => vault.refund(request)) };
    const request = actionRequest(orderId, 'refund', { amount: 500 });
    const sent = call(request);
    await gate.arrived;
    interference = {};
    await sleep(requestLifeMs + 100);
    await setValidity(orderId, -1_000);
    await recover(orderId);
    assert.deepEqual(await openOf(orderId), [], 'it was given up');
    gate.open();
    isGatewayError(await sent);
    const reply = await call(request);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(summary(await takenFor(orderId)), ['approved charge', 'approved refund']);
    await booksAgree();
  });
});

it('a decline shows the code of the acquirer on the order and on its transaction', async () => {
  await acquirer.control({ next: ['decline:51'] });
  const reply = await call(orderRequest());
  assert.deepEqual([reply.status, reply.body.status], [201, 'failed'], reply.text);
  const [sale] = reply.body.transactions;
  const { body: transaction } = await service.call('GET', `/v1/transactions/${sale.id}`, { key });
  for (const shown of [reply.body, sale, transaction]) assert.equal(shown.failure_code, 'insufficient_funds');
  assert.ok(reply.body.failure_reason);
  assert.equal(transaction.status, 'failed');
  assert.equal(transaction.processor_response.response_code, '51');
  await booksAgree();
});

describe('many operations that are due at once', () => {
  const count = 60;
  const atOnce = 25;

  /** Looks them all up at a processor that takes this long and says nothing certain. */
  async function lookUpAll(tookMs: number): Promise<{ asked: number; mostAtOnce: number }> {
    let [asked, current, mostAtOnce] = [0, 0, 0];
    interference = {
      async lookup() {
        asked += 1;
        current += 1;
        mostAtOnce = Math.max(mostAtOnce, current);
        await sleep(tookMs);
        current -= 1;
        return { outcome: 'unknown', reason: 'a test' };
      },
    };
    try {
      await service.db.query('UPDATE open_transactions SET next_check_at = now(), locked_until = now()');
      await service.orders.reconcileDue(500);
    } finally {
      interference = {};
    }
    return { asked, mostAtOnce };
  }

  it('are looked up a few at a time, and not at all at a connection that does not answer', async () => {
    await drain();
    const orderId = await placeOrder();
    await service.db.query(
      `INSERT INTO open_transactions (company_id, order_id, slot, id, reference, customer_id, payment_method_id, type,
         amount, currency, card_brand, card_last4, updated_at, locked_until, in_doubt, next_check_at, connection_id)
       SELECT t.company_id, t.order_id, n.id, n.id, n.id, t.customer_id, t.payment_method_id, 'refund', 1, t.currency,
         t.card_brand, t.card_last4, now(), now(), false, now(), t.connection_id
       FROM transactions t, (SELECT uuidv7() AS id FROM generate_series(1, $2)) n WHERE t.order_id = $1`,
      [orderId, count],
    );
    const quick = await lookUpAll(200);
    assert.equal(quick.asked, count);
    assert.ok(quick.mostAtOnce <= atOnce, `${quick.mostAtOnce} at once`);
    assert.equal((await lookUpAll(2_100)).asked, atOnce);
    await service.db.query('DELETE FROM open_transactions WHERE order_id = $1', [orderId]);
  });
});
