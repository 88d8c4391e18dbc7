import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';

/**
 * Clients that buy without pause through a changing set of API processes, as behind a load balancer. Each order is
 * repeated with its key at another process, and has to give the same response.
 */

export interface Traffic {
  requests(): number;
  /** Responses that a client does not expect, and connections that failed. */
  readonly failures: string[];
  readonly orders: PlacedOrder[];
  /** Sends new requests to these processes only. */
  use(urls: readonly string[]): void;
  /** Sends one request to a process; the response must have the status. */
  send(method: string, path: string, body?: object, options?: SendOptions): Promise<Reply>;
  /** Finishes the requests under way. */
  stop(): Promise<void>;
}

interface PlacedOrder {
  readonly key: string;
  readonly body: object;
  readonly id: string;
}

interface SendOptions {
  readonly status?: number;
  readonly idempotencyKey?: string;
}

type Reply = Record<string, any>;

const someCard = { number: '4242424242424242', exp_month: '12', exp_year: '2040', cvc: '999' };
const pauseMs = 100;

export function startTraffic(apiKey: string, urls: readonly string[], clients: number, productId: string): Traffic {
  const failures: string[] = [];
  const orders: PlacedOrder[] = [];
  let targets = urls;
  let turn = 0;
  let requests = 0;
  let stopped = false;

  const send: Traffic['send'] = async (method, path, body, { status, idempotencyKey } = {}) => {
    const target = targets[(turn += 1) % targets.length] ?? '';
    requests += 1;
    const response = await request(target + path, {
      method: method as 'GET',
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body && { 'content-type': 'application/json', 'x-svc-idempotency-key': idempotencyKey ?? randomUUID() }),
      },
      body: body ? JSON.stringify(body) : null,
    });
    const text = await response.body.text();
    const expected = status ?? (method === 'POST' ? 201 : 200);
    if (response.statusCode !== expected)
      throw new Error(`${method} ${target}${path}: ${response.statusCode} ${text.slice(0, 300)}`);
    return JSON.parse(text) as Reply;
  };

  async function buy(): Promise<void> {
    const some = randomUUID();
    const phone = `+1555${String(parseInt(some.slice(24), 16) % 10_000_000_000).padStart(10, '0')}`;
    const person = { email: `${some}@example.com`, first_name: 'Ada', last_name: 'Poe', phone };
    const customer = await send('POST', '/v1/customers', person);
    await send('POST', '/capture', { customer_id: customer.id, card: someCard });
    const body = { customer_id: customer.id, items: [{ product_id: productId, quantity: 1 }] };
    const order = await send('POST', '/v1/orders', body, { idempotencyKey: some });
    if (order.status !== 'succeeded') throw new Error(`the order is ${order.status}: ${JSON.stringify(order)}`);
    orders.push({ key: some, body, id: order.id });
    const again = await send('POST', '/v1/orders', body, { idempotencyKey: some });
    if (again.id !== order.id) throw new Error(`the key ${some} gave ${again.id} after ${order.id}`);
    await send('GET', `/v1/orders/${order.id}`);
    await send('GET', '/v1/orders?limit=5');
    await send('PATCH', `/v1/customers/${customer.id}`, { last_name: 'Lovelace' });
    if (orders.length % 5 === 0) await send('POST', `/v1/orders/${order.id}/refund`, { amount: 100 }, { status: 200 });
  }

  const loop = async (): Promise<void> => {
    while (!stopped) {
      await buy().catch((error: Error) => failures.push(error.message));
      await sleep(pauseMs);
    }
  };
  const loops = Array.from({ length: clients }, loop);
  return {
    failures,
    orders,
    requests: () => requests,
    send,
    use(others) {
      targets = others;
    },
    async stop() {
      stopped = true;
      await Promise.all(loops);
    },
  };
}
