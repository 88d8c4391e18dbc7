import { isAway } from '../platform/database.ts';
import { countCompanies, findDraining } from './queries.ts';
import type { ShardDatabase, Shards } from './shards.ts';

/** Returns the shard for new companies: the one with the fewest, among those that can be reached and do not drain. */
export async function shardForNew<Part extends ShardDatabase>({
  control,
  all,
}: Pick<Shards<Part>, 'control' | 'all'>): Promise<Part> {
  const [only] = all;
  if (only && all.length === 1) return only;
  const draining = new Set(await findDraining(control));
  const open = all.filter(({ name }) => !draining.has(name));
  const sizes = await Promise.all(open.map(sizeOf));
  const least = Math.min(...sizes);
  const chosen = open[sizes.indexOf(least)];
  if (!chosen || least === Infinity) throw new Error('no shard takes new companies: all drain or cannot be reached');
  return chosen;
}

async function sizeOf({ db }: ShardDatabase): Promise<number> {
  try {
    return await countCompanies(db);
  } catch (error) {
    if (isAway(error)) return Infinity;
    throw error;
  }
}
