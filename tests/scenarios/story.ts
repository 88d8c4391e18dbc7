import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { pauseSubscription, resumeSubscription } from '../../server/features/subscriptions/service.ts';
import type { PlanCreate } from '../../server/features/plans/schemas.ts';
import { contextOf, retry } from '../support/orders.ts';
import { type Reply, startTestService, type TestService } from '../support/service.ts';
import { advance, readSubscription, somePlan, someSubscriber, subscribe } from '../support/subscriptions.ts';

/**
 * Shows what a merchant sees of one subscription: it runs over the real API by the sandbox clock, prints what
 * happened as a timeline, and compares the whole timeline.
 */

export interface Beginning {
  /** The initial time of the merchant's clock. */
  readonly from: string;
  readonly plan?: Partial<PlanCreate>;
  /** The number of the customer's first card. */
  readonly card?: string;
}

type Json = Reply['body'];

export interface Merchant {
  /** Makes any other API call and returns its response. */
  call(method: string, path: string, body?: unknown): Promise<Reply>;
  /** Subscribes the customer to the plan. */
  subscribe(more?: Record<string, unknown>): Promise<Json>;
  /** Advances the clock, and runs everything that is due on the way. */
  waitUntil(to: string): Promise<void>;
  /** Adds another card of the customer for all later payments. */
  newCard(number: string): Promise<void>;
  change(body: Record<string, unknown>): Promise<Json>;
  cancel(): Promise<void>;
  retryLatestOrder(): Promise<Reply>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Advances the time without requests. */
  goDownUntil(to: string): Promise<void>;
  /** Runs the workers; returns the size of each batch. */
  work(): Promise<number[]>;
  subscription(): Promise<Json>;
  /** Adds a line that no event reports. */
  note(text: string): Promise<void>;
}

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

export function story(
  title: string,
  begin: Beginning,
  play: (merchant: Merchant) => Promise<void>,
  timeline: readonly string[],
): void {
  it(title, async () => {
    const { merchant, lines, check } = await open(begin);
    await play(merchant);
    const happened = await lines();
    process.stdout.write(`\n${title}\n${happened.map((line) => `  ${line}`).join('\n')}\n\n`);
    assert.deepEqual(happened, timeline);
    await check();
  });
}

const day = (moment: string): string => moment.slice(0, 10);
const money = (cents: number, currency: string): string => `${(cents / 100).toFixed(2)} ${currency}`;

interface Opened {
  readonly merchant: Merchant;
  lines(): Promise<string[]>;
  /** Checks that no cycle was paid twice, and that the books match the timeline. */
  check(): Promise<void>;
}

