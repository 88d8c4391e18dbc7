import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { cards } from '../../../tests/support/billing.ts';
import { readCoupon, type SomeCoupon, someCoupon, tally } from '../../../tests/support/coupons.ts';
import { checkAllOpen, countOf, openShop, retry, type Shop } from '../../../tests/support/orders.ts';
import { ServiceProcess } from '../../../tests/support/process.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { somePlan } from '../../../tests/support/subscriptions.ts';

/** Many want the last redemptions at once, from two processes: as many get one as there are, no more and no fewer. */

let service: TestService;
let one: ServiceProcess;
let two: ServiceProcess;
let good: Shop[];
let bad: Shop[];
before(async () => {
  service = await startTestService();
  [one, two] = await Promise.all([ServiceProcess.start(service), ServiceProcess.start(service)]);
  good = await Promise.all(Array.from({ length: 10 }, () => openShop(service)));
  bad = await Promise.all(Array.from({ length: 5 }, () => openShop(service, cards.declined)));
});
after(async () => {
  await Promise.all([one.kill(), two.kill()]);
  await service.stop();
});

interface Wish {
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly idempotencyKey: string;
}

function orderOf({ customerId, productId }: Shop, code: string): Wish {
  const items = [{ product_id: productId, quantity: 1 }];
  const body = { customer_id: customerId, items, coupon_code: code };
  return { path: '/v1/orders', body, idempotencyKey: randomUUID() };
}

const among = <Item>(items: readonly Item[], index: number): Item => {
  const item = items[index % items.length];
  assert.ok(item);
  return item;
};

/** Undefined when the outcome is unknown: a lost connection, or a response that asks to retry. */
async function ask(process: ServiceProcess, { path, body, idempotencyKey }: Wish): Promise<Reply | undefined> {
  const reply = await process.call('POST', path, { body, idempotencyKey }).catch(() => undefined);
  return reply && ![409, 502, 503].includes(reply.status) ? reply : undefined;
}

