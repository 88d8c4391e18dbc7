import type { ShardDatabase, Shards } from '../server/shards/shards.ts';
import { UsageError } from './command-error.ts';

/** The only shard, or the one named with `--shard`. */
export function chosenShard({ all }: Shards, wanted: string | undefined): ShardDatabase {
  const [only] = all;
  const found = wanted === undefined && all.length === 1 ? only : all.find(({ name }) => name === wanted);
  if (found) return found;
  throw new UsageError(`Choose a shard with --shard: ${all.map(({ name }) => name).join(', ')}.`);
}
