import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { webhooks } from '../sdk/node/src/index.ts';
import { insertEvents } from '../server/features/events/queries.ts';
import { newEvent } from '../server/features/events/service.ts';
import { eventIdOf, newId } from '../server/platform/ids.ts';
import { startPlainReceiver, startSvc, svc } from '../tests/support/command.ts';
import { type FlakyProxy, type Mishap, startFlakyProxy } from '../tests/support/flaky-proxy.ts';
import { someCustomer, startTestService, type TestService } from '../tests/support/service.ts';
import { eventually } from '../tests/support/webhooks.ts';
import { listen } from './listen.ts';

/** `SVC_LISTEN_EVENTS=1000 SVC_LISTEN_CUTS=20`: the long version. */
const eventCount = Number(process.env.SVC_LISTEN_EVENTS ?? 200);
const cutCount = Number(process.env.SVC_LISTEN_CUTS ?? 20);

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
  test('loses nothing when its connection is cut, though events appear in another order than they were made', async () => {
    const { sandbox, key } = await service.createMerchant();
    const made: string[] = [];
    /** Some commit long after later ones. */
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

  test('signs what it forwards in both ways, waits for a receiver, and goes on from its state', async () => {
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
    assert.match(first.output(), /customer\.created +evt_\w+ +→ no answer/);
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

  test('shows only the events that were asked for', async () => {
    const { key } = await service.createMerchant();
    const listening = startSvc(settings(key), 'listen', '--events', 'customer.updated,payment_method.*', '--json');
    await eventually('it begins', async () => listening.output().includes('signing_secret'));
    await sleep(300);
    const { body } = await service.call('POST', '/v1/customers', { key, body: someCustomer() });
    await service.call('PATCH', `/v1/customers/${body.id}`, { key, body: { first_name: 'Grace' } });
    await eventually('it is shown', async () => listening.output().includes('customer.updated'));
    await listening.end();
    assert.ok(!listening.output().includes('customer.created'));
  });

  test('explains what it cannot do', async () => {
    const live = (await service.createMerchant()).live;
    const liveKey = await service.createKey(live);
    const narrow = await service.createKey(service.company, { permissions: ['plans:read'] });
    const mistakes: readonly (readonly [string, string[], RegExp])[] = [
      [liveKey, [], /is for the sandbox/],
      [narrow, [], /403 insufficient_permissions/],
      [service.key, ['--events', 'order.succeded'], /no event order\.succeded\. Did you mean order\.succeeded\?/],
      [service.key, ['--from-cursor', 'yesterday'], /cursor/],
      [service.key, ['--forward-to', 'http://'], /not an address/],
      [service.key, ['--secret', 'abc'], /begins with whsec_/],
    ];
    for (const [key, parameters, hint] of mistakes) {
      const { code, stderr } = await svc(settings(key), 'listen', ...parameters);
      assert.equal(code, 1, parameters.join(' '));
      assert.match(stderr, hint);
    }
  });
});
