import type { Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';
import { couponColumns, type CouponRow } from './queries.ts';

/** Queries for the use of coupons: lookup by code, and the limits of redemptions. */

/** A coupon found by a code, with the facts that decide whether it can be used. */
export interface CouponFacts extends CouponRow {
  readonly code: string;
  readonly code_id: string;
  readonly code_used: number;
  readonly code_redemptions: number;
  /** Redemptions held for subscriptions that start later, in total and for this code. */
  readonly waiting: number;
  readonly code_waiting: number;
  /**
   * For this customer: all redemptions, those without a charge in flight, and whether the customer has bought
   * anything.
   */
  readonly customer_used: number;
  readonly customer_firm: number;
  readonly customer_has_bought: boolean;
}

// Counted only where the result matters: most coupons have no limit per customer and are far from used up.
const byCustomer = (customer: string, where = 'true'): string => `CASE
  WHEN c.max_redemptions_per_customer IS NOT NULL OR c.first_time_customer_only THEN (
    SELECT count(*)::integer FROM coupon_redemptions r WHERE r.company_id = c.company_id AND r.coupon_id = c.id
      AND r.customer_id = ${customer} AND ${where}) ELSE 0 END`;

const waiting = (where: string): string => `CASE
  WHEN coalesce(c.used >= c.max_redemptions, false) OR coalesce(k.used >= c.max_redemptions_per_code, false) THEN (
    SELECT count(*)::integer FROM coupon_redemptions r WHERE r.company_id = c.company_id AND r.coupon_id = c.id
      AND r.waits AND ${where}) ELSE 0 END`;

/** The counts that are compared with the limits. */
const limitFacts = (customer: string): string => `k.used AS code_used, k.redemptions AS code_redemptions,
  ${byCustomer(customer)} AS customer_used, ${byCustomer(customer, '(r.counted OR r.waits)')} AS customer_firm,
  ${waiting('true')} AS waiting, ${waiting('r.code_id = k.id')} AS code_waiting,
  CASE WHEN c.first_time_customer_only THEN ${anyRow(`orders o WHERE o.company_id = c.company_id
    AND o.customer_id = ${customer} AND o.status NOT IN ('pending', 'failed')`)} ELSE false END AS customer_has_bought`;

const facts = (customer: string): string =>
  `${couponColumns.map((name) => `c.${name}`).join(', ')}, k.code, k.id AS code_id, ${limitFacts(customer)}`;

const lockedColumns = [
  'total_redemptions',
  'used',
  'max_redemptions',
  'max_redemptions_per_customer',
  'max_redemptions_per_code',
  'first_time_customer_only',
  'active',
  'archived_at',
  'updated_at',
] as const;

export type LockedFacts = Pick<
  CouponFacts,
  | (typeof lockedColumns)[number]
  | 'code_used'
  | 'code_redemptions'
  | 'customer_used'
  | 'customer_firm'
  | 'waiting'
  | 'code_waiting'
  | 'customer_has_bought'
>;

export async function findByCode(
  db: Queryable,
  companyId: string,
  codeKey: string,
  customerId: string | null,
): Promise<CouponFacts | undefined> {
  const [row] = await db.query<CouponFacts>(
    `SELECT ${facts('$3::uuid')} FROM coupon_codes k
     JOIN coupons c ON c.company_id = k.company_id AND c.id = k.coupon_id
     WHERE k.company_id = $1 AND k.code = $2`,
    [companyId, codeKey, customerId],
  );
  return row;
}

/**
 * Finds the code that an order or subscription was created with. The code of a promo coupon may have been renamed
 * since.
 */
export async function findBySnapshot(
  db: Queryable,
  companyId: string,
  couponId: string,
  codeKey: string,
  customerId: string,
): Promise<CouponFacts | undefined> {
  const [row] = await db.query<CouponFacts>(
    `SELECT ${facts('$4::uuid')} FROM coupons c
     JOIN coupon_codes k ON k.company_id = c.company_id AND k.coupon_id = c.id AND (k.code = $3 OR c.kind = 'promo')
     WHERE c.company_id = $1 AND c.id = $2`,
    [companyId, couponId, codeKey, customerId],
  );
  return row;
}

/** The use of a coupon by an order or subscription. */
export interface Redemption {
  readonly company_id: string;
  /** The id of the order or subscription. */
  readonly id: string;
  readonly coupon_id: string;
  readonly code_id: string;
  readonly customer_id: string;
  /** True if nothing is charged, so that the redemption counts at once. */
  readonly counted: boolean;
  /** True if the charge is made later. */
  readonly waits: boolean;
  /** When the coupon was last changed, at the time of the check. */
  readonly termsOf: number;
  /** Whether the coupon was far from every limit, at the time of the check. */
  readonly farFromLimits: boolean;
}

// Locks first the coupons, then their codes, each in a fixed order, so that transactions that lock several cannot
// deadlock.
const lockStatement = `
  WITH wanted AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS w (company_id uuid, id uuid, coupon_id uuid, code_id uuid)
  ), coupon AS MATERIALIZED (
    SELECT c.company_id, c.id FROM coupons c
    JOIN (SELECT DISTINCT company_id, coupon_id FROM wanted) w ON w.company_id = c.company_id AND w.coupon_id = c.id
    ORDER BY c.company_id, c.id FOR NO KEY UPDATE OF c
  )
  SELECT k.id FROM coupon_codes k
  JOIN (SELECT DISTINCT w.company_id, w.coupon_id, w.code_id FROM wanted w
        JOIN coupon c ON c.company_id = w.company_id AND c.id = w.coupon_id) w
    ON w.company_id = k.company_id AND w.coupon_id = k.coupon_id AND w.code_id = k.id
  ORDER BY k.company_id, k.id FOR NO KEY UPDATE OF k`;

const lockedFactsStatement = `
  SELECT w.id AS redemption_id, ${lockedColumns.map((name) => `c.${name}`).join(', ')}, ${limitFacts('w.customer_id')}
  FROM json_to_recordset($1::json) AS w (company_id uuid, id uuid, coupon_id uuid, code_id uuid, customer_id uuid)
  JOIN coupons c ON c.company_id = w.company_id AND c.id = w.coupon_id
  JOIN coupon_codes k ON k.company_id = w.company_id AND k.coupon_id = w.coupon_id AND k.id = w.code_id`;

/**
 * Returns the coupons of some redemptions, by redemption. They stay unchanged until the transaction ends. The second
 * statement sees the changes of the transactions that the first one waited for.
 */
export async function lockForRedemption(
  db: Queryable,
  redemptions: readonly Redemption[],
): Promise<Map<string, LockedFacts>> {
  const wanted = JSON.stringify(redemptions);
  const locked = db.query(lockStatement, [wanted]);
  const [, rows] = await Promise.all([
    locked,
    db.query<LockedFacts & { redemption_id: string }>(lockedFactsStatement, [wanted]),
  ]);
  return new Map(rows.map((row) => [row.redemption_id, row]));
}

/**
 * Parts of a statement that inserts redemptions, from a parameter and if a condition allows. The caller holds the
 * locks and has checked the limits.
 */
export const redeemingParts = (parameter: string, condition: string): string => `
  redeemed AS (
    INSERT INTO coupon_redemptions (company_id, id, coupon_id, code_id, customer_id, counted, waits)
    SELECT company_id, id, coupon_id, code_id, customer_id, counted, waits
    FROM json_to_recordset(${parameter}::json) AS r (company_id uuid, id uuid, coupon_id uuid, code_id uuid,
      customer_id uuid, counted boolean, waits boolean)
    WHERE ${condition}
    RETURNING company_id, coupon_id, code_id, counted
  ), of_coupon AS (
    UPDATE coupons c SET used = c.used + m.used, total_redemptions = c.total_redemptions + m.counted
    FROM (SELECT company_id, coupon_id, count(*) AS used, count(*) FILTER (WHERE counted) AS counted
          FROM redeemed GROUP BY company_id, coupon_id) m
    WHERE c.company_id = m.company_id AND c.id = m.coupon_id RETURNING 1
  ), of_code AS (
    UPDATE coupon_codes k SET used = k.used + m.used, redemptions = k.redemptions + m.counted
    FROM (SELECT company_id, coupon_id, code_id, count(*) AS used, count(*) FILTER (WHERE counted) AS counted
          FROM redeemed GROUP BY company_id, coupon_id, code_id) m
    -- The coupon is updated before its codes, in the lock order.
    WHERE k.company_id = m.company_id AND k.coupon_id = m.coupon_id AND k.id = m.code_id
      AND (SELECT count(*) FROM of_coupon) > 0
  )`;

const reserveStatement = `WITH ${redeemingParts('$1', 'true')} SELECT 1 FROM redeemed`;

/** The caller holds the locks and has checked the limits. */
export async function insertRedemptions(db: Queryable, redemptions: readonly Redemption[]): Promise<void> {
  await db.query(reserveStatement, [JSON.stringify(redemptions)]);
}

export interface RedemptionOutcome {
  readonly company_id: string;
  readonly id: string;
  readonly redeemed: boolean;
  /** The order that was charged. */
  readonly order_id?: string;
}

/** Parts of a statement that counts or releases redemptions, from a parameter and if a condition allows. */
export const redemptionOutcomeParts = (parameter: string, condition: string): string => `
  ending AS MATERIALIZED (
    SELECT r.company_id, r.id, r.coupon_id, r.code_id, e.redeemed
    FROM json_to_recordset(${parameter}::json) AS e (company_id uuid, id uuid, redeemed boolean, order_id uuid)
    JOIN coupon_redemptions r ON r.company_id = e.company_id AND r.id = e.id
    WHERE NOT r.counted AND ${condition}
  ), coupon AS MATERIALIZED (
    SELECT c.company_id, c.id FROM coupons c
    JOIN (SELECT DISTINCT company_id, coupon_id FROM ending) e ON e.company_id = c.company_id AND e.coupon_id = c.id
    ORDER BY c.company_id, c.id FOR NO KEY UPDATE OF c
  ), code AS MATERIALIZED (
    SELECT k.company_id, k.id FROM coupon_codes k
    JOIN (SELECT DISTINCT e.company_id, e.coupon_id, e.code_id FROM ending e
          JOIN coupon c ON c.company_id = e.company_id AND c.id = e.coupon_id) e
      ON e.company_id = k.company_id AND e.coupon_id = k.coupon_id AND e.code_id = k.id
    ORDER BY k.company_id, k.id FOR NO KEY UPDATE OF k
  ), counted AS (
    UPDATE coupon_redemptions r SET counted = true, waits = false FROM ending e
    WHERE e.redeemed AND r.company_id = e.company_id AND r.id = e.id
  ), given_back AS (
    DELETE FROM coupon_redemptions r USING ending e
    WHERE NOT e.redeemed AND r.company_id = e.company_id AND r.id = e.id
  ), of_coupon AS (
    UPDATE coupons c SET used = c.used - e.given_back, total_redemptions = c.total_redemptions + e.redeemed
    FROM (SELECT company_id, coupon_id, count(*) FILTER (WHERE redeemed) AS redeemed,
            count(*) FILTER (WHERE NOT redeemed) AS given_back FROM ending GROUP BY company_id, coupon_id) e
    JOIN coupon h ON h.company_id = e.company_id AND h.id = e.coupon_id
    WHERE c.company_id = e.company_id AND c.id = e.coupon_id
  ), of_code AS (
    UPDATE coupon_codes k SET used = k.used - e.given_back, redemptions = k.redemptions + e.redeemed
    FROM (SELECT company_id, coupon_id, code_id, count(*) FILTER (WHERE redeemed) AS redeemed,
            count(*) FILTER (WHERE NOT redeemed) AS given_back FROM ending GROUP BY company_id, coupon_id, code_id) e
    JOIN code h ON h.company_id = e.company_id AND h.id = e.code_id
    WHERE k.company_id = e.company_id AND k.coupon_id = e.coupon_id AND k.id = e.code_id
  )`;

const outcomeStatement = `WITH ${redemptionOutcomeParts('$1', 'true')} SELECT 1 FROM ending`;

/** Called when the outcomes of the charges are known: each redemption is counted or released. */
export async function recordRedemptionOutcomes(db: Queryable, outcomes: readonly RedemptionOutcome[]): Promise<void> {
  await db.query(outcomeStatement, [JSON.stringify(outcomes)]);
}

/** Returns the facts of a code as JSON, for statements that read them with other data. */
export const couponFactsJson = (company: string, codeKey: string, customer: string): string => `(
  SELECT row_to_json(f) FROM (SELECT ${facts(customer)} FROM coupon_codes k
    JOIN coupons c ON c.company_id = k.company_id AND c.id = k.coupon_id
    WHERE k.company_id = ${company} AND k.code = ${codeKey}) f)`;

type FactsJson = Omit<CouponFacts, 'starts_at' | 'expires_at' | 'archived_at' | 'updated_at'> &
  Record<'starts_at' | 'expires_at' | 'archived_at' | 'updated_at', string | null>;

export function factsFromJson(json: FactsJson | null): CouponFacts | undefined {
  if (!json) return undefined;
  const date = (text: string | null): Date | null => (text === null ? null : new Date(text));
  return {
    ...json,
    starts_at: date(json.starts_at),
    expires_at: date(json.expires_at),
    archived_at: date(json.archived_at),
    updated_at: new Date(json.updated_at ?? 0),
  };
}
