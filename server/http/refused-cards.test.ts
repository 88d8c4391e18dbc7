import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import {
  type Merchant,
  type Reply,
  someCustomer,
  startTestService,
  type TestService,
} from '../../tests/support/service.ts';
import { limits } from '../limits.ts';
import { createMemoryRateLimiter } from '../platform/rate-limiter/memory.ts';
import type { Admitted } from './caller.ts';
import { RefusedCard, refusingCardTesters } from './refused-cards.ts';

/** Refused cards are limited by address on public pages, and by customer and card for servers. */

const card = { number: '4242424242424242', exp_month: '12', exp_year: '2031', cvc: '999' };
const { count } = limits.refusedCards;

let service: TestService;
const limiterKeys = new Set<string>();

before(async () => {
  const memory = createMemoryRateLimiter();
  service = await startTestService({
    settings: { SVC_TRUST_PROXY: '127.0.0.1', SVC_RATE_LIMIT_CAPTURE: 'off' },
    limiter: {
      consume: (checks, nowMs) => {
        for (const { key } of checks) limiterKeys.add(key);
        return memory.consume(checks, nowMs);
      },
      charge: (checks, amount, nowMs) => memory.charge(checks, amount, nowMs),
      giveBack: (checks) => memory.giveBack(checks),
    },
  });
});
after(() => service.stop());

let hosts = 0;
const someAddress = (): string => `198.51.${Math.floor((hosts += 1) / 256)}.${hosts % 256}`;

interface Shopper {
  readonly key: string;
  readonly address: string;
}

const token = ({ key, address }: Shopper, body: object): Promise<Reply> =>
  service.call('POST', '/v1/card_tokens', { key, body, headers: { 'x-forwarded-for': address } });

const capture = ({ key, address }: Shopper, customer_id: string, more: object = {}): Promise<Reply> =>
  service.call('POST', '/capture', {
    key,
    body: { customer_id, card: { ...card, ...more } },
    headers: { 'x-forwarded-for': address },
  });

async function customerOf({ key }: Merchant): Promise<string> {
  return (await service.call('POST', '/v1/customers', { key, body: someCustomer() })).body.id;
}

const publishable = ({ sandbox }: Merchant): Promise<string> => service.createKey(sandbox, { kind: 'publishable' });

async function refuse(times: number, attempt: () => Promise<Reply>): Promise<void> {
  for (let index = 0; index < times; index += 1) {
    const reply = await attempt();
    assert.deepEqual(
      [reply.status, reply.body.error?.code],
      [400, 'validation_error'],
      `attempt ${index}: ${reply.text}`,
    );
  }
}

function assertStopped(reply: Reply, message: RegExp): void {
  assert.deepEqual([reply.status, reply.body.error?.code], [429, 'rate_limit_exceeded'], reply.text);
  assert.match(reply.body.error.message, message);
  assert.ok(Number(reply.headers.get('retry-after')) >= 1);
}

