import type { Logger } from '../platform/log.ts';
import { startTelemetry, type Telemetry } from '../platform/telemetry/telemetry.ts';
import { givenText } from '../setting-values.ts';
import type { Resources } from './resources.ts';

/** The headers hold a key of the collector, so a file can hold them, like every secret. */
const headers = 'OTEL_EXPORTER_OTLP_HEADERS';

export async function openTelemetry(log: Logger, resources: Pick<Resources, 'onStop'>): Promise<Telemetry> {
  const telemetry = await startTelemetry(process.env, log, givenText(process.env, headers, { isSecret: true }));
  resources.onStop(() => telemetry.shutdown());
  return telemetry;
}
