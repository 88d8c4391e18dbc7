import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it, type TestContext } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { limits } from '../../limits.ts';
import { companyOf, signUp } from '../../../tests/support/dashboard.ts';
import { type Received, type Receiver, startReceiver } from '../../../tests/support/receiver.ts';
import { someCustomer, type TestService } from '../../../tests/support/service.ts';
import {
  dispatchFor,
  eventually,
  newSubscriber,
  startWebhookService,
  type Subscriber,
} from '../../../tests/support/webhooks.ts';
import type { Dispatcher } from './dispatcher.ts';
import { disableFailingEndpoints } from './service.ts';
import { retryDelaysMs } from './retry-schedule.ts';

/** Deliveries over real TLS connections, to receivers good and bad. */

const minuteMs = 60_000;
const dayMs = 86_400_000;

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

interface Scene {
  readonly receiver: Receiver;
  readonly subscriber: Subscriber;
  readonly endpoint: Record<string, any>;
}

async function scene(t: TestContext, how?: Parameters<typeof startReceiver>[0], address?: string): Promise<Scene> {
  const receiver = await startReceiver(how, address);
  t.after(() => receiver.stop());
  const subscriber = await newSubscriber(service);
  return { receiver, subscriber, endpoint: await subscriber.subscribe(receiver.url) };
}

/** The state of a delivery after its nth attempt. */
async function afterAttempt(
  { subscriber, endpoint }: Pick<Scene, 'subscriber' | 'endpoint'>,
  eventId: string,
  attempts = 1,
): Promise<Record<string, any>> {
  return eventually(`attempt ${attempts} is over`, async () => {
    return (await subscriber.logs(endpoint.id)).length >= attempts && subscriber.delivery(endpoint.id, eventId);
  });
}

async function lastError({ subscriber, endpoint }: Scene): Promise<string> {
  const [log] = await subscriber.logs(endpoint.id);
  assert.ok(log);
  assert.equal(log.status, 'failed');
  return log.error;
}

/** Whether it says what it should of an attempt that will be repeated. */
async function assertRetried(one: Scene, eventId: string): Promise<void> {
  const delivery = await afterAttempt(one, eventId);
  assert.deepEqual([delivery.delivery_status, delivery.attempts], ['pending', 1]);
  const waitMs = Date.parse(delivery.next_attempt_at) - Date.parse(delivery.last_attempt_at);
  assert.equal(waitMs, retryDelaysMs[0]);
}

const headersOf = ({ headers }: Received): Record<string, string> => headers as Record<string, string>;

function ownSignatures(received: Received): { timestamp: string; values: string[] } {
  const [time = '', ...values] = headersOf(received)['svc-signature']?.split(',') ?? [];
  return { timestamp: time.replace('t=', ''), values: values.map((value) => value.replace('v1=', '')) };
}

function signedWith(received: Received, secret: string): string {
  const { timestamp } = ownSignatures(received);
  return createHmac('sha256', secret).update(`${timestamp}.${received.body}`).digest('hex');
}