describe('with a publishable key', () => {
  it('20 rejected cards in 10 minutes block the IP address for a while, also for valid cards', async () => {
    const key = await publishable(await service.createMerchant());
    const shopper = { key, address: someAddress() };
    await refuse(count, () => token(shopper, { card: { ...card, number: '1' } }));
    assertStopped(await token(shopper, { card }), /from your IP address/);
    assert.equal((await token({ key, address: someAddress() }, { card })).status, 201);
    service.clock.advance(10 * 60_000);
    assert.equal((await token(shopper, { card })).status, 201);
  });

  it('45 cards at once that are rejected: 20 are checked', async () => {
    const limiter = createMemoryRateLimiter();
    const testing = { limiter, clock: { nowMs: () => 0 }, refusedCards: limits.refusedCards };
    const admitted = { company: { id: 'c' }, caller: { kind: 'key', publishable: true } } as unknown as Admitted;
    let checked = 0;
    const attempt = (): Promise<void> =>
      refusingCardTesters(testing, admitted, '192.0.2.1', {}, async () => {
        checked += 1;
        // The vault answers later.
        await setImmediate();
        throw new RefusedCard([{ field: 'card.cvc', code: 'invalid_value', message: 'must have 3 or 4 digits' }]);
      });
    const outcomes = await Promise.allSettled(Array.from({ length: 45 }, attempt));
    const codes = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.code : undefined));
    assert.equal(codes.filter((code) => code === 'rate_limit_exceeded').length, 45 - count);
    assert.equal(checked, count);
  });

  it('50 valid cards at once are all taken, and use up nothing of the limit', async () => {
    const shopper = { key: await publishable(await service.createMerchant()), address: someAddress() };
    const replies = await Promise.all(Array.from({ length: 50 }, () => token(shopper, { card })));
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [201]);
    await refuse(count, () => token(shopper, { card: { ...card, number: '1' } }));
    assertStopped(await token(shopper, { card }), /from your IP address/);
  });

  it('the address is stopped at this company only', async () => {
    const address = someAddress();
    const key = await publishable(await service.createMerchant());
    await refuse(count, () => token({ key, address }, { card: { ...card, number: '1' } }));
    assertStopped(await token({ key, address }, { card }), /from your IP address/);
    const other = await publishable(await service.createMerchant());
    assert.equal((await token({ key: other, address }, { card })).status, 201);
  });

  it('all addresses of an IPv6 network are one', async () => {
    const key = await publishable(await service.createMerchant());
    let host = 0;
    await refuse(count, () => token({ key, address: `2001:db8:1:1::${(host += 1)}` }, { card: { ...card, cvc: '1' } }));
    assertStopped(await token({ key, address: '2001:db8:1:1:ffff::1' }, { card }), /from your IP address/);
    assert.equal((await token({ key, address: '2001:db8:1:2::1' }, { card })).status, 201);
  });
});

describe('with a secret key', () => {
  it('the typing errors of one shopper stop that customer and no other', async () => {
    const merchant = await service.createMerchant();
    const server = { key: merchant.key, address: someAddress() };
    const [clumsy, other] = [await customerOf(merchant), await customerOf(merchant)];
    await refuse(count, () => capture(server, clumsy, { number: '4242' }));
    assertStopped(await capture(server, clumsy.toUpperCase()), /of this customer/);
    assert.equal((await capture(server, other)).status, 201);
    assert.equal((await token(server, { card })).status, 201);
  });

  it('one card that is tried for many customers is stopped for all of them', async () => {
    const merchant = await service.createMerchant();
    const server = { key: merchant.key, address: someAddress() };
    const customers = await Promise.all(Array.from({ length: count + 1 }, () => customerOf(merchant)));
    let next = 0;
    await refuse(count, () => capture(server, customers[next++] ?? '', { exp_year: '2020' }));
    assertStopped(await capture(server, customers[count] ?? ''), /This card/);
    assert.equal((await capture(server, customers[count] ?? '', { number: '5555555555554444' })).status, 201);
    // The fingerprint of a card differs from company to company.
    const elsewhere = await service.createMerchant();
    assert.equal((await capture({ ...server, key: elsewhere.key }, await customerOf(elsewhere))).status, 201);
  });

  it('cards and customers count apart from each other, not as pairs', async () => {
    const merchant = await service.createMerchant();
    const server = { key: merchant.key, address: someAddress() };
    const customer = await customerOf(merchant);
    const numberOf = (index: number): string => `40000099990${String(10000 + index)}`;
    let next = 0;
    await refuse(count, () => capture(server, customer, { number: numberOf(next++), exp_year: '2020' }));
    assertStopped(await capture(server, customer, { number: numberOf(next) }), /of this customer/);
    assert.equal((await capture(server, await customerOf(merchant), { number: numberOf(0) })).status, 201);
  });

  it('the address does not matter, since all shoppers of a server have the same', async () => {
    const merchant = await service.createMerchant();
    const server = { key: merchant.key, address: someAddress() };
    for (let shopper = 0; shopper < 3; shopper += 1) {
      const customer = await customerOf(merchant);
      await refuse(count - 1, () => capture(server, customer, { number: '1' }));
      assert.equal((await capture(server, customer)).status, 201);
    }
  });

  it('a company is stopped after many more', async () => {
    const limiter = createMemoryRateLimiter();
    const admitted = { company: { id: 'c' }, caller: { kind: 'key', publishable: false } } as unknown as Admitted;
    const attempt = (customerId: string): Promise<void> =>
      refusingCardTesters(
        { limiter, clock: { nowMs: () => 0 }, refusedCards: limits.refusedCards },
        admitted,
        '',
        { customerId },
        async () => {
          throw new RefusedCard([
            { field: 'card.number', code: 'invalid_value', message: 'must have 12 to 19 digits' },
          ]);
        },
      );
    const most = limits.refusedCardsOfCompany.count;
    assert.ok(most >= 50 * count);
    for (let index = 0; index < most; index += 1) await assert.rejects(attempt(`customer ${index}`), RefusedCard);
    await assert.rejects(attempt('another'), { code: 'rate_limit_exceeded', message: /of this company/ });
  });
});

