import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../support/seeded-random.ts';
import { fillDisk } from './disk.ts';
import type { Engines, EngineShard } from './engines.ts';

/** What can happen to the engines of a shard, or to those that all shards share. */

export interface Fault {
  readonly name: string;
  readonly title: string;
  /** `shard`: one of them is concerned; `shared`: no request of any shard may fail. */
  readonly concerns: 'shard' | 'shared';
  /** What `/readyz` and the alerts must say meanwhile, for a shard with its name. */
  readonly says?: { readonly readyz: string; readonly alert: string };
  /** What they may say of any shard, because the engines do it meanwhile. */
  readonly maySay?: readonly string[];
  /** Why it cannot be played here; undefined if it can. */
  readonly missing?: (engines: Engines) => string | undefined;
  /** Causes it, and returns when it is over. */
  strike(engines: Engines, shard: EngineShard): Promise<Struck>;
}

interface Struck {
  /** From when on the shard can be used again without an operator, and its writes are expected. */
  readonly endedMs: number;
  /** Starts again what was killed. */
  readonly repair?: () => void | Promise<void>;
}

const freezeMs = 40_000;
const cutMs = 60_000;
const fullMs = 30_000;
const proxyAwayMs = 10_000;
const etcdAwayMs = 10_000;
/** Longer than the ttl of Patroni, after which a primary would give up. */
const etcdMinorityMs = 30_000;
const electionMaxMs = 60_000;
const shardDown = { readyz: 'shard', alert: 'SvcShardDown' };

export const faults: readonly Fault[] = [
  {
    name: 'kill',
    title: 'a primary is killed',
    concerns: 'shard',
    says: shardDown,
    async strike(_, { cluster }) {
      const primary = await cluster.reachablePrimary();
      const endedMs = performance.now();
      await cluster.kill(primary);
      return { endedMs, repair: () => cluster.start(primary) };
    },
  },
  {
    name: 'switchover',
    title: 'a switchover',
    concerns: 'shard',
    async strike(_, { cluster }) {
      const endedMs = performance.now();
      await cluster.switchover(await cluster.reachablePrimary(), await cluster.synchronous());
      return { endedMs };
    },
  },
  {
    name: 'freeze',
    title: 'a primary is frozen for 40 s',
    concerns: 'shard',
    says: shardDown,
    async strike(_, { cluster }) {
      const primary = await cluster.reachablePrimary();
      const endedMs = performance.now();
      const thaw = cluster.freeze(primary);
      await sleep(freezeMs).finally(thaw);
      return { endedMs };
    },
  },
  {
    name: 'pgbouncer',
    title: 'PgBouncer restarts',
    concerns: 'shard',
    async strike(_, { pooler }) {
      await pooler.kill();
      pooler.start();
      return { endedMs: performance.now() };
    },
  },
  {
    name: 'haproxy',
    title: 'HAProxy is killed for 10 s',
    concerns: 'shard',
    says: shardDown,
    async strike(_, { cluster: { proxy } }) {
      await proxy.kill();
      await sleep(proxyAwayMs);
      proxy.start();
      return { endedMs: performance.now() };
    },
  },
  {
    name: 'etcd',
    title: "etcd's leader is killed, then two of three members",
    concerns: 'shared',
    // With a majority again, Patroni lets standbys connect again, and names the synchronous one a moment later.
    maySay: ['standby', 'SvcWritesBlocked'],
    async strike({ etcd }) {
      const endedMs = performance.now();
      const leader = await etcd.leader();
      await leader.kill();
      await sleep(etcdAwayMs);
      const second = etcd.members.find((member) => member !== leader);
      await second?.kill();
      await sleep(etcdMinorityMs);
      return {
        endedMs,
        repair() {
          leader.start();
          second?.start();
        },
      };
    },
  },
  {
    name: 'redis',
    title: 'the primary of Redis is killed',
    concerns: 'shared',
    says: { readyz: 'rate_limit_store', alert: 'SvcRateLimitStoreDown' },
    async strike({ redis }) {
      const primary = await redis.primary();
      const endedMs = performance.now();
      await primary.kill();
      while ((await redis.primary()) === primary && performance.now() - endedMs < electionMaxMs) await sleep(200);
      return { endedMs, repair: () => primary.start() };
    },
  },
  {
    name: 'disk',
    title: 'the disk of a primary is full for 30 s',
    concerns: 'shard',
    missing: ({ hasDisks }) => (hasDisks ? undefined : 'no rights to mount a file system'),
    async strike(_, { cluster }) {
      const empty = fillDisk(cluster.diskOf(await cluster.reachablePrimary()));
      await sleep(fullMs);
      await empty();
      return { endedMs: performance.now() };
    },
  },
  {
    name: 'cut',
    title: 'the network of a shard is cut for 60 s',
    concerns: 'shard',
    says: shardDown,
    missing: ({ network }) => (network.cut ? undefined : 'no rights for network namespaces'),
    async strike({ network: { cut, join } }, { name }) {
      cut?.(name);
      await sleep(cutMs).finally(() => join?.(name));
      return { endedMs: performance.now() };
    },
  },
];

export interface PlannedFault {
  readonly fault: Fault;
  /** The place of the shard that it hits. */
  readonly shard: number;
}

/** The same faults on the same shards, in the same order, for the same seed. Each shard is hit about as often as the other. */
export function planFaults(random: Random, names: readonly string[] = [], shards = 2): PlannedFault[] {
  const unknown = names.filter((name) => !faults.some((fault) => fault.name === name));
  if (unknown.length > 0)
    throw new Error(
      `There is no fault ${unknown.join(', ')}; there are: ${faults.map(({ name }) => name).join(', ')}.`,
    );
  const left = faults.map((fault) => fault);
  const shuffled: Fault[] = [];
  while (left.length > 0) shuffled.push(...left.splice(random.between(0, left.length - 1), 1));
  const first = random.between(0, shards - 1);
  return shuffled
    .map((fault, index) => ({ fault, shard: (first + index) % shards }))
    .filter(({ fault }) => names.length === 0 || names.includes(fault.name));
}
