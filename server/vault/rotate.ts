import { type Database, isUnavailable } from '../platform/database.ts';
import type { KeyMode, KeyStore } from './key-store.ts';
import { rewrap } from './keys.ts';
import { findCardsToRewrap, replaceWrapping } from './queries.ts';

const rotationBatch = 500;

/**
 * Rewraps data keys of older key versions while the service runs, and returns the number of cards. Each card is its
 * own transaction, so that no request waits for more than one. A card that does not decrypt stays unchanged and is
 * named at the end.
 */
export async function rotate(
  db: Database,
  keys: KeyStore,
  mode: KeyMode,
  onProgress: (count: number) => void,
): Promise<number> {
  const ring = await keys.ring(mode);
  const damaged: string[] = [];
  let count = 0;
  let after: { readonly companyId: string; readonly cardId: string } | undefined;
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
