import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { routes } from '../../tests/support/openapi.ts';
import {
  type Merchant,
  type Reply,
  someCustomer,
  startTestService,
  type TestService,
} from '../../tests/support/service.ts';
import { ApiError } from '../errors.ts';
import type { RouteBase } from './route.ts';
import { renderError, renderResponse, type VersionStep } from './versions/versions.ts';

const latest = '2026-02-11';
const older = '2025-11-04';

let service: TestService;
let merchant: Merchant;

before(async () => {
  service = await startTestService();
  merchant = await service.createMerchant();
});
after(() => service.stop());

const versionOf = (reply: Reply): string | null => reply.headers.get('svc-version');

interface VersionedOptions {
  readonly version?: string;
  readonly key?: string;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
}

const call = (method: string, path: string, { version, ...options }: VersionedOptions = {}): Promise<Reply> =>
  service.call(method, path, {
    key: merchant.key,
    ...options,
    ...(version !== undefined && { headers: { 'svc-version': version } }),
  });

/** Pins it and waits for the notification, which comes long before the cached company would be read again. */
async function pin({ sandbox, key }: Merchant, version: string): Promise<Reply> {
  await call('GET', '/v1/customers', { key });
  await service.db.query('UPDATE companies SET api_version = $2 WHERE id = $1', [sandbox.id, version]);
  const deadline = performance.now() + 500;
  for (;;) {
    const reply = await call('GET', '/v1/customers', { key });
    if (versionOf(reply) !== latest || performance.now() > deadline) return reply;
    await sleep(10);
  }
}

describe('the version of a request', () => {
  test('is the latest for a new company, and the response says so', async () => {
    assert.equal(versionOf(await call('GET', '/v1/customers')), latest);
  });

  test('is the one in the header SVC-Version', async () => {
    for (const version of [latest, older]) {
      assert.equal(versionOf(await call('GET', '/v1/customers', { version })), version);
    }
  });

  test('is the one pinned for the company, from the moment it is pinned', async () => {
    assert.equal(versionOf(await pin(await service.createMerchant(), older)), older);
  });

  test('is the one in the header also when another is pinned', async () => {
    const pinned = await service.createMerchant();
    await pin(pinned, older);
    const reply = await call('POST', '/v1/customers', { key: pinned.key, version: latest, body: someCustomer() });
    assert.equal(versionOf(reply), latest);
    assert.ok(reply.body.id);
  });

  test('is said on errors too', async () => {
    const reply = await call('GET', `/v1/customers/${randomUUID()}`, { version: older });
    assert.deepEqual([reply.status, versionOf(reply)], [404, older]);
  });
});

describe('a version that is not served', () => {
  const notReleases = {
    'not a date': 'latest',
    'a date in another form': '2026-2-11',
    'a date without hyphens': '20260211',
    'a date and time': '2026-02-11T00:00:00Z',
    'a future date': '2099-01-01',
    'the day after a release': '2026-02-12',
    'a date between two releases': '2025-12-24',
    'the day after the last retired release': '2025-06-19',
    'a month that does not exist': '2025-13-01',
    'a day that does not exist': '2025-02-30',
    'two versions': '2026-02-11, 2025-11-04',
    nothing: '',
  };
  for (const [what, version] of Object.entries(notReleases)) {
    test(`${what} is 400 invalid_api_version`, async () => {
      const { status, body } = await call('GET', '/v1/customers', { version });
      const { type, code, param } = body.error;
      assert.deepEqual(
        [status, type, code, param],
        [400, 'invalid_request_error', 'invalid_api_version', 'SVC-Version'],
      );
    });
  }

  for (const version of ['2025-06-18', '2025-06-17', '2024-02-29', '2001-01-01']) {
    test(`${version} is retired: 400 api_version_sunset`, async () => {
      const { status, body } = await call('GET', '/v1/customers', { version });
      const { type, code, param } = body.error;
      assert.deepEqual(
        [status, type, code, param],
        [400, 'invalid_request_error', 'api_version_sunset', 'SVC-Version'],
      );
    });
  }

  test('that is retired while a company is still pinned to it is api_version_sunset, not served in silence', async () => {
    const pinned = await service.createMerchant();
    await pin(pinned, '2025-06-18');
    const reply = await call('GET', '/v1/customers', { key: pinned.key });
    assert.deepEqual([reply.status, reply.body.error?.code], [400, 'api_version_sunset']);
  });

  test('changes nothing', async () => {
    const { key } = await service.createMerchant();
    const body = someCustomer();
    assert.equal((await call('POST', '/v1/customers', { key, body, version: '2099-01-01' })).status, 400);
    assert.deepEqual((await call('GET', '/v1/customers', { key })).body.data, []);
  });
});

