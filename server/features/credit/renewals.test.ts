import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import {
  cards,
  created,
  dayMs,
  everyDays,
  later,
  moveTo,
  openScene,
  ordersOf,
  type Scene,
  typesOf,
} from '../../../tests/support/billing.ts';
import { checkBooks, creditOf, grant } from '../../../tests/support/credit.ts';
import {
  approvedOutcome,
  declinedOutcome,
  unknownOutcome,
  useFaultyService,
} from '../../../tests/support/faulty-service.ts';
import { assertRefused, checkAllOpen, refund, retry } from '../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';
import { readSubscription } from '../../../tests/support/subscriptions.ts';

/** Renewals use the credit of the customer first; the card pays the rest. */

let service: TestService;
const faults = useFaultyService((started) => {
  service = started;
});
afterEach(() => checkBooks(service));

const hourMs = 3_600_000;

interface Renewing extends Scene {
  readonly id: string;
  readonly renewsAt: string;
}

/** A subscription of $30.00 for thirty days, whose first cycle is paid. */
async function renewing(number?: string): Promise<Renewing> {
  const at = await openScene(service, { amount: 3000, billing_cycle: everyDays(30) }, number);
  const { id, next_billing_at } = await created(service, at);
  return { ...at, id, renewsAt: next_billing_at };
}

const renew = ({ key, renewsAt }: Renewing, days = 0): Promise<Reply['body']> =>
  moveTo(service, key, later(renewsAt, days * dayMs + hourMs));

async function renewed(at: Renewing, days = 0): Promise<Reply['body']> {
  await renew(at, days);
  return secondOrder(at);
}

async function secondOrder(at: Renewing): Promise<Reply['body']> {
  const [, order] = await ordersOf(service, at);
  return order ?? assert.fail('there is no second order');
}

