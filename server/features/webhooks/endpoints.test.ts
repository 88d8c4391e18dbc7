import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { assertInvalid, assertRefused, contextOf } from '../../../tests/support/orders.ts';
import { type Receiver, startReceiver } from '../../../tests/support/receiver.ts';
import { type Reply, someCustomer, startTestService, type TestService } from '../../../tests/support/service.ts';
import {
  dispatchFor,
  eventually,
  insertSomeEvents,
  newSubscriber,
  startWebhookService,
  type Subscriber,
} from '../../../tests/support/webhooks.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { eventTypes } from '../events/service.ts';
import { testEndpoint } from './deliveries.ts';

let service: TestService;
let receiver: Receiver;
let subscriber: Subscriber;

before(async () => {
  service = await startWebhookService();
  receiver = await startReceiver();
});
after(async () => {
  await receiver.stop();
  await service.stop();
});

const path = '/v1/webhook_endpoints';
const publicUrl = 'https://receiver.invalid/hook';

const create = (body: Record<string, unknown>, options = {}): Promise<Reply> =>
  subscriber.call('POST', path, { body: { url: publicUrl, enabled_events: ['*'], ...body }, ...options });
const at = (id: string, rest = ''): string => `${path}/${id}${rest}`;

describe('an endpoint', () => {
  before(async () => {
    subscriber = await newSubscriber(service);
  });

  it('is created enabled, in the version of the company, and shows its secret this once', async () => {
    const made = await create({ description: 'Shop', enabled_events: ['order.*', 'customer.created'] });
    assert.equal(made.status, 201, made.text);
    const { signing_secret: secret, ...endpoint } = made.body;
    assert.match(secret, /^whsec_/);
    assert.equal(Buffer.from(secret.slice(6), 'base64').length, 32);
    assert.deepEqual(
      { ...endpoint, id: '', created_at: '', updated_at: '' },
      {
        id: '',
        url: publicUrl,
        description: 'Shop',
        enabled_events: ['order.*', 'customer.created'],
        status: 'enabled',
        disabled_reason: null,
        api_version: '2026-02-11',
        created_at: '',
        updated_at: '',
      },
    );
    assert.deepEqual((await subscriber.call('GET', at(endpoint.id))).body, endpoint);
    const list = await subscriber.call('GET', path);
    assert.deepEqual(list.body.data, [endpoint]);
    assert.ok(!list.text.includes('secret'));
    const changed = await subscriber.call('PATCH', at(endpoint.id), { body: { description: null } });
    assert.ok(!changed.text.includes('secret'));
  });

  it('can be read in part', async () => {
    const { body } = await create({});
    const read = await subscriber.call('GET', `${at(body.id)}?fields[webhook_endpoints]=url`);
    assert.deepEqual(read.body, { id: body.id, url: publicUrl });
  });

  it('keeps its secret encrypted: the tables alone are not enough to sign', async () => {
    const idempotencyKey = randomUUID();
    const made = await create({}, { idempotencyKey });
    const rotated = await subscriber.call('POST', at(made.body.id, '/rotate_secret'), { idempotencyKey: randomUUID() });
    const secrets = [made.body.signing_secret, rotated.body.new_signing_secret];
    for (const table of ['webhook_endpoints', 'idempotency_keys']) {
      const rows = await service.db.query<{ text: string }>(`SELECT t::text AS text FROM ${table} t`);
      assert.ok(rows.length > 0);
      for (const { text } of rows) {
        for (const secret of secrets) {
          const plain = [secret, secret.slice(6), Buffer.from(secret).toString('hex')];
          for (const form of plain) assert.ok(!text.includes(form), table);
        }
      }
    }
    assert.ok(
      !service.logLines.some((line) => secrets.some((secret) => line.includes(secret.slice(6)))),
      'nor the log',
    );
  });

  it('is created once for an idempotency key, and a repeat returns the secret again', async () => {
    const idempotencyKey = randomUUID();
    const first = await create({}, { idempotencyKey });
    const again = await create({}, { idempotencyKey });
    assert.deepEqual([again.status, again.text], [first.status, first.text]);
    assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
    assertRefused(await create({ description: 'x' }, { idempotencyKey }), 422, 'idempotency_key_conflict');
  });

  it('offers the command that forwards events to the machine of the caller, with the address of the installation', async () => {
    const listen = 'svc listen --base-url http://service.test --forward-to';
    for (const [url, command] of [
      ['http://localhost:3000/hook', `${listen} localhost:3000/hook`],
      ['https://10.0.0.7:8443/hook', `${listen} 10.0.0.7:8443/hook`],
      ['http://10.0.0.7/hook', `${listen} 10.0.0.7/hook`],
      ['http://127.0.0.1:4000/hook', `${listen} 127.0.0.1:4000/hook`],
      ['http://[::1]:4000/hook', `${listen} localhost:3000/hook`],
      ['ftp://localhost/hook', `${listen} localhost/hook`],
      ['http://shop.local/hook', `${listen} shop.local/hook`],
      ['http://shop.example/hook', `${listen} localhost:3000/hook`],
      ['http://93.184.216.34/hook', `${listen} localhost:3000/hook`],
      ['http://x.invalid/$(reboot)', `${listen} localhost:3000/webhooks`],
    ] as const) {
      const reply = await create({ url });
      assertRefused(reply, 400, 'webhook_endpoint_invalid', 'url');
      assert.ok(reply.body.error.message.includes(`run \`${command}\`; http://service.test/docs/sdk`), reply.text);
    }
  });

  it('is refused where it is not HTTPS, has user info or is no URL', async () => {
    for (const url of [
      'http://receiver.invalid/',
      'ftp://receiver.invalid/',
      'receiver.invalid',
      '//receiver.invalid/',
      'https://',
      'https://:443/',
      'https://user@receiver.invalid/',
      'https://user:password@receiver.invalid/',
      'javascript:alert(1)',
      'https://receiver.invalid:99999/',
      'https://receiver invalid/',
    ]) {
      const reply = await create({ url });
      assertRefused(reply, 400, 'webhook_endpoint_invalid', 'url');
      assert.equal(reply.body.error.type, 'webhook_error', url);
    }
    const { message } = (await create({ url: 'receiver.invalid' })).body.error;
    assert.match(message, /for example https:\/\/shop\.example\.com\/webhooks\.$/);
    const long = `https://receiver.invalid/${'ä'.repeat(2_000)}`;
    assertRefused(await create({ url: long }), 400, 'webhook_endpoint_invalid', 'url');
    assertInvalid(await create({ url: `https://receiver.invalid/${'a'.repeat(2_048)}` }), 'url');
  });

  it('names every bad field at once', async () => {
    const reply = await create({
      enabled_events: [],
      description: 5,
      api_version: '2025-06-18',
      status: 'enabled',
      color: 'red',
    });
    assertRefused(reply, 400, 'validation_error');
    const named = reply.body.error.field_errors.map(({ field }: { field: string }) => field).toSorted();
    assert.deepEqual(named, ['api_version', 'color', 'description', 'enabled_events', 'status']);
    const empty = await subscriber.call('POST', path, { body: {} });
    assert.deepEqual(
      empty.body.error.field_errors.map(({ field, code }: Record<string, string>) => [field, code]).toSorted(),
      [
        ['enabled_events', 'required_field'],
        ['url', 'required_field'],
      ],
    );
  });

  it('takes every event, every group and all, and no unknown name', async () => {
    const groups = ['*', 'customer.*', 'payment_method.*', 'order.*', 'subscription.*', 'team_member.*'];
    const made = await create({ enabled_events: [...groups, 'webhook_endpoint.*', ...eventTypes] });
    assert.equal(made.status, 201, made.text);
    for (const name of ['order.paid', 'order', 'order.', '*.created', 'Order.*', 'order.**', '', 'product.*', '**']) {
      assert.equal((await create({ enabled_events: ['order.*', name] })).body.error?.code, 'validation_error', name);
    }
    assert.equal((await create({ enabled_events: ['order.*', 'order.*'] })).status, 400, 'the same one twice');
  });

  it('changes what is named and nothing else', async () => {
    const { body } = await create({ description: 'Shop' });
    const change = { enabled_events: ['order.failed'], api_version: '2025-11-04', url: 'https://other.invalid/' };
    const changed = await subscriber.call('PATCH', at(body.id), { body: change });
    const { signing_secret: _, ...shown } = body;
    assert.deepEqual(changed.body, { ...shown, ...change, updated_at: changed.body.updated_at });
    for (const url of ['http://other.invalid/', 'https://192.168.0.1/', 'https://u@other.invalid/']) {
      const reply = await subscriber.call('PATCH', at(body.id), { body: { url } });
      assertRefused(reply, 400, 'webhook_endpoint_invalid', 'url');
    }
    const unknown = await subscriber.call('PATCH', at(body.id), { body: { enabled_events: ['nothing'] } });
    assert.equal(unknown.body.error.code, 'validation_error');
    assert.deepEqual((await subscriber.call('GET', at(body.id))).body, changed.body);
  });

  it('is disabled and enabled by the merchant', async () => {
    const { body } = await create({});
    const off = await subscriber.call('PATCH', at(body.id), { body: { status: 'disabled' } });
    assert.deepEqual([off.body.status, off.body.disabled_reason], ['disabled', 'by the merchant']);
    const on = await subscriber.call('PATCH', at(body.id), { body: { status: 'enabled' } });
    assert.deepEqual([on.body.status, on.body.disabled_reason], ['enabled', null]);
  });

  it('is gone once deleted, with all that hangs on it', async () => {
    const { body } = await create({});
    const gone = await subscriber.call('DELETE', at(body.id));
    assert.deepEqual([gone.status, gone.body.id, gone.body.deleted], [200, body.id, true]);
    assert.equal(typeof gone.body.message, 'string');
    const calls: [string, string, unknown?][] = [
      ['GET', ''],
      ['PATCH', '', { status: 'enabled' }],
      ['DELETE', ''],
      ['POST', '/rotate_secret'],
      ['POST', '/test'],
      ['GET', '/events'],
      ['GET', '/delivery_logs'],
      ['POST', '/upgrade_version', { api_version: '2026-02-11' }],
      ['POST', '/downgrade_version', { api_version: '2025-11-04' }],
      ['POST', `/events/evt_${'0'.repeat(32)}/replay`, {}],
    ];
    for (const [method, rest, sent] of calls) {
      for (const id of [body.id, randomUUID(), 'nonsense']) {
        const reply = await subscriber.call(method, at(id, rest), sent === undefined ? {} : { body: sent });
        assertRefused(reply, 404, 'resource_not_found');
      }
    }
  });

  it('is one of at most 50 of a company, also when many are made at once', async () => {
    const busy = await newSubscriber(service);
    // An address needs no lookup.
    const url = 'https://1.1.1.1/hook';
    const made = await Promise.all(
      Array.from({ length: 56 }, () => busy.call('POST', path, { body: { url, enabled_events: ['*'] } })),
    );
    const refused = made.filter(({ status }) => status !== 201);
    assert.equal(refused.length, 6);
    for (const reply of refused) assertRefused(reply, 400, 'invalid_request');
    const first = await busy.call('GET', `${path}?limit=30`);
    const second = await busy.call('GET', `${path}?limit=30&starting_after=${first.body.cursors.next}`);
    const ids = [...first.body.data, ...second.body.data].map(({ id }: { id: string }) => id);
    assert.equal(new Set(ids).size, 50, 'a walk shows each of them');
    await busy.call('DELETE', at(ids[0] ?? ''));
    assert.equal((await busy.subscribe(publicUrl)).status, 'enabled');
  });

  it('needs the permission for it', async () => {
    const readOnly = await service.createKey(subscriber.company, { permissions: ['webhook_endpoints:read'] });
    const none = await service.createKey(subscriber.company, { permissions: ['orders:write'] });
    const { body } = await create({});
    assert.equal((await subscriber.call('GET', at(body.id), { key: readOnly })).status, 200);
    for (const rest of ['/rotate_secret', '/test']) {
      const reply = await subscriber.call('POST', at(body.id, rest), { key: readOnly });
      assertRefused(reply, 403, 'insufficient_permissions');
    }
    assertRefused(await create({}, { key: readOnly }), 403, 'insufficient_permissions');
    for (const rest of ['', '/events', '/delivery_logs']) {
      assertRefused(await subscriber.call('GET', at(body.id, rest), { key: none }), 403, 'insufficient_permissions');
    }
    assertRefused(await subscriber.call('GET', '/v1/events', { key: readOnly }), 403, 'insufficient_permissions');
  });
});

