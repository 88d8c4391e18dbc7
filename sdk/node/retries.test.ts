import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type FlakyProxy, startFlakyProxy } from '../../tests/support/flaky-proxy.ts';
import { approvedOutcome, startFaultyService } from '../../tests/support/faulty-service.ts';
import { countOf } from '../../tests/support/orders.ts';
import { aCustomer, aProduct, aShop } from '../../tests/support/sdk.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import {
  type AfterResponse,
  apiVersion,
  type BeforeRequest,
  ConnectionError,
  IdempotencyError,
  InvalidRequestError,
  ProcessingError,
  RateLimitError,
  responseOf,
  Svc,
  type SvcError,
  TimeoutError,
} from './src/index.ts';
import { version } from '../../server/version.ts';
import { retryAfterSeconds } from './src/errors.ts';
import { retryDelayMs, usualPatience, withRetries } from './src/retry.ts';

/** How the SDK handles lost responses. */

let service: TestService;
let proxy: FlakyProxy;
let svc: Svc;

before(async () => {
  service = await startTestService();
  proxy = await startFlakyProxy(service.baseUrl);
  svc = new Svc(service.key, { baseUrl: proxy.url });
});
after(async () => {
  await proxy.stop();
  await service.stop();
});
beforeEach(() => {
  proxy.mishaps.length = 0;
  proxy.seen.length = 0;
});

const keysSeen = (): (string | undefined)[] => [...new Set(proxy.seen.map(({ key }) => key))];
const waitedMs = (): number => (proxy.seen[1]?.atMs ?? 0) - (proxy.seen[0]?.atMs ?? 0);

describe('the hooks of a client', () => {
  it('see every attempt, also one without a response, add headers, and never see the key', async () => {
    const before: BeforeRequest[] = [];
    const after: AfterResponse[] = [];
    const sent: Headers[] = [];
    const watched = new Svc(service.key, {
      baseUrl: proxy.url,
      fetch: (url, init) => {
        sent.push(new Headers(init?.headers));
        return fetch(url, init);
      },
      hooks: {
        beforeRequest(request) {
          before.push(request);
          assert.equal(request.headers.get('authorization'), null);
          request.headers.set('x-shop', 'tea');
          request.headers.set('svc-version', 'other');
        },
        afterResponse: (response) => void after.push(response),
      },
    });
    proxy.mishaps.push('drop_request');
    const customer = await watched.customers.create(aCustomer());
    assert.deepEqual(
      before.map(({ method, attempt, url }) => [method, attempt, url]),
      [1, 2].map((attempt) => ['POST', attempt, `${proxy.url}/v1/customers`]),
    );
    assert.deepEqual(
      after.map(({ status, attempt }) => [status, attempt]),
      [
        [undefined, 1],
        [201, 2],
      ],
    );
    assert.equal(after[1]?.requestId, responseOf(customer)?.requestId);
    assert.ok(after.every(({ durationMs }) => durationMs >= 0));
    assert.equal(sent[1]?.get('x-shop'), 'tea');
    assert.equal(sent[1]?.get('svc-version'), apiVersion);
    assert.equal(sent[1]?.get('user-agent'), `svc-payments-node/${version}`);
  });
});

describe('a successful call', () => {
  it('has its status, headers and request ID', async () => {
    const customer = await svc.customers.create(aCustomer());
    const response = responseOf(customer);
    assert.equal(response?.status, 201);
    assert.match(response?.requestId ?? '', /^req_/);
    assert.equal(response?.headers.get('svc-request-id'), response?.requestId);
    assert.equal(responseOf({ ...customer }), undefined);
  });

  it('can be to any path, with the retries and errors of the others', async () => {
    proxy.mishaps.push('drop_answer');
    const made = await svc.request<{ id: string }>('POST', '/v1/customers', { body: aCustomer() });
    assert.equal(keysSeen().length, 1);
    assert.equal(proxy.seen.length, 2);
    const read = await svc.request<{ data: { id: string }[] }>('GET', '/v1/customers', { query: { limit: 1 } });
    assert.equal(read.data[0]?.id, made.id);
    await assert.rejects(svc.request('GET', '/v1/nothing'), InvalidRequestError);
    for (const path of ['v1/orders', '//elsewhere.example/', '']) {
      assert.throws(() => svc.request('GET', path as '/'), /begins with one slash/);
    }
  });
});

