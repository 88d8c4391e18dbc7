import { sessionByToken } from '../../server/features/checkout-sessions/service.ts';
import type { Random } from '../support/seeded-random.ts';
import { somePlan } from '../support/subscriptions.ts';
import type { KindPair } from './laboratory.ts';
import { bank } from './bank.ts';
import { captures, holdAndEnd } from './captures.ts';
import { changes } from './changes.ts';
import { callCheckout } from './node.ts';
import { keyFor, orderOf, refundOf, retryOf, subscriptionOf, voidOf } from './operations.ts';
import type { FaultKind } from './scheduler.ts';
import type { Answer, Operation, World, WorldOptions } from './world.ts';

/** What clients, customers and workers do in a schedule, and which faults they meet. */

const dayMs = 86_400_000;

interface Play {
  readonly options?: Pick<WorldOptions, 'moves' | 'restores' | 'checkout' | 'captures' | 'banks' | 'changes'>;
  readonly faults: readonly FaultKind[];
  /** One of these happens in each schedule, at one of the turns. */
  readonly always?: { readonly faults: readonly FaultKind[]; readonly turns: readonly [number, number] };
  /**
   * The acquirer is the first processor: it executes a reference once, finds it by itself, and knows soon that a request can no
   * longer arrive.
   */
  readonly isAtAcquirer?: boolean;
  readonly run: (world: World, random: Random) => Promise<void>;
}

const losses = [
  'lost_before',
  'lost_after',
  'vault_lost_before',
  'vault_lost_after',
  'vault_late',
  'vault_slow',
] as const;
const outages = ['refuse', 'away', 'decline', 'decline_by_processor'] as const;
const restores = ['restore_announced', 'restore_noticed'] as const;
const clocks = ['clock_forward', 'clock_back'] as const;

const planFor = async ({ laboratory, merchant }: World): Promise<string> =>
  (await somePlan(laboratory.service, {}, merchant.company)).id;

/** Pays, and refunds a part, voids the charge or retries it, depending on how it ends. */
async function payAnd(world: World, random: Random, then: 'refund' | 'void'): Promise<void> {
  const [orderKey, laterKey] = [keyFor(random, 'order'), keyFor(random, then)];
  const { body } = await world.request(orderOf(world, orderKey));
  if (body.id === undefined) return;
  if (body.status === 'failed') await world.request(retryOf(body.id, laterKey));
  else if (then === 'refund') await world.request(refundOf(body.id, 1_000, laterKey));
  else await world.request(voidOf(body.id, laterKey));
}

/** One key sent twice at once, another one that is declined, and a refund of a paid order. */
async function orders(world: World, random: Random): Promise<void> {
  world.start('api', 'api', 'worker', 'worker');
  if (random.chance(0.3)) await world.merchant.processors[0].decline(1);
  const [first, second] = [orderOf(world, keyFor(random, 'first')), orderOf(world, keyFor(random, 'second'))];
  const refundKey = keyFor(random, 'refund');
  const payAndRefund = async (): Promise<void> => {
    const { body } = await world.request(first);
    if (body.status === 'succeeded' && body.id) await world.request(refundOf(body.id, 1_000, refundKey));
  };
  await world.scheduler.drive([payAndRefund(), world.request(first), world.request(second)]);
  await world.drain();
}

/** A subscription that is billed for some months, with a decline in between. */
async function renewals(world: World, random: Random): Promise<void> {
  const subscription = subscriptionOf(world, await planFor(world), keyFor(random, 'subscription'));
  world.scheduler.hold();
  world.start('api', 'worker', 'worker');
  await world.scheduler.drive([world.request(subscription)]);
  world.disturbAgain();
  world.workerPauseMs = dayMs;
  if (random.chance(0.5)) await world.merchant.processors[0].decline(1);
  await world.scheduler.drive([world.wait(40 * dayMs)]);
  world.workerPauseMs = 60_000;
  await world.drain();
  await world.checkRenewed();
}

/** Keys that are repeated after the database was restored. */
async function restore(world: World, random: Random): Promise<void> {
  world.start('api', 'worker');
  const operations = Array.from({ length: 3 }, (_, index) => orderOf(world, keyFor(random, `order${index}`)));
  await world.scheduler.drive(operations.map((operation) => world.request(operation)));
  await world.drain();
  await world.scheduler.drive(operations.map((operation) => world.request(operation)));
  await world.drain();
}

