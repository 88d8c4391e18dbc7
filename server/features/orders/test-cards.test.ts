import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  assertRefused,
  capture,
  checkAllOpen,
  countOf,
  createProduct,
  eventTypes,
  openShop,
  order,
  readOrder,
  refund,
  retry,
  type Shop,
  until,
} from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import {
  advance,
  readSubscription,
  somePlan,
  someSubscriber,
  subscribe,
} from '../../../tests/support/subscriptions.ts';
import { CardNumber } from '../../vault/card-number.ts';
import { failureGroups, failureReasons } from '../../vault/processors/processor.ts';
import { setDecline } from '../../vault/processors/sandbox/queries.ts';

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
});
after(() => service.stop());

/** An order paid with this card, by a customer that has it. */
async function orderWith(number: string): Promise<Reply> {
  const payment_method_id = await capture(service, shop.customerId, number);
  return order(service, shop, { payment_method_id });
}

const exact = (lastFour: string): string => `400000999900${lastFour}`;

const declining = [
  ['0002', 'Generic decline', 'processor_declined'],
  ['5100', 'Generic decline (a different card network)', 'processor_declined'],
  ['9995', 'No funds available', 'insufficient_funds'],
  ['0069', 'Card expired', 'expired_card'],
  ['0119', 'Processing/network error', 'processor_declined'],
  ['0127', 'CVV check failed', 'incorrect_cvv'],
] as const;

describe('the test card that expires', () => {
  it('is declined once its expiry has passed by the clock of the company; others ignore it', async () => {
    const { key, sandbox } = await service.createMerchant();
    const now = new Date(service.clock.nowMs());
    const expiry = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));
    const [exp_month, exp_year] = [expiry.getUTCMonth() + 1, expiry.getUTCFullYear()].map(String);
    const card = (number: string) => ({ number, exp_month, exp_year, cvc: '999' });
    const plan = await somePlan(service, {}, sandbox);
    const productId = await createProduct(service, 4900, { key });
    const subscriptionOf = async (number: string): Promise<Reply['body']> => {
      const customer_id = await someSubscriber(service, 'none', { key });
      const captured = await service.call('POST', '/capture', { key, body: { customer_id, card: card(number) } });
      assert.equal(captured.status, 201, captured.text);
      const made = await subscribe(service, { customer_id, plan_id: plan.id }, { key });
      assert.deepEqual([made.status, made.body.status], [201, 'active'], made.text);
      return made.body;
    };
    const [expiring, other] = [await subscriptionOf(exact('5454')), await subscriptionOf('4242424242424242')];
    assert.equal((await advance(service, { by: { months: 3 } }, { key })).status, 200);
    const read = async ({ id }: Reply['body']): Promise<Reply['body']> => readSubscription(service, id, { key });
    const { status, completed_cycles } = await read(other);
    assert.deepEqual([status, completed_cycles], ['active', 4]);
    const late = await read(expiring);
    assert.deepEqual([late.status, late.completed_cycles < 4, late.completed_cycles > 1], ['failed', true, true]);
    const shopOf = { customerId: expiring.customer_id, paymentMethodId: '', productId };
    const reply = await order(service, shopOf, { payment_method_id: late.payment_method.id }, { key });
    assert.deepEqual([reply.body.status, reply.body.failure_code], ['failed', 'expired_card'], reply.text);
  });
});

describe('test cards of the contract, by their last four digits', () => {
  for (const [lastFour, outcome, failureCode] of declining) {
    it(`${lastFour}: ${outcome} → 201 failed with ${failureCode}`, async () => {
      for (const number of [`400000000000${lastFour}`, `55555555${lastFour}`, `411111111111111${lastFour}`]) {
        const reply = await orderWith(number);
        assert.equal(reply.status, 201, reply.text);
        assert.partialDeepStrictEqual(reply.body, {
          status: 'failed',
          failure_code: failureCode,
          failure_reason: failureReasons[failureCode],
          attempt_count: 1,
          next_retry_at: null,
        });
        const [sale] = reply.body.transactions;
        assert.deepEqual([sale.status, sale.failure_code], ['failed', failureCode]);
        assert.equal(sale.failure_reason, failureReasons[failureCode]);
        assert.deepEqual(await eventTypes(service, reply.body.id), ['order.created', 'order.failed']);
      }
    });
  }

  it('any unrecognized number charges successfully, those of other providers too', async () => {
    for (const number of [
      '4242424242424242',
      '378282246310005',
      '123456789012',
      '6011000990139424',
      '1111222233334444',
    ]) {
      assert.equal((await orderWith(number)).body.status, 'succeeded', number);
    }
  });
});

