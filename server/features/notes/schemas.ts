import Type, { type Static } from 'typebox';
import { freeText, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';

export const noteCreate = Type.Object({ text: freeText(limits.noteLength) }, { additionalProperties: false });
export type NoteCreate = Static<typeof noteCreate>;

export const note = Type.Object({
  id: uuid(),
  text: Type.String(),
  author: Type.Object({ id: uuid(), name: Type.String() }),
  created_at: timestamp(),
});
export type Note = Static<typeof note>;

export const noteList = Type.Object({ data: Type.Array(note) });
export type NoteList = Static<typeof noteList>;
