import { continuePayments } from '../../server/features/checkout-sessions/jobs.ts';
import { applyDueNotices, pollProcessors } from '../../server/features/processors/notices.ts';
import { compareClosed } from '../../server/features/reconciliation/jobs.ts';
import { reconcile } from '../../server/features/reconciliation/service.ts';
import { startDispatcher } from '../../server/features/webhooks/jobs.ts';
import { silentLog } from '../support/silent-log.ts';
import type { Node, Part } from './node.ts';
import { Machine } from './scheduler.ts';
import { keepingLostClaims } from './safeguards.ts';
import { type SteppedPool, steppedOutbound } from './stepped.ts';
import { scheduledTime } from './timers.ts';
import type { World } from './world.ts';

/** What a worker does all the time, and what an operator does after a restore. */

const log = silentLog;
/** These jobs are rare: they run in every sixth round. */
const rarely = 6;

export async function work(world: World, node: Node): Promise<void> {
  const { machine, shards } = node;
  const { scheduler, dispatching } = world;
  await scheduler.run(machine, async () => {
    await node.ready;
    if (dispatching) for (const part of shards.all) dispatch(world, node, part);
    for (let round = 1; ; round += 1) {
      for (const part of shards.all) await workOn(world, node, part, round);
      await world.pause(machine, world.workerPauseMs);
    }
  });
}

async function workOn({ options }: World, { vault, shards }: Node, part: Part, round: number): Promise<void> {
  const { db, orders, subscriptions } = part;
  const others = shards.all.filter(({ name }) => name !== part.name);
  const isRare = round % rarely === 0;
  const jobs: (false | undefined | (() => Promise<unknown>))[] = [
    () => subscriptions.billDue(64),
    () => orders.reconcileDue(100),
    () => applyDueNotices({ db, vault, orders, log }, 100),
    options.captures && (() => orders.releaseEnded(20)),
    options.banks && (() => orders.askAboutCustomers(20)),
    options.restores && part.look,
    options.restores && (() => compareClosed({ ...part, vault, log, others })),
    options.checkout && (() => continuePayments(part, part, log, 20)),
    isRare && (() => orders.probeConnections()),
    isRare && (() => pollProcessors({ db, vault, orders, log }, 20)),
  ];
  for (const job of jobs) if (job) await job().catch(() => undefined);
}

function dispatch({ options, scheduler, received, laboratory }: World, { machine }: Node, part: Part): void {
  const claims = options.without === 'claims' ? keepingLostClaims : (pool: SteppedPool): SteppedPool => pool;
  startDispatcher({
    db: claims(part.db),
    batchDb: claims(part.queueDb),
    clock: part.clock,
    log,
    outbound: steppedOutbound(machine, scheduler, (body) => received.push(body)),
    secretKey: laboratory.service.webhookSecretKey,
    random: () => 0.5,
  });
}

/** How often the operator looks at the gates. */
const operatorPauseMs = 300_000;

/**
 * The operator of an installation with a processor that cannot list: lets it send its notices again, and ends the comparison
 * after that.
 */
export async function operate(world: World): Promise<void> {
  const { scheduler, merchant, laboratory, postman } = world;
  const operator = new Machine('operator');
  const [{ name, owner: db }] = laboratory.shards;
  const { clock } = laboratory;
  const isAwaited = async (): Promise<boolean> => {
    const rows = await db.query(
      `SELECT 1 FROM company_gates WHERE company_id = $1 AND opened_at IS NULL AND waits_for = 'operator'`,
      [merchant.company.id],
    );
    return rows.length > 0;
  };
  const options = { losable: false };
  await scheduler.run(operator, async () => {
    const pause = (): Promise<void> => world.pause(operator, Math.max(operatorPauseMs, world.workerPauseMs));
    for (let isSentAgain = false; ; await pause()) {
      const isNeeded = await scheduler.step(operator, 'look at the gates', isAwaited, options);
      if (isNeeded && isSentAgain && postman.isIdle) {
        const finish = async (): Promise<void> => {
          const dependencies = { name, db, vault: merchant.vault, clock };
          await scheduledTime.run(scheduler, () => reconcile(dependencies, { adopt: false, finish: true }));
        };
        await scheduler.step(operator, 'reconcile --finish', finish, options);
        isSentAgain = false;
      } else if (isNeeded && !isSentAgain) {
        await scheduler.step(operator, 'let the notices be sent again', () => postman.sendAgain(), options);
        isSentAgain = true;
      }
    }
  });
}
