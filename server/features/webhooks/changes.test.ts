import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startReceiver } from '../../../tests/support/receiver.ts';
import type { TestService } from '../../../tests/support/service.ts';
import {
  dispatchFor,
  eventually,
  insertSomeEvents,
  newSubscriber,
  startWebhookService,
} from '../../../tests/support/webhooks.ts';
import type { Dispatcher } from './dispatcher.ts';

/** An endpoint that changes while a worker holds deliveries for it, which a slow receiver makes wait. */

const count = 150;
/** Those that were under way at the change, twice over: the news takes a moment. */
const underWay = 40;
const slowMs = 250;

let service: TestService;
let dispatcher: Dispatcher;

before(async () => {
  service = await startWebhookService();
  dispatcher = dispatchFor(service);
});
after(async () => {
  await dispatcher.stop();
  await service.stop();
});

describe('a worker that holds deliveries for a slow receiver', () => {
  for (const [what, change] of [
    ['is deleted', { method: 'DELETE' }],
    ['is disabled', { method: 'PATCH', body: { status: 'disabled' } }],
    ['answers that it is gone', undefined],
  ] as const) {
    it(`sends it no more when the endpoint ${what}`, async (t) => {
      const answer = change ? 200 : 410;
      const receiver = await startReceiver((_, response) => {
        setTimeout(() => response.writeHead(answer).end(), slowMs);
      });
      t.after(() => receiver.stop());
      const subscriber = await newSubscriber(service);
      const { id } = await subscriber.subscribe(receiver.url);
      await insertSomeEvents(service, subscriber.company.id, count);
      await receiver.count(20);
      if (change) {
        const { method, ...options } = change;
        assert.equal((await subscriber.call(method, `/v1/webhook_endpoints/${id}`, options)).status, 200);
      }
      await sleep(4 * slowMs);
      const soonAfter = receiver.received.length;
      assert.ok(soonAfter <= 20 + underWay, `${soonAfter} were sent`);
      await sleep(4 * slowMs);
      assert.equal(receiver.received.length, soonAfter);
    });
  }

  it('sends the rest to where the endpoint has moved, and loses none', async (t) => {
    const [before, now] = [
      await startReceiver((_, response) => {
        setTimeout(() => response.writeHead(200).end(), slowMs);
      }),
      await startReceiver(),
    ];
    t.after(() => Promise.all([before.stop(), now.stop()]));
    const subscriber = await newSubscriber(service);
    const { id } = await subscriber.subscribe(before.url);
    const events = await insertSomeEvents(service, subscriber.company.id, count);
    await before.count(20);
    await subscriber.call('PATCH', `/v1/webhook_endpoints/${id}`, { body: { url: now.url } });
    const arrived = (): Set<string> =>
      new Set([...before.received, ...now.received].map(({ event }) => String(event.id)));
    await eventually('all have arrived', async () => arrived().size === count);
    assert.deepEqual([...arrived()].toSorted(), [...events].toSorted());
    assert.ok(before.received.length <= 20 + underWay, `${before.received.length} went to where it was`);
    assert.ok(now.received.every(({ headers }) => headers['svc-delivery-attempt'] === '1'));
  });
});
