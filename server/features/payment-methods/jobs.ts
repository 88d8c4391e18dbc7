import type { Queryable } from '../../platform/database.ts';
import type { Vault } from '../../vault/vault.ts';
import { deleteOldTokens, forgetUnreferencedCards, takeUnreferencedCards } from './queries.ts';

export async function removeOldTokens(db: Queryable, batch: number): Promise<number> {
  return deleteOldTokens(db, batch);
}

/**
 * The entry is deleted only after the card, and after every processor that has saved it has removed it: a crash in
 * between, an unreachable vault or a silent processor repeats the removal.
 */
export async function removeUnreferencedCards(db: Queryable, vault: Vault, batch: number): Promise<number> {
  const cards = await takeUnreferencedCards(db, batch);
  if (cards.length === 0) return 0;
  const left = new Set((await vault.remove(cards)).map(({ cardId }) => cardId));
  const removed = cards.filter(({ cardId }) => !left.has(cardId));
  await forgetUnreferencedCards(
    db,
    removed.map((card) => card.companyId),
    removed.map((card) => card.cardId),
  );
  return removed.length;
}
