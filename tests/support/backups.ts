import type { TestService } from './service.ts';

/** What moves money, without events: an event that was sent is not forgotten by its receivers. */
const tables = [
  'orders',
  'subscriptions',
  'subscription_changes',
  'open_transactions',
  'transactions',
  'idempotency_keys',
  'credit_balances',
  'credit_entries',
] as const;

/** Backs up what a company has of money. The function that it returns restores that. */
export async function backUp({ db }: TestService, companyId: string): Promise<() => Promise<void>> {
  const rowsOf = async (table: string): Promise<readonly [table: string, rows: string]> => {
    const [row] = await db.query<{ rows: string }>(
      `SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${table} t WHERE company_id = $1`,
      [companyId],
    );
    return [table, row?.rows ?? '[]'];
  };
  const backup = await Promise.all(tables.map(rowsOf));
  return () =>
    db.transaction(async (transaction) => {
      // A backup is of one moment, so the order of the tables does not matter.
      await transaction.query('SET LOCAL session_replication_role = replica');
      for (const [table, rows] of backup) {
        await transaction.query(`DELETE FROM ${table} WHERE company_id = $1`, [companyId]);
        const [written] = await transaction.query<{ columns: string }>(
          `SELECT string_agg(quote_ident(column_name), ', ') AS columns FROM information_schema.columns
           WHERE table_schema = current_schema() AND table_name = $1 AND is_generated = 'NEVER'`,
          [table],
        );
        const columns = written?.columns ?? '';
        await transaction.query(
          `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1::json)`,
          [rows],
        );
      }
    });
}
