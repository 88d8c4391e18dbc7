import type { Queryable } from '../../platform/database.ts';
import { rowsOf } from '../../platform/rows.ts';
import type { ConsentKind } from './schemas.ts';

/** All SQL of consents. Rows are only added. */

export interface ConsentRow {
  readonly order_id: string;
  readonly subscription_id: string | null;
  readonly kind: ConsentKind;
  readonly text: string;
  readonly version: string;
  readonly locale: string;
  readonly url: string | null;
  readonly given_at: Date;
}

const rows = rowsOf({
  kind: 'text',
  text: 'text',
  version: 'text',
  locale: 'text',
  url: 'text',
  given_at: 'timestamptz',
});

export type GivenConsent = Omit<ConsentRow, 'order_id' | 'subscription_id' | 'given_at'> & {
  readonly given_at: string;
};

export async function insertConsents(
  db: Queryable,
  companyId: string,
  of: Pick<ConsentRow, 'order_id' | 'subscription_id'>,
  given: readonly GivenConsent[],
): Promise<void> {
  await db.query(
    `INSERT INTO consents (company_id, order_id, subscription_id, kind, text, version, locale, url, given_at)
     SELECT $1, $2, $3, r.kind, r.text, r.version, r.locale, r.url, r.given_at FROM ${rows.from(4)} AS r
     ON CONFLICT DO NOTHING`,
    [companyId, of.order_id, of.subscription_id, ...rows.values(given)],
  );
}

export async function findConsents(
  db: Queryable,
  companyId: string,
  of: 'order_id' | 'subscription_id',
  ids: readonly string[],
): Promise<ConsentRow[]> {
  return db.query<ConsentRow>(
    `SELECT order_id, subscription_id, kind, text, version, locale, url, given_at FROM consents
     WHERE company_id = $1 AND ${of} = ANY($2::uuid[]) ORDER BY given_at, kind`,
    [companyId, ids],
  );
}
