import type { Queryable } from '../../platform/database.ts';
import type { Vault } from '../../vault/vault.ts';
import { deleteOldTokens, forgetUnreferencedCards, takeUnreferencedCards } from './queries.ts';

export async function removeOldTokens(db: Queryable, batch: number): Promise<number> {
  return deleteOldTokens(db, batch);
}

/** The entry is deleted only after the card: a crash in between, or an unreachable vault, repeats the removal. */
export async function removeUnreferencedCards(db: Queryable, vault: Vault, batch: number): Promise<number> {
  const cards = await takeUnreferencedCards(db, batch);
  if (cards.length === 0) return 0;
  await vault.remove(cards);
  await forgetUnreferencedCards(
    db,
    cards.map((card) => card.companyId),
    cards.map((card) => card.cardId),
  );
  return cards.length;
}
