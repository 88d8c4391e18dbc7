import { ApiError } from '../../errors.ts';
import type { Database } from '../../platform/database.ts';
import type { RequestContext } from '../../request-context.ts';
import { companyClock } from '../companies/service.ts';
import { beginSampleData, dueChannel, findSampleData, hasActivity, type SampleRow } from './queries.ts';
import type { SampleData, SandboxClear } from './schemas.ts';
import { sampleScript } from './script.ts';

/** Fills a sandbox with sample data, and clears it. The worker does the work. */

export { firstCoupon, firstProducts, plans as samplePlans } from './catalog.ts';
export { historyDays } from './script.ts';

/** The channel on which the database announces work. */
export const sampleDataChannel = dueChannel;

function toWire(row: SampleRow | undefined): SampleData {
  if (!row) return { state: 'none', done: 0, total: 0 };
  const { state, done, total } = row;
  return { state: state === 'cleared' ? 'none' : state, done, total };
}

export async function getSampleData({ db, company }: RequestContext): Promise<SampleData> {
  return toWire(await findSampleData(db, company.id));
}

function requireSandbox({ company }: RequestContext): void {
  if (company.mode === 'sandbox') return;
  throw new ApiError('insufficient_permissions', 'Only a sandbox can be filled with sample data or cleared.');
}

/** Begins to fill the sandbox, in the transaction of its creation or of a request. */
export async function beginFill(db: Database, companyId: string, endsAtMs: number): Promise<SampleRow | undefined> {
  return begin(db, companyId, 'filling', endsAtMs, sampleScript().length);
}

async function begin(
  db: Database,
  companyId: string,
  state: 'filling' | 'clearing',
  endsAtMs: number,
  total: number,
): Promise<SampleRow | undefined> {
  return db.transaction(async (transaction) => {
    const row = await beginSampleData(transaction, companyId, { state, endsAt: new Date(endsAtMs), total });
    if (row && !(await companyClock.hold(transaction, companyId))) {
      throw inUse('The sandbox clock is being advanced.');
    }
    return row;
  });
}

const inUse = (what: string): ApiError =>
  new ApiError('resource_in_use', `${what} Retry when it has finished.`, { headers: { 'Retry-After': '5' } });

export async function fillSandbox(context: RequestContext): Promise<SampleData> {
  const { db, company, nowMs } = context;
  requireSandbox(context);
  const current = await findSampleData(db, company.id);
  if (!isUnderWay(current) && (await hasActivity(db, company.id))) {
    const message = 'This sandbox has customers or orders. Clear it first.';
    throw new ApiError('invalid_state_transition', message);
  }
  const row = await beginFill(db, company.id, nowMs);
  if (!row) throw underWay(current);
  return toWire(row);
}

/** Deletes the objects of the sandbox, also those that are not sample data. */
export async function clearSandbox(
  context: RequestContext,
  { confirm }: SandboxClear,
  total: number,
): Promise<SampleData> {
  const { db, company, nowMs } = context;
  requireSandbox(context);
  if (confirm !== company.name) {
    throw new ApiError('invalid_request', `To clear the sandbox, send its name: ${company.name}`, { param: 'confirm' });
  }
  const row = await begin(db, company.id, 'clearing', nowMs, total);
  if (!row) throw underWay(await findSampleData(db, company.id));
  return toWire(row);
}

const isUnderWay = (row: SampleRow | undefined): boolean => row?.state === 'filling' || row?.state === 'clearing';

const underWay = (row: SampleRow | undefined): ApiError =>
  inUse(row?.state === 'clearing' ? 'The sandbox is being cleared.' : 'The sample data is being created.');
