import type { Queryable } from '../../platform/database.ts';
import { attemptsAhead, deriveReference, type Numbered, subjects } from '../orders/service.ts';
import { executedCharge, forgottenCharge } from '../restores/service.ts';
import type { SubscriptionRow } from './subscription.ts';

/**
 * Charges that a processor executed and that the records have forgotten in a restore. The next charge for the same purpose gets the
 * same reference and, where credit pays a part, the same amount: so it is found as paid, and nothing is charged again.
 */

type OfSubscription = Pick<SubscriptionRow, 'company_id' | 'id'>;

export interface Forgotten {
  /** Null if a processor reported it without its amount. */
  readonly amount: number | null;
  readonly numbered?: Numbered;
}

/** The charge of a cycle. Most cycles have none, and cost nothing. */
export async function forgottenOfCycle(
  db: Queryable,
  { company_id, id }: OfSubscription,
  cycle: number,
  reference: string | null,
): Promise<Forgotten | undefined> {
  if (reference === null) return undefined;
  const kept = await executedCharge(db, company_id, [reference]);
  const numbered = attempts(subjects.cycle(id, cycle)).find((one) => deriveReference(company_id, one) === reference);
  return { amount: kept?.amount ?? null, ...(numbered && { numbered }) };
}

/** The charge of the next change of plan. By default it throws while the company is compared with its processors. */
export async function forgottenOfChange(
  db: Queryable,
  { company_id, id, change_count }: OfSubscription & Pick<SubscriptionRow, 'change_count'>,
  find: typeof executedCharge = forgottenCharge,
): Promise<Forgotten | undefined> {
  const byReference = new Map(
    attempts(subjects.change(id, change_count + 1)).map((one) => [deriveReference(company_id, one), one]),
  );
  const kept = await find(db, company_id, [...byReference.keys()]);
  const numbered = kept && byReference.get(kept.reference);
  return kept && { amount: kept.amount, ...(numbered && { numbered }) };
}

const attempts = (subject: readonly string[]): Numbered[] =>
  Array.from({ length: attemptsAhead }, (_, number) => ({ subject, number }));
