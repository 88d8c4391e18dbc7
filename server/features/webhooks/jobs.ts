import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { DatabasePool } from '../../platform/database.ts';
import { findFailing } from './delivery-queries.ts';
import { disableEndpoint } from './service.ts';

const dayMs = 86_400_000;

/** Receivers that had nothing but failures for days are not tried any longer. */
export async function disableFailingEndpoints(db: DatabasePool, clock: Clock): Promise<number> {
  const failing = await findFailing(db, limits.webhookFailingDays * dayMs);
  for (const { companyId, endpointId } of failing)
    await disableEndpoint({ db, clock }, companyId, endpointId, 'failing');
  return failing.length;
}

export { dispatcherConnections, startDispatcher } from './dispatcher.ts';
