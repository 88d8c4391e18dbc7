import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { deriveReference, subjects } from '../server/features/orders/operations/reference.ts';
import { companyAddress } from '../server/http/page-token.ts';
import { newPerson, type Person, signUp } from './support/dashboard.ts';
import { assertRefused, openShop, type Shop } from './support/orders.ts';
import { type Reply, someCustomer, startTestService, type TestService } from './support/service.ts';

/** Input that is almost right: URLs that a parser repairs, forms instead of JSON, card numbers in keys and addresses. */

let service: TestService;
let owner: Person;
let shop: Shop;
before(async () => {
  service = await startTestService();
  owner = await signUp(service);
  shop = await openShop(service);
});
after(() => service.stop());

const post = (path: string, body: object, options: object = {}): Promise<Reply> =>
  service.call('POST', path, { body, ...options });
const sold = (): object => ({ mode: 'payment', items: [{ product_id: shop.productId, quantity: 1 }] });

describe('a URL', () => {
  const repaired = [
    ' https://shop.example.com',
    'https://shop.example.com ',
    'https://shop.example.com/a b',
    'https://shop.example.com/\n',
    'https://shop.\texample.com',
    'https://shop.example.com/\u2028',
    'https://shop.example.com/\u202e',
    'https:shop.example.com',
    'https:/shop.example.com',
    'https:/\\shop.example.com',
    'https:\\\\shop.example.com',
    'https:///shop.example.com',
    'https://shop.example.com\\@evil.example',
  ];
  const accepted = [
    'https://shop.example.com',
    'https://shop.example.com:8443/thanks?a=b%20c&d={CHECKOUT_SESSION_ID}#top',
    'https://bücher.example/größe',
    'http://localhost:3000/thanks',
  ];
  const fields: Record<string, (url: string) => Promise<{ reply: Reply; stored: unknown }>> = {
    'success_url of a checkout session': async (success_url) => {
      const reply = await post('/v1/checkout_sessions', { ...sold(), success_url });
      return { reply, stored: reply.body.success_url };
    },
    'cancel_url of a checkout session': async (cancel_url) => {
      const reply = await post('/v1/checkout_sessions', { ...sold(), cancel_url });
      return { reply, stored: reply.body.cancel_url };
    },
    'success_url of a payment link': async (success_url) => {
      const reply = await post('/v1/payment_links', { name: 'Tea', ...sold(), success_url });
      return { reply, stored: reply.body.success_url };
    },
    'return_url of a customer session': async (return_url) => {
      const reply = await post('/v1/customer_sessions', { customer_id: shop.customerId, return_url });
      return { reply, stored: reply.body.return_url };
    },
  };

  for (const [field, send] of Object.entries(fields)) {
    it(`is accepted as ${field} only if it is complete as it is written, and returned as it was sent`, async () => {
      for (const url of repaired) {
        const { reply } = await send(url);
        assertRefused(reply, 400, 'validation_error', field.split(' ')[0]);
        assert.match(
          reply.body.error.field_errors[0].message,
          /without blanks, line breaks and backslashes, for example/,
        );
      }
      for (const url of accepted) {
        const { reply, stored } = await send(url);
        assert.equal(reply.status, 201, reply.text);
        assert.equal(stored, url);
      }
    });
  }

  it('is refused likewise for a webhook endpoint, and in the profile', async () => {
    for (const url of repaired) {
      const endpoint = await post('/v1/webhook_endpoints', { url, enabled_events: ['order.created'] });
      assertRefused(endpoint, 400, 'webhook_endpoint_invalid', 'url');
      for (const body of [{ website: url }, { customer_page: { return_url: url } }]) {
        assert.equal((await owner.in('PATCH', '/dashboard/profile', body)).status, 400, url);
      }
    }
  });
});

describe('a form', () => {
  it('is refused by every kind of route that expects JSON', async () => {
    const token = (await post('/v1/checkout_sessions', sold())).body.url.split('/').at(-1);
    const own = (await post('/v1/customer_sessions', { customer_id: shop.customerId })).body.url.split('/').at(-1);
    const paths = [
      `/checkout/${token}/quote`,
      `/checkout/${token}/pay`,
      `/checkout/${token}/card_tokens`,
      `/customer/${own}/payments`,
      `/customer/${own}/card`,
      `/customer/${companyAddress(service.company.id)}/links`,
      '/dashboard/sign_up',
      '/dashboard/session',
      '/dashboard/password_resets',
      '/dashboard/roles',
      '/dashboard/exports',
      '/v1/customers',
      '/v1/customer_sessions',
    ];
    const forms = {
      'multipart/form-data; boundary=x': '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n',
      'application/x-www-form-urlencoded': 'a=1',
      'text/plain': '{}',
    };
    for (const path of paths) {
      for (const [type, body] of Object.entries(forms)) {
        const isDashboard = path.startsWith('/dashboard/');
        const reply = await fetch(service.baseUrl + path, {
          method: 'POST',
          headers: {
            'content-type': type,
            origin: service.baseUrl,
            'sec-fetch-site': 'same-origin',
            ...(path.startsWith('/v1/') && { authorization: `Bearer ${service.key}` }),
            ...(isDashboard && { cookie: owner.cookie, 'svc-company': owner.companies[0]?.id ?? '' }),
          },
          body,
        });
        const text = await reply.text();
        assert.equal(reply.status, 400, `${path} ${type}: ${text}`);
        assert.match(text, /Send the body as JSON/, `${path} ${type}`);
      }
    }
  });
});