describe('a call with a lost response', () => {
  it('charges an order once, with one key for all attempts', async () => {
    const { customerId, productId } = await aShop(svc);
    proxy.seen.length = 0;
    proxy.mishaps.push('drop_answer', 'cut_answer', 'drop_request');
    const order = await svc.orders.create({
      customer_id: customerId,
      items: [{ product_id: productId, quantity: 1 }],
    });
    assert.equal(order.status, 'succeeded');
    assert.equal(proxy.seen.length, 4);
    assert.equal(keysSeen().length, 1);
    assert.match(keysSeen()[0] ?? '', /^[0-9a-f-]{36}$/);
    assert.equal(await countOf(service, 'orders', 'customer_id = $1', [customerId]), 1);
    const sales = await svc.transactions.list({ customer_id: customerId, type: 'sale' });
    assert.equal(sales.data.length, 1);
  });

  it('refunds once', async () => {
    const { customerId, productId } = await aShop(svc);
    const items = [{ product_id: productId, quantity: 1 }];
    const order = await svc.orders.create({ customer_id: customerId, items });
    proxy.mishaps.push('drop_answer');
    assert.equal((await svc.orders.refund(order.id, { amount: 100 })).refunded_amount, 100);
    assert.equal((await svc.orders.get(order.id)).refunded_amount, 100);
  });

  it('uploads an image once', async () => {
    const product = await svc.products.create(aProduct());
    proxy.mishaps.push('drop_answer');
    const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
    const image = await svc.products.images.upload(product.id, pixel);
    const { images } = await svc.products.get(product.id, { expand: ['images'] });
    assert.deepEqual(
      images.map(({ id }) => id),
      [image.id],
    );
  });

  it('uses the given key, or a new key for each call', async () => {
    const idempotencyKey = randomUUID();
    const fields = aCustomer();
    const first = await svc.customers.create(fields, { idempotencyKey });
    const again = await svc.customers.create(fields, { idempotencyKey });
    assert.equal(again.id, first.id);
    await svc.customers.create(aCustomer());
    await svc.customers.update(first.id, { first_name: 'Grace' });
    assert.equal(keysSeen().length, 3);
    await svc.customers.get(first.id);
    assert.equal(proxy.seen.at(-1)?.key, undefined);
  });

  it('has the key in the final error', async () => {
    proxy.mishaps.push('drop_answer', 'drop_answer');
    const fields = aCustomer();
    const error = await svc.customers.create(fields, { maxRetries: 1 }).catch((caught: unknown) => caught as SvcError);
    assert.ok(error instanceof ConnectionError);
    assert.deepEqual([error.code, error.status, proxy.seen.length], ['connection_failed', undefined, 2]);
    assert.equal(error.message, `The service is unreachable at ${proxy.url}.`);
    assert.deepEqual(keysSeen(), [error.idempotencyKey]);
    const continued = await svc.customers.create(fields, { idempotencyKey: error.idempotencyKey });
    assert.equal(continued.email, fields.email);
  });
});

