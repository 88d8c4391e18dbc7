import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { aCustomer, aProduct, aShop, recordedSdk, type RecordedSdk } from '../../tests/support/sdk.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import {
  AuthenticationError,
  AuthorizationError,
  InvalidRequestError,
  ProcessingError,
  Svc,
  SvcError,
  versionOf,
  WebhookError,
} from './src/index.ts';

/** The errors of the SDK. */

let service: TestService;
let sdk: RecordedSdk;
let svc: Svc;

before(async () => {
  service = await startTestService();
  sdk = recordedSdk(service);
  svc = sdk.svc;
});
after(() => service.stop());

async function refusal(call: Promise<unknown>): Promise<SvcError> {
  const error = await call.then(
    () => assert.fail('it was not refused'),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof SvcError);
  assert.ok(error instanceof Error);
  assert.equal(error.name, error.constructor.name);
  return error;
}

describe('an error', () => {
  it('names every invalid field', async () => {
    const error = await refusal(svc.customers.create(aCustomer({ email: 'invalid', phone: '12' })));
    assert.ok(error instanceof InvalidRequestError);
    assert.deepEqual(
      [error.type, error.code, error.status, error.param],
      ['invalid_request_error', 'validation_error', 400, 'email'],
    );
    assert.deepEqual(
      error.fieldErrors.map(({ field, code }) => [field, code]),
      [
        ['email', 'invalid_format'],
        ['phone', 'invalid_format'],
      ],
    );
    assert.equal(error.message, '2 fields are invalid.');
    assert.match(error.requestId ?? '', /^req_[a-z2-7]{24}$/);
  });

  it('says that the object has changed since it was read', async () => {
    const made = await svc.customers.create(aCustomer());
    const read = await svc.customers.get(made.id);
    const version = versionOf(read);
    assert.match(version ?? '', /^"[\w-]+"$/);
    const changed = await svc.customers.update(made.id, { first_name: 'Grace' }, { ifMatch: version });
    assert.deepEqual([changed.first_name, versionOf(changed) === version], ['Grace', false]);
    const error = await refusal(svc.customers.update(made.id, { first_name: 'Ada' }, { ifMatch: version }));
    assert.ok(error instanceof InvalidRequestError);
    assert.deepEqual([error.code, error.status, error.param], ['resource_changed', 412, 'If-Match']);
    assert.equal(versionOf({ ...read }), undefined);
  });

  it('rejects an undefined version instead of changing the object without a condition', async () => {
    const made = await svc.customers.create(aCustomer());
    const { data } = await svc.customers.list({ limit: 1 });
    for (const object of [made, data[0] ?? made]) {
      const update = svc.customers.update(made.id, { first_name: 'Ada' }, { ifMatch: versionOf(object) });
      await assert.rejects(update, /ifMatch is undefined/);
    }
    assert.equal((await svc.customers.get(made.id)).first_name, made.first_name);
  });

  it('for a missing object is a 404', async () => {
    const error = await refusal(svc.orders.get(randomUUID()));
    assert.ok(error instanceof InvalidRequestError);
    assert.deepEqual([error.code, error.status, error.fieldErrors], ['resource_not_found', 404, []]);
  });

  it('for a duplicate value names the field', async () => {
    const { sku } = await svc.products.create(aProduct());
    const error = await refusal(svc.products.create(aProduct({ sku })));
    assert.ok(error instanceof InvalidRequestError);
    assert.deepEqual([error.code, error.status, error.param], ['sku_already_exists', 409, 'sku']);
  });

  it('for an invalid API key is an AuthenticationError', async () => {
    const error = await refusal(new Svc('svc_test_sk_wrong', { baseUrl: service.baseUrl }).plans.list());
    assert.ok(error instanceof AuthenticationError);
    assert.deepEqual([error.code, error.status], ['invalid_api_key_format', 401]);
  });

  it('for a missing permission is an AuthorizationError', async () => {
    const key = await service.createKey(service.company, { permissions: ['customers:read'] });
    const reader = recordedSdk(service, { key }).svc;
    await reader.customers.list();
    const error = await refusal(reader.customers.create(aCustomer()));
    assert.ok(error instanceof AuthorizationError);
    assert.deepEqual([error.code, error.status], ['insufficient_permissions', 403]);
  });

  it('for a customer without a card is a ProcessingError', async () => {
    const { productId } = await aShop(svc);
    const customer = await svc.customers.create(aCustomer());
    const items = [{ product_id: productId, quantity: 1 }];
    const error = await refusal(svc.orders.create({ customer_id: customer.id, items }));
    assert.ok(error instanceof ProcessingError);
    assert.deepEqual([error.code, error.param], ['customer_not_configured', 'customer_id']);
    assert.equal(error.idempotencyKey, sdk.attempts.at(-1)?.headers.get('x-svc-idempotency-key'));
  });

  it('for an endpoint URL that is not allowed is a WebhookError', async () => {
    const error = await refusal(
      svc.webhookEndpoints.create({ url: 'https://127.0.0.1/hook', enabled_events: ['order.*'] }),
    );
    assert.ok(error instanceof WebhookError);
    assert.equal(error.code, 'webhook_endpoint_invalid');
  });
});

describe('the client', () => {
  it('does not show its key', () => {
    const shown = inspect(new Svc(service.key, { baseUrl: service.baseUrl }), { depth: 10, showHidden: true });
    assert.ok(!shown.includes(service.key));
  });

  it('rejects IDs that would lead to another path', async () => {
    sdk.attempts.length = 0;
    for (const id of ['', '.', '..']) {
      await assert.rejects(svc.customers.delete(id), TypeError);
      await assert.rejects(svc.products.images.delete(id, randomUUID()), TypeError);
    }
    assert.equal(sdk.attempts.length, 0);
    const error = await refusal(svc.customers.get('../products?limit=1#'));
    assert.equal(error.code, 'resource_not_found');
    assert.match(sdk.attempts[0]?.url ?? '', /customers\/\.\.%2Fproducts%3Flimit%3D1%23$/);
  });

  it('uses its own API version, not the one that the company is pinned to', async () => {
    await service.db.query(`UPDATE companies SET api_version = '2025-11-04' WHERE id = $1`, [service.company.id]);
    const customer = await svc.customers.create(aCustomer());
    assert.equal((await svc.customers.get(customer.id)).id, customer.id);
    assert.equal(sdk.attempts.at(-1)?.headers.get('svc-version'), '2026-02-11');
  });

  it('sends raw cards to captureUrl if it is set', async () => {
    const customer = await svc.customers.create(aCustomer());
    const elsewhere = recordedSdk(service, {
      captureUrl: `${service.baseUrl}/capture?`,
      baseUrl: 'http://127.0.0.1:1',
    });
    const card = { number: '4242424242424242', exp_month: '12', exp_year: '2031', cvc: '999' };
    const captured = await elsewhere.svc.paymentMethods.capture({ customer_id: customer.id, card });
    assert.equal(captured.card.last4, '4242');
  });

  it('requires a secret key and a URL', () => {
    for (const key of ['svc_test_pk_x', 'svc_live_pk_x']) {
      assert.throws(
        () => new Svc(key, { baseUrl: service.baseUrl }),
        /requires a secret key .*, not a publishable key/,
      );
    }
    assert.throws(() => new Svc('', { baseUrl: service.baseUrl }), TypeError);
    for (const baseUrl of ['', 'localhost:8080', 'http://']) {
      assert.throws(() => new Svc(service.key, { baseUrl }), /baseUrl must begin with https:\/\//);
    }
    assert.throws(() => Reflect.construct(Svc, ['svc_test_sk_x']), TypeError);
  });
});
