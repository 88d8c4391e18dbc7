import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  approvedCard,
  capture,
  countOf,
  openShop,
  order,
  readOrder,
  type Shop,
} from '../../../tests/support/orders.ts';
import {
  atBank as answerBank,
  begin as press,
  onPage as ofPage,
  pathOf,
} from '../../../tests/support/confirmations.ts';
import { somePlan, subscribe } from '../../../tests/support/subscriptions.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';

/** The page on which a customer confirms one payment with the bank, against the bank of the sandbox. */

const numbers = {
  frictionless: '4000009999003307',
  challenge: '4000009999003315',
  refused: '4000009999003323',
} as const;

let service: TestService;
before(async () => {
  service = await startTestService({ settings: { SVC_RATE_LIMIT_REFUSED_CARDS: 'off' } });
  await service.db.query('UPDATE companies SET authenticates = true WHERE id = $1', [service.company.id]);
});
after(() => service.stop());

interface Declined {
  readonly shop: Shop;
  readonly order: Reply['body'];
  readonly path: string;
}

/** An order of the API, whose customer is absent: the bank wants to ask. */
async function declined(number: string = numbers.challenge, body: object = {}): Promise<Declined> {
  const shop = await openShop(service, number);
  const reply = await order(service, shop, { ...body });
  assert.deepEqual([reply.status, reply.body.status], [201, 'failed'], reply.text);
  return { shop, order: reply.body, path: pathOf(reply.body) };
}

const onPage = (path: string, part: string, body?: object): Promise<Reply> => ofPage(service, path, part, body);
const begin = (path: string): Promise<Reply> => press(service, path);
const atBank = (url: string, answer: 'confirm' | 'refuse') => answerBank(service, url, answer);

const salesOf = async (id: string): Promise<string[]> =>
  (await readOrder(service, id)).transactions.map(({ status }: { status: string }) => status);

