import type { Mode } from '../company.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { type Database, type DatabasePool, isUnavailable } from '../platform/database.ts';
import { createBatcher } from '../platform/batcher.ts';
import { CardNumber } from './card-number.ts';
import type { KeyStore } from './key-store.ts';
import { fingerprint, open, rewrap, seal } from './keys.ts';
import {
  connectedProcessors,
  connectProcessor,
  disconnectProcessor,
  type ProcessorConnection,
} from './processors/connections.ts';
import type {
  ChargeRequest,
  LookupOutcome,
  ListRequest,
  Listing,
  Money,
  Outcome,
  Processor,
  ProcessorCard,
} from './processors/processor.ts';
import { type ProcessorHealth, watchProcessors } from './processors/observed.ts';
import { deleteCards, findCards, findCardsToRewrap, findConnection, insertCard, replaceWrapping } from './queries.ts';

/** The operations that the vault offers to the rest of the service. None of them returns a card number. */
export interface Vault {
  store(card: StoredCard): Promise<void>;
  /** The same card of the same company has the same fingerprint. */
  fingerprint(companyId: string, mode: Mode, number: CardNumber): Promise<string>;
  remove(cards: readonly CardReference[]): Promise<void>;
  /** Decrypts the card and charges it. Never throws: a failure is an outcome. */
  charge(charge: VaultCharge): Promise<VaultOutcome>;
  refund(refund: VaultRefund): Promise<VaultOutcome>;
  void(request: VaultOperation & { readonly chargeReference: string }): Promise<VaultOutcome>;
  /** Returns the outcome of an operation. "Not found" counts only when the operation can no longer arrive. */
  lookup(request: VaultLookup): Promise<LookupOutcome>;
  /** Lists the operations of a live company's processor in a period; undefined if the processor has no list. */
  operations(request: ListRequest): Promise<Listing | undefined>;
  /** Sets the processor of a live company; null for none. Its secret is never returned. */
  connect(companyId: string, connection: ProcessorConnection | null): Promise<void>;
  connectedTo(companyId: string): Promise<string | null>;
  health(): Promise<VaultHealth>;
  /** The vault's clock; undefined if the vault is unreachable. */
  nowMs(): Promise<number | undefined>;
  close?(): Promise<void>;
}

interface VaultHealth {
  /** Whether the vault and its database are reachable. */
  readonly isReady: boolean;
  /** Why a processor cannot be used; undefined if every processor answered lately. */
  readonly processorProblem: string | undefined;
}

/**
 * A failure of the vault itself is not an outcome of the processor: nothing was sent, and the same operation can be
 * sent later.
 */
export type VaultOutcome = Outcome | { readonly outcome: 'unavailable'; readonly reason: string };

interface CardReference {
  readonly companyId: string;
  readonly cardId: string;
}

interface StoredCard extends CardReference {
  readonly mode: Mode;
  readonly number: CardNumber;
}

interface VaultOperation {
  readonly companyId: string;
  readonly mode: Mode;
  /** Our reference. It is stored before the call, together with the time until which the processor may execute it. */
  readonly reference: string;
  readonly validUntilMs: number;
}

export interface ChargedCard {
  readonly cardId: string;
  readonly expMonth: number;
  readonly expYear: number;
}

interface VaultCharge extends VaultOperation, Money {
  /** Look up before sending, if the processor does not execute a reference only once for all time. */
  readonly lookFirst?: boolean;
  readonly card: ChargedCard;
}

interface VaultRefund extends VaultOperation, Money {
  readonly chargeReference: string;
}

export interface VaultLookup extends VaultOperation {
  readonly sent?: Money & { readonly last4: string | null };
  readonly card?: ChargedCard;
  readonly chargeReference?: string;
}

const notSent = (reason: string): Outcome => ({ outcome: 'not_sent', reason });
const unavailable = (reason: string): VaultOutcome => ({ outcome: 'unavailable', reason });
const unknown = (reason: string): { outcome: 'unknown'; reason: string } => ({ outcome: 'unknown', reason });

/**
 * A service that was restored from a backup may repeat an operation. If the processor would execute it again, or may
 * have forgotten its key, the operation is looked up first.
 */
export async function chargeOnce(
  processor: Processor,
  request: ChargeRequest,
  lookFirst: boolean,
): Promise<VaultOutcome> {
  if (!lookFirst || (processor.onceBy ?? 'reference') === 'reference') return processor.charge(request);
  const { companyId, reference, card, amount, currency } = request;
  const sent = { amount, currency, last4: card.number.last4 };
  const found = await processor.lookup({ companyId, reference, card, sent });
  if (found.outcome === 'unknown') return unavailable('the processor could not be asked before it is sent a charge');
  return found.outcome === 'not_found' ? processor.charge(request) : found;
}

/** If its database takes longer to answer, the vault is not ready. */
const readyMs = 1_000;

