import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { registerHooks } from 'node:module';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { type Collector, startCollector } from '../../../tests/support/collector.ts';
import { ConfigurationError } from '../configuration-error.ts';
import { createLog, type Logger } from '../log.ts';
import { watchCollector } from './collector.ts';
import { startTelemetry } from './telemetry.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerId = '00f067aa0ba902b7';
const serverKind = 2;
const statusUnset = 0;
const statusError = 2;

async function collectorFor(t: TestContext): Promise<Collector> {
  const collector = await startCollector();
  t.after(() => collector.stop());
  return collector;
}

interface Logged {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that keeps what it gets. */
function keptLog() {
  const lines: Logged[] = [];
  const keep = (fields: object, message: string): void => void lines.push({ message, fields: { ...fields } });
  return { lines, log: { info: keep, warn: keep } as unknown as Pick<Logger, 'info' | 'warn'> };
}

const silent = keptLog().log;

/** Only traces, so that a test counts no other requests. */
const startTracing = (env: Record<string, string>, log = silent, headers = '') =>
  startTelemetry({ OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none', ...env }, log, headers);

describe('telemetry that is not configured', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const settings: Record<string, Record<string, string>> = {
    'no endpoint is set': { OTEL_SERVICE_NAME: 'shop' },
    'the endpoint is empty': { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    'OTEL_SDK_DISABLED is true': { ...endpoint, OTEL_SDK_DISABLED: 'TRUE' },
    'no signal is sent': { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
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
  it('sends the headers that it is given, as with a key in a file', async (t) => {
    const collector = await collectorFor(t);
    const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, silent, 'api-key=a%20b==, x=1');
    tracing.startRequestSpan({ method: 'GET', headers: {} }).end(200);
    await tracing.shutdown();
    const { 'api-key': key, x } = collector.requests[0]?.headers ?? {};
    assert.deepEqual([key, x], ['a b==', '1']);
  });

  it('sends a request below the span of the caller', async (t) => {
    const collector = await collectorFor(t);
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
    assert.equal(collector.requests[0]?.headers['content-type'], 'application/x-protobuf');
    const [span] = collector.spans();
    assert.ok(span && collector.spans().length === 1);
    assert.equal(span.name, 'POST /v1/orders/:id/refund');
    assert.deepEqual([span.traceId, span.parentSpanId], [traceId, callerId]);
    assert.deepEqual([span.kind, span.status?.code ?? statusUnset], [serverKind, statusUnset]);
    assert.deepEqual(span.attributes, {
      'http.request.method': 'POST',
      'http.route': '/v1/orders/:id/refund',
      'url.path': '/v1/orders/17/refund',
      'http.response.status_code': 201,
      'svc.company': 'company_1',
    });
    assert.ok(!Buffer.concat(collector.bytes).includes('hidden'));
  });

  it('names the service and its resource by the standard variables', async (t) => {
    const collector = await collectorFor(t);
    const resourceOf = async (env: Record<string, string>): Promise<Record<string, unknown>> => {
      const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, ...env });
      tracing.startRequestSpan({ method: 'GET', headers: {} }).end(200);
      await tracing.shutdown();
      return collector.traces.at(-1)?.resource ?? {};
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
    const collector = await collectorFor(t);
    const tracing = await startTracing({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/custom`,
    });
    tracing.startRequestSpan({ method: 'GET', headers: {} }).end(200);
    await tracing.shutdown();
    assert.equal(collector.requests[0]?.url, '/custom');
  });

  it('follows the sampling decision of the caller, and the sampler that is set for the rest', async (t) => {
    const collector = await collectorFor(t);
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
    const collector = await collectorFor(t);
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
    const collector = await collectorFor(t);
    const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    tracing.startRequestSpan({ method: 'GET', route: '/a', headers: {} }).end(500);
    tracing.startRequestSpan({ method: 'GET', route: '/b', headers: {} }).end(404);
    await tracing.shutdown();
    const outcomes = collector
      .spans()
      .map(({ name, status, attributes }) => [name, status?.code ?? statusUnset, attributes['error.type']]);
    assert.deepEqual(outcomes, [
      ['GET /a', statusError, '500'],
      ['GET /b', statusUnset, undefined],
    ]);
  });

  it('takes no span name from a client', async (t) => {
    const collector = await collectorFor(t);
    const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    tracing.startRequestSpan({ method: 'MADEUP', headers: {} }).end(405);
    await tracing.shutdown();
    const [span] = collector.spans();
    assert.equal(span?.name, 'HTTP');
    assert.equal(span?.attributes['http.request.method'], '_OTHER');
  });

  it('reports a sampler that there is not, and keeps every trace', async (t) => {
    const collector = await collectorFor(t);
    for (const [sampler, problem] of [
      [{ OTEL_TRACES_SAMPLER: 'foo' }, 'OTEL_TRACES_SAMPLER "foo" is unknown; parentbased_always_on is used'],
      [
        { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'half' },
        'OTEL_TRACES_SAMPLER_ARG "half" is not a number from 0 to 1; every trace is kept',
      ],
    ] as const) {
      const { lines, log } = keptLog();
      const tracing = await startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...sampler }, log);
      tracing.startRequestSpan({ method: 'GET', headers: {} }).end(200);
      await tracing.shutdown();
      const reported = lines.filter(({ message }) => message === 'OpenTelemetry reports a problem');
      assert.deepEqual(
        reported.map(({ fields }) => fields['problem']),
        [problem],
      );
    }
    assert.equal(collector.spans().length, 2);
  });

  it('refuses an endpoint that is not an address, and a protocol that it does not send', async () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
    await assert.rejects(startTracing({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'collector' }), {
      constructor: ConfigurationError,
      message: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be the URL of a collector, for example http://127.0.0.1:4318.',
    });
    await assert.rejects(startTracing({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), {
      constructor: ConfigurationError,
      message: 'OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf: the service sends no other protocol.',
    });
    const own = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf' };
    await (await startTracing({ ...endpoint, ...own })).shutdown();
  });
});

describe('a collector that is away', () => {
  const tick = {
    name: 'svc_ticks_total',
    help: 'Ticks.',
    type: 'counter',
    values: [{ value: 1, labels: {} }],
  } as const;

  it('is logged once, delays no stop, and gets nothing of the log that says so in a loop', async (t) => {
    const server = createServer((_request, response) => response.writeHead(400).end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { lines, log } = keptLog();
    const telemetry = await startTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT }, log);
    telemetry.exportMetrics({ figures: async () => [tick] });
    const written = createLog('info', { write: () => {} });
    for (let count = 0; count < 3; count += 1) {
      telemetry.startRequestSpan({ method: 'GET', headers: {} }).end(200);
      written.info('hello');
    }
    await telemetry.shutdown();
    assert.deepEqual(lines, [
      {
        message: 'the OpenTelemetry collector does not accept data; it is lost',
        fields: { problem: 'HTTP status 400', seconds: 0 },
      },
    ]);
  });

  it('delays a stop by at most a second for all signals together', async (t) => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { lines, log } = keptLog();
    const telemetry = await startTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT }, log);
    telemetry.exportMetrics({ figures: async () => [tick] });
    telemetry.startRequestSpan({ method: 'GET', headers: {} }).end(200);
    createLog('info', { write: () => {} }).info('hello');
    const stoppedAtMs = performance.now();
    await telemetry.shutdown();
    const elapsedMs = performance.now() - stoppedAtMs;
    assert.ok(elapsedMs < 1_500, `it took ${Math.round(elapsedMs)} ms`);
    assert.deepEqual(
      lines.map(({ fields }) => fields),
      [{ problem: 'no answer within 1000 ms' }],
    );
  });

  it('is logged when it goes away, once a minute, and when it is back', () => {
    const { lines, log } = keptLog();
    let nowMs = 0;
    let result: ExportResult = {
      code: ExportResultCode.FAILED,
      error: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
    };
    const collector = watchCollector(log, ExportResultCode.SUCCESS, () => nowMs);
    const exporter = collector.watched({
      export: (_items: unknown, done: (one: ExportResult) => void) => done(result),
    });
    const exported = () => exporter.export([], () => {});
    for (; nowMs < 150_000; nowMs += 5_000) exported();
    assert.equal(collector.isAway(), true);
    result = { code: ExportResultCode.SUCCESS };
    exported();
    exported();
    assert.equal(collector.isAway(), false);
    const lost = 'the OpenTelemetry collector does not accept data; it is lost';
    assert.deepEqual(lines, [
      ...[0, 60, 120].map((seconds) => ({ message: lost, fields: { problem: 'ECONNREFUSED', seconds } })),
      { message: 'the OpenTelemetry collector accepts data again', fields: { seconds: 150 } },
    ]);
  });
});
