import { checks } from '../../cli/doctor-queries.ts';
import {
  addRenewalItem,
  cancelSubscription,
  changeSubscription,
  pauseSubscription,
  resumeSubscription,
  undoChange,
} from '../../server/features/subscriptions/service.ts';
import type { RequestContext } from '../../server/request-context.ts';
import type { Random } from '../support/seeded-random.ts';
import { somePlan } from '../support/subscriptions.ts';
import { keyFor, orderOf, refundOf, retryOf, subscriptionOf } from './operations.ts';
import type { Operation, World } from './world.ts';

/** A change of plan while something else changes the same subscription, or spends the same credit. */

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const amounts = { small: 1_900, large: 4_900 } as const;

interface Subscriber {
  readonly id: string;
  readonly firstOrder: string;
  readonly plans: Readonly<Record<keyof typeof amounts, string>>;
}

function changeOf(id: string, key: string, body: Parameters<Changing>[2]): Operation {
  const call: Operation['call'] = ({ subscriptions }, context, request) =>
    subscriptions.changePlan(context, id, body, request);
  return { key, method: 'POST', path: `/v1/subscriptions/${id}/change_plan`, body, call };
}

type Changing = Parameters<Operation['call']>[0]['subscriptions']['changePlan'];

/** A request without an idempotency key. */
function without(random: Random, path: string, act: (context: RequestContext) => Promise<unknown>): Operation {
  const call: Operation['call'] = async (_part, context) => ({ status: 200, body: JSON.stringify(await act(context)) });
  // Two writers may do the same.
  return { key: keyFor(random, path), method: 'POST', path, body: {}, call };
}

type Other = (world: World, random: Random, at: Subscriber) => Promise<unknown>;

const changeNow = (
  world: World,
  { id, plans }: Subscriber,
  plan: keyof typeof amounts,
  key: string,
): Promise<unknown> => world.request(changeOf(id, key, { plan_id: plans[plan], when: 'now', proration: 'difference' }));

/** What else writes the subscription, its orders, or the credit that pays for them. */
const others: Readonly<Record<string, Other>> = {
  cancel: (world, random, { id }) =>
    world.request(without(random, 'cancel', (context) => cancelSubscription(context, id))),
  pause: async (world, random, { id }) => {
    await world.request(without(random, 'pause', (context) => pauseSubscription(context, id)));
    await world.request(without(random, 'resume', (context) => resumeSubscription(context, id)));
  },
  refund: (world, random, { firstOrder }) => world.request(refundOf(firstOrder, 1_000, keyFor(random, 'refund'))),
  change: (world, random, at) => changeNow(world, at, 'small', keyFor(random, 'second')),
  restart: (world, random, { id, plans }) =>
    world.request(
      changeOf(id, keyFor(random, 'restart'), { plan_id: plans.large, quantity: 2, when: 'now', proration: 'restart' }),
    ),
  schedule: async (world, random, { id, plans }) => {
    await world.request(
      changeOf(id, keyFor(random, 'schedule'), { plan_id: plans.large, quantity: 3, when: 'renewal' }),
    );
    if (random.chance(0.5)) await world.request(without(random, 'undo', (context) => undoChange(context, id)));
  },
  item: (world, random, { id }) => {
    const item = { product_id: world.merchant.shop.productId, quantity: 1 };
    return world.request(without(random, 'item', (context) => addRenewalItem(context, id, item)));
  },
  cadence: (world, random, { id }) => {
    const billing_cycle = { interval: 'day', interval_count: 20 } as const;
    return world.request(without(random, 'cadence', (context) => changeSubscription(context, id, { billing_cycle })));
  },
  order: (world, random) => world.request(orderOf(world, keyFor(random, 'order'), { use_credit: true })),
};

async function subscribe(world: World, random: Random): Promise<Subscriber | undefined> {
  const { laboratory, merchant } = world;
  const billing_cycle = { interval: 'day', interval_count: 30, anchor_day: 'signup_date' } as const;
  const planOf = async (amount: number): Promise<string> =>
    (await somePlan(laboratory.service, { amount, billing_cycle }, merchant.company)).id;
  const plans = { small: await planOf(amounts.small), large: await planOf(amounts.large) };
  const operation = subscriptionOf(world, plans.small, keyFor(random, 'subscription'));
  let body: { readonly id?: string; readonly latest_order_id?: string } = {};
  await world.scheduler.drive([
    world.request(operation).then((answer) => {
      body = answer.body;
    }),
  ]);
  return body.id && body.latest_order_id ? { id: body.id, firstOrder: body.latest_order_id, plans } : undefined;
}

async function grant({ laboratory, merchant }: World, random: Random): Promise<void> {
  const body = { type: 'grant', amount: random.between(1, 6_000), currency: 'usd', reason: 'Late delivery' };
  const path = `/v1/customers/${merchant.shop.customerId}/credit`;
  const reply = await laboratory.service.call('POST', path, {
    ...{ key: merchant.key, body, idempotencyKey: keyFor(random, 'grant') },
  });
  if (reply.status !== 201) throw new Error(reply.text);
}

/** The order of a change that was declined is retried. */
async function changeAndRetry(world: World, random: Random, at: Subscriber): Promise<void> {
  const [key, retryKey] = [keyFor(random, 'change'), keyFor(random, 'retry')];
  const answer = await world.request(changeOf(at.id, key, { plan_id: at.plans.large, when: 'now' }));
  const { order } = answer.body as { readonly order?: { readonly id: string; readonly status: string } | null };
  if (order?.status === 'failed') await world.request(retryOf(order.id, retryKey));
}

/** Some of them happen around the renewal. */
export async function changes(world: World, random: Random): Promise<void> {
  world.scheduler.hold();
  world.start('api', 'api', 'worker');
  const at = await subscribe(world, random);
  if (!at) return world.drain();
  if (random.chance(0.6)) await grant(world, random);
  world.workerPauseMs = dayMs;
  const isAtRenewal = random.chance(0.4);
  const waitMs = isAtRenewal ? 30 * dayMs - random.between(0, 30) * 1_000 : random.between(1, 20) * dayMs;
  await world.scheduler.drive([world.wait(waitMs - (world.scheduler.nowMs % 1_000))]);
  world.disturbAgain();
  if (random.chance(0.3)) await world.merchant.processors[0].decline(1);
  const writers = [random.pick(Object.values(others)), random.pick(Object.values(others))];
  await world.scheduler.drive([
    changeAndRetry(world, random, at),
    ...writers.map((write) => write(world, random, at)),
    world.wait(minuteMs),
  ]);
  await world.drain();
  world.workerPauseMs = dayMs;
  await world.scheduler.drive([world.wait(31 * dayMs)]);
  world.workerPauseMs = minuteMs;
  await world.drain();
}

const examined = [
  'credit_miscounted',
  'credit_of_order_differs',
  'charged_other_amount',
  'paid_without_charge',
  'refunded_amount_differs',
  'forgotten_subscription',
  'cycle_charged_twice',
  'cycles_miscounted',
  'change_without_payment',
  'change_not_made',
];

/** What `doctor` finds about money and due dates, when everything has come to rest. */
export async function inconsistencies(world: World): Promise<string[]> {
  const { owner } = await world.home();
  const found: string[] = [];
  for (const { name, means, sql } of checks.filter((check) => examined.includes(check.name))) {
    const rows = await owner.query<{ id: string }>(`SELECT id::text FROM (${sql}) wrong WHERE company_id = $1`, [
      world.merchant.company.id,
    ]);
    found.push(...rows.map(({ id }) => `${name}: ${means} (${id})`));
  }
  return found;
}
