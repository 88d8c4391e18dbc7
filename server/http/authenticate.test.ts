import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { routes } from '../../tests/support/openapi.ts';
import { type Merchant, type Reply, startTestService, type TestService } from '../../tests/support/service.ts';
import { eventually } from '../../tests/support/webhooks.ts';
import { generateKey } from '../features/api-keys/key-format.ts';
import { createApiKey, InvalidKeyOption, reserveApiKey, revokeApiKey } from '../features/api-keys/service.ts';
import { toBase62 } from '../platform/ids.ts';
import { isPermission, type Permission, permissions, rightsOfKey, usualPermissions } from './permissions.ts';

let service: TestService;
let merchant: Merchant;

// Time stands still unless a test advances it, so a key that was verified is believed until a change is announced.
const startedAtMs = Date.now();
const clock = { nowMs: () => startedAtMs };
before(async () => {
  service = await startTestService({ clock });
  merchant = await service.createMerchant();
});
after(() => service.stop());

const lookupOf = (key: string): string => key.slice(12, 24);
const secretOf = (key: string): string => key.slice(24, -6);
const withChecksum = (body: string): string => body + toBase62(crc32(body), 6);
const listWith = (key: string, headers: Record<string, string> = {}, on = service): Promise<Reply> =>
  on.call('GET', '/v1/customers', { key, headers });

function assertRefused(reply: Reply, status: number, code: string): void {
  assert.deepEqual([reply.status, reply.body.error?.code], [status, code]);
}

/** Waits until a change of the key was announced: PostgreSQL does that a moment after the commit. */
const untilRefused = (key: string, code: string, on = service): Promise<boolean> =>
  eventually(code, async () => (await listWith(key, {}, on)).body.error?.code === code);

async function revoke(key: string, nowMs = service.clock.nowMs()): Promise<void> {
  const [row] = await service.db.query<{ company_id: string; id: string }>(
    'SELECT company_id, id FROM api_keys WHERE lookup_id = $1',
    [lookupOf(key)],
  );
  assert.ok(row);
  assert.equal(await revokeApiKey(service.db, row.company_id, row.id, nowMs), true);
}