describe('a renewal', () => {
  it('is paid by credit alone if the credit covers it, without a charge', async () => {
    const at = await renewing();
    await grant(service, at, 5000);
    const order = await renewed(at);
    assert.partialDeepStrictEqual(order, {
      status: 'succeeded',
      total: 3000,
      credit_applied: 3000,
      captured_amount: 0,
      subscription_cycle: 2,
    });
    assert.deepEqual(order.transactions, []);
    assert.deepEqual(await creditOf(service, at), {
      balance: 2000,
      entries: [
        ['order', -3000],
        ['grant', 5000],
      ],
    });
    const { completed_cycles, status } = await readSubscription(service, at.id, at);
    assert.deepEqual([completed_cycles, status], [2, 'active']);
    assert.ok((await typesOf(service, at.id)).includes('subscription.charged'));
  });

  it('charges the card only for what the credit does not cover', async () => {
    const at = await renewing();
    await grant(service, at, 1000);
    const order = await renewed(at);
    assert.partialDeepStrictEqual(order, {
      status: 'succeeded',
      total: 3000,
      credit_applied: 1000,
      captured_amount: 2000,
    });
    assert.deepEqual([order.transactions.length, order.transactions[0].amount], [1, 2000]);
    assert.equal((await creditOf(service, at)).balance, 0);
  });

  it('is announced on the customer page, which shows the credit', async () => {
    const at = await renewing();
    await grant(service, at, 1000);
    const body = { customer_id: at.customer_id };
    const session = await service.call('POST', '/v1/customer_sessions', { key: at.key, body });
    assert.equal(session.status, 201, session.text);
    const shown = await fetch(`${service.baseUrl}${new URL(session.body.url).pathname}/account`);
    const { credit } = (await shown.json()) as { credit: unknown };
    assert.deepEqual(credit, [{ currency: 'usd', amount: 1000 }]);
  });

  it('leaves credit of another currency alone', async () => {
    const at = await renewing();
    await grant(service, at, 5000, { currency: 'eur' });
    assert.partialDeepStrictEqual(await renewed(at), { credit_applied: 0, captured_amount: 3000 });
  });

  it('gives the credit back when the card is declined, and takes it again for the next attempt', async () => {
    const at = await renewing();
    await grant(service, at, 1000);
    faults.charge = declinedOutcome;
    const failed = await renewed(at);
    assert.partialDeepStrictEqual(failed, { status: 'failed', credit_applied: 0, captured_amount: 0 });
    assert.deepEqual(await creditOf(service, at), {
      balance: 1000,
      entries: [
        ['order_failed', 1000],
        ['order', -1000],
        ['grant', 1000],
      ],
    });
    faults.charge = approvedOutcome;
    assert.partialDeepStrictEqual(await renewed(at, 2), {
      status: 'succeeded',
      credit_applied: 1000,
      captured_amount: 2000,
    });
    assert.equal((await creditOf(service, at)).balance, 0);
  });

  it('is paid by credit that was granted after it was declined', async () => {
    const at = await renewing(cards.declinesAfterFirst);
    await renew(at);
    await grant(service, at, 3500);
    const paid = await renewed(at, 2);
    assert.partialDeepStrictEqual(paid, {
      status: 'succeeded',
      credit_applied: 3000,
      failure_code: null,
      next_retry_at: null,
    });
    assert.equal((await creditOf(service, at)).balance, 500);
    assert.equal((await readSubscription(service, at.id, at)).status, 'active');
    assert.ok((await typesOf(service, at.id)).includes('subscription.recovered'));
  });

  it('gives the credit back to each of several customers whose charges are declined at once', async () => {
    const all = [await renewing(), await renewing(), await renewing()];
    for (const [index, at] of all.entries()) {
      await created(service, at);
      await grant(service, at, 1000 + index);
    }
    faults.charge = declinedOutcome;
    await Promise.all(all.map((at) => renew(at)));
    for (const [index, at] of all.entries()) assert.equal((await creditOf(service, at)).balance, 1000 + index);
  });

  it('keeps the credit while its outcome is unknown', async () => {
    const at = await renewing();
    await grant(service, at, 1000);
    faults.charge = unknownOutcome;
    faults.lookup = unknownOutcome;
    await renew(at).catch(() => undefined);
    assert.equal((await creditOf(service, at)).balance, 0);
    delete faults.charge;
    delete faults.lookup;
    await checkAllOpen(service);
    const order = await secondOrder(at);
    const { balance } = await creditOf(service, at);
    assert.equal(balance + order.credit_applied, 1000, order.status);
  });

  it('never uses credit twice, if two subscriptions of a customer renew at once', async () => {
    const at = await renewing();
    await created(service, at);
    await grant(service, at, 4000);
    await renew(at);
    const orders = (await ordersOf(service, at)).slice(2);
    assert.deepEqual(
      orders.map(({ credit_applied }) => credit_applied).toSorted((a, b) => a - b),
      [1000, 3000],
    );
    assert.equal((await creditOf(service, at)).balance, 0);
  });

  it('charges the card in full when a declined order is retried by hand', async () => {
    const at = await renewing(cards.declinesAfterFirst);
    await grant(service, at, 1000);
    const { id } = await renewed(at);
    await retry(service, id, { key: at.key });
    assert.equal((await creditOf(service, at)).balance, 1000);
  });
});

