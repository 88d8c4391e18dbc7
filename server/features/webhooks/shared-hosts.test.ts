import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { countOf } from '../../../tests/support/orders.ts';
import { type Received, type Receiver, startReceiver } from '../../../tests/support/receiver.ts';
import type { TestService } from '../../../tests/support/service.ts';
import {
  dispatchFor,
  eventually,
  insertSomeEvents,
  newSubscriber,
  startWebhookService,
  type Subscriber,
} from '../../../tests/support/webhooks.ts';
import type { DispatcherDependencies, DispatcherTimes } from './dispatcher.ts';

let service: TestService;

before(async () => {
  service = await startWebhookService();
});
after(() => service.stop());
// Each test has its own deliveries, also those that nothing has answered.
beforeEach(() => service.db.query('DELETE FROM webhook_deliveries'));

/** A host on which the paths that contain `silent` are not answered until it recovers. */
interface SharedHost {
  readonly receiver: Receiver;
  readonly at: (path: string) => string;
  readonly requestsTo: (path: string) => readonly Received[];
  recover(): void;
}

async function startHost(t: TestContext, answersAfterMs = 0): Promise<SharedHost> {
  let isSilent = (path: string): boolean => path.includes('silent');
  const receiver = await startReceiver(({ path }, response) => {
    if (!isSilent(path)) setTimeout(() => response.writeHead(200).end('ok'), answersAfterMs);
  });
  t.after(() => receiver.stop());
  const { origin } = new URL(receiver.url);
  return {
    receiver,
    at: (path) => `${origin}${path}`,
    requestsTo: (path) => receiver.received.filter((one) => one.path.startsWith(path)),
    recover() {
      isSilent = () => false;
    },
  };
}

function dispatch(
  t: TestContext,
  times: Partial<DispatcherTimes> = {},
  more: Partial<DispatcherDependencies> = {},
): void {
  // The host stops first, so that all attempts end and are recorded.
  const dispatcher = dispatchFor(service, { finishingMs: 5_000, ...times }, more);
  t.after(() => dispatcher.stop());
}

/** Companies with endpoints that do not answer, and events for each of them. */
async function subscribeSilent({ at }: SharedHost, count: number, events: number): Promise<string[]> {
  const companyIds: string[] = [];
  for (let made = 0; made < count; ) {
    const subscriber = await newSubscriber(service);
    for (const end = Math.min(count, made + 50); made < end; made += 1)
      await subscriber.subscribe(at(`/silent/${made}`));
    await insertSomeEvents(service, subscriber.company.id, events);
    companyIds.push(subscriber.company.id);
  }
  return companyIds;
}

async function subscribeAnswering({ at }: SharedHost): Promise<Subscriber & { readonly endpointId: string }> {
  const subscriber = await newSubscriber(service);
  const endpoint = await subscriber.subscribe(at('/answering'));
  return { ...subscriber, endpointId: endpoint.id };
}

describe('an endpoint on a host with others that do not answer', () => {
  it('gets its events in seconds', async (t) => {
    const host = await startHost(t);
    await subscribeSilent(host, 5, 30);
    const quick = await subscribeAnswering(host);
    dispatch(t);
    await host.receiver.count(100);
    await insertSomeEvents(service, quick.company.id, 1);
    await eventually('it has its event', async () => host.requestsTo('/answering').length === 1, 6_000);
  });

  it('is not recorded as failed because of the time for which its request waited', async (t) => {
    const host = await startHost(t, 1_000);
    await subscribeSilent(host, 5, 20);
    const quick = await subscribeAnswering(host);
    // Less than the two seconds for a permit and the answer after one second together.
    dispatch(t, { answerMs: 2_500 });
    await host.receiver.count(100);
    await insertSomeEvents(service, quick.company.id, 1);
    const logs = await eventually('an attempt is recorded', async () => {
      const found = await quick.logs(quick.endpointId);
      return found.length > 0 && found;
    });
    // On a slow machine the answer itself can come too late.
    const requests = host.requestsTo('/answering').length;
    assert.ok(requests >= logs.length, `${logs.length} attempts are recorded, and ${requests} requests were sent`);
  });

  it('gets a queue of events while a hundred others have queues too', async (t) => {
    const host = await startHost(t);
    await subscribeSilent(host, 100, 30);
    const quick = await subscribeAnswering(host);
    dispatch(t);
    await host.receiver.count(100);
    await insertSomeEvents(service, quick.company.id, 300);
    await eventually('it has its events', async () => host.requestsTo('/answering').length === 300, 15_000);
  });
});