describe('an address inside', () => {
  let strict: TestService;
  before(async () => {
    strict = await startTestService();
  });
  after(() => strict.stop());

  const disguises = [
    'localhost',
    '127.0.0.1',
    '127.0.0.1.',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '①②⑦.0.0.1',
    '0',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b::169.254.169.254]',
    '[fe80::1]',
    '[fd00::1]',
    '[2002:7f00:1::]',
  ];

  it('is refused when an endpoint is made or changed, in every disguise', async () => {
    const good = await strict.call('POST', path, { body: { url: publicUrl, enabled_events: ['*'] } });
    assert.equal(good.status, 201, 'a name that does not resolve may do so tomorrow');
    for (const host of disguises) {
      const url = `https://${host}/hook`;
      const made = await strict.call('POST', path, { body: { url, enabled_events: ['*'] } });
      assertRefused(made, 400, 'webhook_endpoint_invalid', 'url');
      const changed = await strict.call('PATCH', at(good.body.id), { body: { url } });
      assertRefused(changed, 400, 'webhook_endpoint_invalid', 'url');
    }
  });

  it('is refused again when a test, a delivery or a replay connects', async () => {
    const mine = await newSubscriber(strict);
    const secret = await startReceiver();
    const dispatcher = dispatchFor(strict);
    try {
      const endpoint = await mine.subscribe(publicUrl);
      // As a name does that led elsewhere when it was checked.
      await strict.db.query('UPDATE webhook_endpoints SET url = $2 WHERE id = $1', [endpoint.id, secret.url]);
      const tested = await mine.call('POST', at(endpoint.id, '/test'));
      assert.deepEqual(
        [tested.status, tested.body.status, tested.body.http_status, tested.body.error],
        [200, 'failed', null, 'the address is not public'],
      );
      const id = await mine.happen();
      const attempts = async (count: number) => (await mine.logs(endpoint.id)).length >= count;
      await eventually('the delivery was refused', () => attempts(1));
      const replayed = await mine.call('POST', at(endpoint.id, `/events/${id}/replay`), { body: {} });
      assert.equal(replayed.status, 200, replayed.text);
      await eventually('the replay was refused', () => attempts(2));
      for (const log of await mine.logs(endpoint.id)) assert.equal(log.error, 'the address is not public');
      assert.equal(secret.connections(), 0);
    } finally {
      await dispatcher.stop();
      await secret.stop();
    }
  });
});

