import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Reply, TestService } from './service.ts';

/** A checkout session, and its page as a program that calls what the page calls. */

export interface OpenCheckout {
  readonly id: string;
  readonly ask: (part: string, body?: object) => Promise<Reply>;
  /** Pays with a new card, as a new customer unless the session has one. */
  readonly pay: (choice?: object) => Promise<Reply>;
  /** The order of the session, once it is paid. */
  readonly order: (query?: string) => Promise<Reply['body']>;
}

interface Options {
  readonly key?: string;
  /** The language of the browser. */
  readonly locale?: string;
  readonly number?: string;
}

export async function openCheckout(service: TestService, sold: object, options: Options = {}): Promise<OpenCheckout> {
  const { key = service.key, locale = 'en-US', number = '4242424242424242' } = options;
  const { body: session, text } = await service.call('POST', '/v1/checkout_sessions', { key, body: sold });
  assert.ok(session.url, text);
  const path = new URL(session.url).pathname;
  const headers = { origin: service.baseUrl, 'accept-language': locale };
  const ask = (part: string, body?: object): Promise<Reply> =>
    service.call(body ? 'POST' : 'GET', `${path}/${part}`, { key: null, headers, ...(body && { body }) });
  const customer = {
    ...{ email: `${randomUUID()}@example.com`, first_name: 'Ada', last_name: 'Lovelace' },
    phone: `+1555${String(Math.floor(Math.random() * 1e7)).padStart(7, '0')}`,
  };
  return {
    id: session.id,
    ask,
    async pay(choice = {}) {
      const card = { number, exp_month: '12', exp_year: '2032', cvc: '999' };
      const { body: token } = await ask('card_tokens', { card });
      const { body: shown } = await ask('session');
      return ask('pay', {
        ...{ attempt: shown.attempt, total: shown.total, card_token: token.id },
        ...(!('customer_id' in sold) && { customer }),
        ...choice,
      });
    },
    async order(query = '') {
      const { body: paid } = await service.call('GET', `/v1/checkout_sessions/${session.id}`, { key });
      return (await service.call('GET', `/v1/orders/${paid.order_id}${query}`, { key })).body;
    },
  };
}
