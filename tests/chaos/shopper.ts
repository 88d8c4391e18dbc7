import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../../server/platform/database.ts';
import { answerBank, type Choice } from '../support/bank-page.ts';
import { browser } from '../support/bank.ts';
import type { Random } from '../support/seeded-random.ts';
import { type Diary, type Goods, lostAnswer, passingCodes, type Reply } from './client.ts';

/**
 * Customers who pay on checkout pages, and whose bank asks them. They confirm, refuse, go back, close the window or forge an answer,
 * try again, and come back after any failure of a request.
 */

/** A checkout session, as its customer saw it. */
export interface Checkout {
  /** In the metadata of the session and of its orders. */
  readonly name: string;
  /** Whether the customer ever confirmed at the bank. */
  isConfirmed: boolean;
  /** Whether the page said that it is paid. */
  isCompleted: boolean;
}

export interface ShopperOptions {
  readonly urls: readonly string[];
  readonly apiKey: string;
  /** Of a card whose bank asks. */
  readonly cardNumber: string;
  readonly goods: readonly Goods[];
  readonly random: Random;
  readonly diary: Diary;
  readonly checkouts: Checkout[];
  readonly thinkMs: number;
  /** No new checkout begins after this signal. */
  readonly stopped: AbortSignal;
  /** Repeats stop after this signal. */
  readonly abandoned: AbortSignal;
}

const choices: readonly Choice[] = [
  ...(['pass', 'pass', 'pass', 'pass', 'fail', 'back', 'close', 'forge'] as const),
  ...(['pass_and_close', 'fail_and_close', 'pass_later', 'fail_later'] as const),
];
const triesMax = 3;
const stepsMax = 8;

export async function runShopper(options: ShopperOptions): Promise<void> {
  const { random, diary } = options;
  while (!options.stopped.aborted) {
    await shop();
    await sleep(random.between(0, options.thinkMs));
  }

  async function shop(): Promise<void> {
    const items = [{ product_id: options.goods[0]?.productId, quantity: 1 }];
    const capture = random.chance(0.2) ? 'manual' : 'automatic';
    const name = randomUUID();
    const made = await answered('/v1/checkout_sessions', {
      headers: { authorization: `Bearer ${options.apiKey}`, 'x-svc-idempotency-key': randomUUID() },
      body: { mode: 'payment', items, capture, metadata: { checkout: name } },
    });
    if (made?.status !== 201) {
      if (made) diary.wrong.push(`a checkout session was answered ${made.status} ${JSON.stringify(made.body)}`);
      return;
    }
    const { url } = made.body;
    const checkout: Checkout = { name, isConfirmed: false, isCompleted: false };
    options.checkouts.push(checkout);
    const page = `/checkout/${new URL(url).pathname.split('/').at(-1)}`;
    for (let tries = 0; tries < triesMax; tries += 1) {
      if (!(await pay(page, checkout))) break;
    }
  }

  /** Returns whether the customer tries again. */
  async function pay(page: string, checkout: Checkout): Promise<boolean> {
    const card = { number: options.cardNumber, exp_month: '12', exp_year: '2032', cvc: '999' };
    const token = await answered(`${page}/card_tokens`, { body: { card } });
    const before = await answered(`${page}/session`);
    if (token?.status !== 201 || before?.status !== 200) return false;
    const { attempt, total } = before.body;
    const customer = {
      email: `${checkout.name}@example.com`,
      first_name: 'Ada',
      last_name: 'Lovelace',
      phone: `+1555${random.between(1e6, 9e6)}`,
    };
    const body = { attempt, total, card_token: token.body.id, customer, browser };
    let reply = await answered(`${page}/pay`, { body });
    for (let step = 0; step < stepsMax && reply?.status === 200; step += 1) {
      const { status, next_action, attempt: tried } = reply.body;
      if (status === 'completed') checkout.isCompleted = true;
      if (status !== 'processing') return status === 'open';
      if (!next_action) {
        await sleep(random.between(100, 500));
        reply = await answered(`${page}/session`);
        continue;
      }
      const returned = await visit(next_action.url, checkout);
      if (returned) reply = await answered(`${page}/resume`, { body: { returned } });
      else if (random.chance(0.5)) return false;
      else reply = await answered(`${page}/abandon`, { body: { attempt: tried } });
    }
    return false;
  }

  /** Returns what the browser brings back; undefined if the customer closed the window, or the bank is down. */
  async function visit(url: string, checkout: Checkout): Promise<Record<string, string> | undefined> {
    const choice = random.pick(choices);
    // The answer may be lost after the bank has taken it.
    if (choice.startsWith('pass')) checkout.isConfirmed = true;
    return answerBank(url, choice).catch(() => undefined);
  }

  /** Repeats the request until there is an answer; returns undefined if the run ends first. */
  async function answered(path: string, call: Call = {}): Promise<Reply | undefined> {
    while (!options.abandoned.aborted) {
      const reply = await send(path, call);
      const code = typeof reply === 'string' ? reply : reply.body.error?.code;
      if (typeof reply !== 'string') {
        if (!passingCodes.has(code) && reply.status < 500) return reply;
        if (!passingCodes.has(code)) diary.wrong.push(`${path} was answered ${reply.status} ${code}`);
      }
      diary.passing.set(`page: ${code}`, (diary.passing.get(`page: ${code}`) ?? 0) + 1);
      await sleep(random.between(100, 600));
    }
    diary.unanswered += 1;
    return undefined;
  }

  async function send(path: string, { headers, body }: Call): Promise<Reply | string> {
    const base = random.pick(options.urls);
    const method = body ? 'POST' : 'GET';
    try {
      const response = await fetch(base + path, {
        method,
        headers: { origin: base, 'user-agent': 'Mozilla/5.0', 'content-type': 'application/json', ...headers },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(random.between(2_000, 8_000)),
      });
      return { status: response.status, body: (await response.json()) as Record<string, any> };
    } catch (error) {
      return lostAnswer(error as Error, method, path);
    }
  }
}

