import type { Queryable } from '../../platform/database.ts';
import type { DeclarationKind } from './schemas.ts';

/** All SQL of declarations. */

export interface DeclarationRow {
  readonly id: string;
  readonly request: string;
  readonly kind: DeclarationKind;
  readonly name: string;
  readonly email: string;
  readonly contract: string;
  readonly message: string | null;
  readonly locale: string;
  readonly customer_id: string | null;
  readonly order_id: string | null;
  readonly subscription_id: string | null;
  readonly ends_at: Date | null;
  readonly handled_at: Date | null;
}

const columns =
  'id, request, kind, name, email, contract, message, locale, customer_id, order_id, subscription_id, ends_at, handled_at';

export type DeclaredOrder = Pick<DeclarationRow, 'customer_id' | 'order_id' | 'subscription_id'>;

/** The order with this number, if it is of the customer with this email address. */
export async function findDeclaredOrder(
  db: Queryable,
  companyId: string,
  emailKey: string,
  number: string,
): Promise<DeclaredOrder | undefined> {
  const [row] = await db.query<DeclaredOrder>(
    `SELECT o.customer_id, o.id AS order_id, o.subscription_id FROM orders o
     JOIN customers c ON c.company_id = o.company_id AND c.id = o.customer_id
     WHERE o.company_id = $1 AND o.order_number = upper($2) AND c.email_key = $3 AND c.deleted_at IS NULL`,
    [companyId, number, emailKey],
  );
  return row;
}

/** Undefined if the request was recorded before. */
export async function insertDeclaration(
  db: Queryable,
  companyId: string,
  row: Omit<DeclarationRow, 'ends_at' | 'handled_at'>,
): Promise<boolean> {
  const rows = await db.query(
    `INSERT INTO declarations (company_id, id, request, kind, name, email, contract, message, locale, customer_id, order_id,
       subscription_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (company_id, request) DO NOTHING RETURNING 1`,
    [
      companyId,
      row.id,
      row.request,
      row.kind,
      row.name,
      row.email,
      row.contract,
      row.message,
      row.locale,
      row.customer_id,
      row.order_id,
      row.subscription_id,
    ],
  );
  return rows.length === 1;
}

export async function findDeclarationOf(
  db: Queryable,
  companyId: string,
  request: string,
): Promise<DeclarationRow | undefined> {
  const [row] = await db.query<DeclarationRow>(
    `SELECT ${columns} FROM declarations WHERE company_id = $1 AND request = $2`,
    [companyId, request],
  );
  return row;
}

/** The subscription ends by itself, so nothing is left to do. */
export async function recordEnd(db: Queryable, companyId: string, id: string, endsAt: Date, now: Date): Promise<void> {
  await db.query('UPDATE declarations SET ends_at = $3, handled_at = $4 WHERE company_id = $1 AND id = $2', [
    companyId,
    id,
    endsAt,
    now,
  ]);
}

/** Returns undefined if there is no such declaration. One that was handled stays so. */
export async function markHandled(
  db: Queryable,
  companyId: string,
  id: string,
  now: Date,
): Promise<DeclarationRow | undefined> {
  const [row] = await db.query<DeclarationRow>(
    `UPDATE declarations SET handled_at = coalesce(handled_at, $3) WHERE company_id = $1 AND id = $2 RETURNING ${columns}`,
    [companyId, id, now],
  );
  return row;
}

/** What waits first, then the latest. */
export async function listDeclarations(db: Queryable, companyId: string, count: number): Promise<DeclarationRow[]> {
  return db.query<DeclarationRow>(
    `(SELECT ${columns} FROM declarations WHERE company_id = $1 AND handled_at IS NULL ORDER BY id DESC LIMIT $2)
     UNION ALL
     (SELECT ${columns} FROM (SELECT ${columns} FROM declarations WHERE company_id = $1 ORDER BY id DESC LIMIT $2) latest
      WHERE handled_at IS NOT NULL)`,
    [companyId, count],
  );
}