describe('a failed call', () => {
  it('is retried after 500, 502, 503, 504 and 429', async () => {
    for (const status of [500, 502, 503, 504, 429]) {
      proxy.seen.length = 0;
      proxy.mishaps.push({ status, body: '<html>' });
      await svc.customers.create(aCustomer());
      assert.deepEqual([proxy.seen.length, keysSeen().length], [2, 1], String(status));
    }
  });

  it('waits for Retry-After', async () => {
    proxy.mishaps.push({ status: 503, headers: { 'retry-after': '1' } });
    await svc.customers.list();
    assert.ok(waitedMs() >= 1_000 && waitedMs() < 4_000, String(waitedMs()));
  });

  it('waits only briefly for a short Retry-After', async () => {
    proxy.mishaps.push({ status: 429, headers: { 'retry-after': '3600' } });
    const error = await svc.customers.list().catch((caught: unknown) => caught as SvcError);
    assert.ok(error instanceof ProcessingError);
    assert.deepEqual([error.retryAfterSeconds, error.code, proxy.seen.length], [3600, 'unreadable_answer', 1]);
  });

  it('waits for the real rate limit of the service', async () => {
    const limited = await startTestService({ settings: { SVC_RATE_LIMIT_READ: '2/1' } });
    try {
      const patient = new Svc(limited.key, { baseUrl: limited.baseUrl });
      for (let count = 0; count < 4; count += 1) await patient.plans.list();
      const hasty = new Svc(limited.key, { baseUrl: limited.baseUrl, maxRetries: 0 });
      const calls = Array.from({ length: 8 }, () => hasty.plans.list());
      const refused = (await Promise.allSettled(calls)).find(({ status }) => status === 'rejected');
      assert.ok(refused?.status === 'rejected');
      assert.ok(refused.reason instanceof RateLimitError);
      assert.equal(refused.reason.code, 'rate_limit_exceeded');
      assert.ok((refused.reason.retryAfterSeconds ?? 0) >= 1);
    } finally {
      await limited.stop();
    }
  });

  it('is retried while a request with the same key is in progress', async () => {
    const { service: slow, faults, stop } = await startFaultyService();
    try {
      const client = new Svc(slow.key, { baseUrl: slow.baseUrl });
      const { customerId, productId } = await aShop(client);
      const charging = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      faults.charge = async () => {
        charging.resolve();
        await released.promise;
        return approvedOutcome();
      };
      const idempotencyKey = randomUUID();
      const body = { customer_id: customerId, items: [{ product_id: productId, quantity: 1 }] };
      const first = client.orders.create(body, { idempotencyKey });
      await charging.promise;
      const refused = await client.orders
        .create(body, { idempotencyKey, maxRetries: 0 })
        .catch((caught: unknown) => caught as SvcError);
      assert.ok(refused instanceof IdempotencyError);
      assert.equal(refused.code, 'request_in_progress');
      const patient = client.orders.create(body, { idempotencyKey });
      setTimeout(released.resolve, 200);
      assert.equal((await patient).id, (await first).id);
    } finally {
      await stop();
    }
  });

  it('continues the same charge when the response of the processor was lost', async () => {
    const { customerId, productId } = await aShop(svc, '4000009999007070');
    const body = { customer_id: customerId, items: [{ product_id: productId, quantity: 1 }] };
    const lost = await svc.orders.create(body, { maxRetries: 0 }).catch((caught: unknown) => caught as SvcError);
    assert.ok(lost instanceof ProcessingError);
    assert.deepEqual([lost.code, lost.status], ['gateway_error', 502]);
    const order = await svc.orders.create(body, { idempotencyKey: lost.idempotencyKey });
    assert.equal(order.status, 'succeeded');
    assert.equal(await countOf(service, 'orders', 'customer_id = $1', [customerId]), 1);
    assert.equal((await svc.transactions.list({ customer_id: customerId })).data.length, 1);
  });

  it('is not retried after an error that a retry cannot fix', async () => {
    const idempotencyKey = randomUUID();
    await svc.customers.create(aCustomer(), { idempotencyKey });
    proxy.seen.length = 0;
    const conflict = await svc.customers.create(aCustomer(), { idempotencyKey }).catch((caught: unknown) => caught);
    assert.ok(conflict instanceof IdempotencyError);
    assert.equal(conflict.code, 'idempotency_key_conflict');
    await assert.rejects(svc.customers.get(randomUUID()));
    await assert.rejects(svc.subscriptions.pause(randomUUID()));
    assert.equal(proxy.seen.length, 3);
  });

  it('is not retried if retries are disabled', async () => {
    proxy.mishaps.push({ status: 503 });
    await assert.rejects(svc.customers.list({}, { maxRetries: 0 }), ProcessingError);
    assert.equal(proxy.seen.length, 1);
  });
});

