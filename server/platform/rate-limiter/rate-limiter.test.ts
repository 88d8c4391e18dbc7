import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { Client, Pool } from 'pg';
import { createMemoryRateLimiter } from './memory.ts';
import { createPostgresRateLimiter, sweepPostgresRateLimits } from './postgres.ts';
import type { Query } from './postgres.ts';
import { parseRateLimit } from './rate-limiter.ts';
import type { RateDecision, RateLimit, RateLimiter } from './rate-limiter.ts';
import { createRedisRateLimiter, openRedis } from './redis.ts';
import { createResilientRateLimiter } from './resilient.ts';

const startMs = 1_790_000_000_123;

/** Two limiters on one store, as two nodes would have. */
interface OpenStore {
  nodes: [RateLimiter, RateLimiter];
  close: () => Promise<void>;
}

interface Store {
  name: string;
  skip: string | false;
  open: () => Promise<OpenStore>;
}

const databaseUrl = process.env['SVC_TEST_DATABASE_URL'];
const redisUrl = process.env['SVC_TEST_REDIS_URL'];
const hasRedisServer = spawnSync('redis-server', ['--version']).status === 0;

const stores: Store[] = [
  { name: 'memory', skip: false, open: openMemory },
  { name: 'PostgreSQL', skip: databaseUrl ? false : 'SVC_TEST_DATABASE_URL is not set', open: openPostgres },
  {
    name: 'Redis',
    skip: redisUrl || hasRedisServer ? false : 'SVC_TEST_REDIS_URL is not set and redis-server is not on the PATH',
    open: openRedisStore,
  },
];

async function openMemory(): Promise<OpenStore> {
  const limiter = createMemoryRateLimiter();
  return { nodes: [limiter, limiter], close: async () => {} };
}

async function openPostgres(): Promise<OpenStore> {
  const { pools, close } = await openDatabase();
  return { nodes: [createPostgresRateLimiter(queryOf(pools[0])), createPostgresRateLimiter(queryOf(pools[1]))], close };
}

async function openDatabase(): Promise<{ pools: [Pool, Pool]; close: () => Promise<void> }> {
  const name = `rate_limiter_${randomUUID().replaceAll('-', '')}`;
  const admin = new Client({ connectionString: databaseUrl });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(databaseUrl ?? '');
  url.pathname = `/${name}`;
  const openPool = (): Pool => new Pool({ connectionString: url.href, max: 8 });
  const pools: [Pool, Pool] = [openPool(), openPool()];
  await pools[0].query('CREATE UNLOGGED TABLE rate_limits (key text PRIMARY KEY, tat_ms double precision NOT NULL)');
  const close = async (): Promise<void> => {
    await Promise.all(pools.map((pool) => pool.end()));
    // Not FORCE: it would break connections that are still saying goodbye, and the server waits for those by itself.
    await admin.query(`DROP DATABASE ${name}`);
    await admin.end();
  };
  return { pools, close };
}

function queryOf(pool: Pool): Query {
  return (text, values) => pool.query<Record<string, unknown>>(text, values);
}

async function openRedisStore(): Promise<OpenStore> {
  const server = redisUrl ? { url: redisUrl, stop: async () => {} } : await startRedis();
  const clients = [openRedis({ url: server.url }, () => {}), openRedis({ url: server.url }, () => {})] as const;
  await Promise.all(clients.map((client) => next(client, 'ready')));
  const nodes: [RateLimiter, RateLimiter] = [createRedisRateLimiter(clients[0]), createRedisRateLimiter(clients[1])];
  const close = async (): Promise<void> => {
    for (const node of nodes) await node.close?.();
    await server.stop();
  };
  return { nodes, close };
}

/** Listens on a file: while the server is away, no other program of this machine can take its place, as with a port. */
async function startRedis(
  url = join(tmpdir(), `redis-${randomUUID()}.sock`),
): Promise<{ url: string; stop: () => Promise<void> }> {
  const options = ['--port', '0', '--unixsocket', url, '--save', '', '--appendonly', 'no'];
  const server = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(server, 'exit');
  for await (const chunk of server.stdout) if (/ready to accept/i.test(String(chunk))) break;
  const stop = async (): Promise<void> => {
    server.kill();
    await exited;
  };
  return { url, stop };
}