describe('cards of exact numbers', () => {
  it('any other number with the same last four charges and refunds successfully, first and later', async () => {
    for (const lastFour of ['5126', '0341', '3220', '7070', '7071', '1000']) {
      const payment_method_id = await capture(service, shop.customerId, `411111999900${lastFour}`);
      for (let round = 0; round < 2; round += 1) {
        const reply = await order(service, shop, { payment_method_id });
        assert.equal(reply.body.status, 'succeeded', lastFour);
        await refund(service, reply.body.id);
        await checkAllOpen(service);
        assert.equal((await readOrder(service, reply.body.id)).status, 'refunded', lastFour);
      }
    }
  });

  it('5126: each order with it has its own rejected refund', async () => {
    const payment_method_id = await capture(service, shop.customerId, exact('5126'));
    for (let round = 0; round < 2; round += 1) {
      const { id } = (await order(service, shop, { payment_method_id })).body;
      await refund(service, id);
      await checkAllOpen(service);
      assert.equal((await readOrder(service, id)).status, 'refund_failed');
    }
  });

  it('0341: the first charge succeeds, every later one declines insufficient_funds', async () => {
    const payment_method_id = await capture(service, shop.customerId, exact('0341'));
    const outcomes: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { body } = await order(service, shop, { payment_method_id });
      outcomes.push(body.failure_code ?? body.status);
      if (body.status === 'failed') outcomes.push((await retry(service, body.id)).body.failure_code);
    }
    assert.deepEqual(outcomes, ['succeeded', ...Array.from({ length: 4 }, () => 'insufficient_funds')]);
  });

  it('0341: of 10 charges at once one succeeds', async () => {
    const payment_method_id = await capture(service, shop.customerId, exact('0341'));
    const replies = await Promise.all(Array.from({ length: 10 }, () => order(service, shop, { payment_method_id })));
    assert.equal(replies.filter(({ body }) => body.status === 'succeeded').length, 1);
    assert.equal(replies.filter(({ body }) => body.failure_code === 'insufficient_funds').length, 9);
  });

  it('3220: the first charge attempt declines do_not_honor, later ones succeed', async () => {
    const payment_method_id = await capture(service, shop.customerId, exact('3220'));
    const first = await order(service, shop, { payment_method_id });
    assert.deepEqual([first.body.status, first.body.failure_code], ['failed', 'do_not_honor']);
    assert.equal((await retry(service, first.body.id)).body.status, 'succeeded');
    assert.equal((await order(service, shop, { payment_method_id })).body.status, 'succeeded');
  });

  it('1000: a billing address is required, and the card charges then', async () => {
    const card = { number: exact('1000'), exp_month: '12', exp_year: '2031', cvc: '999' };
    const bare = await service.call('POST', '/capture', { body: { customer_id: shop.customerId, card } });
    assertRefused(bare, 400, 'invalid_request', 'billing_details');
    const billing_details = { address: { line1: '1 Tea St', country: 'GB' } };
    const body = { customer_id: shop.customerId, card, billing_details };
    const captured = await service.call('POST', '/capture', { body });
    assert.equal(captured.status, 201, captured.text);
    assert.equal((await order(service, shop, { payment_method_id: captured.body.id })).body.status, 'succeeded');
  });

  it('an operator maps further exact numbers to failure codes, for one company', async () => {
    const codes = Object.values(failureGroups).flat();
    const other = await service.createMerchant();
    const theirs = await openShop(service, '4111111111110000', { key: other.key });
    const numbers = codes.map((_, index) => `41111111111100${String(index).padStart(2, '0')}`);
    for (const [index, code] of codes.entries()) {
      const number = new CardNumber(numbers[index] ?? '');
      const print = await service.vault.fingerprint(service.company.id, 'sandbox', number);
      await setDecline(service.vaultDb, service.company.id, print, code);
    }
    // The service reads them again after two seconds.
    await sleep(2_100);
    for (const [index, code] of codes.entries()) {
      const reply = await orderWith(numbers[index] ?? '');
      assert.deepEqual([reply.status, reply.body.failure_code], [201, code]);
      assert.equal(reply.body.failure_reason, failureReasons[code]);
    }
    assert.equal((await order(service, theirs, {}, { key: other.key })).body.status, 'succeeded');
  });
});

