import type { ControlPool, ControlQueryable, DatabasePool, Queryable } from '../../platform/database.ts';
import { isOneOf, literal, rowsOf } from './sql.ts';
import type { Table } from './tables.ts';

/** The statements of a move. Those that name tables or objects cannot have parameters, so they contain literals. */

type Ids = readonly string[];
type FenceState = 'arriving' | 'leaving' | 'left';

export async function readServer(db: Queryable): Promise<{ version: number; level: string } | undefined> {
  const [row] = await db.query<{ version: number; level: string }>(
    `SELECT current_setting('server_version_num')::integer AS version, current_setting('wal_level') AS level`,
  );
  return row;
}

const rights = {
  replicate: 'rolsuper OR rolreplication',
  subscribe: `rolsuper OR coalesce(pg_has_role((SELECT oid FROM pg_roles WHERE rolname = 'pg_create_subscription'), 'USAGE'), false)`,
};

export async function hasRight(db: Queryable, right: keyof typeof rights): Promise<boolean> {
  const [row] = await db.query<{ may: boolean }>(
    `SELECT ${rights[right]} AS may FROM pg_roles WHERE rolname = current_user`,
  );
  return row?.may === true;
}

/** Records the move in the directory. Returns false if one of the companies moves elsewhere. */
export async function recordMove(control: ControlQueryable, ids: Ids, from: string, to: string): Promise<boolean> {
  await control.query(
    `INSERT INTO company_shards (company_id, shard) SELECT unnest($1::uuid[]), $2 ON CONFLICT DO NOTHING`,
    [ids, from],
  );
  const rows = await control.query(
    `UPDATE company_shards SET moving_to = $3, moving_since = coalesce(moving_since, now())
     WHERE company_id = ANY($1) AND shard = $2 AND coalesce(moving_to, $3) = $3 RETURNING 1`,
    [ids, from, to],
  );
  return rows.length === ids.length;
}

/** The one change that decides. Returns false if the move was aborted meanwhile. */
export async function switchShard(control: ControlPool, ids: Ids, from: string, to: string): Promise<boolean> {
  return control.transaction(async (transaction) => {
    const rows = await transaction.query(
      `UPDATE company_shards SET shard = $3, moving_to = NULL, moving_since = NULL
       WHERE company_id = ANY($1) AND ((shard = $2 AND moving_to = $3) OR (shard = $3 AND moving_to IS NULL)) RETURNING 1`,
      [ids, from, to],
    );
    return rows.length === ids.length;
  });
}

export async function isOnShard(control: ControlQueryable, ids: Ids, shard: string): Promise<boolean> {
  const rows = await control.query('SELECT 1 FROM company_shards WHERE company_id = ANY($1) AND shard = $2', [
    ids,
    shard,
  ]);
  return rows.length > 0;
}

/** A command that still runs cannot switch any more. Returns false if the companies do not move. */
export async function recordAbort(control: ControlQueryable, ids: Ids, from: string): Promise<boolean> {
  const rows = await control.query(
    `UPDATE company_shards SET moving_to = shard WHERE company_id = ANY($1) AND shard = $2 AND moving_to IS NOT NULL
     RETURNING 1`,
    [ids, from],
  );
  return rows.length === ids.length;
}

export async function forgetMove(control: ControlQueryable, ids: Ids): Promise<void> {
  await control.query(`UPDATE company_shards SET moving_to = NULL, moving_since = NULL WHERE company_id = ANY($1)`, [
    ids,
  ]);
}

export async function setFences(db: Queryable, ids: Ids, state: FenceState): Promise<void> {
  await db.query(
    `INSERT INTO company_fences (company_id, state) SELECT unnest($1::uuid[]), $2
     ON CONFLICT (company_id) DO UPDATE SET state = excluded.state, since = now()`,
    [ids, state],
  );
}

/** Waits for the transactions that write for these companies: the triggers share this lock. Lasts for the transaction. */
export async function lockFence(db: Queryable, ids: Ids): Promise<void> {
  await db.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`fence ${ids[0]}`]);
}

/** The next commit waits until it is on disk, and with it all commits before. */
export async function commitToDisk(db: Queryable): Promise<void> {
  await db.query('SET LOCAL synchronous_commit = on');
}

export async function markLeft(db: Queryable, ids: Ids): Promise<void> {
  await db.query(
    `UPDATE company_fences SET state = 'left', since = now() WHERE company_id = ANY($1) AND state = 'leaving'`,
    [ids],
  );
}

/** Without a state, all of them. */
export async function removeFences(db: Queryable, ids: Ids, state?: FenceState): Promise<void> {
  await db.query(`DELETE FROM company_fences WHERE company_id = ANY($1) AND state = coalesce($2, state)`, [
    ids,
    state ?? null,
  ]);
}

export async function areFencedFor(db: Queryable, ids: Ids, ms: number): Promise<boolean> {
  const recent = await db.query(
    `SELECT 1 FROM company_fences WHERE company_id = ANY($1) AND since > now() - $2 * interval '1 ms'`,
    [ids, ms],
  );
  return recent.length === 0;
}