/** Unlike `once` of Node, it goes on waiting when the client reports that it could not connect, before it tries again. */
const next = (client: Redis, event: 'ready' | 'close'): Promise<void> =>
  new Promise((resolve) => void client.once(event, () => resolve()));

function newKey(): string {
  return `{${randomUUID()}}`;
}

async function consumeOne(limiter: RateLimiter, key: string, limit: RateLimit, nowMs: number): Promise<RateDecision> {
  const [decision] = await limiter.consume([{ key, limit }], nowMs);
  assert.ok(decision);
  return decision;
}

async function countAllowed(limiter: RateLimiter, key: string, limit: RateLimit, nowMs: number): Promise<number> {
  for (let allowed = 0; ; allowed++) if (!(await consumeOne(limiter, key, limit, nowMs)).allowed) return allowed;
}

for (const store of stores) {
  describe(`rate limits in ${store.name}`, { skip: store.skip }, () => {
    let opened: OpenStore;
    let limiter: RateLimiter;

    before(async () => {
      opened = await store.open();
      limiter = opened.nodes[0];
    });
    after(() => opened.close());

    it('lets exactly the count through in a burst, also where the interval is not a whole number', async () => {
      for (const limit of [
        { count: 1, windowSeconds: 1 },
        { count: 3, windowSeconds: 10 },
        { count: 7, windowSeconds: 1 },
        { count: 200, windowSeconds: 10 },
        { count: 300, windowSeconds: 86_400 },
      ]) {
        assert.equal(await countAllowed(limiter, newKey(), limit, startMs), limit.count);
      }
    });

    it('refills smoothly, one after each interval', async () => {
      const limit = { count: 10, windowSeconds: 10 };
      const key = newKey();
      assert.equal(await countAllowed(limiter, key, limit, startMs), 10);
      assert.equal(await countAllowed(limiter, key, limit, startMs + 999), 0);
      assert.equal(await countAllowed(limiter, key, limit, startMs + 1_000), 1);
      assert.equal(await countAllowed(limiter, key, limit, startMs + 3_500), 2);
      assert.equal(await countAllowed(limiter, key, limit, startMs + 4_000), 1);
      assert.equal(await countAllowed(limiter, key, limit, startMs + 60_000), 10);
    });

    it('grants no second burst at the edge of a window', async () => {
      const limit = { count: 10, windowSeconds: 10 };
      const key = newKey();
      await consumeOne(limiter, key, limit, startMs);
      assert.equal(await countAllowed(limiter, key, limit, startMs + 9_999), 10);
      assert.equal(await countAllowed(limiter, key, limit, startMs + 10_001), 0);
    });

    it('takes from all buckets or from none', async () => {
      const [shop, write] = [newKey(), newKey()];
      const global = { key: shop, limit: { count: 10, windowSeconds: 10 } };
      const category = { key: write, limit: { count: 2, windowSeconds: 10 } };
      for (const left of [9, 8]) {
        const [both] = await limiter.consume([global, category], startMs);
        assert.equal(both?.remaining, left);
      }
      for (let attempt = 0; attempt < 3; attempt++) {
        const decisions = await limiter.consume([global, category], startMs);
        assert.deepEqual(
          decisions.map(({ allowed, remaining }) => ({ allowed, remaining })),
          [
            { allowed: true, remaining: 8 },
            { allowed: false, remaining: 0 },
          ],
        );
      }
      assert.equal((await consumeOne(limiter, shop, global.limit, startMs)).remaining, 7);
    });

    it('answers in the order of the checks, with the keys in any order', async () => {
      const prefix = newKey();
      const checks = ['c', 'a', 'b'].map((name, index) => ({
        key: prefix + name,
        limit: { count: index + 5, windowSeconds: 10 },
      }));
      const decisions = await limiter.consume(checks, startMs);
      assert.deepEqual(
        decisions.map(({ limit, remaining }) => [limit, remaining]),
        [
          [5, 4],
          [6, 5],
          [7, 6],
        ],
      );
      assert.deepEqual(await limiter.consume([], startMs), []);
    });

    it('says what remains, when the bucket is full again and when to come back', async () => {
      const limit = { count: 3, windowSeconds: 30 };
      const key = newKey();
      const base = { limit: 3, allowed: true, retryAfterSeconds: 0 };
      const take = (afterMs: number): Promise<RateDecision> => consumeOne(limiter, key, limit, startMs + afterMs);
      assert.deepEqual(await take(0), { ...base, remaining: 2, resetSeconds: 10 });
      assert.deepEqual(await take(0), { ...base, remaining: 1, resetSeconds: 20 });
      assert.deepEqual(await take(500), { ...base, remaining: 0, resetSeconds: 30 });
      const refused = { limit: 3, allowed: false, remaining: 0 };
      assert.deepEqual(await take(500), { ...refused, resetSeconds: 30, retryAfterSeconds: 10 });
      assert.deepEqual(await take(9_999), { ...refused, resetSeconds: 21, retryAfterSeconds: 1 });
      assert.deepEqual(await take(10_000), { ...base, remaining: 0, resetSeconds: 30 });
    });

    it('never lets more through than the count when 200 requests race on two nodes', async () => {
      const limit = { count: 50, windowSeconds: 60 };
      const key = newKey();
      const racers = Array.from({ length: 200 }, async (_, index) => {
        return consumeOne(opened.nodes[index % 2 === 0 ? 0 : 1], key, limit, startMs);
      });
      const allowed = (await Promise.all(racers)).filter((decision) => decision.allowed);
      assert.equal(allowed.length, 50);
      assert.deepEqual(new Set(allowed.map(({ remaining }) => remaining)), new Set(Array(50).keys()));
    });

    it('keeps buckets that requests share in different orders exact, without a deadlock', async () => {
      const prefix = newKey();
      const names = ['a', 'b', 'c', 'd'];
      const limit = { count: 40, windowSeconds: 60 };
      const taken = new Map(names.map((name) => [prefix + name, 0]));
      const race = async (index: number): Promise<void> => {
        const first = index % 4;
        const checks = [first, (first + 1 + (index % 3)) % 4].map((at) => ({ key: prefix + names[at], limit }));
        const decisions = await opened.nodes[index % 2 === 0 ? 0 : 1].consume(checks, startMs);
        if (!decisions.every(({ allowed }) => allowed)) return;
        for (const { key } of checks) taken.set(key, (taken.get(key) ?? 0) + 1);
      };
      await Promise.all(Array.from({ length: 200 }, (_, index) => race(index)));
      for (const [key, count] of taken) {
        assert.ok(count <= 40, `${count} let through`);
        assert.equal(await countAllowed(limiter, key, limit, startMs), 40 - count);
      }
    });

    it('is not blocked for long by a clock that ran ahead for a while', async () => {
      const limit = { count: 2, windowSeconds: 10 };
      const key = newKey();
      await consumeOne(limiter, key, limit, startMs + 3_600_000);
      assert.equal(await countAllowed(limiter, key, limit, startMs), 2);
    });

    it('refuses a key that was charged more than it had until it has paid, and says when', async () => {
      const limit = { count: 10, windowSeconds: 10 };
      const key = newKey();
      await consumeOne(limiter, key, limit, startMs);
      await limiter.charge([{ key, limit }], 14, startMs);
      const refused = await consumeOne(limiter, key, limit, startMs);
      assert.deepEqual([refused.allowed, refused.remaining, refused.retryAfterSeconds], [false, 0, 6]);
      assert.equal(await countAllowed(limiter, key, limit, startMs + 5_999), 0);
      assert.equal(await countAllowed(limiter, key, limit, startMs + 6_000), 1);
      assert.equal(await countAllowed(limiter, key, limit, startMs + 60_000), 10);
    });

    it('charges every bucket of a call, new ones too, and none more than a window beyond empty', async () => {
      const [first, second] = [newKey(), newKey()];
      const checks = [
        { key: second, limit: { count: 10, windowSeconds: 10 } },
        { key: first, limit: { count: 100, windowSeconds: 10 } },
      ];
      await limiter.charge(checks, 4, startMs);
      assert.equal(await countAllowed(limiter, second, { count: 10, windowSeconds: 10 }, startMs), 6);
      assert.equal(await countAllowed(limiter, first, { count: 100, windowSeconds: 10 }, startMs), 96);
      for (let time = 0; time < 3; time += 1) await limiter.charge(checks, 1_000, startMs);
      for (const { key, limit } of checks) {
        assert.equal((await consumeOne(limiter, key, limit, startMs)).retryAfterSeconds, 11);
      }
      for (const { key, limit } of checks) assert.equal(await countAllowed(limiter, key, limit, startMs + 10_000), 0);
      for (const { key, limit } of checks) {
        assert.equal(await countAllowed(limiter, key, limit, startMs + 20_000), limit.count);
      }
    });

    it('keeps the debt of a long window, although it is far ahead', async () => {
      const check = { key: newKey(), limit: { count: 10, windowSeconds: 3_600 } };
      const isAllowed = async (afterMs: number): Promise<boolean> =>
        (await consumeOne(limiter, check.key, check.limit, startMs + afterMs)).allowed;
      for (let time = 0; time < 3; time += 1) await limiter.charge([check], 1_000, startMs);
      assert.deepEqual(
        [await isAllowed(0), await isAllowed(60_000), await isAllowed(60_000 + 360_000)],
        [false, false, true],
      );
    });

    it('loses no charge of 100 that race on two nodes', async () => {
      const check = { key: newKey(), limit: { count: 1_000, windowSeconds: 10 } };
      const race = async (index: number): Promise<void> =>
        opened.nodes[index % 2 === 0 ? 0 : 1].charge([check], 5, startMs);
      await Promise.all(Array.from({ length: 100 }, (_, index) => race(index)));
      assert.equal((await consumeOne(limiter, check.key, check.limit, startMs)).remaining, 499);
    });

    it('gives back what was taken, from all buckets of the call and no more', async () => {
      const checks = ['b', 'a'].map((name) => ({ key: newKey() + name, limit: { count: 3, windowSeconds: 10 } }));
      const [first, second] = [await limiter.consume(checks, startMs), await limiter.consume(checks, startMs)];
      await limiter.giveBack(checks, first, startMs);
      for (const { key, limit } of checks) assert.equal(await countAllowed(limiter, key, limit, startMs), 2);
      // The bucket has refilled since: there is nothing to give back.
      await limiter.giveBack(checks, second, startMs + 60_000);
      for (const { key, limit } of checks) assert.equal(await countAllowed(limiter, key, limit, startMs + 60_000), 3);
    });

    it('loses nothing of 100 that are taken and given back at once on two nodes', async () => {
      const check = { key: newKey(), limit: { count: 100, windowSeconds: 60 } };
      const race = async (index: number): Promise<void> => {
        const node = opened.nodes[index % 2 === 0 ? 0 : 1];
        const taken = await node.consume([check], startMs);
        if (index % 4 > 0) await node.giveBack([check], taken, startMs);
      };
      await Promise.all(Array.from({ length: 100 }, (_, index) => race(index)));
      assert.equal(await countAllowed(limiter, check.key, check.limit, startMs), 75);
    });

    it('distinguishes keys byte by byte', async () => {
      const limit = { count: 1, windowSeconds: 10 };
      const prefix = newKey();
      for (const key of ['a', 'A', 'a ', "a'b", 'ä', 'a:b', '$1', '*']) {
        assert.equal(await countAllowed(limiter, prefix + key, limit, startMs), 1);
      }
    });
  });
}

