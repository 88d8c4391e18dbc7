import type { Queryable } from '../../../platform/database.ts';
import type { OpenType } from './open-queries.ts';
import { deriveReference, nextFree, type Numbered } from './reference.ts';

/** Finds recorded operations by reference. */

/** Returns the references that are already recorded. */
async function findTaken(db: Queryable, companyId: string, references: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ reference: string }>(
    `SELECT reference FROM transactions WHERE company_id = $1 AND reference = ANY($2::uuid[])
     UNION ALL
     SELECT reference FROM open_transactions WHERE company_id = $1 AND reference = ANY($2::uuid[])`,
    [companyId, references],
  );
  return new Set(rows.map(({ reference }) => reference));
}

export interface RecordedOperation {
  readonly id: string;
  readonly type: OpenType;
  readonly order_id: string;
  readonly connection_id: string | null;
}

/** Returns the operation with this reference, open or closed. */
export async function findRecorded(
  db: Queryable,
  companyId: string,
  reference: string,
): Promise<RecordedOperation | undefined> {
  const [row] = await db.query<RecordedOperation>(
    `SELECT id, type, order_id, connection_id FROM transactions WHERE company_id = $1 AND reference = $2
     UNION ALL
     SELECT id, type, order_id, connection_id FROM open_transactions WHERE company_id = $1 AND reference = $2`,
    [companyId, reference],
  );
  return row;
}

/** The first number is almost always unused: a key is rarely used again after it has expired. */
const numbersAtOnce = 32;

/** Returns the first number of a subject, starting with this one, that no recorded operation has. */
export async function firstUnused(
  db: Queryable,
  companyId: string,
  subject: readonly string[],
  from = 0,
): Promise<Numbered> {
  for (let first = from; ; first += numbersAtOnce) {
    const numbered = Array.from({ length: numbersAtOnce }, (_, index) => ({ subject, number: first + index }));
    const references = numbered.map((one) => deriveReference(companyId, one));
    const taken = await findTaken(db, companyId, references);
    if (taken.size < numbersAtOnce) return nextFree(companyId, { subject, number: first }, taken);
  }
}
