import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { backUp } from '../../../tests/support/backups.ts';
import { everyDays } from '../../../tests/support/billing.ts';
import { checkBooks, creditOf, grant } from '../../../tests/support/credit.ts';
import { declinedOutcome } from '../../../tests/support/faulty-service.ts';
import { compareAll, gateOf, restore } from '../../../tests/support/gates.ts';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../../tests/support/live-merchants.ts';
import { executedAt } from '../../../tests/support/live-processors.ts';
import { assertRefused, order, runWorker } from '../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';
import { somePlan, subscribe } from '../../../tests/support/subscriptions.ts';
import { dayMs } from '../../platform/durations.ts';
import type { Vault } from '../../vault/vault.ts';

/**
 * A backup has more or less credit than there was when a charge was made that the restore has forgotten. The charge is found with its
 * amount, and credit pays no more than it did.
 */

let live: LiveService;
let service: TestService;
let interference: Partial<Vault> = {};

before(async () => {
  live = await startLiveService({}, () => interference);
  ({ service } = live);
});
after(() => live.stop());
beforeEach(async () => {
  interference = {};
  await service.db.query('DELETE FROM restores');
  await service.db.query('DELETE FROM company_gates');
  await service.db.query('UPDATE companies SET gate = NULL WHERE gate IS NOT NULL');
  // So that each test compares its own company.
  await service.db.query('UPDATE processor_connections SET disconnected_at = now(), removed_at = now()');
});
afterEach(() => checkBooks(service));

const charges = (): Promise<number> => executedAt(live.fakes.stripe, 'charge');

interface Subscriber {
  readonly merchant: ConnectedMerchant;
  readonly id: string;
  readonly key: string;
  readonly customer_id: string;
}

/** Pays $30.00 every thirty days. */
async function subscriber(): Promise<Subscriber> {
  const merchant = await live.openMerchant('stripe');
  const { key, company, shop } = merchant;
  const plan = await somePlan(service, { amount: 3000, billing_cycle: everyDays(30) }, company);
  const reply = await subscribe(service, { plan_id: plan.id, customer_id: shop.customerId }, { key });
  assert.equal(reply.body.status, 'active', reply.text);
  return { merchant, id: reply.body.id, key, customer_id: shop.customerId };
}

async function takeBack({ key, customer_id }: Subscriber, amount: number): Promise<void> {
  const body = { type: 'take_back', amount, currency: 'usd', reason: 'Granted too much' };
  const path = `/v1/customers/${customer_id}/credit`;
  const reply = await service.call('POST', path, { key, body, idempotencyKey: randomUUID() });
  assert.equal(reply.status, 201, reply.text);
}

async function billOn({ merchant: { companyId } }: Subscriber, day: number): Promise<void> {
  await service.db.query('UPDATE companies SET clock_offset_ms = $2 WHERE id = $1', [companyId, day * dayMs]);
  while ((await service.subscriptions.billDue(64)) > 0);
}

async function secondOrder({ key, id }: Subscriber): Promise<Reply['body']> {
  const { body } = await service.call('GET', `/v1/orders?subscription_id=${id}&sort=created_at`, { key });
  assert.equal(body.data.length, 2);
  return body.data[1];
}

/** What the last order says: $10.00 of it was paid by credit. */
async function assertPaidInPart(at: Subscriber, charged: number, balance: number): Promise<void> {
  const { status, total, credit_applied, captured_amount } = await secondOrder(at);
  assert.deepEqual([status, total, credit_applied, captured_amount], ['succeeded', 3000, 1000, 2000]);
  assert.equal((await creditOf(service, at)).balance, balance);
  assert.equal(await charges(), charged);
}

/** The renewal of day 31 was declined. */
async function declined(): Promise<Subscriber> {
  const at = await subscriber();
  interference.charge = declinedOutcome;
  await billOn(at, 31);
  interference = {};
  assert.equal((await secondOrder(at)).status, 'failed');
  return at;
}

