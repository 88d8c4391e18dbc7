import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { cloneDatabase } from '../../tests/support/database.ts';
import { type Gate, gateTo } from '../../tests/support/database-gate.ts';
import {
  type Reply,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from '../../tests/support/service.ts';
import { errorCatalogue } from '../errors.ts';
import { logLine } from '../../tests/support/log-lines.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const requestIdPattern = /^req_[a-z2-7]{24}$/;

function assertError(reply: Pick<Reply, 'status' | 'headers' | 'text'>, status: number, code: string): void {
  assert.equal(reply.status, status, reply.text);
  assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8');
  const body = JSON.parse(reply.text) as { error: Record<string, unknown> };
  assert.deepEqual(Object.keys(body), ['error']);
  const { error } = body;
  assert.deepEqual(Object.keys(error), ['type', 'code', 'message', 'param', 'request_id', 'field_errors', 'doc_url']);
  assert.equal(error.code, code);
  assert.equal(error.type, errorCatalogue[code as keyof typeof errorCatalogue].type);
  assert.ok(typeof error.message === 'string' && error.message.length > 0);
  assert.ok(error.param === null || typeof error.param === 'string');
  assert.ok(Array.isArray(error.field_errors));
  assert.match(String(error.request_id), requestIdPattern);
  assert.equal(error.request_id, reply.headers.get('svc-request-id'));
  assert.equal(String(error.doc_url).replace(/^https?:\/\/[^/]+/, ''), `/docs/errors#${code}`);
  assert.doesNotMatch(reply.text, /\.ts\b|node:|node_modules|\\n {4}at |FST_ERR/);
}

/** Sends bytes as they are and reads until the service closes the connection. */
async function send(bytes: string | Buffer, to = service): Promise<Pick<Reply, 'status' | 'headers' | 'text'>> {
  const socket = connect(Number(new URL(to.baseUrl).port), '127.0.0.1');
  socket.setTimeout(2_000, () => socket.destroy(new Error('the service neither answers nor closes the connection')));
  socket.write(bytes);
  const answer = await readText(socket);
  const [head = '', text = ''] = answer.split(/\r\n\r\n(.*)/s);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const [name = '', value = ''] = line.split(/: (.*)/);
      return [name, value];
    }),
  );
  const chunk = headers.get('transfer-encoding') === 'chunked' ? /^\w+\r\n(.*)\r\n0\r\n\r\n$/s.exec(text) : null;
  return { status: Number(statusLine.split(' ')[1]), headers, text: chunk?.[1] ?? text };
}

