import { toCompany } from '../../company.ts';
import type { WorkLeft } from '../../platform/alarm.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database.ts';
import type { Logger } from '../../platform/log.ts';
import type { RequestContext } from '../../request-context.ts';
import { type ScheduledOne, scheduleForMany, takeBackForMany } from '../subscriptions/service.ts';
import {
  collectNext,
  type DuePriceChange,
  findScheduled,
  findWaiting,
  lockDuePriceChange,
  type RowOutcome,
  planNext,
  postponePriceChange,
  recordOutcomes,
  undoWaiting,
} from './queries.ts';

interface PricingShard {
  readonly name: string;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
}

const collectedAtOnce = 2_000;
const scheduledAtOnce = 500;
/** A charge in progress decides first. */
const laterSeconds = 30;

/**
 * Job: takes the next step of the price change that waits longest: it adds subscribers, schedules their changes, or takes them back.
 * A step is one transaction, so a process that dies in it changes nothing, and each subscription is scheduled once.
 */
export async function continuePriceChanges({ name, db, clock, log }: PricingShard): Promise<WorkLeft> {
  const found: { change?: DuePriceChange | undefined } = {};
  try {
    await db.transaction(async (transaction) => {
      const change = await lockDuePriceChange(transaction);
      found.change = change;
      if (!change) return;
      const company = toCompany(change.company, name);
      const nowMs = clock.nowMs() + company.clockOffsetMs;
      const isMore = await takeStep({ requestId: change.request_id, company, nowMs, db: transaction }, change);
      await planNext(transaction, change, isMore);
    });
  } catch (error) {
    const { change } = found;
    if (!change) throw error;
    log.error(
      { err: error, company_id: change.company_id, price_change_id: change.id },
      'a price change waits a minute',
    );
    await postponePriceChange(db, change);
  }
  return found.change ? 'more' : 'idle';
}

/** Returns whether there is more to do at once. */
async function takeStep(context: RequestContext, change: DuePriceChange): Promise<boolean> {
  if (change.state !== 'running') return takeBack(context, change);
  if (!change.collected) {
    await collectNext(context.db, change, collectedAtOnce);
    return true;
  }
  const ids = await findWaiting(context.db, change, scheduledAtOnce);
  if (ids.length === 0) return false;
  const results = await scheduleForMany(context, ids, { from: change.plan_id, to: change.to_plan_id });
  const outcomes = ids.map((id) => outcomeOf(id, results.get(id)));
  await recordOutcomes(context.db, change, outcomes, laterSeconds);
  return true;
}

function outcomeOf(subscription_id: string, result: ScheduledOne | undefined): RowOutcome {
  const none = { subscription_id, scheduled_id: null, reason: null };
  if (result?.kind === 'scheduled') return { ...none, state: 'scheduled', scheduled_id: result.scheduledId };
  if (result?.kind === 'later') return { ...none, state: 'waiting' };
  return { ...none, state: 'refused', reason: result?.reason ?? 'It was deleted.' };
}

/** A paused price change is scheduled again when it is resumed; one that was undone is not. */
async function takeBack(context: RequestContext, change: DuePriceChange): Promise<boolean> {
  const { db } = context;
  const isUndone = change.state === 'undone';
  if (isUndone) await undoWaiting(db, change);
  const scheduled = await findScheduled(db, change, scheduledAtOnce);
  if (scheduled.length === 0) return false;
  const taken = await takeBackForMany(context, scheduled);
  const state = isUndone ? 'undone' : 'waiting';
  const outcomes = scheduled.flatMap(({ id }) =>
    taken.has(id) ? [{ subscription_id: id, state, scheduled_id: null, reason: null } as const] : [],
  );
  await recordOutcomes(db, change, outcomes, 0);
  return true;
}
