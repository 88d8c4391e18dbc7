import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it, type TestContext } from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { Dispatcher } from '../../server/features/webhooks/dispatcher.ts';
import { newSigningSecret, signatureHeaders, signingKey } from '../../server/features/webhooks/signing.ts';
import { type Received, type Receiver, startReceiver } from '../../tests/support/receiver.ts';
import { aCustomer, recordedSdk } from '../../tests/support/sdk.ts';
import type { TestService } from '../../tests/support/service.ts';
import { dispatchFor, newSubscriber, startWebhookService } from '../../tests/support/webhooks.ts';
import { type CreatedWebhookEndpoint, type Event, type Svc, webhooks, WebhookSignatureError } from './src/index.ts';

/** Real and forged deliveries. */

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

async function scene(t: TestContext): Promise<{ svc: Svc; receiver: Receiver; endpoint: CreatedWebhookEndpoint }> {
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const { key } = await newSubscriber(service);
  const { svc } = recordedSdk(service, { key });
  return { svc, receiver, endpoint: await svc.webhookEndpoints.create({ url: receiver.url, enabled_events: ['*'] }) };
}

async function delivered({ receiver, svc }: { receiver: Receiver; svc: Svc }): Promise<Received> {
  const wanted = receiver.received.length + 1;
  await svc.customers.create(aCustomer());
  await receiver.count(wanted);
  const last = receiver.received.at(-1);
  assert.ok(last);
  return last;
}

const isRefusal = (error: unknown): boolean =>
  error instanceof WebhookSignatureError && error.code === 'webhook_signature_failed';

/** The result of the Standard Webhooks library for the same delivery. */
function standardAccepts(body: string, headers: Received['headers'], secret: string): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

async function accepts(body: string, headers: Received['headers'], secret: string | string[]): Promise<boolean> {
  try {
    await webhooks.verify(body, headers, secret);
    return true;
  } catch (error) {
    assert.ok(isRefusal(error), String(error));
    return false;
  }
}

describe('a real delivery', () => {
  it('is accepted and returns a typed event', async (t) => {
    const { svc, receiver, endpoint } = await scene(t);
    const { body, headers } = await delivered({ svc, receiver });
    const event = await webhooks.verify(body, headers, endpoint.signing_secret);
    assert.ok(event.type === 'customer.created');
    const email: string = event.data.object.email;
    assert.match(email, /^sdk-/);
    assert.deepEqual(event, await svc.events.get(event.id));
  });

  it('is accepted as text and bytes, with any type of headers', async (t) => {
    const { svc, receiver, endpoint } = await scene(t);
    const { body, headers } = await delivered({ svc, receiver });
    const { signing_secret: secret } = endpoint;
    const plain = headers as Record<string, string>;
    const upperCase = Object.fromEntries(Object.entries(plain).map(([name, value]) => [name.toUpperCase(), value]));
    const bytes = new TextEncoder().encode(body);
    const events = [
      await svc.webhooks.verify(Buffer.from(body), headers, secret),
      await webhooks.verify(bytes, new Headers(plain), secret),
      await webhooks.verify(bytes.buffer, upperCase, [secret]),
    ];
    for (const event of events) assert.equal(event.id, headers['svc-event-id']);
  });

  it('is accepted with the old and the new secret during a rotation', async (t) => {
    const { svc, receiver, endpoint } = await scene(t);
    const rotated = await svc.webhookEndpoints.rotateSecret(endpoint.id, { grace_period_hours: 1 });
    const { body, headers } = await delivered({ svc, receiver });
    assert.equal(headers['svc-signature']?.toString().split('v1=').length, 3);
    for (const secret of [endpoint.signing_secret, rotated.new_signing_secret]) {
      assert.equal(await accepts(body, headers, secret), true);
      assert.equal(standardAccepts(body, headers, secret), true);
    }
    // One receiver has only the new secret, the other has both.
    const before = { ...headers, ...signed([endpoint.signing_secret], body) };
    assert.equal(await accepts(body, before, rotated.new_signing_secret), false);
    assert.equal(await accepts(body, before, [rotated.new_signing_secret, endpoint.signing_secret]), true);
  });

  it('is rejected with another secret, body or time', async (t) => {
    const { svc, receiver, endpoint } = await scene(t);
    const { body, headers } = await delivered({ svc, receiver });
    const { signing_secret: secret } = endpoint;
    const other = newSigningSecret(randomBytes(32));
    assert.equal(await accepts(body, headers, other), false);
    for (const changed of [body.replace('Ada', 'Eve'), `${body} `, body.slice(0, -1), '']) {
      assert.equal(await accepts(changed, headers, secret), false);
      assert.equal(standardAccepts(changed, headers, secret), false);
    }
    const signature = String(headers['svc-signature']);
    const later = { ...headers, 'svc-signature': signature.replace(/t=(\d+)/, (_, t: string) => `t=${Number(t) + 1}`) };
    assert.equal(await accepts(body, later, secret), false);
  });
});