describe('401', () => {
  test('no Authorization header is missing_api_key', async () => {
    assertRefused(await service.call('GET', '/v1/customers', { key: null }), 401, 'missing_api_key');
  });

  test('an empty Authorization header is missing_api_key', async () => {
    const reply = await service.call('GET', '/v1/customers', { key: null, headers: { authorization: '' } });
    assertRefused(reply, 401, 'missing_api_key');
  });

  const malformed: Record<string, (key: string) => string> = {
    'the scheme alone': () => 'Bearer',
    'another scheme': (key) => `Basic ${key}`,
    'the key without a scheme': (key) => key,
    'no space after the scheme': (key) => `Bearer${key}`,
    'a tab after the scheme': (key) => `Bearer\t${key}`,
    'two keys': (key) => `Bearer ${key} ${key}`,
    'two keys with a comma': (key) => `Bearer ${key},${key}`,
    'two schemes': (key) => `Bearer Bearer ${key}`,
    'a quoted key': (key) => `Bearer "${key}"`,
    'a key in lower case': (key) => `Bearer ${key.toLowerCase()}`,
    'a key that lacks its last character': (key) => `Bearer ${key.slice(0, -1)}`,
    'a key with one character too many': (key) => `Bearer ${key}a`,
    'another prefix': (key) => `Bearer ${withChecksum(key.slice(0, -6).replace('svc_test_sk_', 'sk_test_'))}`,
    'an unknown environment': (key) => `Bearer ${withChecksum(key.slice(0, -6).replace('_test_', '_prod_'))}`,
    'an unknown kind of key': (key) => `Bearer ${withChecksum(key.slice(0, -6).replace('_sk_', '_rk_'))}`,
    'a character that is not base62': (key) => `Bearer ${withChecksum(`${key.slice(0, -7)}-`)}`,
    'bytes that are not ASCII': (key) => `Bearer ${key.slice(0, -1)}\u00ff`,
    'eight kilobytes': () => `Bearer svc_test_sk_${'a'.repeat(8_000)}`,
  };
  for (const [what, header] of Object.entries(malformed)) {
    test(`${what} is invalid_api_key_format`, async () => {
      const headers = { authorization: header(service.key) };
      assertRefused(await service.call('GET', '/v1/customers', { key: null, headers }), 401, 'invalid_api_key_format');
    });
  }

  test('the name of the scheme is not case-sensitive, as in every HTTP authentication', async () => {
    for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
      const headers = { authorization: `${scheme} ${service.key}` };
      assert.equal((await service.call('GET', '/v1/customers', { key: null, headers })).status, 200);
    }
  });

  test('a key with a flipped checksum character is invalid_api_key_format', async () => {
    const flipped = service.key.slice(0, -1) + (service.key.endsWith('a') ? 'b' : 'a');
    assertRefused(await listWith(flipped), 401, 'invalid_api_key_format');
  });

  test('a well-formed key that was never made is invalid_api_key', async () => {
    assertRefused(await listWith(generateKey('sandbox', 'secret').text.reveal()), 401, 'invalid_api_key');
  });

  test('the lookup id of a real key with another secret is invalid_api_key', async () => {
    const other = generateKey('sandbox', 'secret').text.reveal();
    const forged = withChecksum(service.key.slice(0, 24) + secretOf(other));
    assertRefused(await listWith(forged), 401, 'invalid_api_key');
  });

  test('a key cannot be turned into one of the other environment or kind', async () => {
    for (const [from, to] of [
      ['_test_', '_live_'],
      ['_sk_', '_pk_'],
    ] as const) {
      const forged = withChecksum(service.key.slice(0, -6).replace(from, to));
      assertRefused(await listWith(forged), 401, 'invalid_api_key');
    }
  });

  test('a key is expired_api_key from its expiry on, by real time', async () => {
    const key = await service.createKey(merchant.sandbox, { expiresAt: new Date(service.clock.nowMs() + 60_000) });
    assert.equal((await listWith(key)).status, 200);
    service.clock.advance(59_000);
    assert.equal((await listWith(key)).status, 200);
    service.clock.advance(1_000);
    assertRefused(await listWith(key), 401, 'expired_api_key');
  });

  test('the clock of the sandbox does not expire a key', async () => {
    const { sandbox } = await service.createMerchant();
    const key = await service.createKey(sandbox, { expiresAt: new Date(service.clock.nowMs() + 60_000) });
    await service.db.query('UPDATE companies SET clock_offset_ms = $2 WHERE id = $1', [sandbox.id, 31_536_000_000]);
    assert.equal((await listWith(key)).status, 200);
  });

  test('a revoked key is revoked_api_key, also when it has expired too', async () => {
    const key = await service.createKey(merchant.sandbox, { expiresAt: new Date(service.clock.nowMs() - 1) });
    await revoke(key);
    assertRefused(await listWith(key), 401, 'revoked_api_key');
  });

  test('the answer is the documented error body and asks for a bearer token', async () => {
    const reply = await listWith(generateKey('sandbox', 'secret').text.reveal());
    assert.deepEqual(Object.keys(reply.body), ['error']);
    const { message, request_id, doc_url, ...rest } = reply.body.error;
    assert.deepEqual(rest, { type: 'authentication_error', code: 'invalid_api_key', param: null, field_errors: [] });
    assert.ok(message.length > 0);
    assert.match(doc_url, /\/docs\/errors#invalid_api_key$/);
    assert.equal(request_id, reply.headers.get('svc-request-id'));
    assert.match(reply.headers.get('www-authenticate') ?? '', /^Bearer/);
  });
});

