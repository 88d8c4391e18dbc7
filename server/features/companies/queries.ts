import type { Queryable } from '../../platform/database.ts';

export interface Company {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly mode: 'sandbox' | 'live';
  readonly apiVersion: string;
  readonly clockOffsetMs: number;
  /** Who charges its cards; a live company may not have anyone yet. */
  readonly processor: 'sandbox' | 'acquirer' | null;
}

export interface CompanyRow {
  id: string;
  account_id: string;
  name: string;
  mode: 'sandbox' | 'live';
  api_version: string;
  clock_offset_ms: number;
  processor: Company['processor'];
}

export const companyColumns = 'id, account_id, name, mode, api_version, clock_offset_ms, processor';

export function toCompany(row: CompanyRow): Company {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    mode: row.mode,
    apiVersion: row.api_version,
    clockOffsetMs: row.clock_offset_ms,
    processor: row.processor,
  };
}

export async function insertCompany(db: Queryable, company: Company): Promise<void> {
  await db.query(`INSERT INTO companies (${companyColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7)`, [
    company.id,
    company.accountId,
    company.name,
    company.mode,
    company.apiVersion,
    company.clockOffsetMs,
    company.processor,
  ]);
}

export async function findCompanies(db: Queryable): Promise<Company[]> {
  const rows = await db.query<CompanyRow>(`SELECT ${companyColumns} FROM companies ORDER BY id`);
  return rows.map(toCompany);
}

export async function updateProcessor(
  db: Queryable,
  companyId: string,
  processor: Company['processor'],
): Promise<void> {
  await db.query('UPDATE companies SET processor = $2 WHERE id = $1', [companyId, processor]);
}
