import type { Queryable } from '../../platform/database.ts';
import { rowsOf } from '../../platform/rows.ts';
import type { ChangeLine } from './plan-change.ts';
import type { PlanTerms } from './terms.ts';

/** The history of changes of plan: one row for each that took effect. Rows are only added. */

type EarlierTerms = Pick<PlanTerms, 'plan_id' | 'plan_name' | 'amount' | 'one_time_amount' | 'quantity'>;

export interface ChangeRow {
  readonly company_id: string;
  readonly subscription_id: string;
  readonly number: number;
  /** Of the request, and of the order if there is one. */
  readonly id: string;
  readonly order_id: string | null;
  /** The change counts from then on. */
  readonly at: Date;
  readonly recorded_at: Date;
  /** Whether it began a cycle, which no order of a cycle pays for. */
  readonly restarts: boolean;
  readonly before: EarlierTerms;
  readonly after: EarlierTerms;
  readonly lines: readonly ChangeLine[];
}

const rows = rowsOf({
  company_id: 'uuid',
  subscription_id: 'uuid',
  number: 'integer',
  id: 'uuid',
  order_id: 'uuid',
  at: 'timestamptz',
  recorded_at: 'timestamptz',
  restarts: 'boolean',
  before: 'json',
  after: 'json',
  lines: 'json',
});

const columns = `company_id, subscription_id, number, id, order_id, at, recorded_at, restarts, before, after, lines`;

export async function insertChanges(db: Queryable, changes: readonly ChangeRow[]): Promise<void> {
  await db.query(
    `INSERT INTO subscription_changes (${columns}) SELECT ${columns} FROM ${rows.from(1)} AS c`,
    rows.values(changes),
  );
}

export async function findChange(
  db: Queryable,
  companyId: string,
  subscriptionId: string,
  id: string,
): Promise<ChangeRow | undefined> {
  const [row] = await db.query<ChangeRow>(
    `SELECT ${columns} FROM subscription_changes WHERE company_id = $1 AND subscription_id = $2 AND id = $3`,
    [companyId, subscriptionId, id],
  );
  return row;
}

/** What the subscription was when an order was placed, if a change has taken effect since. */
export async function findTermsAt(
  db: Queryable,
  companyId: string,
  subscriptionId: string,
  at: Date,
): Promise<EarlierTerms | undefined> {
  const [row] = await db.query<Pick<ChangeRow, 'before'>>(
    `SELECT before FROM subscription_changes
     WHERE company_id = $1 AND subscription_id = $2 AND recorded_at > $3 ORDER BY number LIMIT 1`,
    [companyId, subscriptionId, at],
  );
  return row?.before;
}