describe('a change of a key', () => {
  test('takes effect at once in every running service: revocation', async () => {
    const second = await startTestService({ database: service.database, clock });
    second.clock.advance(service.clock.nowMs() - second.clock.nowMs());
    try {
      const key = await service.createKey(merchant.sandbox);
      for (const one of [service, second]) assert.equal((await listWith(key, {}, one)).status, 200);
      await revoke(key);
      for (const one of [service, second]) await untilRefused(key, 'revoked_api_key', one);
    } finally {
      await second.stop();
    }
  });

  test('takes effect at once: revocation by a process whose clock runs ahead', async () => {
    const key = await service.createKey(merchant.sandbox);
    await revoke(key, service.clock.nowMs() + 60_000);
    assertRefused(await listWith(key), 401, 'revoked_api_key');
  });

  test('takes effect at once: permissions that are taken away', async () => {
    const key = await service.createKey(merchant.sandbox);
    assert.equal((await listWith(key)).status, 200);
    await service.db.query("UPDATE api_keys SET permissions = '{products:read}' WHERE lookup_id = $1", [lookupOf(key)]);
    await untilRefused(key, 'insufficient_permissions');
  });

  test('made while the notification connection was down takes effect when it is back', async () => {
    const key = await service.createKey(merchant.sandbox);
    assert.equal((await listWith(key)).status, 200);
    await service.db.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
    );
    await revoke(key);
    await untilRefused(key, 'revoked_api_key');
  });
});

