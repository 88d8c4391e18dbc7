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
import { deleteCards, findCards, findCardsToRewrap, findConnection, insertCard, replaceWrapping } from './queries.ts';

/** What the rest of the service may ask of the vault. Nobody gets a number back. */
export interface Vault {
  store(card: StoredCard): Promise<void>;
  /** The same card of the same company has the same fingerprint. */
  fingerprint(companyId: string, mode: Mode, number: CardNumber): Promise<string>;
  remove(cards: readonly CardReference[]): Promise<void>;
  /** Opens the card and has it charged. Never throws: what went wrong is an outcome. */
  charge(charge: VaultCharge): Promise<VaultOutcome>;
  refund(refund: VaultRefund): Promise<VaultOutcome>;
  void(request: VaultOperation & { readonly chargeReference: string }): Promise<VaultOutcome>;
  /** What became of an operation. Not found counts only when it can no longer arrive. */
  lookup(request: VaultLookup): Promise<LookupOutcome>;
  /** What the processor of a live company executed in a time; undefined when it cannot say. */
  operations(request: ListRequest): Promise<Listing | undefined>;
  /** Who charges the cards of a live company; null for nobody. What is shown of it is never its secret. */
  connect(companyId: string, connection: ProcessorConnection | null): Promise<void>;
  connectedTo(companyId: string): Promise<string | null>;
  /** Whether it can be reached, and reaches its own database. */
  isReady(): Promise<boolean>;
  /** What its clock shows; undefined when it cannot be reached. */
  nowMs(): Promise<number | undefined>;
  close?(): Promise<void>;
}

/** The vault's own failure is no outcome of the processor: nothing was sent, and the same operation can be sent later. */
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
  /** Ours, and stored before the call, as is the time until which the processor may execute it. */
  readonly reference: string;
  readonly validUntilMs: number;
}

export interface ChargedCard {
  readonly cardId: string;
  readonly expMonth: number;
  readonly expYear: number;
}

interface VaultCharge extends VaultOperation, Money {
  /** Ask before sending, where the processor does not execute a reference once for ever. */
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
 * A service that was restored from a backup may send what it has sent before. Where the processor would execute it again, or
 * may have forgotten its key, it is looked up first.
 */
export async function chargeOnce(
  processor: Processor,
  request: ChargeRequest,
  lookFirst: boolean,
): Promise<VaultOutcome> {
  if (!lookFirst || (processor.executesOnce ?? 'always') === 'always') return processor.charge(request);
  const { companyId, reference, card, amount, currency } = request;
  const sent = { amount, currency, last4: card.number.last4 };
  const found = await processor.lookup({ companyId, reference, card, sent });
  if (found.outcome === 'unknown') return unavailable('the processor could not be asked before it is sent a charge');
  return found.outcome === 'not_found' ? processor.charge(request) : found;
}

/** How long its database may take to answer before the vault counts as not ready. */
const readyMs = 1_000;

/** The vault in this process, on its own database role. */
export function localVault(db: DatabasePool, keys: KeyStore, clock: Clock = systemClock): Vault {
  const processors = connectedProcessors(db, keys);
  const findCard = createBatcher((wanted: readonly CardReference[]) => findCards(db, wanted));

  async function openCard(
    { companyId, mode }: Pick<VaultOperation, 'companyId' | 'mode'>,
    { cardId, expMonth, expYear }: ChargedCard,
  ): Promise<ProcessorCard | undefined> {
    const sealed = await findCard({ companyId, cardId });
    if (!sealed) return undefined;
    const number = new CardNumber(open(await keys.ring(mode, sealed.keyVersion), companyId, cardId, sealed));
    return { number, cardId, expMonth, expYear };
  }

  /** Hands an operation to the processor of its company. */
  async function at(
    { companyId, mode }: VaultOperation,
    operate: (processor: Processor) => Promise<VaultOutcome>,
  ): Promise<VaultOutcome> {
    let processor: Processor | undefined;
    try {
      processor = await processors(companyId, mode);
    } catch {
      return unavailable('failed to read the processor of the company');
    }
    if (!processor) return notSent('no processor is connected');
    return operate(processor).catch(() => unknown('the processor failed'));
  }

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
    async isReady() {
      return db.ping(readyMs).then(
        () => true,
        () => false,
      );
    },
    refund: (request) => at(request, (processor) => processor.refund(request)),
    void: (request) => at(request, (processor) => processor.void(request)),
    async lookup({ card, validUntilMs, ...request }) {
      try {
        const processor = await processors(request.companyId, request.mode);
        if (!processor) return unknown('no processor is connected');
        const opened = card && (await openCard(request, card));
        const finding = await processor.lookup({ ...request, ...(opened && { card: opened }) });
        // By the clock of the processor: it is the one that refuses what comes too late.
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
 * Rewraps what older keys have wrapped, while the service runs. Gives the number of cards. Each card by itself, so that
 * nothing waits for more than one; a card that does not open is left as it is and named at the end.
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