async function insist(process: ServiceProcess, wish: Wish): Promise<Reply> {
  const deadlineMs = Date.now() + 20_000;
  for (;;) {
    const reply = await ask(process, wish);
    if (reply) return reply;
    assert.ok(Date.now() < deadlineMs, `never answered: ${JSON.stringify(wish)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const race = (wishes: readonly Wish[]): Promise<Reply[]> =>
  Promise.all(wishes.map((wish, index) => insist(index % 2 === 0 ? one : two, wish)));

/** Those that got the discount. The others were declined, or refused for the reason. */
function winners(replies: readonly Reply[], reason: string): Reply['body'][] {
  return replies.flatMap(({ status, body, text }) => {
    if (status === 201 && body.status === 'failed') return [];
    if (status === 201) {
      assert.equal(body.discount_amount ?? body.coupon.discount_amount, 490, text);
      return body;
    }
    assert.equal(status, 400, text);
    assert.ok(body.error.message.includes(reason), text);
    return [];
  });
}

/** In the books, too, there are as many as were won, and nothing is held any more. */
async function assertBooks({ id }: SomeCoupon, counted: number): Promise<void> {
  assert.deepEqual(await tally(service, id), [counted, 0]);
  assert.equal((await readCoupon(service, id)).total_redemptions, counted);
  const paid = `coupon->>'id' = $1 AND status = 'succeeded'`;
  assert.equal(await countOf(service, 'orders', paid, [id]), counted);
  const pending = `coupon->>'id' = $1 AND status = 'pending'`;
  assert.equal(await countOf(service, 'orders', pending, [id]), 0);
  const stray = `coupon_id = $1 AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.status = 'succeeded'
    AND coupon_redemptions.id IN (o.id, o.subscription_id))`;
  assert.equal(await countOf(service, 'coupon_redemptions', stray, [id]), 0, 'each is that of a paid order');
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('80 orders for 10 redemptions, over two processes', () => {
  it('exactly 10 succeed with the discount, and the others are rejected because it is used up', async () => {
    const coupon = await someCoupon(service, { max_redemptions: 10 });
    const replies = await race(numbers(80).map((index) => orderOf(among(good, index), coupon.code)));
    assert.equal(winners(replies, 'max_redemptions_reached').length, 10);
    assert.equal(replies.filter(({ status }) => status === 400).length, 70);
    await assertBooks(coupon, 10);
  });

  it('sell exactly 10 although a third of the cards decline: other orders use the released redemptions', async () => {
    const coupon = await someCoupon(service, { max_redemptions: 10, codes: { count: 3 } });
    const replies = await race(
      numbers(80).map((index) =>
        orderOf(among(index % 3 === 0 ? bad : good, index), among<{ code: string }>(coupon.body.codes, index).code),
      ),
    );
    assert.equal(winners(replies, 'max_redemptions_reached').length, 10);
    await assertBooks(coupon, 10);
  });

  it('each sent twice with its key, to both processes, it is exactly 10', async () => {
    const coupon = await someCoupon(service, { max_redemptions: 10 });
    const wishes = numbers(60).map((index) => orderOf(among(good, index), coupon.code));
    const [first, second] = await Promise.all([
      Promise.all(wishes.map((wish) => insist(one, wish))),
      Promise.all(wishes.map((wish) => insist(two, wish))),
    ]);
    first.forEach((reply, index) => assert.equal(reply.text, second[index]?.text));
    assert.equal(winners(first, 'max_redemptions_reached').length, 10);
    await assertBooks(coupon, 10);
  });
});

describe('over two processes', () => {
  it('the limit per customer holds for each customer', async () => {
    const coupon = await someCoupon(service, { max_redemptions_per_customer: 2 });
    const replies = await race(numbers(60).map((index) => orderOf(among(good, index >> 1), coupon.code)));
    const won = winners(replies, 'max_redemptions_per_customer_reached').map((body) => body.customer_id);
    for (const { customerId } of good) assert.equal(won.filter((id) => id === customerId).length, 2);
    await assertBooks(coupon, 20);
  });

  it('the limit per code holds for each code', async () => {
    const coupon = await someCoupon(service, { max_redemptions_per_code: 3, codes: { count: 5 } });
    const codes: string[] = coupon.body.codes.map(({ code }: { code: string }) => code);
    const replies = await race(
      numbers(60).map((index) => orderOf(among(index % 3 === 0 ? bad : good, index), among(codes, index >> 1))),
    );
    const won = winners(replies, 'max_redemptions_per_code_reached').map((body) => body.coupon.code);
    for (const code of codes) assert.equal(won.filter((used) => used === code).length, 3);
    await assertBooks(coupon, 15);
  });

  it('a first-time customer is one once', async () => {
    const coupon = await someCoupon(service, { first_time_customer_only: true });
    const fresh = await Promise.all(numbers(4).map(() => openShop(service)));
    const replies = await race(numbers(40).map((index) => orderOf(among(fresh, index >> 1), coupon.code)));
    const won = winners(replies, 'not_first_time_customer').map((body) => body.customer_id);
    assert.equal(won.length, 4);
    assert.deepEqual(new Set(won), new Set(fresh.map(({ customerId }) => customerId)));
    await assertBooks(coupon, 4);
  });

  it('orders and subscriptions share what there is', async () => {
    const coupon = await someCoupon(service, { max_redemptions: 10 });
    const plan = await somePlan(service, { amount: 4900 });
    const wishes = numbers(80).map((index): Wish => {
      const shop = among(index % 5 === 0 ? bad : good, index);
      if (index % 4 < 2) return orderOf(shop, coupon.code);
      const body = { customer_id: shop.customerId, plan_id: plan.id, coupon_code: coupon.code };
      return { path: '/v1/subscriptions', body, idempotencyKey: randomUUID() };
    });
    assert.equal(winners(await race(wishes), 'max_redemptions_reached').length, 10);
    await assertBooks(coupon, 10);
  });

  it('retries of declined orders share it, too', async () => {
    const coupon = await someCoupon(service, { max_redemptions: 3 });
    const fickle = await Promise.all(numbers(6).map(() => openShop(service, cards.declinesFirst)));
    const failed = await Promise.all(fickle.map((shop) => insist(one, orderOf(shop, coupon.code))));
    assert.ok(failed.every(({ body }) => body.status === 'failed'));
    assert.deepEqual(await tally(service, coupon.id), [0, 0]);
    const replies = await Promise.all(
      failed.map(({ body }, index) => (index % 2 ? one : two).call('POST', `/v1/orders/${body.id}/retry`)),
    );
    assert.equal(replies.filter(({ status, body }) => status === 200 && body.status === 'succeeded').length, 3);
    for (const { status, text } of replies) assert.ok(status === 200 || /max_redemptions_reached/.test(text), text);
    await assertBooks(coupon, 3);
    const left = failed.find(({ body }, index) => replies[index]?.status === 400 && body.id);
    assert.match((await retry(service, left?.body.id)).text, /max_redemptions_reached/);
  });
});

describe('one of two processes dies in the middle', () => {
  const held = ({ id }: SomeCoupon): Promise<number> =>
    countOf(service, 'coupon_redemptions', 'coupon_id = $1 AND NOT counted', [id]);

  for (const [table, kind] of [
    ['vault.cards', 'before its cards are charged'],
    ['vault.sandbox_operations', 'while its cards are charged'],
    [undefined, 'somewhere'],
  ] as const) {
    it(`${kind}, and its keys are repeated at the other: exactly 10 count, nothing stays reserved`, async () => {
      const victim = await ServiceProcess.start(service);
      const coupon = await someCoupon(service, { max_redemptions: 10 });
      const wishes = numbers(80).map((index) => orderOf(among(index % 3 === 0 ? bad : good, index), coupon.code));
      const isTheirs = (index: number): boolean => index % 2 === 0;
      // No charge comes past this while it holds: what is reserved stays so.
      const gate = Promise.withResolvers<void>();
      const closed = Promise.withResolvers<void>();
      const gated = service.db.transaction(async (transaction) => {
        if (table) await transaction.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
        closed.resolve();
        await gate.promise;
      });
      await closed.promise;
      const theirs = wishes.map(async (wish, index) => (isTheirs(index) ? ask(victim, wish) : undefined));
      const deadlineMs = Date.now() + 10_000;
      while ((await held(coupon)) < (table ? 4 : 1)) assert.ok(Date.now() < deadlineMs, 'it begins');
      const ours = wishes.map(async (wish, index) => (isTheirs(index) ? undefined : ask(one, wish)));
      await victim.kill();
      const dead = await Promise.all(theirs);
      if (table) assert.ok((await held(coupon)) >= 4, 'the dead one holds some');
      gate.resolve();
      await gated;
      const alive = await Promise.all(ours);
      assert.ok(
        dead.some((reply, index) => isTheirs(index) && !reply),
        'some were not answered',
      );
      // The running process has answered all its requests; only the killed one left something open.
      if (table) assert.ok((await held(coupon)) >= 4, 'no other process took them');
      await checkAllOpen(service);
      assert.equal(await held(coupon), 0, 'recovery decides about each');
      const replies = await Promise.all(
        wishes.map(async (wish, index) => dead[index] ?? alive[index] ?? insist(one, wish)),
      );
      assert.equal(winners(replies, 'max_redemptions_reached').length, 10);
      await assertBooks(coupon, 10);
      const again = await Promise.all(wishes.map((wish) => insist(two, wish)));
      again.forEach((reply, index) => assert.equal(reply.text, replies[index]?.text));
      await assertBooks(coupon, 10);
    });
  }
});
