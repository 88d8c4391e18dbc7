import type { WorkLeft } from '../../platform/alarm.ts';
import type { Database } from '../../platform/database.ts';
import type { Logger } from '../../platform/log.ts';
import {
  addMarkedDays,
  findDaysToSum,
  findDueCompanies,
  findUnlistedMarks,
  postponeCompany,
  postponeDay,
  processCompany,
  sumDay,
  type Timing,
} from './day-queries.ts';

const usual: Timing = { graceSeconds: 300, zonePauseSeconds: 600 };
const companyCount = 100;
const dayCount = 50;

/**
 * Job: adds the days that have ended and sums those that are due. A company or a day that fails waits, and the others go on.
 */
export async function sumEndedDays(db: Database, log: Logger, timing: Timing = usual): Promise<WorkLeft> {
  const attempt = async (companyId: string, work: () => Promise<unknown>, postpone?: () => Promise<void>) => {
    try {
      return await work();
    } catch (error) {
      log.error({ err: error, company_id: companyId }, 'the figures of a company failed; they will be retried');
      await postpone?.();
      return true;
    }
  };
  const companies = await findDueCompanies(db, companyCount);
  for (const id of companies) {
    await attempt(
      id,
      () => processCompany(db, id, timing),
      () => postponeCompany(db, id),
    );
  }
  for (const id of await findUnlistedMarks(db)) await attempt(id, () => addMarkedDays(db, id));
  let added = 0;
  const days = await findDaysToSum(db, dayCount);
  for (const day of days) {
    const isSummed = await attempt(
      day.company_id,
      () => sumDay(db, day),
      () => postponeDay(db, day),
    );
    if (isSummed && day.is_first) added += 1;
  }
  // A day that changes all the time is not summed all the time.
  return companies.length > 0 || added > 0 || days.length === dayCount ? 'more' : 'idle';
}