/** Events of some orders, delivered by two workers. */
async function webhooks(world: World, random: Random): Promise<void> {
  const endpoint = await world.laboratory.service.call('POST', '/v1/webhook_endpoints', {
    key: world.merchant.key,
    body: { url: 'https://receiver.example/hook', enabled_events: ['*'] },
  });
  if (endpoint.status !== 201) throw new Error(endpoint.text);
  world.dispatching = true;
  // The dispatchers take many steps a second.
  world.drainPauseMs = 5_000;
  world.drainRounds = 26;
  world.start('api', 'worker', 'worker');
  const operations = Array.from({ length: 2 }, (_, index) => orderOf(world, keyFor(random, `order${index}`)));
  await world.scheduler.drive(operations.map((operation) => world.request(operation)));
  await world.drain();
}

/** Orders while the first processor fails in one way or another, with what follows them. */
async function failover(world: World, random: Random): Promise<void> {
  world.start('api', 'api', 'worker', 'worker');
  await world.scheduler.drive([
    payAnd(world, random, 'refund'),
    payAnd(world, random, 'void'),
    holdAndEnd(world, random),
    world.request(orderOf(world, keyFor(random, 'order'))),
  ]);
  await world.drain();
}

/** Orders and a subscription of a company that moves to another shard meanwhile. */
async function moves(world: World, random: Random): Promise<void> {
  const subscription = subscriptionOf(world, await planFor(world), keyFor(random, 'subscription'));
  world.start('api', 'api', 'worker', 'worker');
  await world.scheduler.drive([
    payAnd(world, random, 'refund'),
    payAnd(world, random, 'void'),
    holdAndEnd(world, random),
    world.request(subscription),
  ]);
  await world.drain();
  if (random.chance(0.5)) return;
  world.workerPauseMs = dayMs;
  await world.scheduler.drive([world.wait(35 * dayMs)]);
  world.workerPauseMs = 60_000;
  await world.drain();
}

/** A backup, then orders, refunds, voids and renewals; a restore; and the same requests again. */
async function gate(world: World, random: Random): Promise<void> {
  world.scheduler.hold();
  world.start('api', 'worker');
  const planId = await planFor(world);
  const before = [
    orderOf(world, keyFor(random, 'early')),
    orderOf(world, keyFor(random, 'early')),
    subscriptionOf(world, planId, keyFor(random, 'subscription')),
  ];
  await world.scheduler.drive(before.map((operation) => world.request(operation)));
  await world.drain();
  await world.remember();
  world.disturbAgain();
  if (random.chance(0.3)) await renewAfter(world);
  else await repeatAfter(world, laterOperations(world, random, before.slice(0, 2)));
}

/** The workers renew the subscription; after a restore they find what was paid. */
async function renewAfter(world: World): Promise<void> {
  world.workerPauseMs = dayMs;
  await world.scheduler.drive([world.wait(33 * dayMs)]);
  world.workerPauseMs = 20_000;
  await world.drain();
}

async function repeatAfter(world: World, operations: readonly Operation[]): Promise<void> {
  const all = (): Promise<Answer>[] => operations.map((operation) => world.request(operation));
  await world.scheduler.drive(all());
  await world.drain();
  await world.scheduler.drive(all());
  await world.drain();
}

/** New orders, and a refund and a void of orders that the backup has. */
function laterOperations(world: World, random: Random, before: readonly Operation[]): Operation[] {
  const idsOf = (status: string): string[] => before.flatMap(({ key }) => idWith(status, world.answers.get(key)));
  const [refunded, voided] = idsOf('succeeded');
  return [
    orderOf(world, keyFor(random, 'late')),
    orderOf(world, keyFor(random, 'late')),
    ...(refunded === undefined ? [] : [refundOf(refunded, 1_000, keyFor(random, 'refund'))]),
    ...(voided === undefined ? [] : [voidOf(voided, keyFor(random, 'void'))]),
  ];
}

function idWith(status: string, answers: readonly Answer[] = []): string[] {
  const found = answers.find(({ body }) => body.status === status);
  return found?.body.id === undefined ? [] : [found.body.id];
}

interface Page {
  readonly status: string;
  readonly attempt: number;
  readonly total: number;
}

const triesMax = 3;

/** A customer opens the page in a browser, pays, and waits for the outcome; after a decline, pays again. */
async function visit(world: World, token: string): Promise<void> {
  const cardId = world.merchant.shop.paymentMethodId;
  const call = (endpoint: 'session' | 'pay', body: object, isFinal: (page: Page) => boolean): Promise<Page> =>
    world.repeat(async (node) => {
      try {
        await node.ready;
        const part = await node.shards.find(world.merchant.company.id);
        const context = world.contextAt(part);
        const subject = await sessionByToken(context, token);
        if (!subject) return { status: 'missing', attempt: -1, total: 0 };
        return (await callCheckout(node, part, endpoint, { context, subject }, body)) as Page;
      } catch {
        return { status: 'error', attempt: -1, total: 0 };
      }
    }, isFinal);
  for (let tries = 0; tries < triesMax; tries += 1) {
    const { status, attempt, total } = await call('session', {}, (page) => ['open', 'completed'].includes(page.status));
    if (status === 'completed') return;
    const input = { attempt, total, payment_method_id: cardId };
    const isOver = (page: Page): boolean => page.status === 'completed' || page.attempt > attempt;
    const paid = await call('pay', input, isOver);
    if (paid.status === 'completed') return;
  }
}

