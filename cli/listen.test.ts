import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { webhooks } from '../sdk/node/src/index.ts';
import { insertEvents } from '../server/features/events/queries.ts';
import { newEvent } from '../server/features/events/service.ts';
import { eventIdOf, newId } from '../server/platform/ids.ts';
import { type RunningCommand, startPlainReceiver, startSvc, svc } from '../tests/support/command.ts';
import { type FlakyProxy, type Mishap, startFlakyProxy } from '../tests/support/flaky-proxy.ts';
import { openShop, order } from '../tests/support/orders.ts';
import { someCustomer, startTestService, type TestService } from '../tests/support/service.ts';
import { eventually } from '../tests/support/webhooks.ts';
import { listen } from './listen.ts';
import { programPath } from '../tests/support/programs.ts';

/** `SVC_LISTEN_EVENTS=1000 SVC_LISTEN_CUTS=20`: the long version. */
const eventCount = Number(process.env.SVC_LISTEN_EVENTS ?? 200);
const cutCount = Number(process.env.SVC_LISTEN_CUTS ?? 20);
/** The process polls every half second. */
const processCuts = Number(process.env.SVC_LISTEN_CUTS ?? 4);

let service: TestService;
let proxy: FlakyProxy;
let folder: string;
before(async () => {
  service = await startTestService();
  proxy = await startFlakyProxy(service.baseUrl);
  folder = await mkdtemp(join(tmpdir(), 'svc-listen-'));
});
after(async () => {
  await proxy.stop();
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const settings = (key: string, baseUrl = service.baseUrl): Record<string, string> => ({
  SVC_BASE_URL: baseUrl,
  SVC_KEY: key,
});

describe('svc listen', () => {
  test('loses no event when its connection is cut and events commit out of order', async () => {
    const { sandbox, key } = await service.createMerchant();
    const made: string[] = [];
    /** Some commit long after later events. */
    const happen = async (): Promise<void> => {
      const event = newEvent(sandbox.id, Date.now(), 'customer.created', { id: newId(Date.now()) }, 1, null);
      made.push(eventIdOf(event.id));
      await service.db.transaction(async (transaction) => {
        await insertEvents(transaction, [event]);
        await sleep(Math.random() < 0.2 ? Math.random() * 60 : 0);
      });
    };
    const taken: string[] = [];
    const stopping = new AbortController();
    const begun = Promise.withResolvers<void>();
    const listening = listen({
      target: { baseUrl: proxy.url, key },
      cursor: undefined,
      accepts: () => true,
      take: async ({ id }) => void taken.push(id),
      reached: async () => begun.resolve(),
      onTrouble: () => undefined,
      stopped: stopping.signal,
      pollEveryMs: 5,
    });
    await begun.promise;
    const kinds: Mishap[] = ['drop_request', 'drop_answer', 'cut_answer', { status: 503 }];
    const happenings = async (upTo: number): Promise<void> => {
      while (made.length < upTo) await happen();
    };
    try {
      for (let cut = 1; cut <= cutCount; cut += 1) {
        await Promise.all(Array.from({ length: 6 }, () => happenings((cut * eventCount) / (cutCount + 1))));
        proxy.mishaps.push(kinds[cut % kinds.length] ?? 'none');
        await eventually('it is cut', async () => proxy.mishaps.length === 0);
        const { length } = proxy.seen;
        await eventually('it is there again', async () => proxy.seen.length > length);
      }
      await happenings(eventCount);
      await eventually('all have come', async () => new Set(taken).size === made.length);
    } finally {
      stopping.abort();
      await listening;
    }
    assert.deepEqual(new Set(taken), new Set(made));
    assert.equal(taken.length, made.length, 'one that the feed repeats is not taken again');
  });

  test('loses no event when its connection is cut, it is killed, or its receiver is down', async () => {
    const { sandbox, key } = await service.createMerchant();
    const handled = new Set<string>();
    let isAway = false;
    const receiver = await startPlainReceiver((headers) => {
      if (isAway) return undefined;
      handled.add(String(headers['svc-event-id']));
      return 200;
    });
    const state = join(folder, 'cut');
    const start = (): RunningCommand =>
      startSvc(settings(key, proxy.url), 'listen', '--forward-to', receiver.url, '--state', state);
    let listening = start();
    await eventually('it begins', async () => listening.output().includes('Forwarding'));
    const made: string[] = [];
    const happen = async (count: number): Promise<void> => {
      const events = Array.from({ length: count }, () =>
        newEvent(sandbox.id, Date.now(), 'customer.created', { id: newId(Date.now()) }, 1, null),
      );
      made.push(...events.map(({ id }) => eventIdOf(id)));
      await insertEvents(service.db, events);
    };
    const kinds: Mishap[] = ['cut_answer', 'drop_answer', 'drop_request', { status: 503 }];
    for (let cut = 1; cut <= processCuts; cut += 1) {
      const { length } = receiver.received;
      isAway = cut % 4 === 2;
      await happen(Math.ceil(eventCount / processCuts));
      await eventually('its receiver hears something', async () => receiver.received.length > length);
      isAway = false;
      proxy.mishaps.push(kinds[cut % kinds.length] ?? 'none');
      await eventually('it is cut', async () => proxy.mishaps.length === 0);
      if (cut % 10 !== 3) continue;
      listening.child.kill('SIGKILL');
      await listening.end();
      await happen(1);
      listening = start();
    }
    await eventually('all have come', async () => handled.size === made.length, 20_000);
    assert.deepEqual(handled, new Set(made));
    assert.equal(await listening.end(), 0);
    await receiver.stop();
  });

  test('signs events in both formats, waits for a receiver, and continues from its state file', async () => {
    const { key } = await service.createMerchant();
    let silent = 2;
    const receiver = await startPlainReceiver(() => {
      silent -= 1;
      return silent >= 0 ? undefined : 200;
    });
    const state = join(folder, 'cursor');
    const parameters = ['listen', '--forward-to', receiver.url.replace('http://', ''), '--state', state];
    const first = startSvc(settings(key), ...parameters);
    const begun = await eventually('it begins', async () => readFile(state, 'utf8').catch(() => false));
    const secret = /whsec_\S+/.exec(first.output())?.[0] ?? '';
    await service.call('POST', '/v1/customers', { key, body: someCustomer() });
    await eventually('it arrives', async () => receiver.received.length === 3);
    await eventually('the cursor goes on', async () => (await readFile(state, 'utf8')) !== begun);
    assert.equal(await first.end(), 0);
    assert.match(first.output(), /customer\.created +evt_\w+ +→ no response/);
    assert.match(first.output(), /customer\.created +evt_\w+ +→ 200 in/);
    for (const { headers, body } of receiver.received) {
      const event = await webhooks.verify(body, headers, secret);
      assert.equal(event.type, 'customer.created');
      new Webhook(secret).verify(body, headers as Record<string, string>);
    }
    assert.equal(receiver.received.at(-1)?.headers['svc-delivery-attempt'], '3');

    await service.call('POST', '/v1/customers', { key, body: someCustomer() });
    const second = startSvc(settings(key), ...parameters, '--secret', secret, '--json');
    await eventually('what came meanwhile arrives', async () => receiver.received.length === 4);
    assert.equal(await second.end(), 0);
    await receiver.stop();
  });

  test('shows only the requested events', async () => {
    const { key } = await service.createMerchant();
    const listening = startSvc(settings(key), 'listen', '--events', 'customer.updated,payment_method.*', '--json');
    await eventually('it begins', async () => listening.output().includes('signing_secret'));
    const { body } = await service.call('POST', '/v1/customers', { key, body: someCustomer() });
    await service.call('PATCH', `/v1/customers/${body.id}`, { key, body: { first_name: 'Grace' } });
    await eventually('it is shown', async () => listening.output().includes('customer.updated'));
    await listening.end();
    assert.ok(!listening.output().includes('customer.created'));
  });

  test('shows only events about the requested customer, including orders and cards', async () => {
    const shop = await openShop(service);
    const other = await openShop(service);
    const listening = startSvc(settings(service.key), 'listen', '--customer', shop.customerId.toUpperCase(), '--json');
    await eventually('it begins', async () => listening.output().includes('signing_secret'));
    await order(service, other);
    await service.call('PATCH', `/v1/customers/${shop.customerId}`, { body: { first_name: 'Grace' } });
    await order(service, shop);
    await eventually('it is shown', async () => listening.output().includes('order.succeeded'));
    await listening.end();
    const events = listening.output().match(/^\{"id".*$/gm) ?? [];
    const shown = events.map((line) => (JSON.parse(line) as { type: string }).type);
    // Events from just before the start can appear too: a duplicate is better than a missing event.
    assert.deepEqual(shown.slice(shown.indexOf('customer.updated')), [
      'customer.updated',
      'order.created',
      'order.succeeded',
    ]);
    assert.ok(!listening.output().includes(other.customerId));
  });

  test('signs with SVC_WEBHOOK_SECRET and shows the error response of a receiver', async (t) => {
    const { key } = await service.createMerchant();
    const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
    const { promise: refused, resolve: refuse } = Promise.withResolvers<IncomingMessage>();
    const receiver = createServer((request, response) => {
      refuse(request);
      response.writeHead(400).end('I do not\nknow you.');
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    // Left open by a failure, they would keep the test file running.
    t.after(() => receiver.close().closeAllConnections());
    const { port } = receiver.address() as AddressInfo;
    const environment = { SVC_URL: service.baseUrl, SVC_KEY: key, SVC_WEBHOOK_SECRET: secret };
    const listening = startSvc(environment, 'listen', '--forward-to', `127.0.0.1:${port}`);
    t.after(() => listening.end());
    await eventually('it begins', async () => listening.output().includes(secret));
    await service.call('POST', '/v1/customers', { key, body: someCustomer() });
    const { headers } = await refused;
    assert.match(String(headers['svc-signature']), /^t=\d+,v1=/);
    await eventually('it is shown', async () => /→ 400 in \d+ ms: I do not know you\./.test(listening.output()));
  });

  test('explains mistakes', async () => {
    const live = (await service.createMerchant()).live;
    const liveKey = await service.createKey(live);
    const narrow = await service.createKey(service.company, { permissions: ['plans:read'] });
    const mistakes: readonly (readonly [string, string[], RegExp, number?])[] = [
      [liveKey, [], /is for the sandbox/, 5],
      [narrow, [], /403 insufficient_permissions/, 5],
      [service.key, ['--events', 'order.succeded'], /Unknown event order\.succeded\. Did you mean order\.succeeded\?/],
      [service.key, ['--from-cursor', 'yesterday'], /cursor/, 1],
      [service.key, ['--forward-to', 'http://'], /not a URL/],
      [service.key, ['--secret', 'abc'], /must begin with whsec_/],
      [service.key, ['--state', '/nowhere/at/all'], /--state .* cannot be written/, 1],
    ];
    for (const [key, parameters, hint, exitCode = 2] of mistakes) {
      const { code, stderr } = await svc(settings(key), 'listen', ...parameters);
      assert.equal(code, exitCode, parameters.join(' '));
      assert.match(stderr, hint);
      assert.ok(!stderr.includes('    at '), stderr);
    }
  });

  test('exits with 0 when the reader of its output has gone', async () => {
    const listening = startSvc(settings(service.key), 'listen');
    await eventually('it listens', async () => listening.output().includes('Events from'));
    const { child } = listening;
    child.stdout?.destroy();
    const closed = once(child, 'close') as Promise<[number | null]>;
    for (let event = 0; event < 3; event += 1) {
      await service.call('POST', '/v1/customers', { body: someCustomer() });
      await sleep(700);
    }
    const [code] = await Promise.race([closed, sleep(5_000, ['still running' as const])]);
    child.kill('SIGKILL');
    assert.equal(code, 0);
    assert.ok(!listening.output().includes('EPIPE'), listening.output());
  });

  test('ends when only its launcher gets the signal, as with `npx svc listen &` and `kill $!`', async (t) => {
    const environment = { ...process.env, ...settings(service.key), npm_lifecycle_event: 'npx' };
    // The shell stays between, as the one of npm does.
    const launcher = spawn('sh', ['-c', '"$0" "$@"; true', process.execPath, programPath('svc'), 'listen'], {
      env: environment,
    });
    t.after(() => launcher.kill('SIGKILL'));
    const ended = once(launcher.stdout, 'close');
    let output = '';
    launcher.stdout.on('data', (chunk) => (output += String(chunk)));
    await eventually('it listens', async () => output.includes('Events from'));
    launcher.kill('SIGTERM');
    // Its end of the pipe closes when it has ended.
    const outcome = await Promise.race([ended.then(() => 'ended'), sleep(5_000, 'still running', { ref: false })]);
    assert.equal(outcome, 'ended');
  });
});
