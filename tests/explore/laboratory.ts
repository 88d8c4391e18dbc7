import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { restoresWith } from '../support/restores.ts';
import { type DatabasePool, openDatabase } from '../../server/platform/database.ts';
import { byKeySettings, queueSettings } from '../../server/platform/database-settings.ts';
import { Secret } from '../../server/platform/secret.ts';
import type { Operation } from '../../server/vault/processors/acquirer/protocol.ts';
import { openSimulator } from '../../simulators/acquirer/simulator.ts';
import { connectAcquirer } from '../support/connect.ts';
import { localVault, type Vault } from '../../server/vault/vault.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { openShop, type Shop } from '../support/orders.ts';
import { startTestService, type TestService } from '../support/service.ts';
import type { Company } from '../../server/company.ts';

/**
 * The parts that all schedules of a run share: a database whose clock can be set, and connections to it. Each
 * schedule has its own merchant and acquirer.
 */

const requestLifeMs = 60_000;
/** When the first schedule starts. A fixed time: the month and the hour decide what renewals do. */
const firstStartMs = Date.UTC(2027, 0, 5, 6);
/** Each schedule starts later than the one before, so that their ids do not share the counter of a millisecond. */
const betweenStartsMs = 1_000;
/** No schedule takes this long. Real time must not end a statement that waits for a lock. */
const patienceMs = 600_000;
const secret = 'secret of the acquirer';

/** Rows of one merchant, by table. */
export type Snapshot = ReadonlyMap<string, string | null>;

export interface Merchant {
  readonly company: Company;
  readonly connectionId: string;
  readonly key: string;
  readonly shop: Shop;
  readonly vault: Vault;
  journal(): Promise<Operation[]>;
  /** Declines the next charges. */
  decline(count: number): Promise<void>;
  remove(): Promise<void>;
}

export interface Laboratory {
  readonly service: TestService;
  readonly db: DatabasePool;
  readonly byKeyDb: DatabasePool;
  readonly queueDb: DatabasePool;
  /** The clock of the service, the vault and the acquirer. */
  readonly clock: { nowMs: () => number };
  /** Sets all clocks to the start of the next schedule. */
  begin(): Promise<void>;
  setDatabaseClock(nowMs: number): Promise<void>;
  /** Returns how many statements wait for a lock that another step must free. */
  blocked(): Promise<number>;
  openMerchant(): Promise<Merchant>;
  snapshot(companyId: string): Promise<Snapshot>;
  restore(companyId: string, snapshot: Snapshot): Promise<void>;
  close(): Promise<void>;
}

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
    FOR found IN SELECT a.attrelid::regclass AS place, a.attname AS name FROM pg_attrdef d
      JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
      JOIN pg_class c ON c.oid = a.attrelid AND NOT c.relispartition
      WHERE pg_get_expr(d.adbin, d.adrelid) = 'now()' AND a.attgenerated = '' LOOP
      EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT moved.now()', found.place, found.name);
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
  const database = await cloneDatabase();
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

export async function openLaboratory(): Promise<Laboratory> {
  const clock = { nowMs: () => firstStartMs };
  const database = await databaseWithClock();
  const service = await startTestService({ database, clock, restores: unwatched });
  let startMs = firstStartMs;
  const open = (settings: Readonly<Record<string, string>>): DatabasePool =>
    openDatabase({
      connectionString: database.apiUrl,
      poolSize: 20,
      applicationName: 'svc explorer',
      onError: () => undefined,
      statementTimeoutMs: patienceMs,
      settings,
    });
  const pools = [open({}), open(byKeySettings), open(queueSettings)] as const;
  const [db, byKeyDb, queueDb] = pools;
  const folder = await mkdtemp(join(tmpdir(), 'svc-explorer-'));

  const tables = await service.db.query<{ name: string; columns: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name, string_agg(format('%I', a.attname), ', ' ORDER BY a.attnum) AS columns
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
     WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND EXISTS (
       SELECT 1 FROM pg_attribute k WHERE k.attrelid = c.oid AND k.attname = 'company_id' AND NOT k.attisdropped)
     GROUP BY 1 ORDER BY 1`,
  );

  /** Without foreign keys and triggers, like pg_restore. */
  async function replaceRows(companyId: string, snapshot: Snapshot): Promise<void> {
    await service.db.transaction(async (transaction) => {
      await transaction.query(`SET LOCAL session_replication_role = replica`);
      for (const { name, columns } of tables) {
        await transaction.query(`DELETE FROM ${name} WHERE company_id = $1`, [companyId]);
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

  async function setDatabaseClock(nowMs: number): Promise<void> {
    await service.db.query('UPDATE moved.clock SET now_ms = $1', [Math.round(nowMs)]);
  }

  async function openMerchant(): Promise<Merchant> {
    const journalFile = join(folder, randomUUID());
    const simulator = await openSimulator({
      journalFile,
      secret: new Secret(secret),
      clock,
      settleAfterMs: 0,
      requestLifeMs,
    });
    const url = await listen(simulator);
    const { live } = await service.createMerchant();
    const timing = { timeoutMs: requestLifeMs / 2, requestLifeMs };
    const connectionId = await connectAcquirer(service, live.id, { url, secret, ...timing });
    const company = { ...live, processor: 'connected' } as const;
    const key = await service.createKey(company);
    const ask = async (path: string, body?: object): Promise<{ operations: Operation[] }> => {
      const response = await fetch(url + path, {
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
        headers: { authorization: `Bearer ${secret}` },
      });
      if (!response.ok) throw new Error(`the acquirer answered ${response.status}`);
      return (await response.json()) as { operations: Operation[] };
    };
    return {
      company,
      connectionId,
      key,
      shop: await openShop(service, undefined, { key }),
      vault: localVault(service.vaultDb, service.keys, clock),
      journal: async () => (await ask('/journal')).operations,
      decline: async (count) => {
        await ask('/control', { next: Array.from({ length: count }, () => 'decline:51') });
      },
      async remove() {
        simulator.close();
        simulator.closeAllConnections();
        await replaceRows(company.id, new Map());
        await rm(journalFile, { force: true });
      },
    };
  }

  return {
    service,
    db,
    byKeyDb,
    queueDb,
    openMerchant,
    clock,
    setDatabaseClock,
    async begin() {
      startMs += betweenStartsMs;
      clock.nowMs = () => startMs;
      await setDatabaseClock(startMs);
      // The one table that machines write and that belongs to no merchant.
      await service.db.query('DELETE FROM workers');
    },
    blocked: async () => {
      const [row] = await service.db.query<{ count: number }>(
        `SELECT count(DISTINCT l.pid)::integer AS count FROM pg_locks l JOIN pg_stat_activity a USING (pid)
         WHERE a.datname = current_database() AND NOT l.granted
           AND l.waitstart < clock_timestamp() - $1 * interval '1 ms'`,
        [2 * deadlockMs],
      );
      return row?.count ?? 0;
    },
    async snapshot(companyId) {
      const rows = await Promise.all(
        tables.map(async ({ name, columns }): Promise<[string, string | null]> => {
          const [row] = await service.db.query<{ rows: string | null }>(
            `SELECT json_agg(t)::text AS rows FROM (SELECT ${columns} FROM ${name} WHERE company_id = $1) t`,
            [companyId],
          );
          return [name, row?.rows ?? null];
        }),
      );
      return new Map(rows);
    },
    restore: replaceRows,
    async close() {
      for (const pool of pools) await pool.close();
      await service.stop();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function listen(server: Server): Promise<string> {
  // The server never closes a connection that a request may be about to use.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
