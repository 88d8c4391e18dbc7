import type { Queryable } from '../../platform/database.ts';
import {
  attemptsAhead,
  billedSubject,
  deriveReference,
  followingOf,
  type Numbered,
  subjects,
} from '../orders/service.ts';
import { findBilledSubscriptions, findFailedOrders, findOpenCharges } from './queries.ts';

/** The subject of a reference that the books do not have. */
export interface Standing {
  readonly order_id: string | null;
  readonly subscription_id: string | null;
  readonly subscription_cycle: number | null;
  /** Whether its order is missing too; billing will create it. */
  readonly isRenewal: boolean;
  /** The order has a charge in progress, under an earlier reference. */
  readonly isOpen?: boolean;
  readonly numbered: Numbered;
}

/** How many later cycles may have been charged since the backup. */
const cyclesAhead = 40;

/** The charges that one subject may have had since the backup, the first of them with this number. */
interface Candidate extends Numbered {
  readonly standing: Omit<Standing, 'numbered'>;
}

/**
 * Derives the references that charges since the backup would have: for charges that are open, for the next cycles of each
 * subscription, and for retries of failed orders. Any other reference was derived from an idempotency key, which only the client knows.
 */
export async function standingsOf(
  db: Queryable,
  companyId: string,
  wanted: ReadonlySet<string>,
): Promise<Map<string, Standing>> {
  const found = new Map<string, Standing>();
  for (const candidatesOf of [openCharges, nextCycles, nextChanges, retriesOfFailed]) {
    for await (const { subject, number: first, standing } of candidatesOf(db, companyId)) {
      if (found.size === wanted.size) return found;
      for (let number = first; number < first + attemptsAhead; number += 1) {
        const numbered = { subject, number };
        const reference = deriveReference(companyId, numbered);
        if (wanted.has(reference) && !found.has(reference)) found.set(reference, { ...standing, numbered });
      }
    }
  }
  return found;
}

/** A charge that was interrupted is made with a later reference. */
async function* openCharges(db: Queryable, companyId: string): AsyncGenerator<Candidate> {
  for (const { subject, number, reference, ...order } of await findOpenCharges(db, companyId)) {
    const standing = { ...order, isRenewal: false, isOpen: true };
    yield { ...followingOf({ subject, number, reference }), standing };
  }
}

async function* nextCycles(db: Queryable, companyId: string): AsyncGenerator<Candidate> {
  for await (const { id, current_cycle } of all((after) => findBilledSubscriptions(db, companyId, after))) {
    for (let cycle = current_cycle + 1; cycle <= current_cycle + cyclesAhead; cycle += 1) {
      const standing = { order_id: null, subscription_id: id, subscription_cycle: cycle, isRenewal: true };
      yield { subject: subjects.cycle(id, cycle), number: 0, standing };
    }
  }
}

/** How many changes of plan of one subscription may have been charged since the backup. */
const changesAhead = 5;

/** The charge of a change that the database has forgotten: no schedule makes it again, so a person decides about it. */
async function* nextChanges(db: Queryable, companyId: string): AsyncGenerator<Candidate> {
  for await (const { id, change_count } of all((after) => findBilledSubscriptions(db, companyId, after))) {
    for (let change = change_count + 1; change <= change_count + changesAhead; change += 1) {
      const standing = { order_id: null, subscription_id: id, subscription_cycle: null, isRenewal: false };
      yield { subject: subjects.change(id, change), number: 0, standing };
    }
  }
}

async function* retriesOfFailed(db: Queryable, companyId: string): AsyncGenerator<Candidate> {
  for await (const order of all((after) => findFailedOrders(db, companyId, after))) {
    const { id, subscription_id, subscription_cycle, attempt_count: number } = order;
    const subject = billedSubject(order) ?? subjects.retry(id);
    const standing = { order_id: id, subscription_id, subscription_cycle, isRenewal: false };
    yield { subject, number, standing };
    // Another connection may have repeated a charge that has a key.
    for (const reference of order.sale_references) yield { subject: subjects.retry(reference), number: 0, standing };
  }
}

/** Reads a list in batches. */
async function* all<Row extends { readonly id: string }>(
  readAfter: (id: string) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  for (let after: string | undefined = firstId; after !== undefined; ) {
    const batch: readonly Row[] = await readAfter(after);
    yield* batch;
    after = batch.at(-1)?.id;
  }
}

const firstId = '00000000-0000-0000-0000-000000000000';