describe('403', () => {
  test('the answer is the documented error body, without a challenge', async () => {
    const key = await service.createKey(merchant.sandbox, { permissions: ['products:read'] });
    const reply = await listWith(key);
    assert.equal(reply.status, 403);
    const { message, request_id, doc_url, ...rest } = reply.body.error;
    assert.deepEqual(rest, {
      type: 'authorization_error',
      code: 'insufficient_permissions',
      param: null,
      field_errors: [],
    });
    assert.match(message, /customers:read/);
    assert.match(doc_url, /\/docs\/errors#insufficient_permissions$/);
    assert.equal(request_id, reply.headers.get('svc-request-id'));
    assert.equal(reply.headers.get('www-authenticate'), null);
  });

  test('a publishable key on a secret-key endpoint is insufficient_permissions', async () => {
    const key = await service.createKey(merchant.sandbox, { kind: 'publishable' });
    assert.match(key, /^svc_test_pk_/);
    for (const path of ['/v1/customers', '/v1/products']) {
      assertRefused(await service.call('GET', path, { key }), 403, 'insufficient_permissions');
    }
  });

  test('a publishable key stays out of secret-key endpoints with any permissions', async () => {
    const key = await service.createKey(merchant.sandbox, { kind: 'publishable', permissions }).catch((error) => {
      assert.ok(error instanceof InvalidKeyOption);
      return null;
    });
    if (key !== null) assertRefused(await listWith(key), 403, 'insufficient_permissions');
  });
});

describe('permissions', () => {
  const knownPermissions: readonly string[] = permissions;
  const requestTo = (route: (typeof routes)[number], key: string): Promise<Reply> =>
    service.call(
      route.method,
      route.path.replace(/:\w+/g, () => randomUUID()),
      {
        key,
        ...(route.idempotency !== 'none' && { idempotencyKey: randomUUID() }),
        ...(route.method !== 'GET' && { body: {} }),
      },
    );

  /** What they return shows a customer as a whole. */
  const alsoNeeded: Readonly<Record<string, readonly Permission[]>> = { getInvoiceXml: ['customers:read'] };

  for (const route of routes) {
    const also = alsoNeeded[route.operationId] ?? [];
    test(`${route.operationId} needs ${[route.permission, ...also].join(' and ')} and nothing else`, async () => {
      const { permission: needed } = route;
      assert.ok(needed !== null && isPermission(needed) && knownPermissions.includes(needed));
      const others = permissions.filter((permission) => permission !== needed);
      const without = await service.createKey(merchant.sandbox, { permissions: others });
      assertRefused(await requestTo(route, without), 403, 'insufficient_permissions');
      const only = await service.createKey(merchant.sandbox, { permissions: [needed, ...also] });
      const { status } = await requestTo(route, only);
      assert.ok(status !== 401 && status !== 403, `answered ${status}`);
    });
  }

  test('a full key counts as an admin, without the permissions that are newer than it', () => {
    const full = rightsOfKey(usualPermissions);
    assert.ok(full.includes('api_keys:write') && full.includes('credit:write'));
    const older = usualPermissions.filter((one) => !/^(credit|invoices):/.test(one));
    assert.deepEqual(
      full.filter((one) => !rightsOfKey(older).includes(one)),
      ['credit:read', 'credit:write', 'invoices:read', 'invoices:write'],
    );
    assert.deepEqual(rightsOfKey(['customers:read']), ['customers:read']);
  });

  test('a full key stores an explicit list of every usual permission, never a wildcard', async () => {
    const key = await service.createKey(merchant.sandbox);
    const [row] = await service.db.query<{ permissions: string[] }>(
      'SELECT permissions FROM api_keys WHERE lookup_id = $1',
      [lookupOf(key)],
    );
    assert.deepEqual(row?.permissions, [
      'customers:read',
      'customers:write',
      'payment_methods:read',
      'payment_methods:write',
      'products:read',
      'products:write',
      'orders:read',
      'orders:write',
      'transactions:read',
      'plans:read',
      'subscriptions:read',
      'subscriptions:write',
      'coupons:read',
      'coupons:write',
      'credit:read',
      'credit:write',
      'team_members:read',
      'team_members:write',
      'webhook_endpoints:read',
      'webhook_endpoints:write',
      'events:read',
      'requests:read',
      'checkout_sessions:read',
      'checkout_sessions:write',
      'payment_links:read',
      'payment_links:write',
      'customer_sessions:read',
      'customer_sessions:write',
      'invoices:read',
      'invoices:write',
    ]);
  });
});

describe('the IP allow-list', () => {
  let behindProxy: TestService;

  before(async () => {
    behindProxy = await startTestService({
      database: service.database,
      settings: { SVC_TRUST_PROXY: '127.0.0.1, 10.1.0.0/16' },
    });
  });
  after(() => behindProxy.stop());

  const cases: [list: string[], forwardedFor: string, allowed: boolean][] = [
    [['203.0.113.7'], '203.0.113.7', true],
    [['203.0.113.7'], '203.0.113.8', false],
    [['203.0.113.0/24'], '203.0.113.255', true],
    [['203.0.113.0/24'], '203.0.114.0', false],
    [['203.0.113.7/24'], '203.0.113.200', true],
    [['2001:db8::1'], '2001:DB8:0:0:0:0:0:1', true],
    [['2001:db8::1'], '2001:db8::2', false],
    [['2001:db8:1::/48'], '2001:db8:1:ffff::9', true],
    [['2001:db8:1::/48'], '2001:db8:2::9', false],
    [['198.51.100.4', '10.0.0.0/8', '2001:db8::/32'], '2001:db8::9', true],
    [['198.51.100.4', '10.0.0.0/8', '2001:db8::/32'], '10.200.0.1', true],
    [['0.0.0.0/0'], '2001:db8::9', false],
    [['::/0'], '203.0.113.7', false],
    // A dual-stack socket shows an IPv4 client as ::ffff:a.b.c.d: the same client, however either side writes it.
    [['203.0.113.7'], '::ffff:203.0.113.7', true],
    [['203.0.113.0/24'], '::ffff:203.0.113.9', true],
    [['203.0.113.0/24'], '::ffff:203.0.114.9', false],
    [['::ffff:203.0.113.7'], '203.0.113.7', true],
    [['::ffff:203.0.113.0/120'], '203.0.113.9', true],
    [['::ffff:203.0.113.0/120'], '203.0.114.9', false],
    [['203.0.113.0/24'], '::FFFF:CB00:7109', true],
    [['203.0.113.0/24'], '0:0:0:0:0:ffff:cb00:7109', true],
    // The deprecated form ::a.b.c.d is an IPv6 address.
    [['203.0.113.0/24'], '::203.0.113.9', false],
    [['203.0.113.0/24'], '::cb00:7109', false],
    [['::cb00:7109'], '::203.0.113.9', true],
    [['203.0.113.0/24'], '203.0.113.009', false],
    [['203.0.113.0/24'], '203.0.113.9', true],
    [['203.0.113.0/24'], '203.0.113.9:443', false],
    [['fe80::/64'], 'fe80::1%eth0', true],
    [['203.0.113.7'], '203.0.113.7, ::10.1.2.3', false],
    [['203.0.113.7'], '203.0.113.7, ::ffff:a01:203', true],
    // What a client writes into the header itself stands left of what the proxies add.
    [['203.0.113.7'], '203.0.113.7, 198.51.100.1', false],
    [['203.0.113.7'], '198.51.100.1, 203.0.113.7', true],
    [['203.0.113.7'], '198.51.100.1, 203.0.113.7, 10.1.2.3', true],
    [['0.0.0.0/0', '::/0'], 'unknown', false],
  ];
  for (const [list, forwardedFor, allowed] of cases) {
    test(`${list.join(' ')} ${allowed ? 'admits' : 'keeps out'} ${forwardedFor}`, async () => {
      const key = await service.createKey(merchant.sandbox, { allowedAddresses: list });
      const reply = await listWith(key, { 'x-forwarded-for': forwardedFor }, behindProxy);
      if (allowed) assert.equal(reply.status, 200, reply.text);
      else assertRefused(reply, 403, 'ip_not_allowed');
    });
  }

  test('a key without a list works from everywhere', async () => {
    assert.equal((await listWith(merchant.key, { 'x-forwarded-for': '203.0.113.99' }, behindProxy)).status, 200);
  });

  test('X-Forwarded-For is not believed unless its sender is a trusted proxy', async () => {
    const elsewhere = await service.createKey(merchant.sandbox, { allowedAddresses: ['203.0.113.7'] });
    assertRefused(await listWith(elsewhere, { 'x-forwarded-for': '203.0.113.7' }), 403, 'ip_not_allowed');
    const here = await service.createKey(merchant.sandbox, { allowedAddresses: ['127.0.0.1'] });
    assert.equal((await listWith(here, { 'x-forwarded-for': '203.0.113.7' })).status, 200);
  });

  test('the answer is an authorization_error without a challenge', async () => {
    const key = await service.createKey(merchant.sandbox, { allowedAddresses: ['203.0.113.7'] });
    const reply = await listWith(key);
    assert.equal(reply.body.error.type, 'authorization_error');
    assert.equal(reply.headers.get('www-authenticate'), null);
  });

  const notRanges = ['', 'example.com', '300.0.0.1', '10.0.0.0/33', '10.0.0.0/-1', '2001:db8::/129', '10.0.0.0/8/8'];
  // inet_aton reads these as 0.0.0.10, 8.0.0.1 and 127.0.0.1: hardly what was meant by who typed them.
  const surprising = ['10', '10.1/16', '010.0.0.1', '0x7f.0.0.1'];
  for (const text of [...notRanges, ...surprising]) {
    test(`${JSON.stringify(text)} is refused when a key is made`, async () => {
      await assert.rejects(service.createKey(merchant.sandbox, { allowedAddresses: [text] }), InvalidKeyOption);
    });
  }
});

describe('keys', () => {
  test('name their environment and kind', async () => {
    const made = await Promise.all([
      service.createKey(merchant.sandbox),
      service.createKey(merchant.sandbox, { kind: 'publishable' }),
      service.createKey(merchant.live),
      service.createKey(merchant.live, { kind: 'publishable' }),
    ]);
    assert.deepEqual(
      made.map((key) => key.slice(0, 12)),
      ['svc_test_sk_', 'svc_test_pk_', 'svc_live_sk_', 'svc_live_pk_'],
    );
    for (const key of made) assert.match(key.slice(12), /^[0-9A-Za-z]{61}$/);
  });

  test('remember when they were last used', async () => {
    const key = await service.createKey(merchant.sandbox);
    const lastUsedAt = async (): Promise<Date | null | undefined> => {
      const [row] = await service.db.query<{ last_used_at: Date | null }>(
        'SELECT last_used_at FROM api_keys WHERE lookup_id = $1',
        [lookupOf(key)],
      );
      return row?.last_used_at;
    };
    assert.equal(await lastUsedAt(), null);
    const before = service.clock.nowMs();
    await listWith(key);
    await eventually('the use is recorded', async () => (await lastUsedAt()) !== null);
    const used = (await lastUsedAt())?.getTime() ?? 0;
    assert.ok(used >= before && used <= service.clock.nowMs());
  });

  test('of other companies stay known when one company changes', async () => {
    // Both companies are old: the creation of a company is announced too, and its keys are read again then.
    const one = await service.createKey(service.company);
    const other = await service.createKey(merchant.sandbox);
    const read = async (key: string): Promise<number> => (await service.call('GET', '/v1/customers', { key })).status;
    assert.deepEqual([await read(one), await read(other)], [200, 200]);
    // A change without the trigger is noticed only when the key is read again.
    await service.db.query('ALTER TABLE api_keys DISABLE TRIGGER api_keys_changed');
    await service.db.query('UPDATE api_keys SET revoked_at = now() WHERE lookup_id = ANY($1)', [
      [one, other].map(lookupOf),
    ]);
    await service.db.query('ALTER TABLE api_keys ENABLE TRIGGER api_keys_changed');
    await service.db.query('UPDATE companies SET name = name WHERE id = $1', [service.company.id]);
    await eventually('the key is refused', async () => (await read(one)) === 401);
    assert.equal(await read(other), 200);
  });

  test('print as *** wherever the object that holds one is printed', async () => {
    const nowMs = service.clock.nowMs();
    const reserved = await reserveApiKey(service.control, service.pepper, merchant.sandbox, nowMs, 'secret');
    const made = await createApiKey(service.db, reserved, nowMs, { name: 'printed' });
    assert.ok(!JSON.stringify(made).includes(secretOf(made.text.reveal())));
    assert.equal(`${made.text}`, '***');
  });

  test('never appear in the log', async () => {
    const key = await service.createKey(merchant.sandbox);
    const expired = await service.createKey(merchant.sandbox, { expiresAt: new Date(0) });
    await listWith(key);
    await listWith(expired);
    await listWith(`${key}x`);
    await service.call('GET', `/v1/customers?key=${key}`, { key });
    await service.call('GET', `/v1/${key}`, { key });
    await service.call('GET', `/v1/customers/${key}`, { key });
    await service.call('GET', `/v1/customers/${key}${key}`, { key });
    await service.call('GET', `/v1/customers/${key}%E0%A4%A`, { key });
    await service.call('POST', '/v1/customers', { key, body: { [key]: key } });
    const log = service.logLines.join('');
    assert.ok(log.includes('"http.response.status_code":401'));
    for (const text of [key, expired]) assert.ok(!log.includes(secretOf(text)));
  });

  test('are not in the database in any form they could be read from', async () => {
    const key = await service.createKey(merchant.sandbox);
    const body = { name: 'Cup', description: null, pricing: { amount: 1, currency: 'usd' }, requires_shipping: false };
    const options = { key, body: { ...body, sku: randomUUID() }, idempotencyKey: randomUUID() };
    assert.equal((await service.call('POST', '/v1/products', options)).status, 201);
    const tables = await service.db.query<{ name: string }>(
      `SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
    );
    const texts = await Promise.all(
      tables.map(({ name }) =>
        service.db.query<{ text: string | null }>(`SELECT string_agg(t::text, ' ') AS text FROM ${name} t`),
      ),
    );
    const everything = texts
      .flat()
      .map(({ text }) => text ?? '')
      .join(' ');
    assert.ok(everything.includes(lookupOf(key)), 'the search reaches the table of keys');
    const secret = Buffer.from(secretOf(key));
    for (const form of ['latin1', 'hex'] as const) assert.ok(!everything.includes(secret.toString(form)));
  });
});
