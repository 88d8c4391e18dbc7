import type { Company } from '../../company.ts';
import { ApiError } from '../../errors.ts';
import type { ControlQueryable, Database } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { findShard, insertShards, isMoving, movesAccount } from '../../shards/queries.ts';
import type { Shards } from '../../shards/shards.ts';
import { addCompany, companyOfAccount, deleteUnused } from '../companies/service.ts';
import { copyTeam, sameMembers } from '../team/service.ts';
import { joinMembers } from '../users/service.ts';

/** The company of an account that rehearses with test accounts of processors. It is created when it is first needed. */

export interface RehearsalCompany {
  readonly company: Company;
  /** Of this company: by the ID of a member of the company that asked. */
  readonly members: ReadonlyMap<string, string>;
}

const nameLengthMax = 200;

const busy = (): ApiError =>
  new ApiError('resource_in_use', 'Another request creates or moves companies of this account. Retry shortly.', {
    headers: { 'Retry-After': '5' },
  });

/**
 * Returns the rehearsal company of the account, and creates it with the team of the company that asks. It is on the same shard. Called
 * again, it completes what was interrupted: without its members on the control plane, the company is invisible.
 */
export async function openRehearsal(
  shards: Pick<Shards, 'control' | 'of'>,
  asking: Company,
  nowMs: number,
): Promise<RehearsalCompany> {
  const { db, name: shard } = shards.of(asking);
  await refuseWhileBusy(shards.control, asking);
  const { company, isNew } = await db.transaction((transaction) =>
    existingOrNew({ name: shard, db: transaction }, asking, nowMs),
  );
  const members = await sameMembers(db, asking.id, company.id);
  try {
    await shards.control.transaction(async (control) => {
      await refuseWhileBusy(control, asking);
      if ((await findShard(control, asking.id)) !== shard) throw busy();
      await insertShards(control, shard, [company.id]);
      await joinMembers(control, asking.id, company.id, members);
    });
  } catch (error) {
    // A move that began meanwhile takes the company along, or would leave it behind.
    if (isNew && !(await isMoving(shards.control, company.id))) await deleteUnused(db, [company.id]);
    throw error;
  }
  return { company, members };
}

/** A move takes all companies of an account, so none is added while they move. */
async function refuseWhileBusy(control: ControlQueryable, asking: Company): Promise<void> {
  if (await movesAccount(control, asking)) throw busy();
}

async function existingOrNew(
  { name: shard, db }: { readonly name: string; readonly db: Database },
  asking: Company,
  nowMs: number,
): Promise<{ readonly company: Company; readonly isNew: boolean }> {
  const existing = await companyOfAccount({ name: shard, db }, asking.accountId, 'rehearsal');
  if (existing) return { company: existing, isNew: false };
  const live = (await companyOfAccount({ name: shard, db }, asking.accountId, 'live')) ?? asking;
  const name = `${live.name.slice(0, nameLengthMax)} (rehearsal)`;
  const company = await addCompany(db, live, { id: newId(nowMs), name, mode: 'rehearsal' });
  await copyTeam(db, asking.id, company.id, nowMs);
  return { company, isNew: true };
}
