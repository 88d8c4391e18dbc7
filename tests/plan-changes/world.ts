import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { RequestContext } from '../../server/request-context.ts';
import { pauseSubscription, resumeSubscription } from '../../server/features/subscriptions/service.ts';
import { addCard, cards, clockOf, dayMs, moveTo } from '../support/billing.ts';
import { creditOf, grant } from '../support/credit.ts';
import { contextOf, refund, retry } from '../support/orders.ts';
import { type Random, seededRandom } from '../support/seeded-random.ts';
import type { Reply, TestService } from '../support/service.ts';
import { someSubscriber } from '../support/subscriptions.ts';
import { type ModelOrder, type ModelPlan, ModelSubscription } from './model.ts';
import { leftOnCard } from './model-credit.ts';
import { openShop, type Shop } from './shop.ts';
import { linesOf, modelOrder, refused, shownOrder } from './shown.ts';

/**
 * A merchant whose subscriptions live random lives beside their models. They share a clock: between two advances, each of them
 * does a few things, and then all amounts and dates are compared.
 */

interface Life {
  readonly id: string;
  readonly customer_id: string;
  readonly good: string;
  readonly model: ModelSubscription;
  readonly random: Random;
  readonly past: string[];
}

export class World {
  readonly #service: TestService;
  readonly #random: Random;
  readonly #shop: Shop;
  readonly #lives: Life[] = [];
  #nowMs: number;
  /** How often each kind of thing happened. */
  readonly counts = new Map<string, number>();