const secret = newSigningSecret(randomBytes(32));
const nowSeconds = (): number => Math.floor(Date.now() / 1_000);
const event: Event = {
  id: 'evt_1',
  type: 'team_member.invited',
  created_at: '2026-02-11T09:30:00.000Z',
  api_version: '2026-02-11',
  livemode: false,
  sequence: 1,
  request_id: null,
  data: {
    object: {
      id: '019c4c22-0b00-7f00-8a1b-2c3d4e5f6071',
      email: 'zoë@example.com',
      first_name: 'Zoë',
      last_name: '茶',
      phone_number: '+15551234567',
      status: 'pending',
      role: { id: '019c4c22-0b00-7f00-8a1b-2c3d4e5f6072', name: 'Viewer' },
      invited_at: '2026-02-11T09:30:00.000Z',
      accepted_at: null,
      created_at: '2026-02-11T09:30:00.000Z',
      updated_at: '2026-02-11T09:30:00.000Z',
    },
  },
};
const eventBody = JSON.stringify(event);

function signed(secrets: string[], body = eventBody, timestampSeconds = nowSeconds()): Record<string, string> {
  const eventId = (JSON.parse(body) as { id: string }).id;
  const headers = Object.entries(signatureHeaders(secrets.map(signingKey), { eventId, body, timestampSeconds }));
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
}

describe('a signature', () => {
  it('is valid for five minutes in both directions, or for toleranceSeconds', async () => {
    for (const [offset, isGood] of [
      [-290, true],
      [290, true],
      [-310, false],
      [310, false],
    ] as const) {
      const headers = signed([secret], eventBody, nowSeconds() + offset);
      assert.equal(await accepts(eventBody, headers, secret), isGood, String(offset));
      assert.equal(standardAccepts(eventBody, headers, secret), isGood, String(offset));
    }
    const old = signed([secret], eventBody, nowSeconds() - 3_600);
    assert.equal((await webhooks.verify(eventBody, old, secret, { toleranceSeconds: 4_000 })).id, event.id);
    const nowMs = Date.now() - 3_600_000;
    assert.equal((await webhooks.verify(eventBody, old, secret, { nowMs })).id, event.id);
    await assert.rejects(
      webhooks.verify(eventBody, signed([secret]), secret, { nowMs, toleranceSeconds: 5 }),
      isRefusal,
    );
  });

  it('is accepted in the headers of Standard Webhooks alone', async () => {
    const { 'svc-signature': _, ...standard } = signed([secret]);
    assert.equal(await accepts(eventBody, standard, secret), true);
    assert.equal(await accepts(eventBody, { ...standard, 'webhook-id': 'evt_2' }, secret), false);
    assert.equal(await accepts(eventBody, { ...standard, 'webhook-timestamp': '1' }, secret), false);
    assert.equal(await accepts(eventBody, standard, newSigningSecret(randomBytes(32))), false);
  });

  it('is rejected if it is missing or malformed', async () => {
    const good = signed([secret])['svc-signature'] ?? '';
    const time = good.split(',')[0] ?? '';
    const wrong = [
      '',
      't=',
      time,
      `${time},v1=`,
      good.replace('v1=', 'v0='),
      good.slice(0, -1),
      `${good}0`,
      'v1=00',
      ',',
    ];
    for (const signature of [...wrong, good.replace('t=', 't=-'), good.replace('t=', 't=1e3'), good.toUpperCase()]) {
      assert.equal(await accepts(eventBody, { 'svc-signature': signature }, secret), false, signature);
    }
    assert.equal(await accepts(eventBody, {}, secret), false);
    assert.equal(await accepts(eventBody, { 'svc-signature': `${time},v1=00,${good.split(',')[1]}` }, secret), true);
  });

  it('is rejected if the secret is not a signing secret', async () => {
    for (const none of ['', 'whsec_', 'secret', []]) {
      await assert.rejects(webhooks.verify(eventBody, signed([secret]), none), WebhookSignatureError);
    }
    const unset = undefined as unknown as string;
    await assert.rejects(webhooks.verify(eventBody, signed([secret]), unset), WebhookSignatureError);
    await assert.rejects(webhooks.verify(eventBody, signed([secret]), [secret, unset]), WebhookSignatureError);
  });

  it('cannot be checked for a parsed body', async () => {
    const parsed = event as unknown as string;
    await assert.rejects(webhooks.verify(parsed, signed([secret]), secret), /requires the raw body/);
  });
});

describe('a test event', () => {
  it('is signed like a real delivery', async () => {
    const other = newSigningSecret(randomBytes(32));
    const timestampSeconds = nowSeconds();
    const { body, headers } = await webhooks.signTestEvent(event, [other, secret], { timestampSeconds });
    const expected = signed([other, secret], body, timestampSeconds);
    for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value, name);
    assert.equal(standardAccepts(body, headers, secret), true);
    assert.deepEqual(await webhooks.verify(body, headers, secret), event);
  });

  it('has all headers of a delivery', async (t) => {
    const real = await delivered(await scene(t));
    const { headers } = await webhooks.signTestEvent(event, secret);
    const ofTransport = ['host', 'connection', 'content-length', 'user-agent'];
    const names = Object.keys(real.headers).filter((name) => !ofTransport.includes(name));
    assert.deepEqual(Object.keys(headers).toSorted(), names.toSorted());
  });
});