describe('an endpoint that does not answer', () => {
  // Longer than the time after which an endpoint counts as one that does not answer.
  const answerMs = 2_200;

  it('is known as such while it has no events, and gets all of them when it answers again', async (t) => {
    const host = await startHost(t);
    const subscriber = await newSubscriber(service);
    const endpoint = await subscriber.subscribe(host.at('/silent'));
    dispatch(t, { answerMs });
    await insertSomeEvents(service, subscriber.company.id, 1);
    await eventually('it has failed', async () => (await subscriber.logs(endpoint.id)).length === 1);
    await insertSomeEvents(service, subscriber.company.id, 100);
    await host.receiver.count(21);
    await eventually('the worker returns most of what it has claimed', async () => {
      const claimed = await countOf(service, 'webhook_deliveries', 'claimed_by IS NOT NULL', []);
      return claimed > 0 && claimed <= 40;
    });
    host.recover();
    const ids = (): number => new Set(host.requestsTo('/silent').map(({ event }) => event.id)).size;
    await eventually('all events have arrived', async () => ids() === 101, 15_000);
  });

  it('delays others that do not answer, and none that answers', async (t) => {
    const host = await startHost(t);
    const [companyId = ''] = await subscribeSilent(host, 50, 1);
    dispatch(t, { answerMs });
    await eventually('all have failed', async () => {
      return (await countOf(service, 'webhook_delivery_logs', 'company_id = $1', [companyId])) === 50;
    });
    const before = host.receiver.received.length;
    await insertSomeEvents(service, companyId, 10);
    await host.receiver.count(before + 20);
    const fromMs = Date.now();
    const quick = await subscribeAnswering(host);
    await insertSomeEvents(service, quick.company.id, 50);
    await eventually('it has its events', async () => host.requestsTo('/answering').length === 50);
    const turns = host.receiver.received.length - before - 50;
    assert.ok(turns <= 40 + (Date.now() - fromMs) / 100, `the others take turns, and have taken ${turns}`);
  });

  it('delays none that refuses connections or answers late', async (t) => {
    const late = await startReceiver((_, response) => setTimeout(() => response.writeHead(200).end(), answerMs));
    t.after(() => late.stop());
    const subscriber = await newSubscriber(service);
    await subscriber.subscribe(late.url);
    const refusing = await subscriber.subscribe('https://localhost:1/');
    dispatch(t);
    await insertSomeEvents(service, subscriber.company.id, 60);
    await late.count(40);
    const [first, last] = [late.received[20], late.received[39]];
    assert.ok(first && last && last.atMs - first.atMs < answerMs, 'twenty are sent together again');
    assert.equal(await countOf(service, 'webhook_delivery_logs', 'endpoint_id = $1', [refusing.id]), 60);
  });
});

describe('an endpoint that answers', () => {
  it('has twenty requests at the same time', async (t) => {
    const answers: (() => void)[] = [];
    const receiver = await startReceiver((_, response) => answers.push(() => response.writeHead(200).end()));
    t.after(() => receiver.stop());
    const subscriber = await newSubscriber(service);
    await subscriber.subscribe(receiver.url);
    dispatch(t);
    await insertSomeEvents(service, subscriber.company.id, 60);
    for (const arrived of [20, 40, 60]) {
      await receiver.count(arrived);
      assert.equal(answers.length, 20);
      for (const answer of answers.splice(0)) answer();
    }
  });

  it('needs no more connections than it has requests at the same time', async (t) => {
    const host = await startHost(t);
    const subscriber = await newSubscriber(service);
    for (let count = 0; count < 5; count += 1) await subscriber.subscribe(host.at(`/answering/${count}`));
    await insertSomeEvents(service, subscriber.company.id, 200);
    dispatch(t);
    await host.receiver.count(1_000, 60_000);
    assert.ok(host.receiver.connections() <= 100, `${host.receiver.connections()} connections`);
  });
});
