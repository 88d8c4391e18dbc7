import Type from 'typebox';
import { uuid } from '../../http/schemas.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { note, noteCreate, noteList } from './schemas.ts';
import { addNote, getNotes, removeNote } from './service.ts';

const objects = [
  { subject: 'customer', name: 'Customer', read: 'customers:read', write: 'customers:write' },
  { subject: 'order', name: 'Order', read: 'orders:read', write: 'orders:write' },
] as const;

const common = { tag: 'Notes', resource: 'note' } as const;
const deleted = Type.Object({ id: uuid(), deleted: Type.Literal(true) });

/** Used only by the dashboard. A note needs the permission to change what it is about. */
export function noteRoutes(): Route[] {
  return objects.flatMap(({ subject, name, read, write }) => {
    const path = `/dashboard/${subject}s/:id/notes` as const;
    const writes = { permission: write, category: 'write', idempotency: 'optional' } as const;
    return [
      defineRoute({
        ...common,
        method: 'GET',
        path,
        operationId: `list${name}Notes`,
        summary: `List the notes on a ${subject}`,
        permission: read,
        category: 'read',
        idempotency: 'none',
        success: { status: 200, schema: noteList, shape: 'other' },
        errors: ['resource_not_found'],
        handle: ({ context, params }) => getNotes(context, subject, params.id ?? ''),
      }),
      defineRoute({
        ...common,
        ...writes,
        method: 'POST',
        path,
        operationId: `create${name}Note`,
        summary: `Add a note to a ${subject}`,
        body: noteCreate,
        success: { status: 201, schema: note, shape: 'other' },
        errors: ['resource_not_found', 'invalid_request'],
        handle: ({ context, params, body }) => addNote(context, subject, params.id ?? '', body),
      }),
      defineRoute({
        ...common,
        ...writes,
        method: 'DELETE',
        path: `${path}/:note_id`,
        operationId: `delete${name}Note`,
        summary: `Delete a note on a ${subject}`,
        success: { status: 200, schema: deleted, shape: 'other' },
        errors: ['resource_not_found'],
        handle: ({ context, params }) => removeNote(context, subject, params.id ?? '', params.note_id ?? ''),
      }),
    ];
  });
}
