import type { DatabasePool, Queryable } from '../../server/platform/database.ts';

/**
 * The plan of the statement that `work` makes, after `prepare`, which is rolled back. Tables of tests are small, so the plan is made as
 * if reading a whole table were expensive: it shows which index a statement can use.
 */
export async function planOf(
  db: DatabasePool,
  work: (db: Queryable) => Promise<unknown>,
  prepare: readonly string[] = [],
  explain: 'EXPLAIN' | 'EXPLAIN (ANALYZE)' = 'EXPLAIN',
): Promise<string> {
  const lines: string[] = [];
  const done = new Error('rolled back');
  const made = db.transaction(async (transaction) => {
    await transaction.query('SET LOCAL enable_seqscan = off');
    for (const text of prepare) await transaction.query(text);
    const explaining: Queryable = {
      query: async (text, values) => {
        const rows = await transaction.query<Record<string, string>>(`${explain} ${text}`, values);
        lines.push(...rows.map((row) => Object.values(row)[0] ?? ''));
        return [];
      },
    };
    await work(explaining);
    throw done;
  });
  await made.catch((error: unknown) => {
    if (error !== done) throw error;
  });
  return lines.join('\n');
}