describe('a refund of an order that credit paid', () => {
  async function paid(credit: number): Promise<{ at: Renewing; id: string }> {
    const at = await renewing();
    await grant(service, at, credit);
    return { at, id: (await renewed(at)).id };
  }

  it('goes to the card first, and then to the credit', async () => {
    const { at, id } = await paid(1000);
    const first = await refund(service, id, 1500, { key: at.key });
    assert.partialDeepStrictEqual(first.body, {
      status: 'partially_refunded',
      refunded_amount: 1500,
      credit_refunded: 0,
    });
    assert.equal((await creditOf(service, at)).balance, 0);
    await checkAllOpen(service);
    const rest = await refund(service, id, undefined, { key: at.key });
    assert.equal(rest.status, 200, rest.text);
    assert.partialDeepStrictEqual(rest.body, { status: 'refunded', refunded_amount: 3000, credit_refunded: 1000 });
    assert.equal((await creditOf(service, at)).balance, 1000);
    await checkAllOpen(service);
    const order = await secondOrder(at);
    assert.equal(order.status, 'refunded');
    assertRefused(await refund(service, id, 1, { key: at.key }), 422, 'invalid_state_transition');
  });

  it('goes to the credit alone if no card was charged, and once for one idempotency key', async () => {
    const { at, id } = await paid(3000);
    const idempotencyKey = crypto.randomUUID();
    const one = await refund(service, id, 1000, { key: at.key, idempotencyKey });
    assert.partialDeepStrictEqual(one.body, {
      status: 'partially_refunded',
      refunded_amount: 1000,
      credit_refunded: 1000,
    });
    assert.deepEqual((await refund(service, id, 1000, { key: at.key, idempotencyKey })).body, one.body);
    assert.equal((await creditOf(service, at)).balance, 1000);
    const all = await refund(service, id, undefined, { key: at.key });
    assert.partialDeepStrictEqual(all.body, { status: 'refunded', refunded_amount: 3000, transactions: [] });
    assert.equal((await creditOf(service, at)).balance, 3000);
    const types = await typesOf(service, at.id);
    assert.deepEqual(
      types.filter((type) => type.includes('refunded')),
      ['order.partially_refunded', 'order.refunded'],
    );
  });

  it('rejects more than what is left of card and credit together', async () => {
    const { at, id } = await paid(1000);
    assertRefused(await refund(service, id, 3001, { key: at.key }), 400, 'validation_error', 'amount');
  });

  it('gives the credit back when the charge is voided', async () => {
    const { at, id } = await paid(1000);
    const voided = await service.call('POST', `/v1/orders/${id}/void`, {
      key: at.key,
      idempotencyKey: crypto.randomUUID(),
    });
    assert.equal(voided.status, 200, voided.text);
    assert.equal(voided.body.status, 'voided');
    assert.equal((await creditOf(service, at)).balance, 1000);
  });

  it('leaves nothing to dispute once the card has everything back', async () => {
    const { at, id } = await paid(1000);
    await refund(service, id, 2000, { key: at.key });
    await checkAllOpen(service);
    const reply = await service.call('POST', `/v1/sandbox/orders/${id}/chargeback`, { key: at.key });
    assertRefused(reply, 422, 'invalid_state_transition');
  });

  it('cannot be a void if no card was charged', async () => {
    const { at, id } = await paid(3000);
    const reply = await service.call('POST', `/v1/orders/${id}/void`, {
      key: at.key,
      idempotencyKey: crypto.randomUUID(),
    });
    assertRefused(reply, 422, 'invalid_state_transition');
  });

  it('ends at once if the customer was deleted meanwhile', async () => {
    const { at, id } = await paid(3000);
    await service.call('DELETE', `/v1/subscriptions/${at.id}`, { key: at.key });
    const deleted = await service.call('DELETE', `/v1/customers/${at.customer_id}`, { key: at.key });
    assert.equal(deleted.status, 200, deleted.text);
    const refunded = await refund(service, id, undefined, { key: at.key });
    assert.equal(refunded.status, 200, refunded.text);
    const { balance, entries } = await creditOf(service, at);
    assert.deepEqual(
      [balance, entries.slice(0, 2)],
      [
        0,
        [
          ['customer_deleted', -3000],
          ['refund', 3000],
        ],
      ],
    );
  });

  it('shows on the receipt what the credit paid', async () => {
    for (const credit of [1000, 3000]) {
      const { at, id } = await paid(credit);
      const receipt = await service.call('GET', `/v1/orders/${id}/receipt`, { key: at.key });
      assert.equal(receipt.status, 200, receipt.text);
    }
  });
});