interface Call {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** As if the time that customers have at the bank was over, and the time of what their pages wait for had come. */
export async function endVisits(db: Queryable): Promise<void> {
  await db.query(`UPDATE open_transactions SET next_check_at = now(), customer_locked_until = NULL
    WHERE customer_step IS NOT NULL AND next_check_at > now()`);
  await db.query(`UPDATE checkout_payments SET check_at = now() WHERE state = 'open' AND check_at > now()`);
}

/** How many checkouts were paid, and what must not be. */
export async function verifyCheckouts(
  db: Queryable,
  checkouts: readonly Checkout[],
): Promise<{ paid: number; violations: string[] }> {
  const rows = await db.query<{ name: string; status: string; paid: number; open: boolean }>(
    `SELECT s.metadata->>'checkout' AS name, s.status,
       (SELECT count(*)::integer FROM orders o WHERE o.company_id = s.company_id AND o.metadata->>'checkout' = s.metadata->>'checkout'
          AND (o.sale_id IS NOT NULL OR o.capture_before IS NOT NULL)) AS paid,
       EXISTS (SELECT FROM checkout_payments p WHERE p.company_id = s.company_id AND p.session_id = s.id AND p.state = 'open') AS open
     FROM checkout_sessions s`,
  );
  const found = new Map(rows.map((row) => [row.name, row]));
  const violations = checkouts.flatMap(({ name, isConfirmed, isCompleted }) => {
    const { status = 'missing', paid = 0, open = false } = found.get(name) ?? {};
    const wrong: string[] = [];
    if (paid > 1) wrong.push(`is paid by ${paid} orders`);
    if (paid > 0 && !isConfirmed) wrong.push('is paid, and its customer never confirmed');
    if (isCompleted && status !== 'completed') wrong.push(`was shown as completed, and is ${status}`);
    if ((status === 'completed') !== paid > 0) wrong.push(`is ${status}, and has ${paid} paid orders`);
    if (open) wrong.push('has a payment without an end');
    return wrong.map((why) => `the checkout ${name} ${why}`);
  });
  return { paid: rows.filter(({ paid }) => paid > 0).length, violations };
}
