import { fetchPage, type ListSource, type Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import type { Queryable } from '../../platform/database.ts';
import { anyRow, sql } from '../../platform/sql.ts';
import { type EventRow, eventValues, insertingEvents } from '../events/queries.ts';
import type { BillingDetails } from './schemas.ts';
import type { BrandName } from '../../platform/card-brands.ts';
import { staysHere } from '../../shards/queries.ts';
import type { CardVerification } from '../../vault/vault.ts';

export interface CardFacts {
  card_id: string;
  brand: BrandName;
  last4: string;
  exp_month: number;
  exp_year: number;
  fingerprint: string;
  /** What the processor answered when the card was verified; null if it was not. */
  verification: CardVerification | null;
}

export interface TokenRow extends CardFacts {
  company_id: string;
  requires_billing: boolean;
  billing_details: BillingDetails | null;
  expires_at: Date;
  used_at: Date | null;
}

/**
 * Runs before a card is stored: if the process dies before a row refers to the card, the worker removes it. Returns
 * false if the customer of the card does not exist: then nothing is registered, and the card must not be stored.
 */
export async function registerUnreferencedCard(
  db: Queryable,
  companyId: string,
  cardId: string,
  dueAt: Date,
  customerId: string | null,
): Promise<boolean> {
  const rows = await db.query(
    `INSERT INTO unreferenced_cards (company_id, card_id, due_at) SELECT $1, $2, $3
     WHERE $4::uuid IS NULL
       OR EXISTS (SELECT 1 FROM customers WHERE company_id = $1 AND id = $4 AND deleted_at IS NULL)
     RETURNING 1`,
    [companyId, cardId, dueAt, customerId],
  );
  return rows.length === 1;
}

export async function insertToken(db: Queryable, tokenHash: Buffer, token: TokenRow): Promise<void> {
  await db.query(
    `INSERT INTO card_tokens (token_hash, company_id, card_id, brand, last4, exp_month, exp_year, fingerprint,
       requires_billing, billing_details, expires_at, verification)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      tokenHash,
      token.company_id,
      token.card_id,
      token.brand,
      token.last4,
      token.exp_month,
      token.exp_year,
      token.fingerprint,
      token.requires_billing,
      token.billing_details && JSON.stringify(token.billing_details),
      token.expires_at,
      token.verification && JSON.stringify(token.verification),
    ],
  );
}

/** Includes the mode and account of its company, to distinguish another mode from another merchant. */
export async function findToken(
  db: Queryable,
  tokenHashes: readonly Buffer[],
): Promise<(TokenRow & { account_id: string }) | undefined> {
  const [row] = await db.query<TokenRow & { account_id: string }>(
    `SELECT t.company_id, t.card_id, t.brand, t.last4, t.exp_month, t.exp_year, t.fingerprint, t.requires_billing,
       t.billing_details, t.expires_at, t.used_at, t.verification, c.account_id
     FROM card_tokens t JOIN companies c ON c.id = t.company_id
     WHERE t.token_hash = ANY($1)`,
    [tokenHashes],
  );
  return row;
}

/** Returns true for exactly one caller, which then owns the token. */
export async function useToken(db: Queryable, tokenHashes: readonly Buffer[], now: Date): Promise<boolean> {
  const rows = await db.query(
    `UPDATE card_tokens SET used_at = $2 WHERE token_hash = ANY($1) AND used_at IS NULL AND expires_at > $2 RETURNING 1`,
    [tokenHashes, now],
  );
  return rows.length === 1;
}

export interface PaymentMethodRow extends CardFacts {
  id: string;
  customer_id: string;
  billing_details: BillingDetails | null;
  is_default: boolean;
  /** False for a card that a checkout page attached to an existing customer. */
  listed: boolean;
  /** When the bank authenticated the customer of the card; not set for a new card. */
  mandated_at?: Date | null;
}

const columns = `id, customer_id, card_id, brand, last4, exp_month, exp_year, fingerprint, billing_details, listed, verification, mandated_at,
  ${anyRow(`customers c WHERE c.company_id = payment_methods.company_id
    AND c.id = payment_methods.customer_id AND c.default_payment_method_id = payment_methods.id`)} AS is_default`;

/** Whether a customer whose row is locked can have another card. */
const hasPlace = `(SELECT count(*) FROM payment_methods p WHERE p.company_id = $1 AND p.customer_id = $3
  AND p.deleted_at IS NULL AND p.listed) < ${limits.paymentMethods}`;

export async function hasPlaceForCard(db: Queryable, companyId: string, customerId: string): Promise<boolean> {
  const [row] = await db.query<{ place: boolean }>(`SELECT ${hasPlace.replace('$3', '$2')} AS place`, [
    companyId,
    customerId,
  ]);
  return row?.place ?? false;
}

/**
 * Deletes the card's entry in the removal list: from here on the card is referenced. Returns false if the card is gone, or the customer
 * has no place for it.
 */
export async function insertPaymentMethod(
  db: Queryable,
  companyId: string,
  method: Omit<PaymentMethodRow, 'is_default'>,
): Promise<boolean> {
  const rows = await db.query(
    `WITH claimed AS (
       DELETE FROM unreferenced_cards WHERE company_id = $1 AND card_id = $4 AND NOT deleting RETURNING card_id
     )
     INSERT INTO payment_methods
       (company_id, id, customer_id, card_id, brand, last4, exp_month, exp_year, fingerprint, billing_details, listed,
        verification)
     SELECT $1, $2, $3, card_id, $5, $6, $7, $8, $9, $10, $11, $12 FROM claimed WHERE NOT $11 OR ${hasPlace} RETURNING 1`,
    [
      companyId,
      method.id,
      method.customer_id,
      method.card_id,
      method.brand,
      method.last4,
      method.exp_month,
      method.exp_year,
      method.fingerprint,
      method.billing_details && JSON.stringify(method.billing_details),
      method.listed,
      method.verification && JSON.stringify(method.verification),
    ],
  );
  return rows.length === 1;
}

/**
 * The same for a customer who is not deleted, and sets the default, in one statement. Returns undefined if the
 * customer or the card does not exist. A capture takes two thirds of the time that it takes in a transaction.
 */
export async function attachAtOnce(
  db: Queryable,
  companyId: string,
  method: Omit<PaymentMethodRow, 'is_default' | 'listed'>,
  setAsDefault: boolean,
  attached: (isDefault: boolean) => EventRow,
): Promise<{ isDefault: boolean } | undefined> {
  const asDefault = attached(true);
  const [row] = await db.query<{ is_default: boolean }>(
    `WITH customer AS MATERIALIZED (
       SELECT id, default_payment_method_id FROM customers
       WHERE company_id = $1 AND id = $3 AND deleted_at IS NULL AND ${hasPlace} FOR UPDATE
     ), claimed AS (
       DELETE FROM unreferenced_cards u USING customer
       WHERE u.company_id = $1 AND u.card_id = $4 AND NOT u.deleting RETURNING u.card_id
     ), added AS (
       INSERT INTO payment_methods
         (company_id, id, customer_id, card_id, brand, last4, exp_month, exp_year, fingerprint, billing_details,
          verification)
       SELECT $1, $2, customer.id, claimed.card_id, $5, $6, $7, $8, $9, $10, $13 FROM claimed, customer RETURNING id
     ), made_default AS (
       UPDATE customers c SET default_payment_method_id = added.id FROM added, customer
       WHERE c.company_id = $1 AND c.id = customer.id
         AND ($11::boolean OR customer.default_payment_method_id IS NULL)
       RETURNING 1
     ), emitted AS (
       ${insertingEvents(14, 'EXISTS (SELECT 1 FROM added) AND (e.id = $12) = EXISTS (SELECT 1 FROM made_default)')}
     )
     SELECT EXISTS (SELECT 1 FROM made_default) AS is_default FROM added`,
    [
      companyId,
      method.id,
      method.customer_id,
      method.card_id,
      method.brand,
      method.last4,
      method.exp_month,
      method.exp_year,
      method.fingerprint,
      method.billing_details && JSON.stringify(method.billing_details),
      setAsDefault,
      asDefault.id,
      method.verification && JSON.stringify(method.verification),
      ...eventValues([asDefault, attached(false)]),
    ],
  );
  return row && { isDefault: row.is_default };
}

export async function findPaymentMethod(
  db: Queryable,
  companyId: string,
  customerId: string,
  id: string,
): Promise<PaymentMethodRow | undefined> {
  const [row] = await db.query<PaymentMethodRow>(
    `SELECT ${columns} FROM payment_methods
     WHERE company_id = $1 AND customer_id = $2 AND id = $3 AND deleted_at IS NULL`,
    [companyId, customerId, id],
  );
  return row;
}

export async function findPaymentMethodsOf(
  db: Queryable,
  companyId: string,
  customerIds: readonly string[],
): Promise<PaymentMethodRow[]> {
  return db.query<PaymentMethodRow>(
    `SELECT ${columns} FROM payment_methods
     WHERE company_id = $1 AND customer_id = ANY($2::uuid[]) AND deleted_at IS NULL ORDER BY customer_id, id DESC`,
    [companyId, customerIds],
  );
}

const source: ListSource = { table: 'payment_methods', objectType: 'payment_method', columns, sorts: {} };

export async function listPaymentMethods(
  db: Queryable,
  companyId: string,
  customerId: string,
  page: PageRequest,
): Promise<Page<PaymentMethodRow>> {
  const where = [sql`customer_id = ${customerId}`, sql`deleted_at IS NULL`, sql`listed`];
  return fetchPage(db, companyId, source, page, where);
}

/** Lists a card that a checkout page attached. */
export async function listPaymentMethod(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query('UPDATE payment_methods SET listed = true WHERE company_id = $1 AND id = $2 AND NOT listed', [
    companyId,
    id,
  ]);
}

/** The card may be charged without the customer from now on. */
export async function setMandate(db: Queryable, companyId: string, id: string, at: Date): Promise<void> {
  await db.query('UPDATE payment_methods SET mandated_at = $3 WHERE company_id = $1 AND id = $2', [companyId, id, at]);
}

/** The rows stay for the orders that refer to them; the cards themselves leave the vault. */
export async function deletePaymentMethods(
  db: Queryable,
  companyId: string,
  customerId: string,
  ids: readonly string[],
  now: Date,
): Promise<void> {
  await db.query(
    `WITH deleted AS (
       UPDATE payment_methods SET deleted_at = $4, billing_details = NULL
       WHERE company_id = $1 AND customer_id = $2 AND id = ANY($3::uuid[]) AND deleted_at IS NULL RETURNING card_id
     )
     INSERT INTO unreferenced_cards (company_id, card_id, due_at) SELECT $1, card_id, now() FROM deleted`,
    [companyId, customerId, ids, now],
  );
}

/** For a customer that is deleted permanently. */
export async function forgetPaymentMethods(db: Queryable, companyId: string, customerId: string): Promise<void> {
  await db.query(
    `WITH deleted AS (DELETE FROM payment_methods WHERE company_id = $1 AND customer_id = $2 RETURNING card_id, deleted_at)
     INSERT INTO unreferenced_cards (company_id, card_id, due_at)
     SELECT $1, card_id, now() FROM deleted WHERE deleted_at IS NULL`,
    [companyId, customerId],
  );
}

/**
 * Claims cards that are due for removal. From here on no row can refer to them. If the removal fails, they are due
 * again in five minutes.
 */
export async function takeUnreferencedCards(
  db: Queryable,
  batch: number,
): Promise<{ companyId: string; cardId: string }[]> {
  const rows = await db.query<{ company_id: string; card_id: string }>(
    `UPDATE unreferenced_cards SET deleting = true, due_at = now() + interval '5 minutes'
     WHERE (company_id, card_id) IN (
       SELECT company_id, card_id FROM unreferenced_cards
       WHERE due_at <= now() AND ${staysHere('company_id')} ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
     ) RETURNING company_id, card_id`,
    [batch],
  );
  return rows.map((row) => ({ companyId: row.company_id, cardId: row.card_id }));
}

export async function forgetUnreferencedCards(
  db: Queryable,
  companyIds: readonly string[],
  cardIds: readonly string[],
): Promise<void> {
  await db.query(
    `DELETE FROM unreferenced_cards u USING unnest($1::uuid[], $2::uuid[]) AS gone (company_id, card_id)
     WHERE u.company_id = gone.company_id AND u.card_id = gone.card_id`,
    [companyIds, cardIds],
  );
}

/** Deletes used and expired tokens, with a margin for differing clocks. */
export async function deleteOldTokens(db: Queryable, batch: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM card_tokens WHERE token_hash IN (
       SELECT token_hash FROM card_tokens WHERE expires_at < now() - interval '1 day' AND ${staysHere('company_id')}
       ORDER BY expires_at LIMIT $1
     ) RETURNING 1`,
    [batch],
  );
  return rows.length;
}
