import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../support/seeded-random.ts';

/**
 * A shop's server: it orders, captures, voids, refunds and retries, repeats each request with the same key at either API process until
 * it has an answer, and records the answers.
 */

type RequestKind = 'create' | 'capture' | 'void' | 'refund' | 'retry' | 'read' | 'repeat';

/** A final answer for the client: its content must stay true. */
export interface Answer {
  readonly kind: RequestKind;
  readonly orderId: string;
  readonly status: string;
  readonly key: string;
}

export interface Diary {
  readonly answers: Answer[];
  /** Final errors, by their code. */
  readonly refusals: Map<string, number>;
  /** Answers after which the client repeats the request, by status or kind of failure. */
  readonly passing: Map<string, number>;
  /** Answers that a client must never see. */
  readonly wrong: string[];
  unanswered: number;
}

export function newDiary(): Diary {
  return { answers: [], refusals: new Map(), passing: new Map(), wrong: [], unanswered: 0 };
}

export interface Goods {
  readonly productId: string;
  readonly amount: number;
}

export interface ClientOptions {
  readonly urls: readonly string[];
  readonly apiKey: string;
  readonly customerId: string;
  /** The first one is ordered most. */
  readonly goods: readonly Goods[];
  readonly random: Random;
  readonly diary: Diary;
  readonly thinkMs: number;
  /** The share of orders whose funds are held first. Default: none. */
  readonly manualShare?: number;
  /** How long the client waits for an answer. Without it, sometimes less than a second. */
  readonly timeoutMs?: number;
  /** Called for each request with its reply, or why there was none. */
  readonly onReply?: (reply: Reply | string, ms: number) => void;
  /** No new work starts after this signal. */
  readonly stopped: AbortSignal;
  /** Repeats stop after this signal. */
  readonly abandoned: AbortSignal;
}

interface KnownOrder {
  readonly id: string;
  readonly key: string;
  readonly body: object;
  readonly firstStatus: string;
  status: string;
  total: number;
  /** What was captured and not refunded. */
  left: number;
  isManual: boolean;
  busy: boolean;
}

export interface Reply {
  readonly status: number;
  readonly body: Record<string, any>;
}

const count = (counts: Map<string, number>, name: string): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1);
};

/** After these the request is repeated. */
export const passingCodes = new Set([
  'request_in_progress',
  'resource_in_use',
  'gateway_error',
  'service_unavailable',
  'restore_in_progress',
]);
const expectedRefusals = new Set(['invalid_state_transition', 'validation_error']);
/** After this time the client continues with other work, and repeats the request in parallel. */
const patienceMs = 3_000;
const besideMax = 4;
const rememberedOrders = 30;

