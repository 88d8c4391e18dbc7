import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, before, describe, it } from 'node:test';
import { someCoupon } from '../../../tests/support/coupons.ts';
import { checkBooks, creditOf, grant } from '../../../tests/support/credit.ts';
import {
  approvedOutcome,
  declinedOutcome,
  unknownOutcome,
  useFaultyService,
} from '../../../tests/support/faulty-service.ts';
import {
  assertInvalid,
  assertRefused,
  checkAllOpen,
  eventTypes,
  openShop,
  order,
  readOrder,
  refund,
  retry,
  type Shop,
  voidOrder,
} from '../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';

/** Orders use the credit of the customer where their request says so. */

let service: TestService;
const faults = useFaultyService((started) => {
  service = started;
});
let key: string;
before(async () => {
  key = await service.createKey(service.company);
});
afterEach(() => checkBooks(service));

interface Buyer {
  readonly shop: Shop;
  readonly key: string;
  readonly customer_id: string;
}

/** Buys a product of $49.00. */
async function buyer(credit: number): Promise<Buyer> {
  const shop = await openShop(service);
  const at = { shop, key, customer_id: shop.customerId };
  if (credit > 0) await grant(service, at, credit);
  return at;
}

const buy = ({ shop }: Buyer, more: Record<string, unknown> = {}, idempotencyKey: string = randomUUID()) =>
  order(service, shop, { use_credit: true, ...more }, { key, idempotencyKey });

const balanceOf = async (at: Buyer): Promise<number> => (await creditOf(service, at)).balance;

