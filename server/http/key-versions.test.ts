import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { approvedCard, assertRefused, openShop, type Shop } from '../../tests/support/orders.ts';
import {
  type Merchant,
  type Reply,
  someCustomer,
  startTestService,
  type TestService,
} from '../../tests/support/service.ts';

/** What an idempotency key compares of the version: that a request gets no body of another shape than it asked for. */

const old = '2025-11-04';
const latest = '2026-02-11';

let service: TestService;
let merchant: Merchant;
let shop: Shop;
/** Its charges lose their answer: the key stands for unfinished work. */
let lost: Shop;

before(async () => {
  service = await startTestService();
  merchant = await service.createMerchant();
  const { key } = merchant;
  shop = await openShop(service, approvedCard, { key });
  lost = await openShop(service, '4000009999007070', { key });
});
after(() => service.stop());

/** The company's own version, used where a request names none. */
async function pin(version: string): Promise<void> {
  await service.db.query('UPDATE companies SET api_version = $2 WHERE id = $1', [merchant.sandbox.id, version]);
  for (let look = 0; look < 100; look += 1) {
    const { headers } = await service.call('GET', '/v1/plans', { key: merchant.key });
    if (headers.get('svc-version') === version) return;
    await sleep(10);
  }
  assert.fail(`the company is not pinned to ${version}`);
}

interface Request {
  readonly path: string;
  readonly body: object;
  readonly idempotencyKey: string;
}

const send = (request: Request, version?: string): Promise<Reply> =>
  service.call('POST', request.path, {
    key: merchant.key,
    body: request.body,
    idempotencyKey: request.idempotencyKey,
    ...(version && { headers: { 'svc-version': version } }),
  });

const card = { number: approvedCard, exp_month: '12', exp_year: '2031', cvc: '999' };
const orderOf = ({ customerId, productId }: Shop): object => ({
  customer_id: customerId,
  items: [{ product_id: productId, quantity: 1 }],
});

interface Kind {
  readonly request: () => Promise<Omit<Request, 'idempotencyKey'>>;
  readonly status: number;
  /** How the first request is answered, where that is not the end of it. */
  readonly first?: number;
}

const kinds: Readonly<Record<string, Kind>> = {
  'a customer': { request: async () => ({ path: '/v1/customers', body: someCustomer() }), status: 201 },
  'a refused coupon': {
    request: async () => ({
      path: '/v1/coupons',
      body: { name: 'Both', percentage: 10, amount: 100, currency: 'usd' },
    }),
    status: 400,
  },
  'an order': { request: async () => ({ path: '/v1/orders', body: orderOf(shop) }), status: 201 },
  'an order in doubt': { request: async () => ({ path: '/v1/orders', body: orderOf(lost) }), status: 201, first: 502 },
  'a refund': {
    request: async () => {
      const paid = await send({ path: '/v1/orders', body: orderOf(shop), idempotencyKey: randomUUID() }, latest);
      return { path: `/v1/orders/${paid.body.id}/refund`, body: { amount: 100 } };
    },
    status: 200,
  },
  'a captured card': {
    request: async () => ({ path: '/capture', body: { customer_id: shop.customerId, card } }),
    status: 201,
  },
  'a card token': { request: async () => ({ path: '/v1/card_tokens', body: { card } }), status: 201 },
};

interface Case {
  readonly what: string;
  /** What each request names, and what the company is pinned to meanwhile. */
  readonly first: { readonly named?: string; readonly pinned: string };
  readonly repeat: { readonly named?: string; readonly pinned: string };
  readonly same: boolean;
}

const cases: readonly Case[] = [
  {
    what: 'names the same version',
    first: { named: old, pinned: latest },
    repeat: { named: old, pinned: latest },
    same: true,
  },
  {
    what: 'names another version',
    first: { named: old, pinned: latest },
    repeat: { named: latest, pinned: latest },
    same: false,
  },
  {
    what: 'names the version that the first got without naming it',
    first: { pinned: latest },
    repeat: { named: latest, pinned: old },
    same: true,
  },
  {
    what: 'names another version than the first got without naming it',
    first: { pinned: latest },
    repeat: { named: old, pinned: old },
    same: false,
  },
  {
    what: 'names none, and the company has another than the first named',
    first: { named: old, pinned: latest },
    repeat: { pinned: latest },
    same: false,
  },
  {
    what: 'names none, and the company has the one that the first named',
    first: { named: old, pinned: latest },
    repeat: { pinned: old },
    same: true,
  },
  { what: 'names none either', first: { pinned: old }, repeat: { pinned: old }, same: true },
  {
    what: 'names none either, and the company was upgraded in between',
    first: { pinned: old },
    repeat: { pinned: latest },
    same: true,
  },
];

for (const [name, { request, status, first: firstStatus = status }] of Object.entries(kinds)) {
  describe(`the key of ${name}, repeated by a request that`, { concurrency: false }, () => {
    for (const { what, first, repeat, same } of cases) {
      it(`${what}, ${same ? 'gets the answer in the first version' : 'is a conflict that names both versions'}`, async () => {
        const sent = { ...(await request()), idempotencyKey: randomUUID() };
        await pin(first.pinned);
        const got = first.named ?? first.pinned;
        const original = await send(sent, first.named);
        assert.equal(original.status, firstStatus, original.text);
        await pin(repeat.pinned);
        const again = await send(sent, repeat.named);
        if (same) assertAnswer(again);
        else {
          assertRefused(again, 422, 'idempotency_key_conflict', 'X-SVC-Idempotency-Key');
          const { message } = again.body.error;
          assert.ok(
            [old, latest].every((version) => message.includes(version)),
            message,
          );
          assert.ok(message.includes(original.headers.get('svc-request-id')), message);
        }
        // In any case the key goes on with the version it began with.
        assertAnswer(await send(sent, got));

        function assertAnswer(reply: Reply): void {
          assert.equal(reply.status, status, reply.text);
          assert.equal(reply.headers.get('svc-version'), got);
          assert.equal(reply.headers.get('svc-idempotent-replayed'), 'true');
          if (status < 300) assert.equal('data' in reply.body, got === old, reply.text);
          if (firstStatus === status) assert.equal(reply.text, original.text);
        }
      });
    }
  });
}

describe('a key from before requests were known to name versions', () => {
  it('is repeated with the version it got or none, and not with another', async () => {
    await pin(latest);
    const sent = { path: '/v1/customers', body: someCustomer(), idempotencyKey: randomUUID() };
    const original = await send(sent, old);
    await service.db.query('UPDATE idempotency_keys SET version_named = false WHERE key = $1', [sent.idempotencyKey]);
    assert.equal((await send(sent)).text, original.text);
    assert.equal((await send(sent, old)).text, original.text);
    assertRefused(await send(sent, latest), 422, 'idempotency_key_conflict');
  });
});
