import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atMost, describeFigures, type Drill, exactly, missingPrograms, passed, shown } from './drill.ts';
import { recommended } from './support/patroni.ts';

const runner = fileURLToPath(new URL('run.ts', import.meta.url));

test('a drill passes only when it has figures and each of them is what it must be', () => {
  assert.equal(passed([atMost('outage', 29.94, 30, ' s'), exactly('lost orders', 0, 0), shown('orders', 120)]), true);
  assert.equal(passed([atMost('outage', 31, 30, ' s'), exactly('lost orders', 0, 0)]), false);
  assert.equal(passed([exactly('ready meanwhile', true, false)]), false);
  assert.equal(passed([]), false);
});

test('a figure is printed with its value, its verdict and its bound', () => {
  const printed = describeFigures([atMost('outage', 31.25, 30, ' s'), exactly('lost', 0, 0), shown('orders', 120)]);
  assert.deepEqual(printed.split('\n'), [
    'outage  31.3 s  FAIL  wanted ≤ 30 s',
    'lost    0       PASS  wanted 0',
    'orders  120',
  ]);
});

test('a drill names the programs that are absent', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-programs-'));
  try {
    writeFileSync(join(folder, 'present'), '', { mode: 0o755 });
    writeFileSync(join(folder, 'not-executable'), '', { mode: 0o644 });
    const drill: Drill = {
      summary: '',
      programs: ['present', 'not-executable', 'absent'],
      run: async () => [],
    };
    assert.deepEqual(missingPrograms(drill, `/nonexistent:${folder}`), ['not-executable', 'absent']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('npm run drill lists the drills, and refuses the name of none', () => {
  const list = spawnSync(process.execPath, [runner], { encoding: 'utf8' });
  assert.equal(list.status, 0, list.stderr);
  assert.match(list.stdout, /npm run drill NAME… \| all/);
  const unknown = spawnSync(process.execPath, [runner, 'no-such-drill'], { encoding: 'utf8' });
  assert.equal(unknown.status, 1);
  assert.match(unknown.stderr, /There is no drill no-such-drill/);
});

test('the guide recommends the settings of Patroni and HAProxy that the drill failover proves', () => {
  const guide = readFileSync(new URL('../../docs/self-hosting.md', import.meta.url), 'utf8').split(/\n */);
  const { postgresql, ...election } = recommended.patroni;
  const patroni = Object.entries({ ...election, ...postgresql }).map(([name, value]) => `${name}: ${value}`);
  for (const line of [...patroni, ...recommended.haproxy]) assert.ok(guide.includes(line), line);
});