describe('a slow call', () => {
  it('times out and is retried', async () => {
    proxy.mishaps.push({ delayMs: 5_000 });
    const startedMs = performance.now();
    await svc.customers.list({}, { timeoutMs: 300 });
    assert.ok(performance.now() - startedMs < 4_000);
    assert.equal(proxy.seen.length, 2);
  });

  it('throws a TimeoutError after the last attempt', async () => {
    proxy.mishaps.push({ delayMs: 5_000 });
    const error = await svc.customers
      .list({}, { timeoutMs: 100, maxRetries: 0 })
      .catch((caught: unknown) => caught as SvcError);
    assert.ok(error instanceof TimeoutError);
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.code, 'timed_out');
  });

  it('accepts an infinite timeout but not 0', async () => {
    await svc.customers.list({ limit: 1 }, { timeoutMs: Infinity, maxRetries: 0 });
    for (const timeoutMs of [0, -1, NaN]) await assert.rejects(svc.customers.list({}, { timeoutMs }), RangeError);
  });

  it('ends immediately without retries when the caller aborts', async () => {
    proxy.mishaps.push({ delayMs: 5_000 });
    const giveUp = new AbortController();
    const reason = new Error('the shopper left');
    setTimeout(() => giveUp.abort(reason), 50);
    await assert.rejects(svc.customers.create(aCustomer(), { signal: giveUp.signal }), reason);
    assert.equal(proxy.seen.length, 1);
  });

  it('can be aborted between two attempts and before the first', async () => {
    proxy.mishaps.push({ status: 503, headers: { 'retry-after': '30' } });
    const startedMs = performance.now();
    await assert.rejects(svc.customers.list({}, { signal: AbortSignal.timeout(200) }), { name: 'TimeoutError' });
    assert.ok(performance.now() - startedMs < 4_000);
    await assert.rejects(svc.customers.list({}, { signal: AbortSignal.abort() }), { name: 'AbortError' });
    assert.equal(proxy.seen.length, 1);
  });
});

describe('a response that is not from the service', () => {
  it('is an error, even with a 2xx status', async () => {
    proxy.mishaps.push({ status: 200, body: '<html>' }, { status: 302, headers: { location: 'http://127.0.0.1:1/' } });
    for (const status of [200, 302]) {
      const error = await svc.customers.list().catch((caught: unknown) => caught as SvcError);
      assert.ok(error instanceof ProcessingError);
      assert.deepEqual([error.code, error.status], ['unreadable_answer', status]);
    }
    assert.equal(proxy.seen.length, 2);
  });
});

