import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { watchClocks } from './clock-watch.ts';
import type { Queryable } from './database.ts';
import { openDatabaseClock } from './database-clock.ts';

/** A database and a process whose clocks a test sets; asking takes some time. */
function scene(roundTripMs = 10) {
  const at = { databaseMs: 1_000_000_000, monotonicMs: 5_000, wallMs: 1_000_000_000 };
  const pass = (ms: number): void => {
    at.databaseMs += ms;
    at.monotonicMs += ms;
    at.wallMs += ms;
  };
  const db: Queryable = {
    query: async <Row extends object>() => {
      pass(roundTripMs / 2);
      const now_ms = at.databaseMs;
      pass(roundTripMs / 2);
      return [{ now_ms }] as unknown as Row[];
    },
  };
  const local = { wallMs: () => at.wallMs, monotonicMs: () => at.monotonicMs };
  const open = () => openDatabaseClock(db, (error) => assert.fail(String(error)), local);
  return { at, pass, open };
}

const hourMs = 3_600_000;

describe('the clock of the database', () => {
  it('is the time of the database, not of the wall clock of the process', async () => {
    for (const skewMs of [-2 * hourMs, -65_000, 0, 120_000, 25 * hourMs]) {
      const { at, pass, open } = scene();
      at.wallMs += skewMs;
      const clock = await open();
      assert.equal(clock.nowMs(), at.databaseMs);
      assert.equal(clock.skewMs(), skewMs);
      pass(90_000);
      assert.equal(clock.nowMs(), at.databaseMs);
      clock.stop();
    }
  });

  it('does not follow a step of the wall clock, and says how far that is off', async () => {
    const { at, open } = scene();
    const clock = await open();
    at.wallMs += 25 * hourMs;
    assert.equal(clock.nowMs(), at.databaseMs);
    assert.equal(clock.skewMs(), 25 * hourMs);
    clock.stop();
  });

  it('follows a step of the database when it asks again', async () => {
    for (const stepMs of [120_000, -2 * hourMs, 25 * hourMs]) {
      const { at, open } = scene();
      const clock = await open();
      at.databaseMs += stepMs;
      await clock.sync();
      assert.equal(clock.nowMs(), at.databaseMs);
      clock.stop();
    }
  });

  it('does not jump by less than the measurement error', async () => {
    const { at, open } = scene(40);
    const clock = await open();
    const before = clock.nowMs();
    at.databaseMs += 15;
    await clock.sync();
    assert.equal(clock.nowMs() - before, 40, 'only the time that asking took has passed');
    clock.stop();
  });
});

describe('the watch over the clocks', () => {
  const watched = async (ours: number, vault: number | undefined) => {
    const { at, open } = scene();
    const clock = await open();
    at.wallMs += ours;
    const problems: string[] = [];
    const nowMs = async (): Promise<number | undefined> => (vault === undefined ? undefined : at.databaseMs + vault);
    const watch = await watchClocks(clock, { nowMs }, (problem) => problems.push(problem));
    watch.stop();
    clock.stop();
    return { watch, problems };
  };

  it('finds nothing wrong with 30 seconds', async () => {
    for (const [ours, vault] of [
      [0, 0],
      [30_000, -30_000],
      [-30_000, undefined],
    ] as const) {
      const { watch, problems } = await watched(ours, vault);
      assert.equal(watch.problem(), undefined);
      assert.deepEqual(problems, []);
      assert.deepEqual(watch.skews(), { databaseMs: ours, vaultMs: vault });
    }
  });

  it('names the clock that is further off, and how far', async () => {
    const ours = await watched(-65_000, 0);
    assert.equal(ours.watch.problem(), 'the clock of this process is 65 s behind the database');
    assert.deepEqual(ours.problems, [ours.watch.problem()]);
    const vault = await watched(0, 7_200_000);
    assert.match(vault.watch.problem() ?? '', /vault is 7200 s ahead of the/);
  });

  it('notices within seconds that a clock was corrected', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const { at, open } = scene();
    at.databaseMs -= 90_000;
    const clock = await open();
    const vault = { aheadMs: 90_000, nowMs: async () => at.databaseMs + vault.aheadMs };
    const problems: string[] = [];
    const watch = await watchClocks(clock, vault, (problem) => problems.push(problem));
    assert.equal(watch.problem(), 'the clock of this process is 90 s ahead of the database');
    at.databaseMs += 90_000;
    vault.aheadMs = 0;
    t.mock.timers.tick(5_000);
    for (let turn = 0; turn < 10 && watch.problem() !== undefined; turn += 1) await new Promise(setImmediate);
    assert.equal(watch.problem(), undefined);
    assert.equal(problems.length, 1, 'a problem is reported once a minute');
    watch.stop();
    clock.stop();
  });

  it('counts the requests that a processor calls expired', async () => {
    const { watch } = await watched(0, 0);
    assert.deepEqual(watch.expired(), { count: 0, recently: false });
    watch.noteExpired();
    assert.deepEqual(watch.expired(), { count: 1, recently: true });
  });
});