async function open({ from, plan = {}, card }: Beginning): Promise<Opened> {
  const { sandbox: company, key } = await service.createMerchant();
  const call = async (method: string, path: string, body?: unknown): Promise<Json> => {
    const reply = await service.call(method, path, { key, ...(body !== undefined && { body }) });
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${reply.text}`);
    return reply.body;
  };
  const waitUntil = async (to: string): Promise<void> => {
    const reply = await advance(service, { to }, { key });
    assert.equal(reply.status, 200, reply.text);
  };
  const now = async (): Promise<string> => (await call('GET', '/v1/sandbox/clock')).now;
  await waitUntil(from);
  const customerId = await someSubscriber(service, card, { key });
  const { id: planId } = await somePlan(service, plan, company);

  let id = '';
  const timeline = newTimeline();
  const drain = async (): Promise<void> => {
    for (;;) {
      const position = timeline.lastEvent() ? `&starting_after=${timeline.lastEvent()}` : '';
      const page = await call('GET', `/v1/events?limit=100&sort=created_at${position}`);
      for (const event of page.data) timeline.add(event);
      if (page.cursors.next === null) return;
    }
  };
  const operate = async (how: typeof pauseSubscription): Promise<void> => {
    await how({ ...contextOf(service, company), nowMs: Date.parse(await now()) }, id);
  };
  const work = async (): Promise<number[]> => {
    for (const batches: number[] = []; ; ) {
      const found = await service.subscriptions.billDue(100);
      batches.push(found);
      if (found === 0) return batches;
    }
  };
  const subscription = (): Promise<Json> => readSubscription(service, id, { key });

  const merchant: Merchant = {
    work,
    waitUntil,
    subscription,
    call: (method, path, body) => service.call(method, path, { key, ...(body !== undefined && { body }) }),
    async subscribe(more = {}) {
      const reply = await subscribe(service, { customer_id: customerId, plan_id: planId, ...more }, { key });
      assert.equal(reply.status, 201, reply.text);
      id = reply.body.id;
      return reply.body;
    },
    async newCard(number) {
      await merchant.note(`customer gives card ${number.slice(-4)}`);
      const fields = { number, exp_month: '12', exp_year: '2040', cvc: '999' };
      await call('POST', '/capture', { customer_id: customerId, card: fields, update_subscriptions: true });
      await work();
    },
    change: (body) => call('PATCH', `/v1/subscriptions/${id}`, body),
    async cancel() {
      await call('DELETE', `/v1/subscriptions/${id}`);
    },
    async retryLatestOrder() {
      const { latest_order_id } = await subscription();
      await merchant.note('the latest order is retried by hand');
      return retry(service, latest_order_id, { key });
    },
    pause: () => operate(pauseSubscription),
    resume: () => operate(resumeSubscription),
    async goDownUntil(to) {
      const passedMs = Date.parse(to) - Date.parse(await now());
      await service.db.query('UPDATE companies SET clock_offset_ms = clock_offset_ms + $2 WHERE id = $1', [
        company.id,
        passedMs,
      ]);
    },
    async note(text) {
      await drain();
      timeline.addText(`${day(await now())}  ${text}`);
    },
  };
  return {
    merchant,
    async lines() {
      await drain();
      return timeline.lines();
    },
    async check() {
      const orders = await call('GET', `/v1/orders?limit=100&customer_id=${customerId}`);
      const paid = orders.data.filter(({ status }: Json) => status === 'succeeded');
      const cycles = paid
        .map(({ subscription_cycle }: Json) => subscription_cycle)
        .toSorted((a: number, b: number) => a - b);
      assert.deepEqual(
        cycles,
        cycles.map((_: number, index: number) => index + 1),
        'each cycle was paid once, none was left out',
      );
      const charged = timeline.lines().filter((line) => line.includes(' charged '));
      assert.equal(charged.length, paid.length);
      const shown = await subscription();
      assert.equal(shown.completed_cycles, paid.length);
      const [last] = (await call('GET', `/v1/events?limit=1&object_id=${id}`)).data;
      const { object } = last.data;
      if (object.updated_at === shown.updated_at) assert.deepEqual(shown, object, 'it is what its last event says');
    },
  };
}

interface Line {
  readonly text: string;
  readonly order?: Json;
  /** The subscription at that time, if there is an event. */
  subscription?: Json;
}

const changes: Readonly<Record<string, string>> = {
  'subscription.billing.updated': 'cadence changed',
  'subscription.canceled': 'canceled',
  'subscription.completed': 'completed',
  'subscription.failed': 'given up',
  'subscription.plan_changed': 'plan changed',
  'subscription.change_scheduled': 'change of plan scheduled',
  'subscription.paused': 'paused',
  'subscription.resumed': 'resumed',
};
/** Subscription events that an order causes: they follow the event of the order. */
const consequences = ['created', 'charged', 'recovered', 'past_due', 'failed'].map((name) => `subscription.${name}`);

interface Timeline {
  add(event: Json): void;
  addText(text: string): void;
  lines(): string[];
  lastEvent(): string | undefined;
}

/** Combines the events of an order and of its subscription into one line. */
function newTimeline(): Timeline {
  const lines: Line[] = [];
  let last: string | undefined;
  return {
    lastEvent: () => last,
    addText: (text) => {
      lines.push({ text });
    },
    lines: () => lines.map((line) => (line.order ? orderLine(line, line.order) : otherLine(line))),
    add({ id, type, created_at, data: { object } }) {
      last = id;
      const text = day(created_at);
      if (type === 'order.succeeded' || type === 'order.failed') {
        lines.push({ text, order: object });
        return;
      }
      const line = lines.at(-1);
      const first = object.current_cycle === 0;
      if (changes[type] && !first) lines.push({ text: `${text}  ${changes[type]}`, subscription: object });
      else if (consequences.includes(type) && line?.order) line.subscription = object;
      else if (type === 'subscription.created') lines.push({ text: `${text}  signed up`, subscription: object });
    },
  };
}

function otherLine({ text, subscription }: Line): string {
  return subscription && !text.endsWith(subscription.status) ? `${text}  -> ${state(subscription)}` : text;
}

function orderLine({ text, subscription }: Line, order: Json): string {
  const number = `order ${order.subscription_cycle ?? 1}`;
  if (order.status === 'failed') {
    const again = order.next_retry_at ? `retry ${day(order.next_retry_at)}` : 'no retry';
    const declined = `declined ${order.failure_code}, attempt ${order.attempt_count}`;
    return `${text}  ${number} ${declined}  -> ${subscription?.status ?? 'as before'}, ${again}`;
  }
  const charged = `charged ${money(order.total, order.currency)}`;
  // A first charge on a later start date has only events of the order.
  if (!subscription) return `${text}  ${number} ${charged}`;
  const count = subscription.billing_cycles ? ` of ${subscription.billing_cycles}` : '';
  const start = day(subscription.current_period_start);
  const period = start === text ? '' : ` for ${start}`;
  return `${text}  ${number}${count} ${charged}${period}  -> ${state(subscription)}`;
}

function state({ status, next_billing_at, current_period_end }: Json): string {
  if (next_billing_at) return `${status}, next ${day(next_billing_at)}`;
  return status === 'active' ? `${status}, ends ${day(current_period_end)}` : status;
}
