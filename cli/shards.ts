import { loadConfig } from '../server/config.ts';
import { readWalLevel } from '../server/shards/inspect-queries.ts';
import { countCompanies, findDraining, setDraining } from '../server/shards/queries.ts';
import type { ShardDatabase, Shards } from '../server/shards/shards.ts';
import { addShard } from './add-shard.ts';
import { CommandError, UsageError } from './command-error.ts';
import { onEachShard, withShards } from './connect.ts';
import type { Flags } from './options.ts';
import { table } from './table.ts';

/** `shards list`, `shards add`, `shards drain` and `shards undrain`. */
export async function shardsCommand([action, name]: readonly string[], flags: Flags): Promise<string> {
  if (action === 'add') return addShard(loadConfig(process.env), name, flags);
  const wanted = { drain: true, undrain: false }[action ?? ''];
  if (action !== 'list' && wanted === undefined)
    throw new UsageError('Use shards list, shards add NAME=URL, shards drain NAME or shards undrain NAME.');
  return withShards(loadConfig(process.env), async (shards) => {
    if (wanted !== undefined) await change(shards, named(shards, name), wanted);
    const draining = await findDraining(shards.control);
    const found = await onEachShard(shards.all, (shard) => describe(shard, draining));
    if (flags.json) return `${JSON.stringify(found)}\n`;
    const rows = found.map((one) => [one.name, String(one.companies), one.drains ? 'yes' : 'no', one.wal_level]);
    return table(['NAME', 'COMPANIES', 'DRAINS', 'WAL LEVEL'], rows, 'No shards.');
  });
}

async function change({ control, all }: Shards, name: string, drains: boolean): Promise<void> {
  const draining = await findDraining(control);
  if (drains && all.every((shard) => shard.name === name || draining.includes(shard.name)))
    throw new CommandError(
      `The shard "${name}" is the last that takes new companies: without it, sign-ups would fail. Add a shard, or undrain another one first.`,
    );
  await setDraining(control, name, drains);
}

function named({ all }: Shards, name: string | undefined): string {
  const found = all.find((shard) => shard.name === name);
  if (found) return found.name;
  throw new UsageError(`Name one of these shards: ${all.map((shard) => shard.name).join(', ')}.`);
}

async function describe({ name, db }: ShardDatabase, draining: readonly string[]) {
  const walLevel = await readWalLevel(db);
  return { name, companies: await countCompanies(db), drains: draining.includes(name), wal_level: walLevel };
}
