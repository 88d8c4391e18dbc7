import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../tests/support/silent-log.ts';
import { type Alarm, createAlarm, type WorkLeft } from '../platform/alarm.ts';
import { hourMs } from '../platform/durations.ts';
import { inBatches, repeat } from './job.ts';

/**
 * Repeats a job whose turns end as listed. Each message rings in one of its first pauses. Returns how many turns it had
 * before each pause, and before its end.
 */
async function turnsOf(
  answers: readonly (WorkLeft | Error | 'rings')[],
  messages = 0,
): Promise<{ readonly atPauses: readonly number[]; readonly atEnd: number }> {
  const lastPause = Promise.withResolvers<void>();
  const atPauses: number[] = [];
  const real = createAlarm();
  const alarm: Alarm = {
    ...real,
    pause(ms) {
      atPauses.push(turns);
      if (atPauses.length > messages) lastPause.resolve();
      else setImmediate(real.ring);
      return real.pause(ms);
    },
  };
  let turns = 0;
  const run = async (): Promise<WorkLeft> => {
    const answer = answers[turns] ?? 'idle';
    turns += 1;
    if (answer instanceof Error) throw answer;
    if (answer === 'rings') alarm.ring();
    return answer === 'more' ? 'more' : 'idle';
  };
  const repeated = repeat({ name: 'test', everyMs: hourMs, run }, { log: silentLog }, alarm);
  await lastPause.promise;
  await repeated.stop();
  return { atPauses, atEnd: turns };
}

describe('a repeated job', () => {
  it('runs again at once while it has more to do, and then pauses until it is stopped', async () => {
    assert.deepEqual(await turnsOf(['more', 'more', 'idle']), { atPauses: [3], atEnd: 3 });
  });

  it('runs again at once if its alarm rang during a turn, once for all rings', async () => {
    assert.deepEqual(await turnsOf(['rings', 'idle']), { atPauses: [2], atEnd: 2 });
  });

  it('runs once for a message that ends its pause', async () => {
    assert.deepEqual(await turnsOf(['idle'], 2), { atPauses: [1, 2, 3], atEnd: 3 });
  });

  it('pauses after a failure', async () => {
    assert.deepEqual(await turnsOf([new Error('failed'), 'more']), { atPauses: [1], atEnd: 1 });
  });

  it('runs again within a minute after a failure, also if its turn is once an hour', async () => {
    const paused = Promise.withResolvers<number>();
    const alarm: Alarm = { ...createAlarm(), pause: async (ms) => paused.resolve(ms) };
    const run = async (): Promise<WorkLeft> => Promise.reject(new Error('failed'));
    const repeated = repeat({ name: 'test', everyMs: hourMs, run }, { log: silentLog }, alarm);
    assert.equal(await paused.promise, 60_000);
    await repeated.stop();
  });

  it('does not pause if it is stopped during a turn that fails', async () => {
    const started = Promise.withResolvers<void>();
    const failing = Promise.withResolvers<WorkLeft>();
    const alarm: Alarm = { ...createAlarm(), pause: () => assert.fail('it pauses') };
    const run = (): Promise<WorkLeft> => {
      started.resolve();
      return failing.promise;
    };
    const repeated = repeat({ name: 'test', everyMs: hourMs, run }, { log: silentLog }, alarm);
    await started.promise;
    const stopped = repeated.stop();
    failing.reject(new Error('failed'));
    await stopped;
  });

  it('has more to do after a full batch', async () => {
    const answers = [19, 20].map((count) => inBatches(async (_: object, size) => Math.min(count, size), 20)({}));
    assert.deepEqual(await Promise.all(answers), ['idle', 'more']);
  });
});