describe('rate limits in memory only', () => {
  it('forgets buckets that are full again, so that 100,000 passing keys do not stay', () => {
    const limiter = createMemoryRateLimiter();
    const limit = { count: 5, windowSeconds: 10 };
    let largest = 0;
    for (let index = 0; index < 100_000; index++) {
      limiter.consume([{ key: `address-${index}`, limit }], startMs + index * 10);
      largest = Math.max(largest, limiter.size);
    }
    // A bucket used once is full again after 2 s, in which 200 more keys come.
    assert.ok(largest <= 1_000, `${largest} keys were held`);
  });

  it('forgets no bucket that is still in use', () => {
    const limiter = createMemoryRateLimiter();
    const limit = { count: 2, windowSeconds: 1_000 };
    limiter.consume([{ key: 'kept', limit }], startMs);
    for (let index = 0; index < 10_000; index++) {
      limiter.consume([{ key: `passing-${index}`, limit: { count: 10, windowSeconds: 1 } }], startMs + index * 10);
    }
    assert.equal(limiter.consume([{ key: 'kept', limit }], startMs + 100_000)[0]?.remaining, 0);
  });

  it('holds no more keys than its maximum, even when all of them are in use', () => {
    const limiter = createMemoryRateLimiter(1_000);
    const limit = { count: 5, windowSeconds: 3_600 };
    for (let index = 0; index < 100_000; index++) limiter.consume([{ key: `address-${index}`, limit }], startMs);
    assert.ok(limiter.size <= 1_000, `${limiter.size} keys are held`);
  });
});

