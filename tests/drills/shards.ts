import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type DatabasePool, openDatabase } from '../../server/platform/database.ts';
import { eventIdOf } from '../../server/platform/ids.ts';
import { drain, freePorts } from '../chaos/chaos.ts';
import { type Diary, newDiary, type Reply, runClient } from '../chaos/client.ts';
import { type ChaosProcessor, openChaosProcessor } from '../chaos/processor.ts';
import { openShops, prepareCompany, type Shops } from '../chaos/shops.ts';
import { verify } from '../chaos/verify.ts';
import { type LocalCluster, startCluster } from '../support/local-cluster.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { atMost, type Drill, type DrillStage, exactly, type Figure, shown } from './drill.ts';
import { moveAll } from './support/moving.ts';
import { until } from './support/probes.ts';
import { keepRenewing, subscribeAll } from './support/renewing.ts';

/**
 * Companies on three PostgreSQL servers order, refund and retry while one server after the other is killed: a shard, the
 * control plane, and a shard that is away when processes start. Then companies move to another shard and back. Afterwards the books of each shard are compared with
 * the journal of its acquirer.
 */

const companiesPerShard = 2;
const clientsPerCompany = 3;
const calmMs = 5_000;
const outageMs = 20_000;
const movingCompanies = 5;
/** Some charges are declined meanwhile, so that renewals are retried too. */
const declinedShare = 0.05;
const drainMaxMs = 120_000;
const wantedBackSeconds = 15;
const certificates = fileURLToPath(new URL('../support/certificates/ca.pem', import.meta.url));

/** The load on one shard. */
interface ShardLoad {
  readonly shard: string;
  readonly db: DatabasePool;
  readonly processor: ChaosProcessor;
  readonly companyIds: readonly string[];
  readonly shops: readonly Shops[];
  readonly diary: Diary;
  readonly replies: {
    readonly companyId: string;
    readonly atMs: number;
    readonly ms: number;
    readonly failed: boolean;
  }[];
}

export const drill: Drill = {
  summary: 'Companies on three shards: each server is killed, processes start while one is away, and companies move.',
  programs: [],
  async run(stage) {
    const { folder, note, cleanUp } = stage;
    const seed = Date.now() % 1_000_000;
    const ports = await freePorts(seededRandom(seed), 11);
    const processors = ports.splice(0, 3).map((port, index) => {
      const processor = openChaosProcessor('acquirer', { folder, name: `acquirer-${'abc'[index]}`, port, seed });
      cleanUp(() => processor.killNow());
      return processor;
    });
    await Promise.all(processors.map((processor) => processor.start()));
    const receiver = await startReceiver();
    cleanUp(() => receiver.stop());
    const thirdPort = ports.pop() ?? 0;

    note('the processes start while shard c is away and has no tables');
    const cluster = await startCluster({
      folder,
      ports,
      masterSecret: 'the master secret of a drill with shards',
      absent: ['c'],
      cleanUp,
      settings: {
        SVC_PROCESSOR_ORIGINS: processors.map(({ url }) => url).join(),
        SVC_WEBHOOK_ALLOW: '127.0.0.0/8',
        SVC_WEBHOOK_CA: certificates,
        ...Object.fromEntries(['GLOBAL', 'READ', 'WRITE', 'CAPTURE'].map((kind) => [`SVC_RATE_LIMIT_${kind}`, 'off'])),
      },
    });
    const atStart = await Promise.all(cluster.apiUrls.map(shardsAt));
    await serverOf(cluster, 'c').start();
    const migratedSeconds = await secondsUntil(() => areUp(cluster.apiUrls, 'c'));

    const loads: ShardLoad[] = [];
    for (const [index, processor] of processors.entries())
      loads.push(await openLoad(stage, cluster, 'abc'[index] ?? '', processor, receiver));
    const load = startLoad(cluster, loads, seed);
    note(`${loads.length * companiesPerShard * clientsPerCompany} clients order on three shards`);
    const calmFromMs = performance.now();
    await sleep(calmMs);
    const calm = percentile(loads.flatMap(({ replies }) => replies).filter(({ atMs }) => atMs >= calmFromMs));

    const figures: Figure[] = [];
    for (const [shard, title] of [
      ['b', 'shard b away'],
      ['a', 'control plane away'],
    ] as const) {
      note(title);
      figures.push(...(await outage(cluster, loads, shard, title)));
      await sleep(calmMs);
    }

    note('an API starts while shard c is away');
    const late = startWhileAway(cluster, loads, thirdPort);
    figures.push(...(await outage(cluster, loads, 'c', 'shard c away', outageMs / 2)), ...(await late));
    await sleep(calmMs);

    note('companies move to another shard and back while they charge and renew');
    const homes = loads.flatMap(({ shard, companyIds }) => companyIds.map((companyId) => ({ shard, companyId })));
    const moving = homes.slice(0, movingCompanies);
    const renewing = keepRenewing(
      homes.map(({ companyId }) => companyId),
      loads.map(({ db }) => db),
    );
    await Promise.all(processors.map((processor) => processor.setFaults({ 'decline:51': declinedShare })));
    const replies = (): ShardLoad['replies'] => loads.flatMap((one) => one.replies);
    figures.push(...(await moveAll(cluster.environment, [...cluster.shards.keys()], moving, replies)));
    await Promise.all(processors.map((processor) => processor.setFaults({})));
    await sleep(calmMs);

    await load.stop();
    figures.push(...(await renewing.stop(performance.now() + drainMaxMs)));
    note('the books are compared');
    return [
      shown(
        'requests',
        loads.reduce((sum, { replies }) => sum + replies.length, 0),
      ),
      shown('p99 while all shards are there', calm),
      exactly('shards at the start', JSON.stringify(atStart[0]), '{"a":"up","b":"up","c":"down"}'),
      atMost('shard c migrated and served after it came', migratedSeconds, wantedBackSeconds, ' s'),
      ...figures,
      exactly('processes that ended', cluster.processes.flatMap(({ ownEnds }) => ownEnds).length, 0),
      ...(await compareBooks(stage, cluster, loads, receiver)),
    ];
  },
};

