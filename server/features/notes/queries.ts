import type { Database, Queryable } from '../../platform/database.ts';

/** What a note can be about: the table of the object and the column that refers to it. */
const subjects = {
  customer: { table: 'customers', column: 'customer_id' },
  order: { table: 'orders', column: 'order_id' },
} as const;

export type NotedObject = keyof typeof subjects;

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
  subject: NotedObject,
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
 * Returns the note with the name of its author, or why it was not added. The lock of the object makes the limit hold
 * for notes at the same time. It is a statement of its own: a statement counts what was committed when it began,
 * which is before it waits for the lock.
 */
export async function insertNote(
  db: Database,
  companyId: string,
  subject: NotedObject,
  objectId: string,
  note: NoteRow,
  countMax: number,
): Promise<NoteRow | 'missing' | 'full'> {
  const { table, column } = subjects[subject];
  return db.transaction(async (transaction) => {
    const [object] = await transaction.query(
      `SELECT 1 FROM ${table} WHERE company_id = $1 AND id = $2 FOR NO KEY UPDATE`,
      [companyId, objectId],
    );
    if (!object) return 'missing';
    const [inserted] = await transaction.query<{ author_name: string }>(
      `INSERT INTO notes (company_id, id, ${column}, text, author_id, author_name)
       SELECT $1, $3, $2, $4, $5,
         coalesce((SELECT first_name || ' ' || last_name FROM team_members WHERE company_id = $1 AND id = $5), $6)
       WHERE $7 > (SELECT count(*) FROM notes WHERE company_id = $1 AND ${column} = $2) RETURNING author_name`,
      [companyId, objectId, note.id, note.text, note.author_id, note.author_name, countMax],
    );
    return inserted ? { ...note, author_name: inserted.author_name } : 'full';
  });
}

export async function deleteNote(
  db: Queryable,
  companyId: string,
  subject: NotedObject,
  objectId: string,
  id: string,
): Promise<boolean> {
  const rows = await db.query(
    `DELETE FROM notes WHERE company_id = $1 AND ${subjects[subject].column} = $2 AND id = $3 RETURNING 1`,
    [companyId, objectId, id],
  );
  return rows.length === 1;
}
