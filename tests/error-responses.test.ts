import { vaultBehind } from './support/connect.ts';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { withoutKey } from '../server/http/phases.ts';
import { refusalsOf } from '../server/http/openapi/errors.ts';
import type { Route } from '../server/http/route.ts';
import { latestVersion } from '../server/http/versions/versions.ts';
import { localVault, type Vault } from '../server/vault/vault.ts';
import { numberNow, withInvoices } from './support/invoices.ts';
import { document, routes } from './support/openapi.ts';
import { contextOf, openShop, order, refund, retry, type Shop, succeeded } from './support/orders.ts';
import {
  type CallOptions,
  type Reply,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from './support/service.ts';
import { somePlan, someSubscriber, subscribe } from './support/subscriptions.ts';

/**
 * Every error that an operation lists is received here from that operation. The other half, that nothing else is ever received, is
 * checked on every answer of the whole suite by tests/support/openapi.ts.
 */

let service: TestService;
let vault: Vault;
/** What stands between the service and its vault, when a test puts something there. */
let interference: Partial<Vault> = {};
const received = new Set<string>();

before(async () => {
  const own = { nowMs: async () => Date.now(), operations: async () => undefined };
  const between = vaultBehind(
    () => vault,
    () => ({ ...own, ...interference }),
  );
  service = await startTestService({ vault: between, settings: { SVC_RATE_LIMIT_CAPTURE: 'off' } });
  vault = localVault(service.vaultDb, service.keys, service.clock);
});
after(() => service.stop());

function note({ operationId }: Pick<Route, 'operationId'>, reply: Reply, status: number, code: string): void {
  assert.deepEqual([reply.status, reply.body.error?.code], [status, code], `${operationId}: ${reply.text}`);
  received.add(`${operationId} ${status} ${code}`);
}

const lost = async (): Promise<{ outcome: 'unknown'; reason: string }> => ({ outcome: 'unknown', reason: 'lost' });

/** An operation at the processor meanwhile stays in doubt. */
async function inDoubt<Result>(work: () => Promise<Result>): Promise<Result> {
  interference = { charge: lost, capture: lost, refund: lost, void: lost, lookup: lost };
  try {
    return await work();
  } finally {
    interference = {};
  }
}

/** An order whose funds are held. */
async function held(shop: Shop): Promise<string> {
  const { status, text, body } = await order(service, shop, { capture: 'manual' });
  assert.equal(status, 201, text);
  return body.id;
}
const captureOrder = (id: string, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', `/v1/orders/${id}/capture`, { body: {}, ...options });
const voidOrder = (id: string, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', `/v1/orders/${id}/void`, options);

const moreSeats = async (id: string, options: CallOptions & { when?: string } = {}): Promise<Reply> => {
  const { plan_id } = (await service.call('GET', `/v1/subscriptions/${id}`, options)).body;
  const { when = 'now', ...rest } = options;
  return service.call('POST', `/v1/subscriptions/${id}/change_plan`, { body: { plan_id, quantity: 2, when }, ...rest });
};

// A number that is declined the first time it is charged.
const declinedOnce = '4000009999003220';
const declined = '4000000000000002';

describe('an error that the common rules bring', () => {
  const examples = new Map<string, unknown>();
  for (const methods of Object.values(document.paths)) {
    for (const operation of Object.values(methods)) {
      const { requestBody } = operation as { requestBody?: { content: Record<string, { example?: unknown }> } };
      examples.set(operation.operationId, requestBody?.content['application/json']?.example);
    }
  }
  const form = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.gif"\r\n\r\nGIF89a\r\n--b--\r\n';

  /** A request that is well formed, for an object that does not exist. */
  const ask = (
    route: Route,
    options: CallOptions & { query?: string } = {},
    at: TestService = service,
  ): Promise<Reply> => {
    const path = route.path.replace(/:requestId/, `req_${'a'.repeat(24)}`).replace(/:\w+/g, () => randomUUID());
    const body = examples.get(route.operationId);
    const sent: CallOptions = route.upload
      ? { raw: form, headers: { 'content-type': 'multipart/form-data; boundary=b', ...options.headers } }
      : { ...(body !== undefined && options.raw === undefined && { body }) };
    const key = route.idempotency === 'required' ? { idempotencyKey: randomUUID() } : {};
    return at.call(route.method, path + (options.query ?? ''), { ...key, ...options, ...sent });
  };

  const each = (what: string, wanted: (route: Route) => boolean, check: (route: Route) => Promise<void>): void => {
    it(what, async () => {
      for (const route of routes.filter(wanted)) await check(route);
    });
  };
  const all = (): boolean => true;
  const changes = ({ method }: Route): boolean => method !== 'GET';
  const keyed = ({ idempotency }: Route): boolean => idempotency !== 'none';

  const lookupIdOf = (key: string): string => key.slice('svc_test_sk_'.length, 'svc_test_sk_'.length + 12);
  const keys: Record<string, () => Promise<string | null>> = {
    missing_api_key: async () => null,
    invalid_api_key_format: async () => 'nonsense',
    invalid_api_key: async () => {
      const key = await service.createKey(service.company);
      await service.db.query('DELETE FROM api_keys WHERE lookup_id = $1', [lookupIdOf(key)]);
      return key;
    },
    expired_api_key: () => service.createKey(service.company, { expiresAt: new Date(Date.now() - 1000) }),
    revoked_api_key: async () => {
      const key = await service.createKey(service.company);
      await service.db.query('UPDATE api_keys SET revoked_at = now() WHERE lookup_id = $1', [lookupIdOf(key)]);
      return key;
    },
  };
  for (const [code, make] of Object.entries(keys)) {
    it(`is ${code} for a key like that`, async () => {
      const key = await make();
      for (const route of routes) note(route, await ask(route, { key }), 401, code);
    });
  }

  it('is insufficient_permissions or ip_not_allowed for a key that is restricted', async () => {
    const nothing = await service.createKey(service.company, { permissions: [] });
    const elsewhere = await service.createKey(service.company, { allowedAddresses: ['203.0.113.0/24'] });
    for (const route of routes) {
      note(route, await ask(route, { key: nothing }), 403, 'insufficient_permissions');
      note(route, await ask(route, { key: elsewhere }), 403, 'ip_not_allowed');
    }
  });

  each('names a version that never was, or is retired', all, async (route) => {
    const named = (version: string): CallOptions => ({ headers: { 'svc-version': version } });
    note(route, await ask(route, named('2026-01-01')), 400, 'invalid_api_version');
    note(route, await ask(route, named('2025-06-18')), 400, 'api_version_sunset');
  });

  each('names a parameter that is not there', all, async (route) => {
    note(route, await ask(route, { query: '?color=red' }), 400, 'validation_error');
  });

  each('refuses a request without a Host', all, async (route) => {
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    socket.end(
      `${route.method} ${route.path} HTTP/1.1\r\nAuthorization: Bearer ${service.key}\r\nConnection: close\r\n\r\n`,
    );
    const text = await readText(socket);
    const body = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as Reply['body'];
    note(route, { status: Number(text.split(' ')[1]), headers: new Headers(), text, body }, 400, 'invalid_request');
  });

  each('refuses a body that is too large', changes, async (route) => {
    const raw = Buffer.alloc((route.upload ? 10.1 : 1.1) * 1024 * 1024, 'x');
    const headers = { 'content-type': route.upload ? 'multipart/form-data; boundary=b' : 'application/json' };
    const path = route.path.replace(/:\w+/g, () => randomUUID());
    const reply = await service.call(route.method, path, { raw, headers, idempotencyKey: randomUUID() });
    note(route, reply, 413, 'invalid_request');
  });

  each(
    'knows no object with an id that never was',
    ({ path }) => path.includes(':'),
    async (route) => {
      note(route, await ask(route), 404, 'resource_not_found');
    },
  );

  each('refuses an idempotency key that is missing or malformed', keyed, async (route) => {
    note(route, await ask(route, { idempotencyKey: '!' }), 400, 'invalid_idempotency_key');
    if (route.idempotency !== 'required') return;
    const reply = await service.call(
      route.method,
      route.path.replace(/:\w+/g, () => randomUUID()),
      { body: {} },
    );
    note(route, reply, 400, 'missing_idempotency_key');
  });

  it('refuses an idempotency key that was used for something else', async () => {
    const idempotencyKey = randomUUID();
    await service.call('POST', '/v1/customers', { body: someCustomer(), idempotencyKey });
    for (const route of routes.filter(keyed)) {
      note(route, await ask(route, { idempotencyKey }), 422, 'idempotency_key_conflict');
    }
  });

  it('refuses an idempotency key that is in use', async () => {
    const idempotencyKey = randomUUID();
    await service.db.transaction(async (transaction) => {
      await transaction.query(`SELECT pg_advisory_xact_lock(hashtextextended($1::text || $2, 0))`, [
        service.company.id,
        idempotencyKey,
      ]);
      for (const route of routes.filter((one) => keyed(one) && !one.phased)) {
        note(route, await ask(route, { idempotencyKey }), 409, 'request_in_progress');
      }
    });
  });

  it('rejects a key whose charge or refund is in progress', async () => {
    const hanging = Promise.withResolvers<void>();
    const hang = async (): ReturnType<typeof lost> => {
      await hanging.promise;
      return lost();
    };
    const [shop, plan] = await Promise.all([openShop(service), somePlan(service)]);
    const { id } = await succeeded(service, shop);
    const failed = (await order(service, await openShop(service, declinedOnce))).body.id as string;
    const [toCapture, toVoid] = await Promise.all([held(shop), held(shop)]);
    const toChange = (await subscribe(service, { customer_id: shop.customerId, plan_id: plan.id })).body.id as string;
    const calls: Record<string, (idempotencyKey: string) => Promise<Reply>> = {
      createOrder: (idempotencyKey) => order(service, shop, {}, { idempotencyKey }),
      refundOrder: (idempotencyKey) => refund(service, id, 100, { idempotencyKey }),
      retryOrder: (idempotencyKey) => retry(service, failed, { idempotencyKey }),
      captureOrder: (idempotencyKey) => captureOrder(toCapture, { idempotencyKey }),
      voidOrder: (idempotencyKey) => voidOrder(toVoid, { idempotencyKey }),
      createSubscription: (idempotencyKey) =>
        subscribe(service, { customer_id: shop.customerId, plan_id: plan.id }, { idempotencyKey }),
      changePlan: (idempotencyKey) => moreSeats(toChange, { idempotencyKey }),
    };
    assert.deepEqual(
      Object.keys(calls).toSorted(),
      routes.flatMap((one) => (one.phased ? [one.operationId] : [])).toSorted(),
    );
    interference = { charge: hang, capture: hang, refund: hang, void: hang, lookup: lost };
    const first: Promise<Reply>[] = [];
    try {
      for (const [operationId, call] of Object.entries(calls)) {
        const idempotencyKey = randomUUID();
        first.push(call(idempotencyKey));
        await claimed(idempotencyKey);
        note({ operationId }, await call(idempotencyKey), 409, 'request_in_progress');
      }
    } finally {
      hanging.resolve();
      await Promise.all(first);
      interference = {};
    }
  });

  async function claimed(key: string): Promise<void> {
    for (;;) {
      const found = await service.db.query('SELECT 1 FROM idempotency_keys WHERE key = $1', [key]);
      if (found.length > 0) return;
    }
  }

  it('is 429 above a limit: of the kind of call, and of all', async () => {
    for (const [setting, category, code] of [
      ['GLOBAL', undefined, 'global_rate_limit_exceeded'],
      ['READ', 'read', 'rate_limit_exceeded'],
      ['WRITE', 'write', 'rate_limit_exceeded'],
      ['CAPTURE', 'capture', 'rate_limit_exceeded'],
      ['COUPON_VALIDATION', 'coupon_validation', 'too_many_requests'],
    ] as const) {
      const settings = { SVC_RATE_LIMIT_CAPTURE: 'off', [`SVC_RATE_LIMIT_${setting}`]: '1/1000' };
      const limited = await startTestService({ settings });
      try {
        const counted = routes.filter((route) => category === undefined || route.category === category);
        const [first] = counted;
        assert.ok(first);
        await ask(first, {}, limited);
        // Each response is held back, so the calls are made at once.
        const replies = await Promise.all(counted.map((route) => ask(route, {}, limited)));
        for (const [index, route] of counted.entries()) note(route, replies[index] as Reply, 429, code);
      } finally {
        await limited.stop();
      }
    }
  });
});

describe('an error of an operation itself', () => {
  let shop: Shop;
  let planId: string;
  before(async () => {
    shop = await openShop(service);
    planId = (await somePlan(service)).id;
  });

  const post = (path: string, body: object = {}, options: CallOptions = {}): Promise<Reply> =>
    service.call('POST', path, { body, idempotencyKey: randomUUID(), ...options });
  const sells = (product_id: string): object => ({ mode: 'payment', items: [{ product_id, quantity: 1 }] });
  const trigger = (type: string, overrides: object): Promise<Reply> =>
    post('/v1/sandbox/events/trigger', { type, overrides });
  const newCustomer = async (): Promise<Record<string, any>> => (await post('/v1/customers', someCustomer())).body;
  const grant = (id: string): Promise<Reply> =>
    post(`/v1/customers/${id}/credit`, { type: 'grant', amount: 500, currency: 'usd', reason: 'Late delivery' });
  /** Letters alone: the digits of a UUID can look like a card number. */
  const someName = (): string => randomUUID().replaceAll(/\d/g, (digit) => 'ghijklmnop'.charAt(Number(digit)));
  const newProduct = async (): Promise<Record<string, any>> => (await post('/v1/products', someProduct())).body;
  const newCoupon = async (fields: object = {}): Promise<Record<string, any>> => {
    const reply = await post('/v1/coupons', {
      name: someName(),
      percentage: 10,
      codes: { count: 1 },
      ...fields,
    });
    assert.equal(reply.status, 201, reply.text);
    return reply.body;
  };
  /** A coupon whose one redemption is held by an order that is in doubt. */
  const heldCode = async (): Promise<string> => {
    const { codes } = await newCoupon({ max_redemptions: 1 });
    await inDoubt(async () => order(service, await openShop(service), { coupon_code: codes[0].code }));
    return codes[0].code;
  };
  /** A live company can take cards before it has a processor. */
  const live = async (): Promise<{ key: string; shop: Shop }> => {
    const key = await service.createKey((await service.createMerchant()).live);
    return { key, shop: await openShop(service, '4242424242424242', { key }) };
  };
  const subscription = async (body: object = {}): Promise<Record<string, any>> =>
    (await subscribe(service, { customer_id: await someSubscriber(service), plan_id: planId, ...body })).body;
  const unknownCustomer = { customer_id: randomUUID() };

  const newLink = async (): Promise<Record<string, any>> => {
    const items = [{ product_id: (await newProduct()).id, quantity: 1 }];
    return (await post('/v1/payment_links', { mode: 'payment', name: 'Link', items })).body;
  };
  const newEndpoint = async (): Promise<Record<string, any>> =>
    (await post('/v1/webhook_endpoints', { url: 'https://receiver.invalid', enabled_events: ['*'] })).body;
  /** Names a version that the object never had. */
  const stale = async (
    collection: string,
    create: () => Promise<Record<string, any>>,
    body: object = {},
  ): Promise<Reply> => {
    const path = `/v1/${collection}/${(await create()).id}`;
    return service.call('PATCH', path, { body, idempotencyKey: randomUUID(), headers: { 'if-match': '"x"' } });
  };

  const scenarios: Record<string, () => Promise<Reply>> = {
    'createCustomer 409 email_already_exists': async () => {
      const { email } = await newCustomer();
      return post('/v1/customers', someCustomer({ email }));
    },
    'createCustomer 409 phone_already_exists': async () => {
      const { phone } = await newCustomer();
      return post('/v1/customers', someCustomer({ phone }));
    },
    'updateCustomer 409 email_already_exists': async () => {
      const [{ id }, { email }] = [await newCustomer(), await newCustomer()];
      return service.call('PATCH', `/v1/customers/${id}`, { body: { email } });
    },
    'updateCustomer 409 phone_already_exists': async () => {
      const [{ id }, { phone }] = [await newCustomer(), await newCustomer()];
      return service.call('PATCH', `/v1/customers/${id}`, { body: { phone } });
    },
    'createCustomerCredit 404 resource_not_found': () => grant(randomUUID()),
    'createCustomerCredit 400 invalid_request': async () => {
      const { id } = await newCustomer();
      await grant(id);
      await service.call('DELETE', `/v1/customers/${id}`);
      return grant(id);
    },
    'deleteCustomer 400 customer_has_active_subscriptions': async () =>
      service.call('DELETE', `/v1/customers/${(await subscription()).customer_id}`),
    'captureCard 404 resource_not_found': () =>
      post('/capture', {
        ...unknownCustomer,
        card: { number: '4242424242424242', exp_month: '12', exp_year: '2035', cvc: '999' },
      }),
    'attachPaymentMethod 400 environment_mismatch': async () => {
      const merchant = await service.createMerchant();
      const card = { number: '4242424242424242', exp_month: '12', exp_year: '2035', cvc: '999' };
      const token = await post('/v1/card_tokens', { card }, { key: await service.createKey(merchant.live) });
      const { body } = await post('/v1/customers', someCustomer(), { key: merchant.key });
      return post(`/v1/customers/${body.id}/payment_methods`, { card_token: token.body.id }, { key: merchant.key });
    },
    'deletePaymentMethod 400 replacement_required': async () => {
      const { customer_id: id, payment_method: card } = await subscription();
      return service.call('DELETE', `/v1/customers/${id}/payment_methods/${card.id}`);
    },
    'createProduct 409 sku_already_exists': async () =>
      post('/v1/products', someProduct({ sku: (await newProduct()).sku })),
    'updateProduct 409 sku_already_exists': async () => {
      const [{ id }, { sku }] = [await newProduct(), await newProduct()];
      return service.call('PATCH', `/v1/products/${id}`, { body: { sku }, idempotencyKey: randomUUID() });
    },
    'deleteProduct 400 product_in_active_plans': async () => {
      const { id } = await newProduct();
      await somePlan(service, { products: [{ product_id: id }] });
      return service.call('DELETE', `/v1/products/${id}`);
    },
    'createOrder 404 resource_not_found': () => order(service, shop, unknownCustomer),
    'createOrder 400 customer_not_configured': async () =>
      order(service, shop, { customer_id: (await newCustomer()).id }),
    'createCheckoutSession 400 merchant_not_configured': async () => {
      const { key, shop: theirs } = await live();
      const body = { mode: 'payment', items: [{ product_id: theirs.productId, quantity: 1 }] };
      return service.call('POST', '/v1/checkout_sessions', { key, body });
    },
    'createPaymentLink 400 merchant_not_configured': async () => {
      const { key, shop: theirs } = await live();
      const body = { name: 'Tea', mode: 'payment', items: [{ product_id: theirs.productId, quantity: 1 }] };
      return service.call('POST', '/v1/payment_links', { key, body });
    },
    'createOrder 400 merchant_not_configured': async () => {
      const { key, shop: theirs } = await live();
      return order(service, theirs, {}, { key });
    },
    'createOrder 409 resource_in_use': async () => order(service, shop, { coupon_code: await heldCode() }),
    'createOrder 502 gateway_error': () => inDoubt(() => order(service, shop)),
    'getInvoiceXml 422 invalid_state_transition': async () => {
      await withInvoices(service);
      const { id } = await succeeded(service, shop);
      await numberNow(service, service.company.id);
      const [invoice] = (await service.call('GET', `/v1/invoices?order_id=${id}`)).body.data;
      return service.call('GET', `/v1/invoices/${invoice.id}/xml`);
    },
    'createInvoiceCorrection 400 invalid_request': async () => {
      await withInvoices(service);
      const { id } = await succeeded(service, shop);
      await numberNow(service, service.company.id);
      const [invoice] = (await service.call('GET', `/v1/invoices?order_id=${id}`)).body.data;
      const { name } = invoice.buyer;
      const body = { reason: 'The same name', name };
      return service.call('POST', `/v1/invoices/${invoice.id}/corrections`, { body, idempotencyKey: 'the-same-buyer' });
    },
    'getOrderReceipt 422 invalid_state_transition': async () => {
      const { body } = await order(service, await openShop(service, declined));
      return service.call('GET', `/v1/orders/${body.id}/receipt`);
    },
    'refundOrder 422 invalid_state_transition': async () => {
      const { body } = await order(service, await openShop(service, declined));
      return refund(service, body.id);
    },
    'refundOrder 502 gateway_error': async () => {
      const { id } = await succeeded(service, shop);
      return inDoubt(() => refund(service, id));
    },
    'refundOrder 409 resource_in_use': async () => {
      const { id } = await succeeded(service, shop);
      return inDoubt(async () => {
        await refund(service, id, 100);
        return refund(service, id, 100);
      });
    },
    'captureOrder 422 invalid_state_transition': async () => captureOrder((await succeeded(service, shop)).id),
    'captureOrder 502 gateway_error': async () => {
      const id = await held(shop);
      return inDoubt(() => captureOrder(id));
    },
    'captureOrder 409 resource_in_use': async () => {
      const id = await held(shop);
      return inDoubt(async () => {
        await captureOrder(id);
        return captureOrder(id);
      });
    },
    'voidOrder 422 invalid_state_transition': async () => {
      const { body } = await order(service, await openShop(service, declined));
      return voidOrder(body.id);
    },
    'voidOrder 502 gateway_error': async () => {
      const id = await held(shop);
      return inDoubt(() => voidOrder(id));
    },
    'voidOrder 409 resource_in_use': async () => {
      const id = await held(shop);
      return inDoubt(async () => {
        await captureOrder(id);
        return voidOrder(id);
      });
    },
    'retryOrder 400 invalid_state_transition': async () => retry(service, (await succeeded(service, shop)).id),
    'retryOrder 400 merchant_not_configured': async () => {
      const { key, sandbox } = await service.createMerchant();
      const { body } = await order(service, await openShop(service, declined, { key }), {}, { key });
      await service.db.query('UPDATE companies SET processor = NULL WHERE id = $1', [sandbox.id]);
      return retry(service, body.id, { key: await service.createKey(sandbox) });
    },
    'retryOrder 502 gateway_error': async () => {
      const { body } = await order(service, await openShop(service, declinedOnce));
      return inDoubt(() => retry(service, body.id));
    },
    'retryOrder 409 resource_in_use': async () => {
      const { body } = await order(service, await openShop(service, declinedOnce));
      return inDoubt(async () => {
        await retry(service, body.id);
        return retry(service, body.id);
      });
    },
    'createCheckoutSession 404 resource_not_found': () => post('/v1/checkout_sessions', sells(randomUUID())),
    'createCustomerSession 404 resource_not_found': () => post('/v1/customer_sessions', { customer_id: randomUUID() }),
    'createPaymentLink 404 resource_not_found': () =>
      post('/v1/payment_links', { name: 'Tea', ...sells(randomUUID()) }),
    'createPaymentLink 409 resource_already_exists': async () => {
      const link = { name: 'Tea', ...sells(shop.productId), slug: 'autumn' };
      await post('/v1/payment_links', link);
      return post('/v1/payment_links', link);
    },
    'updatePaymentLink 409 resource_already_exists': async () => {
      await post('/v1/payment_links', { name: 'Tea', ...sells(shop.productId), slug: 'spring' });
      const { body } = await post('/v1/payment_links', { name: 'Tea', ...sells(shop.productId) });
      return service.call('PATCH', `/v1/payment_links/${body.id}`, { body: { slug: 'spring' } });
    },
    'expireCheckoutSession 422 invalid_state_transition': async () => {
      const { body } = await post('/v1/checkout_sessions', sells(shop.productId));
      await post(`/v1/checkout_sessions/${body.id}/expire`);
      return post(`/v1/checkout_sessions/${body.id}/expire`);
    },
    'expireCheckoutSession 409 resource_in_use': async () => {
      const { body } = await post('/v1/checkout_sessions', sells(shop.productId));
      await service.db.query(
        `INSERT INTO checkout_payments (company_id, session_id, number, state, input, total, check_at)
         VALUES ($1, $2, 0, 'open', '{}', 0, now() + interval '1 hour')`,
        [service.company.id, body.id],
      );
      return post(`/v1/checkout_sessions/${body.id}/expire`);
    },
    'createCoupon 409 resource_already_exists': async () => {
      const promo = { name: someName(), kind: 'promo', percentage: 10 };
      await post('/v1/coupons', promo);
      return post('/v1/coupons', promo);
    },
    'createCoupon 404 resource_not_found': () =>
      post('/v1/coupons', { name: 'Tea', percentage: 10, product_scope: 'specific', product_ids: [randomUUID()] }),
    'createCoupon 422 invalid_request': () =>
      post('/v1/coupons', { name: 'Tea', percentage: 10, kind: 'promo', codes: { count: 1 } }),
    'updateCoupon 422 field_locked': async () => {
      const { id, codes } = await newCoupon();
      await order(service, shop, { coupon_code: codes[0].code });
      return service.call('PATCH', `/v1/coupons/${id}`, { body: { percentage: 20 } });
    },
    'updateCoupon 409 resource_already_exists': async () => {
      const promo = (name: string): Promise<Reply> => post('/v1/coupons', { name, kind: 'promo', percentage: 10 });
      const [taken, other] = [someName(), someName()];
      await promo(taken);
      return service.call('PATCH', `/v1/coupons/${(await promo(other)).body.id}`, { body: { name: taken } });
    },
    'mintCouponCodes 422 invalid_request': async () => {
      const { body } = await post('/v1/coupons', { name: someName(), kind: 'promo', percentage: 10 });
      return post(`/v1/coupons/${body.id}/codes`, { count: 1 });
    },
    'createSubscription 404 resource_not_found': () => subscribe(service, { ...unknownCustomer, plan_id: planId }),
    'createSubscription 400 customer_not_configured': async () =>
      subscribe(service, { customer_id: (await newCustomer()).id, plan_id: planId }),
    'createSubscription 400 merchant_not_configured': async () => {
      const merchant = await service.createMerchant();
      const key = await service.createKey(merchant.live);
      const plan = await somePlan(service, {}, merchant.live);
      const customer_id = await someSubscriber(service, '4242424242424242', { key });
      return subscribe(service, { customer_id, plan_id: plan.id }, { key });
    },
    'createSubscription 409 resource_in_use': async () =>
      subscribe(service, { customer_id: shop.customerId, plan_id: planId, coupon_code: await heldCode() }),
    'createSubscription 502 gateway_error': () =>
      inDoubt(() => subscribe(service, { customer_id: shop.customerId, plan_id: planId })),
    'updateSubscription 400 subscription_not_modifiable': async () => {
      const { id } = await subscription();
      await service.call('DELETE', `/v1/subscriptions/${id}`);
      return service.call('PATCH', `/v1/subscriptions/${id}`, { body: { description: 'x' } });
    },
    'updateSubscription 409 resource_in_use': async () => {
      const { id } = await subscription();
      return inDoubt(async () => {
        await moreSeats(id);
        const body = { billing_cycle: { interval_count: 2 } };
        return service.call('PATCH', `/v1/subscriptions/${id}`, { body });
      });
    },
    'cancelSubscription 409 already_canceled': async () => {
      const { id } = await subscription();
      await service.call('DELETE', `/v1/subscriptions/${id}`);
      return service.call('DELETE', `/v1/subscriptions/${id}`);
    },
    'cancelSubscription 409 subscription_completed': async () => {
      const { id } = (await trigger('subscription.completed', {})).body.data.object;
      return service.call('DELETE', `/v1/subscriptions/${id}`);
    },
    'changePlan 404 resource_not_found': async () => otherPlan('change_plan'),
    'changePlan 400 subscription_not_modifiable': async () => moreSeats(await ended()),
    'changePlan 400 invalid_request': async () => {
      const { id, customer_id } = await subscription();
      await service.call('DELETE', `/v1/subscriptions/${id}`);
      await service.call('DELETE', `/v1/customers/${customer_id}`);
      return moreSeats(id);
    },
    'changePlan 400 merchant_not_configured': async () => {
      const { key, sandbox } = await service.createMerchant();
      const plan = await somePlan(service, {}, sandbox);
      const customer_id = await someSubscriber(service, undefined, { key });
      const { body } = await subscribe(service, { customer_id, plan_id: plan.id }, { key });
      await service.db.query('UPDATE companies SET processor = NULL WHERE id = $1', [sandbox.id]);
      return moreSeats(body.id, { key: await service.createKey(sandbox) });
    },
    'changePlan 409 resource_in_use': async () => {
      const { id } = await subscription();
      return inDoubt(async () => {
        await moreSeats(id);
        return moreSeats(id);
      });
    },
    'changePlan 502 gateway_error': async () => {
      const { id } = await subscription();
      return inDoubt(() => moreSeats(id));
    },
    'previewPlanChange 404 resource_not_found': async () => otherPlan('change_plan/preview'),
    'previewPlanChange 400 subscription_not_modifiable': async () => {
      const id = await ended();
      return post(`/v1/subscriptions/${id}/change_plan/preview`, { plan_id: randomUUID(), when: 'now' });
    },
    'previewPlanChange 409 resource_in_use': async () => {
      const { id } = await subscription();
      return inDoubt(async () => {
        await moreSeats(id);
        return post(`/v1/subscriptions/${id}/change_plan/preview`, { plan_id: randomUUID(), when: 'now' });
      });
    },
    'undoPlanChange 400 invalid_state_transition': async () =>
      post(`/v1/subscriptions/${(await subscription()).id}/change_plan/undo`, {}),
    'addRenewalItem 404 resource_not_found': async () =>
      post(`/v1/subscriptions/${(await subscription()).id}/renewal_items`, { product_id: randomUUID() }),
    'addRenewalItem 400 subscription_not_modifiable': async () =>
      post(`/v1/subscriptions/${await ended()}/renewal_items`, { product_id: shop.productId }),
    'pauseSubscription 501 not_implemented': async () => post(`/v1/subscriptions/${(await subscription()).id}/pause`),
    'resumeSubscription 501 not_implemented': async () => post(`/v1/subscriptions/${(await subscription()).id}/resume`),
    'advanceClock 409 resource_in_use': async () => {
      const { key, sandbox } = await service.createMerchant();
      await service.db.query(`UPDATE companies SET clock_moved_until = now() + interval '1 minute' WHERE id = $1`, [
        sandbox.id,
      ]);
      return post('/v1/sandbox/clock/advance', { by: { days: 1 } }, { key });
    },
    'triggerEvent 409 email_already_exists': async () =>
      trigger('customer.created', { email: (await newCustomer()).email }),
    'triggerEvent 409 phone_already_exists': async () =>
      trigger('customer.created', { phone: (await newCustomer()).phone }),
    'triggerEvent 409 resource_already_exists': async () => {
      const member = { email: 'ada.lovelace@example.com' };
      await trigger('team_member.invited', member);
      return trigger('team_member.invited', member);
    },
    'triggerEvent 404 resource_not_found': () => trigger('order.succeeded', unknownCustomer),
    'triggerEvent 400 customer_not_configured': async () =>
      trigger('order.succeeded', { customer_id: (await newCustomer()).id }),
    'triggerEvent 422 invalid_state_transition': async () => {
      const { codes } = await newCoupon({ percentage: 100 });
      return trigger('order.refunded', { coupon_code: codes[0].code });
    },
    'triggerEvent 400 subscription_not_modifiable': async () => {
      const theirs = await openShop(service, declined);
      return trigger('subscription.updated', { customer_id: theirs.customerId });
    },
    'triggerEvent 409 resource_in_use': async () => trigger('order.succeeded', { coupon_code: await heldCode() }),
    'triggerEvent 502 gateway_error': () => inDoubt(() => trigger('order.succeeded', {})),
    'raiseChargeback 422 invalid_state_transition': async () => {
      const { body } = await order(service, await openShop(service, declined));
      return post(`/v1/sandbox/orders/${body.id}/chargeback`);
    },
    'resolveChargeback 422 invalid_state_transition': async () =>
      post(`/v1/sandbox/orders/${(await succeeded(service, shop)).id}/chargeback/resolve`, { outcome: 'accepted' }),
    'raiseChargeback 409 resource_in_use': async () => post(`/v1/sandbox/orders/${await voiding()}/chargeback`),
    'createWebhookEndpoint 400 webhook_endpoint_invalid': () =>
      post('/v1/webhook_endpoints', { url: 'http://example.com', enabled_events: ['*'] }),
    'updateWebhookEndpoint 400 webhook_endpoint_invalid': async () => {
      const { id } = await newEndpoint();
      return service.call('PATCH', `/v1/webhook_endpoints/${id}`, { body: { url: 'http://example.com' } });
    },
    'updateCustomer 412 resource_changed': () => stale('customers', newCustomer),
    'updateProduct 412 resource_changed': () => stale('products', newProduct),
    'updateCoupon 412 resource_changed': () => stale('coupons', newCoupon),
    'updateSubscription 412 resource_changed': () => stale('subscriptions', subscription),
    'updatePaymentLink 412 resource_changed': () => stale('payment_links', newLink, { active: true }),
    'updateWebhookEndpoint 412 resource_changed': () => stale('webhook_endpoints', newEndpoint),
    'createTeamMember 404 resource_not_found': () => post('/v1/team_members', someMember(randomUUID())),
    'createTeamMember 409 resource_already_exists': async () => {
      const { body } = await service.call('GET', '/v1/roles');
      const { id } = body.data.find(({ name }: { name: string }) => name === 'Support');
      await post('/v1/team_members', someMember(id));
      return post('/v1/team_members', someMember(id));
    },
  };

  const otherPlan = async (path: string): Promise<Reply> =>
    post(`/v1/subscriptions/${(await subscription()).id}/${path}`, { plan_id: randomUUID(), when: 'now' });

  const ended = async (): Promise<string> => {
    const { id } = await subscription();
    await service.call('DELETE', `/v1/subscriptions/${id}`);
    return id;
  };

  const someMember = (role_id: string): object => ({
    first_name: 'Grace',
    last_name: 'Hopper',
    email: 'grace@example.com',
    phone_number: '+15551234567',
    role_id,
  });

  /** An order whose void is in doubt. */
  const voiding = async (): Promise<string> => {
    const { id } = await succeeded(service, shop);
    await inDoubt(() => assert.rejects(service.orders.void(contextOf(service), id, withoutKey)));
    return id;
  };

  for (const [name, scenario] of Object.entries(scenarios)) {
    it(`is received: ${name}`, async () => {
      const [operationId = '', status, code = ''] = name.split(' ');
      note({ operationId }, await scenario(), Number(status), code);
    });
  }
});

/** A part of the service has failed, which can happen to any call. Other tests cause these. */
const outages = new Set(['internal_error', 'service_unavailable', 'restore_in_progress']);

it('every error that an operation lists was received from it', () => {
  const listed = routes.flatMap((route) =>
    refusalsOf(route, latestVersion)
      .filter(({ code }) => !outages.has(code))
      .map(({ status, code }) => `${route.operationId} ${status} ${code}`),
  );
  assert.deepEqual(
    listed.filter((one) => !received.has(one)),
    [],
  );
  assert.deepEqual(
    [...received].filter((one) => !listed.includes(one)),
    [],
  );
});
