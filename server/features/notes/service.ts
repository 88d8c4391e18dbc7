import { ApiError, invalidField, notFound } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { deleteNote, findNotes, insertNote, type NoteRow, type NotedObject } from './queries.ts';
import type { Note, NoteCreate, NoteList } from './schemas.ts';

/** Notes of the team on customers and orders. */

const toWire = ({ id, text, author_id, author_name }: NoteRow): Note => ({
  id,
  text,
  author: { id: author_id, name: author_name },
  created_at: createdAt(id),
});

export async function getNotes(
  { db, company }: RequestContext,
  subject: NotedObject,
  objectId: string,
): Promise<NoteList> {
  const rows = await findNotes(db, company.id, subject, objectId, limits.notes);
  if (!rows) throw notFound(subject);
  return { data: rows.map(toWire) };
}

export async function addNote(
  { db, company, nowMs, caller }: RequestContext,
  subject: NotedObject,
  objectId: string,
  { text }: NoteCreate,
): Promise<Note> {
  if (!caller) throw new Error('a note has an author');
  if (text.trim() === '') throw invalidField('text', 'must not be empty');
  const note = { id: newId(nowMs), text, author_id: caller.id, author_name: caller.name };
  const added = await insertNote(db, company.id, subject, objectId, note, limits.notes);
  if (added === 'missing') throw notFound(subject);
  if (added === 'full') {
    throw new ApiError('invalid_request', `This ${subject} has ${limits.notes} notes. Delete one to add another.`);
  }
  return toWire(added);
}

export async function removeNote(
  { db, company }: RequestContext,
  subject: NotedObject,
  objectId: string,
  id: string,
): Promise<{ id: string; deleted: true }> {
  if (!(await deleteNote(db, company.id, subject, objectId, id))) throw notFound('note');
  return { id, deleted: true };
}