describe('the secret of an endpoint', () => {
  before(async () => {
    subscriber = await newSubscriber(service);
  });

  it('is rotated with a grace period of 1, 24 or 72 hours', async () => {
    const { body } = await create({});
    for (const [sent, hours] of [
      [{ grace_period_hours: 1 }, 1],
      [{ grace_period_hours: 72 }, 72],
      [{}, 24],
      [undefined, 24],
    ] as const) {
      const reply = await subscriber.call('POST', at(body.id, '/rotate_secret'), sent ? { body: sent } : {});
      assert.equal(reply.status, 200, reply.text);
      assert.match(reply.body.new_signing_secret, /^whsec_/);
      assert.equal(typeof reply.body.message, 'string');
      const leftMs = Date.parse(reply.body.previous_secret_valid_until) - Date.now();
      assert.ok(Math.abs(leftMs - hours * 3_600_000) < 60_000, String(hours));
    }
    for (const grace_period_hours of [0, 2, 48, 73, -1, 1.5, '24', null]) {
      const reply = await subscriber.call('POST', at(body.id, '/rotate_secret'), { body: { grace_period_hours } });
      assertInvalid(reply, 'grace_period_hours');
    }
  });

  it('is rotated once for an idempotency key, and a repeat returns the secret again', async () => {
    const { body } = await create({});
    const idempotencyKey = randomUUID();
    const first = await subscriber.call('POST', at(body.id, '/rotate_secret'), { idempotencyKey });
    const again = await subscriber.call('POST', at(body.id, '/rotate_secret'), { idempotencyKey });
    assert.equal(again.text, first.text);
    assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
  });
});