  private constructor(service: TestService, random: Random, shop: Shop, nowMs: number) {
    [this.#service, this.#random, this.#shop, this.#nowMs] = [service, random, shop, nowMs];
  }

  static async open(service: TestService, random: Random, lives: number): Promise<World> {
    const shop = await openShop(service, random);
    const start = await clockOf(service, shop.key);
    // Some worlds begin shortly before the end of a month or a leap day.
    const begin = random.chance(0.5) ? Date.parse(start) + random.between(0, 1500) * dayMs : Date.parse(start);
    if (begin > Date.parse(start)) await moveTo(service, shop.key, new Date(begin).toISOString());
    const world = new World(service, random, shop, begin);
    const randoms = Array.from({ length: lives }, () => seededRandom(random.between(0, 2 ** 31)));
    await Promise.all(randoms.map((one) => world.#begin(one)));
    return world;
  }

  get lives(): number {
    return this.#lives.length;
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      const before = this.#lives.map(({ model, past }) => [model.orders.length, model.cycle, past.length].join());
      await Promise.all(this.#lives.map((life) => this.#act(life)));
      const days = this.#random.chance(0.2) ? this.#random.between(20, 120) : this.#random.between(0, 20);
      const to =
        Date.parse(await clockOf(this.#service, this.#shop.key)) +
        days * dayMs +
        this.#random.between(60, 86_000) * 1000;
      await moveTo(this.#service, this.#shop.key, new Date(to).toISOString());
      this.#nowMs = to;
      for (const { model } of this.#lives) for (const order of model.pass(to)) this.#countCredit(order);
      // A life in which nothing happened is compared at the end.
      const moved = this.#lives.filter(({ model, past }, index) => {
        const now = [model.orders.length, model.cycle, past.length].join();
        return step === steps - 1 || now !== before[index];
      });
      await Promise.all(moved.map((life) => this.#compare(life)));
    }
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  #call(method: string, path: string, body?: unknown): Promise<Reply> {
    return this.#service.call(method, path, { key: this.#shop.key, ...(body !== undefined && { body }) });
  }

  async #context(): Promise<RequestContext> {
    const nowMs = Date.parse(await clockOf(this.#service, this.#shop.key));
    return { ...contextOf(this.#service, this.#shop.sandbox), nowMs };
  }

  async #begin(random: Random): Promise<void> {
    const { key } = this.#shop;
    const customer_id = await someSubscriber(this.#service, cards.good, { key });
    const plan = random.pick(this.#shop.plans);
    const coupon = random.chance(0.4) ? random.pick(this.#shop.coupons) : null;
    const fits = coupon && (!coupon.plans || coupon.plans.includes(plan.id)) ? coupon : null;
    const quantity = random.chance(0.3) ? random.between(2, 6) : 1;
    const billing_cycles = random.chance(0.2) ? random.between(1, 6) : 0;
    const reply = await this.#call('POST', '/v1/subscriptions', {
      ...{ customer_id, plan_id: plan.id, quantity, billing_cycles },
      ...(fits && { coupon_code: fits.code }),
    });
    assert.equal(reply.status, 201, reply.text);
    const { id, current_period_start, payment_method } = reply.body;
    const model = new ModelSubscription(plan, quantity, fits, Date.parse(current_period_start), billing_cycles);
    this.#lives.push({ id, customer_id, good: payment_method.id, model, random, past: [] });
  }

  async #act(life: Life): Promise<void> {
    for (let left = life.random.between(0, 3); left > 0; left -= 1) {
      const { status } = life.model;
      if (status === 'canceled' || status === 'completed') return;
      const what = life.random.pick(acts);
      life.past.push(what);
      await this[what](life);
    }
  }

  #target({ random }: Life): { readonly plan: ModelPlan; readonly seats: number } {
    return {
      plan: random.pick(this.#shop.plans),
      seats: random.chance(0.6) ? 1 : random.between(2, 6),
    };
  }

  async changeNow(life: Life): Promise<void> {
    const { model } = life;
    const { plan, seats } = this.#target(life);
    const turns = model.turnsFor(plan);
    const proration = life.random.pick(turns ? (['restart', 'restart', 'difference'] as const) : prorations);
    const wanted = { plan_id: plan.id, quantity: seats, when: 'now', proration };
    const path = `/v1/subscriptions/${life.id}/change_plan`;
    const shown = await this.#call('POST', `${path}/preview`, wanted);
    if (plan.id === model.plan.id && seats === model.seats) return refused(shown, 'plan_id');
    const isFree = model.status === 'paused' || proration === 'none';
    if (turns && proration !== 'restart' && model.status !== 'paused') return refused(shown, 'proration');
    if (proration === 'restart' && !isFree && !model.renews) return refused(shown, 'proration');
    assert.equal(shown.status, 200, shown.text);
    if (isFree) {
      const reply = await this.#call('POST', path, wanted);
      assert.deepEqual([reply.status, reply.body.status, reply.body.amount_due], [201, 'applied', 0], reply.text);
      this.#count(`without charge, ${model.status}`);
      return model.changeWithoutCharge(plan, seats, this.#nowMs);
    }
    await this.#changePaid(life, { plan, seats, restarts: proration === 'restart' }, shown.body, path, wanted);
  }

  async #changePaid(
    life: Life,
    { plan, seats, restarts }: { readonly plan: ModelPlan; readonly seats: number; readonly restarts: boolean },
    shown: Reply['body'],
    path: string,
    wanted: object,
  ): Promise<void> {
    const { model } = life;
    const at = Date.parse(shown.at);
    const lines = model.lines(plan, seats, restarts ? 'restart' : 'difference', at);
    assert.ok(lines);
    assert.deepEqual(linesOf(shown), lines, JSON.stringify({ shown, past: life.past }));
    const due = lines.charge - lines.discount - lines.credit;
    const byCredit = Math.min(model.credit.balance, Math.max(0, due));
    assert.deepEqual([shown.credit_applied, shown.amount_due], [byCredit, Math.max(0, due) - byCredit]);
    const declines = shown.amount_due > 0 && life.random.chance(0.25);
    if (declines) await this.#useCard(life, await addCard(this.#service, this.#buyer(life), cards.declinesFirst));
    const reply = await this.#call('POST', path, { ...wanted, at: shown.at, expected_amount: shown.amount_due });
    assert.equal(reply.status, 201, reply.text);
    assert.deepEqual(linesOf(reply.body), lines);
    if (declines) {
      assert.equal(reply.body.status, 'declined', reply.text);
      model.decline(plan, seats, lines, restarts, at);
      await this.#useCard(life, life.good);
      return this.#count('declined');
    }
    assert.equal(reply.body.status, 'applied', reply.text);
    const order = model.changeNow(plan, seats, lines, restarts, at);
    if (order) assert.equal(reply.body.order.total, order.total);
    if (due < 0) this.#count('worth more');
    if (order) this.#countCredit(order);
    this.#count(restarts ? 'restart' : 'difference');
  }

  #countCredit({ credit, total }: ModelOrder): void {
    if (credit > 0) this.#count(credit === total ? 'paid by credit' : 'paid in part by credit');
  }

  async grantSome(life: Life): Promise<void> {
    const { model, random, customer_id } = life;
    const price = Math.max(1, model.plan.amount * model.seats);
    const amount = random.between(1, random.chance(0.5) ? price : price * 4);
    await grant(this.#service, { key: this.#shop.key, customer_id }, amount);
    model.credit.add('grant', amount);
    this.#count('grant');
  }

  async takeBackSome({ model, random, customer_id }: Life): Promise<void> {
    const amount = random.between(1, Math.ceil(model.credit.balance * 1.2) + 1);
    const body = { type: 'take_back', amount, currency: 'usd', reason: 'Granted too much' };
    const of = { key: this.#shop.key, idempotencyKey: randomUUID(), body };
    const reply = await this.#service.call('POST', `/v1/customers/${customer_id}/credit`, of);
    if (amount > model.credit.balance) return refused(reply, 'amount');
    assert.equal(reply.status, 201, reply.text);
    model.credit.add('take_back', -amount);
    this.#count('take back');
  }

  #buyer({ customer_id }: Life): Parameters<typeof addCard>[1] {
    return { key: this.#shop.key, customer_id, company: this.#shop.sandbox, plan_id: '' };
  }

  async #useCard(life: Life, payment_method_id: string): Promise<void> {
    const reply = await this.#call('PATCH', `/v1/subscriptions/${life.id}`, { payment_method_id });
    assert.equal(reply.status, 200, reply.text);
  }

  async retryDeclined(life: Life): Promise<void> {
    const { declined } = life.model;
    if (!declined) return;
    await this.#identify(life);
    const isMade = life.model.retry(Date.parse(await clockOf(this.#service, this.#shop.key)));
    const reply = await retry(this.#service, declined.order.id, { key: this.#shop.key });
    assert.deepEqual([reply.status, reply.body.status], isMade ? [200, 'succeeded'] : [400, undefined], reply.text);
    this.#count(isMade ? 'retried' : 'superseded');
  }

  async scheduleChange(life: Life): Promise<void> {
    const { plan, seats } = this.#target(life);
    const { model } = life;
    const reply = await this.#call('POST', `/v1/subscriptions/${life.id}/change_plan`, {
      ...{ plan_id: plan.id, quantity: seats, when: 'renewal' },
    });
    if (plan.id === model.plan.id && seats === model.seats) return refused(reply, 'plan_id');
    if (model.status === 'active' && !model.renews) return refused(reply, 'when');
    assert.deepEqual([reply.status, reply.body.status], [201, 'scheduled'], reply.text);
    model.schedule(plan, seats);
    this.#count('scheduled');
  }

  async undo(life: Life): Promise<void> {
    const reply = await this.#call('POST', `/v1/subscriptions/${life.id}/change_plan/undo`, {});
    assert.equal(reply.status, life.model.scheduled ? 200 : 400, reply.text);
    life.model.scheduled = null;
  }

  async addItem(life: Life): Promise<void> {
    const { id: product_id, amount } = life.random.pick(this.#shop.products);
    const quantity = life.random.between(1, 3);
    const reply = await this.#call('POST', `/v1/subscriptions/${life.id}/renewal_items`, { product_id, quantity });
    if (!life.model.renews) {
      assert.equal(reply.status, 400, reply.text);
      return;
    }
    assert.equal(reply.status, 201, reply.text);
    life.model.added.push({ id: reply.body.renewal_items.at(-1).id, total: amount * quantity });
    this.#count('item');
  }

  async removeItem(life: Life): Promise<void> {
    const item = life.model.added.pop();
    if (!item) return;
    const reply = await this.#call('DELETE', `/v1/subscriptions/${life.id}/renewal_items/${item.id}`);
    assert.equal(reply.status, 200, reply.text);
  }

  async buy(life: Life): Promise<void> {
    const { model, random, customer_id } = life;
    const { id: product_id, amount } = random.pick(this.#shop.products);
    const quantity = random.between(1, 3);
    const total = amount * quantity;
    const usesCredit = random.chance(0.7);
    const declines = random.chance(0.2) && !(usesCredit && model.credit.balance >= total);
    const card = declines ? await addCard(this.#service, this.#buyer(life), cards.declinesFirst) : life.good;
    const body = {
      ...{ customer_id, payment_method_id: card, items: [{ product_id, quantity }] },
      ...(usesCredit && { use_credit: true }),
    };
    const of = { key: this.#shop.key, idempotencyKey: randomUUID(), body };
    const reply = await this.#service.call('POST', '/v1/orders', of);
    assert.deepEqual([reply.status, reply.body.status], [201, declines ? 'failed' : 'succeeded'], reply.text);
    this.#countCredit(model.buy(total, { usesCredit, declines }));
    this.#count(declines ? 'order declined' : 'order');
  }

  async refundSome(life: Life): Promise<void> {
    await this.#identify(life);
    const order = life.random.pick(life.model.orders);
    if (order.state !== 'paid' || order.refunded >= order.total) return;
    const amount = life.random.chance(0.3)
      ? order.total - order.refunded
      : life.random.between(1, order.total - order.refunded);
    const reply = await refund(this.#service, order.id, amount, { key: this.#shop.key });
    assert.equal(reply.status, 200, reply.text);
    if (life.model.credit.refund(order, amount) > 0) this.#count('refund to credit');
    this.#count('refund');
  }

  async dispute(life: Life): Promise<void> {
    await this.#identify(life);
    const order = life.random.pick(life.model.orders);
    const path = `/v1/sandbox/orders/${order.id}/chargeback`;
    if (order.state === 'disputed') {
      const outcome = life.random.pick(['accepted', 'dismissed'] as const);
      const reply = await this.#call('POST', `${path}/resolve`, { outcome });
      assert.equal(reply.status, 200, reply.text);
      order.state = outcome === 'accepted' ? 'lost' : 'won';
      return this.#count(`dispute ${outcome}`);
    }
    if (order.state !== 'paid' || order.refunded >= order.total || life.random.chance(0.6)) return;
    const reply = await this.#call('POST', path);
    // Credit cannot be disputed.
    if (leftOnCard(order) === 0) return refused(reply, 'id', 422);
    assert.equal(reply.status, 200, reply.text);
    order.state = 'disputed';
    this.#count('dispute');
  }

  async pauseOrResume(life: Life): Promise<void> {
    const context = await this.#context();
    if (life.model.status === 'paused') {
      await resumeSubscription(context, life.id);
      life.model.resume(context.nowMs);
      return this.#count('resume');
    }
    if (life.random.chance(0.5)) return;
    await pauseSubscription(context, life.id);
    life.model.pause();
  }

  async cancel(life: Life): Promise<void> {
    if (life.random.chance(0.8)) return;
    await this.#call('DELETE', `/v1/subscriptions/${life.id}`);
    life.model.cancel();
    this.#count('cancel');
    if (life.random.chance(0.5)) return;
    const reply = await this.#call('DELETE', `/v1/customers/${life.customer_id}`);
    assert.equal(reply.status, 200, reply.text);
    life.model.credit.end();
    this.#count('customer deleted');
  }

  /** The orders of the service have the same order as those of the model. */
  async #identify(life: Life): Promise<Reply['body'][]> {
    const path = `/v1/orders?customer_id=${life.customer_id}&sort=created_at&limit=100`;
    const { data } = (await this.#call('GET', path)).body;
    for (const [index, order] of life.model.orders.entries()) {
      order.id = data[index]?.id ?? '';
      // A dispute that is not answered in time is lost.
      if (order.state === 'disputed' && data[index]?.status === 'chargeback_accepted') order.state = 'lost';
    }
    return data;
  }

  async #compare(life: Life): Promise<void> {
    const { model } = life;
    const data = await this.#identify(life);
    const story = JSON.stringify(life.past);
    assert.deepEqual(data.slice(0, 100).map(shownOrder), model.orders.slice(0, 100).map(modelOrder), story);
    const { balance, entries } = await creditOf(this.#service, { key: this.#shop.key, customer_id: life.customer_id });
    assert.deepEqual(
      [balance, entries],
      [model.credit.balance, model.credit.entries.toReversed().slice(0, 100)],
      story,
    );
    const { body } = await this.#call('GET', `/v1/subscriptions/${life.id}`);
    const actual = {
      status: body.status,
      plan: body.plan_id,
      seats: body.quantity,
      cycle: body.current_cycle,
      paid: body.completed_cycles,
      coupon: body.coupon !== null,
    };
    const { status, plan, seats, cycle, coupon } = model;
    assert.deepEqual(actual, { status, plan: plan.id, seats, cycle, paid: cycle, coupon: coupon !== null }, story);
    if (status !== 'active') return;
    assert.deepEqual(
      [Date.parse(body.current_period_start), Date.parse(body.current_period_end)],
      [model.start, model.end],
      story,
    );
  }
}

const prorations = ['difference', 'difference', 'restart', 'none'] as const;
const acts = [
  ...(['changeNow', 'changeNow', 'changeNow', 'scheduleChange', 'undo', 'retryDeclined', 'retryDeclined'] as const),
  ...(['addItem', 'removeItem', 'refundSome', 'refundSome', 'dispute', 'pauseOrResume', 'cancel'] as const),
  ...(['grantSome', 'grantSome', 'takeBackSome', 'buy'] as const),
] as const;
