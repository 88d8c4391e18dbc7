import type { Queryable } from '../../platform/database.ts';

export interface CardTestingRow {
  readonly started_at: Date;
  readonly last_at: Date;
  readonly declined: number;
}

/** A pause of this length ends an attack; the next declined payment begins another. */
const pause = `interval '1 hour'`;

export async function recordCardTesting(db: Queryable, companyId: string, now: Date): Promise<void> {
  await db.query(
    `INSERT INTO card_testing AS c (company_id, started_at, last_at, declined) VALUES ($1, $2, $2, 1)
     ON CONFLICT (company_id) DO UPDATE SET last_at = $2,
       started_at = CASE WHEN c.last_at < $2 - ${pause} THEN $2 ELSE c.started_at END,
       declined = CASE WHEN c.last_at < $2 - ${pause} THEN 1 ELSE c.declined + 1 END`,
    [companyId, now],
  );
}

export async function findCardTesting(db: Queryable, companyId: string): Promise<CardTestingRow | undefined> {
  const [row] = await db.query<CardTestingRow>(
    'SELECT started_at, last_at, declined FROM card_testing WHERE company_id = $1',
    [companyId],
  );
  return row;
}