/** Two checkout pages; one of them is open in two windows. */
async function checkout(world: World, random: Random): Promise<void> {
  const { laboratory, merchant } = world;
  const { customerId: customer_id, productId: product_id } = merchant.shop;
  const planId = random.chance(0.4) ? await planFor(world) : undefined;
  const offers = [
    { mode: 'payment', items: [{ product_id, quantity: 1 }] },
    planId === undefined
      ? { mode: 'payment', items: [{ product_id, quantity: 2 }] }
      : { mode: 'subscription', plan_id: planId },
  ];
  const tokens: string[] = [];
  for (const offer of offers) {
    const body = { ...offer, customer_id };
    const reply = await laboratory.service.call('POST', '/v1/checkout_sessions', { key: merchant.key, body });
    if (reply.status !== 201) throw new Error(reply.text);
    tokens.push(String(reply.body.url).split('/').at(-1) ?? '');
  }
  const [first = '', second = ''] = tokens;
  world.start('api', 'api', 'worker');
  await world.scheduler.drive([visit(world, first), visit(world, first), visit(world, second)]);
  await world.drain();
}

const plays = {
  orders: { run: orders, faults: [...losses, ...clocks, 'crash'] },
  renewals: { run: renewals, faults: [...losses, ...clocks, 'crash', 'refuse', 'away'] },
  captures: {
    run: captures,
    options: { captures: true },
    faults: [...losses, ...outages, ...clocks, 'crash'],
  },
  changes: {
    run: changes,
    options: { changes: true },
    faults: [...losses, ...outages, 'crash'],
    always: { faults: [...losses, ...outages], turns: [0, 40] },
  },
  restore: {
    run: restore,
    options: { restores: true },
    faults: [...losses, 'crash', 'snapshot', 'restore'],
    // After a restore that is not noticed, no more is promised elsewhere than that nothing is charged twice.
    isAtAcquirer: true,
    // Most faults occur soon after a restore.
    always: { faults: ['restore'], turns: [10, 70] },
  },
  webhooks: { run: webhooks, faults: ['lost_before', 'lost_after', 'crash'], isAtAcquirer: true },
  failover: {
    run: failover,
    faults: [...losses, ...outages, 'crash'],
    always: { faults: outages, turns: [0, 40] },
  },
  checkout: {
    run: checkout,
    options: { checkout: true },
    faults: [...losses, ...outages, ...clocks, 'crash'],
  },
  bank: {
    run: bank,
    options: { checkout: true, banks: true },
    faults: [...losses, ...outages, ...clocks, 'crash'],
  },
  bank_restored: {
    run: bank,
    options: { checkout: true, banks: true, restores: true },
    faults: [...losses, ...outages, ...restores, 'crash', 'snapshot'],
    always: { faults: restores, turns: [10, 110] },
  },
  moves: {
    run: moves,
    options: { moves: true },
    faults: [...losses, 'crash', 'away'],
    always: { faults: ['move'], turns: [0, 90] },
  },
  gate: {
    run: gate,
    options: { restores: true },
    faults: [...losses, ...outages, ...restores, 'crash', 'snapshot'],
    always: { faults: restores, turns: [10, 110] },
  },
} as const satisfies Readonly<Record<string, Play>>;

export type Scenario = keyof typeof plays;
export const scenarios = Object.keys(plays) as readonly Scenario[];
export const playOf = (scenario: Scenario): Play => plays[scenario];

const pairs: readonly KindPair[] = [
  ['acquirer', 'stripe'],
  ['stripe', 'nmi'],
  ['nmi', 'acquirer'],
  ['adyen', 'stripe'],
  ['stripe', 'acquirer'],
  ['acquirer', 'adyen'],
  ['nmi', 'stripe'],
  ['adyen', 'nmi'],
];

/** The two processors of the company, in the order in which they are tried. */
export function kindsOf(seed: number, scenario: Scenario): KindPair {
  const [first, second] = pairs[Math.floor(seed / scenarios.length) % pairs.length] as KindPair;
  const { isAtAcquirer, options } = playOf(scenario);
  // NMI leads no customer to a bank.
  if (options?.banks && first === 'nmi') return [second, first];
  if (!isAtAcquirer || first === 'acquirer') return [first, second];
  return ['acquirer', second === 'acquirer' ? first : second];
}
