import { countCompanies, countPlaced, findDraining } from './queries.ts';
import { firstShard, type ShardDatabase, type Shards, UnknownShardError } from './shards.ts';

/** A sign-up does not wait longer for a shard that does not respond. */
const patienceMs = 1_000;
/** With a million companies the control plane takes a quarter of a second to count them. The numbers change slowly. */
const countedMs = 60_000;
const companiesOfAccount = 2;

interface Counted {
  readonly sizes: Map<string, number>;
  readonly untilMs: number;
}

/** The numbers of companies on each shard, by control plane. What this process has placed since is added. */
const counts = new WeakMap<object, Counted>();

type Placing<Part extends ShardDatabase> = Pick<Shards<Part>, 'control' | 'all' | 'away'>;

async function sizesOf<Part extends ShardDatabase>({ control, all }: Placing<Part>): Promise<Map<string, number>> {
  const known = counts.get(control);
  if (known && performance.now() < known.untilMs) return known.sizes;
  const sizes = new Map(await countPlaced(control));
  const first = all.find(({ name }) => name === firstShard);
  if (first) sizes.set(firstShard, await countCompanies(first.db));
  counts.set(control, { sizes, untilMs: performance.now() + countedMs });
  return sizes;
}

/**
 * Returns the shard for new companies: the one with the fewest, among those that can be reached and do not drain. The control
 * plane has the numbers, so a sign-up connects to no other shard than the one that it uses.
 */
export async function shardForNew<Part extends ShardDatabase>(placing: Placing<Part>): Promise<Part> {
  const { control, all, away } = placing;
  const [only] = all;
  if (only && all.length === 1 && away.size === 0) return only;
  const draining = new Set(await findDraining(control));
  const sizes = await sizesOf(placing);
  const sizeOf = ({ name }: Part): number => sizes.get(name) ?? 0;
  const open = all.filter(({ name }) => !draining.has(name));
  for (const shard of open.toSorted((one, other) => sizeOf(one) - sizeOf(other))) {
    const responds = await shard.db.ping(patienceMs).then(
      () => true,
      () => false,
    );
    if (!responds) continue;
    sizes.set(shard.name, sizeOf(shard) + companiesOfAccount);
    return shard;
  }
  throw new UnknownShardError('Every shard drains or is away, so no shard takes new companies.');
}
