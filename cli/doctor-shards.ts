import { hourMs } from '../server/platform/durations.ts';
import type { ShardDatabase, Shards } from '../server/shards/shards.ts';
import { firstShard } from '../server/shards/shards.ts';
import { findResidents } from '../server/shards/inspect-queries.ts';

/** The checks of `doctor` that compare servers: no foreign key and no transaction spans two of them. */

interface Finding {
  readonly check: string;
  readonly means: string;
  readonly count: number;
  readonly examples: readonly string[];
}

interface Place {
  readonly company_id: string;
  readonly id: string;
  readonly shard: string;
}

const shownMax = 5;
const pageCount = 1_000;
/** What two servers write one after the other is complete by then. */
const settledSeconds = hourMs / 1_000;

export const shardChecks = {
  company_on_two_shards: 'company that is on two shards',
  company_elsewhere: 'company that is not on the shard that the directory names',
  company_missing: 'company in the directory that its shard does not have',
  shard_unknown: 'company on a shard that SVC_SHARDS does not name',
  move_unfinished: 'move of a company that stopped: run `svc companies move` again, or with --abort',
  fence_forgotten: 'company that its shard refuses to change, although it does not move',
  sign_up_unfinished: 'company of a sign-up that did not finish; the worker removes it',
  membership_without_member: 'membership of a user whose member does not exist; the worker removes it',
  lookup_without_key: 'reserved API key that was not created; the worker removes it',
  key_without_lookup: 'API key that cannot be used, because the control plane does not know it',
} as const;
type CheckName = keyof typeof shardChecks;

export async function examineShards(shards: Shards): Promise<Finding[]> {
  const found = new Map<CheckName, string[]>();
  const note = (check: CheckName, example: string): void => {
    found.set(check, [...(found.get(check) ?? []), example]);
  };
  await checkCompanies(shards, note);
  await checkMoves(shards, note);
  await checkLeads(shards, note);
  return [...found].map(([check, examples]) => ({
    check,
    means: shardChecks[check],
    count: examples.length,
    examples: examples.slice(0, shownMax),
  }));
}

type Note = (check: CheckName, example: string) => void;

async function checkCompanies({ control, all }: Shards, note: Note): Promise<void> {
  const rows = await control.query<{ company_id: string; shard: string }>(
    'SELECT company_id, shard FROM company_shards',
  );
  const directory = new Map(rows.map(({ company_id, shard }) => [company_id, shard]));
  const seen = new Map<string, string>();
  for (const { name, db } of all) {
    for (const id of await findResidents(db)) {
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
  const moving = await control.query<{ company_id: string; moving_to: string; is_old: boolean }>(
    `SELECT company_id, moving_to, moving_since < now() - $1 * interval '1 s' AS is_old FROM company_shards
     WHERE moving_to IS NOT NULL`,
    [settledSeconds],
  );
  for (const { company_id, moving_to, is_old } of moving)
    if (is_old) note('move_unfinished', `${company_id} / ${moving_to}`);
  const moves = new Set(moving.map(({ company_id }) => company_id));
  for (const { name, db } of all) {
    const fences = await db.query<{ company_id: string }>(
      `SELECT company_id FROM company_fences WHERE state IN ('leaving', 'arriving')`,
    );
    for (const { company_id } of fences) if (!moves.has(company_id)) note('fence_forgotten', `${company_id} / ${name}`);
    const unfinished = await db.query<{ company_id: string }>(
      `SELECT company_id FROM unfinished_sign_ups WHERE started_at < now() - $1 * interval '1 s'`,
      [settledSeconds],
    );
    for (const { company_id } of unfinished) note('sign_up_unfinished', `${company_id} / ${name}`);
  }
}

const placed = (columns: string, table: string): string =>
  `SELECT ${columns}, coalesce((SELECT shard FROM company_shards s WHERE s.company_id = ${table}.company_id), '${firstShard}') AS shard
   FROM ${table} WHERE created_at < now() - $3 * interval '1 s'`;

/** The rows of the control plane that lead to a row of a shard, and back. */
async function checkLeads(shards: Shards, note: Note): Promise<void> {
  const { control, all } = shards;
  const memberships = `${placed('company_id, member_id AS id, user_id::text AS key', 'memberships')}
    AND (user_id::text || company_id::text) > $1 ORDER BY user_id::text || company_id::text LIMIT $2`;
  for await (const page of pages(shards, memberships, ({ key, company_id }) => `${key}${company_id}`)) {
    for (const { company_id, id } of await missingFrom(all, page, 'team_members'))
      note('membership_without_member', `${company_id} / ${id}`);
  }
  const lookups = `${placed('company_id, api_key_id AS id, lookup_id AS key', 'api_key_lookups')}
    AND lookup_id > $1 ORDER BY lookup_id LIMIT $2`;
  for await (const page of pages(shards, lookups, ({ key }) => key)) {
    for (const { company_id, id } of await missingFrom(all, page, 'api_keys'))
      note('lookup_without_key', `${company_id} / ${id}`);
  }
  for (const { db } of all) {
    for (let after = ''; ; ) {
      const keys = await db.query<{ company_id: string; id: string; lookup_id: string }>(
        'SELECT company_id, id, lookup_id FROM api_keys WHERE lookup_id > $1 AND revoked_at IS NULL ORDER BY lookup_id LIMIT $2',
        [after, pageCount],
      );
      const known = await control.query<{ lookup_id: string }>(
        'SELECT lookup_id FROM api_key_lookups WHERE lookup_id = ANY($1)',
        [keys.map(({ lookup_id }) => lookup_id)],
      );
      const ids = new Set(known.map(({ lookup_id }) => lookup_id));
      for (const { company_id, id, lookup_id } of keys)
        if (!ids.has(lookup_id)) note('key_without_lookup', `${company_id} / ${id}`);
      after = keys.at(-1)?.lookup_id ?? '';
      if (keys.length < pageCount) break;
    }
  }
}

type Lead = Place & { readonly key: string };

async function* pages({ control }: Shards, sql: string, markOf: (row: Lead) => string): AsyncGenerator<Lead[]> {
  for (let after = ''; ; ) {
    const page = await control.query<Lead>(sql, [after, pageCount, settledSeconds]);
    yield page;
    const last = page.at(-1);
    if (!last || page.length < pageCount) return;
    after = markOf(last);
  }
}

async function missingFrom(
  all: readonly ShardDatabase[],
  leads: readonly Lead[],
  table: 'team_members' | 'api_keys',
): Promise<Lead[]> {
  const missing: Lead[] = [];
  for (const [shard, ofShard] of Map.groupBy(leads, (lead) => lead.shard)) {
    const db = all.find(({ name }) => name === shard)?.db;
    if (!db) continue;
    const rows = await db.query<{ id: string }>(
      `SELECT t.id FROM unnest($1::uuid[], $2::uuid[]) AS lead (company_id, id)
       JOIN ${table} t ON t.company_id = lead.company_id AND t.id = lead.id`,
      [ofShard.map(({ company_id }) => company_id), ofShard.map(({ id }) => id)],
    );
    const ids = new Set(rows.map(({ id }) => id));
    missing.push(...ofShard.filter(({ id }) => !ids.has(id)));
  }
  return missing;
}