describe('an email address that looks like a card number', () => {
  const email = '4242424242424242@example.com';

  it('is refused on pages, where people type it', async () => {
    const token = (await post('/v1/checkout_sessions', sold())).body.url.split('/').at(-1);
    const onPage = (path: string, body: object): Promise<Reply> =>
      post(path, body, { key: null, headers: { origin: service.baseUrl } });
    const customer = { ...someCustomer(), email };
    const total = 4900;
    const replies = [
      await onPage(`/checkout/${token}/pay`, { attempt: 0, total, card_token: 'x', customer }),
      await onPage(`/customer/${companyAddress(service.company.id)}/links`, { email }),
      await newPerson(service).call('POST', '/dashboard/sign_up', {
        body: { email, password: 'correct horse', first_name: 'A', last_name: 'B', company_name: 'C' },
      }),
      await owner.in('POST', '/dashboard/team_members', { email, role_id: randomUUID() }),
    ];
    for (const reply of replies) {
      assertRefused(reply, 400, 'validation_error');
      const problem = reply.body.error.field_errors.find(({ field }: { field: string }) => field.endsWith('email'));
      assert.match(problem?.message ?? '', /looks like a card number/, reply.text);
      assert.doesNotMatch(reply.text, /4242/);
    }
  });

  it('is accepted by the API, where programs fill it', async () => {
    assert.equal((await post('/v1/customers', someCustomer({ email }))).status, 201);
  });
});

describe('an idempotency key that looks like a card number', () => {
  const number = '5555555555554444';
  const buy = (idempotencyKey: string, more: object = {}): Promise<Reply> =>
    post(
      '/v1/orders',
      { customer_id: shop.customerId, items: [{ product_id: shop.productId, quantity: 1 }], ...more },
      { idempotencyKey },
    );
  const keysLike = (pattern: string): Promise<{ key: string }[]> =>
    service.db.query('SELECT key FROM idempotency_keys WHERE company_id = $1 AND key LIKE $2', [
      service.company.id,
      pattern,
    ]);

  it('is stored as a masked text and a keyed hash, and works as every other key', async () => {
    const key = `order-${number}-1`;
    const first = await buy(key);
    assert.equal(first.status, 201, first.text);
    const again = await buy(key);
    assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
    assert.equal(again.text, first.text);
    assertRefused(await buy(key, { description: 'Other' }), 422, 'idempotency_key_conflict');
    const [stored, ...others] = await keysLike('order-***#%');
    assert.match(stored?.key ?? '', /^order-\*\*\*#[\w-]{43}$/);
    assert.deepEqual(others, []);
    const rows = await service.db.query('SELECT 1 FROM idempotency_keys k WHERE k::text LIKE $1', [`%${number}%`]);
    assert.equal(rows.length, 0);
    const forged = stored?.key ?? '';
    assertRefused(await buy(forged), 400, 'invalid_idempotency_key');
    const together = await Promise.all(Array.from({ length: 5 }, () => buy(`together-${number}`)));
    const made = new Set(together.filter(({ status }) => status === 201).map(({ body }) => body.id));
    assert.equal(made.size, 1);
    const person = someCustomer();
    const customers = [
      await post('/v1/customers', person, { idempotencyKey: number }),
      await post('/v1/customers', person, { idempotencyKey: number }),
    ];
    assert.deepEqual(
      customers.map(({ status }) => status),
      [201, 201],
    );
    assert.equal(customers[0]?.text, customers[1]?.text);
  });

  it('is found in the form in which the release before stored it', async () => {
    const key = `before-${number}`;
    const first = await buy(key);
    await service.db.query('UPDATE idempotency_keys SET key = $2 WHERE key LIKE $1', ['before-***#%', key]);
    const again = await buy(key);
    assert.deepEqual([again.headers.get('svc-idempotent-replayed'), again.text], ['true', first.text]);
    assert.deepEqual(await keysLike('before-***#%'), []);
    await service.db.query(`UPDATE idempotency_keys SET expires_at = now() - interval '1 day' WHERE key = $1`, [key]);
    assert.notEqual((await buy(key)).body.id, first.body.id);
    assert.equal((await keysLike('before-***#%')).length, 1, 'it is not stored as it was sent again');
  });

  it('derives the reference of a charge from the key as it was sent, as the release before does', async () => {
    const key = `reference-${number}`;
    const { body } = await buy(key);
    const reference = deriveReference(service.company.id, { subject: subjects.key(key), number: 0 });
    const charged = `SELECT 1 FROM transactions WHERE order_id = $1 AND reference = $2`;
    assert.equal((await service.db.query(charged, [body.id, reference])).length, 1);
    const refund = await post(
      `/v1/orders/${body.id}/refund`,
      { amount: 100 },
      { idempotencyKey: key.replace('ref', 'r') },
    );
    assert.equal(refund.status, 200, refund.text);
    const refunded = deriveReference(service.company.id, {
      subject: subjects.keyedRefund(key.replace('ref', 'r')),
      number: 0,
    });
    const rows = await service.db.query(
      `SELECT 1 FROM transactions WHERE reference = $1 UNION ALL SELECT 1 FROM open_transactions WHERE reference = $1`,
      [refunded],
    );
    assert.ok(rows.length > 0);
  });

  it('leaves all other keys as they are', async () => {
    for (const key of [randomUUID(), 'order-1731900000000-17', 'a'.repeat(255), '4242424242424241']) {
      assert.equal((await buy(key)).status, 201);
      assert.equal((await keysLike(key.replaceAll('_', '\\_'))).length, 1, key);
    }
  });
});