describe('the retry time of a call', () => {
  /** A clock that advances only while a call waits. */
  function play(outcome: (atMs: number) => unknown, patience = usualPatience, attemptMs = 5) {
    let nowMs = 0;
    const attemptsAtMs: number[] = [];
    const clock = {
      nowMs: () => nowMs,
      pause: async (delayMs: number) => {
        nowMs += delayMs;
      },
    };
    const attempt = async (): Promise<unknown> => {
      attemptsAtMs.push(nowMs);
      nowMs += attemptMs;
      const result = outcome(nowMs);
      if (result instanceof Error) throw result;
      return result;
    };
    const done = withRetries(attempt, patience, undefined, clock);
    return { done, attemptsAtMs, waitedMs: () => nowMs };
  }

  const facts = { message: '', type: 'processing_error', code: 'service_unavailable' } as const;
  const unreachable = new ConnectionError({ ...facts, type: 'connection_error', code: 'connection_failed' });
  const unavailable = new ProcessingError({ ...facts, status: 503, retryAfterSeconds: 1 });
  const inProgress = new IdempotencyError({ ...facts, code: 'request_in_progress', status: 409, retryAfterSeconds: 1 });

  it('is longer than every measured failover, of 4 to 30 seconds', async () => {
    for (const error of [unreachable, unavailable, inProgress]) {
      for (const seconds of [4, 21, 30]) {
        const { done } = play((atMs) => (atMs < seconds * 1_000 ? error : 'back'));
        assert.equal(await done, 'back', `${error.code} for ${seconds} s`);
      }
    }
  });

  it('ends after 45 seconds with the last error, after about a dozen attempts', async () => {
    const { done, attemptsAtMs, waitedMs } = play(() => unavailable);
    await assert.rejects(done, unavailable);
    assert.ok(waitedMs() > 39_000 && waitedMs() <= 45_200, String(waitedMs()));
    assert.ok(attemptsAtMs.length >= 10 && attemptsAtMs.length <= 25, String(attemptsAtMs.length));
  });

  it('counts from the first failure, so that a slow attempt does not consume it', async () => {
    const { done, attemptsAtMs } = play((atMs) => (atMs < 70_000 ? unreachable : 'back'), usualPatience, 60_000);
    assert.equal(await done, 'back');
    assert.equal(attemptsAtMs.length, 2);
  });

  it('does not wait for a Retry-After beyond it', async () => {
    const { done, attemptsAtMs } = play(() => new RateLimitError({ ...facts, status: 429, retryAfterSeconds: 46 }));
    await assert.rejects(done, RateLimitError);
    assert.equal(attemptsAtMs.length, 1);
  });

  it('is short for errors on every attempt', async () => {
    const { done, attemptsAtMs } = play(() => new ProcessingError({ ...facts, code: 'internal_error', status: 500 }));
    await assert.rejects(done, ProcessingError);
    assert.equal(attemptsAtMs.length, 4);
  });

  it('can be limited by time and by attempts', async () => {
    const short = play(() => unavailable, { retryForMs: 3_000, maxRetries: Infinity });
    await assert.rejects(short.done);
    assert.ok(short.waitedMs() <= 3_100, String(short.waitedMs()));
    const twice = play(() => unavailable, { retryForMs: 45_000, maxRetries: 2 });
    await assert.rejects(twice.done);
    assert.equal(twice.attemptsAtMs.length, 3);
    proxy.mishaps.push({ status: 503 });
    await assert.rejects(svc.customers.list({}, { retryForMs: 0 }), ProcessingError);
    for (const wrong of [{ retryForMs: -1 }, { maxRetries: NaN }]) {
      await assert.rejects(svc.customers.list({}, wrong), RangeError);
    }
    assert.equal(proxy.seen.length, 1);
  });
});

describe('the delay before a retry', () => {
  const [least, most] = [() => 0, () => 0.999_999];

  it('doubles up to five seconds, with jitter', () => {
    const spans = [1, 2, 3, 10].map((attempt) =>
      [least, most].map((random) => Math.round(retryDelayMs(attempt, undefined, random))),
    );
    assert.deepEqual(spans, [
      [125, 250],
      [250, 500],
      [500, 1000],
      [2500, 5000],
    ]);
  });

  it('is never shorter than Retry-After, and grows even if Retry-After stays the same', () => {
    assert.equal(retryDelayMs(1, 2, least), 2_000);
    assert.ok(retryDelayMs(1, 2, most) > 2_000);
    assert.equal(retryDelayMs(10, 1, least), 2_500);
  });

  it('accepts Retry-After as seconds and as a date', () => {
    const nowMs = Date.parse('2026-02-11T09:30:00Z');
    assert.equal(retryAfterSeconds('3', nowMs), 3);
    assert.equal(retryAfterSeconds('Wed, 11 Feb 2026 09:30:05 GMT', nowMs), 5);
    assert.equal(retryAfterSeconds('Wed, 11 Feb 2026 09:00:00 GMT', nowMs), 0);
    assert.equal(retryAfterSeconds('soon', nowMs), undefined);
    assert.equal(retryAfterSeconds(null, nowMs), undefined);
  });
});
