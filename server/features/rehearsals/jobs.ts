import { ApiError } from '../../errors.ts';
import type { WorkLeft } from '../../platform/alarm.ts';
import { minuteMs } from '../../platform/durations.ts';
import { claimRehearsal, type RehearsalRow, saveTurn } from './queries.ts';
import { type RehearsalStep, type StepName, stepNames } from './schemas.ts';
import { openStage, type RehearsalShard, type Stage } from './stage.ts';
import { type Found, steps } from './steps.ts';

/** Longer than a step takes. After it, another process continues the work of one that died. */
const leaseSeconds = 60;
/** Until the next look at what a step waits for. */
const pauseSeconds = 1;
/** For a failure of the service itself, which is tried again at each lease. */
const failsMaxMs = 10 * minuteMs;
/** For a notice, or for the outcome of a payment in doubt. */
const waitMaxMs = 2 * minuteMs;

/** Job: makes one step of one rehearsal. */
export async function continueRehearsals(shard: RehearsalShard, waitMs: number = waitMaxMs): Promise<WorkLeft> {
  const row = await claimRehearsal(shard.db, leaseSeconds);
  if (!row) return 'idle';
  const name = stepNames[row.steps.length];
  const stage = await openStage(shard, row);
  if (!stage || !name) {
    await saveTurn(shard.db, row, { steps: row.steps, made: row.made, end: 'failed', pauseSeconds: 0 });
    return 'more';
  }
  const found = await make(stage, name);
  const isOver = found.result !== 'waiting' || row.waited_ms >= waitMs;
  if (!isOver) {
    await saveTurn(shard.db, row, { steps: row.steps, made: stage.made, end: null, pauseSeconds });
    return 'more';
  }
  const ended = [...row.steps, shown(name, found, stage.context.nowMs)];
  await saveTurn(shard.db, row, { steps: ended, made: stage.made, end: endOf(ended), pauseSeconds: 0 });
  const { result, answered } = found;
  shard.log.info(
    { company_id: row.company_id, connection_id: row.connection_id, step: name, result, answered },
    'rehearsed',
  );
  return 'more';
}

/** A step that the service itself refuses is wrong, and the others follow. */
async function make(stage: Stage, name: StepName): Promise<Found> {
  try {
    return await steps[name](stage);
  } catch (error) {
    if (!(error instanceof ApiError)) {
      if (stage.row.waited_ms < failsMaxMs) throw error;
      return { result: 'wrong', sent: '', expected: 'accepted', answered: 'the service failed; its log says why' };
    }
    const answered = [error.message, ...error.fieldErrors.map(({ field, message }) => `${field} ${message}`)].join(' ');
    const advice = 'Correct what the answer names, and rehearse again.';
    const result = error.status >= 500 || error.code === 'resource_in_use' ? 'waiting' : 'wrong';
    return { result, sent: '', expected: 'accepted', answered, advice };
  }
}

function shown(step: StepName, found: Found, nowMs: number): RehearsalStep {
  const { result, sent, expected, answered } = found;
  const ended = result === 'waiting' ? 'wrong' : result;
  return {
    step,
    result: ended,
    sent,
    expected,
    answered,
    advice: found.advice ?? null,
    at: new Date(nowMs).toISOString(),
  };
}

function endOf(ended: RehearsalRow['steps']): 'passed' | 'failed' | null {
  // Credentials of a live account are never used for the steps that follow.
  const [first] = ended;
  if (first?.result === 'wrong') return 'failed';
  if (ended.length < stepNames.length) return null;
  return ended.some(({ result }) => result === 'wrong') ? 'failed' : 'passed';
}
