import type { Queryable } from '../../platform/database.ts';

export interface EventRow {
  readonly company_id: string;
  readonly id: string;
  readonly type: string;
  readonly object_id: string;
  readonly sequence: number;
  readonly request_id: string | null;
  /** As the API shows it, in the latest version. */
  readonly object: object;
}

/** The columns of an event, for statements that insert it along with what it speaks of. */
export const eventColumns = 'company_id, id, type, object_id, sequence, request_id, object';
export const eventRecord =
  '(company_id uuid, id uuid, type text, object_id uuid, sequence integer, request_id text, object json)';

export async function insertEvents(db: Queryable, events: readonly EventRow[]): Promise<void> {
  await db.query(
    `INSERT INTO events (${eventColumns}) SELECT ${eventColumns} FROM json_to_recordset($1::json) AS e ${eventRecord}`,
    [JSON.stringify(events)],
  );
}