const serverOf = ({ shards }: LocalCluster, name: string) => {
  const server = shards.get(name);
  if (!server) throw new Error(`there is no shard ${name}`);
  return server;
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

async function openLoad(
  { cleanUp }: DrillStage,
  cluster: LocalCluster,
  shard: string,
  processor: ChaosProcessor,
  receiver: Receiver,
): Promise<ShardLoad> {
  const { connectionString } = serverOf(cluster, shard);
  const db = openDatabase({ connectionString, poolSize: 2, applicationName: 'drill', onError: () => undefined });
  cleanUp(() => db.close());
  const companyIds: string[] = [];
  const shops: Shops[] = [];
  for (let count = 0; count < companiesPerShard; count += 1) {
    const { apiKey, companyId } = await prepareCompany(cluster.environment, processor, {
      name: shard,
      connectionString,
    });
    companyIds.push(companyId);
    const response = await fetch(`${cluster.url}/v1/webhook_endpoints`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: receiver.url, enabled_events: ['*'] }),
    });
    if (response.status !== 201) throw new Error(`the endpoint: ${response.status} ${await response.text()}`);
    const shop = await openShops(cluster.url, apiKey, clientsPerCompany);
    await subscribeAll(cluster, companyId, shop);
    shops.push(shop);
  }
  return { shard, db, processor, companyIds, shops, diary: newDiary(), replies: [] };
}

function startLoad({ apiUrls }: LocalCluster, loads: readonly ShardLoad[], seed: number): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const abandoned = new AbortController();
  const clients = loads.flatMap(({ shops, companyIds, diary, replies }, place) =>
    shops.flatMap(({ apiKey, goods, customerIds }, shop) =>
      customerIds.map((customerId, index) =>
        runClient({
          urls: apiUrls,
          apiKey,
          customerId,
          goods,
          random: seededRandom(seed + 100 * place + 10 * shop + index),
          diary,
          thinkMs: 300,
          timeoutMs: 20_000,
          onReply: (reply, ms) =>
            replies.push({
              companyId: companyIds[shop] ?? '',
              atMs: performance.now() - ms,
              ms,
              failed: hasFailed(reply),
            }),
          stopped: stopped.signal,
          abandoned: abandoned.signal,
        }),
      ),
    ),
  );
  return {
    async stop() {
      stopped.abort();
      const giveUp = setTimeout(() => abandoned.abort(), drainMaxMs);
      await Promise.all(clients);
      clearTimeout(giveUp);
    },
  };
}

