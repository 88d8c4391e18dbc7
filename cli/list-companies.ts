import { isUuid } from '../server/platform/ids.ts';
import { type CompanyOnShard, findCompaniesOn, ordersCounted } from '../server/shards/inspect-queries.ts';
import { findMovesOf, type MoveRow } from '../server/shards/queries.ts';
import type { ShardDatabase } from '../server/shards/shards.ts';
import { CommandError, UsageError } from './command-error.ts';
import { onEachShard, type Reached, withReachable } from './connect.ts';
import type { Flags } from './options.ts';
import { table } from './table.ts';

/** `companies list`: the companies of every shard, or of one, in pages. Copies that a move leaves or makes are listed too. */

const countUsual = 20;
const countMax = 1_000;

interface Listed extends CompanyOnShard {
  readonly shard: string;
  readonly move: MoveRow | undefined;
}

export async function listCommand(_words: readonly string[], flags: Flags): Promise<string> {
  const count = Number(flags.limit ?? countUsual);
  if (!Number.isInteger(count) || count < 1 || count > countMax)
    throw new UsageError(`--limit must be a whole number from 1 to ${countMax}.`);
  if (flags.after !== undefined && !isUuid(flags.after))
    throw new UsageError('--after must be the ID of a company: the last one of the page before.');
  return withReachable(async (reached) => {
    const chosen = chosenShards(reached, flags.shard);
    const { listed, next } = await readPage(reached, chosen, count, flags.after);
    const away = flags.shard === undefined ? [...reached.away.values()] : [];
    if (away.length > 0) process.exitCode = 1;
    if (flags.json)
      return `${JSON.stringify({ companies: listed.map(shownOf), next, away: [...reached.away.keys()] })}\n`;
    return shown(listed, next, away);
  });
}

function chosenShards({ all, away }: Reached, wanted: string | undefined): readonly ShardDatabase[] {
  if (wanted === undefined) return all;
  const found = all.find(({ name }) => name === wanted);
  if (found) return [found];
  const names = [...all.map(({ name }) => name), ...away.keys()].toSorted();
  throw new CommandError(away.get(wanted) ?? `Choose a shard with --shard: ${names.join(', ')}.`);
}

async function readPage(
  { shards: reachable }: Reached,
  chosen: readonly ShardDatabase[],
  count: number,
  after: string | undefined,
): Promise<{ listed: Listed[]; next: string | null }> {
  const pages = await onEachShard(chosen, async ({ name: shard, db }) =>
    (await findCompaniesOn(db, after, count + 1)).map((company) => ({ ...company, shard })),
  );
  const found = pages.flat();
  const ids = [...new Set(found.map(({ id }) => id))].toSorted();
  const page = ids.slice(0, count);
  const moves = reachable ? await findMovesOf(reachable.control, page) : new Map<string, MoveRow>();
  const listed = found
    .filter(({ id }) => page.includes(id))
    .toSorted((one, other) => (one.id === other.id ? (one.shard < other.shard ? -1 : 1) : one.id < other.id ? -1 : 1))
    .map((company) => ({ ...company, move: moves.get(company.id) }));
  return { listed, next: ids.length > count ? (page.at(-1) ?? null) : null };
}

/** What the fence of the shard and the directory say about a company. */
function stateOf({ fence, move, shard }: Listed): string {
  if (fence === 'arriving') return 'arriving';
  if (fence === 'leaving') return 'switching';
  if (fence === 'left') return 'left';
  if (!move || move.shard !== shard) return 'settled';
  return move.moving_to === shard ? 'aborting' : 'moving';
}

const meanings: Readonly<Record<string, (company: Listed) => string>> = {
  settled: () => '',
  moving: ({ move }) => `moves to ${move?.moving_to} since ${move?.moving_since.toISOString()}`,
  aborting: () => 'ends a move that was aborted',
  switching: () => 'switches to another shard, and refuses writes',
  arriving: () => 'arrives, and is not used here yet',
  left: () => 'has left; its rows are removed by svc companies move',
};

const shownOf = (company: Listed) => ({
  id: company.id,
  account_id: company.account_id,
  name: company.name,
  mode: company.mode,
  shard: company.shard,
  state: stateOf(company),
  moving_to: company.move?.moving_to ?? null,
  moving_since: company.move?.moving_since ?? null,
  orders: company.orders,
  orders_are_estimated: company.orders > ordersCounted,
});

function ordersText(orders: number): string {
  const shownNumber = new Intl.NumberFormat('en-US', { maximumSignificantDigits: orders > ordersCounted ? 2 : 21 });
  return `${orders > ordersCounted ? 'about ' : ''}${shownNumber.format(orders)}`;
}

function shown(listed: readonly Listed[], next: string | null, away: readonly string[]): string {
  const rows = listed.map((company) => {
    const meaning = meanings[stateOf(company)]?.(company) ?? '';
    const { id, shard, mode, name, orders } = company;
    return [id, shard, mode, ordersText(orders), `${name}${meaning ? `  (${meaning})` : ''}`];
  });
  const more = next === null ? [] : [`There are more: add --after ${next}`];
  return table(['ID', 'SHARD', 'MODE', 'ORDERS', 'NAME'], rows, 'No companies.') + [...more, ...away, ''].join('\n');
}
