import type { ControlQueryable, Queryable } from '../server/platform/database.ts';
import { firstShard } from '../server/shards/shards.ts';

/** The statements of the checks that compare servers. */

export async function readDirectory(control: ControlQueryable): Promise<Map<string, string>> {
  const rows = await control.query<{ company_id: string; shard: string }>(
    'SELECT company_id, shard FROM company_shards',
  );
  return new Map(rows.map(({ company_id, shard }) => [company_id, shard]));
}

/** Whether companies were ever placed on a further shard. SVC_SHARDS may be missing here. */
export async function hasPlaced(control: ControlQueryable): Promise<boolean> {
  return (await control.query('SELECT 1 FROM company_shards LIMIT 1')).length > 0;
}

export async function findMoves(
  control: ControlQueryable,
  oldSeconds: number,
): Promise<{ company_id: string; moving_to: string; is_old: boolean }[]> {
  return control.query(
    `SELECT company_id, moving_to, moving_since < now() - $1 * interval '1 s' AS is_old FROM company_shards
     WHERE moving_to IS NOT NULL`,
    [oldSeconds],
  );
}

const idsOf = (rows: readonly { company_id: string }[]): string[] => rows.map(({ company_id }) => company_id);

/** Companies that a shard refuses to change, although they have not left it. */
export async function findFences(db: Queryable): Promise<string[]> {
  return idsOf(await db.query(`SELECT company_id FROM company_fences WHERE state IN ('leaving', 'arriving')`));
}

export async function findUnfinishedSignUps(db: Queryable, oldSeconds: number): Promise<string[]> {
  return idsOf(
    await db.query(`SELECT company_id FROM unfinished_sign_ups WHERE started_at < now() - $1 * interval '1 s'`, [
      oldSeconds,
    ]),
  );
}

/** A row of the control plane that leads to a row of a shard. `mark` is where the next page begins. */
export interface Lead {
  readonly company_id: string;
  readonly id: string;
  readonly shard: string;
  readonly mark: string;
}

const leads = {
  memberships: { id: 'member_id', mark: 'user_id::text || company_id::text' },
  api_key_lookups: { id: 'api_key_id', mark: 'lookup_id' },
};

export async function readLeads(
  control: ControlQueryable,
  table: keyof typeof leads,
  after: string,
  count: number,
  oldSeconds: number,
): Promise<Lead[]> {
  const { id, mark } = leads[table];
  return control.query<Lead>(
    `SELECT company_id, ${id} AS id, ${mark} AS mark,
       coalesce((SELECT shard FROM company_shards s WHERE s.company_id = l.company_id), '${firstShard}') AS shard
     FROM ${table} l WHERE created_at < now() - $3 * interval '1 s' AND ${mark} > $1 ORDER BY ${mark} LIMIT $2`,
    [after, count, oldSeconds],
  );
}

/** The ids of those rows that exist on their shard. */
export async function findExisting(
  db: Queryable,
  table: 'team_members' | 'api_keys',
  wanted: readonly Lead[],
): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(
    `SELECT t.id FROM unnest($1::uuid[], $2::uuid[]) AS lead (company_id, id)
     JOIN ${table} t ON t.company_id = lead.company_id AND t.id = lead.id`,
    [wanted.map(({ company_id }) => company_id), wanted.map(({ id }) => id)],
  );
  return new Set(rows.map(({ id }) => id));
}

export async function readKeys(
  db: Queryable,
  after: string,
  count: number,
): Promise<{ company_id: string; id: string; lookup_id: string }[]> {
  return db.query(
    'SELECT company_id, id, lookup_id FROM api_keys WHERE lookup_id > $1 AND revoked_at IS NULL ORDER BY lookup_id LIMIT $2',
    [after, count],
  );
}

export async function findKnownLookups(control: ControlQueryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await control.query<{ lookup_id: string }>(
    'SELECT lookup_id FROM api_key_lookups WHERE lookup_id = ANY($1)',
    [ids],
  );
  return new Set(rows.map(({ lookup_id }) => lookup_id));
}
