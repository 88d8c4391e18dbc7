import type { LookupOutcome } from './processors/processor.ts';

/**
 * A scheduled charge that was interrupted may have been made with a later reference, which a restored database has
 * forgotten.
 */

type Found = Exclude<LookupOutcome, { outcome: 'not_found' }>;

/** How many sendings of one charge can be lost in a row: the first one, and two that repeat it. */
const lostInARowMax = 3;

/**
 * Looks up the later references of a charge. Returns the one that was paid, even if with another card, or `unknown` if
 * the processor could not be asked.
 */
export async function findPaid(
  references: readonly string[],
  lookUp: (reference: string) => Promise<LookupOutcome>,
): Promise<{ readonly reference: string; readonly found: Found } | undefined> {
  let lost = 0;
  for (const reference of references) {
    const found = await lookUp(reference);
    lost = found.outcome === 'not_found' ? lost + 1 : 0;
    if (lost === lostInARowMax) return undefined;
    const isPaid = found.outcome === 'approved' || (found.outcome === 'conflict' && found.approved !== false);
    if (isPaid || found.outcome === 'unknown') return { reference, found };
  }
  return undefined;
}
