import { type Database, isUnavailable } from '../platform/database.ts';
import { CardNumber } from './card-number.ts';
import type { KeyStore, Mode } from './key-store.ts';
import { fingerprint, rewrap, seal } from './keys.ts';
import { deleteCards, findCardsToRewrap, insertCard, replaceWrapping } from './queries.ts';

/** What the rest of the service may ask of the vault. Nobody gets a number back. */
export interface Vault {
  store(card: StoredCard): Promise<void>;
  /** The same card of the same company has the same fingerprint. */
  fingerprint(companyId: string, mode: Mode, number: CardNumber): Promise<string>;
  remove(cards: readonly CardReference[]): Promise<void>;
  close?(): Promise<void>;
}

export interface CardReference {
  readonly companyId: string;
  readonly cardId: string;
}

export interface StoredCard extends CardReference {
  readonly mode: Mode;
  readonly number: CardNumber;
}

/** The vault in this process, on its own database role. */
export function localVault(db: Database, keys: KeyStore): Vault {
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
    throw new Error(`${count} cards were rewrapped; these cannot be opened: ${damaged.join(', ')}`);
  return count;
}
