import type { Queryable } from '../platform/database.ts';
import type { Logger } from '../platform/log.ts';
import { counter } from '../platform/metrics.ts';
import { bringBack, bringBackPlaces, reopenDays } from './due-time-queries.ts';
import { dueTimes, readPlaces } from './due-times.ts';

const countCorrected = counter('svc_due_times_corrected_total');

/**
 * Job: brings back times that are further ahead than their schedule allows, because the clock of the database was ahead when
 * they were written. Returns the largest number of rows of one table, so that a full batch is followed by another one.
 */
export async function bringBackDueTimes(db: Queryable, log: Logger, batch: number): Promise<number> {
  let most = 0;
  for (const time of dueTimes) {
    const count = await bringBack(db, time, batch);
    if (count === 0) continue;
    most = Math.max(most, count);
    countCorrected({}, count);
    log.warn(
      { table: time.table, column: time.column, count },
      'rows were due later than their schedule allows, because the clock of the database was ahead; they were brought back',
    );
  }
  for (const place of readPlaces) noteCompanies(log, place.table, await bringBackPlaces(db, place));
  noteCompanies(log, 'figure_states', await reopenDays(db));
  return most;
}

function noteCompanies(log: Logger, table: string, count: number): void {
  if (count === 0) return;
  countCorrected({}, count);
  log.warn(
    { table, count },
    'companies were ahead of their clock, because the clock of the database was ahead; they were brought back',
  );
}
