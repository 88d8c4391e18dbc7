import { fileURLToPath } from 'node:url';
import { type DatabasePool, openDatabase } from '../../../server/platform/database.ts';
import { eventIdOf } from '../../../server/platform/ids.ts';
import { drain, freePorts } from '../../chaos/chaos.ts';
import { type Diary, newDiary, type Reply, runClient } from '../../chaos/client.ts';
import type { ChaosPostgres } from '../../chaos/postgres.ts';
import { type ChaosProcessor, openChaosProcessor } from '../../chaos/processor.ts';
import { openShops, prepareCompany, type Shops } from '../../chaos/shops.ts';
import { verify } from '../../chaos/verify.ts';
import { type LocalCluster, startCluster } from '../../support/local-cluster.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { type DrillStage, exactly, type Figure, shown } from '../drill.ts';
import type { TimedReply } from './moving.ts';
import { until } from './probes.ts';

/** Companies on three shards, each shard with an acquirer of its own, whose clients order, refund and retry. */

const companiesPerShard = 2;
const clientsPerCompany = 3;
export const drainMaxMs = 120_000;
const certificates = fileURLToPath(new URL('../../support/certificates/ca.pem', import.meta.url));

/** The load on one shard. */
export interface ShardLoad {
  readonly shard: string;
  readonly db: DatabasePool;
  readonly processor: ChaosProcessor;
  readonly companyIds: readonly string[];
  readonly shops: readonly Shops[];
  readonly diary: Diary;
  readonly replies: (TimedReply & { readonly ms: number })[];
}

export interface Sharded {
  readonly cluster: LocalCluster;
  readonly processors: readonly ChaosProcessor[];
  readonly receiver: Receiver;
  readonly seed: number;
  /** Of no process yet. */
  readonly freePort: number;
}

export async function openSharded({ folder, cleanUp }: DrillStage, absent: readonly string[] = []): Promise<Sharded> {
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
  const [freePort = 0] = ports.splice(-1);
  const cluster = await startCluster({
    folder,
    ports,
    masterSecret: 'the master secret of a drill with shards',
    absent,
    cleanUp,
    settings: {
      SVC_PROCESSOR_ORIGINS: processors.map(({ url }) => url).join(),
      SVC_WEBHOOK_ALLOW: '127.0.0.0/8',
      SVC_WEBHOOK_CA: certificates,
      ...Object.fromEntries(['GLOBAL', 'READ', 'WRITE', 'CAPTURE'].map((kind) => [`SVC_RATE_LIMIT_${kind}`, 'off'])),
    },
  });
  return { cluster, processors, receiver, seed, freePort };
}

export async function openLoads(stage: DrillStage, { cluster, processors, receiver }: Sharded): Promise<ShardLoad[]> {
  const loads: ShardLoad[] = [];
  for (const [index, processor] of processors.entries())
    loads.push(await openLoad(stage, cluster, [...cluster.shards.keys()][index] ?? '', processor, receiver));
  stage.note(`${loads.length * companiesPerShard * clientsPerCompany} clients order on three shards`);
  return loads;
}

export function serverOf({ shards }: LocalCluster, name: string): ChaosPostgres {
  const server = shards.get(name);
  if (!server) throw new Error(`there is no shard ${name}`);
  return server;
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
    shops.push(await openShops(cluster.url, apiKey, clientsPerCompany));
  }
  return { shard, db, processor, companyIds, shops, diary: newDiary(), replies: [] };
}

export function startLoad(
  { cluster: { apiUrls }, seed }: Sharded,
  loads: readonly ShardLoad[],
  thinkMs = 300,
): { stop(): Promise<void> } {
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
          thinkMs,
          timeoutMs: 20_000,
          onReply: (reply, ms) =>
            replies.push({
              companyId: companyIds[shop] ?? '',
              atMs: performance.now() - ms,
              ms,
              failed: hasFailed(reply),
              problem: problemOf(reply),
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

const problemOf = (reply: Reply | string): string => {
  if (typeof reply === 'string') return reply;
  const { code = '', message = '' } = reply.body.error ?? {};
  return `${reply.status} ${code} ${message}`;
};

const hasFailed = (reply: Reply | string): boolean => typeof reply === 'string' || reply.status >= 500;

/** Compares the books of each shard with the journal of its acquirer, and its events with what the receiver got. */
export async function compareBooks(
  { note }: DrillStage,
  { cluster, receiver }: Sharded,
  loads: readonly ShardLoad[],
): Promise<Figure[]> {
  note('the books are compared');
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
    shown(
      'requests',
      loads.reduce((sum, { replies }) => sum + replies.length, 0),
    ),
    exactly('processes that ended', cluster.processes.flatMap(({ ownEnds }) => ownEnds).length, 0),
    shown('orders', orders),
    exactly('lost, doubled or in doubt, or differences between the books', broken.length, 0),
    shown('events', events),
    exactly('events that the receiver did not get', undelivered.length, 0),
  ];
}
