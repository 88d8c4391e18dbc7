import { hourMs } from '../../platform/durations.ts';
import type { ControlPool, DatabasePool, Queryable } from '../../platform/database.ts';
import type { ShardDatabase } from '../shards.ts';
import { isOneOf, literal, MoveError, rowsOf, until, withBriefLock } from './sql.ts';
import { companies, createPartition, findPartitions, findTables, type Table } from './tables.ts';

/**
 * The steps of a move. Each can be repeated: its state is in the databases. The directory decides which shard a company
 * is on; before the switch the move can be aborted, afterwards only finished.
 */

export interface Move {
  readonly control: ControlPool;
  readonly source: ShardDatabase;
  readonly target: ShardDatabase;
  /** How the server of the target connects to the source. */
  readonly sourceUrl: string;
  readonly accountId: string;
  /** The companies of the account. The fence of the first one counts for all. */
  readonly companyIds: readonly [string, ...string[]];
  /** How long the rows stay on the source after the switch. */
  readonly keptMs: number;
}

const nameOf = ({ accountId }: Pick<Move, 'accountId'>): string => `svc_move_${accountId.replaceAll('-', '')}`;

const replicationMin = 150_000;

/** Checks what logical replication needs, before anything changes. */
export async function check({ source, target }: Move): Promise<void> {
  const [from] = await source.db.query<{ version: number; level: string }>(
    `SELECT current_setting('server_version_num')::integer AS version, current_setting('wal_level') AS level`,
  );
  if (from?.level !== 'logical')
    throw new MoveError(
      `The server of shard "${source.name}" has wal_level = ${from?.level}. Companies move by logical replication: run ALTER SYSTEM SET wal_level = 'logical' there, restart the server, and run this command again.`,
    );
  if ((from?.version ?? 0) < replicationMin)
    throw new MoveError(
      `The server of shard "${source.name}" is older than PostgreSQL 15, which cannot send the rows of one company only.`,
    );
  await mayDo(source, 'rolsuper OR rolreplication', 'create a replication slot: give it the attribute REPLICATION');
  const member = `rolsuper OR coalesce(pg_has_role((SELECT oid FROM pg_roles WHERE rolname = 'pg_create_subscription'), 'USAGE'), false)`;
  await mayDo(target, member, 'create a subscription: grant it the role pg_create_subscription, or use a superuser');
}

async function mayDo({ name, db }: ShardDatabase, condition: string, what: string): Promise<void> {
  const [row] = await db.query<{ may: boolean }>(
    `SELECT ${condition} AS may FROM pg_roles WHERE rolname = current_user`,
  );
  if (!row?.may) throw new MoveError(`The login of this command on shard "${name}" may not ${what}.`);
}

/** Records the move, and installs the triggers that refuse writes once the fence is set. */
export async function prepare(move: Move): Promise<void> {
  const { control, source, target, companyIds } = move;
  await control.query(
    `INSERT INTO company_shards (company_id, shard) SELECT unnest($1::uuid[]), $2 ON CONFLICT DO NOTHING`,
    [companyIds, source.name],
  );
  const rows = await control.query(
    `UPDATE company_shards SET moving_to = $3, moving_since = coalesce(moving_since, now())
     WHERE company_id = ANY($1) AND shard = $2 AND coalesce(moving_to, $3) = $3 RETURNING 1`,
    [companyIds, source.name, target.name],
  );
  if (rows.length !== companyIds.length)
    throw new MoveError('The companies move elsewhere already. Finish that move, or end it with --abort.');
  await target.db.query(
    `INSERT INTO company_fences (company_id, state) SELECT unnest($1::uuid[]), 'arriving'
     ON CONFLICT (company_id) DO UPDATE SET state = 'arriving', since = now()`,
    [companyIds],
  );
  for (const table of [...(await findTables(source.db)), companies]) {
    if (!table.isIdentified)
      await withBriefLock(source.db, (db) => db.query(`ALTER TABLE ${table.name} REPLICA IDENTITY FULL`));
    if (!(await hasTrigger(source.db, table, nameOf(move))))
      await withBriefLock(source.db, (db) => addTriggers(db, table, move));
  }
}