describe('a delivery', { concurrency: 4 }, () => {
  it('is the event as the API shows it, named in its headers', async (t) => {
    const { receiver, subscriber } = await scene(t);
    const id = await subscriber.happen();
    await receiver.count(1);
    const [got] = receiver.received;
    assert.ok(got);
    assert.deepEqual(got.event, (await subscriber.call('GET', `/v1/events/${id}`)).body);
    const { headers } = got;
    assert.equal(headers['content-type'], 'application/json');
    assert.deepEqual(
      [headers['svc-event-id'], headers['svc-event-type'], headers['svc-delivery-attempt']],
      [id, 'customer.created', '1'],
    );
    assert.equal(headers['webhook-id'], id);
  });

  it('of a change has the texts of both states, with any characters', async (t) => {
    const { receiver, subscriber } = await scene(t);
    const names = ['Zo\u00eb "Z" \\u001e', '\u{1F375} {}],"data":{"object":null}'];
    const made = await subscriber.call('POST', '/v1/customers', { body: someCustomer({ first_name: names[0] }) });
    assert.equal(made.status, 201, made.text);
    const path = `/v1/customers/${made.body.id}`;
    const changed = await subscriber.call('PATCH', path, { body: { first_name: names[1] } });
    assert.equal(changed.status, 200, changed.text);
    await receiver.count(2);
    const update = receiver.received.find(({ event }) => event.type === 'customer.updated');
    assert.ok(update);
    assert.equal(update.event.data.object.first_name, names[1]);
    assert.equal(update.event.data.previous.first_name, names[0]);
    const shown = await subscriber.call('GET', `/v1/events/${update.event.id}`);
    assert.equal(update.body, shown.text);
  });

  it('has a signature that our own code and any Standard Webhooks library accept', async (t) => {
    const { receiver, subscriber, endpoint } = await scene(t);
    await subscriber.happen();
    await receiver.count(1);
    const [got] = receiver.received;
    assert.ok(got);
    assert.match(endpoint.signing_secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    new Webhook(endpoint.signing_secret).verify(got.body, headersOf(got));
    assert.throws(() => new Webhook(endpoint.signing_secret).verify(`${got.body} `, headersOf(got)));
    const { timestamp, values } = ownSignatures(got);
    assert.deepEqual(values, [signedWith(got, endpoint.signing_secret)]);
    assert.equal(timestamp, headersOf(got)['webhook-timestamp']);
    assert.ok(Math.abs(Number(timestamp) - Date.now() / 1_000) < 10, 'by real time');
  });

  it('is signed by real time also where the clock of the company is ahead', async (t) => {
    const { receiver, subscriber, endpoint } = await scene(t);
    await subscriber.later(400 * dayMs);
    await subscriber.happen();
    await receiver.count(1);
    const [got] = receiver.received;
    assert.ok(got);
    new Webhook(endpoint.signing_secret).verify(got.body, headersOf(got));
  });

  it('carries a signature of each secret while the old one is valid, and then of the new one alone', async (t) => {
    const { receiver, subscriber, endpoint } = await scene(t);
    const path = `/v1/webhook_endpoints/${endpoint.id}`;
    const rotated = (await subscriber.call('POST', `${path}/rotate_secret`, { body: { grace_period_hours: 1 } })).body;
    await subscriber.happen();
    await receiver.count(1);
    const secrets = [rotated.new_signing_secret, endpoint.signing_secret];
    const [first] = receiver.received;
    assert.ok(first);
    for (const secret of secrets) new Webhook(secret).verify(first.body, headersOf(first));
    assert.deepEqual(
      ownSignatures(first).values,
      secrets.map((secret) => signedWith(first, secret)),
    );
    await subscriber.call('POST', `${path}/test`);
    assert.equal(receiver.received[1] && ownSignatures(receiver.received[1]).values.length, 2, 'also a test');
    await service.db.query(`UPDATE webhook_endpoints SET previous_secrets_until = ARRAY[now()] WHERE id = $1`, [
      endpoint.id,
    ]);
    await subscriber.happen();
    await receiver.count(3);
    await subscriber.call('POST', `${path}/test`);
    for (const late of receiver.received.slice(2)) {
      assert.deepEqual(ownSignatures(late).values, [signedWith(late, rotated.new_signing_secret)]);
      assert.throws(() => new Webhook(endpoint.signing_secret).verify(late.body, headersOf(late)));
    }
  });

  it('carries a signature of each secret that is still valid, however often it was rotated', async (t) => {
    const { receiver, subscriber, endpoint } = await scene(t);
    const path = `/v1/webhook_endpoints/${endpoint.id}`;
    const rotate = async (grace_period_hours: number): Promise<string> =>
      (await subscriber.call('POST', `${path}/rotate_secret`, { body: { grace_period_hours } })).body
        .new_signing_secret;
    // The answer to the first is lost, and it is asked for again.
    const secrets = [endpoint.signing_secret, await rotate(24), await rotate(1)];
    await subscriber.happen();
    await subscriber.call('POST', `${path}/test`);
    await receiver.count(2);
    for (const got of receiver.received) {
      assert.deepEqual(
        ownSignatures(got).values,
        secrets.toReversed().map((secret) => signedWith(got, secret)),
      );
      for (const secret of secrets) new Webhook(secret).verify(got.body, headersOf(got));
    }
    for (let times = 0; times < 20; times += 1) await rotate(72);
    await subscriber.happen();
    await receiver.count(3);
    const last = receiver.received[2];
    assert.equal(last && ownSignatures(last).values.length, 1 + limits.previousSecrets);
  });

  it('is in the version of its endpoint', async (t) => {
    const { receiver, subscriber } = await scene(t);
    await subscriber.subscribe(`${receiver.url}/old`, { api_version: '2025-11-04' });
    await subscriber.happen();
    await receiver.count(2);
    const versions = receiver.received.map(({ path, event }) => `${path} ${event.api_version}`).toSorted();
    assert.deepEqual(versions, ['/hook 2026-02-11', '/hook/old 2025-11-04']);
  });

  it('goes to the endpoints that subscribe to the event, and to no other company', async (t) => {
    const { receiver, subscriber, endpoint } = await scene(t);
    const origin = new URL(receiver.url).origin;
    const wanted = { all: ['*'], group: ['customer.*'], exact: ['customer.created'], both: ['order.*', 'customer.*'] };
    const unwanted = { orders: ['order.*'], other: ['customer.updated', 'customer.deleted'] };
    for (const [name, enabled_events] of Object.entries({ ...wanted, ...unwanted })) {
      await subscriber.subscribe(`${origin}/${name}`, { enabled_events });
    }
    const stranger = await newSubscriber(service);
    await stranger.subscribe(`${origin}/stranger`);
    await subscriber.happen();
    await receiver.count(5);
    await subscriber.call('DELETE', `/v1/webhook_endpoints/${endpoint.id}`);
    await stranger.happen();
    await receiver.count(6);
    assert.deepEqual(
      receiver.received.map(({ path }) => path).toSorted(),
      ['/all', '/both', '/exact', '/group', '/hook', '/stranger'],
      'once each, for any number of matching patterns',
    );
  });

  it('succeeds with any 2xx', async (t) => {
    for (const status of [200, 201, 202, 204, 299]) {
      const one = await scene(t, status);
      const delivery = await afterAttempt(one, await one.subscriber.happen());
      assert.deepEqual([delivery.delivery_status, delivery.next_attempt_at], ['delivered', null], String(status));
    }
  });

  it('uses a connection again', async (t) => {
    const one = await scene(t);
    for (let count = 1; count <= 5; count += 1) await afterAttempt(one, await one.subscriber.happen(), count);
    assert.equal(one.receiver.received.length, 5);
    assert.equal(one.receiver.connections(), 1);
  });
});

describe('a receiver', { concurrency: 4 }, () => {
  it('that fails once is asked again and gets the same event', async (t) => {
    const one = await scene(t, 500);
    const id = await one.subscriber.happen();
    await assertRetried(one, id);
    one.receiver.behave(200);
    // The retry is due after 5 s. The rest of that time is the margin for a slow machine.
    await one.subscriber.later(1_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(one.receiver.received.length, 1, 'not before its time');
    await one.subscriber.later(4_500);
    await one.receiver.count(2);
    const delivery = await afterAttempt(one, id, 2);
    assert.deepEqual([delivery.delivery_status, delivery.attempts], ['delivered', 2]);
    const [first, second] = one.receiver.received;
    assert.equal(first?.body, second?.body);
    assert.equal(second?.headers['svc-delivery-attempt'], '2');
    const logs = await one.subscriber.logs(one.endpoint.id);
    assert.deepEqual(
      logs.map(({ attempt, status, http_status, event_id, response_body }) => [
        attempt,
        status,
        http_status,
        event_id === id,
        response_body,
      ]),
      [
        [2, 'success', 200, true, 'ok'],
        [1, 'failed', 500, true, 'ok'],
      ],
    );
    assert.equal(logs[0]?.request_headers['SVC-Event-Id'], id);
  });

  it('that answers endlessly is read to 4 KiB and no further', async (t) => {
    let written = 0;
    const connection = { closed: false };
    const one = await scene(t, (_, response) => {
      response.on('close', () => {
        connection.closed = true;
      });
      response.writeHead(200);
      const pour = (): void => {
        while (!connection.closed && response.write('x'.repeat(1_024))) written += 1_024;
      };
      response.on('drain', pour);
      pour();
    });
    const delivery = await afterAttempt(one, await one.subscriber.happen());
    assert.equal(delivery.delivery_status, 'delivered');
    const [log] = await one.subscriber.logs(one.endpoint.id);
    assert.equal(log?.response_body, 'x'.repeat(4_096));
    await eventually('the connection is closed', async () => connection.closed);
    assert.ok(written < 4 * 1_024 * 1_024, 'what the buffers of two sockets hold, at most');
  });

  it('may answer with bytes that are no text', async (t) => {
    const one = await scene(t, (_, response) => response.writeHead(200).end(Buffer.from([0, 0xff, 0xc3, 0x28, 0, 65])));
    const delivery = await afterAttempt(one, await one.subscriber.happen());
    assert.equal(delivery.delivery_status, 'delivered');
    assert.match((await one.subscriber.logs(one.endpoint.id))[0]?.response_body, /A$/);
  });

  it('that resets the connection is asked again', async (t) => {
    const one = await scene(t, (_, __, raw) => raw.socket.destroy());
    await assertRetried(one, await one.subscriber.happen());
    assert.match(await lastError(one), /^the connection was (reset|closed)$/);
  });

  it('that is not there is asked again', async () => {
    const receiver = await startReceiver();
    const subscriber = await newSubscriber(service);
    const endpoint = await subscriber.subscribe(receiver.url.replace('localhost', '127.0.0.1'));
    await receiver.stop();
    const one = { receiver, subscriber, endpoint };
    await assertRetried(one, await subscriber.happen());
    assert.equal(await lastError(one), 'the connection was refused');
  });

  it('that redirects has failed, and the redirect is not followed', async (t) => {
    const elsewhere = await startReceiver();
    t.after(() => elsewhere.stop());
    for (const status of [301, 302, 303, 307, 308]) {
      const one = await scene(t, (_, response) => response.writeHead(status, { location: elsewhere.url }).end());
      await assertRetried(one, await one.subscriber.happen());
      assert.equal(await lastError(one), `responded with ${status}; redirects are not followed`);
    }
    assert.equal(elsewhere.connections(), 0);
  });

  it('whose certificate is for another name gets nothing', async (t) => {
    const one = await scene(t, 200, '127.0.0.2');
    await assertRetried(one, await one.subscriber.happen());
    assert.match(await lastError(one), /certificate/);
    assert.equal(one.receiver.received.length, 0);
  });

  it('that asks for time with Retry-After gets it, in seconds or as a date', async (t) => {
    for (const [status, header] of [
      [429, () => '120'],
      [503, () => new Date(Date.now() + 121_000).toUTCString()],
    ] as const) {
      const one = await scene(t, (_, response) => response.writeHead(status, { 'retry-after': header() }).end());
      // The date is by the receiver's clock, which is not the simulated one of the company.
      await one.subscriber.later(10 * dayMs);
      const delivery = await afterAttempt(one, await one.subscriber.happen());
      const waitMs = Date.parse(delivery.next_attempt_at) - Date.parse(delivery.last_attempt_at);
      assert.equal(delivery.delivery_status, 'pending');
      assert.ok(waitMs > 110_000 && waitMs <= 121_000, `${status}: ${waitMs}`);
    }
  });

  it('that is disabled again and again fills no mailbox', async () => {
    const person = await signUp(service);
    const { body } = await person.in('POST', '/dashboard/api_keys', { name: 'K', kind: 'secret' });
    const company = companyOf(person, 'sandbox');
    await service.db.query(
      `INSERT INTO mails (company_id, id, recipient, subject, body)
       SELECT $1, uuidv7(), 'member@example.com', 'Hello', 'Hello' FROM generate_series(1, $2::integer)`,
      [company, limits.mailsPerDay - 1],
    );
    for (let times = 0; times < 3; times += 1) {
      const type = 'webhook_endpoint.disabled';
      const triggered = await service.call('POST', '/v1/sandbox/events/trigger', { key: body.key, body: { type } });
      assert.equal(triggered.status, 200, triggered.text);
    }
    const mails = await service.db.query('SELECT 1 FROM mails WHERE company_id = $1 AND recipient = $2', [
      company,
      person.email,
    ]);
    assert.equal(mails.length, 1);
  });

  it('that answers 410 is disabled at once, and an event says so', async (t) => {
    const one = await scene(t, 410);
    const witness = await startReceiver();
    t.after(() => witness.stop());
    await one.subscriber.subscribe(witness.url, { enabled_events: ['webhook_endpoint.*'] });
    const delivery = await afterAttempt(one, await one.subscriber.happen());
    assert.deepEqual([delivery.delivery_status, delivery.next_attempt_at], ['failed', null]);
    await witness.count(1);
    const { body: endpoint } = await one.subscriber.call('GET', `/v1/webhook_endpoints/${one.endpoint.id}`);
    assert.deepEqual([endpoint.status, endpoint.disabled_reason], ['disabled', 'the endpoint responded with 410 Gone']);
    const event = witness.received[0]?.event;
    assert.deepEqual([event?.type, event?.sequence, event?.request_id], ['webhook_endpoint.disabled', 1, null]);
    assert.deepEqual(event?.data.object, endpoint);
    await one.subscriber.happen();
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(one.receiver.received.length, 1);
  });

  it('that never answers well is asked ten times, by the clock of the company, and then no more', async (t) => {
    const one = await scene(t, 500);
    const id = await one.subscriber.happen();
    for (const [index, delayMs] of retryDelaysMs.entries()) {
      const delivery = await afterAttempt(one, id, index + 1);
      assert.deepEqual([delivery.delivery_status, delivery.attempts], ['pending', index + 1]);
      assert.equal(Date.parse(delivery.next_attempt_at) - Date.parse(delivery.last_attempt_at), delayMs);
      await one.subscriber.later(delayMs + 1_000);
    }
    const last = await afterAttempt(one, id, 10);
    assert.deepEqual([last.delivery_status, last.attempts, last.next_attempt_at], ['failed', 10, null]);
    assert.equal(one.receiver.received.length, 10);
    const attempts = one.receiver.received.map(({ headers }) => headers['svc-delivery-attempt']);
    assert.deepEqual(attempts, ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10']);
  });

  it('whose secret cannot be opened is tried again later, and the attempt is on record', async (t) => {
    const one = await scene(t);
    await service.db.query(`UPDATE webhook_endpoints SET secret = '\\x00'::bytea WHERE id = $1`, [one.endpoint.id]);
    await assertRetried(one, await one.subscriber.happen());
    assert.equal(await lastError(one), 'the delivery could not be prepared');
    assert.equal(one.receiver.received.length, 0);
  });
});

describe('a receiver that does not end its answer', { concurrency: 2 }, () => {
  // Only here: a slow machine may take longer to deliver to a receiver that answers.
  const answerMs = 1_500;
  before(async () => {
    await dispatcher.stop();
    dispatcher = dispatchFor(service, { answerMs });
  });
  after(async () => {
    await dispatcher.stop();
    dispatcher = dispatchFor(service);
  });

  it('is given up in time, and the connection with it', async (t) => {
    const closed = Promise.withResolvers<void>();
    const one = await scene(t, (_, response) => response.on('close', closed.resolve));
    const id = await one.subscriber.happen();
    await assertRetried(one, id);
    await closed.promise;
    assert.equal(await lastError(one), 'no response in time');
    const [log] = await one.subscriber.logs(one.endpoint.id);
    assert.ok(log && log.duration_ms >= answerMs - 50 && log.duration_ms < answerMs + 3_000, String(log?.duration_ms));
  });

  it('is given up in time also after its first byte', async (t) => {
    const one = await scene(t, (_, response) => response.writeHead(200).write('a'));
    await assertRetried(one, await one.subscriber.happen());
    assert.equal(await lastError(one), 'no response in time');
  });
});

describe('the next attempt', { concurrency: 4 }, () => {
  const timesOf = (delivery: Record<string, any>) => ({
    created: Date.parse(delivery.created_at),
    last: delivery.last_attempt_at && Date.parse(delivery.last_attempt_at),
    next: Date.parse(delivery.next_attempt_at),
  });

  /** A receiver that answers, with 500, when the test lets it. */
  async function slowScene(t: TestContext): Promise<Scene & { answer(): void }> {
    const waiting: ServerResponse[] = [];
    const one = await scene(t, (_, response) => waiting.push(response));
    const answer = (): void => waiting.forEach((response) => response.writeHead(500).end());
    return { ...one, answer };
  }

  it('is shown by the clock of the company also while an attempt is in progress', async (t) => {
    const one = await slowScene(t);
    await one.subscriber.later(7 * dayMs);
    const id = await one.subscriber.happen();
    await one.receiver.count(1);
    const delivery = await one.subscriber.delivery(one.endpoint.id, id);
    assert.deepEqual([delivery.delivery_status, delivery.attempts, delivery.last_attempt_at], ['pending', 1, null]);
    const { created, next } = timesOf(delivery);
    assert.ok(Math.abs(next - created) < minuteMs, 'the attempt under way was due when the event happened');
    one.answer();
    const retried = timesOf(await afterAttempt(one, id));
    assert.ok(retried.last > created && retried.last < created + minuteMs, 'the company’s clock');
    assert.equal(retried.next - retried.last, retryDelaysMs[0]);
  });

  it('is after the present time of a clock that was moved while the attempt was in progress', async (t) => {
    const one = await slowScene(t);
    const id = await one.subscriber.happen();
    await one.receiver.count(1);
    await one.subscriber.later(7 * dayMs);
    one.answer();
    const { created, last, next } = timesOf(await afterAttempt(one, id));
    assert.equal(last + retryDelaysMs[0] + 7 * dayMs, next);
    assert.ok(last - created < minuteMs, 'it was made before the clock was moved');
    await one.subscriber.later(retryDelaysMs[0]);
    await one.receiver.count(2);
  });

  it('of a replay is now, by the clock of the company', async (t) => {
    const one = await scene(t, 200);
    await one.subscriber.later(7 * dayMs);
    const id = await one.subscriber.happen();
    await afterAttempt(one, id);
    await one.subscriber.later(dayMs);
    const now = Date.parse((await one.subscriber.call('GET', '/v1/sandbox/clock')).body.now);
    const path = `/v1/webhook_endpoints/${one.endpoint.id}/events/${id}/replay`;
    const replay = await one.subscriber.call('POST', path, { body: { force: true } });
    assert.equal(replay.body.delivery_status, 'pending', replay.text);
    assert.ok(Math.abs(timesOf(replay.body).next - now) < minuteMs, replay.text);
    await one.receiver.count(2);
  });
});

describe('five days of nothing but failures', () => {
  const disable = (): Promise<number> => disableFailingEndpoints(service.db, service.clock);
  const statusOf = async ({ subscriber, endpoint }: Scene): Promise<unknown[]> => {
    const { body } = await subscriber.call('GET', `/v1/webhook_endpoints/${endpoint.id}`);
    return [body.status, body.disabled_reason];
  };

  it('disable an endpoint, and an event says so', async (t) => {
    const one = await scene(t, 500);
    await afterAttempt(one, await one.subscriber.happen());
    await one.subscriber.later(5 * dayMs - 60_000);
    await afterAttempt(one, await one.subscriber.happen(), 3);
    await disable();
    assert.deepEqual(await statusOf(one), ['enabled', null]);
    await one.subscriber.later(120_000);
    await afterAttempt(one, await one.subscriber.happen(), 4);
    await disable();
    assert.deepEqual(await statusOf(one), ['disabled', 'every delivery failed for 5 days']);
    await disable();
    const events = await one.subscriber.call('GET', '/v1/events?type=webhook_endpoint.disabled');
    assert.deepEqual(
      events.body.data.map(({ data }: Record<string, any>) => data.object.id),
      [one.endpoint.id],
      'once',
    );
    assert.ok(Date.parse(events.body.data[0].created_at) > Date.now() + 4 * dayMs, 'by the clock of the company');
  });

  it('are over with one success', async (t) => {
    const one = await scene(t, 500);
    await afterAttempt(one, await one.subscriber.happen());
    await one.subscriber.later(3 * dayMs);
    one.receiver.behave(200);
    await afterAttempt(one, await one.subscriber.happen(), 3);
    one.receiver.behave(500);
    await one.subscriber.later(3 * dayMs);
    await afterAttempt(one, await one.subscriber.happen(), 4);
    await disable();
    assert.deepEqual(await statusOf(one), ['enabled', null]);
  });

  it('are not one failure and then silence', async (t) => {
    const one = await scene(t, 500);
    await afterAttempt(one, await one.subscriber.happen());
    await service.db.query(
      `UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL WHERE endpoint_id = $1`,
      [one.endpoint.id],
    );
    await one.subscriber.later(30 * dayMs);
    await disable();
    assert.deepEqual(await statusOf(one), ['enabled', null]);
  });

  it('are forgotten when the merchant enables the endpoint again', async (t) => {
    const one = await scene(t, 500);
    await afterAttempt(one, await one.subscriber.happen());
    await one.subscriber.later(6 * dayMs);
    await afterAttempt(one, await one.subscriber.happen(), 3);
    await disable();
    assert.equal((await statusOf(one))[0], 'disabled');
    const path = `/v1/webhook_endpoints/${one.endpoint.id}`;
    await one.subscriber.call('PATCH', path, { body: { status: 'enabled' } });
    await disable();
    assert.deepEqual(await statusOf(one), ['enabled', null]);
  });
});
