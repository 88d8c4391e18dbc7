import type { Database } from '../platform/database.ts';
import { hourMs } from '../platform/durations.ts';
import { failpoint } from '../platform/failpoints.ts';
import type { KeyStore } from './key-store.ts';
import { open, rewrap, type SealedCard, seal } from './keys.ts';
import type { Connected, ConnectedProcessors } from './processors/connections.ts';
import type { CardAtProcessor } from './processors/processor.ts';
import {
  findSaved,
  findSavedOf,
  findSavedToRewrap,
  forgetSaved,
  keepSaved,
  rewrapSaved,
  type SavedCardKey,
  type SavedCardRow,
} from './saved-card-queries.ts';

/** Cards that processors save, because the customer agreed to keep them. */

/** Processors keep keys for at least 24 hours. */
const keysLastMs = 20 * hourMs;

/** What is sealed with it: a row that is copied to another card or connection does not decrypt. */
const partOf = ({ cardId, connectionId }: SavedCardKey): string => `${cardId} at ${connectionId}`;

/** The time in a UUID of version 7. */
const createdMs = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

async function tokenOf(keys: KeyStore, row: SavedCardRow): Promise<string> {
  return open(await keys.ring('live', row.sealed.keyVersion), row.companyId, partOf(row), row.sealed);
}

/** What a processor knows of a card, for the adapter that charges it. */
export async function savedCard(
  db: Database,
  keys: KeyStore,
  key: SavedCardKey,
  nowMs: number,
): Promise<CardAtProcessor> {
  const sealed = await findSaved(db, key);
  return {
    name: `${key.cardId}:${key.connectionId}`,
    token: sealed && (await tokenOf(keys, { ...key, sealed })),
    isOld: nowMs - createdMs(key.cardId) > keysLastMs,
    async keep(token) {
      failpoint('charge.before_saved_card');
      const row = { ...key, sealed: seal(await keys.ring('live'), key.companyId, partOf(key), token) };
      const isKept = await keepSaved(db, row);
      failpoint('charge.after_saved_card');
      return isKept;
    },
  };
}

/**
 * Removes cards from the processors that have saved them. Returns those that a processor still has: the caller repeats
 * the removal until there are none.
 */
export async function removeSavedCards(
  db: Database,
  keys: KeyStore,
  processors: ConnectedProcessors,
  cards: readonly { readonly companyId: string; readonly cardId: string }[],
): Promise<SavedCardKey[]> {
  const left: SavedCardKey[] = [];
  // One call shows that a processor does not answer. The others would only wait for it.
  const silent = new Set<string>();
  for (const row of await findSavedOf(db, cards)) {
    const isRemoved = !silent.has(row.connectionId) && (await isRemovedAt(keys, processors, row));
    if (isRemoved) await forgetSaved(db, row);
    else {
      silent.add(row.connectionId);
      left.push(row);
    }
  }
  return left;
}

async function isRemovedAt(keys: KeyStore, processors: ConnectedProcessors, row: SavedCardRow): Promise<boolean> {
  try {
    const connected = await processors(row.companyId, 'live', row.connectionId);
    // Without credentials no one can ask the processor.
    return (await connected?.processor.removeSaved?.(await tokenOf(keys, row))) ?? true;
  } catch {
    return false;
  }
}

const rotationBatch = 500;

/** Runs when the keys of the vault are rotated, together with the cards. */
export async function rewrapSavedCards(db: Database, keys: KeyStore): Promise<void> {
  const ring = await keys.ring('live');
  let after: SavedCardKey | undefined;
  for (;;) {
    const rows = await findSavedToRewrap(db, ring.current, after, rotationBatch);
    for (const row of rows) {
      const wrapped: SealedCard = rewrap(ring, row.companyId, partOf(row), row.sealed);
      await rewrapSaved(db, row, wrapped);
    }
    after = rows.at(-1);
    if (!after) return;
  }
}

/** What the processor has saved of a card that is kept. */
export async function savedAt(
  { processor, connectionId }: Connected,
  isKept: boolean | undefined,
  { companyId, cardId }: { readonly companyId: string; readonly cardId: string },
  findSavedCard: (key: SavedCardKey) => Promise<CardAtProcessor>,
): Promise<CardAtProcessor | undefined> {
  if (!isKept || processor.removeSaved === undefined || connectionId === null) return undefined;
  // The vault has the number, so a card that cannot be read there is charged like one that is not saved.
  return findSavedCard({ companyId, cardId, connectionId }).catch(() => undefined);
}
