import type { Database, Queryable } from '../../platform/database.ts';
import { anyRow } from '../../platform/sql.ts';
import { staysHere } from '../../shards/queries.ts';
import type { ExportedList } from './columns.ts';

export interface ExportRow {
  readonly company_id: string;
  readonly id: string;
  readonly member_id: string;
  readonly list: ExportedList;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly permissions: readonly string[];
  readonly state: 'running' | 'ready' | 'failed';
  readonly reason: string | null;
  readonly rows: number;
  readonly chunks: number;
  readonly after_id: string | null;
  readonly expires_at: Date;
}

const columns =
  'company_id, id, member_id, list, query, permissions, state, reason, rows, chunks, after_id, expires_at';

export type NewExport = Pick<ExportRow, 'company_id' | 'id' | 'member_id' | 'list' | 'query' | 'permissions'>;

/**
 * Returns undefined if the company has too many exports. If the member has too many, the oldest expire. The lock on the company
 * makes requests at the same time count one after another.
 */
export async function insertExport(
  db: Database,
  row: NewExport,
  max: { readonly ofCompany: number; readonly ofMember: number },
): Promise<ExportRow | undefined> {
  return db.transaction(async (transaction) => {
    await transaction.query('SELECT 1 FROM companies WHERE id = $1 FOR NO KEY UPDATE', [row.company_id]);
    await transaction.query(
      `UPDATE exports SET expires_at = now() WHERE (company_id, id) IN (
         SELECT company_id, id FROM exports WHERE company_id = $1 AND member_id = $2 AND expires_at > now()
         ORDER BY id DESC OFFSET $3)`,
      [row.company_id, row.member_id, max.ofMember - 1],
    );
    const [made] = await transaction.query<ExportRow>(
      `INSERT INTO exports (company_id, id, member_id, list, query, permissions)
       SELECT $1, $2, $3, $4, $5, $6
       WHERE (SELECT count(*) FROM exports WHERE company_id = $1 AND expires_at > now()) < $7
       RETURNING ${columns}`,
      [row.company_id, row.id, row.member_id, row.list, JSON.stringify(row.query), row.permissions, max.ofCompany],
    );
    return made;
  });
}

/** The exports of one member, newest first. */
export async function findExports(db: Queryable, companyId: string, memberId: string): Promise<ExportRow[]> {
  return db.query<ExportRow>(
    `SELECT ${columns} FROM exports WHERE company_id = $1 AND member_id = $2 AND expires_at > now() ORDER BY id DESC`,
    [companyId, memberId],
  );
}

export async function readChunks(
  db: Queryable,
  companyId: string,
  id: string,
  from: number,
  count: number,
): Promise<{ number: number; content: string }[]> {
  return db.query(
    `SELECT number, content FROM export_chunks WHERE company_id = $1 AND export_id = $2 AND number >= $3
     ORDER BY number LIMIT $4`,
    [companyId, id, from, count],
  );
}

/** Claims the export that waits longest. One whose process died is due again when its lease ends. */
export async function claimExport(db: Queryable, leaseSeconds: number): Promise<ExportRow | undefined> {
  const [row] = await db.query<ExportRow>(
    `UPDATE exports SET leased_until = now() + $1 * interval '1 s' WHERE (company_id, id) IN (
       SELECT company_id, id FROM exports
       WHERE state = 'running' AND leased_until <= now() AND expires_at > now() AND ${staysHere('company_id')}
       ORDER BY leased_until LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING ${columns}`,
    [leaseSeconds],
  );
  return row;
}

export interface Piece {
  /** One or more parts of limited size. */
  readonly contents: readonly string[];
  readonly rows: number;
  readonly afterId: string | null;
  readonly isLast: boolean;
}

/** Adds the next rows. Returns false if another process added them first, or if the export has expired. */
export async function addPieces(db: Queryable, { company_id, id, chunks }: ExportRow, piece: Piece): Promise<boolean> {
  const rows = await db.query(
    `WITH moved AS (
       UPDATE exports SET chunks = chunks + cardinality($4::text[]), rows = rows + $5, after_id = $6, state = CASE WHEN $7 THEN 'ready' ELSE state END,
         leased_until = CASE WHEN $7 THEN leased_until ELSE greatest(leased_until, now() + interval '30 s') END
       WHERE company_id = $1 AND id = $2 AND chunks = $3 AND state = 'running' AND expires_at > now() RETURNING 1)
     INSERT INTO export_chunks (company_id, export_id, number, content) 
     SELECT $1, $2, $3 + part.place - 1, part.content FROM moved, unnest($4::text[]) WITH ORDINALITY AS part (content, place) RETURNING 1`,
    [company_id, id, chunks, piece.contents, piece.rows, piece.afterId, piece.isLast],
  );
  return rows.length > 0;
}

/** Deletes an export for its member at once; its pieces are deleted later. Returns false if the member has no such export. */
export async function expireExport(db: Queryable, companyId: string, memberId: string, id: string): Promise<boolean> {
  const rows = await db.query(
    `UPDATE exports SET expires_at = now() WHERE company_id = $1 AND member_id = $2 AND id = $3 AND expires_at > now() RETURNING 1`,
    [companyId, memberId, id],
  );
  return rows.length > 0;
}

/** Its pieces are deleted later. */
export async function failExport(db: Queryable, { company_id, id }: ExportRow, reason: string): Promise<void> {
  await db.query(
    `UPDATE exports SET state = 'failed', reason = $3 WHERE company_id = $1 AND id = $2 AND state = 'running'`,
    [company_id, id, reason],
  );
}

/** Another worker continues it at once. */
export async function returnExport(db: Queryable, { company_id, id }: ExportRow): Promise<void> {
  await db.query(`UPDATE exports SET leased_until = now() WHERE company_id = $1 AND id = $2`, [company_id, id]);
}

const isOld = `e.expires_at <= now() AND ${staysHere('e.company_id')}`;

/** Deletes pieces of exports that expired or failed: so few that one statement takes a short time. */
export async function deleteOldPieces(db: Queryable, count: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM export_chunks WHERE (company_id, export_id, number) IN (
       SELECT c.company_id, c.export_id, c.number FROM (
         (SELECT e.company_id, e.id FROM exports e WHERE ${isOld} ORDER BY e.expires_at LIMIT $1)
         UNION
         (SELECT e.company_id, e.id FROM exports e
          WHERE e.state = 'failed' AND e.chunks > 0 AND ${staysHere('e.company_id')} LIMIT $1)) AS old
       JOIN export_chunks c ON c.company_id = old.company_id AND c.export_id = old.id
       LIMIT $1)
     RETURNING 1`,
    [count],
  );
  return rows.length;
}

const hasPieces = anyRow('export_chunks c WHERE c.company_id = e.company_id AND c.export_id = e.id');

/** Deletes expired exports whose pieces are deleted. */
export async function deleteOldExports(db: Queryable, count: number): Promise<number> {
  await db.query(
    `UPDATE exports e SET chunks = 0 WHERE e.state = 'failed' AND e.chunks > 0 AND ${staysHere('e.company_id')} AND NOT ${hasPieces}`,
  );
  const rows = await db.query(
    `DELETE FROM exports WHERE (company_id, id) IN (
       SELECT e.company_id, e.id FROM exports e WHERE ${isOld} AND NOT ${hasPieces}
       ORDER BY e.expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)
     RETURNING 1`,
    [count],
  );
  return rows.length;
}
