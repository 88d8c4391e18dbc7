import { ModelCredit } from './model-credit.ts';
import { slowDates } from '../support/wall-calendar.ts';

/**
 * A second implementation of docs/plan-changes.md, written from that guide. It shares no code with the service except the wall
 * calendar, which tests of the schedule compare with the dates of the service.
 */

export interface ModelPlan {
  readonly id: string;
  readonly amount: number;
  readonly setupFee: number;
  readonly interval: 'day' | 'month';
  readonly count: number;
  readonly anchor: number | 'signup_date';
}

export interface ModelCoupon {
  readonly percent: number | null;
  readonly amount: number | null;
  /** How many cycles it covers. */
  readonly cycles: number;
  /** Undefined for all. */
  readonly plans: readonly string[] | undefined;
}

export interface ModelOrder {
  id: string;
  readonly subtotal: number;
  readonly discount: number;
  readonly total: number;
  readonly cycle: number | null;
  refunded: number;
  /** What credit paid of it, and what of that came back. */
  credit: number;
  creditRefunded: number;
  state: 'paid' | 'declined' | 'disputed' | 'lost' | 'won';
}

interface Target {
  readonly plan: ModelPlan;
  readonly seats: number;
  /** At the price of the time when it was chosen, which never changes for a plan. */
  readonly turns: boolean;
}

export interface Lines {
  readonly charge: number;
  readonly discount: number;
  readonly credit: number;
}

type Proration = 'difference' | 'restart' | 'none';

const big = (value: number): bigint => BigInt(value);

/** The nearest whole number; of two equally near, the even one. */
function nearest(top: bigint, bottom: bigint): number {
  const down = top / bottom;
  const rest = top - down * bottom;
  if (rest * 2n === bottom) return Number(down + (down % 2n));
  return Number(rest * 2n < bottom ? down : down + 1n);
}

const seconds = (ms: number): number => Math.floor(ms / 1000);

export class ModelSubscription {
  plan: ModelPlan;
  seats: number;
  coupon: ModelCoupon | null;
  status: 'active' | 'paused' | 'canceled' | 'completed' = 'active';
  cycle = 1;
  /** The time from which dates are counted, the shape of the dates, and the place of the next one. */
  #base: number;
  #shape: ModelPlan;
  #next = 1;
  start: number;
  end: number;
  scheduled: Target | null = null;
  added: { id: string; total: number }[] = [];
  readonly credit = new ModelCredit();
  readonly orders: ModelOrder[] = [];
  /** The orders that paid for the time since `#from`, with what was refunded of them then. */
  #paid: { of: number; setupFee: number; total: number };
  #from: number;
  #payers: { order: ModelOrder; refunded: number }[];
  declined: { order: ModelOrder; target: Target; lines: Lines; restarts: boolean; at: number } | null = null;
  readonly #cycles: number;
  #dates: number[] = [];
  #datesOf = '';

  constructor(plan: ModelPlan, seats: number, coupon: ModelCoupon | null, startMs: number, cycles: number) {
    [this.plan, this.seats, this.coupon] = [plan, seats, coupon];
    [this.#base, this.#shape, this.start, this.#from] = [startMs, plan, startMs, startMs];
    this.#cycles = cycles;
    this.end = this.#date(1);
    this.#next = 2;
    const price = plan.amount * seats + plan.setupFee;
    const order = this.#order(price, this.#discountOf(price, 1), 1);
    this.#paid = { of: price, setupFee: plan.setupFee, total: order.total };
    this.#payers = [{ order, refunded: 0 }];
  }

  #date(place: number): number {
    const { interval, count: interval_count, anchor: anchor_day } = this.#shape;
    const key = `${this.#base} ${interval} ${interval_count} ${anchor_day}`;
    if (key !== this.#datesOf || this.#dates.length <= place) {
      this.#dates = slowDates(this.#base, { interval, interval_count, anchor_day }, place + 12);
      this.#datesOf = key;
    }
    return this.#dates[place] ?? Number.NaN;
  }

