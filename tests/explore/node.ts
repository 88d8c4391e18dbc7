import { checkoutPageRoutes } from '../../server/features/checkout-sessions/page-routes.ts';
import type { CheckoutPageDependencies } from '../../server/features/checkout-sessions/service.ts';
import { openConnections } from '../../server/features/processors/connections.ts';
import { type RestoreWatch, watchRestores } from '../../server/features/restores/service.ts';
import { type Payments, openPayments } from '../../server/payments.ts';
import type { Clock } from '../../server/platform/clock.ts';
import type { ServiceKey } from '../../server/platform/service-keys.ts';
import { controlPlaneOn, type Queryable } from '../../server/platform/database.ts';
import { usualReferences } from '../../server/references.ts';
import type { RequestContext } from '../../server/request-context.ts';
import { oneShard, openDirectory } from '../../server/shards/directory.ts';
import { movedFrom } from '../../server/shards/follow.ts';
import { openShards, type OpenShard, type Shards } from '../../server/shards/shards.ts';
import type { Vault } from '../../server/vault/vault.ts';
import { restoresWith } from '../support/restores.ts';
import { silentLog } from '../support/silent-log.ts';
import type { LaboratoryShard } from './laboratory.ts';
import { type Machine, running, type Scheduler } from './scheduler.ts';
import { type SteppedPool, steppedPool } from './stepped.ts';

/** A process of the service, with what it has on each shard. Everything it calls is a step of its machine. */

export type Role = 'api' | 'worker';

/** What a process has on a shard. */
export interface Part extends OpenShard, Payments {
  readonly db: SteppedPool;
  readonly queueDb: SteppedPool;
  /** Looks whether the database was restored. */
  readonly look: () => Promise<void>;
}

export interface Node {
  readonly machine: Machine;
  readonly role: Role;
  readonly shards: Shards<Part>;
  readonly vault: Vault;
  readonly pools: readonly SteppedPool[];
  /** A process serves once it has looked whether its databases were restored. */
  readonly ready: Promise<unknown>;
  /** Writes the high-water mark to the disk. */
  readonly keepMark: () => Promise<void>;
}

interface NodeOptions {
  readonly machine: Machine;
  readonly role: Role;
  readonly scheduler: Scheduler;
  readonly shards: readonly LaboratoryShard[];
  readonly vault: Vault;
  readonly clock: Clock;
  /** Seals where customers are led. */
  readonly stepKey: ServiceKey;
  /** Changes the statements of the process, to remove a safeguard. */
  readonly rewrite?: ((text: string) => string) | undefined;
  /** The path of the high-water mark; undefined if the process does not watch for restores. */
  readonly markFile: string | undefined;
}

export function openNode(options: NodeOptions): Node {
  const { machine, role, scheduler, shards: real, vault, clock, markFile, stepKey, rewrite } = options;
  const pools: SteppedPool[] = [];
  const stepped = (pool: LaboratoryShard['db']): SteppedPool => {
    const made = steppedPool(pool, machine, scheduler, rewrite);
    pools.push(made);
    return made;
  };
  const opened = real.map((shard) => ({ shard, db: stepped(shard.db), batchDb: stepped(shard.byKeyDb) }));
  const [first] = opened;
  if (!first) throw new Error('a process needs a shard');
  const control = controlPlaneOn(first.db);
  const directory = opened.length === 1 ? oneShard : openDirectory(control);
  const shards = openShards<Part>(control, [], directory);
  const connections = openConnections(async (companyId) => (await shards.find(companyId)).db);
  const watches: ReturnType<typeof watchOf>[] = [];
  for (const { shard, db, batchDb } of opened) {
    const { name } = shard;
    const watch =
      markFile === undefined ? undefined : watchOf({ machine, scheduler, shard, db, clock, file: markFile });
    const movedTo = opened.length > 1 ? movedFrom(shards, name, ({ orders }: Part) => orders.charging) : undefined;
    const payments = openPayments({
      ...{ db, batchDb, vault, clock, connections, movedTo, stepKey, log: silentLog },
      confirmationUrl: (_company, orderId) => `https://pay.example/confirm/${orderId}`,
      ...(watch && { restores: watch.restores }),
    });
    if (watch) watches.push(watch);
    const look = watch?.look ?? (async () => undefined);
    shards.add({ name, db, clock, queueDb: stepped(shard.queueDb), look, ...payments });
  }
  const ready = scheduler.run(machine, async () => {
    for (const { look } of watches) await look();
  });
  const keepMark = async (): Promise<void> => {
    for (const watch of watches) await watch.keep();
  };
  return { machine, role, shards, vault, pools, ready, keepMark };
}

interface WatchOptions extends Pick<NodeOptions, 'machine' | 'scheduler' | 'clock'> {
  readonly shard: LaboratoryShard;
  readonly db: SteppedPool;
  readonly file: string;
}

/**
 * The watch of a process. Its timers would use real time, so each look and each write of the mark is a step instead; what it
 * does for a request consists of steps of that request.
 */
function watchOf({ machine, scheduler, shard, db, clock, file }: WatchOptions) {
  const either: Queryable = {
    query: (text, values) => (running.getStore() ? db.query(text, values) : shard.db.query(text, values)),
  };
  let watch: RestoreWatch = restoresWith();
  const open = async (): Promise<RestoreWatch> => {
    const opened = await watchRestores({ db: either, clock, log: silentLog, file });
    await opened.stop();
    return opened;
  };
  const look = async (): Promise<void> => {
    watch = await scheduler.step(machine, 'look for a restore', open, { losable: false });
  };
  const restores: RestoreWatch = restoresWith({
    recorded(companyId, transactionId) {
      const current = watch;
      current.recorded(companyId, transactionId);
      void scheduler.step(machine, 'keep the mark', () => current.stop(), { losable: false });
    },
    earlierResult: (...found) => watch.earlierResult(...found),
  });
  return { look, restores, keep: () => watch.stop() };
}

const routes = (node: Node, part: Part) => {
  const cards = { vault: node.vault, clock: part.clock, verifierOf: async () => undefined };
  const dependencies = {
    ...part,
    cards,
    baseUrl: 'https://pay.example',
    references: usualReferences,
    images: { clock: part.clock },
    guard: { clock: part.clock, refusedCards: undefined },
    receiptOf: async () => ({ receipt_url: null, receipt_email: null }),
  };
  // What only other cases of these endpoints use is left out.
  return checkoutPageRoutes(() => dependencies as unknown as CheckoutPageDependencies);
};

type CheckoutRoute = ReturnType<typeof routes>[number];

export type CheckoutCall = 'session' | 'pay' | 'resume' | 'abandon';

/** Calls an endpoint of a checkout page in this process. */
export async function callCheckout(
  node: Node,
  part: Part,
  endpoint: CheckoutCall,
  request: { readonly context: RequestContext; readonly subject: Parameters<CheckoutRoute['handle']>[0]['subject'] },
  body: object = {},
): Promise<unknown> {
  const route = routes(node, part).find(({ path }) => path.endsWith(`/${endpoint}`));
  if (!route) throw new Error(`a checkout page has no endpoint ${endpoint}`);
  const browser = { userAgent: 'Mozilla/5.0', acceptHeader: '*/*' };
  const visit = { address: '127.0.0.1', token: '', addressLocale: {}, browser };
  return route.handle({ ...request, ...visit, params: {}, body, reserve: async () => undefined });
}