async function bought(at: Buyer, more: Record<string, unknown> = {}): Promise<Reply['body']> {
  const reply = await buy(at, more);
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

describe('an order', () => {
  it('leaves the credit alone unless it says so', async () => {
    const at = await buyer(9000);
    for (const more of [{}, { use_credit: false }]) {
      const { body } = await order(service, at.shop, more, { key });
      assert.deepEqual([body.status, body.credit_applied, body.captured_amount], ['succeeded', 0, 4900]);
    }
    assert.equal(await balanceOf(at), 9000);
  });

  it('is paid by credit alone if the credit covers it, without a charge', async () => {
    const at = await buyer(9000);
    const body = await bought(at);
    assert.partialDeepStrictEqual(body, {
      status: 'succeeded',
      total: 4900,
      amount: 4900,
      credit_applied: 4900,
      captured_amount: 0,
    });
    assert.deepEqual(body.transactions, []);
    assert.deepEqual(await eventTypes(service, body.id), ['order.created', 'order.succeeded']);
    assert.deepEqual((await creditOf(service, at)).entries[0], ['order', -4900]);
    assert.deepEqual(await readOrder(service, body.id, { key }), body);
  });

  it('charges the card for the rest', async () => {
    const at = await buyer(900);
    const body = await bought(at);
    assert.deepEqual([body.credit_applied, body.captured_amount, body.transactions[0].amount], [900, 4000, 4000]);
    assert.equal(await balanceOf(at), 0);
  });

  it('is charged in full if there is no credit in its currency', async () => {
    const at = await buyer(0);
    await grant(service, at, 900, { currency: 'eur' });
    assert.equal((await bought(at)).credit_applied, 0);
  });

  it('is paid after its coupon, which is redeemed once', async () => {
    const at = await buyer(9000);
    const { code } = await someCoupon(service, { kind: 'promo', name: 'HALF', percentage: 50 }, { key });
    for (const credit_applied of [2450, 2450, 2450]) {
      assert.partialDeepStrictEqual(await bought(at, { coupon_code: code }), { total: 2450, credit_applied });
    }
    assert.partialDeepStrictEqual(await bought(at, { coupon_code: code }), { total: 2450, credit_applied: 1650 });
  });

  it('cannot hold funds as well', async () => {
    const at = await buyer(900);
    assertInvalid(await buy(at, { capture: 'manual' }), 'use_credit');
  });

  it('is answered by its key as before, however much credit there is by then', async () => {
    for (const credit of [900, 9000]) {
      const at = await buyer(credit);
      const idempotencyKey = randomUUID();
      const first = await buy(at, {}, idempotencyKey);
      await grant(service, at, 3000);
      const again = await buy(at, {}, idempotencyKey);
      assert.deepEqual([again.status, again.body], [first.status, first.body]);
      assertRefused(await buy(at, { use_credit: false }, idempotencyKey), 422, 'idempotency_key_conflict');
    }
  });

  it('spends the same credit once, however many begin at once', async () => {
    const at = await buyer(9000);
    const replies = await Promise.all(Array.from({ length: 6 }, () => buy(at)));
    const used = replies.map(({ body, text, status }) => (status === 201 ? body.credit_applied : assert.fail(text)));
    assert.equal(
      used.reduce((sum, one) => sum + one, 0),
      9000,
    );
    assert.equal(await balanceOf(at), 0);
  });

  it('of one key is made once, however often it is sent at once', async () => {
    const at = await buyer(9000);
    const idempotencyKey = randomUUID();
    const replies = await Promise.all(Array.from({ length: 5 }, () => buy(at, {}, idempotencyKey)));
    const made = replies.filter(({ status }) => status === 201).map(({ body }) => body.id);
    assert.equal(new Set(made).size, 1);
    assert.equal(await balanceOf(at), 4100);
  });
});

describe('an order whose rest is charged', () => {
  it('gives the credit back when the card is declined, and a retry charges the card alone', async () => {
    const at = await buyer(900);
    faults.charge = declinedOutcome;
    const failed = await bought(at);
    assert.deepEqual([failed.status, failed.credit_applied], ['failed', 0]);
    assert.equal(await balanceOf(at), 900);
    faults.charge = approvedOutcome;
    const { body } = await retry(service, failed.id, { key });
    assert.deepEqual([body.status, body.credit_applied, body.captured_amount], ['succeeded', 0, 4900]);
    assert.equal(await balanceOf(at), 900);
  });

  it('gives the coupon and the credit back together', async () => {
    const at = await buyer(900);
    const limits = { max_redemptions: 1 };
    const { code } = await someCoupon(service, { kind: 'promo', name: 'ONCE', percentage: 10, ...limits }, { key });
    faults.charge = declinedOutcome;
    assert.equal((await bought(at, { coupon_code: code })).status, 'failed');
    assert.equal(await balanceOf(at), 900);
    faults.charge = approvedOutcome;
    assert.partialDeepStrictEqual(await bought(at, { coupon_code: code }), { total: 4410, credit_applied: 900 });
  });

  it('keeps the credit while the outcome is unknown', async () => {
    for (const [lookup, balance] of [
      [approvedOutcome, 0],
      [declinedOutcome, 900],
    ] as const) {
      const at = await buyer(900);
      [faults.charge, faults.lookup] = [unknownOutcome, unknownOutcome];
      const idempotencyKey = randomUUID();
      assertRefused(await buy(at, {}, idempotencyKey), 502, 'gateway_error');
      assert.equal(await balanceOf(at), 0);
      [faults.charge, faults.lookup] = [approvedOutcome, lookup];
      await checkAllOpen(service);
      const { body } = await buy(at, {}, idempotencyKey);
      assert.equal(body.credit_applied, 900 - balance);
      assert.equal(await balanceOf(at), balance);
    }
  });

  it('is refunded to the card first, and then to the credit', async () => {
    const at = await buyer(900);
    const { id } = await bought(at);
    const first = await refund(service, id, 4200, { key });
    assert.partialDeepStrictEqual(first.body, { status: 'partially_refunded', credit_refunded: 200 });
    await checkAllOpen(service);
    const rest = await refund(service, id, undefined, { key });
    assert.partialDeepStrictEqual(rest.body, { status: 'refunded', refunded_amount: 4900, credit_refunded: 900 });
    assert.equal(await balanceOf(at), 900);
  });

  it('gives the credit back when it is voided', async () => {
    const at = await buyer(900);
    const { id } = await bought(at);
    assert.equal((await voidOrder(service, id)).status, 'voided');
    assert.equal(await balanceOf(at), 900);
  });
});
