import { brandOf } from '../platform/card-brands.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database.ts';
import { isUuid } from '../platform/ids.ts';
import { CardNumber } from './card-number.ts';
import { type CardAttempt, type Decline, type DeclineLimits, type Stop, stopOf } from './decline-limits.ts';
import { decideDoubts, forgetDeclines, keepDecline } from './decline-queries.ts';
import type { KeyStore } from './key-store.ts';
import { fingerprint } from './keys.ts';
import type { Notice } from './processors/notices.ts';
import type { FailureCode, LookupOutcome, Verification } from './processors/processor.ts';
import type { VaultOutcome } from './vault.ts';

/** Counts the declines of cards at the connections of live companies, so that no card is sent too often. */

interface CountedCard {
  readonly cardId: string;
  readonly number: CardNumber;
  /** The declines at all connections. */
  readonly declines: readonly Decline[];
}

/** One charge or verification of a card. */
interface Sent {
  readonly companyId: string;
  /** Null in the sandbox, where nothing is counted. */
  readonly connectionId: string | null;
  readonly reference: string;
  readonly card: CountedCard;
  readonly attempt: CardAttempt;
}

export interface DeclineCounter {
  /** Why an attempt is not sent; undefined if it is. */
  stop(sent: Sent): (Stop & { readonly outcome: 'not_sent'; readonly reason: string }) | undefined;
  /** Counts the outcome. Never fails: a decline that is not counted is no reason to lose an outcome. */
  note(sent: Sent, outcome: Counted): Promise<void>;
  /** Counts what notices say about charges that were in doubt. */
  noteNotices(companyId: string, connectionId: string, notices: readonly Notice[]): Promise<void>;
}

type Counted = VaultOutcome | LookupOutcome | Verification;

/** A verification that is declined has no code. */
const ofVerification: FailureCode = 'do_not_honor';

/**
 * The code if the card's bank has declined, null if the outcome is in doubt, and undefined if nothing is counted: the
 * card networks know nothing of what the processor itself refuses.
 */
function codeOf(outcome: Counted): FailureCode | null | undefined {
  if (outcome.outcome === 'unknown') return null;
  if (outcome.outcome !== 'declined') return undefined;
  if (!('failureCode' in outcome)) return ofVerification;
  const isOfBank = !outcome.isProcessorFault && !outcome.refusesCredentials && !outcome.isUnseenByBank;
  return isOfBank ? outcome.failureCode : undefined;
}

const succeeded = ({ outcome }: Counted): boolean => outcome === 'approved' || outcome === 'verified';

export function declineCounter(db: Database, keys: KeyStore, clock: Clock, limits: DeclineLimits): DeclineCounter {
  const fingerprintOf = async (companyId: string, { number }: CountedCard): Promise<string> =>
    fingerprint(await keys.ring('live'), companyId, CardNumber.open(number));
  const declinesAt = ({ connectionId, card }: Sent): Decline[] =>
    card.declines.filter((decline) => decline.connectionId === connectionId);

  async function keep(sent: Sent, connectionId: string, outcome: Counted): Promise<void> {
    const { companyId, reference, card, attempt } = sent;
    if (succeeded(outcome)) {
      // A card that pays well costs nothing here.
      if (declinesAt(sent).length === 0) return;
      await forgetDeclines(db, companyId, connectionId, await fingerprintOf(companyId, card));
      return;
    }
    const failureCode = codeOf(outcome);
    if (failureCode === undefined) return;
    const row = { companyId, connectionId, reference, ...attempt, atMs: clock.nowMs(), failureCode };
    await keepDecline(db, { ...row, cardId: card.cardId, fingerprint: await fingerprintOf(companyId, card) });
  }

  return {
    stop(sent) {
      const declines = declinesAt(sent);
      if (declines.length === 0) return undefined;
      const { name } = brandOf(CardNumber.open(sent.card.number));
      const stop = stopOf(name, declines, sent.attempt, limits, clock.nowMs());
      return stop && { ...stop, outcome: 'not_sent', reason: 'the card was declined too often' };
    },
    async note(sent, outcome) {
      if (sent.connectionId === null) return;
      await keep(sent, sent.connectionId, outcome).catch(() => undefined);
    },
    async noteNotices(companyId, connectionId, notices) {
      const decided = notices.flatMap(({ about }) => {
        if (about.kind !== 'operation' || !isUuid(about.reference)) return [];
        const failureCode = succeeded(about.found) ? null : codeOf(about.found);
        const isDecided = about.found.outcome !== 'unknown' && failureCode !== undefined;
        return isDecided ? [{ reference: about.reference, failureCode }] : [];
      });
      if (decided.length === 0) return;
      await decideDoubts(db, companyId, connectionId, decided).catch(() => undefined);
    },
  };
}
