import { keyColumns, type KeyRow } from '../../http/key-queries.ts';
import type { BrandName } from '../../platform/card-brands.ts';
import type { Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';
import type { BillingDetails } from '../payment-methods/schemas.ts';
import { type CouponFacts, couponFactsJson, factsFromJson } from '../coupons/redemption-queries.ts';

/** The rows that a new order depends on, as its request refers to them. */
export interface FactsRequest {
  readonly company_id: string;
  readonly key: string | null;
  /** The reference of the first use of the key. */
  readonly reference: string;
  readonly now: string;
  readonly customer_id: string;
  readonly payment_method_id: string | null;
  readonly product_ids: readonly string[];
  /** In the form in which codes are compared. */
  readonly coupon_code: string | null;
}

export interface ProductFacts {
  readonly id: string;
  readonly name: string;
  readonly sku: string;
  readonly amount: number;
  readonly currency: string;
  readonly active: boolean;
  readonly ordered: boolean;
}

export interface Facts {
  readonly key: KeyRow | undefined;
  /** Whether the order of the key has its first outcome. */
  readonly answered: boolean;
  /** Whether a recorded charge has this reference: the key was used before. */
  readonly referenceUsed: boolean;
  readonly customer: { readonly deleted: boolean; readonly hasCard: boolean } | undefined;
  readonly card:
    | {
        readonly id: string;
        readonly cardId: string;
        readonly brand: BrandName;
        readonly last4: string;
        readonly expMonth: number;
        readonly expYear: number;
        readonly billing: BillingDetails | null;
      }
    | undefined;
  readonly products: readonly ProductFacts[];
  readonly coupon: CouponFacts | undefined;
}

interface FactsRow extends KeyRow {
  place: number;
  answered: boolean;
  reference_used: boolean;
  customer_found: boolean;
  customer_deleted: boolean;
  has_card: boolean;
  payment_method_id: string | null;
  card_id: string;
  brand: BrandName;
  last4: string;
  exp_month: number;
  exp_year: number;
  billing_details: BillingDetails | null;
  products: ProductFacts[] | null;
  coupon: Parameters<typeof factsFromJson>[0];
}

const readFactsStatement = `
  SELECT q.place, ${keyColumns('q.now')}, o.answer_event_id IS NOT NULL AS answered,
    ${anyRow('transactions t WHERE t.company_id = q.company_id AND t.reference = q.reference')} AS reference_used,
    c.id IS NOT NULL AS customer_found, c.deleted_at IS NOT NULL AS customer_deleted,
    c.default_payment_method_id IS NOT NULL AS has_card,
    m.id AS payment_method_id, m.card_id, m.brand, m.last4, m.exp_month, m.exp_year, m.billing_details,
    (SELECT json_agg(json_build_object('id', p.id, 'name', p.name, 'sku', p.sku, 'amount', p.amount,
       'currency', p.currency, 'active', p.active, 'ordered', p.ordered))
     FROM products p WHERE p.company_id = q.company_id AND p.id = ANY(q.product_ids)) AS products,
    ${couponFactsJson('q.company_id', 'q.coupon_code', 'q.customer_id')} AS coupon
  FROM json_to_recordset($1::json) AS q (place integer, company_id uuid, key text, reference uuid, now timestamptz,
    customer_id uuid, payment_method_id uuid, product_ids uuid[], coupon_code text)
  LEFT JOIN idempotency_keys k ON k.company_id = q.company_id AND k.key = q.key
  LEFT JOIN orders o ON o.company_id = k.company_id AND o.id = k.operation_id
  LEFT JOIN customers c ON c.company_id = q.company_id AND c.id = q.customer_id
  LEFT JOIN payment_methods m ON m.company_id = c.company_id AND m.customer_id = c.id AND m.deleted_at IS NULL
    AND m.id = coalesce(q.payment_method_id, c.default_payment_method_id)`;

export async function readFacts(db: Queryable, requests: readonly FactsRequest[]): Promise<Facts[]> {
  const rows = await db.query<FactsRow>(readFactsStatement, [
    JSON.stringify(
      requests.map((request, place) => ({ place, ...request, product_ids: `{${request.product_ids.join()}}` })),
    ),
  ]);
  rows.sort((left, right) => left.place - right.place);
  return rows.map((row) => ({
    key: row.method === null ? undefined : row,
    answered: row.answered,
    referenceUsed: row.reference_used,
    customer: row.customer_found ? { deleted: row.customer_deleted, hasCard: row.has_card } : undefined,
    card:
      row.payment_method_id === null
        ? undefined
        : {
            id: row.payment_method_id,
            cardId: row.card_id,
            brand: row.brand,
            last4: row.last4,
            expMonth: row.exp_month,
            expYear: row.exp_year,
            billing: row.billing_details,
          },
    products: row.products ?? [],
    coupon: factsFromJson(row.coupon),
  }));
}
