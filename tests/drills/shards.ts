import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LocalCluster, postgresSettings } from '../support/local-cluster.ts';
import { freePort } from '../support/listen.ts';
import { atMost, type Drill, type DrillStage, exactly, type Figure, shown } from './drill.ts';
import { hasNextVersion, type NextVersion, prepareNextVersion } from './support/next-version.ts';
import { failures } from './support/moving.ts';
import { until } from './support/probes.ts';
import { failOver, startStandby } from './support/shard-standby.ts';
import {
  compareBooks,
  openLoads,
  openSharded,
  serverOf,
  type Sharded,
  type ShardLoad,
  startLoad,
} from './support/sharded.ts';

/**
 * Companies on three PostgreSQL servers order, refund and retry while one server after the other is killed: a shard, the
 * control plane, a shard that is away while the next version migrates the others, and a shard and the control plane whose standbys take over.
 * Afterwards the books of each shard are compared with the journal of its acquirer.
 */

const calmMs = 5_000;
const outageMs = 20_000;
const wantedBackSeconds = 15;
/** From its sources, beside a load on the same machine. */
const wantedStartSeconds = 60;

export const drill: Drill = {
  summary:
    'Companies on three shards: servers are killed for 20 s, a new version migrates while one is away, and two fail over. `--faults away,migration,failover` plays some.',
  programs: [],
  async run(stage) {
    const { note } = stage;
    const isPlayed = (name: 'away' | 'migration' | 'failover'): boolean => stage.faults?.includes(name) ?? true;
    const next = isPlayed('migration') ? prepareNextVersion(stage) : undefined;
    note('the processes start while shard c is away and has no tables');
    const sharded = await openSharded(stage, ['c']);
    const { cluster } = sharded;
    const atStart = await Promise.all(cluster.apiUrls.map(shardsAt));
    await serverOf(cluster, 'c').start();
    const migratedSeconds = await secondsUntil(() => areUp(cluster.apiUrls, 'c'));
    const loads = await openLoads(stage, sharded);
    const load = startLoad(sharded, loads);
    const calmFromMs = performance.now();
    await sleep(calmMs);
    const calm = percentile(loads.flatMap(({ replies }) => replies).filter(({ atMs }) => atMs >= calmFromMs));

    const figures: Figure[] = [];
    for (const [shard, title] of [
      ['b', 'shard b away'],
      ['a', 'control plane away'],
    ] as const) {
      if (!isPlayed('away')) continue;
      note(title);
      figures.push(...(await outage(cluster, loads, shard, title)));
      await sleep(calmMs);
    }

    if (next) {
      note('the next version starts and migrates while shard c is away');
      figures.push(...(await migrateWhileAway(sharded, loads, next)));
      await sleep(calmMs);
    }

    for (const [shard, title] of [
      ['b', 'failover of shard b'],
      ['a', 'failover of the control plane'],
    ] as const) {
      if (!isPlayed('failover')) continue;
      note(`${title} to its standby`);
      figures.push(...(await failover(stage, sharded, loads, shard, title)));
      await sleep(calmMs);
    }

    await load.stop();
    return [
      shown('p99 while all shards are there', calm),
      exactly('shards at the start', JSON.stringify(atStart[0]), '{"a":"up","b":"up","c":"down"}'),
      atMost('shard c migrated and served after it came', migratedSeconds, wantedBackSeconds, ' s'),
      ...figures,
      ...(await compareBooks(stage, sharded, loads)),
    ];
  },
};

async function shardsAt(url: string): Promise<Readonly<Record<string, string>>> {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(4_000) });
  const { shards = {} } = (await response.json()) as { shards?: Record<string, string> };
  return shards;
}

const areUp = async (urls: readonly string[], shard: string): Promise<boolean> =>
  (await Promise.all(urls.map(shardsAt))).every((shards) => shards[shard] === 'up');

async function secondsUntil(condition: () => Promise<boolean>): Promise<number> {
  const startedMs = performance.now();
  await until(condition);
  return (performance.now() - startedMs) / 1_000;
}

function percentile(replies: ShardLoad['replies']): string {
  const sorted = replies.map(({ ms }) => ms).toSorted((one, other) => one - other);
  return `${Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0)} ms`;
}

