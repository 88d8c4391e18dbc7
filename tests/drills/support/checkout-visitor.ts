import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Diary, lostAnswer, type Reply } from '../../chaos/client.ts';

/** A shop that opens checkout sessions, and a visitor who pays each of them once. */

interface VisitorOptions {
  readonly apiUrls: readonly string[];
  readonly apiKey: string;
  readonly diary: Diary;
  readonly onReply: (reply: Reply | string, ms: number) => void;
  readonly stopped: AbortSignal;
  readonly abandoned: AbortSignal;
}

const pauseMs = 2_000;
const timeoutMs = 25_000;
/** Longer than any fault. */
const payMaxMs = 180_000;
const product = { name: 'A voucher', description: 'For tea.', requires_shipping: false, sku: 'voucher' };
const card = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };

export async function openVisitor(options: VisitorOptions): Promise<void> {
  const { apiUrls, apiKey, diary, stopped } = options;
  let turn = 0;
  const nextUrl = (): string => apiUrls[(turn += 1) % apiUrls.length] ?? '';
  const withKey = (method: string, path: string, body?: object): Promise<Reply | undefined> => {
    const key = randomUUID();
    return insist(() => callApi(nextUrl() + path, method, { apiKey, key, ...(body && { body }) }), options);
  };
  const onPage = (token: string, path: string, body?: object): Promise<Reply | undefined> =>
    insist(() => {
      const origin = nextUrl();
      return callApi(`${origin}/checkout/${token}/${path}`, body ? 'POST' : 'GET', { origin, ...(body && { body }) });
    }, options);

  const made = await withKey('POST', '/v1/products', { ...product, pricing: { amount: 2_500, currency: 'usd' } });
  const items = [{ product_id: made?.body.id, quantity: 1 }];

  /** Returns the order; undefined if the drill ended first. */
  async function sell(): Promise<{ id: string; status: string } | undefined> {
    const session = await withKey('POST', '/v1/checkout_sessions', { mode: 'payment', items });
    if (session?.status !== 201) throw new Error(`a checkout session: ${JSON.stringify(session)}`);
    const token = String(session.body.url).split('/').at(-1) ?? '';
    const cardToken = await onPage(token, 'card_tokens', { card });
    const customer = {
      email: `${randomUUID()}@example.com`,
      first_name: 'Ada',
      last_name: 'Lovelace',
      phone: `+1555${String(Math.floor(Math.random() * 1e7)).padStart(7, '0')}`,
    };
    const deadlineMs = performance.now() + payMaxMs;
    let paid: Reply | undefined;
    for (;;) {
      const page = await onPage(token, 'session');
      if (!page) return undefined;
      if (page.body.status === 'completed') break;
      if (page.body.status === 'open') {
        const { attempt, total } = page.body;
        paid = await onPage(token, 'pay', { attempt, total, card_token: cardToken?.body.id, customer });
      }
      await sleep(200);
      if (performance.now() > deadlineMs)
        throw new Error(`it is not paid: ${JSON.stringify(page.body)}, ${JSON.stringify(paid)}`);
    }
    const completed = await withKey('GET', `/v1/checkout_sessions/${session.body.id}`);
    const order = await withKey('GET', `/v1/orders/${completed?.body.order_id}`);
    return order && { id: order.body.id, status: order.body.status };
  }

  while (!stopped.aborted) {
    try {
      const order = await sell();
      if (order) diary.answers.push({ kind: 'create', orderId: order.id, status: order.status, key: randomUUID() });
      else diary.unanswered += 1;
    } catch (error) {
      diary.wrong.push(`the checkout: ${(error as Error).stack}`);
    }
    await sleep(pauseMs);
  }
}

/** Repeats a request until it is answered; undefined if the drill ends first. */
async function insist(
  send: () => Promise<Reply | string>,
  {
    abandoned,
    onReply,
  }: { readonly abandoned: AbortSignal; readonly onReply: (reply: Reply | string, ms: number) => void },
): Promise<Reply | undefined> {
  while (!abandoned.aborted) {
    const startedMs = performance.now();
    const reply = await send();
    onReply(reply, performance.now() - startedMs);
    const code = typeof reply === 'string' ? '' : (reply.body.error?.code ?? '');
    const isPassing = ['request_in_progress', 'resource_in_use', 'gateway_error'].includes(code);
    if (typeof reply !== 'string' && reply.status < 500 && !isPassing) return reply;
    await sleep(300);
  }
  return undefined;
}

async function callApi(
  url: string,
  method: string,
  {
    apiKey,
    body,
    origin,
    key,
  }: { readonly apiKey?: string; readonly body?: object; readonly origin?: string; readonly key?: string },
): Promise<Reply | string> {
  const request: RequestInit = {
    method,
    headers: {
      ...(apiKey && { authorization: `Bearer ${apiKey}` }),
      ...(body && { 'content-type': 'application/json' }),
      ...(origin && { origin }),
      ...(apiKey && method === 'POST' && { 'x-svc-idempotency-key': key ?? randomUUID() }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(timeoutMs),
  };
  try {
    const response = await fetch(url, request);
    return { status: response.status, body: (await response.json()) as Reply['body'] };
  } catch (error) {
    return lostAnswer(error as Error, method, new URL(url).pathname);
  }
}