describe('after a restore that has forgotten it', () => {
  it('a renewal is recorded as it was paid, although there is more credit', async () => {
    const at = await subscriber();
    await grant(service, at, 5000);
    const bringBack = await backUp(service, at.merchant.companyId);
    await takeBack(at, 4000);
    await billOn(at, 31);
    const charged = await charges();
    await assertPaidInPart(at, charged, 0);
    await bringBack();
    await restore(service);
    await compareAll(service);
    await billOn(at, 31);
    await assertPaidInPart(at, charged, 4000);
  });

  it('a retry of dunning is recorded as it was paid, although there is more credit', async () => {
    const at = await declined();
    await grant(service, at, 5000);
    const bringBack = await backUp(service, at.merchant.companyId);
    await takeBack(at, 4000);
    await billOn(at, 36);
    const charged = await charges();
    await assertPaidInPart(at, charged, 0);
    await bringBack();
    await restore(service);
    await compareAll(service);
    await runWorker(service);
    await assertPaidInPart(at, charged, 4000);
  });

  it('a retry of dunning waits for the credit that was granted after the backup', async () => {
    const at = await declined();
    const bringBack = await backUp(service, at.merchant.companyId);
    await grant(service, at, 1000);
    await billOn(at, 36);
    const charged = await charges();
    await bringBack();
    await restore(service);
    // The comparison tries it some times before it leaves it to the schedule.
    for (let tries = 0; tries < 5; tries += 1) await compareAll(service);
    assert.equal(await gateOf(service, at.merchant.companyId), 'remembers');
    assert.equal((await secondOrder(at)).status, 'failed');
    await grant(service, at, 1000);
    await billOn(at, 36);
    await assertPaidInPart(at, charged, 0);
  });

  it('an order waits for the comparison, and is then recorded as it was paid', async () => {
    const merchant = await live.openMerchant('stripe');
    const { key, shop } = merchant;
    const at = { merchant, id: '', key, customer_id: shop.customerId };
    await grant(service, at, 5000);
    const bringBack = await backUp(service, merchant.companyId);
    await takeBack(at, 4000);
    const idempotencyKey = randomUUID();
    const send = (): Promise<Reply> => order(service, shop, { use_credit: true }, { key, idempotencyKey });
    assert.equal((await send()).body.credit_applied, 1000);
    const charged = await charges();
    await bringBack();
    await restore(service);
    assertRefused(await send(), 503, 'restore_in_progress');
    await compareAll(service);
    const again = await send();
    assert.deepEqual([again.body.status, again.body.credit_applied], ['succeeded', 1000], again.text);
    assert.equal((await creditOf(service, at)).balance, 4000);
    assert.equal(await charges(), charged);
  });

  it('a change of plan waits for the comparison, and is then recorded as it was paid', async () => {
    const at = await subscriber();
    const { company, companyId } = at.merchant;
    const plan = await somePlan(service, { amount: 6000, billing_cycle: everyDays(30) }, company);
    await grant(service, at, 5000);
    const bringBack = await backUp(service, companyId);
    await takeBack(at, 4000);
    const body = { plan_id: plan.id, when: 'now', proration: 'restart', expected_amount: 2000 };
    const idempotencyKey = randomUUID();
    const send = (path = ''): Promise<Reply> =>
      service.call('POST', `/v1/subscriptions/${at.id}/change_plan${path}`, { key: at.key, body, idempotencyKey });
    const first = await send();
    assert.deepEqual([first.body.status, first.body.credit_applied], ['applied', 1000], first.text);
    const charged = await charges();
    await bringBack();
    await restore(service);
    assertRefused(await send(), 503, 'restore_in_progress');
    await compareAll(service);
    assert.equal(await gateOf(service, companyId), 'remembers');
    const again = await send();
    assert.deepEqual([again.body.status, again.body.credit_applied], ['applied', 1000], again.text);
    await assertPaidInPart(at, charged, 4000);
  });
});
