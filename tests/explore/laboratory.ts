import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { restoresWith } from '../support/restores.ts';
import { type DatabasePool, openDatabase } from '../../server/platform/database.ts';
import { byKeySettings, queueSettings } from '../../server/platform/database-settings.ts';
import type { KindName } from '../../server/vault/processors/kind.ts';
import { kindNamed } from '../../server/vault/processors/kinds.ts';
import { localVault, type Vault } from '../../server/vault/vault.ts';
import { shardedVault } from '../../server/vault/sharded.ts';
import { findShard } from '../../server/shards/queries.ts';
import { connectTo } from '../support/connect.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { openShop, type Shop } from '../support/orders.ts';
import { startTestService, type TestService } from '../support/service.ts';
import type { Company } from '../../server/company.ts';
import { openProcessor, type SimulatedProcessor } from './processors.ts';

/**
 * The parts that all schedules of a run share: two shards whose clock can be set, and connections to them. Each
 * schedule has its own merchant and processors.
 */

/** When the first schedule starts. A fixed time: the month and the hour decide what renewals do. */
const firstStartMs = Date.UTC(2027, 0, 5, 6);
/** Each schedule starts later than the one before, so that their ids do not share the counter of a millisecond. */
const betweenStartsMs = 1_000;
/** No schedule takes this long. Real time must not end a statement that waits for a lock. */
const patienceMs = 600_000;

/** Rows of one merchant, by table. */
export type Snapshot = ReadonlyMap<string, string | null>;

/** A processor, and the connection of the merchant to it. */
export interface ConnectedProcessor extends SimulatedProcessor {
  readonly connectionId: string;
}

export interface Merchant {
  readonly company: Company;
  /** Its live and its sandbox company, which move together. */
  readonly companyIds: readonly [string, string];
  readonly key: string;
  readonly shop: Shop;
  readonly vault: Vault;
  /** In the order in which they are tried. */
  readonly processors: readonly [ConnectedProcessor, ConnectedProcessor];
  remove(): Promise<void>;
}

export interface LaboratoryShard {
  readonly name: string;
  /** The connection of the owner. */
  readonly owner: DatabasePool;
  readonly db: DatabasePool;
  readonly byKeyDb: DatabasePool;
  readonly queueDb: DatabasePool;
  readonly vaultDb: DatabasePool;
}

