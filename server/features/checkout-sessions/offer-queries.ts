import type { Queryable } from '../../platform/database.ts';

export interface OfferedProduct {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly amount: number;
  readonly currency: string;
  readonly active: boolean;
}

export async function findOffered(
  db: Queryable,
  companyId: string,
  ids: readonly string[],
): Promise<Map<string, OfferedProduct>> {
  const rows = await db.query<OfferedProduct>(
    `SELECT id, name, description, amount, currency, active AND deleted_at IS NULL AS active
     FROM products WHERE company_id = $1 AND id = ANY($2::uuid[])`,
    [companyId, ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