describe('the page of one payment', () => {
  it('shows merchant, amount and card, and nothing to who has another address', async () => {
    const { path, order: failed } = await declined();
    const { body } = await onPage(path, 'payment');
    assert.partialDeepStrictEqual(body, {
      status: 'open',
      details: { amount: 4900, currency: 'usd', order_number: failed.order_number, card: { last4: '3315' } },
      failure: null,
      next_action: null,
    });
    const forged = path.slice(0, -1) + (path.endsWith('0') ? '1' : '0');
    assert.equal((await onPage(forged, 'payment')).status, 404);
    assert.equal((await onPage(forged, 'confirm', { declines: 1 })).status, 404);
  });

  it('leads to the bank, stays failed until it has confirmed, and pays the order once', async () => {
    const { path, order: failed } = await declined();
    const { body: asked } = await begin(path);
    assert.equal(asked.status, 'processing');
    assert.equal((await readOrder(service, failed.id)).status, 'failed');
    const again = await begin(path);
    assert.equal(again.body.next_action.url, asked.next_action.url);
    const returned = await atBank(asked.next_action.url, 'confirm');
    const [first, second] = await Promise.all([
      onPage(path, 'resume', { returned }),
      onPage(path, 'resume', { returned }),
    ]);
    assert.ok([first, second].every(({ status }) => status === 200));
    assert.equal((await onPage(path, 'payment')).body.status, 'confirmed');
    const paid = await readOrder(service, failed.id);
    assert.deepEqual([paid.status, paid.authentication_url], ['succeeded', null]);
    assert.deepEqual(await salesOf(failed.id), ['failed', 'succeeded']);
    assert.equal((await begin(path)).body.status, 'confirmed');
    assert.deepEqual(await salesOf(failed.id), ['failed', 'succeeded']);
  });

  it('gives the card a mandate, and keeps the result with the transaction', async () => {
    const { path, shop, order: failed } = await declined();
    const { body: asked } = await begin(path);
    await onPage(path, 'resume', { returned: await atBank(asked.next_action.url, 'confirm') });
    const { transactions } = await readOrder(service, failed.id);
    const { body } = await service.call('GET', `/v1/transactions/${transactions.at(-1).id}`);
    assert.partialDeepStrictEqual(body.authentication, { status: 'authenticated', flow: 'challenge' });
    const methods = await service.call('GET', `/v1/customers/${shop.customerId}/payment_methods`);
    assert.ok(methods.body.data[0].mandate);
    assert.equal((await order(service, shop, { off_session: true })).status, 201);
  });

  it('can be tried again after the customer refused, and says so', async () => {
    const { path, order: failed } = await declined();
    const { body: asked } = await begin(path);
    const { body } = await onPage(path, 'resume', { returned: await atBank(asked.next_action.url, 'refuse') });
    assert.equal(body.status, 'open');
    assert.match(body.failure, /bank/i);
    assert.equal((await readOrder(service, failed.id)).authentication_url, failed.authentication_url);
    const next = (await begin(path)).body;
    await onPage(path, 'resume', { returned: await atBank(next.next_action.url, 'confirm') });
    assert.equal((await readOrder(service, failed.id)).status, 'succeeded');
  });

  it('can be given up at the bank: that try ends there, the order is not paid by it, and the next one can be confirmed', async () => {
    const { path, order: failed } = await declined();
    const { body: asked } = await begin(path);
    const given = await onPage(path, 'abandon', { declines: asked.declines });
    assert.deepEqual([given.status, given.body.status, given.body.next_action], [200, 'open', null], given.text);
    assert.match(given.body.failure, /bank/i);
    await atBank(asked.next_action.url, 'confirm');
    await onPage(path, 'resume', { returned: { returned: '1' } });
    assert.deepEqual(await salesOf(failed.id), ['failed', 'failed']);
    const next = (await begin(path)).body;
    const stale = await onPage(path, 'abandon', { declines: asked.declines });
    assert.equal(stale.body.next_action.url, next.next_action.url, 'another tab has begun it since');
    await onPage(path, 'resume', { returned: await atBank(next.next_action.url, 'confirm') });
    assert.deepEqual(await salesOf(failed.id), ['failed', 'failed', 'succeeded']);
    assert.equal((await onPage(path, 'abandon', { declines: next.declines })).body.status, 'confirmed');
  });

  it('is paid once if the customer confirms and gives up at the same moment', async () => {
    const { path, order: failed } = await declined();
    const { body: asked } = await begin(path);
    const returned = await atBank(asked.next_action.url, 'confirm');
    const replies = await Promise.all([
      onPage(path, 'abandon', { declines: asked.declines }),
      onPage(path, 'resume', { returned }),
    ]);
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 200],
    );
    await onPage(path, 'resume', { returned });
    assert.deepEqual(await salesOf(failed.id), ['failed', 'succeeded']);
  });

  it('believes no parameter that the browser brings', async () => {
    const { path, order: failed } = await declined();
    await begin(path);
    const { body } = await onPage(path, 'resume', { returned: { result: 'confirmed', returned: '1' } });
    assert.equal(body.status, 'processing');
    assert.equal((await readOrder(service, failed.id)).status, 'failed');
  });

  it('holds funds if the order is to be captured later', async () => {
    const { path, order: failed } = await declined(numbers.challenge, { capture: 'manual' });
    const { body: asked } = await begin(path);
    const { body } = await onPage(path, 'resume', { returned: await atBank(asked.next_action.url, 'confirm') });
    assert.deepEqual([body.status, body.details.is_held], ['confirmed', true]);
    assert.ok((await readOrder(service, failed.id)).capture_before);
  });

  it('ends after 30 days, and when the card is deleted', async () => {
    const { path, order: failed } = await declined();
    await service.db.query('UPDATE orders SET authentication_until = now() WHERE id = $1', [failed.id]);
    assert.deepEqual(
      [(await onPage(path, 'payment')).body.status, (await begin(path)).body.status],
      ['ended', 'ended'],
    );
    const other = await declined();
    const replacement = await capture(service, other.shop.customerId, approvedCard);
    const { customerId, paymentMethodId } = other.shop;
    const deleted = await service.call('DELETE', `/v1/customers/${customerId}/payment_methods/${paymentMethodId}`, {
      body: { replacement_payment_method_id: replacement },
    });
    assert.equal(deleted.status, 200, deleted.text);
    assert.equal((await onPage(other.path, 'payment')).body.status, 'ended');
    assert.equal(await countOf(service, 'transactions', 'order_id = $1', [other.order.id]), 1);
  });

  it('ends with the subscription of the order', async () => {
    const { customerId } = await openShop(service, numbers.challenge);
    const { id: plan_id } = await somePlan(service);
    const { body } = await subscribe(service, { plan_id, customer_id: customerId });
    assert.equal(body.status, 'failed');
    const path = pathOf(await readOrder(service, body.latest_order_id));
    assert.equal((await onPage(path, 'payment')).body.status, 'open');
    assert.equal((await service.call('DELETE', `/v1/subscriptions/${body.id}`)).status, 200);
    assert.equal((await onPage(path, 'payment')).body.status, 'ended');
    assert.equal((await readOrder(service, body.latest_order_id)).authentication_url, null);
    assert.equal((await begin(path)).body.status, 'ended');
    assert.deepEqual(await salesOf(body.latest_order_id), ['failed']);
  });
});
