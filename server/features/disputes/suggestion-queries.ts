import type { Queryable } from '../../platform/database.ts';
import type { AuthenticationResult } from '../../vault/processors/authentication.ts';

/** What is known of a disputed payment, in the words of the database. */

export interface CustomerPast {
  /** Earlier orders that were paid, at most `countedOrders`. */
  readonly paid: number;
  readonly same_card: number;
  readonly disputed: number;
  readonly first_id: string | null;
}

const countedOrders = 1_000;

export async function findPast(
  db: Queryable,
  companyId: string,
  order: { readonly id: string; readonly customer_id: string; readonly payment_method: { readonly id: string } },
): Promise<CustomerPast | undefined> {
  const [row] = await db.query<CustomerPast>(
    `SELECT count(*)::integer AS paid, (count(*) FILTER (WHERE payment_method_id = $4))::integer AS same_card,
       (count(*) FILTER (WHERE status LIKE 'chargeback%'))::integer AS disputed, (array_agg(id ORDER BY id))[1] AS first_id
     FROM (SELECT id, payment_method_id, status FROM orders
       WHERE company_id = $1 AND customer_id = $2 AND id < $3 AND status NOT IN ('pending', 'failed', 'voided')
       ORDER BY id DESC LIMIT $5) earlier`,
    [companyId, order.customer_id, order.id, order.payment_method.id, countedOrders],
  );
  return row;
}

export interface SentEmail {
  readonly subject: string;
  readonly recipient: string;
  readonly sent_at: Date;
}

export async function findEmails(
  db: Queryable,
  companyId: string,
  occasions: readonly string[],
): Promise<readonly SentEmail[]> {
  return db.query<SentEmail>(
    `SELECT subject, recipient, sent_at FROM mails
     WHERE company_id = $1 AND occasion = ANY($2) AND sent_at IS NOT NULL ORDER BY id`,
    [companyId, occasions],
  );
}

export async function findReceiptNumber(
  db: Queryable,
  companyId: string,
  orderId: string,
): Promise<{ readonly number: number; readonly created_at: Date } | undefined> {
  const [row] = await db.query<{ number: number; created_at: Date }>(
    'SELECT number, created_at FROM receipts WHERE company_id = $1 AND order_id = $2 AND refund_id IS NULL',
    [companyId, orderId],
  );
  return row;
}

/** When the customer paid on a checkout page. A session is open for days at most, so only those before the order are read. */
export async function findCheckout(
  db: Queryable,
  companyId: string,
  orderId: string,
  fromId: string,
): Promise<Date | undefined> {
  const [row] = await db.query<{ completed_at: Date }>(
    `SELECT completed_at FROM checkout_sessions
     WHERE company_id = $1 AND status = 'completed' AND id >= $3 AND id < $2 AND order_id = $2 ORDER BY id DESC LIMIT 1`,
    [companyId, orderId, fromId],
  );
  return row?.completed_at;
}

export async function findChecks(
  db: Queryable,
  companyId: string,
  transactionId: string,
): Promise<{ readonly cvv: string | null; readonly avs: string | null } | undefined> {
  const [row] = await db.query<{ cvv: string | null; avs: string | null }>(
    `SELECT processor_response->>'cvv_result' AS cvv, processor_response->>'avs_result' AS avs
     FROM transactions WHERE company_id = $1 AND id = $2`,
    [companyId, transactionId],
  );
  return row;
}

/** How the bank authenticated the customer of the charge, or of the authorization that was captured. */
export async function findAuthentication(
  db: Queryable,
  companyId: string,
  orderId: string,
): Promise<AuthenticationResult | undefined> {
  const [row] = await db.query<{ authentication: AuthenticationResult }>(
    `SELECT processor_response->'authentication' AS authentication FROM transactions
     WHERE company_id = $1 AND order_id = $2 AND type IN ('sale', 'auth') AND status <> 'failed'
       AND processor_response->'authentication' IS NOT NULL LIMIT 1`,
    [companyId, orderId],
  );
  return row?.authentication;
}

export interface SoldProduct {
  readonly id: string;
  readonly description: string | null;
  readonly requires_shipping: boolean;
  readonly return_window: number | null;
}

export async function findSold(
  db: Queryable,
  companyId: string,
  ids: readonly string[],
): Promise<readonly SoldProduct[]> {
  return db.query<SoldProduct>(
    `SELECT id, description, requires_shipping, return_window FROM products WHERE company_id = $1 AND id = ANY($2)`,
    [companyId, ids],
  );
}
