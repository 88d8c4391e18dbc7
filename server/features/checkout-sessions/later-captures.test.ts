import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { unknownOutcome, useFaultyService } from '../../../tests/support/faulty-service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import {
  assertInvalid,
  checkAllOpen,
  eventTypes,
  openShop,
  readOrder,
  type Shop,
} from '../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';
import { somePlan } from '../../../tests/support/subscriptions.ts';
import { continuePayments } from './jobs.ts';

/** Checkout sessions and payment links whose payment is captured later. */

let service: TestService;
let shop: Shop;
const faults = useFaultyService(async (started) => {
  service = started;
  shop = await openShop(service);
});

const total = 4900;

async function create(path: string, body: object = {}): Promise<Reply['body']> {
  const offer = { mode: 'payment', items: [{ product_id: shop.productId, quantity: 1 }], capture: 'manual', ...body };
  const reply = await service.call('POST', path, { body: offer });
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}
const newSession = (body: object = {}) => create('/v1/checkout_sessions', body);

const pathOf = ({ url }: Reply['body']): string => new URL(url).pathname;

const onPage = (path: string, part: string, body?: object): Promise<Reply> => {
  const headers = { origin: service.baseUrl };
  return service.call(body ? 'POST' : 'GET', `${path}/${part}`, { key: null, headers, ...(body && { body }) });
};

async function pay(path: string, number = '4242424242424242'): Promise<Reply['body']> {
  const card = { number, exp_month: '12', exp_year: '2032', cvc: '999' };
  const { body: session } = await onPage(path, 'session');
  const { body: token } = await onPage(path, 'card_tokens', { card });
  const phone = `+1555${String(Math.floor(Math.random() * 1e7)).padStart(7, '0')}`;
  const customer = { email: `${randomUUID()}@example.com`, first_name: 'Ada', last_name: 'Lovelace', phone };
  const { attempt, total: shown } = session;
  const reply = await onPage(path, 'pay', { attempt, total: shown, card_token: token.id, customer });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

const readSession = async (id: string): Promise<Reply['body']> =>
  (await service.call('GET', `/v1/checkout_sessions/${id}`)).body;
const onOrder = (id: string, act: 'capture' | 'void', body: object = {}): Promise<Reply> =>
  service.call('POST', `/v1/orders/${id}/${act}`, { body });

describe('a checkout session with capture: manual', () => {
  it('completes with an order whose funds are held, and says so without a receipt', async () => {
    const session = await newSession();
    assert.equal(session.capture, 'manual');
    const { status, capture, result } = await pay(pathOf(session));
    assert.deepEqual([status, capture], ['completed', 'manual']);
    assert.partialDeepStrictEqual(result, { state: 'held', total, receipt_url: null, receipt_email: null });
    const { order_id: id, ...completed } = await readSession(session.id);
    assert.equal(completed.status, 'completed');
    const order = await readOrder(service, id);
    assert.deepEqual([order.status, order.authorized_amount, order.captured_amount], ['pending', total, 0]);
    assert.deepEqual(await eventTypes(service, id), ['order.created', 'order.authorized']);
  });

  it('shows on its page what was captured, and that funds were released', async () => {
    const [captured, released] = [await newSession(), await newSession()];
    for (const session of [captured, released]) await pay(pathOf(session));
    const ids = [(await readSession(captured.id)).order_id, (await readSession(released.id)).order_id];
    assert.equal((await onOrder(ids[0], 'capture', { amount: 1900 })).body.status, 'succeeded');
    assert.equal((await onOrder(ids[1], 'void')).body.status, 'voided');
    const [paid, nothing] = [await onPage(pathOf(captured), 'session'), await onPage(pathOf(released), 'session')].map(
      ({ body }) => body.result,
    );
    assert.deepEqual([paid.state, paid.total], ['paid', 1900]);
    assert.ok(paid.receipt_url);
    assert.deepEqual([nothing.state, nothing.total, nothing.receipt_url], ['released', total, null]);
  });

  it('can be paid again after a decline, and authorizes then', async () => {
    const session = await newSession();
    const declined = await pay(pathOf(session), '4000000000000002');
    assert.deepEqual([declined.status, declined.attempt], ['open', 1]);
    assert.equal((await pay(pathOf(session))).result.state, 'held');
  });

  it('stays in progress while the authorization is in doubt, and completes when it is found', async () => {
    const session = await newSession();
    faults.authorize = unknownOutcome;
    assert.equal((await pay(pathOf(session))).status, 'processing');
    delete faults.authorize;
    await checkAllOpen(service);
    await service.db.query('UPDATE checkout_payments SET check_at = now() WHERE session_id = $1', [session.id]);
    const shard = { name: service.company.shard, db: service.db, clock: service.clock };
    const { orders, subscriptions } = service.paymentsOn(service.company.shard);
    await continuePayments(shard, { db: service.db, orders, subscriptions }, silentLog, 10);
    const { body: page } = await onPage(pathOf(session), 'session');
    assert.deepEqual([page.status, page.result?.state], ['completed', 'held']);
  });

  it('is not for subscriptions, and of no other kind', async () => {
    const { id: plan_id } = await somePlan(service);
    for (const [body, field] of [
      [{ mode: 'subscription', plan_id, capture: 'manual' }, 'capture'],
      [{ mode: 'payment', items: [{ product_id: shop.productId, quantity: 1 }], capture: 'later' }, 'capture'],
    ] as const) {
      assertInvalid(await service.call('POST', '/v1/checkout_sessions', { body }), field);
    }
    const plain = await newSession({ capture: 'automatic' });
    assert.equal((await pay(pathOf(plain))).result.state, 'paid');
  });
});

describe('a payment link with capture: manual', () => {
  const visit = async ({ url }: Reply['body']): Promise<string> => {
    const reply = await fetch(service.baseUrl + new URL(url).pathname, { redirect: 'manual' });
    return reply.headers.get('location') ?? '';
  };

  it('opens sessions that hold funds', async () => {
    const link = await create('/v1/payment_links', { name: 'Tea' });
    assert.equal(link.capture, 'manual');
    assert.equal((await pay(await visit(link))).result.state, 'held');
    assert.equal((await service.call('GET', `/v1/payment_links/${link.id}`)).body.payments, 1);
  });

  it('is not charged at once by the release before, which opens its sessions and begins payments without this', async () => {
    const link = await create('/v1/payment_links', { name: 'Tea' });
    const id = randomUUID();
    await service.db.query(
      `INSERT INTO checkout_sessions (company_id, id, token_hash, sealed_token, mode, items, plan_id, customer_id, success_url,
         cancel_url, coupon_code, allow_coupons, collect, metadata, payment_link_id, expires_at, updated_at)
       SELECT company_id, $2, $3, sealed_token, mode, items, plan_id, NULL, NULL, NULL, NULL, false, '{}', '{}', id, now(), now()
       FROM payment_links WHERE id = $1`,
      [link.id, id, Buffer.from(id)],
    );
    const [opened] = await service.db.query('SELECT capture FROM checkout_sessions WHERE id = $1', [id]);
    assert.deepEqual(opened, { capture: 'manual' });
    const begin = (kind: string) =>
      service.db.query(
        `INSERT INTO checkout_payments (company_id, session_id, number, state, input, total, check_at)
         VALUES ($1, $2, 0, 'ended', $3, 4900, NULL)`,
        [service.company.id, id, JSON.stringify({ kind, input: {} })],
      );
    await assert.rejects(begin('order'), /captured later/);
    await begin('authorization');
  });
});
