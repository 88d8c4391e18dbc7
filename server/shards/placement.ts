import { countCompanies, findDraining } from './queries.ts';
import { type ShardDatabase, type Shards, UnknownShardError } from './shards.ts';

/** Returns the shard for new companies: the one with the fewest, among those that can be reached and do not drain. */
export async function shardForNew<Part extends ShardDatabase>({
  control,
  all,
  away,
}: Pick<Shards<Part>, 'control' | 'all' | 'away'>): Promise<Part> {
  const [only] = all;
  if (only && all.length === 1 && away.size === 0) return only;
  const draining = new Set(await findDraining(control));
  const open = all.filter(({ name }) => !draining.has(name));
  if (open.length === 0) throw new UnknownShardError('Every shard drains or is away, so no shard takes new companies.');
  const sizes = await Promise.allSettled(open.map(({ db }) => countCompanies(db)));
  const failed = sizes.find((size) => size.status === 'rejected');
  const known = sizes.map((size) => (size.status === 'fulfilled' ? size.value : Infinity));
  const chosen = open[known.indexOf(Math.min(...known))];
  if (!chosen || known.every((size) => size === Infinity)) throw failed?.reason;
  return chosen;
}
