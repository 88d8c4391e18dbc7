import type { Queryable } from '../../platform/database.ts';
import type { CardVerification } from '../../vault/vault.ts';

export interface CardRules {
  readonly refuse_declined: boolean;
  readonly refuse_wrong_cvc: boolean;
  readonly refuse_wrong_address: boolean;
}

export async function findCardRules(db: Queryable, companyId: string): Promise<Partial<CardRules>> {
  const [row] = await db.query<{ card_rules: Partial<CardRules> }>('SELECT card_rules FROM companies WHERE id = $1', [
    companyId,
  ]);
  return row?.card_rules ?? {};
}

/** What is known about the cards of a customer that were verified. */
export async function findVerifications(
  db: Queryable,
  companyId: string,
  customerId: string,
): Promise<{ id: string; verification: CardVerification }[]> {
  return db.query(
    `SELECT id, verification FROM payment_methods WHERE company_id = $1 AND customer_id = $2 AND deleted_at IS NULL
       AND verification IS NOT NULL ORDER BY id DESC`,
    [companyId, customerId],
  );
}
