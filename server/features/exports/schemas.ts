import Type, { type Static } from 'typebox';
import { line, nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';
import { exportedLists } from './columns.ts';

const list = choice(exportedLists);

export const exportCreate = Type.Object(
  {
    list,
    query: Type.Optional(
      line({
        maxLength: limits.urlLength,
        description: 'The filters and the order of the list, as in its address.',
        examples: ['status=failed&currency=usd'],
      }),
    ),
  },
  { additionalProperties: false, title: 'ExportCreate' },
);
export type ExportCreate = Static<typeof exportCreate>;

export const deletedExport = Type.Object({ id: uuid(), deleted: Type.Literal(true) });

export const exported = Type.Object(
  {
    id: uuid(),
    list,
    status: choice(['running', 'ready', 'failed']),
    rows: Type.Integer({ description: 'Rows that are written so far.' }),
    reason: nullable(Type.String({ description: 'Why it failed.' })),
    created_at: timestamp(),
    expires_at: timestamp({ description: 'When it is deleted.' }),
  },
  { title: 'Export' },
);
export type Export = Static<typeof exported>;

export const exportList = Type.Object({ data: Type.Array(exported) }, { title: 'ExportList' });

export const exportContent = Type.Object(
  {
    data: Type.Array(Type.String({ description: 'CSV text.' })),
    next: nullable(Type.Integer({ description: 'Send this as `from` to get the next pieces.' })),
  },
  { title: 'ExportContent' },
);
