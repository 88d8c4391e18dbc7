import { setTimeout as sleep } from 'node:timers/promises';
import { createBatcher } from '../../platform/batcher.ts';
import { isUnavailable, type Queryable } from '../../platform/database.ts';
import { type Attempt, type ClaimedDelivery, recordAttempts, returnDeliveries } from './delivery-queries.ts';
import type { DispatcherDependencies } from './dispatcher.ts';
import { disableEndpoint } from './service.ts';

const retryMs = 1_000;
/** How long records wait for others while many deliveries end: a commit costs the same for one as for a hundred. */
const gatheringMs = 8;

/** Records the results of a worker's deliveries. Each call waits for a database that is briefly unavailable. */
export interface DeliveryRecords {
  record(attempt: Attempt): Promise<void>;
  /** Called when the endpoint answered 410 Gone. */
  disable(delivery: ClaimedDelivery): Promise<void>;
  /** Returns claimed deliveries to the queue. */
  giveBack(deliveries: readonly ClaimedDelivery[]): void;
  /** The deliveries whose return to the queue is in progress. */
  returning(): readonly ClaimedDelivery[];
  /** Stops waiting for the database. */
  stop(): void;
}

export function createDeliveryRecords(
  dependencies: DispatcherDependencies,
  workerId: string,
  onReturned: () => void,
): DeliveryRecords {
  const { db, batchDb, log, movedTo = async () => undefined } = dependencies;
  const state = { stopping: false };
  const returning = new Set<readonly ClaimedDelivery[]>();
  const recordBatched = createBatcher(
    'deliveries',
    async (attempts: readonly Attempt[]) => {
      await recordAttempts(batchDb, workerId, attempts);
      return attempts.map(() => undefined);
    },
    { batchMax: 256, width: 1, gathering: () => gatheringMs },
  );

  /** A delivery moves with its company: what this shard refuses is recorded on the new one. */
  async function following(
    companyId: string,
    write: () => Promise<unknown>,
    writeThere: (there: Queryable) => Promise<unknown>,
  ): Promise<void> {
    try {
      await write();
    } catch (error) {
      const there = await movedTo(companyId).catch(() => undefined);
      if (!there) throw error;
      await writeThere(there);
    }
  }

  async function recordWhereItIsOrLater(attempt: Attempt): Promise<void> {
    await untilRecorded(() =>
      following(
        attempt.company_id,
        () => recordBatched(attempt),
        (there) => recordAttempts(there, workerId, [attempt]),
      ),
    );
  }

  async function untilRecorded(write: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await write();
        return;
      } catch (error) {
        if (state.stopping || !isUnavailable(error)) throw error;
        log.warn({ err: error }, 'a delivery attempt could not be recorded; retrying');
        await sleep(retryMs);
      }
    }
  }

  return {
    record: (attempt) => recordBatched(attempt).catch(() => recordWhereItIsOrLater(attempt)),
    disable: ({ company_id, endpoint_id }) =>
      untilRecorded(() => disableEndpoint(dependencies, company_id, endpoint_id, 'gone')),
    giveBack(deliveries) {
      const [first] = deliveries;
      if (!first) return;
      returning.add(deliveries);
      const give = (to: Queryable): Promise<void> => returnDeliveries(to, workerId, deliveries);
      untilRecorded(() => following(first.company_id, () => give(db), give))
        .finally(() => returning.delete(deliveries))
        .then(onReturned, (error: unknown) =>
          log.error({ err: error }, 'deliveries could not be returned to the queue'),
        );
    },
    returning: () => [...returning].flat(),
    stop() {
      state.stopping = true;
    },
  };
}
