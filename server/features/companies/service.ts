import { setTimeout as sleep } from 'node:timers/promises';
import { latestVersion } from '../../http/versions/versions.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { ProcessorConnection } from '../../vault/processors/connections.ts';
import type { Vault } from '../../vault/vault.ts';
import { createRoles } from '../team/service.ts';
import { ApiError, invalidField } from '../../errors.ts';
import { limits } from '../../limits.ts';
import {
  findClockOffset,
  findCompanies,
  findOpenOperations,
  insertCompany,
  leaveClock,
  moveClock,
  takeClock,
  updateDunning,
  updateProcessor,
} from './queries.ts';
import type { Company } from '../../company.ts';

/** A merchant has two companies: a live company, and a demo company that is its sandbox. */
export async function createCompanies(
  db: Database,
  nowMs: number,
  name: string,
): Promise<Record<Company['mode'], Company>> {
  const accountId = newId(nowMs);
  const company = (mode: Company['mode'], companyName: string): Company => ({
    id: newId(nowMs),
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

export async function allCompanies(db: Queryable): Promise<Company[]> {
  return findCompanies(db);
}

export async function setProcessor(
  db: Queryable,
  companyId: string,
  processor: Company['processor'],
  requestLifeMs?: number,
): Promise<void> {
  await updateProcessor(db, companyId, processor, requestLifeMs);
}

/** The offset of a sandbox company's clock. Only one request at a time advances it, under a lease. */
export const companyClock = {
  offsetMs: (db: Queryable, companyId: string): Promise<number> => findClockOffset(db, companyId),
  /** Returns the offset; undefined if another request is advancing the clock. */
  lease: (db: Queryable, companyId: string, leaseMs: number): Promise<number | undefined> =>
    takeClock(db, companyId, leaseMs),
  /** Advances the clock and extends the lease. Returns the new offset, which never decreases. */
  move: (db: Queryable, companyId: string, offsetMs: number, leaseMs: number): Promise<number> =>
    moveClock(db, companyId, offsetMs, leaseMs),
  release: (db: Queryable, companyId: string): Promise<void> => leaveClock(db, companyId),
};

const pollMs = 100;
/** Enough checks to outlast the longest charge. */
const pollsMax = 200;

/**
 * Runs before the connection to an acquirer is removed: no new operation is sent, and operations in flight finish. If
 * one of them ends in doubt, the connection stays: another acquirer would answer "not found" for that charge, and it
 * would be recorded as failed.
 */
export async function stopCharging(db: Queryable, company: Pick<Company, 'id' | 'processor'>): Promise<void> {
  // Checked first, so that no order is rejected for a change that cannot succeed.
  if ((await findOpenOperations(db, company.id)).inDoubt) throw stillNeeded();
  await updateProcessor(db, company.id, null);
  for (let poll = 0; poll < pollsMax; poll += 1) {
    const { inDoubt, underWay } = await findOpenOperations(db, company.id);
    if (!inDoubt && !underWay) return;
    if (inDoubt) break;
    await sleep(pollMs);
  }
  // A simultaneous call reads null here and restores nothing.
  if (company.processor) await updateProcessor(db, company.id, company.processor);
  throw stillNeeded();
}

/**
 * Connects an acquirer, or replaces the connection to the same one. The audit entry is written first, because the
 * vault may connect although its answer is lost. On failure the company keeps charging with the connection that the
 * vault has: no operation is in flight that only one acquirer knows.
 */
export async function connectAcquirer(
  db: Queryable,
  vault: Pick<Vault, 'connect' | 'connectedTo'>,
  company: Pick<Company, 'id' | 'processor'>,
  connection: ProcessorConnection,
  auditFirst: (db: Queryable) => Promise<void>,
): Promise<void> {
  const present = await vault.connectedTo(company.id);
  const another = present !== null && present !== connection.url;
  if (another) await stopCharging(db, company);
  try {
    await auditFirst(db);
    await vault.connect(company.id, connection);
  } catch (error) {
    if (another && company.processor) await updateProcessor(db, company.id, company.processor);
    throw error;
  }
}

function stillNeeded(): ApiError {
  const message =
    'Some payments are in doubt, and only the current acquirer knows their outcome. Wait until no payment is in doubt.';
  return new ApiError('resource_in_use', message);
}

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
