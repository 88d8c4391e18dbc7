import type { IncomingHttpHeaders } from 'node:http';
import type { Attributes, Tracer as LibraryTracer } from '@opentelemetry/api';
import type { Sampler } from '@opentelemetry/sdk-trace';
import { errorCode } from '../error-code.ts';
import { runIn, type Tracer } from '../spans.ts';
import type { Libraries } from './libraries.ts';
import type { Environment } from './settings.ts';

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
}

// Other methods would let a client create any number of span names.
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE', 'QUERY']);

const noSpan: RequestSpan = Object.freeze({ run: <Result>(work: () => Result): Result => work(), end: () => {} });

/** Probes come every few seconds, and would bury the requests. */
const probes: readonly (string | undefined)[] = ['/healthz', '/readyz', '/metrics', '/state'];
export const noTracing: Tracing = Object.freeze({ enabled: false, startRequestSpan: () => noSpan });

const samplers = /^(parentbased_)?(always_on|always_off|traceidratio)$/;
const usualSampler = 'parentbased_always_on';

// Since version 3 the SDK leaves this variable to the application.
export function samplerOf(env: Environment, libraries: Libraries): Sampler {
  const given = env['OTEL_TRACES_SAMPLER'] || usualSampler;
  const isKnown = samplers.test(given);
  // As OpenTelemetry specifies, a value that is not valid is reported and has no effect.
  if (!isKnown) libraries.api.diag.warn(`OTEL_TRACES_SAMPLER "${given}" is unknown; ${usualSampler} is used`);
  const [, parent, root] = samplers.exec(isKnown ? given : usualSampler) ?? [];
  const sampler = rootSampler(root, env['OTEL_TRACES_SAMPLER_ARG'] || '1', libraries);
  return parent ? new libraries.traces.ParentBasedSampler({ root: sampler }) : sampler;
}

function rootSampler(name: string | undefined, argument: string, { api, traces: sdk }: Libraries): Sampler {
  if (name === 'always_off') return new sdk.AlwaysOffSampler();
  if (name !== 'traceidratio') return new sdk.AlwaysOnSampler();
  const ratio = Number(argument);
  if (ratio >= 0 && ratio <= 1) return new sdk.TraceIdRatioBasedSampler(ratio);
  api.diag.warn(`OTEL_TRACES_SAMPLER_ARG "${argument}" is not a number from 0 to 1; every trace is kept`);
  return new sdk.AlwaysOnSampler();
}

export function requestSpanStarter({ api, core }: Libraries, tracer: LibraryTracer): Tracing['startRequestSpan'] {
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

export function tracerOf({ api, core }: Libraries, tracer: LibraryTracer): Tracer {
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
    spanContextOf: (context) => api.trace.getSpanContext(context),
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
