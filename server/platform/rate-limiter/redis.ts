import { Redis } from 'ioredis';
import type { Cluster } from 'ioredis';
import { clockToleranceUs, decideAll, paceOf, toMicroseconds } from './rate-limiter.ts';
import type { RateCheck, RateLimiter } from './rate-limiter.ts';

// tostring() keeps 14 digits and would round a time in microseconds, so string.format is used. The expiry also
// repairs a key written by a clock that ran ahead.
const takeScript = `
  local now = tonumber(ARGV[1])
  local starts, taken = {}, true
  for i, key in ipairs(KEYS) do
    local interval, burst = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
    local start = tonumber(redis.call('GET', key) or now)
    if start < now or start > now + burst + ${clockToleranceUs} then start = now end
    if start + interval > now + burst then taken = false end
    starts[i] = start
  end
  if taken then
    for i, key in ipairs(KEYS) do
      local arrival = starts[i] + tonumber(ARGV[2 * i])
      local expiryMs = math.ceil((arrival - now) / 1000)
      redis.call('SET', key, string.format('%.0f', arrival), 'PX', string.format('%.0f', expiryMs))
    end
  end
  return starts`;

const chargeScript = `
  local now, amount = tonumber(ARGV[1]), tonumber(ARGV[2])
  for i, key in ipairs(KEYS) do
    local interval, burst = tonumber(ARGV[2 * i + 1]), tonumber(ARGV[2 * i + 2])
    local start = tonumber(redis.call('GET', key) or now)
    if start < now or start > now + burst + ${clockToleranceUs} then start = now end
    local arrival = math.min(start + amount * interval, now + burst + math.min(burst, ${clockToleranceUs}))
    local expiryMs = math.ceil((arrival - now) / 1000)
    redis.call('SET', key, string.format('%.0f', arrival), 'PX', string.format('%.0f', expiryMs))
  end`;

// A key that has expired was full again: there is nothing to give back.
const giveBackScript = `
  for i, key in ipairs(KEYS) do
    local arrival = tonumber(redis.call('GET', key))
    if arrival then redis.call('SET', key, string.format('%.0f', arrival - tonumber(ARGV[i])), 'KEEPTTL') end
  end`;

type Scripted = (Redis | Cluster) & {
  takeRate(keyCount: number, ...keysAndPaces: (string | number)[]): Promise<number[]>;
  chargeRate(keyCount: number, ...keysAndPaces: (string | number)[]): Promise<null>;
  giveBackRate(keyCount: number, ...keysAndIntervals: (string | number)[]): Promise<null>;
};

export interface RedisAddress {
  /** With Sentinels, its host is the name of the primary that they watch. */
  readonly url: string;
  readonly sentinels?: readonly { readonly host: string; readonly port: number }[];
}

/** How long a Sentinel may take to answer, and the pause after a round in which none of them knew a primary. */
const sentinelMs = 1_000;

/**
 * Opens a client that fails at once if the server is unavailable, so that the caller's fallback decides instead of a
 * queue.
 */
export function openRedis({ url, sentinels = [] }: RedisAddress, onError: (error: Error) => void): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    // A server that is no longer the primary answers so: then the address leads to another one by now.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
    ...(sentinels.length > 0 && {
      sentinels: [...sentinels],
      name: new URL(url).hostname,
      failoverDetector: true,
      sentinelCommandTimeout: sentinelMs,
      sentinelRetryStrategy: () => sentinelMs,
      ...(url.startsWith('rediss:') && { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} }),
    }),
  });
  redis.on('error', onError);
  return redis;
}

function pacesOf(checks: readonly RateCheck[]): number[] {
  return checks.flatMap(({ limit }) => [paceOf(limit).intervalUs, paceOf(limit).burstUs]);
}

/** In a cluster the keys of one call must share a slot: put their common part in {braces}. */
export function createRedisRateLimiter(redis: Redis | Cluster): RateLimiter {
  redis.defineCommand('takeRate', { lua: takeScript });
  redis.defineCommand('chargeRate', { lua: chargeScript });
  redis.defineCommand('giveBackRate', { lua: giveBackScript });
  const scripted = redis as Scripted;
  return {
    async consume(checks, nowMs) {
      const nowUs = toMicroseconds(nowMs);
      const keys = checks.map(({ key }) => key);
      const paces = pacesOf(checks);
      const startsUs = await scripted.takeRate(keys.length, ...keys, nowUs, ...paces);
      return decideAll(checks, startsUs, nowUs);
    },
    async charge(checks, amount, nowMs) {
      const nowUs = toMicroseconds(nowMs);
      const keys = checks.map(({ key }) => key);
      const paces = pacesOf(checks);
      await scripted.chargeRate(keys.length, ...keys, nowUs, amount, ...paces);
    },
    async giveBack(checks) {
      const keys = checks.map(({ key }) => key);
      await scripted.giveBackRate(keys.length, ...keys, ...checks.map(({ limit }) => paceOf(limit).intervalUs));
    },
    async close() {
      redis.disconnect();
    },
  };
}
