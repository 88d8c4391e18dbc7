import type { Queryable } from '../../platform/database.ts';
import { type ConsentRow, findConsents, type GivenConsent, insertConsents } from './queries.ts';
import type { Consent } from './schemas.ts';

export type { GivenConsent } from './queries.ts';

/** Belongs to the commit that records the payment. */
export async function recordConsents(
  db: Queryable,
  companyId: string,
  of: Pick<ConsentRow, 'order_id' | 'subscription_id'>,
  given: readonly GivenConsent[] = [],
): Promise<void> {
  if (given.length > 0) await insertConsents(db, companyId, of, given);
}

/** What customers agreed to, by the order or the subscription for which they did. */
export async function consentsOf(
  db: Queryable,
  companyId: string,
  of: 'order_id' | 'subscription_id',
  ids: readonly string[],
): Promise<Map<string | null, Consent[]>> {
  const rows = await findConsents(db, companyId, of, ids);
  return new Map([...Map.groupBy(rows, (row) => row[of])].map(([id, found]) => [id, found.map(toWire)] as const));
}

const toWire = ({ kind, text, version, locale, url, given_at }: ConsentRow): Consent => ({
  ...{ kind, text, version, locale, url },
  given_at: given_at.toISOString(),
});
