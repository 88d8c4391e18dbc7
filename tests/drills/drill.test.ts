import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atMost, describeFigures, type Drill, exactly, missingPrograms, passed, shown } from './drill.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { recommendedParameters, recommendedPatroni } from './support/engines.ts';
import { faults, planFaults } from './support/faults.ts';
import { longestGap, secondsOf } from './support/gaps.ts';
import { recommended } from './support/patroni.ts';
import { recommendedPgbouncer } from './support/pgbouncer.ts';
import { recommendedSentinel } from './support/sentinel.ts';
import { alertsOf, awayParts, isSaidRightly } from './support/sightings.ts';
import { doubledOrders } from './support/engine-books.ts';

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

test('the guide has the settings of Patroni, PgBouncer and Sentinel that the drill engines proves', () => {
  const guide = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8').split(/\n */);
  const { ignore_slots: slots, postgresql, ...patroni } = recommendedPatroni;
  const lines = [
    ...Object.entries({ ...patroni, ...postgresql, ...recommendedParameters }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    ...slots.map(({ type, plugin }) => `- {type: ${type}, plugin: ${plugin}}`),
    ...recommendedPgbouncer,
    ...Object.entries(recommendedSentinel).map(([name, value]) => `sentinel ${name} svc-limits ${value}`),
  ];
  for (const line of lines) assert.ok(guide.includes(line), line);
});

test('a seed repeats the order of faults and their shards, and both shards are hit', () => {
  const plan = (seed: number, names?: readonly string[]): string[] =>
    planFaults(seededRandom(seed), names).map(({ fault, shard }) => `${fault.name} ${shard}`);
  assert.deepEqual(plan(7), plan(7));
  assert.notDeepEqual(plan(7), plan(8));
  assert.deepEqual(
    plan(7)
      .map((one) => one.split(' ')[0] ?? '')
      .toSorted(),
    faults.map(({ name }) => name).toSorted(),
  );
  assert.deepEqual(new Set(plan(7).map((one) => one.split(' ')[1])), new Set(['0', '1']));
  // The rest of the plan stays as it is, so that one fault can be repeated.
  assert.deepEqual(
    plan(7, ['cut', 'disk']),
    plan(7).filter((one) => /^(cut|disk) /.test(one)),
  );
  assert.throws(() => plan(7, ['flood']), /There is no fault flood; there are: kill, switchover/);
});

test('the longest gap counts from the fault to the first order, between orders, and to the end', () => {
  const gapOf = (...writes: number[]): number => secondsOf(longestGap(writes, 10_000, 20_000));
  assert.equal(gapOf(), 10);
  assert.equal(gapOf(13_000, 12_000, 19_000), 6);
  assert.equal(gapOf(9_000, 18_000, 25_000), 8);
  assert.equal(gapOf(11_000, 12_000), 8);
});

test('an order with two approved charges is doubled; a declined one and a refund are not', () => {
  const operation = (
    reference: string,
    status: 'approved' | 'declined' = 'approved',
    kind: 'charge' | 'refund' = 'charge',
  ) => ({
    reference,
    status,
    kind,
  });
  const orderOf = new Map([1, 2, 3].map((number) => [`r${number}`, 'o1']));
  assert.deepEqual(doubledOrders([operation('r1'), operation('r2')], orderOf), ['o1']);
  assert.deepEqual(
    doubledOrders([operation('r1'), operation('r2', 'declined'), operation('r3', 'approved', 'refund')], orderOf),
    [],
  );
  assert.deepEqual(doubledOrders([operation('r1'), operation('other')], orderOf), []);
});

test('what processes say about their parts is read from /readyz and from the alerts on their metrics', () => {
  const ready = { status: 'ready', components: { vault: 'up' }, shards: { a: 'up', b: 'up' } };
  assert.deepEqual(awayParts(200, ready), []);
  assert.deepEqual(awayParts(200, { ...ready, shards: { a: 'up', b: 'down' } }), ['shard b']);
  assert.deepEqual(awayParts(503, { status: 'not ready', components: { database: 'down' } }), [
    'not ready',
    'database',
  ]);
  const standby = 'writes wait for a synchronous standby (shard b); svc doctor says what to do';
  assert.deepEqual(awayParts(200, { ...ready, standby }), ['standby b']);
  const metrics = [
    '# HELP',
    'svc_shard_up{shard="a"} 1',
    'svc_shard_up{shard="b"} 0',
    'svc_component_up{component="database"} 1',
  ];
  assert.deepEqual(alertsOf(metrics.join('\n')), ['SvcShardDown b']);
});

test('a fault must be named, and no shard beside it', () => {
  assert.equal(isSaidRightly(['shard b', 'vault'], 'shard b', 'b'), true);
  assert.equal(isSaidRightly(['vault'], 'shard b', 'b'), false);
  assert.equal(isSaidRightly(['shard a', 'shard b'], 'shard b', 'b'), false);
  // The control plane is on the shard a.
  assert.equal(isSaidRightly(['database', 'shard a'], 'shard a', 'a'), true);
  assert.equal(isSaidRightly(['database', 'shard b'], 'shard b', 'b'), false);
  assert.equal(isSaidRightly(['rate_limit_store'], 'rate_limit_store', undefined), true);
  assert.equal(isSaidRightly(['shard a'], undefined, undefined), false);
});