const requestHead = (line: string, headers: Record<string, string> = {}): string =>
  [
    `${line} HTTP/1.1`,
    ...Object.entries({ Host: 'localhost', Connection: 'close', ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    '\r\n',
  ].join('\r\n');

test('the catalogue is the one that is decided', () => {
  const invalidRequest = 'invalid_request_error';
  const expected = {
    validation_error: [400, invalidRequest],
    invalid_request: [400, invalidRequest],
    invalid_api_version: [400, invalidRequest],
    api_version_sunset: [400, invalidRequest],
    environment_mismatch: [400, invalidRequest],
    missing_idempotency_key: [400, invalidRequest],
    invalid_idempotency_key: [400, invalidRequest],
    customer_has_active_subscriptions: [400, invalidRequest],
    product_in_active_plans: [400, invalidRequest],
    subscription_not_modifiable: [400, invalidRequest],
    resource_not_found: [404, invalidRequest],
    resource_already_exists: [409, invalidRequest],
    resource_in_use: [409, invalidRequest],
    resource_changed: [412, invalidRequest],
    email_already_exists: [409, invalidRequest],
    phone_already_exists: [409, invalidRequest],
    sku_already_exists: [409, invalidRequest],
    already_canceled: [409, invalidRequest],
    subscription_completed: [409, invalidRequest],
    invalid_state_transition: [422, invalidRequest],
    field_locked: [422, invalidRequest],
    missing_api_key: [401, 'authentication_error'],
    invalid_api_key: [401, 'authentication_error'],
    invalid_api_key_format: [401, 'authentication_error'],
    expired_api_key: [401, 'authentication_error'],
    revoked_api_key: [401, 'authentication_error'],
    insufficient_permissions: [403, 'authorization_error'],
    ip_not_allowed: [403, 'authorization_error'],
    request_in_progress: [409, 'idempotency_error'],
    idempotency_key_conflict: [422, 'idempotency_error'],
    rate_limit_exceeded: [429, 'rate_limit_error'],
    global_rate_limit_exceeded: [429, 'rate_limit_error'],
    too_many_requests: [429, 'rate_limit_error'],
    customer_not_configured: [400, 'processing_error'],
    merchant_not_configured: [400, 'processing_error'],
    replacement_required: [400, 'processing_error'],
    gateway_error: [502, 'processing_error'],
    gateway_delete_failed: [502, 'processing_error'],
    internal_error: [500, 'processing_error'],
    not_implemented: [501, 'processing_error'],
    service_unavailable: [503, 'processing_error'],
    restore_in_progress: [503, 'processing_error'],
    webhook_endpoint_invalid: [400, 'webhook_error'],
    webhook_delivery_failed: [502, 'webhook_error'],
    webhook_signature_failed: [400, 'webhook_error'],
  };
  const actual = Object.entries(errorCatalogue).map(([code, { status, type }]) => [code, [status, type]]);
  assert.deepEqual(Object.fromEntries(actual), expected);
  assert.ok((errorCatalogue.invalid_state_transition.otherStatuses as readonly number[]).includes(400), 'on retry');
  assert.ok(
    (errorCatalogue.invalid_request.otherStatuses as readonly number[]).includes(422),
    'codes of a promo coupon',
  );
});

test('an answer that must not be replayed is not stored: 401, 403, 429, in progress, in use, 5xx', () => {
  for (const [code, { status, stored }] of Object.entries(errorCatalogue)) {
    const passing = [401, 403, 429].includes(status) || status >= 500;
    if (passing || code === 'request_in_progress' || code === 'resource_in_use') assert.equal(stored, false, code);
  }
});

describe('a request id', () => {
  test('is on every response and different each time', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => service.call('GET', '/v1/customers')));
    const ids = replies.map((reply) => reply.headers.get('svc-request-id') ?? '');
    for (const id of ids) assert.match(id, requestIdPattern);
    assert.equal(new Set(ids).size, 20);
  });

  test('is ours, not one that the client sends', async () => {
    const headers = { 'svc-request-id': 'req_mine', 'x-request-id': 'req_mine', 'request-id': 'req_mine' };
    const reply = await service.call('GET', '/v1/customers', { headers });
    assert.match(reply.headers.get('svc-request-id') ?? '', requestIdPattern);
  });
});

