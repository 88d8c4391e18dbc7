import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nextKeys } from '../server/vault/key-store.ts';
import { freePort } from './support/listen.ts';
import { cloneDatabase, type TestDatabase } from './support/database.ts';
import { type Receiver, startReceiver } from './support/receiver.ts';
import { readyUrl } from './support/ready.ts';
import { someCustomer, someProduct } from './support/service.ts';
import { eventually } from './support/webhooks.ts';
import { programPath } from './support/programs.ts';

/** One order through an API, a vault and a worker in two processes, as a collector of traces sees it. */

const program = programPath('main');
const certificates = fileURLToPath(new URL('support/certificates/ca.pem', import.meta.url));
const token = 'a credential of this test for its vault, long enough';
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerId = '00f067aa0ba902b7';
const number = '4242424242424242';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly links?: { readonly traceId: string; readonly spanId: string }[];
}

interface Body {
  readonly resourceSpans: { readonly scopeSpans: { readonly spans: Span[] }[] }[];
}

let database: TestDatabase;
let folder: string;
let collector: Server;
let receiver: Receiver;
const spans: Span[] = [];
let metrics = '';
const children: { readonly child: ChildProcess; readonly ended: Promise<unknown> }[] = [];

async function start(settings: Record<string, string>): Promise<string> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const { port } = collector.address() as AddressInfo;
  const child = spawn(process.execPath, [program], {
    env: {
      PATH,
      HOME,
      ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      SVC_VAULT_TOKEN: token,
      SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
      SVC_LOG_LEVEL: 'warn',
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
  collector = createServer((request, response) => {
    void json(request).then((body) => {
      for (const { scopeSpans } of (body as Body).resourceSpans) {
        for (const { spans: some } of scopeSpans) spans.push(...some);
      }
      response.setHeader('Content-Type', 'application/json').end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
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
    SVC_MASTER_SECRET: 'a master secret of this test, long enough',
    SVC_DATA_DIR: join(folder, 'api'),
    SVC_DEMO: '1',
    SVC_WEBHOOK_ALLOW: '127.0.0.0/8,::1',
    SVC_WEBHOOK_CA: certificates,
  });
  await buy(baseUrl);
  await eventually('the event arrives', async () => received() !== undefined);
  for (const path of ['/healthz', '/readyz']) assert.equal((await fetch(baseUrl + path)).status, 200);
  metrics = await (await fetch(`${baseUrl}/metrics`)).text();
  // The last spans are sent when the processes stop.
  for (const { child } of children) child.kill('SIGTERM');
  await Promise.all(children.map(({ ended }) => ended));
});
after(async () => {
  for (const { child } of children) child.kill('SIGKILL');
  collector.close();
  collector.closeAllConnections();
  await receiver.stop();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const received = () =>
  receiver.received.find(({ body, headers }) => headers.traceparent !== undefined && body.includes('order.succeeded'));

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
  const named = (name: string): Span[] => spans.filter((span) => span.traceId === traceId && span.name === name);
  const only = (name: string): Span => {
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
    assert.ok(processor.attributes.some(({ key, value }) => key === 'svc.outcome' && value.stringValue === 'approved'));
  });

  it('has the statements of the database, in both processes, without their values', () => {
    const statements = spans.filter(
      (span) =>
        span.traceId === traceId && span.attributes.some(({ key }) => key === 'db.query.text') && span.parentSpanId,
    );
    const parents = new Set(statements.map(({ parentSpanId }) => parentSpanId));
    assert.ok(parents.has(only('batch outcomes').spanId));
    assert.ok(statements.some(({ attributes }) => JSON.stringify(attributes).includes('JOIN vault.cards')));
    assert.ok(!JSON.stringify(spans).includes(number));
  });

  it('is linked from the delivery of its event, whose receiver can continue that trace', () => {
    const [, deliveryTrace, deliverySpan] = String(received()?.headers.traceparent).split('-');
    const delivery = spans.find(({ spanId }) => spanId === deliverySpan);
    assert.ok(delivery);
    assert.deepEqual([delivery.name, delivery.traceId], ['webhook delivery', deliveryTrace]);
    assert.notEqual(delivery.traceId, traceId);
    assert.deepEqual(
      delivery.links?.map((link) => link.traceId),
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
    for (const span of spans.filter(({ attributes }) => attributes.some(({ key }) => key === 'db.query.text'))) {
      assert.ok(span.parentSpanId, span.name);
    }
  });
});