const hasFailed = (reply: Reply | string): boolean => typeof reply === 'string' || reply.status >= 500;

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
  ms = outageMs,
): Promise<Figure[]> {
  const server = serverOf(cluster, shard);
  const fromMs = performance.now();
  await server.kill();
  await sleep(ms);
  const toMs = performance.now();
  await server.start();
  const backSeconds = await secondsUntil(() => areUp(cluster.apiUrls, shard));
  const during = (list: readonly ShardLoad[]): ShardLoad['replies'] =>
    list.flatMap(({ replies }) => replies.filter(({ atMs }) => atMs >= fromMs && atMs < toMs));
  const others = during(loads.filter((load) => load.shard !== shard));
  const own = during(loads.filter((load) => load.shard === shard));
  return [
    shown(`${title}: requests of companies on other shards`, others.length),
    exactly(`${title}: failed ones`, others.filter(({ failed }) => failed).length, 0),
    shown(`${title}: their p99`, percentile(others)),
    shown(
      `${title}: failed requests of its own companies`,
      `${own.filter(({ failed }) => failed).length} of ${own.length}`,
    ),
    atMost(`${title}: up again after`, backSeconds, wantedBackSeconds, ' s'),
  ];
}

/** A process that starts meanwhile serves the other shards at once, and this one without another start. */
async function startWhileAway(cluster: LocalCluster, loads: readonly ShardLoad[], port: number): Promise<Figure[]> {
  const server = serverOf(cluster, 'c');
  await until(async () => !server.isAlive());
  const startedMs = performance.now();
  await cluster.startProcess('API 3', { SVC_ROLES: 'api', PORT: String(port) });
  const seconds = (performance.now() - startedMs) / 1_000;
  const url = `http://127.0.0.1:${port}`;
  const read = async ({ shops }: ShardLoad): Promise<number> => {
    const headers = { authorization: `Bearer ${shops[0]?.apiKey}` };
    return (await fetch(`${url}/v1/orders?limit=1`, { headers })).status;
  };
  const statuses = await Promise.all(loads.map(read));
  await until(async () => server.isAlive());
  const backSeconds = await secondsUntil(async () =>
    (await Promise.all(loads.map(read))).every((status) => status === 200),
  );
  return [
    atMost('a new API is ready with shard c away after', seconds, wantedBackSeconds, ' s'),
    exactly('its answers for shards a, b and c', statuses.join(), '200,200,503'),
    atMost('it serves shard c without another start after', backSeconds, wantedBackSeconds, ' s'),
  ];
}

async function compareBooks(
  { note }: DrillStage,
  cluster: LocalCluster,
  loads: readonly ShardLoad[],
  receiver: Receiver,
): Promise<Figure[]> {
  const deadlineMs = performance.now() + drainMaxMs;
  const broken: string[] = [];
  const undelivered: string[] = [];
  let [orders, events] = [0, 0];
  for (const { shard, db, processor, shops, diary, companyIds } of loads) {
    await drain(db, { urls: cluster.apiUrls, shops }, deadlineMs);
    const { violations, totals } = await verify(db, await processor.journal(), diary);
    broken.push(...violations.map((violation) => `shard ${shard}: ${violation}`));
    orders += totals.ordersInLedger;
    const pending = `SELECT 1 FROM webhook_deliveries WHERE status <> 'delivered' LIMIT 1`;
    await until(async () => performance.now() > deadlineMs || (await db.query(pending)).length === 0);
    const rows = await db.query<{ id: string }>('SELECT id FROM events WHERE company_id = ANY($1)', [companyIds]);
    const received = new Set(receiver.received.map(({ event }) => event.id as string));
    undelivered.push(...rows.map(({ id }) => eventIdOf(id)).filter((id) => !received.has(id)));
    events += rows.length;
  }
  for (const line of broken.slice(0, 8)) note(line);
  return [
    shown('orders', orders),
    exactly('lost, doubled or in doubt, or differences between the books', broken.length, 0),
    shown('events', events),
    exactly('events that the receiver did not get', undelivered.length, 0),
  ];
}
