import type { DatabasePool } from '../platform/database.ts';
import type { Access, OpenedCard } from './access.ts';
import { lookUp, resumeCharge } from './charges.ts';
import type { CardAttempt } from './decline-limits.ts';
import { firstToKeep, knownIds } from './first-charges.ts';
import type { Connected } from './processors/connections.ts';
import type { LookupOutcome, Money, ResumeOutcome } from './processors/processor.ts';
import { keepNetworkTransactionId } from './queries.ts';
import type { VaultCharge, VaultLookup, VaultResume } from './vault.ts';

/** What the vault asks processors about operations that they have: how they ended, and whether a charge goes on. */

export async function lookUpOperation(
  db: DatabasePool,
  { processors, openCard, counter }: Access,
  { card, credential, ...request }: VaultLookup,
): Promise<LookupOutcome> {
  try {
    const connected = await processors(request.companyId, request.mode, request.connectionId);
    if (!connected) return unknown('no processor is connected');
    const opened = card && (await openCard(request, card));
    const found = await lookUp(db, connected, { ...request, ...(opened && { card: opened }) });
    if (opened && request.sent) {
      const attempt = attemptOf(request.sent, credential);
      await counter.note({ ...request, connectionId: connected.connectionId, card: opened, attempt }, found);
    }
    return found;
  } catch {
    return unknown('the lookup failed');
  }
}

/** Its customer was led to the bank. What follows an answer is done as after a charge. */

export async function continueCharge(
  db: DatabasePool,
  { processors, openCard, counter }: Access,
  { card, credential, ...request }: VaultResume,
): Promise<ResumeOutcome> {
  try {
    const connected = await processors(request.companyId, request.mode, request.connectionId);
    if (!connected) return unknown('no processor is connected');
    const opened = card && (await openCard(request, card));
    const found = await resumeCharge(db, connected, { ...request, ...(opened && { card: opened }) });
    if (!opened || found.outcome === 'needs_customer') return found;
    if (request.sent) {
      const attempt = attemptOf(request.sent, credential);
      await counter.note({ ...request, connectionId: connected.connectionId, card: opened, attempt }, found);
    }
    if (found.outcome === 'approved') await keepFirst(db, request.companyId, connected, opened, found);
    return found;
  } catch {
    return unknown('the charge could not be continued');
  }
}

const unknown = (reason: string): LookupOutcome => ({ outcome: 'unknown', reason });

export const attemptOf = ({ amount, currency }: Money, credential: VaultCharge['credential']): CardAttempt => ({
  amount,
  currency,
  byCustomer: credential?.initiator !== 'merchant',
});

/** The same for a charge that the bank has confirmed since. */
async function keepFirst(
  db: DatabasePool,
  companyId: string,
  connected: Connected,
  { cardId, networkTransactionIds }: OpenedCard,
  approved: Extract<ResumeOutcome, { outcome: 'approved' }>,
): Promise<void> {
  const known = knownIds(connected, networkTransactionIds);
  const first = firstToKeep(known, approved);
  if (!first || connected.connectionId === null) return;
  await keepNetworkTransactionId(
    db,
    companyId,
    cardId,
    connected.connectionId,
    first,
    known.isOfNetwork === true,
  ).catch(() => undefined);
}