  #order(subtotal: number, discount: number, cycle: number | null): ModelOrder {
    const total = subtotal - discount;
    const none = { refunded: 0, credit: 0, creditRefunded: 0 };
    const order: ModelOrder = { id: '', subtotal, discount, total, cycle, ...none, state: 'paid' };
    this.orders.push(order);
    return order;
  }

  #discountOf(price: number, cycle: number): number {
    const { coupon } = this;
    if (!coupon || cycle > coupon.cycles) return 0;
    if (coupon.percent === null) return Math.min(coupon.amount ?? 0, price);
    return Number((big(price) * big(coupon.percent)) / 100n);
  }

  /** The next cycle may begin. */
  get renews(): boolean {
    return this.#cycles === 0 || this.cycle < this.#cycles;
  }

  turnsFor(plan: ModelPlan): boolean {
    return plan.interval !== this.plan.interval || plan.count !== this.plan.count;
  }

  /** What was paid for the time since then, and was not returned. */
  #net(): number {
    if (this.#payers.some(({ order }) => order.state === 'disputed' || order.state === 'lost')) return 0;
    const returned = this.#payers.reduce((sum, { order, refunded }) => sum + Math.max(0, order.refunded - refunded), 0);
    return Math.max(0, this.#paid.total - returned);
  }

  #credit(atMs: number): number {
    const { of, setupFee } = this.#paid;
    const since = seconds(this.#from - this.start);
    const length = seconds(this.end - this.start);
    if (of === 0) return 0;
    const left = length - seconds(atMs - this.start);
    return nearest(big(this.#net()) * big(of - setupFee) * big(left), big(of) * big(length - since));
  }

  lines(plan: ModelPlan, seats: number, proration: Proration, atMs: number): Lines | undefined {
    if (this.status === 'paused' || proration === 'none') return undefined;
    const amount = plan.amount * seats;
    const kept = this.coupon;
    if (!this.#fits(plan)) this.coupon = null;
    const restarts = proration === 'restart';
    const whole = this.#discountOf(amount, restarts ? this.cycle + 1 : this.cycle);
    this.coupon = kept;
    const length = seconds(this.end - this.start);
    const left = length - seconds(atMs - this.start);
    const share = (value: number): number => (restarts ? value : nearest(big(value) * big(left), big(length)));
    return { charge: share(amount), discount: share(whole), credit: this.#credit(atMs) };
  }

  #fits(plan: ModelPlan): boolean {
    return plan.id === this.plan.id || this.coupon?.plans === undefined || this.coupon.plans.includes(plan.id);
  }

  #become({ plan, seats, turns }: Target): void {
    if (!this.#fits(plan)) this.coupon = null;
    if (turns) this.#shape = plan;
    [this.plan, this.seats] = [plan, seats];
    [this.scheduled, this.declined] = [null, null];
  }

  changeWithoutCharge(plan: ModelPlan, seats: number, nowMs: number): void {
    const turns = this.turnsFor(plan);
    this.#become({ plan, seats, turns });
    if (!turns) return;
    this.#base = this.start;
    this.#next = 1;
    while (this.#date(this.#next) <= nowMs) this.#next += 1;
    this.end = this.#date(this.#next);
    this.#next += 1;
  }

  /** With or without an order: undefined if nothing is due. */
  changeNow(plan: ModelPlan, seats: number, lines: Lines, restarts: boolean, atMs: number): ModelOrder | undefined {
    const due = lines.charge - lines.discount - lines.credit;
    const order = due > 0 ? this.#order(lines.charge - lines.credit, lines.discount, null) : undefined;
    if (order) order.credit = this.credit.use(due);
    else this.credit.add('plan_change', -due);
    this.#apply({ plan, seats, turns: this.turnsFor(plan) }, lines, restarts, atMs, order);
    return order;
  }

  #apply(target: Target, lines: Lines, restarts: boolean, atMs: number, order: ModelOrder | undefined): void {
    this.#become(target);
    this.#payers = this.#payers.map((payer) => ({ ...payer, refunded: payer.order.refunded }));
    if (order) this.#payers.push({ order, refunded: 0 });
    const total = lines.charge - lines.discount;
    this.#paid = { of: total, setupFee: 0, total };
    this.#from = atMs;
    if (!restarts) return;
    this.cycle += 1;
    [this.#base, this.start] = [atMs, atMs];
    this.end = this.#date(1);
    this.#next = 2;
  }

  /** An order of products, which pays for no time. */
  buy(
    total: number,
    { usesCredit, declines }: { readonly usesCredit: boolean; readonly declines: boolean },
  ): ModelOrder {
    const order = this.#order(total, 0, null);
    if (declines) order.state = 'declined';
    if (!usesCredit) return order;
    if (declines) this.credit.useInVain(total);
    else order.credit = this.credit.use(total);
    return order;
  }

  decline(plan: ModelPlan, seats: number, lines: Lines, restarts: boolean, at: number): void {
    const order = this.#order(lines.charge - lines.credit, lines.discount, null);
    order.state = 'declined';
    this.credit.useInVain(order.total);
    this.declined = { order, target: { plan, seats, turns: this.turnsFor(plan) }, lines, restarts, at };
  }

  /** Returns whether the retry completes the change. */
  retry(nowMs: number): boolean {
    const { declined } = this;
    if (!declined || this.status !== 'active' || nowMs >= this.end) return false;
    if (this.#credit(declined.at) < declined.lines.credit) return false;
    declined.order.state = 'paid';
    this.#apply(declined.target, declined.lines, declined.restarts, declined.at, declined.order);
    return true;
  }

  schedule(plan: ModelPlan, seats: number): void {
    this.scheduled = { plan, seats, turns: this.turnsFor(plan) };
    this.declined = null;
  }

  pause(): void {
    this.status = 'paused';
    this.declined = null;
  }

  resume(nowMs: number): void {
    this.status = 'active';
    if (this.end > nowMs) return;
    let last = this.end;
    while (this.#date(this.#next) <= nowMs) {
      last = this.#date(this.#next);
      this.#next += 1;
    }
    [this.start, this.end] = [last, this.#date(this.#next)];
    this.#next += 1;
    this.#paid = { of: 1, setupFee: 0, total: 0 };
    [this.#payers, this.#from] = [[], this.start];
  }

  cancel(): void {
    this.status = 'canceled';
    this.declined = null;
  }

  /** Charges what falls due until then. Returns the orders. */
  pass(untilMs: number): readonly ModelOrder[] {
    const before = this.orders.length;
    while (this.status === 'active' && this.end <= untilMs) {
      if (!this.renews) {
        this.status = 'completed';
        break;
      }
      const turns = this.scheduled?.turns ?? false;
      const at = this.end;
      if (this.scheduled) this.#become(this.scheduled);
      this.declined = null;
      this.cycle += 1;
      if (turns) [this.#base, this.#next] = [at, 1];
      this.start = at;
      this.end = this.#date(this.#next);
      this.#next += 1;
      const price = this.plan.amount * this.seats;
      const discount = this.#discountOf(price, this.cycle);
      const extra = this.added.reduce((sum, { total }) => sum + total, 0);
      this.added = [];
      const order = this.#order(price + extra, discount, this.cycle);
      order.credit = this.credit.use(order.total);
      this.#paid = { of: price, setupFee: 0, total: price - discount };
      [this.#payers, this.#from] = [[{ order, refunded: 0 }], at];
    }
    return this.orders.slice(before);
  }
}
