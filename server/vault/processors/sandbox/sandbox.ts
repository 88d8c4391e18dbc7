import type { Database } from '../../../platform/database.ts';
import { CardNumber } from '../../card-number.ts';
import type { KeyStore } from '../../key-store.ts';
import { fingerprint } from '../../keys.ts';
import { isPast } from '../../read-card.ts';
import {
  type ChargeRequest,
  type FailureCode,
  isOfCharge,
  type LookupOutcome,
  type LookupRequest,
  type Outcome,
  type Processor,
} from '../processor.ts';
import { approved, declined, fromRecord } from './answers.ts';
import { chargeAtBank, endAtBank, resumeAtBank, saveAtBank, savedAtBank } from './bank.ts';
import { type Behaviour, behaviourOf } from './cards.ts';
import { findCharge, findDeclines, lookUpOperation, recordOperation } from './queries.ts';

/**
 * The processor of sandbox companies. Most cards always behave the same, so the number alone determines the outcome
 * of a charge, even after a crash; only operations of the few cards with a history are recorded.
 */

const remembering = new Set<Behaviour['kind']>([
  'refund_rejected_once',
  'declines_after_first',
  'declines_first',
  'declines_when_expired',
  'answer_lost',
  'bank',
]);

function decide(behaviour: Behaviour, earlierCharges: number, isExpired: boolean): FailureCode | null {
  if (behaviour.kind === 'declines_when_expired') return isExpired ? 'expired_card' : null;
  if (behaviour.kind === 'declines_after_first') return earlierCharges > 0 ? behaviour.failureCode : null;
  if (behaviour.kind === 'declines_first') return earlierCharges === 0 ? behaviour.failureCode : null;
  return null;
}

/** The capture of an authorization has no card, and has to know that the charge will be disputed. */
const isDisputedLater = ({ kind }: Behaviour, { authorizesOnly }: ChargeRequest): boolean =>
  kind === 'chargeback' && authorizesOnly === true;

const isExpired = ({ card: { expMonth, expYear }, companyTimeMs = 0 }: ChargeRequest): boolean =>
  isPast(expMonth, expYear, companyTimeMs);

const chargebackAfterMs = 1_000;

export function sandboxProcessor(db: Database, keys: KeyStore): Processor {
  const furtherDeclines = cachedDeclines(db);

  async function behaviour({
    companyId,
    card,
  }: Pick<ChargeRequest, 'companyId' | 'card'>): Promise<Behaviour | undefined> {
    const digits = CardNumber.open(card.number);
    const further = await furtherDeclines();
    if (further.size > 0) {
      const failureCode = further.get(`${companyId} ${fingerprint(await keys.ring('sandbox'), companyId, digits)}`);
      if (failureCode) return { kind: 'decline', failureCode };
    }
    return behaviourOf(digits);
  }

  /** Returns the outcome of a card without a history. */
  function always(reference: string, card: Behaviour | undefined): Outcome & LookupOutcome {
    if (card?.kind === 'decline') return declined(reference, card.failureCode, card.responseText);
    return approved(reference, card?.kind === 'chargeback' ? { chargebackAfterMs } : {});
  }

  return {
    async charge(request) {
      const { companyId, reference, card } = request;
      const kind = await behaviour(request);
      if (kind?.kind === 'bank') return chargeAtBank(db, request, kind.asks);
      if (kind?.kind === 'never_arrives') return { outcome: 'unknown', reason: 'no response' };
      const isRemembered = kind !== undefined && (remembering.has(kind.kind) || isDisputedLater(kind, request));
      if (!isRemembered) return always(reference, kind);
      const operation = await recordOperation(
        db,
        { companyId, reference, kind: 'charge', behaviour: kind.kind, cardId: card.cardId, chargeReference: null },
        (earlier) => decide(kind, earlier, isExpired(request)),
      );
      return kind.kind === 'answer_lost'
        ? { outcome: 'unknown', reason: 'no response' }
        : fromRecord(reference, operation);
    },

    resume: (request) => resumeAtBank(db, request),

    ...cardSaving(db, behaviour),

    async refund({ companyId, reference, chargeReference }) {
      const charge = await findCharge(db, companyId, chargeReference);
      if (charge?.behaviour === 'refund_rejected_once') {
        await recordOperation(db, { companyId, reference, kind: 'refund', ...charge, chargeReference }, (earlier) =>
          earlier === 0 ? 'processor_declined' : null,
        );
      }
      return approved(reference);
    },

    async capture({ companyId, reference, chargeReference }) {
      const authorization = await findCharge(db, companyId, chargeReference);
      return approved(reference, authorization?.behaviour === 'chargeback' ? { chargebackAfterMs } : {});
    },

    void: async ({ reference }) => approved(reference),

    async lookup(request: LookupRequest) {
      const { companyId, reference, card, chargeReference } = request;
      const ended = isOfCharge(request) ? await endAtBank(db, request) : undefined;
      if (ended) return ended;
      const { operation, atMs } = await lookUpOperation(db, companyId, reference);
      if (operation) return fromRecord(reference, operation);
      if (chargeReference) return approved(reference, { settled: true });
      if (!card) return { outcome: 'not_found', atMs };
      const kind = await behaviour({ companyId, card });
      return kind && (remembering.has(kind.kind) || kind.kind === 'never_arrives')
        ? { outcome: 'not_found', atMs }
        : always(reference, kind);
    },
  };
}

/** Only some cards have a bank that asks. */
const cardSaving = (
  db: Database,
  behaviourOfCard: (request: Pick<ChargeRequest, 'companyId' | 'card'>) => Promise<Behaviour | undefined>,
): Required<Pick<Processor, 'setUp' | 'resumeSetUp' | 'endSetUp'>> => ({
  async setUp(request) {
    const kind = await behaviourOfCard(request);
    if (kind?.kind === 'bank') return saveAtBank(db, request, kind.asks);
    return kind?.kind === 'decline'
      ? declined(request.reference, kind.failureCode, kind.responseText)
      : { outcome: 'set_up', networkTransactionId: null, avsResult: null, cvvResult: null };
  },
  resumeSetUp: (request) => savedAtBank(db, request),
  async endSetUp(request) {
    await endAtBank(db, request);
    return savedAtBank(db, request);
  },
});

const cacheMs = 2_000;

/** Hardly any company has such settings, so they are not queried for each charge. */
function cachedDeclines(db: Database): () => Promise<Map<string, FailureCode>> {
  let loaded: Promise<Map<string, FailureCode>> | undefined;
  let loadedAtMs = 0;
  return () => {
    if (!loaded || performance.now() - loadedAtMs > cacheMs) {
      loadedAtMs = performance.now();
      loaded = findDeclines(db);
      loaded.catch(() => {
        loaded = undefined;
      });
    }
    return loaded;
  };
}
