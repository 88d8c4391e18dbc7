import type { DatabasePool } from '../platform/database.ts';
import type { Access, OpenedCard } from './access.ts';
import type { CardAttempt } from './decline-limits.ts';
import { accountRefusalIn } from './processors/account-refusal.ts';
import { keepNetworkTransactionId, keepVerification } from './queries.ts';
import type { CardVerification, RejectedVerification, StoredCard, StoredVerification } from './vault.ts';

/** The card is stored with any answer: only the merchant sees the result. */
export async function verifyCard(
  db: DatabasePool,
  { processors, counter }: Access,
  { companyId, cardId, mode, number, declines }: StoredCard & Pick<OpenedCard, 'declines'>,
  { connectionId, expMonth, expYear, ...request }: StoredVerification,
): Promise<CardVerification | RejectedVerification | null> {
  let verification: CardVerification | null = null;
  try {
    const connected = await processors(companyId, mode, connectionId);
    const card = { number, cardId, expMonth, expYear };
    const attempt: CardAttempt = { amount: 0, currency: null, byCustomer: true };
    const counted = { ...request, companyId, connectionId, card: { ...card, declines }, attempt };
    if (counter.stop(counted)) return null;
    const found = await connected?.processor.verify?.({ ...request, companyId, card });
    if (found) await counter.note(counted, found);
    if (!found) return null;
    if (found.outcome === 'unknown') {
      const refusal = accountRefusalIn(found);
      return Object.keys(refusal).length > 0 ? { outcome: 'rejected', ...refusal } : null;
    }
    const { outcome, avsResult: avs_result, cvvResult: cvv_result } = found;
    verification = { outcome, avs_result, cvv_result };
    await keepVerification(db, companyId, cardId, verification);
    const { networkTransactionId: id } = found;
    const isOfNetwork = connected?.processor.reportsOwnIds !== true;
    if (id) await keepNetworkTransactionId(db, companyId, cardId, connectionId, id, isOfNetwork);
  } catch {
    // A verification that fails is a card that was not verified.
  }
  return verification;
}
