import { attributeNames, exceptionNames, lineFields, logFormatVersion } from '../server/platform/log-format.ts';

/** The part of docs/observability.md about logs, and about what goes to a collector of OpenTelemetry. */

type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

const code = (text: string): string => `\`${text}\``;

function attributeRows(): string[][] {
  const all = [...Object.values(attributeNames), ...Object.values(exceptionNames)];
  const meanings = new Map(all.map(({ name, meaning }) => [name, meaning]));
  return [...meanings].map(([name, meaning]) => [code(name), meaning]);
}

export const logsAndTelemetry = (table: Table): string => `## Logs

If standard output is not a terminal, it contains lines of JSON only, from \`starting\` to \`stopped\`. On a terminal, a line is for people: the time, what happened, and the details. The start also prints the addresses and, for a
demo company, its keys. Passwords and keys are never written to anything but a terminal. The fields have the names of
OpenTelemetry's [log data model](https://opentelemetry.io/docs/specs/otel/logs/data-model/):

${table(
  ['Field', 'Contents'],
  Object.entries(lineFields).map(([name, contents]) => [code(name), contents]),
)}

\`log_format\` is ${logFormatVersion}. It is raised when a field or an attribute is renamed or removed, or changes its type; new ones can appear at any time, and the texts of \`body\` can change.
The \`attributes\` have the names of OpenTelemetry's [semantic conventions](https://opentelemetry.io/docs/specs/semconv/) where there are any, and otherwise
begin with \`svc.\`: \`svc.request_id\`, \`svc.order_id\`, \`svc.component\`.

${table(['Attribute', 'Contents'], attributeRows())}

A request is one line, here in several:

\`\`\`json
{"severity_text":"INFO","severity_number":9,"timestamp":"2026-11-18T10:15:00.123Z","log_format":${logFormatVersion},
 "attributes":{"svc.request_id":"req_…","svc.company":"…","svc.caller":"…","http.request.method":"POST","http.route":"/v1/orders",
 "http.response.status_code":201,"svc.duration_ms":41.3},"body":"request"}
\`\`\`

See [Logs](self-hosting.md#logs) for what is never in the log.

## OpenTelemetry

To send traces, metrics and logs to a collector, set the standard variable \`OTEL_EXPORTER_OTLP_ENDPOINT\`, for example to \`http://127.0.0.1:4318\`. The service
sends OTLP over HTTP as protobuf, with the exporters of the OpenTelemetry SDK. Set the variables for every process, including the vault. Without them, no library of OpenTelemetry is
loaded.

| Variable | Effect |
|---|---|
| \`OTEL_EXPORTER_OTLP_ENDPOINT\` | the collector, for all three; \`/v1/traces\`, \`/v1/metrics\` and \`/v1/logs\` are added |
| \`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT\`, \`…_METRICS_ENDPOINT\`, \`…_LOGS_ENDPOINT\` | the URL for one of them, as it is |
| \`OTEL_TRACES_EXPORTER\`, \`OTEL_METRICS_EXPORTER\`, \`OTEL_LOGS_EXPORTER\` | \`none\` does not send them |
| \`OTEL_EXPORTER_OTLP_HEADERS\` | headers with a key of the collector, for example \`api-key=…\` |
| \`OTEL_EXPORTER_OTLP_TIMEOUT\`, \`…_COMPRESSION\`, \`…_CERTIFICATE\`, \`…_CLIENT_KEY\`, \`…_CLIENT_CERTIFICATE\` | as OpenTelemetry specifies them; also for one of the three, as \`OTEL_EXPORTER_OTLP_LOGS_TIMEOUT\` |
| \`OTEL_EXPORTER_OTLP_PROTOCOL\` | can only be \`http/protobuf\`, which is the default |
| \`OTEL_METRIC_EXPORT_INTERVAL\`, \`OTEL_METRIC_EXPORT_TIMEOUT\` | how often metrics are sent (60000 ms), and how long that may take (30000 ms) |
| \`OTEL_SERVICE_NAME\`, \`OTEL_RESOURCE_ATTRIBUTES\` | name of the service (\`svc\`) and further attributes of all data. The service adds \`service.version\` and \`service.instance.id\` |
| \`OTEL_TRACES_SAMPLER\`, \`OTEL_TRACES_SAMPLER_ARG\` | which traces are kept |
| \`OTEL_SDK_DISABLED\` | \`true\` sends nothing |

If the collector is away, what it does not accept is lost, the log says so once, then once a minute, and when it is back, and a stop takes at most a second longer. At most 2,048 spans
and 2,048 log lines wait in memory.

**Metrics** are those of \`/metrics\`, with the same names, labels and values. Scrape them or send them, not both.

**Logs** are the lines of standard output, with the same fields. The first lines of a start, before the settings are read, are only there.

**Traces.** A request continues the trace of its \`traceparent\` header (W3C) or begins one. Its log lines have the \`trace_id\`. Below it are the calls to the vault and the processor, the statements (their
text, never their values), and for orders the time in each batch, since requests that arrive together share statements. The vault and the
processors get \`traceparent\` too. Charges of subscriptions are traces of their own.

A webhook delivery is a trace of its own with a link to the trace that caused the event, because it may be hours later and one event can have many
deliveries. The request to the receiver has the \`traceparent\` of the delivery. \`/healthz\`, \`/readyz\`, \`/metrics\` and the polling of the worker are
not traced.
`;
