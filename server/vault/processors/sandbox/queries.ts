import type { Database, Queryable } from '../../../platform/database.ts';
import type { FailureCode } from '../processor.ts';

export interface Operation {
  readonly approved: boolean;
  readonly failure_code: FailureCode | null;
}

async function findOperation(db: Queryable, companyId: string, reference: string): Promise<Operation | undefined> {
  const [row] = await db.query<Operation>(
    `SELECT approved, failure_code FROM vault.sandbox_operations WHERE company_id = $1 AND reference = $2`,
    [companyId, reference],
  );
  return row;
}

/**
 * Returns the operation in the books of the sandbox, and the time of the read. The books are in the database, so its
 * clock counts.
 */
export async function lookUpOperation(
  db: Queryable,
  companyId: string,
  reference: string,
): Promise<{ readonly operation: Operation | undefined; readonly atMs: number }> {
  const [row] = await db.query<Operation & { at_ms: number; found: boolean }>(
    `SELECT o.approved, o.failure_code, o.reference IS NOT NULL AS found,
       (extract(epoch FROM now()) * 1000)::bigint AS at_ms
     FROM (SELECT $1::uuid AS company_id, $2::uuid AS reference) wanted
     LEFT JOIN vault.sandbox_operations o USING (company_id, reference)`,
    [companyId, reference],
  );
  return { operation: row?.found ? row : undefined, atMs: row?.at_ms ?? 0 };
}

export interface NewOperation {
  readonly companyId: string;
  readonly reference: string;
  readonly kind: 'charge' | 'refund';
  readonly behaviour: string;
  readonly cardId: string;
  readonly chargeReference: string | null;
}

/**
 * Records an operation once. `decide` receives the number of earlier operations of this kind for the card (or, for a
 * refund, the charge), and never runs twice at once for the same card.
 */
export async function recordOperation(
  db: Database,
  operation: NewOperation,
  decide: (earlier: number) => FailureCode | null,
): Promise<Operation> {
  const { companyId, reference, kind, behaviour, cardId, chargeReference } = operation;
  return db.transaction(async (transaction) => {
    await transaction.query(`SELECT pg_advisory_xact_lock(hashtextextended($1::text || $2::text, 1))`, [
      companyId,
      cardId,
    ]);
    const known = await findOperation(transaction, companyId, reference);
    if (known) return known;
    const [counted] = await transaction.query<{ earlier: number }>(
      `SELECT count(*)::integer AS earlier FROM vault.sandbox_operations
       WHERE company_id = $1 AND card_id = $2 AND kind = $3 AND charge_reference IS NOT DISTINCT FROM $4`,
      [companyId, cardId, kind, chargeReference],
    );
    const failureCode = decide(counted?.earlier ?? 0);
    await transaction.query(
      `INSERT INTO vault.sandbox_operations
         (company_id, reference, kind, behaviour, card_id, charge_reference, approved, failure_code)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [companyId, reference, kind, behaviour, cardId, chargeReference, failureCode === null, failureCode],
    );
    return { approved: failureCode === null, failure_code: failureCode };
  });
}

export async function findCharge(
  db: Queryable,
  companyId: string,
  reference: string,
): Promise<{ cardId: string; behaviour: string } | undefined> {
  const [row] = await db.query<{ card_id: string; behaviour: string }>(
    `SELECT card_id, behaviour FROM vault.sandbox_operations
     WHERE company_id = $1 AND reference = $2 AND kind = 'charge'`,
    [companyId, reference],
  );
  return row && { cardId: row.card_id, behaviour: row.behaviour };
}

export async function findDeclines(db: Queryable): Promise<Map<string, FailureCode>> {
  const rows = await db.query<{ company_id: string; fingerprint: string; failure_code: FailureCode }>(
    `SELECT company_id, fingerprint, failure_code FROM vault.sandbox_declines`,
  );
  return new Map(rows.map((row) => [`${row.company_id} ${row.fingerprint}`, row.failure_code]));
}

export async function setDecline(
  db: Queryable,
  companyId: string,
  fingerprint: string,
  failureCode: FailureCode | null,
): Promise<void> {
  if (failureCode === null) {
    await db.query(`DELETE FROM vault.sandbox_declines WHERE company_id = $1 AND fingerprint = $2`, [
      companyId,
      fingerprint,
    ]);
    return;
  }
  await db.query(
    `INSERT INTO vault.sandbox_declines (company_id, fingerprint, failure_code) VALUES ($1, $2, $3)
     ON CONFLICT (company_id, fingerprint) DO UPDATE SET failure_code = excluded.failure_code`,
    [companyId, fingerprint, failureCode],
  );
}
