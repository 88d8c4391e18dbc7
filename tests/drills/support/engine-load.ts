import { type DatabasePool, openDatabase } from '../../../server/platform/database.ts';
import { type Diary, newDiary, type Reply, runClient } from '../../chaos/client.ts';
import type { ChaosProcessor } from '../../chaos/processor.ts';
import { keepRenewing } from '../../chaos/renewals.ts';
import { openShops, prepareCompany, type Shops } from '../../chaos/shops.ts';
import type { Receiver } from '../../support/receiver.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import type { DrillStage } from '../drill.ts';
import { openVisitor } from './checkout-visitor.ts';
import type { Engines, EngineShard } from './engines.ts';

/** Companies of two processors and a sandbox on each shard, which order, refund, retry, renew and sell on checkout pages. */

const thinkMs = 2_000;
const renewEveryMs = 3_000;
const timeoutMs = 25_000;
const drainMaxMs = 90_000;

export interface TimedReply {
  /** When the request began, and when it was answered. */
  readonly fromMs: number;
  readonly atMs: number;
  readonly isOrder: boolean;
  /** Why it failed; undefined if it did not. */
  readonly problem: string | undefined;
}

export interface EngineLoad {
  readonly shard: EngineShard;
  readonly db: DatabasePool;
  readonly processors: readonly ChaosProcessor[];
  readonly diary: Diary;
  /** Of the companies that stay on the shard. */
  readonly replies: TimedReply[];
  readonly shops: readonly Shops[];
  readonly companyIds: readonly string[];
}

interface MovingCompany {
  readonly companyId: string;
  readonly shops: Shops;
  readonly replies: TimedReply[];
}

export interface Loads {
  readonly all: readonly EngineLoad[];
  /** Its home is the first shard, in whose books it is. */
  readonly moving: MovingCompany;
  /** Begins the load; ends when each request has an answer. */
  start(seed: number): { stop(): Promise<void> };
}

const problemOf = (reply: Reply | string): string | undefined => {
  if (typeof reply === 'string') return reply;
  const { code = '', message = '' } = reply.body.error ?? {};
  return reply.status >= 500 ? `${reply.status} ${code} ${message}` : undefined;
};

const timed = (replies: TimedReply[]) => (reply: Reply | string, ms: number) => {
  const atMs = performance.now();
  const isOrder = typeof reply !== 'string' && reply.status === 201;
  replies.push({ fromMs: atMs - ms, atMs, isOrder, problem: problemOf(reply) });
};

/** Only keys that a process has seen work without the control plane, and a fault may come before a client has met each process. */
async function useKeys(apiUrls: readonly string[], shops: readonly Shops[]): Promise<void> {
  for (const url of apiUrls) {
    for (const { apiKey } of shops) {
      const { status } = await fetch(`${url}/v1/orders?limit=1`, { headers: { authorization: `Bearer ${apiKey}` } });
      if (status !== 200) throw new Error(`a key at ${url}: ${status}`);
    }
  }
}

export async function openLoads(
  { cleanUp }: DrillStage,
  engines: Engines,
  processors: ReadonlyMap<string, readonly ChaosProcessor[]>,
  receiver: Receiver,
): Promise<Loads> {
  const { apiUrls, environment } = engines;
  const url = apiUrls[0] ?? '';

  async function openCompany(shard: EngineShard, processor: ChaosProcessor) {
    const place = { name: shard.name, connectionString: shard.poolerUrl };
    const { apiKey, sandboxKey, companyId, connectionId, planId } = await prepareCompany(environment, processor, place);
    await processor.sendNoticesTo(`${url}/processors/${connectionId}/notices`);
    const response = await fetch(`${url}/v1/webhook_endpoints`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: receiver.url, enabled_events: ['*'] }),
    });
    if (response.status !== 201) throw new Error(`the endpoint: ${response.status} ${await response.text()}`);
    return { companyId, sandboxKey, shops: await openShops(url, apiKey, 2, planId) };
  }

  const all: EngineLoad[] = [];
  for (const shard of engines.shards) {
    const { superuserUrl: connectionString } = shard.cluster;
    const db = openDatabase({ connectionString, poolSize: 3, applicationName: 'drill', onError: () => undefined });
    cleanUp(() => db.close());
    const own = processors.get(shard.name) ?? [];
    const companies: Awaited<ReturnType<typeof openCompany>>[] = [];
    for (const processor of own) companies.push(await openCompany(shard, processor));
    const sandbox = await openShops(url, companies[0]?.sandboxKey ?? '', 1);
    const shops = [...companies.map((company) => company.shops), sandbox];
    const companyIds = companies.map(({ companyId }) => companyId);
    all.push({ shard, db, processors: own, diary: newDiary(), replies: [], shops, companyIds });
  }
  const [home] = all as [EngineLoad];
  const moving = { ...(await openCompany(home.shard, home.processors[0] as ChaosProcessor)), replies: [] };
  await useKeys(apiUrls, [...all.flatMap(({ shops }) => shops), moving.shops]);

  function start(seed: number): { stop(): Promise<void> } {
    const stopped = new AbortController();
    const abandoned = new AbortController();
    const signals = { stopped: stopped.signal, abandoned: abandoned.signal };
    const clients = (shops: Shops, diary: Diary, replies: TimedReply[], place: number): Promise<void>[] =>
      shops.customerIds.map((customerId, index) =>
        runClient({
          urls: apiUrls,
          apiKey: shops.apiKey,
          customerId,
          goods: shops.goods,
          random: seededRandom(seed + 10 * place + index),
          diary,
          thinkMs,
          timeoutMs,
          onReply: timed(replies),
          ...signals,
        }),
      );
    const working = [
      ...all.flatMap(({ shops, diary, replies }, place) => [
        ...shops.flatMap((each, shop) => clients(each, diary, replies, 100 * (place + 1) + shop)),
        ...shops
          .slice(0, 1)
          .map(({ apiKey }) => openVisitor({ apiUrls, apiKey, diary, onReply: timed(replies), ...signals })),
      ]),
      ...clients(moving.shops, home.diary, moving.replies, 900),
    ];
    const renewing = all.map(({ shard }) => keepRenewing(shard.cluster.superuserUrl, stopped.signal, renewEveryMs));
    return {
      async stop() {
        stopped.abort();
        const giveUp = setTimeout(() => abandoned.abort(), drainMaxMs);
        await Promise.all([...working, ...renewing]);
        clearTimeout(giveUp);
      },
    };
  }
  return { all, moving, start };
}