describe('rate limits in PostgreSQL only', { skip: databaseUrl ? false : 'SVC_TEST_DATABASE_URL is not set' }, () => {
  it('sweeps the buckets that are full again, also while they are being used', async () => {
    const { pools, close } = await openDatabase();
    try {
      const limiter = createPostgresRateLimiter(queryOf(pools[0]));
      const limit = { count: 10, windowSeconds: 10 };
      for (let index = 0; index < 20; index++) await consumeOne(limiter, `old-${index}`, limit, startMs);
      await consumeOne(limiter, 'new', limit, startMs + 5_000);
      assert.equal(await sweepPostgresRateLimits(queryOf(pools[1]), startMs + 5_000), 20);
      const races = Array.from({ length: 100 }, async (_, index) => {
        if (index % 5 === 0) await sweepPostgresRateLimits(queryOf(pools[1]), startMs + 60_000);
        return consumeOne(limiter, 'raced', limit, startMs + 60_000);
      });
      const allowed = (await Promise.all(races)).filter((decision) => decision.allowed);
      assert.equal(allowed.length, 10);
    } finally {
      await close();
    }
  });
});

describe('a shared store that fails', () => {
  const checks = [{ key: 'company', limit: { count: 2, windowSeconds: 10 } }];
  const refuse = () => Promise.reject(new Error('connection refused'));
  const broken = { consume: refuse, charge: refuse, giveBack: refuse };

  async function allowed(limiter: RateLimiter, nowMs: number): Promise<boolean | undefined> {
    return (await limiter.consume(checks, nowMs))[0]?.allowed;
  }

  it('is replaced by a count in memory when it throws, and the failure is reported', async () => {
    const failures: unknown[] = [];
    const limiter = createResilientRateLimiter(broken, (error) => failures.push(error));
    assert.deepEqual(
      [await allowed(limiter, startMs), await allowed(limiter, startMs), await allowed(limiter, startMs)],
      [true, true, false],
    );
    assert.equal(failures.length, 1);
    assert.match(String(failures[0]), /connection refused/);
  });

  it('charges in memory meanwhile', async () => {
    const failures: unknown[] = [];
    const limiter = createResilientRateLimiter(broken, (error) => failures.push(error));
    await limiter.charge(checks, 2, startMs);
    assert.equal(failures.length, 1);
    assert.equal(await allowed(limiter, startMs), false);
  });

  it('does not get back what was taken in memory meanwhile', async () => {
    const memory = createMemoryRateLimiter();
    let isBroken = true;
    const flaky: RateLimiter = {
      ...memory,
      consume: (...taken) => (isBroken ? Promise.reject(new Error('away')) : memory.consume(...taken)),
    };
    const limiter = createResilientRateLimiter(flaky, () => {});
    const taken = await limiter.consume(checks, startMs);
    isBroken = false;
    assert.equal(await allowed(limiter, startMs + 1_000), true);
    await limiter.giveBack(checks, taken, startMs + 1_000);
    assert.deepEqual([await allowed(limiter, startMs + 1_001), await allowed(limiter, startMs + 1_001)], [true, false]);
  });

  it('is replaced when it does not answer in time, and later failures of that call have no effect', async () => {
    const failures: unknown[] = [];
    const answer = Promise.withResolvers<RateDecision[]>();
    const limiter = createResilientRateLimiter(
      { ...createMemoryRateLimiter(), consume: () => answer.promise },
      (error) => failures.push(error),
    );
    assert.equal(await allowed(limiter, startMs), true);
    assert.match(String(failures[0]), /50 ms/);
    answer.reject(new Error('too late anyway'));
    await setImmediate();
    assert.equal(failures.length, 1);
  });

  it('is left alone for a second, then tried by one request, then used again', async () => {
    let calls = 0;
    let isBroken = true;
    const memory = createMemoryRateLimiter();
    const flaky: RateLimiter = {
      ...memory,
      consume: async (...args) => {
        calls++;
        if (isBroken) throw new Error('away');
        return memory.consume(...args);
      },
    };
    const limiter = createResilientRateLimiter(flaky, () => {});
    await allowed(limiter, startMs);
    await allowed(limiter, startMs + 999);
    assert.equal(calls, 1);
    await Promise.all([allowed(limiter, startMs + 1_000), allowed(limiter, startMs + 1_000)]);
    assert.equal(calls, 2);
    isBroken = false;
    await allowed(limiter, startMs + 2_000);
    await allowed(limiter, startMs + 2_001);
    assert.equal(calls, 4);
    assert.equal(memory.size, 1);
  });
});

