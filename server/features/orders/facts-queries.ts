import { keyColumns, type KeyRow } from '../../http/key-queries.ts';
import type { BrandName } from '../../platform/card-brands.ts';
import type { Queryable } from '../../platform/database.ts';
import { rowsOf } from '../../platform/rows.ts';
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
        readonly isListed: boolean;
        /** It may be charged without the customer. */
        readonly isMandated: boolean;
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
  listed: boolean;
  mandated: boolean;
  /** Null except in the first row. */
  products: (ProductFacts & { readonly company_id: string })[] | null;
  coupon: Parameters<typeof factsFromJson>[0];
}

const requestRows = rowsOf({
  place: 'integer',
  company_id: 'uuid',
  key: 'text',
  reference: 'uuid',
  now: 'timestamptz',
  customer_id: 'uuid',
  payment_method_id: 'uuid',
  coupon_code: 'text',
});
const productRows = rowsOf({ company_id: 'uuid', id: 'uuid' });

// The first row has the products of all requests, which are often the same.
const factsStatement = (coupon: string): string => `
  SELECT q.place, ${keyColumns('q.now')}, o.answer_event_id IS NOT NULL AS answered,
    ${anyRow('transactions t WHERE t.company_id = q.company_id AND t.reference = q.reference')} AS reference_used,
    c.id IS NOT NULL AS customer_found, c.deleted_at IS NOT NULL AS customer_deleted,
    c.default_payment_method_id IS NOT NULL AS has_card,
    m.id AS payment_method_id, m.card_id, m.brand, m.last4, m.exp_month, m.exp_year, m.billing_details, m.listed,
    m.mandated_at IS NOT NULL AS mandated,
    CASE WHEN q.place = 0 THEN (
      SELECT json_agg(json_build_object('company_id', p.company_id, 'id', p.id, 'name', p.name, 'sku', p.sku,
        'amount', p.amount, 'currency', p.currency, 'active', p.active, 'ordered', p.ordered))
      FROM ${productRows.from(1 + requestRows.count)} AS w CROSS JOIN LATERAL (
        SELECT * FROM products p WHERE p.company_id = w.company_id AND p.id = w.id OFFSET 0) AS p) END AS products,
    ${coupon} AS coupon
  FROM ${requestRows.from(1)} AS q
  LEFT JOIN idempotency_keys k ON k.company_id = q.company_id AND k.key = q.key
  LEFT JOIN orders o ON o.company_id = k.company_id AND o.id = k.operation_id
  LEFT JOIN customers c ON c.company_id = q.company_id AND c.id = q.customer_id
  LEFT JOIN payment_methods m ON m.company_id = c.company_id AND m.customer_id = c.id AND m.deleted_at IS NULL
    AND m.id = coalesce(q.payment_method_id, c.default_payment_method_id)`;

// PostgreSQL prepares each part of a statement for each batch, whether or not the batch needs it.
const readPlain = factsStatement('NULL::json');
const readWithCoupons = factsStatement(`CASE WHEN q.coupon_code IS NOT NULL
  THEN ${couponFactsJson('q.company_id', 'q.coupon_code', 'q.customer_id')} END`);

export async function readFacts(db: Queryable, requests: readonly FactsRequest[]): Promise<Facts[]> {
  const wanted = new Map(
    requests.flatMap(({ company_id, product_ids }) =>
      product_ids.map((id) => [`${company_id} ${id}`, { company_id, id }] as const),
    ),
  );
  const hasCoupons = requests.some(({ coupon_code }) => coupon_code !== null);
  const rows = await db.query<FactsRow>(hasCoupons ? readWithCoupons : readPlain, [
    ...requestRows.values(requests.map((request, place) => ({ place, ...request }))),
    ...productRows.values([...wanted.values()]),
  ]);
  rows.sort((left, right) => left.place - right.place);
  const found = new Map(
    rows[0]?.products?.map(({ company_id, ...product }) => [`${company_id} ${product.id}`, product]),
  );
  return rows.map((row, place) => ({
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
            isListed: row.listed,
            isMandated: row.mandated,
          },
    products: productsOf(requests[place]),
    coupon: factsFromJson(row.coupon),
  }));

  function productsOf(request: FactsRequest | undefined): ProductFacts[] {
    return request?.product_ids.flatMap((id) => found.get(`${request.company_id} ${id}`) ?? []) ?? [];
  }
}
