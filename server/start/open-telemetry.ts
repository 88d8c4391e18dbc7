import type { Logger } from '../platform/log.ts';
import { startTelemetry, type Telemetry } from '../platform/telemetry/telemetry.ts';
import { telemetryHeaders } from '../setting-values.ts';
import type { Resources } from './resources.ts';

export async function openTelemetry(log: Logger, resources: Pick<Resources, 'onStop'>): Promise<Telemetry> {
  const telemetry = await startTelemetry(process.env, log, telemetryHeaders(process.env));
  resources.onStop(() => telemetry.shutdown());
  return telemetry;
}
