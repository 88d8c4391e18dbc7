import { randomUUID } from 'node:crypto';
import { type Random, seededRandom } from '../support/seeded-random.ts';
import { somePlan, subscribe } from '../support/subscriptions.ts';
import type { Laboratory } from './laboratory.ts';
import { type FaultKind, type Schedule } from './scheduler.ts';
import { type Operation, type Without, World } from './world.ts';

/** Creates schedules from seeds, runs them, compares the books, and shrinks a schedule that fails. */

export const scenarios = ['orders', 'renewals', 'restore', 'webhooks'] as const;
export type Scenario = (typeof scenarios)[number];

const losses = ['lost_before', 'lost_after', 'vault_lost_before', 'vault_lost_after', 'vault_late'] as const;
const faultsOf: Readonly<Record<Scenario, readonly FaultKind[]>> = {
  orders: [...losses, 'crash', 'clock_forward', 'clock_back'],
  renewals: [...losses, 'crash', 'clock_forward', 'clock_back'],
  restore: [...losses, 'crash', 'snapshot', 'restore'],
  webhooks: ['lost_before', 'lost_after', 'crash'],
};

export interface Failure {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly schedule: Schedule;
  readonly problems: readonly string[];
  readonly trace: readonly string[];
}

const turnsWithFaults = 90;

export const scenarioOf = (seed: number): Scenario => scenarios[seed % scenarios.length] as Scenario;

function scheduleOf(seed: number, scenario: Scenario): Schedule {
  const random = seededRandom(seed * 7_919 + 17);
  const choices = Array.from({ length: turnsWithFaults }, () => random.between(0, 11));
  const faults = new Map<number, FaultKind>();
  const count = random.between(1, 6);
  while (faults.size < count) faults.set(random.between(0, turnsWithFaults - 1), random.pick(faultsOf[scenario]));
  // Most faults occur soon after a restore.
  if (scenario === 'restore') faults.set(random.between(10, 70), 'restore');
  return { choices, faults };
}

export interface Explored {
  readonly trace: readonly string[];
  /** Undefined if the books agree. */
  readonly failure: Failure | undefined;
}

export async function explore(
  laboratory: Laboratory,
  seed: number,
  scenario = scenarioOf(seed),
  without?: Without,
  schedule = scheduleOf(seed, scenario),
): Promise<Explored> {
  const world = await World.open(laboratory, schedule, without);
  try {
    await play[scenario](world, laboratory, seededRandom(seed));
    return ended(await world.problems());
  } catch (error) {
    return ended([String(error)]);
  } finally {
    await world.close();
  }

  function ended(problems: readonly string[]): Explored {
    const { trace } = world.scheduler;
    return { trace, failure: problems.length === 0 ? undefined : { seed, scenario, schedule, problems, trace } };
  }
}

/** Removes faults and choices as long as the schedule still fails. */
export async function shrink(laboratory: Laboratory, failure: Failure, without?: Without): Promise<Failure> {
  const { seed, scenario } = failure;
  let best = failure;
  const attempt = async (schedule: Schedule): Promise<boolean> => {
    const { failure: found } = await explore(laboratory, seed, scenario, without, schedule);
    if (found) best = found;
    return found !== undefined;
  };
  for (let shrunk = true; shrunk; ) {
    shrunk = false;
    for (const turn of best.schedule.faults.keys()) {
      const faults = new Map([...best.schedule.faults].filter(([other]) => other !== turn));
      if (await attempt({ ...best.schedule, faults })) shrunk = true;
    }
  }
  for (let length = 0; length < best.schedule.choices.length; length = Math.max(length * 2, 1)) {
    if (await attempt({ ...best.schedule, choices: best.schedule.choices.slice(0, length) })) break;
  }
  return best;
}

const key = (random: Random, name: string): string => `${name}-${random.between(0, 1e9)}`;

function orderOf({ merchant: { shop } }: World, keyText: string): Operation {
  const body = { customer_id: shop.customerId, items: [{ product_id: shop.productId, quantity: 1 }] };
  return {
    key: keyText,
    method: 'POST',
    path: '/v1/orders',
    body,
    call: (orders, context, request) => orders.create(context, body, request),
  };
}

function refundOf(orderId: string, amount: number, keyText: string): Operation {
  return {
    key: keyText,
    method: 'POST',
    path: `/v1/orders/${orderId}/refund`,
    body: { amount },
    call: (orders, context, request) => orders.refund(context, orderId, { amount }, request),
  };
}

const play: Readonly<Record<Scenario, (world: World, laboratory: Laboratory, random: Random) => Promise<void>>> = {
  /** One key sent twice at once, another one that is declined, and a refund of a paid order. */
  async orders(world, _laboratory, random) {
    world.start('api', 'api', 'worker', 'worker');
    if (random.chance(0.3)) await world.merchant.decline(1);
    const [first, second] = [orderOf(world, key(random, 'first')), orderOf(world, key(random, 'second'))];
    const refundKey = key(random, 'refund');
    const payAndRefund = async (): Promise<void> => {
      const { body } = await world.request(first);
      if (body.status === 'succeeded' && body.id) await world.request(refundOf(body.id, 1_000, refundKey));
    };
    await world.scheduler.drive([payAndRefund(), world.request(first), world.request(second)]);
    await world.drain();
  },

  /** A subscription that is billed for some months, with a decline in between. */
  async renewals(world, laboratory, random) {
    const { company, key: apiKey, shop } = world.merchant;
    const plan = await somePlan(laboratory.service, {}, company);
    const body = { customer_id: shop.customerId, plan_id: plan.id };
    const reply = await subscribe(laboratory.service, body, { key: apiKey, idempotencyKey: randomUUID() });
    if (reply.status !== 201) throw new Error(reply.text);
    world.workerPauseMs = 86_400_000;
    world.start('worker', 'worker');
    if (random.chance(0.5)) await world.merchant.decline(1);
    await world.scheduler.drive([world.wait(40 * 86_400_000)]);
    world.workerPauseMs = 60_000;
    await world.drain();
    await world.checkRenewed();
  },

  /** Keys that are repeated after the database was restored. */
  async restore(world, _laboratory, random) {
    world.start('api', 'worker');
    const operations = Array.from({ length: 3 }, (_, index) => orderOf(world, key(random, `order${index}`)));
    await world.scheduler.drive(operations.map((operation) => world.request(operation)));
    await world.drain();
    await world.scheduler.drive(operations.map((operation) => world.request(operation)));
    await world.drain();
  },

  /** Events of some orders, delivered by two workers. */
  async webhooks(world, laboratory, random) {
    const endpoint = await laboratory.service.call('POST', '/v1/webhook_endpoints', {
      key: world.merchant.key,
      body: { url: 'https://receiver.example/hook', enabled_events: ['*'] },
    });
    if (endpoint.status !== 201) throw new Error(endpoint.text);
    world.startDispatching();
    world.drainPauseMs = 5_000;
    world.start('api', 'worker', 'worker');
    const operations = Array.from({ length: 2 }, (_, index) => orderOf(world, key(random, `order${index}`)));
    await world.scheduler.drive(operations.map((operation) => world.request(operation)));
    await world.drain();
  },
};