async function hasTrigger(db: Queryable, table: Table, name: string): Promise<boolean> {
  const rows = await db.query('SELECT 1 FROM pg_trigger WHERE tgrelid = $1::regclass AND tgname = $2', [
    table.name,
    `${name}_new`,
  ]);
  return rows.length > 0;
}

async function addTriggers(db: Queryable, table: Table, move: Move): Promise<void> {
  const kinds = { new: 'INSERT OR UPDATE', old: 'UPDATE OR DELETE' };
  for (const [row, on] of Object.entries(kinds))
    await db.query(
      `CREATE TRIGGER ${nameOf(move)}_${row} BEFORE ${on} ON ${table.name} FOR EACH ROW
       WHEN (${rowsOf(table, move.companyIds, row)}) EXECUTE FUNCTION refuse_fenced(${literal(move.companyIds[0])})`,
    );
}

const copyMs = 24 * hourMs;
const errorsMax = 5;

/** Copies the rows of the companies to the target, and keeps them up to date until the stop. */
export async function copy(move: Move): Promise<void> {
  const { source, target, companyIds, sourceUrl } = move;
  const name = nameOf(move);
  await copyPartitions(source.db, target.db);
  const tables = await findTables(source.db);
  if (!(await exists(source.db, 'pg_publication WHERE pubname', name))) {
    const filters = tables.map((table) => {
      const bare = table.name.slice(table.name.indexOf('.') + 1);
      return `${table.name} WHERE (${rowsOf(table, companyIds, bare)})`;
    });
    await source.db.query(
      `CREATE PUBLICATION ${name} FOR TABLE ${filters.join(', ')} WITH (publish_via_partition_root = true)`,
    );
  }
  if (!(await exists(source.db, 'pg_replication_slots WHERE slot_name', name)))
    await source.db.query(`SELECT pg_create_logical_replication_slot($1, 'pgoutput')`, [name]);
  if (!(await exists(target.db, 'pg_subscription WHERE subname', name)))
    await target.db
      .query(
        `CREATE SUBSCRIPTION ${name} CONNECTION ${literal(sourceUrl)} PUBLICATION ${name}
         WITH (create_slot = false, slot_name = ${literal(name)}, copy_data = true)`,
      )
      .catch((error: Error) => {
        const servers = `The server of shard "${target.name}" cannot read from shard "${source.name}"`;
        throw new MoveError(`${servers}: ${error.message}. It connects with the URL of that shard in the settings.`);
      });
  await until('The copy', copyMs, 100, async () => {
    const [row] = await target.db.query<{ missing: number; errors: number }>(
      `SELECT count(*) FILTER (WHERE r.srsubstate <> 'r')::integer AS missing,
         coalesce(max(e.apply_error_count + e.sync_error_count), 0)::integer AS errors
       FROM pg_subscription s JOIN pg_subscription_rel r ON s.oid = r.srsubid
       LEFT JOIN pg_stat_subscription_stats e ON e.subid = s.oid WHERE s.subname = $1`,
      [name],
    );
    if ((row?.errors ?? 0) >= errorsMax)
      throw new MoveError(`The copy fails again and again: the log of the server of shard "${target.name}" says why.`);
    return row?.missing === 0;
  });
}

async function exists(db: Queryable, where: string, name: string): Promise<boolean> {
  return (await db.query(`SELECT 1 FROM ${where} = $1`, [name])).length > 0;
}

const overlapsDefault = '23514';

async function copyPartitions(source: Queryable, target: DatabasePool): Promise<void> {
  const known = new Set((await findPartitions(target)).map(({ name }) => name));
  for (const partition of await findPartitions(source)) {
    if (known.has(partition.name)) continue;
    try {
      await withBriefLock(target, (db) => db.query(createPartition(partition)));
    } catch (error) {
      // Other rows of this time are in the default piece already, so these go there too.
      if ((error as { code?: string }).code !== overlapsDefault) throw error;
    }
  }
}

const stopMs = 10_000;

/**
 * Stops the writes of the companies on the source, waits until the target has all of them, and switches. Returns how
 * long writes were refused, in milliseconds.
 */
