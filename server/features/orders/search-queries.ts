import { type Arm, containing, keyArm } from '../../http/search-pages.ts';
import { currencies } from '../../platform/currencies.ts';
import type { Queryable } from '../../platform/database.ts';
import { isUuid } from '../../platform/ids.ts';
import { joinSql, raw, type Sql, sql } from '../../platform/sql.ts';
import { findOwners, type Searcher } from '../customers/queries.ts';

/** What a search text can mean in the lists of orders, transactions and subscriptions: each meaning becomes arms of the list. */

/** Above this, a list is read in its own order instead of customer by customer. */
const ownersMax = 500;
export const numbersMax = 1_000;
const productsMax = 50;

export async function armsOfOwners(searcher: Searcher, text: string): Promise<Arm[]> {
  const owners = await findOwners(searcher, text, ownersMax);
  if (!owners) return [];
  if ('isOneOf' in owners) return [{ only: owners.isOneOf(raw('customer_id')) }];
  return owners.ids.length === 0 ? [] : [keyArm('customer_id', 'uuid', owners.ids)];
}

/** The last four digits of a card, with or without dots in front. */
export async function armsOfLastFour(db: Queryable, companyId: string, text: string): Promise<Arm[]> {
  const [, lastFour] = /^[•*. ]*(\d{4})$/.exec(text) ?? [];
  if (lastFour === undefined) return [];
  const rows = await db.query<{ customer_id: string }>(
    'SELECT DISTINCT customer_id FROM payment_methods WHERE company_id = $1 AND last4 = $2 LIMIT $3',
    [companyId, lastFour, ownersMax + 1],
  );
  const only = sql`card_last4 = ${lastFour}`;
  if (rows.length > ownersMax) return [{ only }];
  if (rows.length === 0) return [];
  const keys = rows.map(({ customer_id }) => customer_id);
  return [{ ...keyArm('customer_id', 'uuid', keys), only }];
}

const codesWith = (decimals: number): string[] =>
  [...currencies].flatMap(([code, places]) => (places === decimals ? [code] : []));

/** An amount as people write it. How many of the smallest units it is depends on the currency. */
export function armsOfAmount(column: string, text: string): Arm[] {
  const [, whole, fraction = ''] =
    /^[^\w\s]?\s?(\d{1,10}|\d{1,3}(?:,\d{3})+)(?:\.(\d{1,3})|,(\d{1,2}))?$/.exec(text.trim()) ?? [];
  if (whole === undefined) return [];
  const decimalPart = fraction || (/,(\d{1,2})$/.exec(text)?.[1] ?? '');
  const units = whole.replaceAll(',', '');
  const readings = [0, 2, 3].flatMap((decimals) =>
    decimalPart.length > decimals
      ? []
      : [{ amount: Number(units + decimalPart.padEnd(decimals, '0')), codes: codesWith(decimals) }],
  );
  const fits = readings.map(
    ({ amount, codes }) => sql`(${raw(column)} = ${amount}::bigint AND currency = ANY(${codes}::text[]))`,
  );
  const keys = [...new Set(readings.map(({ amount }) => amount))];
  return [{ ...keyArm(column, 'bigint', keys), only: sql`(${joinSql(fits, ' OR ')})` }];
}

/** The id itself, or an order number or its first four letters or more. */
export async function findOrderIds(db: Queryable, companyId: string, text: string): Promise<string[]> {
  if (isUuid(text)) return [text.toLowerCase()];
  const number = text.replace(/^#/, '').toUpperCase();
  if (!/^[A-Z0-9]{4,12}$/.test(number)) return [];
  const rows = await db.query<{ id: string }>(
    `SELECT id FROM orders WHERE company_id = $1 AND order_number >= $2 AND order_number <= $2 || 'ZZZZZZZZZZZZ'
       AND starts_with(order_number, $2) ORDER BY order_number LIMIT $3`,
    [companyId, number, numbersMax],
  );
  return rows.map(({ id }) => id);
}

/** The products with this text in their name or SKU, among the newest. */
export async function findProductIds(db: Queryable, companyId: string, text: string): Promise<string[]> {
  if (text.length < 2) return [];
  const rows = await db.query<{ id: string }>(
    `SELECT id FROM (SELECT id, name, sku FROM products WHERE company_id = $1 ORDER BY id DESC LIMIT 10000) AS newest
     WHERE name ILIKE $2 OR sku ILIKE $2 LIMIT $3`,
    [companyId, containing(text), productsMax],
  );
  return rows.map(({ id }) => id);
}

/** If there are `max` ids, others may have been left out. */
export const idArms = (column: string, ids: readonly string[], max = Number.POSITIVE_INFINITY): Arm[] =>
  ids.length === 0 ? [] : [{ ...keyArm(column, 'uuid', ids), ...(ids.length >= max && { isPart: true }) }];

/** Orders that contain a product, use a coupon or bill a plan: from the index, and the newest orders, which are not in it yet. */
export async function armsOfObjects(
  db: Queryable,
  companyId: string,
  ids: readonly string[],
  isOfObject: Sql,
): Promise<Arm[]> {
  if (ids.length === 0) return [];
  const [cursor] = await db.query<{ after_id: string }>(
    'SELECT after_id FROM order_index_cursors WHERE company_id = $1',
    [companyId],
  );
  return [
    {
      table: 'orders_by_object',
      idColumn: 'order_id',
      ...keyArm('object_id', 'uuid', ids),
      ...(ids.length >= productsMax && { isPart: true }),
    },
    { ...(cursor && { after: cursor.after_id }), only: isOfObject },
  ];
}

const contains = (column: string, ids: readonly string[]): Sql => {
  const each = ids.map((id) => sql`position(${id} IN ${raw(column)}::text) > 0`);
  return sql`(${joinSql(each, ' OR ')})`;
};

export const hasProduct = (ids: readonly string[]): Sql => contains('items', ids);
export const hasCoupon = (id: string): Sql => sql`coupon ->> 'id' = ${id}`;
export const hasPlan = (companyId: string, id: string): Sql =>
  sql`(SELECT s.plan_id FROM subscriptions s WHERE s.company_id = ${companyId} AND s.id = subscription_id) = ${id}::uuid`;

/** Counts months from the year 0: `2027-01` is 24325. */
function monthNumber(month: string): number {
  const [year = 0, ofYear = 0] = month.split('-').map(Number);
  return year * 12 + ofYear;
}

/** The card `payment_method_id` of `s` expires in one of these months. */
export const cardExpires = (months: readonly string[] | undefined): Sql[] =>
  months
    ? [
        sql`(SELECT p.exp_year * 12 + p.exp_month FROM payment_methods p
          WHERE p.company_id = s.company_id AND p.id = s.payment_method_id) = ANY(${months.map(monthNumber)}::integer[])`,
      ]
    : [];