describe('an operator who does not limit refused cards', () => {
  it('sees none stopped', async () => {
    const settings = { SVC_RATE_LIMIT_CAPTURE: 'off', SVC_RATE_LIMIT_REFUSED_CARDS: 'off' };
    const unlimited = await startTestService({ settings });
    try {
      for (let attempt = 0; attempt < 2 * count; attempt += 1) {
        const reply = await unlimited.call('POST', '/v1/card_tokens', { body: { card: { ...card, number: '1' } } });
        assert.equal(reply.status, 400, reply.text);
      }
      assert.equal((await unlimited.call('POST', '/v1/card_tokens', { body: { card } })).status, 201);
    } finally {
      await unlimited.stop();
    }
  });
});

describe('what is no refused card', () => {
  const malformed: Record<string, unknown> = {
    'no body': {},
    'a misspelt field': { crad: card },
    'no card': { card: null },
    'an empty card': { card: {} },
    'a card without a number': { card: { ...card, number: undefined } },
    'a number that is none': { card: { ...card, number: 4242424242424242 } },
    'a field that does not exist': { card: { ...card, pin: '1234' } },
    'wrong billing details': { card, billing_details: { email: 'nowhere' } },
  };
  for (const [what, body] of Object.entries(malformed)) {
    it(what, async () => {
      const merchant = await service.createMerchant();
      const shopper = { key: await publishable(merchant), address: someAddress() };
      await refuse(count + 2, () => token(shopper, body as object));
      assert.equal((await token(shopper, { card })).status, 201);
      const server = { key: merchant.key, address: shopper.address };
      const customer_id = await customerOf(merchant);
      const send = { key: merchant.key, body: { customer_id, ...(body as object) } };
      await refuse(count + 2, () => service.call('POST', '/capture', send));
      assert.equal((await capture(server, customer_id)).status, 201);
    });
  }

  it('a token that cannot be attached', async () => {
    const merchant = await service.createMerchant();
    const customer = await customerOf(merchant);
    const attach = (card_token: string): Promise<Reply> =>
      service.call('POST', `/v1/customers/${customer}/payment_methods`, { key: merchant.key, body: { card_token } });
    for (let index = 0; index < count + 2; index += 1) {
      assert.equal((await attach('cct_none')).body.error.param, 'card_token');
    }
    const made = await token({ key: await publishable(merchant), address: someAddress() }, { card });
    assert.equal((await attach(made.body.id)).status, 201);
  });
});

describe('the store of the limits', () => {
  it('never sees a card number, in whole or in part', async () => {
    const merchant = await service.createMerchant();
    const server = { key: merchant.key, address: someAddress() };
    const captured = await capture(server, await customerOf(merchant));
    await capture(server, await customerOf(merchant), { cvc: '1' });
    const ofCards = [...limiterKeys].filter((key) => key.includes('refused_cards:card '));
    assert.ok(ofCards.some((key) => key.endsWith(captured.body.card.fingerprint)));
    for (const key of limiterKeys) assert.doesNotMatch(key, /42424242|55555555/);
  });
});
