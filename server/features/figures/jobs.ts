import type { Database } from '../../platform/database.ts';
import { addEndedDays, addMarkedDays, findDaysToSum, sumDay } from './queries.ts';

/** Longer than a transaction stays open, and than clocks differ. */
const graceSeconds = 300;
const companyCount = 100;
const dayCount = 50;

/** Job: adds the days that have ended and sums those that are due. Returns whether there is more to do. */
export async function sumEndedDays(db: Database, grace: number = graceSeconds): Promise<boolean> {
  const companies = await addEndedDays(db, grace, companyCount);
  await addMarkedDays(db);
  const days = await findDaysToSum(db, dayCount);
  for (const day of days) await sumDay(db, day);
  return companies === companyCount || days.length >= dayCount;
}