export interface Laboratory {
  readonly service: TestService;
  /** The companies of a schedule begin on the first, which has the control plane. */
  readonly shards: readonly [LaboratoryShard, LaboratoryShard];
  /** The clock of the service, the vault and the processors. */
  readonly clock: { nowMs: () => number };
  /** For files of a schedule. */
  readonly folder: string;
  /** Sets all clocks to the start of the next schedule. */
  begin(): Promise<void>;
  setDatabaseClock(nowMs: number): Promise<void>;
  /** Returns how many statements wait for a lock that another step must free. */
  blocked(): Promise<number>;
  openMerchant(kinds: KindPair): Promise<Merchant>;
  snapshot(companyId: string): Promise<Snapshot>;
  restore(companyId: string, snapshot: Snapshot): Promise<void>;
  /** Copies the rows of companies to the second shard, as replication does. */
  copyRows(companyIds: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

export type KindPair = readonly [KindName, KindName];

// The functions of this schema take precedence over those of PostgreSQL, so now() is the clock of the schedule. It
// stands still between two steps.
const clockStatements = `
  CREATE SCHEMA moved;
  CREATE TABLE moved.clock (now_ms bigint NOT NULL);
  INSERT INTO moved.clock VALUES (0);
  CREATE FUNCTION moved.now() RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT timestamptz 'epoch' + (SELECT now_ms FROM moved.clock) * interval '1 ms' $$;
  GRANT USAGE ON SCHEMA moved TO PUBLIC;
  GRANT SELECT ON moved.clock TO PUBLIC;
  DO $$ DECLARE found record; BEGIN
    FOR found IN SELECT a.attrelid::regclass AS place, a.attname AS name, pg_get_expr(d.adbin, d.adrelid) AS value
      FROM pg_attrdef d
      JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
      JOIN pg_class c ON c.oid = a.attrelid AND NOT c.relispartition
      WHERE pg_get_expr(d.adbin, d.adrelid) ~ '\\mnow\\(\\)' AND a.attgenerated = '' LOOP
      EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s', found.place, found.name,
        replace(found.value, 'now()', 'moved.now()'));
    END LOOP;
  END $$;`;

/**
 * The merchants of earlier schedules are removed. A watch would find their transactions missing, take the database for
 * restored and stop all billing.
 */
const unwatched = restoresWith();

/** PostgreSQL looks for deadlocks after this wait. Until then a statement that waits may still be ended. */
const deadlockMs = 5;

/** Creates a database whose clock is set by `setDatabaseClock`. */
async function databaseWithClock(): Promise<TestDatabase> {
  const database = await cloneDatabase(1);
  const owner = new pg.Client({ connectionString: database.connectionString });
  await owner.connect();
  try {
    const name = owner.escapeIdentifier(owner.database ?? '');
    await owner.query(clockStatements);
    await owner.query(`ALTER DATABASE ${name} SET search_path = moved, pg_catalog, public`);
    await owner.query(`ALTER DATABASE ${name} SET deadlock_timeout = ${deadlockMs}`);
  } finally {
    await owner.end();
  }
  return database;
}

interface CompanyTable {
  readonly name: string;
  readonly columns: string;
  /** SQL that is true for the rows of the company $1. */
  readonly isOf: string;
}

/** The tables of a backup. What a shard knows of its restores is in it, too. */
const findTables = (db: DatabasePool): Promise<CompanyTable[]> =>
  db.query<CompanyTable>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name, string_agg(format('%I', a.attname), ', ' ORDER BY a.attnum) AS columns,
       CASE c.relname WHEN 'companies' THEN 'id = $1' WHEN 'restores' THEN '$1::uuid IS NOT NULL' ELSE 'company_id = $1' END AS "isOf"
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
     WHERE n.nspname IN ('public', 'vault') AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND (
       c.relname IN ('companies', 'restores') OR EXISTS (
         SELECT 1 FROM pg_attribute k WHERE k.attrelid = c.oid AND k.attname = 'company_id' AND NOT k.attisdropped))
     GROUP BY n.nspname, c.relname ORDER BY 1`,
  );

/** One call takes a tenth of the time of a call for each table. Foreign keys and triggers do not count. */
const removeFunction = (tables: readonly CompanyTable[]): string => `
  CREATE FUNCTION moved.remove(uuid) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    PERFORM set_config('session_replication_role', 'replica', true);
    ${tables.map(({ name, isOf }) => `DELETE FROM ${name} WHERE ${isOf};`).join('\n')}
  END $$`;

/** What a move does not copy: the directory, and what a shard knows of moves and restores. */
const staying = ['public.company_shards', 'public.company_fences', 'public.companies', 'public.restores'];

export async function openLaboratory(): Promise<Laboratory> {
  const clock = { nowMs: () => firstStartMs };
  const databases = await Promise.all([databaseWithClock(), databaseWithClock()]);
  const [database] = databases;
  const service = await startTestService({ database, clock, restores: unwatched });
  let startMs = firstStartMs;
  const open = (connectionString: string, settings: Readonly<Record<string, string>> = {}): DatabasePool =>
    openDatabase({
      connectionString,
      poolSize: 20,
      applicationName: 'svc explorer',
      onError: () => undefined,
      statementTimeoutMs: patienceMs,
      settings,
    });
  const shards = databases.map(({ connectionString, apiUrl, vaultUrl }, index) => ({
    name: index === 0 ? 'a' : 'b',
    owner: open(connectionString),
    db: open(apiUrl),
    byKeyDb: open(apiUrl, byKeySettings),
    queueDb: open(apiUrl, queueSettings),
    vaultDb: open(vaultUrl),
  })) as unknown as readonly [LaboratoryShard, LaboratoryShard];
  const [first, second] = shards;
  const folder = await mkdtemp(join(tmpdir(), 'svc-explorer-'));
  const tables = await findTables(first.owner);
  await Promise.all(shards.map(({ owner }) => owner.query(removeFunction(tables))));

  /** Without foreign keys and triggers, like pg_restore. */
  async function replaceRows(
    { owner }: LaboratoryShard,
    companyId: string,
    snapshot: Snapshot,
    replaced: readonly CompanyTable[],
  ): Promise<void> {
    await owner.transaction(async (transaction) => {
      await transaction.query(`SET LOCAL session_replication_role = replica`);
      for (const { name, columns, isOf } of replaced) {
        await transaction.query(`DELETE FROM ${name} WHERE ${isOf}`, [companyId]);
        const rows = snapshot.get(name);
        if (!rows) continue;
        await transaction.query(
          `INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE
           SELECT ${columns} FROM json_populate_recordset(NULL::${name}, $1::json)`,
          [rows],
        );
      }
    });
  }

  async function rowsOf({ owner }: LaboratoryShard, companyId: string): Promise<Snapshot> {
    const rows = await Promise.all(
      tables.map(async ({ name, columns, isOf }): Promise<[string, string | null]> => {
        const [row] = await owner.query<{ rows: string | null }>(
          `SELECT json_agg(t)::text AS rows FROM (SELECT ${columns} FROM ${name} WHERE ${isOf}) t`,
          [companyId],
        );
        return [name, row?.rows ?? null];
      }),
    );
    return new Map(rows);
  }

  async function setDatabaseClock(nowMs: number): Promise<void> {
    await Promise.all(
      shards.map(({ owner }) => owner.query('UPDATE moved.clock SET now_ms = $1', [Math.round(nowMs)])),
    );
  }

  async function connect(companyId: string, processor: SimulatedProcessor): Promise<ConnectedProcessor> {
    const { kind, configuration, url } = processor;
    const { timeoutMs, requestLifeMs } = kindNamed(kind);
    const connection = { kind, configuration, timeoutMs, requestLifeMs, extraOrigins: [url] };
    return { ...processor, connectionId: await connectTo(service, companyId, connection) };
  }

  async function openMerchant(kinds: KindPair): Promise<Merchant> {
    const opened = await Promise.all(kinds.map((kind) => openProcessor(kind, folder, clock)));
    const { live, sandbox } = await service.createMerchant();
    const processors: ConnectedProcessor[] = [];
    for (const processor of opened) processors.push(await connect(live.id, processor));
    const company = { ...live, processor: 'connected' } as const;
    const key = await service.createKey(company);
    const urls = processors.map(({ url }) => url);
    const vaults = shards.map(({ vaultDb }) => localVault(vaultDb, service.keys, clock, urls)) as [Vault, Vault];
    const vaultOf = async (companyId: string): Promise<Vault> =>
      (await findShard(service.control, companyId)) === second.name ? vaults[1] : vaults[0];
    const companyIds = [live.id, sandbox.id] as const;
    return {
      company,
      companyIds,
      key,
      shop: await openShop(service, undefined, { key }),
      vault: shardedVault(vaultOf, () => vaults),
      processors: processors as [ConnectedProcessor, ConnectedProcessor],
      async remove() {
        await Promise.all(processors.map((processor) => processor.close()));
        for (const { owner } of shards) for (const id of companyIds) await owner.query('SELECT moved.remove($1)', [id]);
      },
    };
  }

  return {
    service,
    shards,
    openMerchant,
    clock,
    folder,
    setDatabaseClock,
    async begin() {
      startMs += betweenStartsMs;
      clock.nowMs = () => startMs;
      await setDatabaseClock(startMs);
      // The one table that machines write and that belongs to no merchant.
      for (const { owner } of shards) await owner.query('DELETE FROM workers');
    },
    blocked: async () => {
      const names = databases.map(({ connectionString }) => new URL(connectionString).pathname.slice(1));
      const [row] = await first.owner.query<{ count: number }>(
        `SELECT count(DISTINCT l.pid)::integer AS count FROM pg_locks l JOIN pg_stat_activity a USING (pid)
         WHERE a.datname = ANY($2) AND NOT l.granted
           AND l.waitstart < clock_timestamp() - $1 * interval '1 ms'`,
        [2 * deadlockMs, names],
      );
      return row?.count ?? 0;
    },
    snapshot: (companyId) => rowsOf(first, companyId),
    restore: (companyId, snapshot) => replaceRows(first, companyId, snapshot, tables),
    async copyRows(companyIds) {
      const moving = tables.filter(({ name }) => !staying.includes(name));
      for (const id of companyIds) await replaceRows(second, id, await rowsOf(first, id), moving);
    },
    async close() {
      for (const { owner, db, byKeyDb, queueDb, vaultDb } of shards)
        for (const pool of [owner, db, byKeyDb, queueDb, vaultDb]) await pool.close();
      await service.stop();
      for (const one of databases) await one.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
