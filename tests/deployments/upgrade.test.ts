import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readReleases } from '../../scripts/record-release.ts';
import { freePorts } from '../chaos/chaos.ts';
import { describeFigures, passed } from '../drills/drill.ts';
import { drillUpgrade } from '../drills/support/upgrading.ts';
import { emptyDatabase } from '../support/database.ts';
import { unpackCommit } from '../support/fleet.ts';
import { seededRandom } from '../support/seeded-random.ts';

test('the release before runs beside this version, and starts again on its schema', { timeout: 180_000 }, async (t) => {
  const [version = '', release] = Object.entries(await readReleases()).at(-1) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'svc-upgrade-'));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const oldRoot = unpackCommit(release?.commit ?? '', join(folder, version));
  if (!oldRoot) return t.skip(`this tree does not have the history of ${version} (${release?.commit})`);
  const database = await emptyDatabase();
  t.after(() => database.drop());
  const steps: (() => unknown)[] = [];
  const notes: string[] = [];
  try {
    const figures = await drillUpgrade(
      { folder, note: (text) => notes.push(text), cleanUp: (step) => steps.push(step) },
      {
        oldRoot,
        urls: { owner: database.connectionString, api: database.apiUrl, vault: database.vaultUrl },
        ports: await freePorts(seededRandom(process.pid), 5),
        clients: 2,
        phaseMs: 500,
      },
    );
    assert.ok(passed(figures), `${describeFigures(figures)}\n${notes.join('\n')}`);
  } finally {
    for (const step of steps.toReversed()) await step();
  }
  return undefined;
});
