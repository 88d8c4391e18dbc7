import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { examine } from '../../../../cli/doctor.ts';
import { created, everyDays, openScene, ordersOf, type Scene, typesOf } from '../../../../tests/support/billing.ts';
import {
  approvedOutcome,
  declinedOutcome,
  type FaultyService,
  startFaultyService,
} from '../../../../tests/support/faulty-service.ts';
import { eventTypes, openShop, order, refund, until } from '../../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../../tests/support/service.ts';
import { readSubscription } from '../../../../tests/support/subscriptions.ts';
import type { LookupOutcome } from '../../../vault/processors/processor.ts';
import { operationMaxMs } from '../../../vault/access.ts';
import type { VaultCharge, VaultOutcome } from '../../../vault/vault.ts';
import { findOpenOf, waitAgain } from '../operations/open-queries.ts';
import { deriveReference, subjects } from '../operations/reference.ts';
import { lockMs } from '../operations/timing.ts';

/** A part of the service stops while it has a renewal. The bank has declined nothing, so the renewal is sent again. */

let faulty: FaultyService;
let service: TestService;
let faults: FaultyService['faults'];
/** What the processor was sent. */
let sent: VaultCharge[] = [];

before(async () => {
  faulty = await startFaultyService();
  ({ service, faults } = faulty);
});
after(() => faulty.stop());

/** What a lookup says about a charge that was not executed. */
const findings = {
  expired: { outcome: 'not_found', isSafeToRepeat: true },
  final: { outcome: 'not_found', isFinal: true },
} as const satisfies Record<string, LookupOutcome>;

function answer(charge: () => Promise<VaultOutcome>, lookup: LookupOutcome): void {
  sent = [];
  faults.charge = (request) => {
    sent.push(request);
    return charge();
  };
  faults.lookup = async () => lookup;
}

/** The vault dies with the charge; for the process that dies itself see `tests/failpoints.test.ts`. */
const vaultDies = async (): Promise<VaultOutcome> => ({ outcome: 'unknown', reason: 'gone', isInterrupted: true });

interface Subscribed extends Scene {
  readonly id: string;
}

async function subscribed(): Promise<Subscribed> {
  faults.charge = approvedOutcome;
  const at = await openScene(service, { billing_cycle: everyDays(1) });
  return { ...at, id: (await created(service, at)).id };
}

async function bill({ company }: Scene): Promise<void> {
  await service.db.query('UPDATE companies SET clock_offset_ms = 90000000 WHERE id = $1', [company.id]);
  await service.subscriptions.billDue(64);
}

/** The worker's job, as if what is open had been open for long. */
async function runWorker(): Promise<void> {
  await service.db.query('UPDATE open_transactions SET next_check_at = now(), locked_until = now()');
  await service.orders.reconcileDue(1_000);
}

async function renewalOf(at: Scene): Promise<Reply['body']> {
  const [, second] = await ordersOf(service, at);
  return second ?? assert.fail('it was not billed');
}

const referenceOf = ({ company, id }: Subscribed, number: number): string =>
  deriveReference(company.id, { subject: subjects.cycle(id, 2), number });