export async function stopAndSwitch(move: Move): Promise<number> {
  const startedMs = performance.now();
  try {
    await stop(move);
    await arrive(move);
  } catch (error) {
    // The source takes writes again while the operator finds out what is wrong. Nothing has switched.
    if (!(await hasSwitched(move))) await resume(move);
    throw error;
  }
  await switchOver(move);
  return performance.now() - startedMs;
}

/** After this, the source refuses every write of the companies, and all earlier ones have ended. */
export async function stop({ source, companyIds }: Move): Promise<void> {
  await withBriefLock(source.db, async (db) => {
    await db.query('SET LOCAL synchronous_commit = on');
    await db.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`fence ${companyIds[0]}`]);
    await db.query(
      `INSERT INTO company_fences (company_id, state) SELECT unnest($1::uuid[]), 'leaving'
       ON CONFLICT (company_id) DO UPDATE SET state = 'leaving', since = now()`,
      [companyIds],
    );
  });
}

async function resume({ source, companyIds }: Move): Promise<void> {
  await source.db.query(`DELETE FROM company_fences WHERE company_id = ANY($1) AND state = 'leaving'`, [companyIds]);
}

/** Waits for the last writes, then copies the companies themselves: jobs find the work of a company by its row. */
export async function arrive(move: Move): Promise<void> {
  const { source, target, companyIds } = move;
  const [{ lsn } = { lsn: '' }] = await source.db.query<{ lsn: string }>(
    'SELECT pg_current_wal_flush_lsn()::text AS lsn',
  );
  await until('The last step of the copy', stopMs, 10, async () => {
    const [row] = await source.db.query<{ done: boolean }>(
      'SELECT confirmed_flush_lsn >= $2::pg_lsn AS done FROM pg_replication_slots WHERE slot_name = $1',
      [nameOf(move), lsn],
    );
    if (!row) throw new MoveError('The replication slot is gone. End the move with --abort and start again.');
    return row.done;
  });
  const rows = await source.db.query<{ row: string }>(
    'SELECT to_jsonb(companies)::text AS row FROM companies WHERE id = ANY($1)',
    [companyIds],
  );
  for (const { row } of rows) {
    const columns = Object.keys(JSON.parse(row)).join(', ');
    await target.db.query(
      `INSERT INTO companies (${columns}) SELECT ${columns} FROM jsonb_populate_record(NULL::companies, $1)
       ON CONFLICT (id) DO UPDATE SET (${columns}) = (SELECT ${columns} FROM jsonb_populate_record(NULL::companies, $1))`,
      [row],
    );
  }
}

/** The directory decides. The fence of the target only holds back its jobs, so it goes last. */
export async function switchOver(move: Move): Promise<void> {
  const { control, source, target, companyIds } = move;
  await control.transaction(async (transaction) => {
    const rows = await transaction.query(
      `UPDATE company_shards SET shard = $3, moving_to = NULL, moving_since = NULL
       WHERE company_id = ANY($1) AND ((shard = $2 AND moving_to = $3) OR (shard = $3 AND moving_to IS NULL)) RETURNING 1`,
      [companyIds, source.name, target.name],
    );
    if (rows.length !== companyIds.length) throw new MoveError('The move was aborted meanwhile.');
  });
  await target.db.query(`DELETE FROM company_fences WHERE company_id = ANY($1)`, [companyIds]);
  await source.db.query(
    `UPDATE company_fences SET state = 'left', since = now() WHERE company_id = ANY($1) AND state = 'leaving'`,
    [companyIds],
  );
}

async function hasSwitched({ control, source, target, companyIds }: Move): Promise<boolean> {
  if (source.name === target.name) return false;
  const rows = await control.query('SELECT 1 FROM company_shards WHERE company_id = ANY($1) AND shard = $2', [
    companyIds,
    target.name,
  ]);
  return rows.length > 0;
}

/** Removes what the move leaves on the source. The fence stays: it tells that these companies are elsewhere. */
export async function clean(move: Move): Promise<void> {
  if (!(await hasSwitched(move))) throw new MoveError('The companies have not moved yet.');
  await disconnect(move);
  await untilForgotten(move);
  await removeRows(move.source.db, move);
  await dropTriggers(move);
}

