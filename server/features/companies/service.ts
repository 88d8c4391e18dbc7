import { latestVersion } from '../../http/versions/versions.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { ShardDatabase, Shards } from '../../shards/shards.ts';
import { createRoles } from '../team/service.ts';
import { invalidField } from '../../errors.ts';
import { limits } from '../../limits.ts';
import {
  deleteNewCompanies,
  deleteUnfinished,
  findClockOffset,
  findCompanies,
  findCompany,
  findOfAccount,
  findUnfinished,
  insertCompany,
  insertUnfinished,
  leaveClock,
  moveClock,
  stopClockJobs,
  takeClock,
  updateDunning,
} from './queries.ts';
import type { Company } from '../../company.ts';

/** The companies of a new merchant. */
export type CompanyPair = Record<'live' | 'sandbox', Company>;

/** A new merchant has two companies: a live company, and a demo company that is its sandbox. */
export async function createCompanies(
  { name: shard, db }: { readonly name: string; readonly db: Database },
  nowMs: number,
  name: string,
): Promise<CompanyPair> {
  const accountId = newId(nowMs);
  const company = (mode: Company['mode'], companyName: string): Company => ({
    id: newId(nowMs),
    shard,
    accountId,
    name: companyName,
    mode,
    apiVersion: latestVersion,
    clockOffsetMs: 0,
    processor: mode === 'sandbox' ? 'sandbox' : null,
  });
  const pair = { live: company('live', name), sandbox: company('sandbox', `${name} (demo)`) };
  await db.transaction(async (transaction) => {
    for (const one of [pair.live, pair.sandbox]) {
      await insertCompany(transaction, one);
      await createRoles(transaction, one.id, nowMs);
    }
  });
  return pair;
}

/** The company of the same account in another mode. */
export const companyOfAccount = (
  shard: { readonly name: string; readonly db: Queryable },
  accountId: string,
  mode: Company['mode'],
): Promise<Company | undefined> => findOfAccount(shard, accountId, mode);

/** Adds a company to an account. Its API version and its settings are those of `like`. */
export async function addCompany(
  transaction: Queryable,
  like: Company,
  change: Pick<Company, 'id' | 'name' | 'mode'>,
): Promise<Company> {
  const company = { ...like, ...change, clockOffsetMs: 0, processor: null };
  await insertCompany(transaction, company);
  return company;
}

/** In the transaction that creates the companies of a sign-up. */
export const markUnfinished = (transaction: Queryable, companyIds: readonly string[]): Promise<void> =>
  insertUnfinished(transaction, companyIds);

/** Their user is recorded. */
export const finishSignUp = (db: Queryable, companyIds: readonly string[]): Promise<void> =>
  deleteUnfinished(db, companyIds);

export const unfinishedSignUps = (db: Queryable, before: Date, count: number): Promise<string[]> =>
  findUnfinished(db, before, count);

/** Removes companies that were never used. */
export async function deleteUnused(db: Database, companyIds: readonly string[]): Promise<void> {
  await db.transaction(async (transaction) => {
    await deleteNewCompanies(transaction, companyIds);
    await deleteUnfinished(transaction, companyIds);
  });
}

/** The companies of every shard. */
export async function allCompanies({ all }: Pick<Shards, 'all'>): Promise<Company[]> {
  const found = await Promise.all(all.map(findCompanies));
  return found.flat().toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

export const companyById = (shard: Pick<ShardDatabase, 'name' | 'db'>, id: string): Promise<Company | undefined> =>
  findCompany(shard, id);

/** The offset of a sandbox company's clock. Only one request at a time advances it, under a lease. */
export const companyClock = {
  offsetMs: (db: Queryable, companyId: string): Promise<number> => findClockOffset(db, companyId),
  /** Returns the offset; undefined if another request is advancing the clock. */
  lease: (db: Queryable, companyId: string, leaseMs: number): Promise<number | undefined> =>
    takeClock(db, companyId, leaseMs),
  /** Advances the clock and extends the lease. Returns the new offset, which never decreases. */
  move: (db: Queryable, companyId: string, offsetMs: number, leaseMs: number): Promise<number> =>
    moveClock(db, companyId, offsetMs, leaseMs),
  /** For a history that the worker writes. Returns false if the clock is being advanced. */
  hold: (db: Queryable, companyId: string): Promise<boolean> => stopClockJobs(db, companyId),
  release: (db: Queryable, companyId: string): Promise<void> => leaveClock(db, companyId),
};

/** Sets the dunning schedule of renewals: the days after the first decline, and what happens after the last retry. */
export async function setDunning(
  db: Database,
  companyId: string,
  days: readonly number[],
  afterwards: 'failed' | 'canceled',
): Promise<void> {
  const ascending = days.every((day, index) => Number.isInteger(day) && day > (days[index - 1] ?? 0));
  const fits = days.length >= 1 && days.length <= limits.dunningRetries && (days.at(-1) ?? 0) <= limits.dunningDaysMax;
  if (!ascending || !fits) {
    const message = `must be 1 to ${limits.dunningRetries} whole numbers of days in ascending order, at most ${limits.dunningDaysMax}, for example 1, 3, 7`;
    throw invalidField('dunning_days', message);
  }
  await updateDunning(db, companyId, days, afterwards);
}
