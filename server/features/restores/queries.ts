import type { Queryable } from '../../platform/database.ts';
import { staysHere } from '../../shards/queries.ts';
import { closingParts, timeOfId } from './gate-queries.ts';
import type { MarkedConnection } from './high-water-mark.ts';

type NoticedBy = 'operator' | 'high_water_mark' | 'earlier_result';

export interface Restore {
  readonly id: string;
  readonly noticed_at: Date;
  readonly noticed_by: NoticedBy;
  readonly detail: string;
  readonly books_until: Date | null;
}

export interface NewRestore {
  readonly id: string;
  readonly noticedBy: NoticedBy;
  readonly detail: string;
  /** The smallest id of the time at which a transaction is known to be missing. */
  readonly beforeId: string;
  /**
   * The time of the missing transaction: the restore is not recorded again if a later one is known. The clock of a new
   * server may be behind that time, which then is the time of the restore.
   */
  readonly unlessNoticedSince?: Date;
}

/**
 * Records a restore of the shard, and closes the gates of its companies with processors in the same statement. Returns false if the
 * restore is already known. If an earlier one is not reconciled, the backup was perhaps made in that state: what is missing
 * now is newer, so the time counts again.
 */
export async function insertRestore(db: Queryable, restore: NewRestore): Promise<boolean> {
  const [row] = await db.query<{ is_new: boolean }>(
    `WITH noticed AS (
     INSERT INTO restores (id, noticed_at, noticed_by, detail, books_until)
     SELECT $1, greatest(now(), $5), $2, $3, (
       SELECT ${timeOfId('max(latest.id::text)')}
       FROM companies c CROSS JOIN LATERAL (
         SELECT t.id FROM transactions t WHERE t.company_id = c.id AND t.id < $4 ORDER BY t.id DESC LIMIT 1
       ) latest WHERE c.mode <> 'sandbox')
     WHERE NOT EXISTS (SELECT 1 FROM restores WHERE noticed_at >= $5)
     ON CONFLICT ((reconciled_at IS NULL)) WHERE reconciled_at IS NULL DO UPDATE SET id = excluded.id,
       noticed_at = excluded.noticed_at, noticed_by = excluded.noticed_by, detail = excluded.detail,
       books_until = CASE WHEN restores.books_until < excluded.books_until THEN restores.books_until
         WHEN restores.books_until IS NOT NULL THEN excluded.books_until END
     RETURNING id, noticed_by, detail, books_until, xmax = 0 OR noticed_by <> 'operator' AS is_new
     ), ${closingParts('noticed', 'true')}
     SELECT is_new FROM noticed`,
    [restore.id, restore.noticedBy, restore.detail, restore.beforeId, restore.unlessNoticedSince ?? null],
  );
  return row?.is_new ?? false;
}

const columns = 'id, noticed_at, noticed_by, detail, books_until';

/** Returns the restore that is not reconciled. */
export async function findRestore(db: Queryable): Promise<Restore | undefined> {
  const [row] = await db.query<Restore>(`SELECT ${columns} FROM restores WHERE reconciled_at IS NULL`);
  return row;
}

/**
 * Returns whether the database is restored and not reconciled, and whether a recorded transaction is missing; those of a
 * company that left are on another shard.
 */
export async function readState(
  db: Queryable,
  mark: { readonly companyId: string; readonly transactionId: string } | undefined,
): Promise<{ readonly restored: boolean; readonly missing: boolean }> {
  const [row] = await db.query<{ restored: boolean; missing: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM restores WHERE reconciled_at IS NULL) AS restored,
       $1::uuid IS NOT NULL AND ${staysHere('$1')}
         AND NOT EXISTS (SELECT 1 FROM transactions WHERE company_id = $1 AND id = $2) AS missing`,
    [mark?.companyId ?? null, mark?.transactionId ?? null],
  );
  return row ?? { restored: false, missing: false };
}

export async function findInstallation(db: Queryable): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>('SELECT id FROM installation');
  return row?.id;
}

/** A backup is not older than this, and a file not larger than the newest of this number of connections. */
const connectionDays = 35;
const connectionsMax = 10_000;

/** The connections that were made lately, newest first. */
export async function findNewConnections(db: Queryable): Promise<MarkedConnection[]> {
  return db.query<MarkedConnection>(
    `SELECT company_id, id, kind, account_id AS account FROM processor_connections
     WHERE removed_at IS NULL AND created_at > now() - $1 * interval '1 day' ORDER BY created_at DESC, id LIMIT $2`,
    [connectionDays, connectionsMax],
  );
}

/** Returns those that the database does not have. The companies that left are on another shard. */
export async function findLost(db: Queryable, marked: readonly MarkedConnection[]): Promise<MarkedConnection[]> {
  if (marked.length === 0) return [];
  return db.query<MarkedConnection>(
    `SELECT m.* FROM json_to_recordset($1::json) AS m (company_id uuid, id uuid, kind text, account text)
     JOIN companies c ON c.id = m.company_id AND ${staysHere('c.id')}
     WHERE NOT EXISTS (SELECT 1 FROM processor_connections p WHERE p.company_id = m.company_id AND p.id = m.id)`,
    [JSON.stringify(marked)],
  );
}

/** Keeps the companies closed until these connections are connected again. */
export async function keepLost(db: Queryable, lost: readonly MarkedConnection[]): Promise<void> {
  await db.query(
    `WITH restore AS (SELECT * FROM restores WHERE reconciled_at IS NULL), lost AS (
       SELECT company_id, jsonb_agg(jsonb_build_object('id', id, 'kind', kind, 'account', account)) AS connections
       FROM json_to_recordset($1::json) AS m (company_id uuid, id uuid, kind text, account text) GROUP BY 1
     ), gated AS (
       INSERT INTO company_gates AS g
         (company_id, restore_id, noticed_by, detail, books_until, lost_connections)
       SELECT l.company_id, r.id, r.noticed_by, r.detail, r.books_until, l.connections FROM lost l, restore r
       ON CONFLICT (company_id) DO UPDATE SET lost_connections = g.lost_connections || excluded.lost_connections,
         next_compare_at = now()
         WHERE g.opened_at IS NULL AND NOT g.lost_connections @> excluded.lost_connections
       RETURNING company_id
     )
     UPDATE companies c SET gate = 'closed' FROM gated WHERE c.id = gated.company_id`,
    [JSON.stringify(lost)],
  );
}
