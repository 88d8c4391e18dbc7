/** The libraries of OpenTelemetry, which are loaded only if a collector is set. */
export async function loadLibraries() {
  const [api, core, resources, traces, metrics, logs, traceExporter, metricExporter, logExporter] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/sdk-logs'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
    import('@opentelemetry/exporter-metrics-otlp-proto'),
    import('@opentelemetry/exporter-logs-otlp-proto'),
  ]);
  return { api, core, resources, traces, metrics, logs, ...traceExporter, ...metricExporter, ...logExporter };
}

export type Libraries = Awaited<ReturnType<typeof loadLibraries>>;
