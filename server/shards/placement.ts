import { countCompanies, countPlaced, findDraining } from './queries.ts';
import { firstShard, type ShardDatabase, type Shards, UnknownShardError } from './shards.ts';

/** A sign-up does not wait longer for a shard that does not respond. */
const patienceMs = 1_000;

/**
 * Returns the shard for new companies: the one with the fewest, among those that can be reached and do not drain. The control
 * plane has the numbers, so a sign-up connects to no other shard than the one that it uses.
 */
export async function shardForNew<Part extends ShardDatabase>({
  control,
  all,
  away,
}: Pick<Shards<Part>, 'control' | 'all' | 'away'>): Promise<Part> {
  const [only] = all;
  if (only && all.length === 1 && away.size === 0) return only;
  const draining = new Set(await findDraining(control));
  const open = all.filter(({ name }) => !draining.has(name));
  const placed = await countPlaced(control);
  const sizeOf = async ({ name, db }: Part): Promise<number> =>
    name === firstShard ? countCompanies(db) : (placed.get(name) ?? 0);
  const sized = await Promise.all(open.map(async (shard) => ({ shard, size: await sizeOf(shard) })));
  for (const { shard } of sized.toSorted((one, other) => one.size - other.size)) {
    const responds = await shard.db.ping(patienceMs).then(
      () => true,
      () => false,
    );
    if (responds) return shard;
  }
  throw new UnknownShardError('Every shard drains or is away, so no shard takes new companies.');
}