describe('a Redis that goes away', { skip: hasRedisServer ? false : 'redis-server is not on the PATH' }, () => {
  it('is replaced at once and used again when it is back', async (t) => {
    const checks = [{ key: newKey(), limit: { count: 100, windowSeconds: 10 } }];
    const first = await startRedis();
    const client = openRedis({ url: first.url }, () => {});
    t.after(async () => {
      client.disconnect();
      await first.stop();
    });
    await next(client, 'ready');
    let failures = 0;
    // Patient: this is about a server that is away, not about one that is slow on a busy machine.
    const limiter = createResilientRateLimiter(createRedisRateLimiter(client), () => failures++, 10_000);
    const remaining = async (nowMs: number): Promise<number | undefined> =>
      (await limiter.consume(checks, nowMs))[0]?.remaining;
    assert.equal(await remaining(startMs), 99);
    const away = next(client, 'close');
    await first.stop();
    await away;
    assert.deepEqual([await remaining(startMs), await remaining(startMs), failures], [99, 98, 1]);
    const ready = next(client, 'ready');
    const second = await startRedis(first.url);
    t.after(() => second.stop());
    await ready;
    assert.deepEqual([await remaining(startMs + 1_000), failures], [99, 1]);
    await limiter.close?.();
  });
});

describe('Redis Sentinels', () => {
  /** Answers each command of a client; `asked` gets what was sent. */
  async function startFake(
    answer: (asked: string) => string,
  ): Promise<{ port: number; asked: string[]; stop: () => void }> {
    const asked: string[] = [];
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('data', (data) => {
        asked.push(data.toString());
        // A client may send several commands at once.
        for (const command of data.toString().split(/(?=\*\d+\r\n)/)) socket.write(answer(command));
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const stop = (): void => {
      server.close();
      for (const socket of sockets) socket.destroy();
    };
    return { port: (server.address() as AddressInfo).port, asked, stop };
  }

  it('lead to the primary that they name, also after a failover', async (t) => {
    const primaries = [await startFake(() => '+OK\r\n'), await startFake(() => '+OK\r\n')] as const;
    let current: number = primaries[0].port;
    const bulk = (text: string | number): string => `$${String(text).length}\r\n${text}\r\n`;
    const sentinel = await startFake((command) => {
      if (/get-master-addr-by-name/i.test(command)) return `*2\r\n${bulk('127.0.0.1')}${bulk(current)}`;
      return /subscribe/i.test(command) ? `*3\r\n${bulk('subscribe')}${bulk('+switch-master')}:1\r\n` : '+OK\r\n';
    });
    const sentinels = [
      { host: '127.0.0.1', port: 1 },
      { host: '127.0.0.1', port: sentinel.port },
    ];
    const client = openRedis({ url: 'redis://:secret@svc-limits', sentinels }, () => {});
    t.after(() => {
      client.disconnect();
      for (const server of [...primaries, sentinel]) server.stop();
    });
    const isReached = async (index: 0 | 1): Promise<void> => {
      while (!primaries[index].asked.join('').includes('secret')) await setTimeout(20);
    };
    await isReached(0);
    assert.match(sentinel.asked.join(''), /svc-limits/);
    current = primaries[1].port;
    primaries[0].stop();
    await isReached(1);
  });
});

describe('a rate limit in the settings', () => {
  it('is a count and seconds, or off', () => {
    assert.deepEqual(parseRateLimit('1000/10'), { count: 1000, windowSeconds: 10 });
    assert.deepEqual(parseRateLimit('1/1'), { count: 1, windowSeconds: 1 });
    assert.equal(parseRateLimit('off'), null);
  });

  it('is refused in any other form', () => {
    for (const text of [
      '',
      '0/10',
      '10/0',
      '10',
      '-1/10',
      '1.5/10',
      '10/10s',
      ' 10/10',
      '1000000000/1',
      '1/1000000',
      'OFF',
    ]) {
      assert.throws(() => parseRateLimit(text), /count\/seconds, for example 1000\/10, or off/, text);
    }
  });
});
