import { migrate } from '../../server/platform/migrations.ts';
import { freePorts } from '../chaos/chaos.ts';
import { openChaosPostgres } from '../chaos/postgres.ts';
import { seededRandom } from '../support/seeded-random.ts';
import type { Drill } from './drill.ts';
import { drillRotation } from './support/rotating.ts';

export const drill: Drill = {
  summary: 'The master secret, all keys, the vault keys and the token of the vault change under load.',
  programs: [],
  async run(stage) {
    const [databasePort = 0, ...ports] = await freePorts(seededRandom(Date.now() % 1_000_000), 7);
    const postgres = await openChaosPostgres(stage.folder, databasePort);
    stage.cleanUp(() => postgres.killNow());
    await postgres.start();
    const { connectionString: url } = postgres;
    await migrate(url);
    return drillRotation(stage, { urls: { owner: url, api: url, vault: url }, ports, clients: 8, phaseMs: 15_000 });
  },
};
