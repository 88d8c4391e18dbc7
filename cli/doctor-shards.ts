import { hourMs } from '../server/platform/durations.ts';
import type { ShardDatabase, Shards } from '../server/shards/shards.ts';
import { firstShard } from '../server/shards/shards.ts';
import { onEachShard } from './connect.ts';
import * as queries from './doctor-shard-queries.ts';
import { findResidents } from '../server/shards/inspect-queries.ts';

/** The checks of `doctor` that compare servers: no foreign key and no transaction spans two of them. */

interface Finding {
  readonly check: string;
  readonly means: string;
  readonly count: number;
  readonly examples: readonly string[];
}

const shownMax = 5;
const pageCount = 10_000;
/** What two servers write one after the other is complete by then. */
const writtenSeconds = hourMs / 1_000;

export const shardChecks = {
  company_on_two_shards: 'company that is on two shards; see "Restore a shard" in docs/scaling.md',
  company_elsewhere: 'company that is not on the shard that the directory names',
  company_missing: 'company in the directory that its shard does not have',
  shard_unknown:
    'company on a shard that SVC_SHARDS does not name: set the same SVC_SHARDS for every process and command',
  move_unfinished: 'move of a company that stopped: run `svc companies move` again, or with --abort',
  fence_forgotten: 'company that its shard refuses to change, although it does not move',
  sign_up_unfinished: 'company of a sign-up that did not finish; the worker removes it',
  membership_without_member: 'membership of a user whose member does not exist; the worker removes it',
  lookup_without_key: 'reserved API key that was not created; the worker removes it',
  key_without_lookup: 'API key that cannot be used, because the control plane does not know it',
} as const;
type CheckName = keyof typeof shardChecks;

export async function examineShards(shards: Shards): Promise<Finding[]> {
  const found = await compare(shards);
  if (found.size === 0) return [];
  // A move, a sign-up or a new key changes one server after the other. What it had not written yet is there by now.
  const again = await compare(shards);
  return [...found].flatMap(([check, noted]) => {
    const examples = noted.filter((example) => again.get(check)?.includes(example));
    if (examples.length === 0) return [];
    return [{ check, means: shardChecks[check], count: examples.length, examples: examples.slice(0, shownMax) }];
  });
}

async function compare(shards: Shards): Promise<Map<CheckName, string[]>> {
  const found = new Map<CheckName, string[]>();
  const note = (check: CheckName, example: string): void => {
    found.set(check, [...(found.get(check) ?? []), example]);
  };
  await checkCompanies(shards, note);
  await checkMoves(shards, note);
  await checkLeads(shards, note);
  return found;
}

type Note = (check: CheckName, example: string) => void;

async function checkCompanies({ control, all }: Shards, note: Note): Promise<void> {
  const directory = await queries.readDirectory(control);
  const seen = new Map<string, string>();
  const residents = await onEachShard(all, async ({ name, db }) => ({ name, ids: await findResidents(db) }));
  for (const { name, ids } of residents) {
    for (const id of ids) {
      const other = seen.get(id);
      if (other) note('company_on_two_shards', `${id} / ${other} and ${name}`);
      seen.set(id, name);
      const named = directory.get(id) ?? firstShard;
      if (named !== name) note('company_elsewhere', `${id} / on ${name}, the directory names ${named}`);
    }
  }
  const names = new Set(all.map(({ name }) => name));
  for (const [id, shard] of directory) {
    if (!names.has(shard)) note('shard_unknown', `${id} / ${shard}`);
    else if (!seen.has(id)) note('company_missing', `${id} / ${shard}`);
  }
}

async function checkMoves({ control, all }: Shards, note: Note): Promise<void> {
  const moving = await queries.findMoves(control, writtenSeconds);
  for (const { company_id, moving_to, is_old } of moving)
    if (is_old) note('move_unfinished', `${company_id} / ${moving_to}`);
  const moves = new Set(moving.map(({ company_id }) => company_id));
  await onEachShard(all, async ({ name, db }) => {
    for (const id of await queries.findFences(db)) if (!moves.has(id)) note('fence_forgotten', `${id} / ${name}`);
    for (const id of await queries.findUnfinishedSignUps(db, writtenSeconds))
      note('sign_up_unfinished', `${id} / ${name}`);
  });
}

/** The rows of the control plane that lead to a row of a shard, and back. */
async function checkLeads(shards: Shards, note: Note): Promise<void> {
  const { control, all } = shards;
  for (const [from, to, check] of [
    ['memberships', 'team_members', 'membership_without_member'],
    ['api_key_lookups', 'api_keys', 'lookup_without_key'],
  ] as const) {
    for (let after = ''; ; ) {
      const page = await queries.readLeads(control, from, after, pageCount, writtenSeconds);
      for (const { company_id, id } of await missingFrom(all, page, to)) note(check, `${company_id} / ${id}`);
      after = page.at(-1)?.mark ?? '';
      if (page.length < pageCount) break;
    }
  }
  await onEachShard(all, async ({ db }) => {
    for (let after = ''; ; ) {
      const keys = await queries.readKeys(db, after, pageCount);
      const known = await queries.findKnownLookups(
        control,
        keys.map(({ lookup_id }) => lookup_id),
      );
      for (const { company_id, id, lookup_id } of keys)
        if (!known.has(lookup_id)) note('key_without_lookup', `${company_id} / ${id}`);
      after = keys.at(-1)?.lookup_id ?? '';
      if (keys.length < pageCount) break;
    }
  });
}

async function missingFrom(
  all: readonly ShardDatabase[],
  leads: readonly queries.Lead[],
  table: 'team_members' | 'api_keys',
): Promise<queries.Lead[]> {
  const leadsOf = Map.groupBy(leads, ({ shard }) => shard);
  const concerned = all.filter(({ name }) => leadsOf.has(name));
  const missing = await onEachShard(concerned, async ({ name, db }) => {
    const ofShard = leadsOf.get(name) ?? [];
    const existing = await queries.findExisting(db, table, ofShard);
    return ofShard.filter(({ id }) => !existing.has(id));
  });
  return missing.flat();
}