/** An order in doubt: its key, its id, and how to repeat it. */
async function inDoubt(lastFour: string) {
  const own = await openShop(service, exact(lastFour));
  const idempotencyKey = randomUUID();
  const repeat = (): Promise<Reply> => order(service, own, { description: 'in doubt' }, { idempotencyKey });
  const lost = await repeat();
  const list = await service.call('GET', `/v1/orders?customer_id=${own.customerId}`);
  assert.equal(list.body.data.length, 1);
  return { own, idempotencyKey, lost, repeat, listed: list.body.data[0], id: list.body.data[0].id as string };
}

describe('7070: the processor takes the charge but its answer is lost', () => {
  it('502 gateway_error; the order stays pending and its transaction in_progress', async () => {
    const { lost, listed, id } = await inDoubt('7070');
    assertRefused(lost, 502, 'gateway_error');
    assert.equal(lost.body.error.type, 'processing_error');
    assert.equal(listed.status, 'pending');
    assert.deepEqual(
      listed.transactions.map(({ type, status }: Record<string, string>) => [type, status]),
      [['sale', 'in_progress']],
    );
    assert.equal(listed.transactions[0].processor_transaction_id, null);
    assert.deepEqual(await eventTypes(service, id), ['order.created']);
    assertRefused(await refund(service, id), 422, 'invalid_state_transition');
    assertRefused(await retry(service, id), 400, 'invalid_state_transition');
  });

  it('reads start the reconciliation: of 20 at once, each responds, and the outcome is recorded once', async () => {
    const { id } = await inDoubt('7070');
    assert.equal((await readOrder(service, id)).status, 'pending');
    await Promise.all(Array.from({ length: 20 }, () => readOrder(service, id)));
    await until('succeeded', async () => (await readOrder(service, id)).status === 'succeeded');
    assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.succeeded']);
  });

  it('another payload under the key is a conflict, not a second order', async () => {
    const { own, idempotencyKey } = await inDoubt('7070');
    const other = await order(service, own, { description: 'other' }, { idempotencyKey });
    assertRefused(other, 422, 'idempotency_key_conflict');
  });

  it('is recovered even if its customer, card and product were deleted meanwhile', async () => {
    const { own, repeat, id } = await inDoubt('7070');
    await service.call('DELETE', `/v1/customers/${own.customerId}`);
    await service.call('DELETE', `/v1/products/${own.productId}`);
    await checkAllOpen(service);
    assert.equal((await readOrder(service, id)).status, 'succeeded');
    assert.equal((await repeat()).status, 201);
  });
});

describe('7071: the processor never gets the charge', () => {
  it('502, then recovered to failed with issuer_unavailable; the repeated key answers 201 with it', async () => {
    const { lost, repeat, id } = await inDoubt('7071');
    assertRefused(lost, 502, 'gateway_error');
    assertRefused(await repeat(), 502, 'gateway_error');
    assert.equal((await readOrder(service, id)).status, 'pending', 'it might still arrive');
    await checkAllOpen(service);
    const known = await repeat();
    assert.equal(known.status, 201, known.text);
    assert.partialDeepStrictEqual(known.body, {
      id,
      status: 'failed',
      failure_code: 'issuer_unavailable',
      failure_reason: failureReasons.issuer_unavailable,
      attempt_count: 1,
    });
    assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.failed']);
    assert.equal((await repeat()).text, known.text);
  });

  it('while it is in doubt its key never expires', async () => {
    const { own, idempotencyKey } = await inDoubt('7071');
    const later = await startTestService({ database: service.database, vault: service.vault });
    try {
      later.clock.advance(48 * 3_600_000);
      const again = await order(later, own, { description: 'in doubt' }, { key: service.key, idempotencyKey });
      assertRefused(again, 502, 'gateway_error');
      assert.equal(await countOf(service, 'orders', 'customer_id = $1', [own.customerId]), 1);
    } finally {
      await later.stop();
    }
  });
});
