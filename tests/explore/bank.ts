import { sessionByToken } from '../../server/features/checkout-sessions/service.ts';
import { answerBank, type Choice } from '../support/bank-page.ts';
import { browser } from '../support/bank.ts';
import type { Random } from '../support/seeded-random.ts';
import { callCheckout, type CheckoutCall } from './node.ts';
import { captureOf, keyFor, voidOf } from './operations.ts';
import { Machine } from './scheduler.ts';
import type { World } from './world.ts';

/** Customers on checkout pages whose bank asks them: with a second tab, other ends, and holds that are captured later. */

interface Shown {
  readonly status: string;
  readonly attempt: number;
  readonly total: number;
  readonly next_action: { readonly url: string } | null;
}

const noAnswer: Shown = { status: 'error', attempt: -1, total: 0, next_action: null };
const isOver = ({ status }: Shown): boolean => status === 'completed' || status === 'expired';
const answers: readonly Choice[] = ['pass', 'pass', 'pass', 'fail', 'back', 'close', 'forge', 'pass_and_close'];
const triesMax = 4;
const minuteMs = 60_000;

/** Calls the page at one API process after another, until its answer says what the customer can do next. */
const callPage = (world: World, token: string, isFinal: (shown: Shown) => boolean, call: CheckoutCall, body: object) =>
  world.repeat<Shown>(async (node) => {
    try {
      await node.ready;
      const part = await node.shards.find(world.merchant.company.id);
      const context = world.contextAt(part);
      const subject = await sessionByToken(context, token);
      if (!subject) return noAnswer;
      return (await callCheckout(node, part, call, { context, subject }, body)) as Shown;
    } catch {
      return noAnswer;
    }
  }, isFinal);

/** What the customer does at the bank. Undefined if the browser does not come back. */
async function visitBank(
  world: World,
  customer: Machine,
  url: string,
  choice: Choice,
): Promise<Record<string, string> | undefined> {
  const { scheduler, postman } = world;
  return scheduler.step(
    customer,
    `at the bank: ${choice}`,
    async () => {
      const returned = await answerBank(url, choice);
      await postman.collect();
      return returned;
    },
    { losable: false },
  );
}

/** A tab of a customer, who pays, answers the bank or does not, pays otherwise, closes the tab, or comes back later. */
async function useTab(world: World, random: Random, token: string): Promise<void> {
  const customer = new Machine('customer');
  const page = (isFinal: (shown: Shown) => boolean, call: CheckoutCall, body: object = {}): Promise<Shown> =>
    callPage(world, token, isFinal, call, body);
  const canGoOn = (shown: Shown): boolean => isOver(shown) || shown.status === 'open' || shown.next_action !== null;
  for (let tries = 0; tries < triesMax; tries += 1) {
    let shown = await page(canGoOn, 'session');
    if (shown.status === 'open') {
      const { attempt, total } = shown;
      const chosen = { attempt, total, payment_method_id: world.merchant.shop.paymentMethodId, browser };
      shown = await page((paid) => canGoOn(paid) && (paid.status !== 'open' || paid.attempt > attempt), 'pay', chosen);
    }
    if (isOver(shown)) return;
    if (!shown.next_action) continue;
    const { attempt, next_action } = shown;
    const returned = await visitBank(world, customer, next_action.url, random.pick(answers));
    const draw = random.next();
    if (returned && draw < 0.8) await page(({ attempt: at }) => at >= 0, 'resume', { returned });
    else if (draw < 0.5) await page(({ attempt: at }) => at >= 0, 'abandon', { attempt });
    else if (draw < 0.7) await world.pause(customer, random.between(1, 70) * minuteMs);
    else if (draw < 0.9) return;
  }
}

/** Orders of pages whose money is held. */
async function held(world: World): Promise<string[]> {
  const { owner } = await world.home();
  const rows = await owner.query<{ id: string }>(
    'SELECT id FROM orders WHERE company_id = $1 AND capture_before IS NOT NULL ORDER BY id',
    [world.merchant.company.id],
  );
  return rows.map(({ id }) => id);
}

/** Two pages, one of them in two tabs. What is held afterwards is captured or released. */
export async function bank(world: World, random: Random): Promise<void> {
  const { laboratory, merchant } = world;
  const { customerId: customer_id, productId: product_id } = merchant.shop;
  for (const { askCustomers } of merchant.processors) await askCustomers(random.chance(0.5));
  const tokens: string[] = [];
  for (const quantity of [1, 2]) {
    const items = [{ product_id, quantity }];
    const capture = random.chance(0.3) ? 'manual' : 'automatic';
    const body = { mode: 'payment', items, customer_id, capture };
    const reply = await laboratory.service.call('POST', '/v1/checkout_sessions', { key: merchant.key, body });
    if (reply.status !== 201) throw new Error(reply.text);
    tokens.push(String(reply.body.url).split('/').at(-1) ?? '');
  }
  if (world.options.restores) await world.remember();
  const [first = '', second = ''] = tokens;
  world.start('api', 'api', 'worker');
  const tabs = [first, first, second].map((token) => useTab(world, random, token));
  await world.scheduler.drive(tabs);
  await world.drain();
  const ends = (await held(world)).map((id) =>
    world.request(
      random.chance(0.5) ? captureOf(id, 3_000, keyFor(random, 'capture')) : voidOf(id, keyFor(random, 'void')),
    ),
  );
  if (ends.length > 0) await world.scheduler.drive(ends);
  await world.drain();
}
