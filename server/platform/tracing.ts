import type { IncomingHttpHeaders } from 'node:http';
import type { Attributes } from '@opentelemetry/api';
import type { Sampler } from '@opentelemetry/sdk-trace';
import { errorCode } from './error-code.ts';
import { installTracer, runIn, type Tracer } from './spans.ts';

interface RequestSpanInput {
  method: string;
  /** The pattern, not the path: `/v1/orders/:id`. Undefined if no route matched. */
  route?: string | undefined;
  /** The query, if any, is removed. */
  path?: string | undefined;
  headers: IncomingHttpHeaders;
}

export interface RequestSpan {
  /** Runs a step of the request, whose spans are below this one. */
  run<Result>(work: () => Result): Result;
  end(status: number, attributes?: Record<string, string>): void;
}

export interface Tracing {
  readonly enabled: boolean;
  startRequestSpan(input: RequestSpanInput): RequestSpan;
  /** Sends the remaining spans; gives up without an error if the collector does not accept them. */
  shutdown(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;
type Libraries = Awaited<ReturnType<typeof loadLibraries>>;

/** A collector that does not answer must not delay the stop of the service. */
const shutdownTimeoutMs = 1_000;
const reportLengthMax = 500;

// Other methods would let a client create any number of span names.
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE', 'QUERY']);

const noSpan: RequestSpan = Object.freeze({ run: <Result>(work: () => Result): Result => work(), end: () => {} });

/** Probes come every few seconds, and would bury the requests. */
const probes: readonly (string | undefined)[] = ['/healthz', '/readyz', '/metrics', '/state'];
const noTracing: Tracing = Object.freeze({
  enabled: false,
  startRequestSpan: () => noSpan,
  shutdown: async () => {},
});

/**
 * Exports traces only if the standard OTEL_* variables name a collector; otherwise the libraries are not even loaded.
 * `report` is called for lost spans and invalid settings. The exporter itself reads OTEL_EXPORTER_OTLP_HEADERS,
 * _TIMEOUT, _COMPRESSION and the certificates from the process environment.
 */
export async function startTracing(env: Environment, report: (problem: string) => void = () => {}): Promise<Tracing> {
  const url = exportUrl(env);
  if (url === undefined || isSwitchedOff(env)) return noTracing;
  const libraries = await loadLibraries();
  reportProblems(libraries, report);
  const { sdk, exporters, resources } = libraries;
  const provider = new sdk.TracerProvider({
    resource: resources.defaultResource().merge(resources.resourceFromAttributes(resourceAttributes(env))),
    sampler: samplerOf(env, libraries),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new exporters.OTLPTraceExporter({ url }) })],
  });
  installTracer(tracerOf(libraries, provider));
  return {
    enabled: true,
    startRequestSpan: requestSpanStarter(libraries, provider),
    shutdown() {
      installTracer(undefined);
      return withinShutdownTime(provider.shutdown(), report);
    },
  };
}

