import type { Queryable } from '../../platform/database.ts';
import { deriveReference, subjects } from '../orders/service.ts';
import { findBilledSubscriptions, findFailedOrders } from './queries.ts';

/** What a reference stands for that the books do not have. */
export interface Standing {
  readonly order_id: string | null;
  readonly subscription_id: string | null;
  readonly subscription_cycle: number | null;
  /** Whether an order is missing along with it, which billing makes. */
  readonly isRenewal: boolean;
}

/** How many cycles after the one that the books know, and how many attempts at each, may have been charged since. */
const cyclesAhead = 40;
const attemptsAhead = 12;

/**
 * Derives the references that charges since the backup would have: of the next cycles of each subscription, and of retries of
 * orders that failed. What is not among them was named by an idempotency key, and only the client who repeats it knows the key.
 */
export async function standingsOf(
  db: Queryable,
  companyId: string,
  wanted: ReadonlySet<string>,
): Promise<Map<string, Standing>> {
  const found = new Map<string, Standing>();
  const look = (subject: readonly string[], from: number, standing: Standing): void => {
    for (let number = from; number < from + attemptsAhead; number += 1) {
      const reference = deriveReference(companyId, { subject, number });
      if (wanted.has(reference)) found.set(reference, standing);
    }
  };
  for (let after = firstId; found.size < wanted.size; ) {
    const batch = await findBilledSubscriptions(db, companyId, after);
    if (batch.length === 0) break;
    for (const { id, current_cycle } of batch) {
      for (let cycle = current_cycle + 1; cycle <= current_cycle + cyclesAhead; cycle += 1) {
        const standing = { order_id: null, subscription_id: id, subscription_cycle: cycle, isRenewal: true };
        look(subjects.cycle(id, cycle), 0, standing);
      }
    }
    after = batch.at(-1)?.id ?? after;
  }
  for (let after = firstId; found.size < wanted.size; ) {
    const batch = await findFailedOrders(db, companyId, after);
    if (batch.length === 0) break;
    for (const { id, subscription_id, subscription_cycle, attempt_count } of batch) {
      const subject = subscription_id ? subjects.cycle(subscription_id, subscription_cycle ?? 1) : subjects.retry(id);
      look(subject, attempt_count, { order_id: id, subscription_id, subscription_cycle, isRenewal: false });
    }
    after = batch.at(-1)?.id ?? after;
  }
  return found;
}

const firstId = '00000000-0000-0000-0000-000000000000';
