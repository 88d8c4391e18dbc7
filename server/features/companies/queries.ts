import { type Company, type CompanyRow, toCompany } from '../../company.ts';
import type { Queryable } from '../../platform/database.ts';
import type { ShardDatabase } from '../../shards/shards.ts';
import type { CardRules } from '../payment-methods/card-rule-queries.ts';
import type { CompanyUpdate } from './schemas.ts';

const newColumns = 'id, account_id, name, mode, api_version, clock_offset_ms, processor';
const companyColumns = `${newColumns}, authenticates, locale`;

/** How long a request to the processor stays valid, unless the connection sets it. */
const requestLives = { sandbox: 2_000, rehearsal: 60_000, live: 60_000 } as const;

export async function insertCompany(db: Queryable, company: Company): Promise<void> {
  const values = [
    company.id,
    company.accountId,
    company.name,
    company.mode,
    company.apiVersion,
    company.clockOffsetMs,
    company.processor,
    requestLives[company.mode],
  ];
  await db.query(
    `INSERT INTO companies (${newColumns}, request_life_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values,
  );
}

export async function findCompanies({ name, db }: ShardDatabase): Promise<Company[]> {
  const rows = await db.query<CompanyRow>(
    `SELECT ${companyColumns} FROM companies c
     WHERE NOT EXISTS (SELECT 1 FROM company_fences f WHERE f.company_id = c.id AND f.state <> 'leaving') ORDER BY id`,
  );
  return rows.map((row) => toCompany(row, name));
}

export async function findCompany({ name, db }: ShardDatabase, id: string): Promise<Company | undefined> {
  const [row] = await db.query<CompanyRow>(`SELECT ${companyColumns} FROM companies WHERE id = $1`, [id]);
  return row && toCompany(row, name);
}

export async function findOfAccount(
  { name, db }: { readonly name: string; readonly db: Queryable },
  accountId: string,
  mode: Company['mode'],
): Promise<Company | undefined> {
  const [row] = await db.query<CompanyRow>(
    `SELECT ${companyColumns} FROM companies WHERE account_id = $1 AND mode = $2`,
    [accountId, mode],
  );
  return row && toCompany(row, name);
}

export async function insertUnfinished(db: Queryable, companyIds: readonly string[]): Promise<void> {
  await db.query('INSERT INTO unfinished_sign_ups (company_id) SELECT unnest($1::uuid[])', [companyIds]);
}

export async function findUnfinished(db: Queryable, before: Date, count: number): Promise<string[]> {
  const rows = await db.query<{ company_id: string }>(
    'SELECT company_id FROM unfinished_sign_ups WHERE started_at < $1 LIMIT $2',
    [before, count],
  );
  return rows.map(({ company_id }) => company_id);
}

export async function deleteUnfinished(db: Queryable, companyIds: readonly string[]): Promise<void> {
  await db.query('DELETE FROM unfinished_sign_ups WHERE company_id = ANY($1)', [companyIds]);
}

/** What a new company has. A company that has more is kept by its foreign keys. */
const tablesOfNew = ['audit_entries', 'team_members', 'roles', 'figure_days'] as const;

export async function deleteNewCompanies(db: Queryable, companyIds: readonly string[]): Promise<void> {
  for (const table of tablesOfNew) await db.query(`DELETE FROM ${table} WHERE company_id = ANY($1)`, [companyIds]);
  await db.query('DELETE FROM companies WHERE id = ANY($1)', [companyIds]);
}

/** Returns undefined if another request is advancing the clock of the company. */
export async function takeClock(db: Queryable, companyId: string, leaseMs: number): Promise<number | undefined> {
  const [row] = await db.query<{ clock_offset_ms: number }>(
    `UPDATE companies SET clock_moved_until = now() + $2 * interval '1 ms'
     WHERE id = $1 AND (clock_moved_until IS NULL OR clock_moved_until <= now()) RETURNING clock_offset_ms`,
    [companyId, leaseMs],
  );
  return row?.clock_offset_ms;
}

/** The offset only grows. Returns the new offset. */
export async function moveClock(db: Queryable, companyId: string, offsetMs: number, leaseMs: number): Promise<number> {
  const [row] = await db.query<{ clock_offset_ms: number }>(
    `UPDATE companies SET clock_offset_ms = greatest(clock_offset_ms, $2),
       clock_moved_until = now() + $3 * interval '1 ms'
     WHERE id = $1 RETURNING clock_offset_ms`,
    [companyId, offsetMs, leaseMs],
  );
  return row?.clock_offset_ms ?? 0;
}

/**
 * Keeps the jobs of the worker away from the company until its clock is left, however long that takes. Returns false if the clock
 * is being advanced.
 */
export async function stopClockJobs(db: Queryable, companyId: string): Promise<boolean> {
  const rows = await db.query(
    `UPDATE companies SET clock_moved_until = now() + interval '10 years'
     WHERE id = $1 AND (clock_moved_until IS NULL OR clock_moved_until <= now()) RETURNING 1`,
    [companyId],
  );
  return rows.length > 0;
}

export async function leaveClock(db: Queryable, companyId: string): Promise<void> {
  await db.query('UPDATE companies SET clock_moved_until = NULL WHERE id = $1', [companyId]);
}

export async function findClockOffset(db: Queryable, companyId: string): Promise<number> {
  const [row] = await db.query<{ clock_offset_ms: number }>('SELECT clock_offset_ms FROM companies WHERE id = $1', [
    companyId,
  ]);
  return row?.clock_offset_ms ?? 0;
}

export async function updateDunning(
  db: Queryable,
  companyId: string,
  days: readonly number[],
  afterwards: 'failed' | 'canceled',
): Promise<void> {
  await db.query('UPDATE companies SET dunning_days = $2, after_dunning = $3 WHERE id = $1', [
    companyId,
    days,
    afterwards,
  ]);
}

export interface SettingsRow {
  name: string;
  api_version: string;
  dunning_days: number[];
  after_dunning: 'failed' | 'canceled';
  processor: Company['processor'];
  time_zone: string;
  authenticates: boolean;
  card_rules: Partial<CardRules>;
}

export async function findSettings(db: Queryable, companyId: string): Promise<SettingsRow | undefined> {
  const [row] = await db.query<SettingsRow>(
    `SELECT name, api_version, dunning_days, after_dunning, processor, time_zone, authenticates, card_rules
     FROM companies WHERE id = $1`,
    [companyId],
  );
  return row;
}

/** Locks the settings until the transaction ends. */
export async function lockSettings(db: Queryable, companyId: string): Promise<void> {
  await db.query('SELECT 1 FROM companies WHERE id = $1 FOR NO KEY UPDATE', [companyId]);
}

export async function updateSettings(
  db: Queryable,
  companyId: string,
  change: Pick<CompanyUpdate, 'name' | 'api_version' | 'time_zone' | 'authenticates' | 'card_rules'>,
): Promise<void> {
  await db.query(
    `UPDATE companies SET name = COALESCE($2, name), api_version = COALESCE($3, api_version),
       time_zone = COALESCE($4, time_zone), card_rules = card_rules || $5,
       authenticates = COALESCE($6, authenticates) WHERE id = $1`,
    [
      companyId,
      change.name ?? null,
      change.api_version ?? null,
      change.time_zone ?? null,
      JSON.stringify(change.card_rules ?? {}),
      change.authenticates ?? null,
    ],
  );
}

/** The database computes with zones, so it must know them. */
export async function findZone(db: Queryable, name: string): Promise<string | undefined> {
  const [row] = await db.query<{ name: string }>(
    `SELECT name FROM pg_timezone_names WHERE lower(name) = lower($1) AND name !~ '^(posix|right)/' LIMIT 1`,
    [name],
  );
  return row?.name;
}