async function hasTriggerNamed(db: Queryable, table: Table, name: string): Promise<boolean> {
  const rows = await db.query('SELECT 1 FROM pg_trigger WHERE tgrelid = $1::regclass AND tgname = $2', [
    table.name,
    name,
  ]);
  return rows.length > 0;
}

export async function hasTrigger(db: Queryable, table: Table, name: string): Promise<boolean> {
  return hasTriggerNamed(db, table, `${name}_new`);
}

const triggerKinds = { new: 'INSERT OR UPDATE', old: 'UPDATE OR DELETE' };

export async function addTriggers(db: Queryable, table: Table, name: string, ids: Ids): Promise<void> {
  for (const [row, on] of Object.entries(triggerKinds))
    await db.query(
      `CREATE TRIGGER ${name}_${row} BEFORE ${on} ON ${table.name} FOR EACH ROW
       WHEN (${rowsOf(table, ids, row)}) EXECUTE FUNCTION refuse_fenced(${literal(ids[0] ?? '')})`,
    );
}

export async function removeTriggers(db: Queryable, table: Table, name: string): Promise<void> {
  for (const row of Object.keys(triggerKinds)) await db.query(`DROP TRIGGER IF EXISTS ${name}_${row} ON ${table.name}`);
}

const leftTrigger = 'svc_left';

/** From now on the table refuses new rows of companies that have left this server. */
export async function refuseLeft(db: Queryable, { name }: Table): Promise<void> {
  await db.query(`CREATE TRIGGER ${leftTrigger} BEFORE INSERT ON ${name} FOR EACH ROW EXECUTE FUNCTION refuse_left()`);
}

export async function refusesLeft(db: Queryable, table: Table): Promise<boolean> {
  return hasTriggerNamed(db, table, leftTrigger);
}

export async function identifyFully(db: Queryable, table: Table): Promise<void> {
  await db.query(`ALTER TABLE ${table.name} REPLICA IDENTITY FULL`);
}

const catalogs = {
  publication: 'pg_publication WHERE pubname',
  slot: 'pg_replication_slots WHERE slot_name',
  subscription: 'pg_subscription WHERE subname',
};

async function exists(db: Queryable, kind: keyof typeof catalogs, name: string): Promise<boolean> {
  return (await db.query(`SELECT 1 FROM ${catalogs[kind]} = $1`, [name])).length > 0;
}

const bareName = ({ name }: Table): string => name.slice(name.indexOf('.') + 1);

/** Sends the rows of these companies only. */
export async function publish(db: Queryable, name: string, tables: readonly Table[], ids: Ids): Promise<void> {
  if (!(await exists(db, 'publication', name))) {
    // A server that was the primary during an earlier move may still have its slot.
    await dropSlot(db, name);
    const filters = tables.map((table) => `${table.name} WHERE (${rowsOf(table, ids, bareName(table))})`);
    await db.query(
      `CREATE PUBLICATION ${name} FOR TABLE ${filters.join(', ')} WITH (publish_via_partition_root = true)`,
    );
  }
}

/** Keeps the log of the server for the subscription, which does not exist yet: a later slot would lack changes. */
export async function createSlot(db: Queryable, name: string): Promise<void> {
  if (!(await exists(db, 'slot', name)))
    await db.query(`SELECT pg_create_logical_replication_slot($1, 'pgoutput')`, [name]);
}

export const isSubscribed = (db: Queryable, name: string): Promise<boolean> => exists(db, 'subscription', name);

/**
 * Each change is on the disk of the target, and of its synchronous standby, before it is confirmed: the source sends no
 * change again that it has confirmed, also after a failover of the target.
 */
export async function subscribe(db: Queryable, name: string, sourceUrl: string): Promise<void> {
  await db.query(
    `CREATE SUBSCRIPTION ${name} CONNECTION ${literal(sourceUrl)} PUBLICATION ${name}
     WITH (create_slot = false, slot_name = ${literal(name)}, copy_data = true, synchronous_commit = 'on')`,
  );
}

/** Whether the subscription reads from a slot that does not exist. */
export async function hasLostSlot(source: Queryable, target: Queryable, name: string): Promise<boolean> {
  return (await isSubscribed(target, name)) && !(await exists(source, 'slot', name));
}

/**
 * Whether a table that is copied reads from a slot that does not exist. The server of the target drops this slot before
 * it commits the state of the table: a failover in between loses the state, and the server tries for ever.
 */
export async function hasLostTableSlot(source: Queryable, target: Queryable, name: string): Promise<boolean> {
  const wanted = await target.query<{ slot: string }>(
    `SELECT format('pg_%s_sync_%s_%s', s.oid, r.srrelid, c.system_identifier) AS slot
     FROM pg_subscription s JOIN pg_subscription_rel r ON s.oid = r.srsubid, pg_control_system() c
     WHERE s.subname = $1 AND r.srsubstate = 'f'`,
    [name],
  );
  if (wanted.length === 0) return false;
  const slots = await source.query('SELECT 1 FROM pg_replication_slots WHERE slot_name = ANY($1)', [
    wanted.map(({ slot }) => slot),
  ]);
  return slots.length < wanted.length;
}