export async function runClient(options: ClientOptions): Promise<void> {
  const { random, diary, stopped, thinkMs } = options;
  const orders: KnownOrder[] = [];
  const beside = new Set<Promise<void>>();

  while (!stopped.aborted) {
    const work = act()
      .catch((error: Error) => void diary.wrong.push(`a client failed: ${error.stack}`))
      .finally(() => beside.delete(work));
    beside.add(work);
    await Promise.race([work, sleep(patienceMs)]);
    if (beside.size >= besideMax) await Promise.race(beside);
    await sleep(random.next() * thinkMs);
  }
  await Promise.all(beside);

  function act(): Promise<void> {
    const draw = random.next();
    const idle = orders.filter(({ busy }) => !busy);
    const failed = idle.filter(({ status }) => status === 'failed' || status === 'refund_failed');
    const refundable = idle.filter(({ status, left }) => /^(succeeded|partially_refunded)$/.test(status) && left > 0);
    const held = idle.filter(({ isManual, status }) => isManual && status === 'pending');
    if (held.length > 0 && draw < 0.25) return captureOrVoid(random.pick(held));
    if (failed.length > 0 && draw < 0.4) return retry(random.pick(failed));
    if (refundable.length > 0 && draw < 0.3) return refund(random.pick(refundable));
    if (idle.length > 0 && draw < 0.35) return read(random.pick(idle));
    if (idle.length > 0 && draw < 0.4) return repeat(random.pick(idle));
    return create();
  }

  async function create(): Promise<void> {
    const goods = random.chance(0.8) ? options.goods.slice(0, 1) : [random.pick(options.goods)];
    const quantity = random.between(1, 3);
    const isManual = random.chance(options.manualShare ?? 0);
    const body = {
      customer_id: options.customerId,
      items: goods.map(({ productId }) => ({ product_id: productId, quantity })),
      ...(isManual && { capture: 'manual' }),
    };
    const key = randomUUID();
    const reply = await answered('create', '/v1/orders', key, body);
    if (!reply) return;
    if (reply.status !== 201) {
      wrong('create', reply);
      return;
    }
    const total = goods.reduce((sum, { amount }) => sum + amount * quantity, 0);
    const { id, status } = reply.body;
    if (reply.body.total !== total) diary.wrong.push(`order ${id} costs ${reply.body.total} instead of ${total}`);
    if (![isManual ? 'pending' : 'succeeded', 'failed'].includes(status))
      diary.wrong.push(`order ${id} was answered with status ${status}`);
    note('create', reply, key);
    const left = isManual ? 0 : total;
    orders.push({ id, key, body, firstStatus: status, status, total, left, isManual, busy: false });
    if (orders.length > rememberedOrders) orders.shift();
  }

  /** Sometimes both at once: only one of them ends the authorization. */
  async function captureOrVoid(order: KnownOrder): Promise<void> {
    order.busy = true;
    const isBoth = random.chance(0.15);
    const isCaptured = isBoth || random.chance(0.75);
    await Promise.all([isCaptured && endHold(order, 'capture'), (isBoth || !isCaptured) && endHold(order, 'void')]);
    order.busy = false;
  }

  async function endHold(order: KnownOrder, kind: 'capture' | 'void'): Promise<void> {
    const amount = kind === 'capture' && random.chance(0.5) ? random.between(1, order.total) : undefined;
    const key = randomUUID();
    const reply = await answered(kind, `/v1/orders/${order.id}/${kind}`, key, amount ? { amount } : {});
    if (reply) learn(order, kind, reply, key);
  }

  async function refund(order: KnownOrder): Promise<void> {
    order.busy = true;
    // Sometimes two at once: together they must not refund more than was charged.
    const requests = random.chance(0.2) ? 2 : 1;
    await Promise.all(
      Array.from({ length: requests }, async () => {
        const amount = random.chance(0.5) ? undefined : random.between(1, order.left);
        const key = randomUUID();
        const reply = await answered('refund', `/v1/orders/${order.id}/refund`, key, amount ? { amount } : {});
        if (reply) learn(order, 'refund', reply, key);
      }),
    );
    order.busy = false;
  }

  async function retry(order: KnownOrder): Promise<void> {
    order.busy = true;
    const key = randomUUID();
    const reply = await answered('retry', `/v1/orders/${order.id}/retry`, key);
    if (reply) learn(order, 'retry', reply, key);
    order.busy = false;
  }

  async function read(order: KnownOrder): Promise<void> {
    order.busy = true;
    const reply = await answered('read', `/v1/orders/${order.id}`, '');
    if (reply) learn(order, 'read', reply, '');
    order.busy = false;
  }

  /** Repeats a key: the response must be the same order, as it was answered then. */
  async function repeat(order: KnownOrder): Promise<void> {
    const reply = await answered('repeat', '/v1/orders', order.key, order.body);
    if (!reply) return;
    if (reply.status !== 201) {
      wrong('repeat', reply);
      return;
    }
    const { id, status } = reply.body;
    if (id !== order.id) diary.wrong.push(`key ${order.key} was answered with order ${order.id}, then with ${id}`);
    if (status !== order.firstStatus) {
      diary.wrong.push(`key ${order.key} was answered with ${order.firstStatus}, then with ${status}`);
    }
    note('repeat', reply, order.key);
  }

  function learn(order: KnownOrder, kind: RequestKind, reply: Reply, key: string): void {
    const code = reply.body.error?.code;
    if (reply.status === 200) {
      if (reply.body.id !== order.id) diary.wrong.push(`${kind} of ${order.id} was answered with ${reply.body.id}`);
      order.status = reply.body.status;
      order.left = reply.body.captured_amount - reply.body.refunded_amount;
      note(kind, reply, key);
    } else if (kind !== 'read' && expectedRefusals.has(code)) {
      count(diary.refusals, `${kind} ${code}`);
      // The order has another status than expected; the next read shows it.
      order.status = 'unknown';
    } else wrong(kind, reply, order.id);
  }

  function note(kind: RequestKind, { body }: Reply, key: string): void {
    diary.answers.push({ kind, orderId: body.id, status: body.status, key });
  }

  function wrong(kind: RequestKind, { status, body }: Reply, orderId = ''): void {
    diary.wrong.push(`${kind} ${orderId} was answered ${status} ${JSON.stringify(body)}`);
  }

  /** Repeats the request until there is an answer; returns undefined if the run ends first. */
  async function answered(kind: RequestKind, path: string, key: string, body?: object): Promise<Reply | undefined> {
    while (!options.abandoned.aborted) {
      const startedMs = performance.now();
      const reply = await send(kind === 'read' ? 'GET' : 'POST', path, key, body);
      options.onReply?.(reply, performance.now() - startedMs);
      const code = typeof reply === 'string' ? reply : reply.body.error?.code;
      if (typeof reply !== 'string') {
        if (!passingCodes.has(code) && reply.status < 500) return reply;
        if (!passingCodes.has(code)) wrong(kind, reply);
      }
      count(diary.passing, code ?? 'no code');
      await sleep(random.between(100, 600));
    }
    diary.unanswered += 1;
    return undefined;
  }

  async function send(method: string, path: string, key: string, body?: object): Promise<Reply | string> {
    try {
      const response = await fetch(random.pick(options.urls) + path, {
        method,
        headers: {
          authorization: `Bearer ${options.apiKey}`,
          ...(body && { 'content-type': 'application/json' }),
          ...(key && { 'x-svc-idempotency-key': key }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(options.timeoutMs ?? random.between(800, 6_000)),
      });
      return { status: response.status, body: (await response.json()) as Record<string, any> };
    } catch (error) {
      return lostAnswer(error as Error, method, path);
    }
  }
}

/** Why there is no answer, and to which request. Ids and tokens are left out, so that equal requests read the same. */
export function lostAnswer({ name }: Error, method: string, path: string): string {
  const kind = path.replaceAll(/[\w-]{20,}/g, '…');
  return `${name === 'TimeoutError' ? 'timeout' : 'connection lost'} of ${method} ${kind}`;
}