describe('2025-11-04', () => {
  test('wraps a single resource in data: created, read and updated', async () => {
    const created = await call('POST', '/v1/customers', { version: older, body: someCustomer() });
    assert.equal(created.status, 201);
    assert.deepEqual(Object.keys(created.body), ['data']);
    const path = `/v1/customers/${created.body.data.id}`;
    const latestBody = (await call('GET', path)).body;
    assert.deepEqual((await call('GET', path, { version: older })).body, { data: latestBody });
    const updated = await call('PATCH', path, { version: older, body: { first_name: 'Grace' } });
    assert.deepEqual(Object.keys(updated.body), ['data']);
    assert.equal(updated.body.data.first_name, 'Grace');
  });

  test('wraps the fields that were asked for', async () => {
    const { id } = (await call('POST', '/v1/customers', { body: someCustomer() })).body;
    const reply = await call('GET', `/v1/customers/${id}?fields[customers]=first_name`, { version: older });
    assert.deepEqual(reply.body, { data: { id, first_name: 'Ada' } });
  });

  test('leaves lists as they are', async () => {
    await call('POST', '/v1/customers', { body: someCustomer() });
    const reply = await call('GET', '/v1/customers', { version: older });
    assert.deepEqual(reply.body, (await call('GET', '/v1/customers')).body);
    assert.ok(Array.isArray(reply.body.data));
  });

  test('leaves deletions as they are', async () => {
    const { id } = (await call('POST', '/v1/customers', { body: someCustomer() })).body;
    const { body } = await call('DELETE', `/v1/customers/${id}`, { version: older });
    assert.deepEqual(Object.keys(body), ['id', 'deleted', 'message']);
  });

  test('leaves errors as they are', async () => {
    const missing = await call('GET', `/v1/customers/${randomUUID()}`, { version: older });
    const invalid = await call('POST', '/v1/customers', { version: older, body: {} });
    for (const { body } of [missing, invalid]) assert.deepEqual(Object.keys(body), ['error']);
  });

  for (const route of routes) {
    test(`${route.operationId} is ${route.success?.shape === 'resource' ? '' : 'not '}wrapped`, () => {
      const body = { id: 'x' };
      const expected = route.success?.shape === 'resource' ? { data: body } : body;
      assert.deepEqual(renderResponse(older, route, body), expected);
      assert.deepEqual(renderResponse(latest, route, body), body);
    });
  }

  const route = (operationId: string): RouteBase => ({ ...(routes[0] as RouteBase), operationId });
  const notRefundable = new ApiError('invalid_state_transition', 'Only succeeded orders can be refunded.', {
    param: 'status',
    fieldErrors: [{ field: 'status', code: 'invalid_value', message: 'is failed' }],
    headers: { 'X-Detail': 'kept' },
  });

  test('answers a refund of an order that cannot be refunded with 400 instead of 422', () => {
    assert.equal(renderError(latest, route('refundOrder'), notRefundable).status, 422);
    assert.equal(renderError(older, route('refundOrder'), notRefundable).status, 400);
  });

  test('changes nothing of that error but its status', () => {
    const { code, message, param, fieldErrors, headers } = renderError(older, route('refundOrder'), notRefundable);
    assert.deepEqual(
      { code, message, param, fieldErrors, headers },
      {
        code: 'invalid_state_transition',
        message: 'Only succeeded orders can be refunded.',
        param: 'status',
        fieldErrors: [{ field: 'status', code: 'invalid_value', message: 'is failed' }],
        headers: { 'X-Detail': 'kept' },
      },
    );
  });

  test('leaves the status of other errors and other calls alone', () => {
    const locked = new ApiError('field_locked', 'Locked.');
    assert.equal(renderError(older, route('refundOrder'), locked).status, 422);
    assert.equal(renderError(older, route('updateCoupon'), notRefundable).status, 422);
  });
});

describe('with three versions', () => {
  const [route] = routes;
  /** Each step adds to the answer, and changes the status only where the step before left off. */
  const step = (version: string, from: number, to: number): VersionStep => ({
    version,
    differences: [],
    response: (_route, body) => ({ ...(body as object), [version]: true }),
    schema: (_route, schema) => schema,
    errorStatus: (_route, { status }) => (status === from ? to : status),
  });
  const steps = [step('2025-11-04', 422, 409), step('2025-08-01', 409, 400)];

  test('an answer and an error pass through every step down to their version', () => {
    assert.ok(route);
    const error = new ApiError('invalid_state_transition', 'No.', { status: 422 });
    const shown = (version: string): unknown[] => [
      renderResponse(version, route, {}, steps),
      renderError(version, route, error, steps).status,
    ];
    assert.deepEqual(shown(latest), [{}, 422]);
    assert.deepEqual(shown('2025-11-04'), [{ '2025-11-04': true }, 409]);
    assert.deepEqual(shown('2025-08-01'), [{ '2025-11-04': true, '2025-08-01': true }, 400]);
  });
});
