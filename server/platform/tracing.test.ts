import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { registerHooks } from 'node:module';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { startTracing } from './tracing.ts';

interface OtlpAttribute {
  key: string;
  value: { stringValue?: string; intValue?: number };
}

interface OtlpSpan {
  traceId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: OtlpAttribute[];
  status: { code: number; message?: string };
}

interface OtlpBody {
  resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

interface Collector {
  url: string;
  requests: IncomingMessage[];
  bodies: OtlpBody[];
  spans: () => OtlpSpan[];
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerId = '00f067aa0ba902b7';
const serverKind = 2;
const statusUnset = 0;
const statusError = 2;

async function startCollector(t: TestContext): Promise<Collector> {
  const collector: Collector = {
    url: '',
    requests: [],
    bodies: [],
    spans: () =>
      collector.bodies.flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
  };
  const server = createServer((request, response) => {
    collector.requests.push(request);
    void json(request).then((body) => {
      collector.bodies.push(body as OtlpBody);
      response.setHeader('Content-Type', 'application/json').end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return collector;
}

function valuesOf(attributes: OtlpAttribute[]): Record<string, string | number | undefined> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}

describe('tracing that is not configured', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const settings: Record<string, Record<string, string>> = {
    'no endpoint is set': { OTEL_SERVICE_NAME: 'shop' },
    'the endpoint is empty': { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    'OTEL_SDK_DISABLED is true': { ...endpoint, OTEL_SDK_DISABLED: 'TRUE' },
    'OTEL_TRACES_EXPORTER is none': { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
  };

  for (const [reason, env] of Object.entries(settings)) {
    it(`loads no library and keeps no span when ${reason}`, async (t) => {
      const loaded: string[] = [];
      const hooks = registerHooks({
        resolve(specifier, context, next) {
          loaded.push(specifier);
          return next(specifier, context);
        },
      });
      t.after(() => hooks.deregister());
      const tracing = await startTracing(env);
      assert.equal(tracing.enabled, false);
      assert.deepEqual(loaded, []);
      const first = tracing.startRequestSpan({ method: 'GET', route: '/a', headers: {} });
      const second = tracing.startRequestSpan({ method: 'POST', route: '/b', headers: {} });
      assert.equal(first, second);
      assert.ok(Object.isFrozen(first) && Object.isFrozen(tracing));
      first.end(200);
      await tracing.shutdown();
    });
  }
});

describe('tracing', () => {
  it('sends a request below the span of the caller', async (t) => {
    const collector = await startCollector(t);
    const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    assert.equal(tracing.enabled, true);
    const request = tracing.startRequestSpan({
      method: 'POST',
      route: '/v1/orders/:id/refund',
      path: '/v1/orders/17/refund?token=hidden',
      headers: { traceparent: `00-${traceId}-${callerId}-01`, authorization: 'Bearer hidden' },
    });
    request.end(201, { 'svc.company': 'company_1' });
    await tracing.shutdown();

    assert.equal(collector.requests[0]?.method, 'POST');
    assert.equal(collector.requests[0]?.url, '/v1/traces');
    const [span] = collector.spans();
    assert.ok(span && collector.spans().length === 1);
    assert.equal(span.name, 'POST /v1/orders/:id/refund');
    assert.deepEqual([span.traceId, span.parentSpanId], [traceId, callerId]);
    assert.deepEqual([span.kind, span.status.code], [serverKind, statusUnset]);
    assert.deepEqual(valuesOf(span.attributes), {
      'http.request.method': 'POST',
      'http.route': '/v1/orders/:id/refund',
      'url.path': '/v1/orders/17/refund',
      'http.response.status_code': 201,
      'svc.company': 'company_1',
    });
    assert.doesNotMatch(JSON.stringify(collector.bodies), /hidden/);
  });

  it('names the service and its resource by the standard variables', async (t) => {
    const collector = await startCollector(t);
    const resourceOf = async (env: Record<string, string>): Promise<Record<string, unknown>> => {
      const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, ...env });
      tracing.startRequestSpan({ method: 'GET', headers: {} }).end(200);
      await tracing.shutdown();
      return valuesOf(collector.bodies.at(-1)?.resourceSpans[0]?.resource.attributes ?? []);
    };
    const OTEL_RESOURCE_ATTRIBUTES = 'deployment.environment.name=test, team=a%2Cb,service.name=shop,broken';
    assert.equal((await resourceOf({}))['service.name'], 'svc');
    const resource = await resourceOf({ OTEL_RESOURCE_ATTRIBUTES });
    assert.equal(resource['service.name'], 'shop');
    assert.equal(resource['deployment.environment.name'], 'test');
    assert.equal(resource['team'], 'a,b');
    assert.equal((await resourceOf({ OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME: 'pay' }))['service.name'], 'pay');
    assert.ok(collector.requests.every(({ url }) => url === '/v1/traces'));
  });

  it('posts to the endpoint for traces as it is given', async (t) => {
    const collector = await startCollector(t);
    const tracing = await startTracing({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/custom`,
    });
    tracing.startRequestSpan({ method: 'GET', headers: {} }).end(200);
    await tracing.shutdown();
    assert.equal(collector.requests[0]?.url, '/custom');
  });

  it('follows the sampling decision of the caller, and the sampler that is set for the rest', async (t) => {
    const collector = await startCollector(t);
    const spansWith = async (sampler: Record<string, string>, flags: string | null): Promise<number> => {
      const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...sampler });
      const headers = flags === null ? {} : { traceparent: `00-${traceId}-${callerId}-${flags}` };
      const before = collector.spans().length;
      tracing.startRequestSpan({ method: 'GET', route: '/a', headers }).end(200);
      await tracing.shutdown();
      return collector.spans().length - before;
    };
    const never = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' };
    assert.equal(await spansWith({}, null), 1);
    assert.equal(await spansWith({}, '00'), 0);
    assert.equal(await spansWith(never, null), 0);
    assert.equal(await spansWith(never, '01'), 1);
    assert.equal(await spansWith({ OTEL_TRACES_SAMPLER: 'always_off' }, '01'), 0);
    assert.equal(await spansWith({ OTEL_TRACES_SAMPLER: 'always_on' }, '00'), 1);
  });

  it('starts a new trace for a malformed traceparent', async (t) => {
    const collector = await startCollector(t);
    const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    for (const traceparent of ['nonsense', `00-${'0'.repeat(32)}-${callerId}-01`, `ff-${traceId}-${callerId}-01`]) {
      tracing.startRequestSpan({ method: 'GET', headers: { traceparent } }).end(200);
    }
    await tracing.shutdown();
    assert.equal(collector.spans().length, 3);
    for (const span of collector.spans()) {
      assert.notEqual(span.traceId, traceId);
      assert.ok(!span.parentSpanId);
    }
  });

  it('marks a request as failed only when it was answered with 5xx', async (t) => {
    const collector = await startCollector(t);
    const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    tracing.startRequestSpan({ method: 'GET', route: '/a', headers: {} }).end(500);
    tracing.startRequestSpan({ method: 'GET', route: '/b', headers: {} }).end(404);
    await tracing.shutdown();
    const outcomes = collector
      .spans()
      .map(({ name, status, attributes }) => [name, status.code, valuesOf(attributes)['error.type']]);
    assert.deepEqual(outcomes, [
      ['GET /a', statusError, '500'],
      ['GET /b', statusUnset, undefined],
    ]);
  });

  it('takes no span name from a client', async (t) => {
    const collector = await startCollector(t);
    const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    tracing.startRequestSpan({ method: 'MADEUP', headers: {} }).end(405);
    await tracing.shutdown();
    const [span] = collector.spans();
    assert.equal(span?.name, 'HTTP');
    assert.equal(valuesOf(span?.attributes ?? [])['http.request.method'], '_OTHER');
  });

  it('ends without an error, but not in silence, when the collector refuses', async (t) => {
    const server = createServer((_request, response) => response.writeHead(400).end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const problems: string[] = [];
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, (problem) => problems.push(problem));
    tracing.startRequestSpan({ method: 'GET', headers: {} }).end(200);
    await tracing.shutdown();
    assert.ok(problems.length > 0);
    server.closeAllConnections();
  });

  it('delays a stop by at most a second when the collector does not answer', async (t) => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const problems: string[] = [];
    const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, (problem) => problems.push(problem));
    tracing.startRequestSpan({ method: 'GET', headers: {} }).end(200);
    const stoppedAtMs = performance.now();
    await tracing.shutdown();
    const elapsedMs = performance.now() - stoppedAtMs;
    assert.ok(elapsedMs < 1_500, `it took ${Math.round(elapsedMs)} ms`);
    assert.deepEqual(problems, ['the last spans were not delivered within 1000 ms']);
  });

  it('refuses to start with an endpoint that is not an address', async () => {
    await assert.rejects(startTracing({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'collector' }), /collector/);
  });
});