describe('unknown paths', () => {
  const paths = [
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v2/customers',
    '/v1/Customers',
    '//v1/customers',
    '/v1//customers',
    `/${'a'.repeat(10_000)}`,
    '/%00',
    '/v1/customers%2F',
    '/index.html',
    '/favicon.ico',
  ];
  test('a browser gets a page instead, except at the paths of the API', async () => {
    const read = (url: string, accept: string) => service.app.inject({ url, headers: { accept } });
    for (const url of ['/nonsense', '/docs/nonsense', '/docs/api/nonsense', '/checkout/not-a-token', '/assets/x.js']) {
      const page = await read(url, 'text/html,*/*');
      assert.deepEqual([page.statusCode, page.headers['content-type']], [404, 'text/html; charset=utf-8'], url);
      assert.match(page.body, /<h1>Page not found<\/h1>/);
      assert.match(String(page.headers['content-security-policy']), /^default-src 'none'; script-src 'self';/);
      assert.equal((await read(url, '*/*')).json().error.code, 'resource_not_found');
    }
    for (const url of ['/v1/nonsense', '/dashboard/nonsense']) {
      assert.equal((await read(url, 'text/html')).json().error.code, 'resource_not_found');
    }
    assert.doesNotMatch((await read('/checkout/not-a-token', 'text/html')).body, /API reference/);
  });

  for (const path of paths) {
    test(`${path.slice(0, 40)} is 404 resource_not_found`, async () => {
      assertError(await service.call('GET', path), 404, 'resource_not_found');
    });
  }

  test('an id that is no id is 404 resource_not_found, as one that never existed, however long', async () => {
    const never = (await service.call('GET', `/v1/customers/${randomUUID()}`)).body.error;
    for (const id of ['x', '0', "'", '%00', '..%2F', 'a'.repeat(101), 'a'.repeat(10_000)]) {
      const reply = await service.call('GET', `/v1/customers/${id}`);
      assertError(reply, 404, 'resource_not_found');
      assert.deepEqual({ ...reply.body.error, request_id: '' }, { ...never, request_id: '' });
    }
  });

  test('an id is not looked at before the key: 401, however long it is', async () => {
    for (const id of ['x', 'a'.repeat(200)]) {
      assertError(await service.call('GET', `/v1/customers/${id}`, { key: null }), 401, 'missing_api_key');
    }
  });

  test('are 404 with any body', async () => {
    const headers = { 'content-type': 'text/plain' };
    for (const options of [{ raw: '{' }, { raw: 'hello', headers }, { raw: Buffer.alloc(2 * 1024 * 1024, 32) }]) {
      assertError(await service.call('POST', '/v1/nothing', options), 404, 'resource_not_found');
    }
  });

  test('a malformed URL is 400 invalid_request', async () => {
    for (const path of ['/%E0%A4%A', '/v1/customers/%E0%A4%A', '/v1/customers/%FF', '/v1/%zz']) {
      const reply = await service.call('GET', path);
      if (reply.status !== 404) assertError(reply, 400, 'invalid_request');
      else assertError(reply, 404, 'resource_not_found');
    }
  });
});

describe('wrong methods', () => {
  for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'QUERY']) {
    test(`${method} /v1/customers is 405 and says what is allowed`, async () => {
      const reply = await service.call(method, '/v1/customers');
      assertError(reply, 405, 'invalid_request');
      assert.deepEqual(new Set(reply.headers.get('allow')?.split(', ')), new Set(['GET', 'HEAD', 'POST']));
    });
  }

  test('are 405 with any body', async () => {
    for (const raw of ['{', 'hello']) {
      assertError(await service.call('PUT', '/v1/customers', { raw }), 405, 'invalid_request');
    }
  });

  test('TRACE is 405 and echoes nothing', async () => {
    const reply = await send(requestHead('TRACE /v1/customers', { 'X-Echo': 'secret-header' }));
    assertError(reply, 405, 'invalid_request');
    assert.ok(!reply.text.includes('secret-header'));
  });

  test('on a path with an id is 405 as well', async () => {
    const reply = await service.call('POST', `/v1/customers/${randomUUID()}`, { body: {} });
    assertError(reply, 405, 'invalid_request');
    assert.deepEqual(new Set(reply.headers.get('allow')?.split(', ')), new Set(['GET', 'HEAD', 'PATCH', 'DELETE']));
  });

  test('HEAD answers as GET does, without a body', async () => {
    const found = await service.call('HEAD', '/v1/customers');
    assert.deepEqual([found.status, found.text], [200, '']);
    const missing = await service.call('HEAD', '/v1/nothing');
    assert.deepEqual([missing.status, missing.text], [404, '']);
    const refused = await service.call('HEAD', '/v1/customers', { key: null });
    assert.deepEqual([refused.status, refused.text], [401, '']);
    for (const { headers } of [found, missing, refused]) {
      assert.match(headers.get('svc-request-id') ?? '', requestIdPattern);
    }
  });
});