for (const [name, found] of Object.entries(findings)) {
  describe(`if the reference is ${name}, a renewal that was interrupted`, { concurrency: false }, () => {
    it('is charged by the worker, without an attempt and without an event', async () => {
      const at = await subscribed();
      answer(vaultDies, found);
      await bill(at);
      await runWorker();
      const waiting = await readSubscription(service, at.id, at);
      assert.deepEqual([waiting.status, waiting.attempt_count, waiting.last_failure_message], ['active', 0, null]);
      faults.charge = approvedOutcome;
      await runWorker();
      const renewed = await readSubscription(service, at.id, at);
      assert.deepEqual([renewed.status, renewed.completed_cycles], ['active', 2]);
      const { id, status, attempt_count, failure_code } = await renewalOf(at);
      assert.deepEqual([status, attempt_count, failure_code], ['succeeded', 0, null]);
      assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.succeeded']);
      assert.ok(!(await typesOf(service, at.id)).includes('subscription.past_due'));
    });

    it('counts one attempt if it is declined in the end', async () => {
      const at = await subscribed();
      answer(vaultDies, found);
      await bill(at);
      await runWorker();
      faults.charge = declinedOutcome;
      await runWorker();
      const { status, attempt_count } = await readSubscription(service, at.id, at);
      assert.deepEqual([status, attempt_count], ['past_due', 1]);
    });

    it('is sent again twice, and then fails', async () => {
      const at = await subscribed();
      answer(vaultDies, found);
      await bill(at);
      for (let round = 0; round < 10; round += 1) await runWorker();
      assert.equal(sent.length, 3);
      const { status, attempt_count, failure_code } = await renewalOf(at);
      assert.deepEqual([status, attempt_count, failure_code], ['failed', 1, 'issuer_unavailable']);
    });

    it('is not sent if the subscription was canceled meanwhile', async () => {
      const at = await subscribed();
      answer(vaultDies, found);
      await bill(at);
      await runWorker();
      await service.call('DELETE', `/v1/subscriptions/${at.id}`, at);
      await runWorker();
      assert.equal(sent.length, 1);
      assert.equal((await renewalOf(at)).status, 'failed');
    });

    it('ignores a worker that was only slow', async () => {
      const at = await subscribed();
      const { promise, resolve } = Promise.withResolvers<VaultOutcome>();
      answer(() => promise, found);
      const slow = bill(at);
      await until('it is sent', async () => sent.length === 1);
      await runWorker();
      const { id } = await renewalOf(at);
      assert.equal((await findOpenOf(service.db, at.company.id, id))[0]?.state, 'waiting');
      resolve(declinedOutcome());
      await slow;
      assert.equal((await renewalOf(at)).status, 'pending');
      faults.charge = approvedOutcome;
      await runWorker();
      assert.equal((await renewalOf(at)).status, 'succeeded');
    });

    it('is sent again if a reader looks it up before the worker does', async () => {
      const at = await subscribed();
      const { promise, resolve } = Promise.withResolvers<VaultOutcome>();
      answer(() => promise, found);
      const slow = bill(at);
      await until('it is sent', async () => sent.length === 1);
      const { id } = await renewalOf(at);
      await service.db.query('UPDATE open_transactions SET locked_until = now() WHERE order_id = $1', [id]);
      await service.orders.reconcile(at.company.id, id);
      assert.equal((await findOpenOf(service.db, at.company.id, id))[0]?.state, 'waiting');
      resolve(declinedOutcome());
      await slow;
      await runWorker();
    });
  });
}

it('a renewal keeps its reference, unless the processor will never execute it', async () => {
  for (const [found, numbers] of [
    [findings.expired, [0, 0]],
    [findings.final, [0, 1]],
  ] as const) {
    const at = await subscribed();
    answer(vaultDies, found);
    await bill(at);
    for (let round = 0; round < 2; round += 1) await runWorker();
    const references = sent.map(({ reference }) => reference);
    assert.deepEqual(
      references,
      numbers.map((number) => referenceOf(at, number)),
    );
    await service.call('DELETE', `/v1/subscriptions/${at.id}`, at);
  }
});

const reset = async (): Promise<VaultOutcome> => ({ outcome: 'unknown', reason: 'reset' });
for (const [why, charge, found] of [
  ['whose processor may execute the same reference twice', vaultDies, { outcome: 'not_found' }],
  ['that the processor did not get although nothing stopped, its reference expired,', reset, findings.expired],
  ['that the processor did not get although nothing stopped, its reference final,', reset, findings.final],
] as const) {
  it(`a renewal ${why} is not sent again, and fails`, async () => {
    const at = await subscribed();
    answer(charge, found);
    await bill(at);
    for (let round = 0; round < 3; round += 1) await runWorker();
    assert.equal(sent.length, 1);
    const { status, attempt_count, failure_code } = await renewalOf(at);
    assert.deepEqual([status, attempt_count, failure_code], ['failed', 1, 'issuer_unavailable']);
  });
}

