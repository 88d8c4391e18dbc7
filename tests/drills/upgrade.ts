import { join } from 'node:path';
import { readReleases } from '../../scripts/record-release.ts';
import { freePorts } from '../chaos/chaos.ts';
import { openChaosPostgres } from '../chaos/postgres.ts';
import { unpackCommit } from '../support/fleet.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type Drill, shown } from './drill.ts';
import { drillUpgrade } from './support/upgrading.ts';

export const drill: Drill = {
  summary: 'The release before and this version serve side by side, on the schema of this version.',
  programs: [],
  async run(stage) {
    const [version = '', release] = Object.entries(await readReleases()).at(-1) ?? [];
    const oldRoot = unpackCommit(release?.commit ?? '', join(stage.folder, version));
    if (!oldRoot) return [shown('skipped: this tree does not have the history of', version)];
    const [databasePort = 0, ...ports] = await freePorts(seededRandom(Date.now() % 1_000_000), 6);
    const postgres = await openChaosPostgres(stage.folder, databasePort);
    stage.cleanUp(() => postgres.killNow());
    await postgres.start();
    const { connectionString: url } = postgres;
    return drillUpgrade(stage, {
      oldRoot,
      urls: { owner: url, api: url, vault: url },
      ports,
      clients: 8,
      phaseMs: 20_000,
    });
  },
};
