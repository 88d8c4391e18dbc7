import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { continuePayments } from '../../server/features/checkout-sessions/jobs.ts';
import type { CallOptions, Reply, TestService } from './service.ts';
import { silentLog } from './silent-log.ts';

/** Payments of a checkout page whose bank asks the customer, in a sandbox that has authentication switched on. */

export const bankCards = {
  frictionless: '4000009999003307',
  challenge: '4000009999003315',
  refused: '4000009999003323',
  abandoned: '4000009999003331',
  late: '4000009999003349',
  unavailable: '4000009999003356',
} as const;

export async function switchAuthentication(service: TestService, on = true): Promise<void> {
  await service.db.query(`UPDATE companies SET authenticates = $1 WHERE mode = 'sandbox'`, [on]);
}

/** What the page reports about the browser. */
export const browser = {
  ...{ language: 'en-US', color_depth: 24, screen_height: 900, screen_width: 1440, time_zone_offset: -60 },
} as const;

export interface Till {
  readonly id: string;
  readonly token: string;
  readonly customer: object;
  session(): Promise<Reply['body']>;
  onPage(path: string, body?: object): Promise<Reply>;
  pay(number: string, more?: object): Promise<Reply['body']>;
  /** The browser comes back from the bank. */
  resume(returned?: Record<string, string>): Promise<Reply['body']>;
  /** The customer wants to pay otherwise. */
  abandon(attempt: number): Promise<Reply['body']>;
  /** All orders of the customer, oldest first. */
  orders(): Promise<Reply['body'][]>;
  /** The session as the API shows it. */
  read(): Promise<Reply['body']>;
}

export async function openTill(
  service: TestService,
  productId: string,
  options: object = {},
  key: CallOptions = {},
): Promise<Till> {
  const items = [{ product_id: productId, quantity: 1 }];
  const made = await service.call('POST', '/v1/checkout_sessions', {
    body: { mode: 'payment', items, ...options },
    ...key,
  });
  assert.equal(made.status, 201, made.text);
  return tillAt(service, made.body.id, made.body.url.split('/').at(-1), key);
}

export function tillAt(service: TestService, id: string, token: string, key: CallOptions = {}): Till {
  const email = `${randomUUID()}@example.com`;
  const phone = `+1555${String(Math.floor(Math.random() * 1e7)).padStart(7, '0')}`;
  const customer = { email, first_name: 'Ada', last_name: 'Lovelace', phone };
  const onPage = (path: string, body?: object): Promise<Reply> =>
    service.call(body ? 'POST' : 'GET', `/checkout/${token}/${path}`, {
      key: null,
      headers: { origin: service.baseUrl, 'user-agent': 'Mozilla/5.0 (test)' },
      ...(body && { body }),
    });
  const answered = async (reply: Promise<Reply>): Promise<Reply['body']> => {
    const { status, body, text } = await reply;
    assert.equal(status, 200, text);
    return body;
  };
  return {
    id,
    token,
    customer,
    onPage,
    session: () => answered(onPage('session')),
    async pay(number, more = {}) {
      const card = { number, exp_month: '12', exp_year: '2032', cvc: '999' };
      const made = await onPage('card_tokens', { card });
      const { attempt, total } = await answered(onPage('session'));
      // The session is over, or another payment of it is in progress.
      const card_token = made.status === 201 ? made.body.id : 'cct_none';
      return answered(onPage('pay', { attempt, total, card_token, customer, browser, ...more }));
    },
    resume: (returned = { returned: '0' }) => answered(onPage('resume', { returned })),
    abandon: (attempt) => answered(onPage('abandon', { attempt })),
    async orders() {
      const found = await service.call('GET', `/v1/customers?email=${email}`, key);
      if (found.body.data.length === 0) return [];
      const orders = await service.call('GET', `/v1/orders?customer_id=${found.body.data[0].id}`, key);
      return orders.body.data.toReversed();
    },
    read: () => answered(service.call('GET', `/v1/checkout_sessions/${id}`, key)),
  };
}

/** What the customer does at the bank, to which the page of the shop led. Returns where the bank sends the browser. */
export async function atBank(service: TestService, url: string, answer: 'confirm' | 'refuse'): Promise<URL> {
  const { pathname, search } = new URL(url);
  const reply = await fetch(`${service.baseUrl}${pathname}/${answer}${search}`, { redirect: 'manual' });
  assert.equal(reply.status, 303);
  return new URL(reply.headers.get('location') ?? '');
}

/** The parameters with which the browser comes back. */
export const returnedWith = (url: URL): Record<string, string> => Object.fromEntries(url.searchParams);

/** The worker asks about every customer who is at the bank, and continues the payments of checkout pages. */
export async function runBankJobs(service: TestService): Promise<void> {
  // Other requests of the test may hold some: two such statements would wait for each other.
  await service.db.query(
    `UPDATE open_transactions SET customer_check_at = now(), customer_locked_until = NULL
     WHERE (company_id, id) IN (SELECT company_id, id FROM open_transactions WHERE customer_step IS NOT NULL
       FOR UPDATE SKIP LOCKED)`,
  );
  await service.orders.askAboutCustomers(1_000);
  await continueTills(service);
}

export async function continueTills(service: TestService): Promise<void> {
  await service.db.query(`UPDATE checkout_payments SET check_at = now() WHERE state = 'open'`);
  const { db, orders, subscriptions } = service;
  const shard = { db, clock: service.clock, name: service.company.shard };
  await continuePayments(shard, { db, orders, subscriptions }, silentLog, 1_000);
}

/** The time that customers have at the bank is over. */
export async function endCustomerTime(service: TestService): Promise<void> {
  await service.db.query(
    'UPDATE open_transactions SET next_check_at = now(), customer_locked_until = NULL WHERE customer_step IS NOT NULL',
  );
  await service.orders.reconcileDue(1_000);
  await continueTills(service);
}