export async function forgetSlot(db: Queryable, name: string): Promise<void> {
  await db.query(`ALTER SUBSCRIPTION ${name} DISABLE`);
  await db.query(`ALTER SUBSCRIPTION ${name} SET (slot_name = NONE)`);
}

export async function unsubscribe(db: Queryable, name: string): Promise<void> {
  await db.query(`DROP SUBSCRIPTION IF EXISTS ${name}`);
}

async function dropSlot(db: Queryable, name: string): Promise<void> {
  await db.query(`SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1`, [name]);
}

export async function unpublish(db: Queryable, name: string): Promise<void> {
  await dropSlot(db, name);
  await db.query(`DROP PUBLICATION IF EXISTS ${name}`);
}

/** The number of tables that are not copied yet, and of errors so far. */
export async function readCopy(db: Queryable, name: string): Promise<{ missing: number; errors: number } | undefined> {
  const [row] = await db.query<{ missing: number; errors: number }>(
    `SELECT count(*) FILTER (WHERE r.srsubstate <> 'r')::integer AS missing,
       coalesce(max(e.apply_error_count + e.sync_error_count), 0)::integer AS errors
     FROM pg_subscription s JOIN pg_subscription_rel r ON s.oid = r.srsubid
     LEFT JOIN pg_stat_subscription_stats e ON e.subid = s.oid WHERE s.subname = $1`,
    [name],
  );
  return row;
}

export async function readLogPosition(db: Queryable): Promise<string> {
  const [row] = await db.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn()::text AS lsn');
  return row?.lsn ?? '';
}

/** Whether the subscription has confirmed the log up to a position; undefined if its slot is gone. */
export async function hasConfirmed(db: Queryable, name: string, lsn: string): Promise<boolean | undefined> {
  const [row] = await db.query<{ done: boolean }>(
    'SELECT confirmed_flush_lsn >= $2::pg_lsn AS done FROM pg_replication_slots WHERE slot_name = $1',
    [name, lsn],
  );
  return row?.done;
}

export async function copyCompanies(source: Queryable, target: Queryable, ids: Ids): Promise<void> {
  const rows = await source.query<{ row: string }>(
    'SELECT to_jsonb(companies)::text AS row FROM companies WHERE id = ANY($1)',
    [ids],
  );
  for (const { row } of rows) {
    const columns = Object.keys(JSON.parse(row)).join(', ');
    await target.query(
      `INSERT INTO companies (${columns}) SELECT ${columns} FROM jsonb_populate_record(NULL::companies, $1)
       ON CONFLICT (id) DO UPDATE SET (${columns}) = (SELECT ${columns} FROM jsonb_populate_record(NULL::companies, $1))`,
      [row],
    );
  }
}

/** Whether the shard was restored from a backup, and its records are not compared with the processors yet. */
export async function isRestored(db: Queryable): Promise<boolean> {
  const rows = await db.query('SELECT 1 FROM restores WHERE reconciled_at IS NULL');
  return rows.length > 0;
}

/** For some time after a restore, charges are looked up before they are sent, wherever the company is. */
export async function copyRestores(source: Queryable, target: Queryable): Promise<void> {
  const rows = await source.query<{ row: string }>(
    'SELECT to_jsonb(restores)::text AS row FROM restores WHERE reconciled_at IS NOT NULL',
  );
  for (const { row } of rows) {
    await target.query(
      'INSERT INTO restores SELECT * FROM jsonb_populate_record(NULL::restores, $1) ON CONFLICT DO NOTHING',
      [row],
    );
  }
}

const removeCount = 2_000;

/** Customers and their cards refer to each other. */
export async function forgetDefaultCards(db: DatabasePool, ids: Ids): Promise<void> {
  await inBatches(
    db,
    ids,
    `UPDATE customers SET default_payment_method_id = NULL
     WHERE (company_id, id) IN (SELECT company_id, id FROM customers
       WHERE company_id ${isOneOf(ids)} AND default_payment_method_id IS NOT NULL LIMIT ${removeCount}) RETURNING 1`,
  );
}

export async function removeRowsFrom(db: DatabasePool, table: Table, ids: Ids): Promise<void> {
  const key = table.key.join(', ');
  await inBatches(
    db,
    ids,
    `DELETE FROM ${table.name} WHERE (${key}) IN (
       SELECT ${key} FROM ${table.name} WHERE ${rowsOf(table, ids, bareName(table))} LIMIT ${removeCount}) RETURNING 1`,
  );
}

/** The triggers let the move itself change these companies. */
async function inBatches(db: DatabasePool, ids: Ids, statement: string): Promise<void> {
  for (let count = removeCount; count === removeCount; ) {
    count = await db.transaction(async (transaction) => {
      await transaction.query(`SELECT set_config('svc.moving', $1, true)`, [ids[0]]);
      return (await transaction.query(statement)).length;
    });
  }
}