describe('a test of an endpoint', () => {
  before(async () => {
    subscriber = await newSubscriber(service);
  });

  it('sends an example of the event and returns the response of the receiver', async () => {
    const endpoint = await subscriber.subscribe(receiver.url, { enabled_events: ['order.failed'] });
    const before = receiver.received.length;
    const reply = await subscriber.call('POST', at(endpoint.id, '/test'), {
      body: { event_type: 'customer.created', api_version: '2025-11-04' },
    });
    const [got] = receiver.received.slice(before);
    assert.deepEqual(
      [reply.body.webhook_endpoint_id, reply.body.status, reply.body.http_status, reply.body.error],
      [endpoint.id, 'success', 200, null],
    );
    assert.deepEqual(
      [got?.event.id, got?.event.type, got?.event.api_version, got?.event.livemode],
      [reply.body.id, 'customer.created', '2025-11-04', false],
    );
    assert.equal(typeof got?.event.data.object.email, 'string');
    const usual = await subscriber.call('POST', at(endpoint.id, '/test'));
    assert.equal(usual.body.status, 'success');
    assert.equal(receiver.received.at(-1)?.event.type, 'order.succeeded');
    assert.equal((await subscriber.call('GET', `/v1/events/${reply.body.id}`)).status, 404, 'it is no event');
  });

  it('knows every event and no other', async () => {
    const endpoint = await subscriber.subscribe(receiver.url);
    for (const event_type of eventTypes) {
      const reply = await subscriber.call('POST', at(endpoint.id, '/test'), { body: { event_type } });
      assert.equal(reply.body.status, 'success', event_type);
    }
    for (const body of [{ event_type: 'order.paid' }, { api_version: '2020-01-01' }]) {
      const reply = await subscriber.call('POST', at(endpoint.id, '/test'), { body });
      assertInvalid(reply, Object.keys(body)[0] ?? '');
    }
  });

  it('that fails is an answer, not an error', async () => {
    const bad = await startReceiver(500);
    const endpoint = await subscriber.subscribe(bad.url);
    const failed = await subscriber.call('POST', at(endpoint.id, '/test'));
    assert.deepEqual(
      [failed.status, failed.body.status, failed.body.http_status, failed.body.error],
      [200, 'failed', 500, 'responded with 500'],
    );
    bad.behave((_, __, raw) => raw.socket.destroy());
    const broken = await subscriber.call('POST', at(endpoint.id, '/test'));
    assert.deepEqual([broken.status, broken.body.status, broken.body.http_status], [200, 'failed', null]);
    await bad.stop();
  });

  it('waits as long as a delivery does', async () => {
    const endpoint = await subscriber.subscribe(receiver.url);
    let waitsMs = 0;
    const post: Outbound['post'] = async ({ timeoutMs }) => {
      waitsMs = timeoutMs;
      return { answered: false, error: 'no response in time' };
    };
    const { outbound, clock, webhookSecretKey: secretKey } = service;
    const dependencies = {
      outbound: { ...outbound, post },
      clock,
      baseUrl: 'http://service.test',
      secretKey,
      isAllowed: () => true,
    };
    const context = contextOf(service, subscriber.company);
    const tested = await testEndpoint(context, dependencies, endpoint.id, {}, () => ({}));
    assert.deepEqual([tested.status, tested.error, waitsMs], ['failed', 'no response in time', 30_000]);
  });

  it('keeps no connection to the database and locks no key while it waits', async () => {
    const waiting: ServerResponse[] = [];
    const slow = await startReceiver((_, response) => waiting.push(response));
    const endpoint = await subscriber.subscribe(slow.url);
    const count = service.config.SVC_DATABASE_POOL + 5;
    const keys = Array.from({ length: count }, () => randomUUID());
    const test = (idempotencyKey?: string): Promise<Reply> =>
      subscriber.call('POST', at(endpoint.id, '/test'), { ...(idempotencyKey && { idempotencyKey }) });
    const tests = [...keys.map(test), ...keys.map(() => test())];
    await slow.count(2 * count);
    const busy = await service.db.query(
      `SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
         AND state <> 'idle'`,
    );
    assert.deepEqual(busy, []);
    const locks = await service.db.query(
      `SELECT 1 FROM pg_locks WHERE locktype = 'advisory'
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    assert.deepEqual(locks, []);
    assert.equal((await subscriber.call('GET', '/v1/customers')).status, 200, 'others are served meanwhile');
    for (const response of waiting) response.writeHead(200).end('ok');
    for (const reply of await Promise.all(tests)) assert.equal(reply.body.status, 'success', reply.text);
    assert.equal((await test(keys[0])).headers.get('svc-idempotent-replayed'), 'true');
    await slow.stop();
  });

  // This is why webhook_delivery_failed is reserved.
  it('or a replay whose receiver fails is never answered with an error', async () => {
    const bad = await startReceiver(500);
    const endpoint = await subscriber.subscribe(bad.url);
    const id = await subscriber.happen();
    const dispatcher = dispatchFor(service);
    try {
      for (const how of [500, 410, (_: unknown, __: unknown, raw: IncomingMessage) => void raw.socket.destroy()]) {
        bad.behave(how);
        const before = (await subscriber.logs(endpoint.id)).length;
        await subscriber.call('PATCH', at(endpoint.id), { body: { status: 'enabled' } });
        const replay = await subscriber.call('POST', at(endpoint.id, `/events/${id}/replay`), {
          body: { force: true },
        });
        assert.deepEqual([replay.status, replay.body.delivery_status], [200, 'pending'], replay.text);
        const [log] = await eventually('it was attempted', async () => {
          const logs = await subscriber.logs(endpoint.id);
          return logs.length > before && logs;
        });
        assert.equal(log?.status, 'failed');
        const tested = await subscriber.call('POST', at(endpoint.id, '/test'));
        assert.deepEqual([tested.status, tested.body.status], [200, 'failed'], tested.text);
      }
    } finally {
      await dispatcher.stop();
      await bad.stop();
    }
  });

  it('is sent once for an idempotency key', async () => {
    const endpoint = await subscriber.subscribe(receiver.url);
    const before = receiver.received.length;
    const idempotencyKey = randomUUID();
    const replies = [];
    for (let count = 0; count < 2; count += 1) {
      replies.push(await subscriber.call('POST', at(endpoint.id, '/test'), { idempotencyKey }));
    }
    assert.equal(replies[0]?.text, replies[1]?.text);
    assert.equal(receiver.received.length, before + 1);
  });
});

describe('the version of an endpoint', () => {
  before(async () => {
    subscriber = await newSubscriber(service);
  });

  const move = (id: string, direction: 'upgrade' | 'downgrade', body: Record<string, unknown>): Promise<Reply> =>
    subscriber.call('POST', at(id, `/${direction}_version`), { body });

  it('moves down and up, shown on the last real events; a dry run only shows', async () => {
    const { id } = await subscriber.subscribe(publicUrl);
    const ids = [];
    for (let count = 0; count < 4; count += 1) ids.push(await subscriber.happen());
    const dry = await move(id, 'downgrade', { api_version: '2025-11-04', dry_run: true });
    assert.equal(dry.status, 200, dry.text);
    const { sample, ...rest } = dry.body;
    assert.deepEqual(rest, { id, api_version: '2025-11-04', previous_api_version: '2026-02-11', dry_run: true });
    assert.deepEqual(
      sample.map(({ event_id, before, after: later }: Record<string, any>) => [
        event_id,
        before.api_version,
        later.api_version,
      ]),
      ids
        .toReversed()
        .slice(0, 3)
        .map((event) => [event, '2026-02-11', '2025-11-04']),
    );
    const version = async () => (await subscriber.call('GET', at(id))).body.api_version;
    assert.equal(await version(), '2026-02-11');
    const down = await move(id, 'downgrade', { api_version: '2025-11-04' });
    assert.equal(down.body.dry_run, false);
    assert.deepEqual(down.body.sample, sample);
    assert.equal(await version(), '2025-11-04');
    await move(id, 'upgrade', { api_version: '2026-02-11' });
    assert.equal(await version(), '2026-02-11');
  });

  it('moves only the way that is asked for, and only to a version there is', async () => {
    const { id } = await subscriber.subscribe(publicUrl);
    assertInvalid(await move(id, 'upgrade', { api_version: '2026-02-11' }), 'api_version');
    assertInvalid(await move(id, 'downgrade', { api_version: '2026-02-11' }), 'api_version');
    assertInvalid(await move(id, 'upgrade', { api_version: '2025-11-04' }), 'api_version');
    assertInvalid(await move(id, 'downgrade', { api_version: '2025-06-18' }), 'api_version');
    assertInvalid(await move(id, 'downgrade', { api_version: '2025-11-04', dry_run: 'yes' }), 'dry_run');
    assert.equal((await move(id, 'upgrade', {})).body.error.code, 'validation_error');
  });
});

describe('what an endpoint received', () => {
  const idsIn = (reply: Reply): string[] => {
    assert.equal(reply.status, 200, reply.text);
    return reply.body.data.map(({ id }: { id: string }) => id);
  };

  it('is listed newest first, by state, page by page with ids of events', async () => {
    subscriber = await newSubscriber(service);
    const mixed = await startReceiver();
    const endpoint = await subscriber.subscribe(mixed.url);
    const ids = (await insertSomeEvents(service, subscriber.company.id, 6)).toSorted().toReversed();
    mixed.behave((request, response) =>
      response.writeHead(ids.indexOf(request.event.id) < 2 ? 500 : 200).end('answer'),
    );
    const events = (query = ''): Promise<Reply> => subscriber.call('GET', at(endpoint.id, `/events${query}`));
    assert.deepEqual(idsIn(await events('?delivery_status=pending')), ids);
    const dispatcher = dispatchFor(service);
    await eventually('all were tried', async () => (await subscriber.logs(endpoint.id)).length === 6);
    await dispatcher.stop();
    await mixed.stop();
    assert.deepEqual(idsIn(await events()), ids);
    assert.deepEqual(idsIn(await events('?delivery_status=delivered')), ids.slice(2));
    assert.deepEqual(idsIn(await events('?delivery_status=pending')), ids.slice(0, 2));
    assert.deepEqual(idsIn(await events('?delivery_status=failed')), []);
    assertInvalid(await events('?delivery_status=lost'), 'delivery_status');
    const first = await events('?limit=4');
    assert.deepEqual(idsIn(first), ids.slice(0, 4));
    assert.match(first.body.cursors.next, /^evt_[0-9a-f]{32}$/);
    const second = await events(`?limit=4&starting_after=${first.body.cursors.next}`);
    assert.deepEqual(idsIn(second), ids.slice(4));
    const back = await events(`?limit=4&ending_before=${second.body.cursors.previous}`);
    assert.deepEqual(idsIn(back), ids.slice(0, 4));
    assert.deepEqual(Object.keys(second.body.data[0]).toSorted(), [
      'attempts',
      'created_at',
      'data',
      'delivery_status',
      'id',
      'last_attempt_at',
      'next_attempt_at',
      'type',
    ]);
    const walked: string[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const query: string = next && `&starting_after=${next}`;
      const page: Reply = await subscriber.call('GET', at(endpoint.id, `/delivery_logs?limit=2${query}`));
      walked.push(...page.body.data.map((log: Record<string, string>) => log.event_id));
      next = page.body.cursors.next;
    }
    assert.deepEqual(walked.toSorted().toReversed(), ids);
  });
});

describe('a replay', () => {
  before(async () => {
    subscriber = await newSubscriber(service);
  });
  const replay = (endpointId: string, eventId: string, body: Record<string, unknown> = {}): Promise<Reply> =>
    subscriber.call('POST', at(endpointId, `/events/${eventId}/replay`), { body });
  const delivered = (endpointId: string, eventId: string): Promise<Record<string, any>> =>
    eventually('it is delivered', async () => {
      const delivery = await subscriber.delivery(endpointId, eventId);
      return delivery?.delivery_status === 'delivered' && delivery;
    });

  it('sends an event again: one that was delivered only with force', async () => {
    const mine = await startReceiver();
    const endpoint = await subscriber.subscribe(mine.url);
    const dispatcher = dispatchFor(service);
    const id = await subscriber.happen();
    await delivered(endpoint.id, id);
    assertRefused(await replay(endpoint.id, id), 400, 'invalid_request', 'force');
    assertRefused(await replay(endpoint.id, id, { force: false }), 400, 'invalid_request', 'force');
    const again = await replay(endpoint.id, id, { force: true });
    assert.deepEqual([again.status, again.body.id, again.body.delivery_status], [200, id, 'pending'], again.text);
    await mine.count(2);
    const delivery = await delivered(endpoint.id, id);
    assert.equal(delivery.attempts, 2);
    assert.equal(mine.received[0]?.body, mine.received[1]?.body);
    await dispatcher.stop();
    await mine.stop();
  });

  it('sends for the first time what happened while the endpoint was disabled', async () => {
    const mine = await startReceiver();
    const endpoint = await subscriber.subscribe(mine.url, { enabled_events: ['order.*'] });
    await subscriber.call('PATCH', at(endpoint.id), { body: { status: 'disabled' } });
    const id = await subscriber.happen();
    assert.equal(await subscriber.delivery(endpoint.id, id), undefined);
    assertRefused(await replay(endpoint.id, id), 400, 'invalid_request');
    await subscriber.call('PATCH', at(endpoint.id), { body: { status: 'enabled' } });
    const all = await Promise.all(Array.from({ length: 8 }, () => replay(endpoint.id, id)));
    assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([200]));
    const list = await subscriber.call('GET', at(endpoint.id, '/events'));
    assert.equal(list.body.data.length, 1, 'eight at once are one delivery');
    const dispatcher = dispatchFor(service);
    await delivered(endpoint.id, id);
    await dispatcher.stop();
    assert.equal(mine.received.length, 1);
    await mine.stop();
  });

  it('knows only events of the company', async () => {
    const endpoint = await subscriber.subscribe(receiver.url);
    const stranger = await newSubscriber(service);
    const theirs = await stranger.happen();
    for (const id of [theirs, `evt_${'0'.repeat(32)}`, randomUUID(), 'nonsense']) {
      assertRefused(await replay(endpoint.id, id, { force: true }), 404, 'resource_not_found');
    }
    assertInvalid(await replay(endpoint.id, await subscriber.happen(), { force: 'yes' }), 'force');
  });
});

describe('a disabled endpoint', () => {
  it('gets nothing, neither what waits nor what comes', async () => {
    subscriber = await newSubscriber(service);
    const mine = await startReceiver();
    const endpoint = await subscriber.subscribe(mine.url);
    const waiting = await subscriber.happen();
    await subscriber.call('PATCH', at(endpoint.id), { body: { status: 'disabled' } });
    await subscriber.call('POST', '/v1/customers', { body: someCustomer() });
    const dispatcher = dispatchFor(service);
    const delivery = await eventually('the waiting one is given up', async () => {
      const found = await subscriber.delivery(endpoint.id, waiting);
      return found?.delivery_status === 'failed' && found;
    });
    await dispatcher.stop();
    assert.equal(delivery.next_attempt_at, null);
    const [log] = await subscriber.logs(endpoint.id);
    assert.equal(log?.error, 'the endpoint is disabled');
    assert.equal(mine.connections(), 0);
    await mine.stop();
    const list = await subscriber.call('GET', at(endpoint.id, '/events'));
    assert.equal(list.body.data.length, 1);
  });
});
