import { latestVersion } from '../../http/versions/versions.ts';
import type { Database } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { type Company, type CompanyRow, findCompanies, insertCompany, toCompany, updateProcessor } from './queries.ts';

/** A merchant has two companies: the live one, and the demo company that is its sandbox. */
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
    await insertCompany(transaction, pair.live);
    await insertCompany(transaction, pair.sandbox);
  });
  return pair;
}

export { type Company, type CompanyRow, findCompanies, toCompany, updateProcessor };