/** Until then, requests that began before the switch, and processes that missed it, still read on the source. */
async function untilForgotten({ source, companyIds, keptMs }: Move): Promise<void> {
  await until('The wait for other processes', keptMs + stopMs, keptMs / 10, async () => {
    const recent = await source.db.query(
      `SELECT 1 FROM company_fences WHERE company_id = ANY($1) AND since > now() - $2 * interval '1 ms'`,
      [companyIds, keptMs],
    );
    return recent.length === 0;
  });
}

/** Ends a move before its switch. */
export async function abort(move: Move): Promise<void> {
  const { control, source, target, companyIds } = move;
  if (await hasSwitched(move))
    throw new MoveError(
      `The companies are on shard "${target.name}" already: run the command without --abort, which finishes the move, or move them back.`,
    );
  // A command that still runs cannot switch any more.
  const rows = await control.query(
    `UPDATE company_shards SET moving_to = shard WHERE company_id = ANY($1) AND shard = $2 AND moving_to IS NOT NULL
     RETURNING 1`,
    [companyIds, source.name],
  );
  if (rows.length !== companyIds.length) throw new MoveError('The companies do not move.');
  await resume(move);
  await disconnect(move);
  if (target.name !== source.name) await removeRows(target.db, move);
  await dropTriggers(move);
  await target.db.query(`DELETE FROM company_fences WHERE company_id = ANY($1) AND state = 'arriving'`, [companyIds]);
  await control.query(`UPDATE company_shards SET moving_to = NULL, moving_since = NULL WHERE company_id = ANY($1)`, [
    companyIds,
  ]);
}

/** From now on nothing that happens on the source reaches the target. */
async function disconnect(move: Move): Promise<void> {
  const { source, target } = move;
  const name = nameOf(move);
  await target.db.query(`DROP SUBSCRIPTION IF EXISTS ${name}`);
  await source.db.query(`SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1`, [
    name,
  ]);
  await source.db.query(`DROP PUBLICATION IF EXISTS ${name}`);
}

async function dropTriggers(move: Move): Promise<void> {
  const { source } = move;
  for (const table of [...(await findTables(source.db)), companies])
    await withBriefLock(source.db, async (db) => {
      for (const row of ['new', 'old'])
        await db.query(`DROP TRIGGER IF EXISTS ${nameOf(move)}_${row} ON ${table.name}`);
    });
}

const removeCount = 2_000;
const stillReferenced = '23503';

/** In batches. A table whose rows are still referenced waits for the others. */
async function removeRows(db: DatabasePool, move: Move): Promise<void> {
  // Customers and their cards refer to each other.
  await inBatches(
    db,
    move,
    (some) => `UPDATE customers SET default_payment_method_id = NULL
    WHERE (company_id, id) IN (SELECT company_id, id FROM customers
      WHERE company_id ${isOneOf(move.companyIds)} AND default_payment_method_id IS NOT NULL LIMIT ${some}) RETURNING 1`,
  );
  let left = [...(await findTables(db)), companies];
  while (left.length > 0) {
    const waiting: Table[] = [];
    for (const table of left) if (!(await removeFrom(db, move, table))) waiting.push(table);
    if (waiting.length === left.length)
      throw new MoveError(`Rows of ${waiting.map(({ name }) => name).join(', ')} refer to each other.`);
    left = waiting;
  }
}

async function removeFrom(db: DatabasePool, move: Move, table: Table): Promise<boolean> {
  const key = table.key.join(', ');
  const bare = table.name.slice(table.name.indexOf('.') + 1);
  try {
    await inBatches(
      db,
      move,
      (some) => `DELETE FROM ${table.name} WHERE (${key}) IN (
      SELECT ${key} FROM ${table.name} WHERE ${rowsOf(table, move.companyIds, bare)} LIMIT ${some}) RETURNING 1`,
    );
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === stillReferenced) return false;
    throw error;
  }
}

async function inBatches(db: DatabasePool, move: Move, statement: (count: number) => string): Promise<void> {
  for (let count = removeCount; count === removeCount; ) {
    count = await db.transaction(async (transaction) => {
      await transaction.query(`SELECT set_config('svc.moving', $1, true)`, [move.companyIds[0]]);
      return (await transaction.query(statement(removeCount))).length;
    });
  }
}
