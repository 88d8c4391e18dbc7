import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import {
  type OtlpLog,
  type OtlpMetric,
  type OtlpSpan,
  type Received,
  readLogs,
  readMetrics,
  readTraces,
} from './otlp.ts';

/** A collector of OpenTelemetry on loopback: keeps what it receives over HTTP as protobuf. */
export interface Collector {
  readonly url: string;
  readonly requests: IncomingMessage[];
  readonly traces: Received<OtlpSpan>[];
  readonly metrics: Received<OtlpMetric>[];
  readonly logs: Received<OtlpLog>[];
  readonly spans: () => OtlpSpan[];
  readonly logRecords: () => OtlpLog[];
  /** The last state of each metric of a process, by its name. */
  readonly metricsOf: (matches: (resource: Received<OtlpMetric>['resource']) => boolean) => Map<string, OtlpMetric>;
  /** Everything as it came, to look for what must not be in it. */
  readonly bytes: Buffer[];
  stop(): void;
}

export async function startCollector(): Promise<Collector> {
  const requests: IncomingMessage[] = [];
  const traces: Received<OtlpSpan>[] = [];
  const metrics: Received<OtlpMetric>[] = [];
  const logs: Received<OtlpLog>[] = [];
  const bytes: Buffer[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    void buffer(request).then((sent) => {
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      bytes.push(body);
      if (request.url?.endsWith('/v1/metrics')) metrics.push(...readMetrics(body));
      else if (request.url?.endsWith('/v1/logs')) logs.push(...readLogs(body));
      else traces.push(...readTraces(body));
      response.setHeader('Content-Type', 'application/x-protobuf').end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    traces,
    metrics,
    logs,
    bytes,
    spans: () => traces.flatMap(({ items }) => items),
    logRecords: () => logs.flatMap(({ items }) => items),
    metricsOf: (matches) =>
      new Map(
        metrics.filter(({ resource }) => matches(resource)).flatMap(({ items }) => items.map((one) => [one.name, one])),
      ),
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
