import { readTableSizes, type TableSize } from '../server/jobs/table-sizes.ts';
import { retentions } from '../server/retention.ts';
import type { ShardDatabase } from '../server/shards/shards.ts';
import { onEachShard } from './connect.ts';
import { tableLines } from './table.ts';

/** The part of `doctor` that shows how large the tables are, how fast they grow, and how long their rows are kept. */

export interface ShownTable extends TableSize {
  readonly shard: string;
  readonly kept: string;
}

const shownMax = 10;

export async function sizesOf(shards: readonly ShardDatabase[]): Promise<ShownTable[]> {
  const each = await onEachShard(shards, async ({ name: shard, db }) =>
    (await readTableSizes(db)).map((table) => ({ shard, ...table, kept: keptOf(table.name) })),
  );
  return each.flat().toSorted((one, other) => other.bytes - one.bytes);
}

function keptOf(name: string): string {
  const found = retentions[name];
  if (!found) return '';
  if (found.kept === 'records') return 'for ever';
  return (found.kept === 'time' ? found.until : found.bound).replaceAll('`', '');
}

export function sizeLines(tables: readonly ShownTable[]): string[] {
  const isNamed = new Set(tables.map(({ shard }) => shard)).size > 1;
  const rows = tables
    .slice(0, shownMax)
    .map(({ shard, name, bytes, bytes_per_day, kept }) => [
      isNamed ? `${shard} ${name}` : name,
      megabytes(bytes),
      bytes_per_day === null
        ? 'not measured yet'
        : `${bytes_per_day < 0 ? '-' : '+'}${megabytes(Math.abs(bytes_per_day))}`,
      kept,
    ]);
  return ['Largest tables:', ...tableLines(['table', 'size', 'growth a day', 'rows are kept'], rows)];
}

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;
