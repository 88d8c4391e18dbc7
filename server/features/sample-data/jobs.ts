import { ApiError } from '../../errors.ts';
import type { WorkLeft } from '../../platform/alarm.ts';
import { dayMs, secondMs } from '../../platform/durations.ts';
import type { Logger } from '../../platform/log.ts';
import { companyById, companyClock } from '../companies/service.ts';
import { openOrders, type Orders } from '../orders/service.ts';
import { passHistory } from '../sandbox/service.ts';
import { openSubscriptions } from '../subscriptions/service.ts';
import { clearNext } from './clear.ts';
import { type FillDependencies, type History, perform, timeOf } from './fill.ts';
import { claimSampleData, endSampleData, readFromTheBeginning, type SampleRow, saveProgress } from './queries.ts';
import { type Action, historyDays, sampleScript } from './script.ts';

export interface SampleDataShard extends FillDependencies {
  readonly name: string;
  readonly orders: Orders;
  readonly log: Logger;
}

/** Longer than an action takes. After it, another process continues the work of one that died. */
const leaseSeconds = 15;
/** After this time the progress is saved. */
const turnMs = secondMs;

/** Job: fills one sandbox with sample data, or clears one, for about a second at a time. */
export async function continueSampleData(shard: SampleDataShard): Promise<WorkLeft> {
  const row = await claimSampleData(shard.db, leaseSeconds);
  if (!row) return 'idle';
  await (row.state === 'filling' ? fillMore(shard, row) : clearMore(shard, row));
  return 'more';
}

async function fillMore(shard: SampleDataShard, row: SampleRow): Promise<void> {
  const { db, log } = shard;
  const script = sampleScript();
  const history = await openHistory(shard, row);
  if (!history) return;
  const untilMs = performance.now() + turnMs;
  let { done } = row;
  for (; done < script.length && performance.now() < untilMs; done += 1) {
    const action = script[done];
    if (action) await attempt(history, action, log);
  }
  if (done < script.length) await saveProgress(db, row, done, 0);
  else await finishFill(history, log);
  reportProgress(log, row, done);
}

/** After these actions, nothing is due earlier than before. */
const laysNothingDown: ReadonlySet<Action['does']> = new Set(['order', 'addCustomer', 'addCard', 'product']);

interface ClockedHistory extends History {
  /** When renewals, retries or disputes are due next; 0 if it is not known. */
  nextDueMs: number;
  /** Sets the clock of the history. */
  readonly moveTo: (ms: number) => void;
}

/** Opens orders and subscriptions a second time, with the clock of the history. It ticks, because requests wait by it. */
async function openHistory(shard: SampleDataShard, row: SampleRow): Promise<ClockedHistory | undefined> {
  const { db, clock, orders: usual } = shard;
  const company = await companyById(shard, row.company_id);
  if (!company) return undefined;
  let shift = 0;
  const ownClock = { nowMs: (): number => Math.floor(clock.nowMs() + shift) };
  const { batchDb, log } = usual.charging;
  const orders = openOrders({ ...usual.charging, clock: ownClock });
  const subscriptions = openSubscriptions({ db, batchDb, orders, clock: ownClock, log });
  const endMs = row.ends_at.getTime();
  return {
    ...shard,
    company,
    number: row.number,
    startMs: endMs - historyDays * dayMs,
    endMs,
    orders,
    subscriptions,
    known: new Map(),
    nextDueMs: 0,
    // The offset of the company is added where its clock is read.
    moveTo: (ms) => {
      shift = ms - company.clockOffsetMs - clock.nowMs();
    },
  };
}

/** An action that is refused, for example because a person has archived its product, is left out. */
async function attempt(history: ClockedHistory, action: Action, log: Logger): Promise<void> {
  const { company, startMs } = history;
  const atMs = timeOf(history, action);
  if (history.nextDueMs <= atMs) history.nextDueMs = await passHistory(history, company.id, startMs, atMs);
  history.moveTo(atMs);
  if (!laysNothingDown.has(action.does)) history.nextDueMs = 0;
  try {
    await perform(history, action);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    log.warn({ err: error, company_id: company.id, action: action.does }, 'a part of the sample data is left out');
  }
}

async function finishFill(history: ClockedHistory, log: Logger): Promise<void> {
  const { company, startMs, endMs } = history;
  await passHistory(history, company.id, startMs, endMs);
  await finish(history, company.id, 'filled');
  log.info({ company_id: company.id }, 'sample data complete');
}

async function finish({ db }: Pick<History, 'db'>, companyId: string, state: 'filled' | 'cleared'): Promise<void> {
  await db.transaction(async (transaction) => {
    await endSampleData(transaction, companyId, state);
    await readFromTheBeginning(transaction, companyId);
    await companyClock.release(transaction, companyId);
  });
}

/** One line for each quarter. */
function reportProgress(log: Logger, { company_id, done: before, total }: SampleRow, done: number): void {
  const quarter = (count: number): number => Math.floor((4 * count) / Math.max(total, 1));
  if (quarter(done) === quarter(before) || done >= total) return;
  log.info({ company_id, percent: 25 * quarter(done) }, 'creating sample data');
}

async function clearMore(shard: SampleDataShard, row: SampleRow): Promise<void> {
  const { db, log } = shard;
  const untilMs = performance.now() + turnMs;
  let { done } = row;
  while (done < row.total && performance.now() < untilMs) {
    if (await clearNext(db, row.company_id, done)) done += 1;
  }
  if (done < row.total) return saveProgress(db, row, done, 0);
  await finish(shard, row.company_id, 'cleared');
  log.info({ company_id: row.company_id }, 'sandbox cleared');
}