function exportUrl(env: Environment): string | undefined {
  if (env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) return env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  const base = env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  return base ? base.replace(/\/*$/, '/v1/traces') : undefined;
}

function isSwitchedOff(env: Environment): boolean {
  const exporters = (env['OTEL_TRACES_EXPORTER'] || 'otlp').split(',').map((name) => name.trim());
  return env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || !exporters.includes('otlp');
}

async function loadLibraries() {
  const [api, core, sdk, resources, exporters] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]);
  return { api, core, sdk, resources, exporters };
}

function reportProblems({ api }: Libraries, report: (problem: string) => void): void {
  const say = (message: string): void => report(message.slice(0, reportLengthMax));
  const ignore = (): void => {};
  const logger = { error: say, warn: say, info: ignore, debug: ignore, verbose: ignore };
  api.diag.setLogger(logger, { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true });
}

function resourceAttributes(env: Environment): Attributes {
  const attributes: Attributes = { 'service.name': 'svc' };
  for (const pair of (env['OTEL_RESOURCE_ATTRIBUTES'] ?? '').split(',')) {
    const [, key, value] = /^\s*([^=\s]+)\s*=([^=]*)$/.exec(pair) ?? [];
    if (key !== undefined && value !== undefined) attributes[decode(key)] = decode(value.trim());
  }
  if (env['OTEL_SERVICE_NAME']) attributes['service.name'] = env['OTEL_SERVICE_NAME'];
  return attributes;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// Since version 3 the SDK leaves this variable to the application.
function samplerOf(env: Environment, { sdk }: Libraries): Sampler {
  const name = env['OTEL_TRACES_SAMPLER'] || 'parentbased_always_on';
  const root = rootSampler(name.replace(/^parentbased_/, ''), Number(env['OTEL_TRACES_SAMPLER_ARG'] || '1'), sdk);
  const isPlain = ['always_on', 'always_off', 'traceidratio'].includes(name);
  return isPlain ? root : new sdk.ParentBasedSampler({ root });
}

function rootSampler(name: string, ratio: number, sdk: Libraries['sdk']): Sampler {
  if (name === 'always_off') return new sdk.AlwaysOffSampler();
  if (name === 'traceidratio' && ratio >= 0 && ratio < 1) return new sdk.TraceIdRatioBasedSampler(ratio);
  return new sdk.AlwaysOnSampler();
}

function requestSpanStarter(
  { api, core }: Libraries,
  provider: InstanceType<Libraries['sdk']['TracerProvider']>,
): Tracing['startRequestSpan'] {
  const tracer = provider.getTracer('svc');
  const propagator = new core.W3CTraceContextPropagator();

  return (input) => {
    if (probes.includes(input.route)) return noSpan;
    const caller = propagator.extract(api.ROOT_CONTEXT, input.headers, api.defaultTextMapGetter);
    const options = { kind: api.SpanKind.SERVER, attributes: requestAttributes(input) };
    const span = tracer.startSpan(spanName(input), options, caller);
    // A request that is not sampled passes that on to the processes that it calls.
    const context = api.trace.setSpan(caller, span);
    const run: RequestSpan['run'] = (work) => runIn(context, work);
    if (!span.isRecording()) return { run, end: noSpan.end };
    return {
      run,
      end(status, attributes = {}) {
        span.setAttributes({ ...attributes, 'http.response.status_code': status });
        if (status >= 500) {
          span.setAttribute('error.type', String(status));
          span.setStatus({ code: api.SpanStatusCode.ERROR });
        }
        span.end();
      },
    };
  };
}

function tracerOf({ api, core }: Libraries, provider: InstanceType<Libraries['sdk']['TracerProvider']>): Tracer {
  const tracer = provider.getTracer('svc');
  const propagator = new core.W3CTraceContextPropagator();
  const { INTERNAL, CLIENT, PRODUCER } = api.SpanKind;
  const kinds = { internal: INTERNAL, client: CLIENT, producer: PRODUCER };
  return {
    start: (name, kind, attributes, parent, links) =>
      tracer.startSpan(name, { kind: kinds[kind], attributes, links: [...links] }, parent),
    contextWith: (span, parent) => api.trace.setSpan(parent, span),
    contextOf: (header) =>
      propagator.extract(api.ROOT_CONTEXT, header ? { traceparent: header } : {}, api.defaultTextMapGetter),
    linkTo(context) {
      const spanContext = api.trace.getSpanContext(context);
      return spanContext && { context: spanContext };
    },
    traceparentOf(context) {
      const carrier: Record<string, string> = {};
      propagator.inject(context, carrier, api.defaultTextMapSetter);
      return carrier.traceparent;
    },
    fail(span, error) {
      span.setAttribute('error.type', errorType(error));
      span.setStatus({ code: api.SpanStatusCode.ERROR });
    },
  };
}

function spanName({ method, route }: RequestSpanInput): string {
  const verb = knownMethods.has(method) ? method : 'HTTP';
  return route === undefined ? verb : `${verb} ${route}`;
}

function requestAttributes({ method, route, path }: RequestSpanInput): Attributes {
  const attributes: Attributes = { 'http.request.method': knownMethods.has(method) ? method : '_OTHER' };
  if (route !== undefined) attributes['http.route'] = route;
  if (path !== undefined) attributes['url.path'] = path.replace(/[?#].*$/s, '');
  return attributes;
}

/** Leaves out the message and the stack that starts with it: an error may quote the data it failed on. */
function errorType(error: unknown): string {
  return error instanceof Error ? (errorCode(error) ?? error.name) : typeof error;
}

async function withinShutdownTime(work: Promise<void>, report: (problem: string) => void): Promise<void> {
  const { promise: expiry, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    report(`the last spans were not delivered within ${shutdownTimeoutMs} ms`);
    resolve();
  }, shutdownTimeoutMs);
  const failed = (error: unknown): void => report(`the last spans were not delivered: ${errorType(error)}`);
  await Promise.race([work.catch(failed), expiry]);
  clearTimeout(timer);
}