describe('bodies', () => {
  const post = (raw: string | Buffer, contentType = 'application/json'): Promise<Reply> =>
    service.call('POST', '/v1/customers', { raw, headers: { 'content-type': contentType } });

  for (const raw of ['{', 'hello', "{'a': 1}", '{"a": 1,}', '{"a": NaN}', '\u0000', '{}{}', '<html>']) {
    test(`${JSON.stringify(raw)} is not JSON: 400 invalid_request`, async () => {
      assertError(await post(raw), 400, 'invalid_request');
    });
  }

  test('bytes that are not UTF-8 are 400 invalid_request', async () => {
    assertError(await post(Buffer.from([0x22, 0xff, 0x22])), 400, 'invalid_request');
  });

  for (const raw of ['[]', '"text"', '1', 'true', 'null']) {
    test(`${raw} is JSON but no object: 400 validation_error`, async () => {
      const { id } = (await service.call('POST', '/v1/customers', { body: someCustomer() })).body;
      assertError(await service.call('PATCH', `/v1/customers/${id}`, { raw }), 400, 'validation_error');
    });
  }

  const form = '--x\r\nContent-Disposition: form-data; name="first_name"\r\n\r\nEve\r\n--x--\r\n';
  const otherTypes: [type: string, raw: string][] = [
    ['text/plain', '{}'],
    ['application/x-www-form-urlencoded', 'first_name=Eve'],
    ['multipart/form-data; boundary=x', form],
    ['application/xml', '<customer/>'],
    ['application/jsonp', '{}'],
    ['nonsense', '{}'],
  ];
  for (const [type, raw] of otherTypes) {
    test(`${type.split(';')[0]} is not JSON: 400 invalid_request, and nothing changes`, async () => {
      const { id } = (await service.call('POST', '/v1/customers', { body: someCustomer() })).body;
      const path = `/v1/customers/${id}`;
      const reply = await service.call('PATCH', path, { raw, headers: { 'content-type': type } });
      assertError(reply, 400, 'invalid_request');
      assert.equal((await service.call('GET', path)).body.first_name, 'Ada');
    });
  }

  test('a body without a content type is 400 invalid_request', async () => {
    const headers = { Authorization: `Bearer ${service.key}`, 'Content-Length': '2' };
    assertError(await send(`${requestHead('POST /v1/customers', headers)}{}`), 400, 'invalid_request');
  });

  test('a body over 1 MiB is 413', async () => {
    const padded = (bytes: number): string => {
      const json = JSON.stringify(someCustomer());
      return json + ' '.repeat(bytes - json.length);
    };
    assert.equal((await post(padded(1024 * 1024))).status, 201);
    assertError(await post(padded(1024 * 1024 + 1)), 413, 'invalid_request');
  });

  test('a body over 1 MiB is 413 also when its length is not announced', async () => {
    const headers = {
      Authorization: `Bearer ${service.key}`,
      'Content-Type': 'application/json',
      'Transfer-Encoding': 'chunked',
    };
    const chunk = `${(1024 * 1024 + 1).toString(16)}\r\n${' '.repeat(1024 * 1024 + 1)}\r\n0\r\n\r\n`;
    assertError(await send(requestHead('POST /v1/customers', headers) + chunk), 413, 'invalid_request');
  });

  test('every bad field is named at once, and param is the first of them', async () => {
    const body = someCustomer({
      email: 'invalid',
      tags: ['vip', 5],
      shipping_address: { country: 'Narnia' },
      nick: 'A',
    });
    delete body.phone;
    const reply = await service.call('POST', '/v1/customers', { body });
    assertError(reply, 400, 'validation_error');
    const { field_errors: fieldErrors, param } = reply.body.error;
    for (const error of fieldErrors) assert.deepEqual(Object.keys(error), ['field', 'code', 'message']);
    assert.deepEqual(
      new Set(fieldErrors.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`)),
      new Set([
        'email invalid_format',
        'tags[1] invalid_value',
        'shipping_address.country invalid_format',
        'phone required_field',
        'nick invalid_value',
      ]),
    );
    assert.equal(param, fieldErrors[0].field);
  });

  test('a value of the wrong type in place of a choice is answered with the choices', async () => {
    const body = someProduct({ availability: 5 });
    const reply = await service.call('POST', '/v1/products', { body, idempotencyKey: randomUUID() });
    assert.deepEqual(reply.body.error.field_errors, [
      { field: 'availability', code: 'invalid_value', message: 'must be one of in_stock, out_of_stock, preorder' },
    ]);
  });
});

describe('what is not proper HTTP', () => {
  const broken: Record<string, string | Buffer> = {
    garbage: 'garbage\r\n\r\n',
    'a TLS handshake': Buffer.from([0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x02, 0x03, 0x04, 0x05]),
    'an HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'an unknown HTTP version': 'GET / HTTP/3.0\r\nHost: localhost\r\n\r\n',
    'a content length that is no number': requestHead('POST /v1/customers', { 'Content-Length': 'abc' }),
    'two lengths, as used for request smuggling': `${requestHead('POST /v1/customers', {
      'Content-Length': '3',
      'Transfer-Encoding': 'chunked',
    })}0\r\n\r\n`,
    'a header without a colon': 'GET / HTTP/1.1\r\nHost localhost\r\n\r\n',
    'a NUL in a header': requestHead('GET /v1/customers', { 'X-Zero': '\0' }),
    'no Host': 'GET /v1/customers HTTP/1.1\r\nConnection: close\r\n\r\n',
  };
  for (const [what, bytes] of Object.entries(broken)) {
    test(`${what} is 400 invalid_request`, async () => {
      assertError(await send(bytes), 400, 'invalid_request');
    });
  }

  test('headers over 16 KiB are 431 with an error body', async () => {
    assertError(await send(requestHead('GET /', { 'X-Large': 'a'.repeat(20_000) })), 431, 'invalid_request');
  });

  test('a path over 16 KiB is 431 with an error body', async () => {
    assertError(await send(requestHead(`GET /${'a'.repeat(20_000)}`)), 431, 'invalid_request');
  });

  test('an unsupported Expect header is rejected with an error body', async () => {
    assertError(await send(requestHead('GET /v1/customers', { Expect: 'nonsense' })), 417, 'invalid_request');
  });

  test('an upgrade to another protocol is not taken up, and the request is answered', async () => {
    const headers = { Upgrade: 'websocket', Connection: 'Upgrade, close' };
    assertError(await send(requestHead('GET /v1/nothing', headers)), 404, 'resource_not_found');
  });

  test('the service continues', async () => {
    assert.equal((await service.call('GET', '/v1/customers')).status, 200);
  });
});

describe('an internal error', () => {
  let breakable: TestService;

  before(async () => {
    breakable = await startTestService();
    await breakable.db.query('ALTER TABLE customers RENAME COLUMN company TO company_renamed');
  });
  after(() => breakable.stop());

  test('is 500 internal_error and gives nothing away', async () => {
    const reply = await breakable.call('GET', '/v1/customers');
    assertError(reply, 500, 'internal_error');
    assert.doesNotMatch(reply.text, /company|customers|column|select|sql|postgres/i);
  });

  test('is logged with the id of the request and the reason', async () => {
    const reply = await breakable.call('POST', '/v1/customers', { body: someCustomer() });
    const lines = breakable.logLines.filter((line) => line.includes(reply.body.error.request_id));
    const [failure] = lines.map((line) => logLine(line).attributes).filter((line) => line['exception.type']);
    assert.match(String(failure?.['exception.message']), /column "company"/);
    assert.equal(failure?.['svc.company'], breakable.company.id);
  });

  test('is safe to retry with the same idempotency key', async () => {
    const options = { body: someCustomer(), idempotencyKey: randomUUID() };
    assert.equal((await breakable.call('POST', '/v1/customers', options)).status, 500);
    await breakable.db.query('ALTER TABLE customers RENAME COLUMN company_renamed TO company');
    const repeated = await breakable.call('POST', '/v1/customers', options);
    assert.deepEqual([repeated.status, repeated.headers.get('svc-idempotent-replayed')], [201, null]);
  });
});

/** A hanging service must fail its test, not the whole run. */
async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  const late = sleep(ms, undefined, { ref: false }).then(() => assert.fail(`nothing happened within ${ms} ms`));
  return Promise.race([work, late]);
}

describe('a database that is gone', () => {
  function assertUnavailable(reply: Reply): void {
    assertError(reply, 503, 'service_unavailable');
    assert.match(reply.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assert.doesNotMatch(reply.text, /ECONN|terminat|queryable|127\.0\.0\.1|svc_/);
  }

  const creation = () => ({ body: someCustomer(), idempotencyKey: randomUUID() });

  async function startBehindGate(t: TestContext): Promise<{ gated: TestService; gate: Gate }> {
    const database = await cloneDatabase(1);
    const gate = await gateTo(database.apiUrl);
    const gated = await startTestService({ database: { ...database, apiUrl: gate.connectionString } });
    t.after(async () => {
      gated.app.server.closeAllConnections();
      try {
        await within(2_000, gated.stop());
      } finally {
        await gate.shut();
        await database.drop();
      }
    });
    return { gated, gate };
  }

  test('is 503 service_unavailable with Retry-After while it cannot be reached, then all is as before', async (t) => {
    const { gated, gate } = await startBehindGate(t);
    const options = creation();
    await gate.shut();
    try {
      assertUnavailable(await gated.call('GET', '/v1/customers'));
      assertUnavailable(await gated.call('POST', '/v1/customers', options));
      const unready = await gated.call('GET', '/readyz');
      assert.deepEqual([unready.status, unready.headers.get('retry-after')], [503, '1']);
      assert.deepEqual(Object.keys(unready.body), ['status', 'message', 'components']);
      assert.equal(unready.body.status, 'not ready');
      const sentence = /^Not ready: the database does not respond(, the connections "\w+" do not respond)+\.$/;
      assert.match(unready.body.message, sentence);
      assert.equal((await gated.call('GET', '/healthz')).status, 200);
    } finally {
      await gate.open();
    }
    assert.equal((await gated.call('POST', '/v1/customers', options)).status, 201);
  });

  // The second is how PostgreSQL refuses a connection.
  for (const { message, code } of [
    { message: 'could not extend file: No space left on device', code: '53100' },
    { message: 'could not write init file', code: 'XX000' },
  ]) {
    test(`is called a full disk when that is the reason: ${message}`, async () => {
      await service.db.query(`CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION '${message}' USING ERRCODE = '${code}'; END $$`);
      await service.db.query(`CREATE TRIGGER no_room BEFORE INSERT ON customers EXECUTE FUNCTION no_room()`);
      try {
        const reply = await service.call('POST', '/v1/customers', creation());
        assertUnavailable(reply);
        assert.equal(reply.body.error.message, 'The disk of the database is full. Retry shortly.');
        assert.ok(service.logLines.some((line) => line.includes('"body":"request failed: the disk is full"')));
      } finally {
        await service.db.query('DROP FUNCTION no_room CASCADE');
      }
    });
  }

  test('is 503 also for a request whose key is known from before', async (t) => {
    const { gated, gate } = await startBehindGate(t);
    assert.equal((await gated.call('GET', '/v1/customers')).status, 200);
    await gate.shut();
    try {
      assertUnavailable(await gated.call('GET', '/v1/customers'));
      assertUnavailable(await gated.call('POST', '/v1/customers', creation()));
    } finally {
      await gate.open();
    }
  });

  test('is 503 when the database disconnects as a transaction starts, and the process survives', async (t) => {
    const { gated, gate } = await startBehindGate(t);
    assert.equal((await gated.call('GET', '/v1/customers')).status, 200);
    await gate.shut();
    await gate.open();
    gate.endAfterEachAnswer(true);
    const reply = await within(2_000, gated.call('POST', '/v1/customers', creation()));
    gate.endAfterEachAnswer(false);
    assertUnavailable(reply);
    assert.equal((await gated.call('POST', '/v1/customers', creation())).status, 201);
  });

  test('is 503 for a request whose connection is cut while it waits for an answer', async (t) => {
    const hold = await lockCustomers(t, service);
    const waiting = [service.call('GET', '/v1/customers'), service.call('POST', '/v1/customers', creation())];
    await hold.until(waiting.length);
    await hold.cutOff();
    for (const reply of await Promise.all(waiting)) assertUnavailable(reply);
    await hold.release();
    assert.equal((await service.call('GET', '/v1/customers')).status, 200);
  });

  test('is 503 when it was dropped', async () => {
    const database = await cloneDatabase(1);
    const orphan = await startTestService({ database });
    assert.equal((await orphan.call('GET', '/v1/customers')).status, 200);
    await database.drop();
    const replies = [await orphan.call('GET', '/v1/customers'), await orphan.call('GET', '/v1/customers')];
    await orphan.stop();
    for (const reply of replies) assertUnavailable(reply);
  });
});

/** Holds the table, so that requests wait on it until `release`. */
async function lockCustomers(t: TestContext, on: TestService) {
  const client = new pg.Client({ connectionString: on.companyUrls.connectionString });
  await client.connect();
  t.after(() => client.end());
  await client.query('BEGIN');
  await client.query('LOCK TABLE customers IN ACCESS EXCLUSIVE MODE');
  const waiting = `FROM pg_locks WHERE relation = 'customers'::regclass AND NOT granted`;
  return {
    release: () => client.query('COMMIT'),
    cutOff: () => client.query(`SELECT pg_terminate_backend(pid) ${waiting}`),
    async until(count: number): Promise<void> {
      const deadline = performance.now() + 2_000;
      while ((await client.query(`SELECT 1 ${waiting}`)).rowCount !== count) {
        assert.ok(performance.now() < deadline, 'the requests do not wait for the table');
        await sleep(5);
      }
    },
  };
}

/** Returns the link of the image. */
async function uploadImage(to: TestService): Promise<string> {
  const product = await to.call('POST', '/v1/products', { body: someProduct(), idempotencyKey: randomUUID() });
  const gif = Buffer.from('R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==', 'base64');
  const head =
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a.gif"\r\nContent-Type: image/gif\r\n\r\n';
  const raw = Buffer.concat([Buffer.from(head), gif, Buffer.from('\r\n--x--\r\n')]);
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const image = await to.call('POST', `/v1/products/${product.body.id}/images`, { raw, headers });
  assert.equal(image.status, 201, image.text);
  return image.body.url;
}

describe('while the service stops', () => {
  /** A service that is stopping while a request on a kept-alive connection waits for the database. */
  async function stopMidRequest(t: TestContext) {
    const stopping = await startTestService();
    const hold = await lockCustomers(t, stopping);
    const socket = connect(Number(new URL(stopping.baseUrl).port), '127.0.0.1');
    t.after(async () => {
      socket.destroy();
      await stopping.stop();
    });
    const answers = readText(socket);
    const request = `GET /v1/customers HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${stopping.key}\r\n\r\n`;
    socket.write(request);
    await hold.until(1);
    const closed = stopping.app.close();
    while (stopping.app.server.listening) await sleep(5);
    return { socket, request, answers, hold, closed };
  }

  test('a running request finishes, and no new one is served: 503, or the connection is closed', async (t) => {
    const { socket, request, answers, hold, closed } = await stopMidRequest(t);
    socket.write(request);
    await hold.release();
    const [, finished = '', next] = (await within(2_000, answers)).split('HTTP/1.1 ');
    assert.match(finished, /^200 /);
    const last = next ?? finished;
    if (next) assert.match(next, /^503 [^]*retry-after: \d+[^]*"code":"service_unavailable"/i);
    assert.match(last, /connection: close/i);
    await within(2_000, closed);
  });

  test('a long download finishes, and its kept-open connection does not hold it up', async (t) => {
    const stopping = await startTestService();
    const socket = connect(Number(new URL(stopping.baseUrl).port), '127.0.0.1');
    t.after(async () => {
      socket.destroy();
      await stopping.stop();
    });
    const { pathname, search } = new URL(await uploadImage(stopping));
    // More than the buffers of a connection hold while its client does not read.
    await writeFile(join(stopping.config.dataDir, pathname), Buffer.alloc(30_000_000, 'a'));
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await once(socket, 'readable');
    const closed = stopping.app.close();
    while (stopping.app.server.listening) await sleep(5);
    const received = readText(socket);
    await within(5_000, closed);
    assert.ok((await received).length > 30_000_000);
  });

  test('a connection that its client keeps open does not hold it up', async (t) => {
    const { answers, hold, closed } = await stopMidRequest(t);
    await hold.release();
    await within(2_000, closed);
    assert.match(await within(2_000, answers), /^HTTP\/1\.1 200[^]*connection: close/i);
  });
});
