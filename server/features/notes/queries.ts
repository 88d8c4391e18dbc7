import type { Queryable } from '../../platform/database.ts';

/** What a note can be about: the table of the object and the column that refers to it. */
const subjects = {
  customer: { table: 'customers', column: 'customer_id' },
  order: { table: 'orders', column: 'order_id' },
} as const;

export type Subject = keyof typeof subjects;

export interface NoteRow {
  readonly id: string;
  readonly text: string;
  readonly author_id: string;
  readonly author_name: string;
}

/** Undefined if the object does not exist; the newest first. */
export async function findNotes(
  db: Queryable,
  companyId: string,
  subject: Subject,
  objectId: string,
  count: number,
): Promise<NoteRow[] | undefined> {
  const { table, column } = subjects[subject];
  const rows = await db.query<{ [Name in keyof NoteRow]: NoteRow[Name] | null }>(
    `SELECT n.id, n.text, n.author_id, n.author_name FROM ${table} o LEFT JOIN LATERAL (
       SELECT id, text, author_id, author_name FROM notes WHERE company_id = $1 AND ${column} = $2 ORDER BY id DESC LIMIT $3
     ) n ON true WHERE o.company_id = $1 AND o.id = $2`,
    [companyId, objectId, count],
  );
  return rows.length === 0 ? undefined : rows.filter((row): row is NoteRow => row.id !== null);
}

/**
 * Returns the note with the name of its author, or why it was not added. The lock of the object makes the limit hold for notes at the
 * same time.
 */
export async function insertNote(
  db: Queryable,
  companyId: string,
  subject: Subject,
  objectId: string,
  note: NoteRow,
  countMax: number,
): Promise<NoteRow | 'missing' | 'full'> {
  const { table, column } = subjects[subject];
  const [row] = await db.query<{ found: boolean; author_name: string | null }>(
    `WITH object AS (SELECT id FROM ${table} WHERE company_id = $1 AND id = $2 FOR NO KEY UPDATE),
     inserted AS (
       INSERT INTO notes (company_id, id, ${column}, text, author_id, author_name)
       SELECT $1, $3, object.id, $4, $5,
         coalesce((SELECT first_name || ' ' || last_name FROM team_members WHERE company_id = $1 AND id = $5), $6) FROM object
       WHERE $7 > (SELECT count(*) FROM notes WHERE company_id = $1 AND ${column} = $2) RETURNING author_name
     )
     SELECT (SELECT count(*) FROM object) > 0 AS found, (SELECT author_name FROM inserted) AS author_name`,
    [companyId, objectId, note.id, note.text, note.author_id, note.author_name, countMax],
  );
  if (!row?.found) return 'missing';
  return row.author_name === null ? 'full' : { ...note, author_name: row.author_name };
}

export async function deleteNote(
  db: Queryable,
  companyId: string,
  subject: Subject,
  objectId: string,
  id: string,
): Promise<boolean> {
  const rows = await db.query(
    `DELETE FROM notes WHERE company_id = $1 AND ${subjects[subject].column} = $2 AND id = $3 RETURNING 1`,
    [companyId, objectId, id],
  );
  return rows.length === 1;
}
