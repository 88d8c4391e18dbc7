import { setTimeout as sleep } from 'node:timers/promises';
import { type Drill, type Figure } from './drill.ts';
import { moveAll } from './support/moving.ts';
import { keepRenewing, subscribeAll } from './support/renewing.ts';
import { compareBooks, drainMaxMs, openLoads, openSharded, startLoad } from './support/sharded.ts';

/**
 * Companies on three shards move to another one and back while they order, refund, retry and renew, with two workers
 * beside. Afterwards the books of each shard are compared with the journal of its acquirer.
 */

const movingCompanies = 5;
const calmMs = 3_000;
const thinkMs = 800;
/** Some charges are declined, so that renewals are retried too. */
const declinedShare = 0.05;

export const drill: Drill = {
  summary: 'Five companies on three shards move to another shard and back while they charge and renew.',
  programs: [],
  async run(stage) {
    const sharded = await openSharded(stage);
    const { cluster, processors } = sharded;
    const loads = await openLoads(stage, sharded);
    for (const { companyIds, shops } of loads)
      for (const [index, shop] of shops.entries()) await subscribeAll(cluster, companyIds[index] ?? '', shop);
    await Promise.all(processors.map((processor) => processor.setFaults({ 'decline:51': declinedShare })));
    const load = startLoad(sharded, loads, thinkMs);
    const companies = loads.flatMap(({ shard, companyIds }) => companyIds.map((companyId) => ({ shard, companyId })));
    const renewing = keepRenewing(
      companies.map(({ companyId }) => companyId),
      loads.map(({ db }) => db),
    );
    await sleep(calmMs);
    stage.note('companies move to another shard and back');
    const figures: Figure[] = await moveAll(
      cluster.environment,
      [...cluster.shards.keys()],
      companies.slice(0, movingCompanies),
      () => loads.flatMap(({ replies }) => replies),
    );
    await Promise.all(processors.map((processor) => processor.setFaults({})));
    await load.stop();
    figures.push(...(await renewing.stop(performance.now() + drainMaxMs)));
    return [...figures, ...(await compareBooks(stage, sharded, loads))];
  },
};
