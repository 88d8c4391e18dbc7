import type { Queryable } from '../../platform/database.ts';
import { deriveReference, subjects } from '../orders/service.ts';
import { findBilledSubscriptions, findFailedOrders, findOpenRenewals } from './queries.ts';

/** The subject of a reference that the books do not have. */
export interface Standing {
  readonly order_id: string | null;
  readonly subscription_id: string | null;
  readonly subscription_cycle: number | null;
  /** Whether its order is missing too; billing will create it. */
  readonly isRenewal: boolean;
  /** The order has a charge in progress, under an earlier number of the same subject. */
  readonly isOpen?: boolean;
  readonly number: number;
}

/** How many later cycles, and how many attempts at each, may have been charged since the backup. */
const cyclesAhead = 40;
const attemptsAhead = 12;

/**
 * Derives the references that charges since the backup would have: for the next cycles of each subscription, and for
 * retries of failed orders. Any other reference was derived from an idempotency key, which only the client knows.
 */
export async function standingsOf(
  db: Queryable,
  companyId: string,
  wanted: ReadonlySet<string>,
): Promise<Map<string, Standing>> {
  const found = new Map<string, Standing>();
  const search = (subject: readonly string[], from: number, standing: Omit<Standing, 'number'>): void => {
    for (let number = from; number < from + attemptsAhead; number += 1) {
      const reference = deriveReference(companyId, { subject, number });
      if (wanted.has(reference)) found.set(reference, { ...standing, number });
    }
  };
  // A charge that was interrupted is made with a later reference.
  for (const { order_id, subscription_id, subscription_cycle, attempt_count } of await findOpenRenewals(
    db,
    companyId,
  )) {
    const standing = { order_id, subscription_id, subscription_cycle, isRenewal: false, isOpen: true };
    search(subjects.cycle(subscription_id, subscription_cycle ?? 1), attempt_count, standing);
  }
  for (let after = firstId; found.size < wanted.size; ) {
    const batch = await findBilledSubscriptions(db, companyId, after);
    if (batch.length === 0) break;
    for (const { id, current_cycle } of batch) {
      for (let cycle = current_cycle + 1; cycle <= current_cycle + cyclesAhead; cycle += 1) {
        const standing = { order_id: null, subscription_id: id, subscription_cycle: cycle, isRenewal: true };
        search(subjects.cycle(id, cycle), 0, standing);
      }
    }
    after = batch.at(-1)?.id ?? after;
  }
  for (let after = firstId; found.size < wanted.size; ) {
    const batch = await findFailedOrders(db, companyId, after);
    if (batch.length === 0) break;
    for (const { id, subscription_id, subscription_cycle, attempt_count } of batch) {
      const subject = subscription_id ? subjects.cycle(subscription_id, subscription_cycle ?? 1) : subjects.retry(id);
      search(subject, attempt_count, { order_id: id, subscription_id, subscription_cycle, isRenewal: false });
    }
    after = batch.at(-1)?.id ?? after;
  }
  return found;
}

const firstId = '00000000-0000-0000-0000-000000000000';
