import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Config } from '../config.ts';
import { type Components, inWords } from '../platform/components.ts';
import type { ControlQueryable } from '../platform/database.ts';
import { secondMs } from '../platform/durations.ts';
import { createMemoryRateLimiter } from '../platform/rate-limiter/memory.ts';
import { createPostgresRateLimiter } from '../platform/rate-limiter/postgres.ts';
import type { RateLimiter } from '../platform/rate-limiter/rate-limiter.ts';
import { createResilientRateLimiter } from '../platform/rate-limiter/resilient.ts';

export async function openRateLimiter(
  config: Config,
  control: ControlQueryable,
  components: Pick<Components, 'note' | 'watch'>,
): Promise<RateLimiter> {
  const store = config.SVC_RATE_LIMIT_STORE ?? (config.REDIS_URL ? 'redis' : 'memory');
  if (store === 'memory') return createMemoryRateLimiter();
  const onFailure = (error: unknown): void => components.note('rate_limit_store', inPlainWords(error));
  const onSuccess = (): void => components.note('rate_limit_store', undefined);
  const { limiter, use } = store === 'redis' ? await openRedisStore(config, onFailure) : postgresStore(control);
  components.watch('rate_limit_store', use, 10 * secondMs);
  return createResilientRateLimiter(limiter, onFailure, undefined, onSuccess);
}

/** A store of rate limits that several processes share. */
interface SharedStore {
  readonly limiter: RateLimiter;
  /** Writes and reads in it, as for a request. */
  use(): Promise<void>;
}

/** Loaded only if it is used. */
export async function openRedisStore(
  { REDIS_URL, SVC_REDIS_SENTINELS: sentinels }: Pick<Config, 'REDIS_URL' | 'SVC_REDIS_SENTINELS'>,
  onFailure: (error: unknown) => void,
): Promise<SharedStore> {
  const { createRedisRateLimiter, openRedis } = await import('../platform/rate-limiter/redis.ts');
  // A command without a connection fails with an error of its own, which does not say why there is none.
  let lost: Error | undefined;
  const redis = openRedis({ url: REDIS_URL?.reveal() ?? '', sentinels }, (error) => {
    lost = error;
    onFailure(error);
  });
  redis.on('ready', () => {
    lost = undefined;
  });
  const limiter = createRedisRateLimiter(redis);
  const exercise = async (): Promise<void> => {
    if (redis.status !== 'ready') await once(redis, 'ready');
    await takeTwo(limiter);
  };
  return {
    limiter,
    use: () =>
      exercise().catch((error: unknown) => {
        throw inPlainWords(lost ?? error);
      }),
  };
}

function postgresStore(control: ControlQueryable): SharedStore {
  const limiter = createPostgresRateLimiter(async (text, values) => ({ rows: await control.query(text, values) }));
  return { limiter, use: () => takeTwo(limiter) };
}

const markerLimit = { count: 10, windowSeconds: 10 };

/** Takes two from a bucket: the second must find what the first has written. */
async function takeTwo(store: RateLimiter): Promise<void> {
  const marker = [{ key: `health:${randomUUID()}`, limit: markerLimit }];
  const nowMs = Date.now();
  const [first] = await store.consume(marker, nowMs);
  const [second] = await store.consume(marker, nowMs);
  if (first?.remaining !== 9 || second?.remaining !== 8) throw new Error('the store does not return what it stores');
}

const isRefusal = (error: unknown): boolean =>
  error instanceof Error && /^(NOAUTH|WRONGPASS|NOPERM)\b/.test(error.message);

const inPlainWords = inWords(isRefusal, 'the shared store of the rate limits refuses our login');
