import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { limits } from '../../limits.ts';
import type { References } from '../../references.ts';
import type { Vault } from '../../vault/vault.ts';
import { ServiceProcess } from '../../../tests/support/process.ts';
import { raceRounds } from '../../../tests/support/random.ts';
import {
  type CallOptions,
  type Reply,
  someCustomer,
  startTestService,
  type TestService,
} from '../../../tests/support/service.ts';
import { removeUnreferencedCards } from './jobs.ts';

const card = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

async function newCustomer(): Promise<string> {
  return (await service.call('POST', '/v1/customers', { body: someCustomer() })).body.id;
}

async function newToken(body: object = { card }, options: CallOptions = {}): Promise<string> {
  const reply = await service.call('POST', '/v1/card_tokens', { body, ...options });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

async function attach(customer: string, body: object, options: CallOptions = {}): Promise<Reply> {
  return service.call('POST', `/v1/customers/${customer}/payment_methods`, { body, ...options });
}

async function attached(customer: string, options: object = {}): Promise<Record<string, any>> {
  const reply = await attach(customer, { card_token: await newToken(), ...options });
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

async function defaultOf(customer: string): Promise<string | null> {
  return (await service.call('GET', `/v1/customers/${customer}`)).body.default_payment_method_id;
}

function assertRefused(reply: Reply, status: number, code: string, param?: string): void {
  assert.deepEqual([reply.status, reply.body.error?.code], [status, code], reply.text);
  if (param !== undefined) assert.equal(reply.body.error.param, param);
}

describe('POST /v1/card_tokens', () => {
  it('exchanges a card for a token with a publishable key, from a page of any origin', async () => {
    const key = await service.createKey(service.company, { kind: 'publishable' });
    const reply = await service.call('POST', '/v1/card_tokens', {
      key,
      body: { card },
      headers: { origin: 'https://shop.test' },
    });
    assert.equal(reply.status, 201, reply.text);
    assert.match(reply.body.id, /^cct_[0-9A-Za-z]{32}$/);
    assert.deepEqual(reply.body.card, { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2032 });
    assert.equal(reply.headers.get('access-control-allow-origin'), '*');
  });

  it('answers the question a browser asks first', async () => {
    const reply = await service.call('OPTIONS', '/v1/card_tokens', { key: null });
    assert.equal(reply.status, 204);
    assert.match(reply.headers.get('access-control-allow-headers') ?? '', /Authorization/);
  });

  it('expires 15 minutes after it was made, by the company’s clock', async () => {
    const reply = await service.call('POST', '/v1/card_tokens', { body: { card } });
    const minutes = (Date.parse(reply.body.expires_at) - Date.now()) / 60_000;
    assert.ok(Math.abs(minutes - 15) < 0.1);
  });

  it('needs payment_methods:write of a secret key', async () => {
    const key = await service.createKey(service.company, { permissions: ['payment_methods:read'] });
    assertRefused(
      await service.call('POST', '/v1/card_tokens', { key, body: { card } }),
      403,
      'insufficient_permissions',
    );
  });

  for (const [field, wrong] of [
    ['card.number', { number: '4242' }],
    ['card.number', { number: '4242x42424242424' }],
    ['card.exp_month', { exp_month: '13' }],
    ['card.exp_year', { exp_year: '20x' }],
    ['card.exp_year', { exp_year: '2020' }],
    ['card.cvc', { cvc: '12' }],
  ] as const) {
    it(`tells a bad ${field} (${Object.values(wrong)[0]}) by its field, and repeats nothing of the card`, async () => {
      const reply = await service.call('POST', '/v1/card_tokens', { body: { card: { ...card, ...wrong } } });
      assertRefused(reply, 400, 'validation_error', field);
      assert.ok(!reply.text.includes('4242424242424242'));
    });
  }

  it('takes any number of 12 to 19 digits in the sandbox, and only possible ones live', async () => {
    const merchant = await service.createMerchant();
    const live = await service.createKey(merchant.live);
    for (const number of ['123456789012', '1234567890123456789', '4000000000000000']) {
      await newToken({ card: { ...card, number } }, { key: merchant.key });
      assertRefused(
        await service.call('POST', '/v1/card_tokens', { key: live, body: { card: { ...card, number } } }),
        400,
        'validation_error',
        'card.number',
      );
    }
    await newToken({ card: { ...card, cvc: '123' } }, { key: live });
    const amex = { ...card, number: '378282246310005', cvc: '123' };
    assertRefused(
      await service.call('POST', '/v1/card_tokens', { key: live, body: { card: amex } }),
      400,
      'validation_error',
      'card.cvc',
    );
  });

  it('replays for a repeated idempotency key, also with another CVC, and conflicts with another number', async () => {
    const idempotencyKey = crypto.randomUUID();
    const first = await service.call('POST', '/v1/card_tokens', { idempotencyKey, body: { card } });
    const again = await service.call('POST', '/v1/card_tokens', {
      idempotencyKey,
      body: { card: { ...card, cvc: '111' } },
    });
    assert.equal(again.text, first.text);
    const other = { ...card, number: '5555555555554444' };
    assertRefused(
      await service.call('POST', '/v1/card_tokens', { idempotencyKey, body: { card: other } }),
      422,
      'idempotency_key_conflict',
    );
  });
});

describe('attaching a token', () => {
  it('gives the payment method', async () => {
    const customer = await newCustomer();
    const billing = { name: 'Ada', address: { line1: '1 Tea St', country: 'GB' } };
    const method = await attached(customer, { billing_details: billing });
    assert.equal(method.type, 'card');
    assert.equal(method.customer_id, customer);
    assert.deepEqual(method.billing_details, billing);
    assert.deepEqual(
      { ...method.card, fingerprint: '' },
      { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2032, fingerprint: '' },
    );
    const read = await service.call('GET', `/v1/customers/${customer}/payment_methods/${method.id}`);
    assert.deepEqual(read.body, method);
  });

  it('makes the first card the default, with any set_as_default, and a later one on request', async () => {
    const customer = await newCustomer();
    const first = await attached(customer, { set_as_default: false });
    assert.equal(first.is_default, true);
    const second = await attached(customer);
    assert.equal(second.is_default, false);
    assert.equal(await defaultOf(customer), first.id);
    const third = await attached(customer, { set_as_default: true });
    assert.equal(await defaultOf(customer), third.id);
  });

  it('gives the same fingerprint for the same card of one merchant, and another for another merchant', async () => {
    const one = await attached(await newCustomer());
    const two = await attached(await newCustomer());
    assert.equal(one.card.fingerprint, two.card.fingerprint);
    const merchant = await service.createMerchant();
    const made = await service.call('POST', '/v1/customers', { key: merchant.key, body: someCustomer() });
    const token = await newToken({ card }, { key: merchant.key });
    const other = await attach(made.body.id, { card_token: token }, { key: merchant.key });
    assert.notEqual(other.body.card.fingerprint, one.card.fingerprint);
  });

  it('takes a token once', async () => {
    const customer = await newCustomer();
    const token = await newToken();
    assert.equal((await attach(customer, { card_token: token })).status, 201);
    assertRefused(await attach(customer, { card_token: token }), 400, 'invalid_request', 'card_token');
  });

  it('takes a token until 15:00 minutes have passed, and not after', async () => {
    const timed = await startTestService({ database: service.database });
    try {
      const customer = await newCustomer();
      const tokens = [await newToken(), await newToken()];
      timed.clock.advance(15 * 60_000 - 5_000);
      assert.equal(
        (
          await timed.call('POST', `/v1/customers/${customer}/payment_methods`, {
            key: service.key,
            body: { card_token: tokens[0] },
          })
        ).status,
        201,
      );
      timed.clock.advance(5_000);
      const late = await timed.call('POST', `/v1/customers/${customer}/payment_methods`, {
        key: service.key,
        body: { card_token: tokens[1] },
      });
      assertRefused(late, 400, 'invalid_request', 'card_token');
    } finally {
      await timed.stop();
    }
  });

  it('rejects an unknown token and one of another merchant alike, and names another environment', async () => {
    const customer = await newCustomer();
    const merchant = await service.createMerchant();
    const foreign = await newToken({ card }, { key: merchant.key });
    const unknown = await attach(customer, { card_token: 'cct_nothing' });
    const other = await attach(customer, { card_token: foreign });
    assertRefused(unknown, 400, 'invalid_request', 'card_token');
    assert.deepEqual({ ...other.body.error, request_id: '' }, { ...unknown.body.error, request_id: '' });
    const live = await service.createKey(merchant.live);
    const made = await service.call('POST', '/v1/customers', { key: live, body: someCustomer() });
    const mismatch = await attach(made.body.id, { card_token: foreign }, { key: live });
    assertRefused(mismatch, 400, 'environment_mismatch');
  });

  it('asks for a billing address where the processor requires one, at attach and capture', async () => {
    const customer = await newCustomer();
    const picky = { ...card, number: '4000009999001000' };
    const token = await newToken({ card: picky });
    assertRefused(await attach(customer, { card_token: token }), 400, 'invalid_request', 'billing_details');
    const billing_details = { address: { line1: '1 Tea St', country: 'GB' } };
    assert.equal((await attach(customer, { card_token: token, billing_details })).status, 201);
    const bare = await service.call('POST', '/capture', { body: { customer_id: customer, card: picky } });
    assertRefused(bare, 400, 'invalid_request', 'billing_details');
    const full = await service.call('POST', '/capture', {
      body: { customer_id: customer, card: picky, billing_details },
    });
    assert.equal(full.status, 201, full.text);
  });

  it('refuses a deleted customer, and 404s one that never was', async () => {
    const customer = await newCustomer();
    await service.call('DELETE', `/v1/customers/${customer}`);
    assertRefused(await attach(customer, { card_token: await newToken() }), 400, 'invalid_request', 'customer_id');
    assertRefused(await attach(crypto.randomUUID(), { card_token: await newToken() }), 404, 'resource_not_found');
    const captured = await service.call('POST', '/capture', { body: { customer_id: customer, card } });
    assertRefused(captured, 400, 'invalid_request', 'customer_id');
  });

  it('has one winner in each race of 100, over two processes', async () => {
    const processes = await Promise.all([ServiceProcess.start(service), ServiceProcess.start(service)]);
    try {
      for (let round = 0; round < raceRounds; round += 1) {
        const path = `/v1/customers/${await newCustomer()}/payment_methods`;
        const body = { card_token: await newToken() };
        const replies = await Promise.all(
          Array.from({ length: 50 }, () => processes.map((one) => one.call('POST', path, { body }))).flat(),
        );
        const losers = replies.filter((reply) => reply.status !== 201);
        assert.equal(losers.length, 99);
        for (const reply of losers) assertRefused(reply, 400, 'invalid_request', 'card_token');
        assert.equal((await service.call('GET', path)).body.data.length, 1);
      }
    } finally {
      await Promise.all(processes.map((one) => one.kill()));
    }
  });
});

describe('POST /capture', () => {
  it('captures and attaches in one call', async () => {
    const customer = await newCustomer();
    const reply = await service.call('POST', '/capture', {
      body: { customer_id: customer, card, set_as_default: true },
    });
    assert.equal(reply.status, 201, reply.text);
    assert.equal(await defaultOf(customer), reply.body.id);
  });

  it('executes a repeated key once', async () => {
    const customer = await newCustomer();
    const call = { idempotencyKey: crypto.randomUUID(), body: { customer_id: customer, card } };
    const first = await service.call('POST', '/capture', call);
    assert.equal((await service.call('POST', '/capture', call)).text, first.text);
    const list = await service.call('GET', `/v1/customers/${customer}/payment_methods`);
    assert.equal(list.body.data.length, 1);
  });

  it('is for secret keys, and for customers of the merchant', async () => {
    const key = await service.createKey(service.company, { kind: 'publishable' });
    const customer = await newCustomer();
    assertRefused(
      await service.call('POST', '/capture', { key, body: { customer_id: customer, card } }),
      403,
      'insufficient_permissions',
    );
    const foreign = await service.call('POST', '/capture', { body: { customer_id: crypto.randomUUID(), card } });
    assertRefused(foreign, 404, 'resource_not_found', 'customer_id');
  });
});

describe('deleting a card', () => {
  const path = (customer: string, method: string): string => `/v1/customers/${customer}/payment_methods/${method}`;

  it('goes without a replacement when it is not the default', async () => {
    const customer = await newCustomer();
    await attached(customer);
    const second = await attached(customer);
    const reply = await service.call('DELETE', path(customer, second.id));
    assert.equal(reply.status, 200, reply.text);
    assert.equal((await service.call('GET', path(customer, second.id))).status, 404);
    assert.equal((await service.call('DELETE', path(customer, second.id))).status, 404);
  });

  it('needs a replacement when it is the default, which then becomes the default', async () => {
    const customer = await newCustomer();
    const first = await attached(customer);
    const second = await attached(customer);
    assertRefused(
      await service.call('DELETE', path(customer, first.id)),
      400,
      'replacement_required',
      'replacement_payment_method_id',
    );
    const body = { replacement_payment_method_id: second.id };
    assert.equal((await service.call('DELETE', path(customer, first.id), { body })).status, 200);
    assert.equal(await defaultOf(customer), second.id);
  });

  it('goes when it is the only one', async () => {
    const customer = await newCustomer();
    const only = await attached(customer);
    assert.equal((await service.call('DELETE', path(customer, only.id))).status, 200);
    assert.equal(await defaultOf(customer), null);
  });

  // This is why gateway_delete_failed is reserved: there is nothing a caller would have to repeat.
  it('or its customer works while the vault is away, and the vault erases the cards when it is back', async () => {
    let away = false;
    const vault = new Proxy({} as Vault, {
      get: (_, name: keyof Vault) => {
        if (!away) return service.vault[name];
        return () => Promise.reject(Object.assign(new Error('the vault is away'), { code: 'ECONNREFUSED' }));
      },
    });
    const other = await startTestService({ database: service.database, dataDir: service.config.dataDir, vault });
    try {
      const call = (method: string, target: string, body?: object): Promise<Reply> =>
        other.call(method, target, { key: service.key, ...(body && { body }) });
      const [buyer, leaver] = [await newCustomer(), await newCustomer()];
      const methods = [await attached(buyer), await attached(leaver)].map(({ id }) => String(id));
      const cards = await service.db.query<{ card_id: string }>(
        'SELECT card_id FROM payment_methods WHERE id = ANY($1::uuid[])',
        [methods],
      );
      const stored = async (): Promise<number> => {
        const ids = cards.map(({ card_id }) => card_id);
        return (await service.vaultDb.query('SELECT 1 FROM vault.cards WHERE id = ANY($1::uuid[])', [ids])).length;
      };
      away = true;
      const idempotencyKey = crypto.randomUUID();
      const target = path(buyer, methods[0] ?? '');
      const deleted = await other.call('DELETE', target, { key: service.key, idempotencyKey });
      assert.equal(deleted.status, 200, deleted.text);
      assert.equal((await other.call('DELETE', target, { key: service.key, idempotencyKey })).text, deleted.text);
      assert.equal((await call('GET', target)).status, 404);
      assert.equal((await call('DELETE', `/v1/customers/${leaver}`)).status, 200);
      assert.deepEqual((await call('GET', `/v1/customers/${buyer}?expand=payment_methods`)).body.payment_methods, []);
      await assert.rejects(removeUnreferencedCards(service.db, vault, 100));
      assert.equal(await stored(), 2);
      away = false;
      await service.db.query('UPDATE unreferenced_cards SET due_at = now()');
      await removeUnreferencedCards(service.db, vault, 100);
      assert.equal(await stored(), 0);
    } finally {
      await other.stop();
    }
  });

  it('needs a replacement when subscriptions use it, and hands them over', async () => {
    const moved: unknown[] = [];
    const references: Partial<References> = {
      inUse: async () => true,
      repoint: async (...[, , customerId, to, from]) => void moved.push([customerId, to.id, from]),
    };
    const used = await startTestService({ database: service.database, references });
    try {
      const customer = await newCustomer();
      const first = await attached(customer);
      assertRefused(
        await used.call('DELETE', path(customer, first.id), { key: service.key }),
        400,
        'replacement_required',
      );
      const second = await attached(customer);
      const body = { replacement_payment_method_id: second.id };
      assert.equal((await used.call('DELETE', path(customer, first.id), { key: service.key, body })).status, 200);
      assert.deepEqual(moved, [[customer, second.id, first.id]]);
    } finally {
      await used.stop();
    }
  });

  it('refuses itself and another customer’s card as the replacement', async () => {
    const customer = await newCustomer();
    const first = await attached(customer);
    const stranger = await attached(await newCustomer());
    const call = (id: string) =>
      service.call('DELETE', path(customer, first.id), { body: { replacement_payment_method_id: id } });
    assertRefused(await call(first.id), 400, 'validation_error', 'replacement_payment_method_id');
    assertRefused(await call(stranger.id), 404, 'resource_not_found', 'replacement_payment_method_id');
  });
});

describe('the cards of a customer', () => {
  it(`are at most ${limits.paymentMethods}, those that a checkout page hides not counted`, async () => {
    const customer = await newCustomer();
    const first = await attached(customer);
    // The IDs of cards begin with their time; these are all from one moment.
    await service.db.query(
      `INSERT INTO payment_methods (company_id, id, customer_id, card_id, brand, last4, exp_month, exp_year, fingerprint, listed)
       SELECT company_id, uuidv7(), customer_id, uuidv7(), brand, last4, exp_month, exp_year, fingerprint, n > 5
       FROM payment_methods, generate_series(1, $2) n WHERE id = $1`,
      [first.id, limits.paymentMethods - 2 + 5],
    );
    const capture = (): Promise<Reply> => service.call('POST', '/capture', { body: { customer_id: customer, card } });
    const last = await capture();
    assert.equal(last.status, 201);
    const refused = await capture();
    assertRefused(refused, 400, 'invalid_request');
    assert.match(refused.body.error.message, /at most 500 cards/);
    assertRefused(await attach(customer, { card_token: await newToken() }), 400, 'invalid_request');
    await service.call('DELETE', `/v1/customers/${customer}/payment_methods/${last.body.id}`);
    assert.equal((await attach(customer, { card_token: await newToken() })).status, 201);
    assertRefused(await capture(), 400, 'invalid_request');
  });
});

describe('reading cards', () => {
  it('expand=payment_methods adds them to customers, newest first', async () => {
    const customer = await newCustomer();
    const first = await attached(customer);
    const second = await attached(customer);
    const read = await service.call('GET', `/v1/customers/${customer}?expand=payment_methods`);
    assert.deepEqual(
      read.body.payment_methods.map((method: { id: string }) => method.id),
      [second.id, first.id],
    );
    const list = await service.call('GET', '/v1/customers?limit=1&expand=payment_methods');
    assert.ok(Array.isArray(list.body.data[0].payment_methods));
  });

  it('the list names its own path', async () => {
    const customer = await newCustomer();
    const list = await service.call('GET', `/v1/customers/${customer}/payment_methods`);
    assert.equal(list.body.url, `/v1/customers/${customer}/payment_methods`);
  });
});
