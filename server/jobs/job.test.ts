import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../tests/support/silent-log.ts';
import { type Alarm, createAlarm, type WorkLeft } from '../platform/alarm.ts';
import { hourMs } from '../platform/durations.ts';
import { inBatches, repeat } from './job.ts';

/** Repeats a job whose turns end as listed, and returns how many turns it had before its first pause and before its end. */
async function turnsOf(
  answers: readonly (WorkLeft | Error | 'rings')[],
): Promise<{ readonly untilPause: number; readonly all: number }> {
  const paused = Promise.withResolvers<void>();
  const real = createAlarm();
  const alarm: Alarm = {
    ...real,
    pause(ms) {
      paused.resolve();
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
  await paused.promise;
  const untilPause = turns;
  await repeated.stop();
  return { untilPause, all: turns };
}

describe('a repeated job', () => {
  it('runs again at once while it has more to do, and then pauses until it is stopped', async () => {
    assert.deepEqual(await turnsOf(['more', 'more', 'idle']), { untilPause: 3, all: 3 });
  });

  it('runs again at once if its alarm rang during a turn, once for all rings', async () => {
    assert.deepEqual(await turnsOf(['rings', 'idle']), { untilPause: 2, all: 2 });
  });

  it('pauses after a failure', async () => {
    assert.deepEqual(await turnsOf([new Error('failed'), 'more']), { untilPause: 1, all: 1 });
  });

  it('has more to do after a full batch', async () => {
    const answers = [19, 20].map((count) => inBatches(async (_: object, size) => Math.min(count, size), 20)({}));
    assert.deepEqual(await Promise.all(answers), ['idle', 'more']);
  });
});