interface Access {
  readonly processors: ReturnType<typeof connectedProcessors>;
  readonly health: ProcessorHealth;
  openCard(
    operation: Pick<VaultOperation, 'companyId' | 'mode'>,
    card: ChargedCard,
  ): Promise<ProcessorCard | undefined>;
  /** Passes an operation to the processor of its company. */
  at(operation: VaultOperation, operate: (processor: Processor) => Promise<VaultOutcome>): Promise<VaultOutcome>;
}

/** What every operation needs: the card in plain text, and the processor of the company. */
function openAccess(db: DatabasePool, keys: KeyStore): Access {
  const health = watchProcessors();
  const processors = connectedProcessors(db, keys, health);
  const findCard = createBatcher('cards', (wanted: readonly CardReference[]) => findCards(db, wanted));
  return {
    processors,
    health,
    async openCard({ companyId, mode }, { cardId, expMonth, expYear }) {
      const sealed = await findCard({ companyId, cardId });
      if (!sealed) return undefined;
      const number = new CardNumber(open(await keys.ring(mode, sealed.keyVersion), companyId, cardId, sealed));
      return { number, cardId, expMonth, expYear };
    },
    async at({ companyId, mode }, operate) {
      let processor: Processor | undefined;
      try {
        processor = await processors(companyId, mode);
      } catch {
        return unavailable('failed to read the processor of the company');
      }
      if (!processor) return notSent('no processor is connected');
      return operate(processor).catch(() => unknown('the processor failed'));
    },
  };
}

/** The vault in this process, with its own database role. */
export function localVault(db: DatabasePool, keys: KeyStore, clock: Clock = systemClock): Vault {
  const { processors, health, openCard, at } = openAccess(db, keys);
  return {
    async store({ companyId, cardId, mode, number }) {
      const sealed = seal(await keys.ring(mode), companyId, cardId, CardNumber.open(number));
      await insertCard(db, companyId, cardId, mode, sealed);
    },
    async fingerprint(companyId, mode, number) {
      return fingerprint(await keys.ring(mode), companyId, CardNumber.open(number));
    },
    async remove(cards) {
      await deleteCards(
        db,
        cards.map((card) => card.companyId),
        cards.map((card) => card.cardId),
      );
    },
    async charge(request) {
      let card: ProcessorCard | undefined;
      try {
        card = await openCard(request, request.card);
      } catch {
        return unavailable('the card could not be decrypted');
      }
      if (!card)
        return { outcome: 'not_sent', reason: 'the vault no longer has the card', failureCode: 'invalid_account' };
      const opened = card;
      return at(request, (processor) =>
        chargeOnce(processor, { ...request, card: opened }, request.lookFirst === true),
      );
    },
    async operations(request) {
      const processor = await processors(request.companyId, 'live');
      if (!processor) throw new Error('no processor is connected');
      return processor.list?.(request);
    },
    async connect(companyId, connection) {
      if (connection) await connectProcessor(db, keys, companyId, connection);
      else await disconnectProcessor(db, companyId);
    },
    async connectedTo(companyId) {
      return (await findConnection(db, companyId))?.url ?? null;
    },
    nowMs: async () => clock.nowMs(),
    async health() {
      const isReady = await db.ping(readyMs).then(
        () => true,
        () => false,
      );
      return { isReady, processorProblem: health.problem() };
    },
    refund: (request) => at(request, (processor) => processor.refund(request)),
    void: (request) => at(request, (processor) => processor.void(request)),
    async lookup({ card, validUntilMs, ...request }) {
      try {
        const processor = await processors(request.companyId, request.mode);
        if (!processor) return unknown('no processor is connected');
        const opened = card && (await openCard(request, card));
        const finding = await processor.lookup({ ...request, ...(opened && { card: opened }) });
        // The processor's clock counts, because the processor rejects requests that arrive too late.
        const early = finding.outcome === 'not_found' && !(finding.atMs !== undefined && finding.atMs >= validUntilMs);
        return early ? unknown('the request may still arrive') : finding;
      } catch {
        return unknown('the lookup failed');
      }
    },
  };
}

const rotationBatch = 500;

/**
 * Rewraps data keys of older key versions while the service runs, and returns the number of cards. Each card is its
 * own transaction, so that no request waits for more than one. A card that does not decrypt stays unchanged and is
 * named at the end.
 */
export async function rotate(
  db: Database,
  keys: KeyStore,
  mode: Mode,
  onProgress: (count: number) => void,
): Promise<number> {
  const ring = await keys.ring(mode);
  const damaged: string[] = [];
  let count = 0;
  let after: CardReference | undefined;
  for (;;) {
    const cards = await findCardsToRewrap(db, mode, ring.current, after, rotationBatch);
    if (cards.length === 0) break;
    for (const { companyId, cardId, card } of cards) {
      try {
        await replaceWrapping(db, companyId, cardId, card.keyVersion, rewrap(ring, companyId, cardId, card));
        count += 1;
      } catch (error) {
        if (isUnavailable(error)) throw error;
        damaged.push(cardId);
      }
    }
    after = cards.at(-1);
    onProgress(count);
  }
  if (damaged.length > 0)
    throw new Error(`${count} cards were re-encrypted. These cannot be decrypted: ${damaged.join(', ')}`);
  return count;
}
