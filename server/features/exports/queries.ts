import type { Queryable } from '../../platform/database.ts';
import { isSettled } from '../../shards/queries.ts';
import type { ExportedList } from './columns.ts';

export interface ExportRow {
  readonly company_id: string;
  readonly id: string;
  readonly member_id: string;
  readonly list: ExportedList;
  readonly query: Readonly<Record<string, string>>;
  readonly state: 'running' | 'ready' | 'failed';
  readonly reason: string | null;
  readonly rows: number;
  readonly chunks: number;
  readonly after_id: string | null;
  readonly expires_at: Date;
}

const columns = 'company_id, id, member_id, list, query, state, reason, rows, chunks, after_id, expires_at';

/** Returns undefined if the company has too many exports. */
export async function insertExport(
  db: Queryable,
  row: Pick<ExportRow, 'company_id' | 'id' | 'member_id' | 'list' | 'query'>,
  countMax: number,
): Promise<ExportRow | undefined> {
  const [made] = await db.query<ExportRow>(
    `INSERT INTO exports (company_id, id, member_id, list, query)
     SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM exports WHERE company_id = $1 AND expires_at > now()) < $6
     RETURNING ${columns}`,
    [row.company_id, row.id, row.member_id, row.list, JSON.stringify(row.query), countMax],
  );
  return made;
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
       WHERE state = 'running' AND leased_until <= now() AND expires_at > now() AND ${isSettled('company_id')}
       ORDER BY leased_until LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING ${columns}`,
    [leaseSeconds],
  );
  return row;
}

export interface Piece {
  readonly content: string;
  readonly rows: number;
  readonly afterId: string | null;
  readonly isLast: boolean;
}

/** Adds the next piece. Returns false if another process added it first. */
export async function addPiece(db: Queryable, { company_id, id, chunks }: ExportRow, piece: Piece): Promise<boolean> {
  const rows = await db.query(
    `WITH moved AS (
       UPDATE exports SET chunks = chunks + 1, rows = rows + $5, after_id = $6, state = CASE WHEN $7 THEN 'ready' ELSE state END,
         leased_until = CASE WHEN $7 THEN leased_until ELSE greatest(leased_until, now() + interval '30 s') END
       WHERE company_id = $1 AND id = $2 AND chunks = $3 AND state = 'running' RETURNING 1)
     INSERT INTO export_chunks (company_id, export_id, number, content) SELECT $1, $2, $3, $4 FROM moved RETURNING 1`,
    [company_id, id, chunks, piece.content, piece.rows, piece.afterId, piece.isLast],
  );
  return rows.length === 1;
}

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

export async function deleteOldExports(db: Queryable, count: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM exports WHERE (company_id, id) IN (
       SELECT company_id, id FROM exports WHERE expires_at <= now() AND ${isSettled('company_id')}
       ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)
     RETURNING 1`,
    [count],
  );
  return rows.length;
}
