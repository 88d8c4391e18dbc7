import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePorts } from '../chaos/chaos.ts';
import { describeFigures, passed } from '../drills/drill.ts';
import { drillRotation } from '../drills/support/rotating.ts';
import { cloneDatabase } from '../support/database.ts';
import { seededRandom } from '../support/seeded-random.ts';

test('all secrets change under load, without a failed request', { timeout: 180_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-rotation-'));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const database = await cloneDatabase(1);
  t.after(() => database.drop());
  const steps: (() => unknown)[] = [];
  const notes: string[] = [];
  try {
    const figures = await drillRotation(
      { folder, note: (text) => notes.push(text), cleanUp: (step) => steps.push(step) },
      {
        urls: { owner: database.connectionString, api: database.apiUrl, vault: database.vaultUrl },
        ports: await freePorts(seededRandom(process.pid + 1), 6),
        clients: 2,
        phaseMs: 300,
      },
    );
    assert.ok(passed(figures), `${describeFigures(figures)}\n${notes.join('\n')}`);
  } finally {
    for (const step of steps.toReversed()) await step();
  }
});
