import type { Queryable } from '../../../platform/database.ts';

/** The books of the bank of the sandbox: the payments that it asks customers to confirm. */

export type ChallengeKind = 'frictionless' | 'challenge' | 'refused' | 'abandoned' | 'late';

/** `ended`: the time of the customer was over first. */
type ChallengeState = 'open' | 'passed' | 'failed' | 'ended';

export interface Challenge {
  readonly token: string;
  readonly behaviour: ChallengeKind;
  readonly state: ChallengeState;
  /** Whether the bank has reported to the sandbox. */
  readonly known: boolean;
}

/** How long the sandbox does not know what a bank that is late has decided. */
const lateSeconds = 5;

const challengeColumns = `token, behaviour, state,
  behaviour <> 'late' OR coalesce(answered_at <= now() - interval '${lateSeconds} seconds', false) AS known`;

interface NewChallenge {
  readonly companyId: string;
  readonly reference: string;
  readonly token: string;
  readonly cardId: string;
  readonly behaviour: ChallengeKind;
  readonly amount: number;
  readonly currency: string;
  readonly last4: string;
}

/** Opens it once for each reference. A frictionless one has passed at once. */
export async function openChallenge(db: Queryable, challenge: NewChallenge): Promise<Challenge | undefined> {
  const { companyId, reference, token, cardId, behaviour, amount, currency, last4 } = challenge;
  const hasPassed = behaviour === 'frictionless';
  await db.query(
    `INSERT INTO vault.sandbox_challenges
       (company_id, reference, token, card_id, behaviour, state, amount, currency, last4, answered_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, CASE WHEN $6 <> 'open' THEN now() END) ON CONFLICT DO NOTHING`,
    [companyId, reference, token, cardId, behaviour, hasPassed ? 'passed' : 'open', amount, currency, last4],
  );
  return findChallenge(db, companyId, reference);
}

export async function findChallenge(
  db: Queryable,
  companyId: string,
  reference: string,
): Promise<Challenge | undefined> {
  const [row] = await db.query<Challenge>(
    `SELECT ${challengeColumns} FROM vault.sandbox_challenges WHERE company_id = $1 AND reference = $2`,
    [companyId, reference],
  );
  return row;
}

/** Nothing can be paid under the reference afterwards, unless the sandbox knows that the bank has confirmed it. */
export async function endChallenge(db: Queryable, companyId: string, reference: string): Promise<void> {
  await db.query(
    `UPDATE vault.sandbox_challenges SET state = 'ended', answered_at = coalesce(answered_at, now())
     WHERE company_id = $1 AND reference = $2 AND (state = 'open' OR (state = 'passed' AND behaviour = 'late'
       AND answered_at > now() - interval '${lateSeconds} seconds'))`,
    [companyId, reference],
  );
}

/** Whether the customer has confirmed a payment with this card at the bank: a mandate for charges without the customer. */
export async function wasAuthenticated(db: Queryable, companyId: string, cardId: string): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM vault.sandbox_challenges WHERE company_id = $1 AND card_id = $2 AND state = 'passed' LIMIT 1`,
    [companyId, cardId],
  );
  return rows.length > 0;
}

export const bankAnswers = ['confirm', 'refuse'] as const;
export type BankAnswer = (typeof bankAnswers)[number];

/** What the page of the bank shows. */
export interface BankPage {
  readonly behaviour: ChallengeKind;
  readonly state: ChallengeState;
  readonly amount: number;
  readonly currency: string;
  readonly last4: string;
}

export async function findChallengeOf(db: Queryable, companyId: string, token: string): Promise<BankPage | undefined> {
  const [row] = await db.query<BankPage>(
    `SELECT behaviour, state, amount::float8 AS amount, currency, last4 FROM vault.sandbox_challenges
     WHERE company_id = $1 AND token = $2 AND behaviour <> 'frictionless'`,
    [companyId, token],
  );
  return row;
}

/** The first answer counts. Some cards are refused with any answer, and that of an abandoned one never arrives. */
export async function answerChallenge(
  db: Queryable,
  companyId: string,
  token: string,
  answer: BankAnswer,
): Promise<void> {
  await db.query(
    `UPDATE vault.sandbox_challenges SET answered_at = now(),
       state = CASE WHEN $3 = 'confirm' AND behaviour IN ('challenge', 'late') THEN 'passed' ELSE 'failed' END
     WHERE company_id = $1 AND token = $2 AND state = 'open' AND behaviour <> 'abandoned'`,
    [companyId, token, answer],
  );
}
