import type { Config } from '../config.ts';
import type { ControlQueryable } from '../platform/database.ts';
import type { Components } from '../platform/components.ts';
import type { Logger } from '../platform/log.ts';
import { createMemoryRateLimiter } from '../platform/rate-limiter/memory.ts';
import { createPostgresRateLimiter } from '../platform/rate-limiter/postgres.ts';
import type { RateLimiter } from '../platform/rate-limiter/rate-limiter.ts';
import { createResilientRateLimiter } from '../platform/rate-limiter/resilient.ts';

/** Loaded only if it is used. */
async function redisRateLimiter(config: Config, onFailure: (error: unknown) => void): Promise<RateLimiter> {
  const { createRedisRateLimiter, openRedis } = await import('../platform/rate-limiter/redis.ts');
  return createRedisRateLimiter(openRedis(config.REDIS_URL?.reveal() ?? '', onFailure));
}

export async function openRateLimiter(
  config: Config,
  control: ControlQueryable,
  log: Logger,
  components: Pick<Components, 'note'>,
): Promise<RateLimiter> {
  const store = config.SVC_RATE_LIMIT_STORE ?? (config.REDIS_URL ? 'redis' : 'memory');
  if (store === 'memory') return createMemoryRateLimiter();
  const onFailure = (error: unknown): void => {
    log.warn({ err: error }, 'the shared rate-limit store does not respond; counting in this process');
    components.note('rate_limit_store', error instanceof Error ? error : new Error(String(error)));
  };
  const onSuccess = (): void => components.note('rate_limit_store', undefined);
  const shared =
    store === 'redis'
      ? await redisRateLimiter(config, onFailure)
      : createPostgresRateLimiter(async (text, values) => ({ rows: await control.query(text, values) }));
  return createResilientRateLimiter(shared, onFailure, undefined, onSuccess);
}