/** Kills the server of a shard for some time, while the companies of the others go on. */
async function outage(
  cluster: LocalCluster,
  loads: readonly ShardLoad[],
  shard: string,
  title: string,
): Promise<Figure[]> {
  const server = serverOf(cluster, shard);
  const fromMs = performance.now();
  await server.kill();
  await sleep(outageMs);
  const toMs = performance.now();
  await server.start();
  const backSeconds = await secondsUntil(() => areUp(cluster.apiUrls, shard));
  return [
    ...concerned(loads, shard, title, fromMs, toMs),
    atMost(`${title}: up again after`, backSeconds, wantedBackSeconds, ' s'),
  ];
}

/** Requests of companies on other shards must not fail. */
function concerned(loads: readonly ShardLoad[], shard: string, title: string, fromMs: number, toMs: number): Figure[] {
  const during = (list: readonly ShardLoad[]): ShardLoad['replies'] =>
    list.flatMap(({ replies }) => replies.filter(({ atMs }) => atMs >= fromMs && atMs < toMs));
  const others = during(loads.filter((load) => load.shard !== shard));
  const own = during(loads.filter((load) => load.shard === shard));
  return [
    shown(`${title}: requests of companies on other shards`, others.length),
    ...failures(`${title}: failed ones`, others),
    shown(`${title}: their p99`, percentile(others)),
    shown(
      `${title}: failed requests of its own companies`,
      `${own.filter(({ failed }) => failed).length} of ${own.length}`,
    ),
  ];
}

/** The server of a shard is lost, and its synchronous standby takes over at the same address. */
async function failover(
  stage: DrillStage,
  { cluster }: Sharded,
  loads: readonly ShardLoad[],
  shard: string,
  title: string,
): Promise<Figure[]> {
  const port = await freePort();
  const lost = serverOf(cluster, shard);
  const [from, folder] = [join(stage.folder, `shard-${shard}`), join(stage.folder, `standby-${shard}`)];
  const standby = await startStandby(lost, { from, folder, port, settings: postgresSettings });
  stage.cleanUp(() => standby.stop());
  await sleep(calmMs);
  const fromMs = performance.now();
  await lost.kill();
  const address = await failOver(lost, standby);
  stage.cleanUp(() => address.close());
  const promotedMs = performance.now();
  const backSeconds = await secondsUntil(() => areUp(cluster.apiUrls, shard));
  const own = loads.find((load) => load.shard === shard)?.replies ?? [];
  await until(async () => own.some(({ atMs, failed }) => atMs > promotedMs && !failed));
  const toMs = performance.now();
  return [
    ...concerned(loads, shard, title, fromMs, toMs),
    shown(`${title}: standby promoted after`, `${((promotedMs - fromMs) / 1_000).toFixed(1)} s`),
    atMost(`${title}: up again after the promotion`, backSeconds, wantedBackSeconds, ' s'),
  ];
}

/** The next version serves and migrates the other shards at once, and the one that is away without another start. */
async function migrateWhileAway(
  { cluster, freePort }: Sharded,
  loads: readonly ShardLoad[],
  next: NextVersion,
): Promise<Figure[]> {
  const server = serverOf(cluster, 'c');
  const fromMs = performance.now();
  await server.kill();
  const { url } = await next.start(freePort, { ...cluster.environment, SVC_ROLES: 'api' });
  const seconds = (performance.now() - fromMs) / 1_000;
  const read = async ({ shops }: ShardLoad): Promise<number> => {
    const headers = { authorization: `Bearer ${shops[0]?.apiKey}` };
    return (await fetch(`${url}/v1/orders?limit=1`, { headers })).status;
  };
  const statuses = await Promise.all(loads.map(read));
  const migratedAtStart = await migratedShards(loads.filter(({ shard }) => shard !== 'c'));
  await server.start();
  const toMs = performance.now();
  const backSeconds = await secondsUntil(async () =>
    (await Promise.all(loads.map(read))).every((status) => status === 200),
  );
  return [
    ...concerned(loads, 'c', 'migration with shard c away', fromMs, toMs),
    atMost('the next version is ready with shard c away after', seconds, wantedStartSeconds, ' s'),
    exactly('its answers for shards a, b and c', statuses.join(), '200,200,503'),
    exactly('the shards that it has migrated', migratedAtStart, 'a,b'),
    atMost('it serves shard c without another start after', backSeconds, wantedBackSeconds, ' s'),
    exactly('the shards that it has migrated then', await migratedShards(loads), 'a,b,c'),
  ];
}

async function migratedShards(loads: readonly ShardLoad[]): Promise<string> {
  const found: string[] = [];
  for (const { shard, db } of loads) if (await hasNextVersion(db)) found.push(shard);
  return found.join();
}
