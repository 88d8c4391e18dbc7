import type { ObservedShard } from '../../server/observation/gauges.ts';
import type { DatabasePool } from '../../server/platform/database.ts';
import { watchStandby } from '../../server/platform/synchronous-standby.ts';

/** How metrics see a shard that is always in use. */
export const observed = (db: DatabasePool): Pick<ObservedShard, 'standby' | 'isUsed' | 'isUp'> => ({
  standby: watchStandby(db),
  isUsed: () => true,
  isUp: (deadlineMs) =>
    db.ping(deadlineMs).then(
      () => true,
      () => false,
    ),
});