it('a lookup that finds the charge records it, and nothing is sent again', async () => {
  const at = await subscribed();
  answer(vaultDies, findings.final);
  faults.lookup = approvedOutcome;
  await bill(at);
  await runWorker();
  assert.equal((await renewalOf(at)).status, 'succeeded');
  assert.equal(sent.length, 1);
});

for (const [name, found] of Object.entries(findings)) {
  describe(`an order that was interrupted, whose reference is ${name},`, () => {
    /** Places it, and lets the worker look it up. Returns a function that repeats the request. */
    async function interrupted(): Promise<() => Promise<Reply>> {
      const shop = await openShop(service);
      answer(vaultDies, found);
      const idempotencyKey = randomUUID();
      const send = (): Promise<Reply> => order(service, shop, {}, { idempotencyKey });
      assert.equal((await send()).status, 502);
      await runWorker();
      return send;
    }

    it('is sent when its request is repeated, and not before', async () => {
      const send = await interrupted();
      assert.equal(sent.length, 1, 'the customer may have gone');
      faults.charge = approvedOutcome;
      const { status, body } = await send();
      assert.deepEqual([status, body.status, body.attempt_count], [201, 'succeeded', 0]);
    });

    it('fails if its request is not repeated for an hour', async () => {
      const send = await interrupted();
      await runWorker();
      const { status, body } = await send();
      assert.deepEqual([status, body.failure_code], [201, 'issuer_unavailable']);
      assert.equal(sent.length, 1);
    });
  });
}

it('a request whose outcome another process recorded is answered as its key is, although the order was refunded since', async () => {
  const shop = await openShop(service);
  const { promise, resolve } = Promise.withResolvers<VaultOutcome>();
  answer(() => promise, await approvedOutcome());
  const idempotencyKey = randomUUID();
  const send = (): Promise<Reply> => order(service, shop, {}, { idempotencyKey });
  const slow = send();
  await until('it is sent', async () => sent.length === 1);
  await runWorker();
  const [placed] = await service.db.query<{ id: string }>('SELECT id FROM orders WHERE customer_id = $1', [
    shop.customerId,
  ]);
  faults.refund = approvedOutcome;
  assert.equal((await refund(service, placed?.id ?? '', 100)).status, 200);
  resolve(await approvedOutcome());
  const late = await slow;
  assert.deepEqual([late.status, late.body.status], [201, 'succeeded']);
  assert.deepEqual((await send()).body, late.body);
});

it('a late outcome waits for the process that sends the charge again, and then has no effect', async () => {
  const at = await subscribed();
  const { promise, resolve } = Promise.withResolvers<VaultOutcome>();
  answer(() => promise, findings.final);
  const slow = bill(at);
  await until('it is sent', async () => sent.length === 1);
  const { id } = await renewalOf(at);
  const [open] = await findOpenOf(service.db, at.company.id, id);
  assert.ok(open);
  await service.db.transaction(async (transaction) => {
    await waitAgain(transaction, open, 0);
    resolve(approvedOutcome());
    await until('the outcome waits', async () => {
      const [waiting] = await service.db.query(
        `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%UPDATE orders o SET status%'`,
      );
      return waiting !== undefined;
    });
  });
  await slow;
  assert.equal((await renewalOf(at)).status, 'pending');
  await service.call('DELETE', `/v1/subscriptions/${at.id}`, at);
  await runWorker();
});

it('an operation is reserved for its process for longer than it may take', () => {
  assert.ok(operationMaxMs < lockMs.live);
});

it('what is left satisfies the doctor', async () => {
  assert.deepEqual(await examine(service.db), []);
});
