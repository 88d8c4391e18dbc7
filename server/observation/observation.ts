import type { Config } from '../config.ts';
import { openCardWatch } from '../features/card-warnings/service.ts';
import { startRecorder } from '../features/requests/service.ts';
import { type GaugeSources, readGauges } from './gauges.ts';
import { openAdmissions } from '../http/admissions.ts';
import { countRefusals } from '../http/early-refusal.ts';
import { overloaded } from '../http/work.ts';
import { createAdmissionControl } from '../platform/admission-control.ts';
import type { Clock } from '../platform/clock.ts';
import type { DatabasePool } from '../platform/database.ts';
import type { Logger } from '../platform/log.ts';
import { counter, createMetrics } from '../platform/metrics.ts';
import type { AppShards, Shard } from '../shard.ts';

interface ObservationDependencies {
  readonly config: Config;
  readonly shards: AppShards;
  readonly clock: Clock;
  readonly log: Logger;
  readonly gauges: GaugeSources;
}

const countDropped = counter('svc_request_log_dropped_total');

/** What counts, measures and records requests, and rejects those beyond the capacity. */
export function startObservation({ config, shards, clock, log, gauges }: ObservationDependencies) {
  const admissions = openAdmissions((shard) =>
    createAdmissionControl({
      inDatabase: () => inDatabase(shards, shard),
      lagMsMax: config.SVC_MAX_EVENT_LOOP_DELAY_MS,
      refusal: () => overloaded,
    }),
  );
  const metrics = createMetrics(config.SVC_ROLES, () => readGauges({ ...gauges, admission: admissions }));
  const onDropped = (count: number): void => countDropped({}, count);
  const recorder = config.SVC_REQUEST_LOG === 'off' ? undefined : startRecorder({ shards, clock, log, onDropped });
  const cardWatch = openCardWatch({ shards, clock, log });
  const onRefused = countRefusals(log);
  return { admissions, metrics, onRefused, recorder, cardWatch };
}

function inDatabase({ all }: AppShards, shard: string): number {
  const found = all.find(({ name }) => name === shard);
  if (!found) return 0;
  return poolsOf(found).reduce((sum, pool) => sum + inUse(pool.stats()), found.orders.inBatchers());
}

const poolsOf = ({ db, replica }: Shard): Pick<DatabasePool, 'stats'>[] => (replica ? [db, replica] : [db]);
const inUse = ({ total, idle, waiting }: ReturnType<DatabasePool['stats']>): number => total - idle + waiting;
