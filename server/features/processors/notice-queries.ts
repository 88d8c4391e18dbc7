import type { Queryable } from '../../platform/database.ts';
import type { Notice, NoticeSubject } from '../../vault/processors/notices.ts';
import { staysHere } from '../../shards/queries.ts';

/** Notices of processors, which are kept before they are acknowledged. */

/** A worker that listens on this channel applies notices at once. */
export const noticesChannel = 'processor_notices';

interface NoticeKey {
  readonly company_id: string;
  readonly connection_id: string;
  readonly id: string;
}

export interface NoticeRow extends NoticeKey {
  readonly type: string;
  readonly about: NoticeSubject;
  readonly happened_at: Date;
  readonly tries: number;
}

/** A notice that was kept before is not kept again. */
export async function keepNotices(
  db: Queryable,
  { company_id, id: connectionId }: { readonly company_id: string; readonly id: string },
  notices: readonly Notice[],
): Promise<number> {
  const rows = await db.query(
    `WITH seen AS (
       UPDATE processor_connections SET notice_seen_at = now(), notice_refused_at = NULL, notice_refusal = NULL
       WHERE company_id = $1 AND id = $2 AND (notice_seen_at IS NULL OR notice_seen_at < now() - interval '1 minute'
         OR notice_refused_at IS NOT NULL)
     )
     INSERT INTO processor_notices (company_id, connection_id, id, type, about, happened_at)
     SELECT $1, $2, n.id, n.type, n.about, to_timestamp(n."atMs" / 1000.0)
     FROM json_to_recordset($3::json) AS n (id text, type text, about json, "atMs" bigint)
     ON CONFLICT DO NOTHING RETURNING pg_notify('${noticesChannel}', '')`,
    [company_id, connectionId, JSON.stringify(notices)],
  );
  return rows.length;
}

/** The merchant may have entered the wrong secret. Refused notices are many if they are forged, so few are written. */
export async function noteRefusal(
  db: Queryable,
  { company_id, id }: { readonly company_id: string; readonly id: string },
  reason: string,
): Promise<void> {
  await db.query(
    `UPDATE processor_connections SET notice_refused_at = now(), notice_refusal = $3 WHERE company_id = $1 AND id = $2
       AND (notice_refused_at IS NULL OR notice_refused_at < now() - interval '1 minute')`,
    [company_id, id, reason],
  );
}

/**
 * Claims notices that are due. If this process dies, the next try finds them again. The oldest by the processor's clock
 * come first.
 */
export async function claimNotices(db: Queryable, count: number, delaysMs: readonly number[]): Promise<NoticeRow[]> {
  return db.query<NoticeRow>(
    `WITH claimed AS (
       UPDATE processor_notices SET tries = tries + 1,
         next_try_at = now() + ($2::bigint[])[least(tries + 1, array_length($2::bigint[], 1))] * interval '1 ms'
       WHERE (company_id, connection_id, id) IN (
         SELECT company_id, connection_id, id FROM processor_notices
         WHERE applied_at IS NULL AND next_try_at <= now() AND ${staysHere('company_id')} ORDER BY next_try_at LIMIT $1 FOR UPDATE SKIP LOCKED
       ) RETURNING company_id, connection_id, id, type, about, happened_at, tries
     ) SELECT * FROM claimed ORDER BY happened_at`,
    [count, delaysMs],
  );
}

export async function markApplied(db: Queryable, notice: NoticeKey, result: string): Promise<void> {
  await db.query(
    `UPDATE processor_notices SET applied_at = now(), result = $4
     WHERE company_id = $1 AND connection_id = $2 AND id = $3`,
    [notice.company_id, notice.connection_id, notice.id, result],
  );
}

export async function markWaiting(db: Queryable, notice: NoticeKey, result: string): Promise<void> {
  await db.query(
    `UPDATE processor_notices SET result = $4
     WHERE company_id = $1 AND connection_id = $2 AND id = $3 AND applied_at IS NULL`,
    [notice.company_id, notice.connection_id, notice.id, result],
  );
}

/** Notices whose effect is long recorded. */
export async function deleteOldNotices(db: Queryable, days: number, count: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM processor_notices WHERE (company_id, connection_id, id) IN (
       SELECT company_id, connection_id, id FROM processor_notices
       WHERE applied_at < now() - $1 * interval '1 day' AND ${staysHere('company_id')} LIMIT $2
     ) RETURNING 1`,
    [days, count],
  );
  return rows.length;
}

export interface PolledConnection {
  readonly company_id: string;
  readonly id: string;
  readonly poll_cursor: string | null;
}

/** Claims the connections that are due to be asked for notices. */
export async function claimPolls(db: Queryable, everyMs: number, count: number): Promise<PolledConnection[]> {
  return db.query<PolledConnection>(
    `UPDATE processor_connections SET polled_at = now() WHERE (company_id, id) IN (
       SELECT company_id, id FROM processor_connections
       WHERE removed_at IS NULL AND ${staysHere('company_id')} AND (polled_at IS NULL OR polled_at < now() - $1 * interval '1 ms')
       ORDER BY polled_at NULLS FIRST LIMIT $2 FOR UPDATE SKIP LOCKED
     ) RETURNING company_id, id, poll_cursor`,
    [everyMs, count],
  );
}

export async function savePollCursor(db: Queryable, companyId: string, id: string, cursor: string): Promise<void> {
  await db.query('UPDATE processor_connections SET poll_cursor = $3 WHERE company_id = $1 AND id = $2', [
    companyId,
    id,
    cursor,
  ]);
}
