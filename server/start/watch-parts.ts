import { type Components, inWords } from '../platform/components.ts';
import { sqlStateOf } from '../platform/database.ts';
import { minuteMs, secondMs } from '../platform/durations.ts';
import type { ObjectStore } from '../platform/files/s3-store.ts';
import type { Mailer } from '../platform/mail/mailer.ts';
import { alwaysUsed, type ShardUse } from '../shards/use.ts';
import type { ConfiguredShard } from './configured-shard.ts';

/**
 * How the parts of the installation are used to know whether they can be used. The vault is watched in vault.ts, the store
 * of the rate limits in rate-limiter.ts. `tests/wrong-credentials.test.ts` gives each part wrong credentials.
 */

const pingMs = 2 * secondMs;

/** The first database is the control plane. */
export function watchDatabases(
  components: Components,
  shards: readonly Pick<ConfiguredShard, 'name' | 'db'>[],
  { isUsed }: Pick<ShardUse, 'isUsed'> = alwaysUsed,
): void {
  for (const [index, { name, db }] of shards.entries()) {
    const use = (): Promise<void> =>
      db.ping(pingMs, true).catch((error: unknown) => {
        throw inPlainWords(error);
      });
    components.watch('database', use, 5 * secondMs, index > 0 ? { name, isUsed: () => isUsed(name) } : undefined);
  }
}

const isRefusal = (error: unknown): boolean => sqlStateOf(error)?.startsWith('28') === true;
const inPlainWords = inWords(isRefusal, 'the database refuses our login');

export const watchObjectStore = (components: Components, store: ObjectStore): void =>
  components.watch('object_store', () => store.check(), minuteMs);

export const watchMail = (components: Components, mailer: Mailer): void =>
  components.watch('mail', () => mailer.check(), minuteMs);

/** The reads of a replica that is not used go to the primary. */
export function watchReplicas(
  components: Components,
  shards: readonly ConfiguredShard[],
  { isUsed }: Pick<ShardUse, 'isUsed'> = alwaysUsed,
): void {
  const replicas = shards.flatMap(({ name, replica }) => (replica ? [{ name, replica }] : []));
  if (replicas.length === 0) return;
  const use = async (): Promise<void> => {
    for (const { name, replica } of replicas.filter((one) => isUsed(one.name))) {
      const { problem } = await replica.state();
      if (problem !== undefined) throw new Error(`the replica of the shard ${name} is not used: ${problem}`);
    }
  };
  components.watch('replica', use, 15 * secondMs);
}
