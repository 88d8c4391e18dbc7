import { type ControlQueryable, isAway } from '../../platform/database.ts';
import { findLookup, type KeyLookup } from './queries.ts';

/**
 * Knows which company a key belongs to, and its shard. It is known for longer than the key is verified, so that keys in
 * use work without the control plane.
 */
export interface Lookups {
  /** Returns what `read` finds on the shard of the key. */
  find<Found>(lookupId: string, read: (lookup: KeyLookup) => Promise<Found | undefined>): Promise<Found | undefined>;
  /** Whether the key was in use lately. */
  knows(lookupId: string): boolean;
  /** Forgets the keys of a company, or all of them. */
  forget(companyId?: string): void;
}

const entriesMax = 10_000;

export function openLookups(control: ControlQueryable): Lookups {
  const known = new Map<string, KeyLookup>();
  /** What was known before a change was announced. It serves only while the control plane is away. */
  const former = new Map<string, KeyLookup>();
  let generation = 0;

  async function ask(lookupId: string): Promise<KeyLookup | undefined> {
    const startedIn = generation;
    const found = await findLookup(control, lookupId);
    if (known.size >= entriesMax) known.clear();
    // A change that was announced during the query may be missing from its result.
    if (found && startedIn === generation) known.set(lookupId, found);
    return found;
  }

  return {
    async find(lookupId, read) {
      const current = known.get(lookupId);
      const found = current && (await read(current));
      if (found) return found;
      let lookup: KeyLookup | undefined;
      try {
        // A company that has moved is not on the shard where it was: then the control plane is asked again.
        lookup = await ask(lookupId);
      } catch (error) {
        const last = isAway(error) ? former.get(lookupId) : undefined;
        const there = last && (await read(last));
        if (there) return there;
        throw error;
      }
      return lookup && read(lookup);
    },
    knows: (lookupId) => known.has(lookupId),
    forget(companyId) {
      generation += 1;
      if (former.size >= entriesMax) former.clear();
      for (const [id, lookup] of known) {
        if (companyId !== undefined && lookup.companyId !== companyId) continue;
        former.set(id, lookup);
        known.delete(id);
      }
    },
  };
}
