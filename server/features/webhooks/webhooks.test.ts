import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { openShop, order } from '../../../tests/support/orders.ts';
import { type Receiver, startReceiver, testAuthority } from '../../../tests/support/receiver.ts';
import { someCustomer, startTestService, type TestService } from '../../../tests/support/service.ts';
import { createLog } from '../../platform/log.ts';
import { type Dispatcher, startDispatcher } from './dispatcher.ts';

let service: TestService;
let receiver: Receiver;
let dispatcher: Dispatcher;

before(async () => {
  service = await startTestService({
    settings: { SVC_WEBHOOK_ALLOW: '127.0.0.0/8,::1' },
    certificates: [testAuthority],
  });
  receiver = await startReceiver();
  dispatcher = startDispatcher({
    db: service.db,
    clock: service.clock,
    log: createLog('warn', { write: (line) => process.stderr.write(line) }),
    outbound: service.outbound,
    secretKey: service.webhookSecretKey,
    random: () => 0.5,
  });
});
after(async () => {
  await dispatcher.stop();
  await receiver.stop();
  await service.stop();
});

describe('an event', () => {
  it('reaches an endpoint that wants it, signed', async () => {
    const body = { url: receiver.url, enabled_events: ['*'] };
    const made = await service.call('POST', '/v1/webhook_endpoints', { body });
    assert.equal(made.status, 201, made.text);
    const customer = await service.call('POST', '/v1/customers', { body: someCustomer() });
    assert.equal(customer.status, 201);
    await receiver.count(1);
    const [got] = receiver.received;
    assert.ok(got);
    assert.equal(got.event.type, 'customer.created');
    assert.deepEqual(got.event.data.object, customer.body);
    new Webhook(made.body.signing_secret).verify(got.body, got.headers as Record<string, string>);
    const shop = await openShop(service);
    const placed = await order(service, shop);
    assert.equal(placed.body.status, 'succeeded');
    await receiver.count(5);
    console.log(receiver.received.map(({ event }) => `${event.type} ${event.sequence}`));
    for (const path of ['events', 'delivery_logs']) {
      const list = await service.call('GET', `/v1/webhook_endpoints/${made.body.id}/${path}`);
      assert.equal(list.status, 200, list.text);
      assert.ok(list.body.data.length > 0);
    }
    const events = await service.call('GET', '/v1/events?limit=2');
    assert.equal(events.status, 200, events.text);
    const next = await service.call('GET', `/v1/events?limit=2&starting_after=${events.body.cursors.next}`);
    assert.equal(next.status, 200, next.text);
    const tested = await service.call('POST', `/v1/webhook_endpoints/${made.body.id}/test`);
    assert.equal(tested.body.status, 'success', tested.text);
  });
});
