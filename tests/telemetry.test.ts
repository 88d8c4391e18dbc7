import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nextKeys } from '../server/vault/key-store.ts';
import { type Collector, startCollector } from './support/collector.ts';
import type { OtlpSpan } from './support/otlp.ts';
import { freePort } from './support/listen.ts';
import { cloneDatabase, type TestDatabase } from './support/database.ts';
import { type Receiver, startReceiver } from './support/receiver.ts';
import { readyUrl } from './support/ready.ts';
import { someCustomer, someProduct } from './support/service.ts';
import { eventually } from './support/webhooks.ts';
import { programPath } from './support/programs.ts';

/** One order through an API, a vault and a worker in two processes, as a collector of OpenTelemetry sees it. */

const program = programPath('main');
const certificates = fileURLToPath(new URL('support/certificates/ca.pem', import.meta.url));
const token = 'a credential of this test for its vault, long enough';
const masterSecret = 'a master secret of this test, long enough';
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerId = '00f067aa0ba902b7';
const number = '4242424242424242';

let database: TestDatabase;
let folder: string;
let collector: Collector;
let receiver: Receiver;
let spans: OtlpSpan[] = [];
let metrics = '';
const children: { readonly child: ChildProcess; readonly ended: Promise<unknown> }[] = [];

async function start(settings: Record<string, string>): Promise<string> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [program], {
    env: {
      PATH,
      HOME,
      ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_METRIC_EXPORT_INTERVAL: '500',
      SVC_VAULT_TOKEN: token,
      SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push({ child, ended: once(child, 'exit') });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  return eventually('it is ready', async () => readyUrl(output), 30_000);
}

before(async () => {
  collector = await startCollector();
  [database, receiver, folder] = await Promise.all([
    cloneDatabase(1),
    startReceiver(),
    mkdtemp(join(tmpdir(), 'svc-traces-')),
  ]);
  const vaultPort = String(await freePort());
  await start({
    SVC_ROLES: 'vault',
    SVC_VAULT_PORT: vaultPort,
    SVC_VAULT_KEYS: nextKeys(undefined),
    SVC_VAULT_DATABASE_URL: database.vaultUrl,
    SVC_DATA_DIR: join(folder, 'vault'),
  });
  const baseUrl = await start({
    SVC_ROLES: 'api,worker',
    PORT: '0',
    SVC_VAULT_URL: `http://127.0.0.1:${vaultPort}`,
    DATABASE_URL: database.connectionString,
    SVC_MASTER_SECRET: masterSecret,
    SVC_DATA_DIR: join(folder, 'api'),
    SVC_DEMO: 'empty',
    SVC_WEBHOOK_ALLOW: '127.0.0.0/8,::1',
    SVC_WEBHOOK_CA: certificates,
  });
  await buy(baseUrl);
  await eventually('the event arrives', async () => received() !== undefined);
  for (const path of ['/healthz', '/readyz']) assert.equal((await fetch(baseUrl + path)).status, 200);
  metrics = await (await fetch(`${baseUrl}/metrics`)).text();
  await eventually('both processes send metrics', async () =>
    ['vault', 'api,worker'].every((roles) => instanceOf(roles) !== undefined),
  );
  // The last spans are sent when the processes stop.
  for (const { child } of children) child.kill('SIGTERM');
  await Promise.all(children.map(({ ended }) => ended));
  spans = collector.spans();
});
after(async () => {
  for (const { child } of children) child.kill('SIGKILL');
  collector.stop();
  await receiver.stop();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const received = () =>
  receiver.received.find(({ body, headers }) => headers.traceparent !== undefined && body.includes('order.succeeded'));

/** The process whose build information names these roles. */
const instanceOf = (roles: string) =>
  collector.metrics.find(({ items }) =>
    items.some(({ gauge }) => gauge?.points.some(({ attributes }) => attributes.roles === roles)),
  )?.resource['service.instance.id'];

async function buy(baseUrl: string): Promise<void> {
  const { secret_key } = JSON.parse(await readFile(join(folder, 'api', 'demo.json'), 'utf8')) as { secret_key: string };
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const reply = await fetch(baseUrl + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret_key}`,
        'content-type': 'application/json',
        'x-svc-idempotency-key': randomUUID(),
        ...headers,
      },
      body: JSON.stringify(body),
    });
    const answer = (await reply.json()) as { id: string };
    assert.equal(reply.status, 201, JSON.stringify(answer));
    return answer;
  };
  await post('/v1/webhook_endpoints', { url: receiver.url, enabled_events: ['order.*'] });
  const customer = await post('/v1/customers', someCustomer());
  const product = await post('/v1/products', someProduct({ requires_shipping: false }));
  await post('/capture', {
    customer_id: customer.id,
    card: { number, exp_month: '12', exp_year: '2040', cvc: '999' },
  });
  const items = [{ product_id: product.id, quantity: 1 }];
  const traceparent = `00-${traceId}-${callerId}-01`;
  await post('/v1/orders', { customer_id: customer.id, items }, { traceparent });
}

describe('the trace of an order', () => {
  const named = (name: string): OtlpSpan[] => spans.filter((span) => span.traceId === traceId && span.name === name);
  const only = (name: string): OtlpSpan => {
    const [found, ...others] = named(name);
    assert.ok(found && others.length === 0, `${name}: ${spans.map((span) => span.name).join(', ')}`);
    return found;
  };

  it('continues the trace of the caller, from the request to the vault and the processor', () => {
    const request = only('POST /v1/orders');
    assert.equal(request.parentSpanId, callerId);
    const call = only('vault charge');
    assert.equal(call.parentSpanId, request.spanId);
    const inVault = only('POST /charge');
    assert.equal(inVault.parentSpanId, call.spanId);
    const processor = only('processor charge');
    assert.equal(processor.parentSpanId, inVault.spanId);
    assert.equal(processor.attributes['svc.outcome'], 'approved');
  });

  it('has the statements of the database, in both processes, without their values', () => {
    const statements = spans.filter(
      (span) => span.traceId === traceId && span.attributes['db.query.text'] !== undefined && span.parentSpanId,
    );
    const parents = new Set(statements.map(({ parentSpanId }) => parentSpanId));
    assert.ok(parents.has(only('batch outcomes').spanId));
    assert.ok(statements.some(({ attributes }) => JSON.stringify(attributes).includes('FROM vault.cards')));
  });

  it('is linked from the delivery of its event, whose receiver can continue that trace', () => {
    const [, deliveryTrace, deliverySpan] = String(received()?.headers.traceparent).split('-');
    const delivery = spans.find(({ spanId }) => spanId === deliverySpan);
    assert.ok(delivery);
    assert.deepEqual([delivery.name, delivery.traceId], ['webhook delivery', deliveryTrace]);
    assert.notEqual(delivery.traceId, traceId);
    assert.deepEqual(
      delivery.links.map((link) => link.traceId),
      [traceId],
    );
  });

  it('is counted in the metrics, with the attempts of its deliveries', () => {
    assert.match(metrics, /^svc_webhook_attempt_duration_seconds_count\{result="succeeded"\} [1-9]/m);
  });

  it('is not buried under probes and polling', () => {
    const names = new Set(spans.map(({ name }) => name));
    for (const path of ['/healthz', '/readyz', '/metrics']) assert.ok(![...names].some((name) => name.includes(path)));
    // Every statement belongs to a request, a delivery or a charge.
    for (const span of spans.filter(({ attributes }) => attributes['db.query.text'] !== undefined)) {
      assert.ok(span.parentSpanId, span.name);
    }
  });
});

describe('the metrics of a process, at the collector', () => {
  const metricsOf = (roles: string) =>
    collector.metricsOf((resource) => resource['service.instance.id'] === instanceOf(roles));
  it('are all that /metrics shows, in both processes, with the same labels', () => {
    const sent = metricsOf('api,worker');
    const shown = [...metrics.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name);
    const withValues = shown.filter((name) => new RegExp(`^${name}(_count)?[{ ]`, 'm').test(metrics));
    assert.deepEqual(
      withValues.filter((name) => !sent.has(name)),
      [],
    );
    assert.ok(metricsOf('vault').has('svc_processor_call_duration_seconds'));
    const orders = sent.get('svc_orders_total')?.sum;
    assert.equal(orders?.isMonotonic, 1);
    const succeeded = orders.points.find(({ attributes }) => attributes.outcome === 'succeeded');
    assert.deepEqual(succeeded?.attributes, { mode: 'sandbox', outcome: 'succeeded', failure_group: 'none' });
    assert.equal(succeeded?.value, 1);
  });

  it('have the buckets of histograms one by one, with their unit', () => {
    const durations = metricsOf('api,worker').get('svc_http_request_duration_seconds');
    assert.equal(durations?.unit, 's');
    const point = durations.histogram?.points.find(({ attributes }) => attributes.route === '/v1/orders');
    assert.deepEqual(point?.attributes, { method: 'POST', route: '/v1/orders', status: '201' });
    assert.equal(point?.count, 1);
    assert.equal(
      point.counts?.reduce((sum, count) => sum + count, 0),
      1,
    );
    assert.equal(point.counts.length, Number(point.bounds?.length) + 1);
    assert.ok(point.start < point.time && Number(point.sum) > 0);
  });
});

describe('the log, at the collector', () => {
  it('has the lines of the log, with their attributes, severity and trace', () => {
    const line = collector
      .logRecords()
      .find(({ body, attributes }) => body === 'request' && attributes['http.route'] === '/v1/orders');
    assert.deepEqual([line?.severityText, line?.severityNumber], ['INFO', 9]);
    assert.deepEqual(
      [line?.attributes['http.request.method'], line?.attributes['http.response.status_code']],
      ['POST', 201],
    );
    const request = spans.find(({ name, parentSpanId }) => name === 'POST /v1/orders' && parentSpanId === callerId);
    assert.deepEqual([line?.traceId, line?.spanId], [traceId, request?.spanId]);
  });

  it('has no secret and no card number, as the traces and the metrics', async () => {
    const demo = JSON.parse(await readFile(join(folder, 'api', 'demo.json'), 'utf8')) as Record<string, string>;
    const secrets = [number, token, demo.secret_key, demo.password, demo.live_secret_key, masterSecret];
    const sent = Buffer.concat(collector.bytes).toString('latin1');
    assert.deepEqual(
      secrets.filter((secret) => secret === undefined || sent.includes(secret)),
      [],
    );
  });
});
