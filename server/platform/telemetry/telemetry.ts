import { hostname } from 'node:os';
import { copyLog, type Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { sparsely } from '../sparsely.ts';
import { installTracer } from '../spans.ts';
import { programVersion } from '../version.ts';
import { type Collector, problemOf, watchCollector } from './collector.ts';
import { type Libraries, loadLibraries } from './libraries.ts';
import { lineExporter } from './log-export.ts';
import { metricProducer } from './metric-export.ts';
import {
  type Destinations,
  destinationsOf,
  type Environment,
  millisecondsOf,
  pairsOf,
  resourceAttributes,
} from './settings.ts';
import { noTracing, requestSpanStarter, samplerOf, tracerOf, type Tracing } from './tracing.ts';

/** Traces, metrics and logs for a collector of OpenTelemetry, with its own exporters (OTLP over HTTP, protobuf). */
export interface Telemetry extends Tracing {
  /** Sends these metrics regularly; later ones replace them. */
  exportMetrics(metrics: Pick<Metrics, 'figures'>): void;
  /** Sends what remains; gives up without an error if the collector does not accept it. */
  shutdown(): Promise<void>;
}

/** A collector that does not answer must not delay the stop of the service. */
const shutdownTimeoutMs = 1_000;
const reportLengthMax = 500;
const metricIntervalMs = 60_000;
const metricTimeoutMs = 30_000;

const noTelemetry: Telemetry = Object.freeze({
  ...noTracing,
  exportMetrics: () => {},
  shutdown: async () => {},
});

type Provider = { shutdown(): Promise<void> };

interface Parts {
  readonly env: Environment;
  readonly headers: Readonly<Record<string, string>>;
  readonly libraries: Libraries;
  readonly resource: ReturnType<Libraries['resources']['defaultResource']>;
  readonly collector: Collector;
  /** What must be shut down. */
  readonly providers: Provider[];
}

/** Sends only what the standard OTEL_* variables name a collector for; without one, the libraries are not even loaded. */
export async function startTelemetry(
  env: Environment,
  log: Pick<Logger, 'info' | 'warn'>,
  /** The value of OTEL_EXPORTER_OTLP_HEADERS, which may be in a file. */
  headers = '',
): Promise<Telemetry> {
  const destinations = destinationsOf(env);
  if (Object.keys(destinations).length === 0) return noTelemetry;
  const libraries = await loadLibraries();
  const collector = watchCollector(log, libraries.core.ExportResultCode.SUCCESS);
  reportProblems(libraries, collector, log);
  const known = { 'service.version': programVersion, 'service.instance.id': `${hostname()}-${process.pid}` };
  const own = libraries.resources.resourceFromAttributes(resourceAttributes(env, known));
  const resource = libraries.resources.defaultResource().merge(own);
  const parts: Parts = { env, headers: pairsOf(headers), libraries, resource, collector, providers: [] };
  const tracing = startTraces(parts, destinations);
  startLogs(parts, destinations);
  const exportMetrics = startMetrics(parts, destinations);
  return {
    ...tracing,
    exportMetrics,
    shutdown() {
      installTracer(undefined);
      copyLog(undefined);
      return withinShutdownTime(Promise.all(parts.providers.map((provider) => provider.shutdown())), collector, log);
    },
  };
}

function startTraces(
  { env, headers, libraries, resource, collector, providers }: Parts,
  { traces: url }: Destinations,
): Tracing {
  if (url === undefined) return noTracing;
  const { traces, OTLPTraceExporter } = libraries;
  const exporter = collector.watched(new OTLPTraceExporter({ url, headers }));
  const provider = new traces.TracerProvider({
    resource,
    sampler: samplerOf(env, libraries),
    spanProcessors: [new traces.BatchSpanProcessor({ exporter })],
  });
  providers.push(provider);
  const tracer = provider.getTracer('svc');
  installTracer(tracerOf(libraries, tracer));
  return { enabled: true, startRequestSpan: requestSpanStarter(libraries, tracer) };
}

function startLogs({ headers, libraries, resource, collector, providers }: Parts, { logs: url }: Destinations): void {
  if (url === undefined) return;
  const { logs, OTLPLogExporter } = libraries;
  const exporter = collector.watched(new OTLPLogExporter({ url, headers }));
  const provider = new logs.LoggerProvider({ resource, processors: [new logs.BatchLogRecordProcessor({ exporter })] });
  providers.push(provider);
  copyLog(lineExporter(libraries, provider.getLogger('svc')));
}

function startMetrics(parts: Parts, { metrics: url }: Destinations): Telemetry['exportMetrics'] {
  if (url === undefined) return noTelemetry.exportMetrics;
  const { env, headers, libraries, resource, collector, providers } = parts;
  const { metrics: sdk, OTLPMetricExporter } = libraries;
  let source: Pick<Metrics, 'figures'> | undefined;
  let isStopping = false;
  // The database is closed before the last export, so that one has the last values of the gauges.
  const read = async () => (await source?.figures(!isStopping)) ?? [];
  const exportIntervalMillis = millisecondsOf(env, 'OTEL_METRIC_EXPORT_INTERVAL', metricIntervalMs);
  const timeoutMs = millisecondsOf(env, 'OTEL_METRIC_EXPORT_TIMEOUT', metricTimeoutMs);
  const reader = new sdk.PeriodicExportingMetricReader({
    exporter: collector.watched(new OTLPMetricExporter({ url, headers })),
    exportIntervalMillis,
    exportTimeoutMillis: Math.min(timeoutMs, exportIntervalMillis),
    metricProducers: [metricProducer(libraries, resource, read)],
  });
  const provider = new sdk.MeterProvider({ resource, readers: [reader] });
  providers.push({
    shutdown() {
      isStopping = true;
      return provider.shutdown();
    },
  });
  return (metrics) => {
    source = metrics;
  };
}

/** Invalid settings are reported. Failed exports are not: the collector has noted them. */
function reportProblems({ api, core }: Libraries, collector: Collector, log: Pick<Logger, 'warn'>): void {
  const say = sparsely((problem: string, count) => log.warn({ problem, count }, 'OpenTelemetry reports a problem'));
  const report = (message: string): void => {
    if (!collector.isAway()) say(message.slice(0, reportLengthMax));
  };
  const ignore = (): void => {};
  const logger = { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore };
  api.diag.setLogger(logger, { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true });
  core.setGlobalErrorHandler(ignore);
}

/** An outage is known already. */
async function withinShutdownTime(
  work: Promise<unknown>,
  collector: Collector,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const { promise: expiry, resolve } = Promise.withResolvers<void>();
  const lost = (problem: string): void => {
    if (!collector.isAway()) log.warn({ problem }, 'the last traces, metrics and logs were not delivered');
  };
  const timer = setTimeout(() => {
    lost(`no answer within ${shutdownTimeoutMs} ms`);
    resolve();
  }, shutdownTimeoutMs);
  await Promise.race([work.catch((error: unknown) => lost(problemOf(error))), expiry]);
  clearTimeout(timer);
}
