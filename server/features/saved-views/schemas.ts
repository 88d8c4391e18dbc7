import Type, { type Static } from 'typebox';
import { freeText, name, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';

const fields = {
  list: Type.String({
    description: 'The path of the list, for example `/v1/orders`.',
    maxLength: 100,
    pattern: '^/(?:v1|dashboard)/[a-z_]+$',
  }),
  name: name({ maxLength: limits.savedViewNameLength }),
  search: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: freeText(limits.searchLength),
    description: 'The filters and the order, as in the address of the page.',
  }),
};

export const savedViewCreate = Type.Object(fields, { additionalProperties: false, title: 'SavedViewCreate' });
export type SavedViewCreate = Static<typeof savedViewCreate>;

export const savedView = Type.Object({ id: uuid(), ...fields }, { title: 'SavedView' });
export type SavedView = Static<typeof savedView>;

export const savedViewList = Type.Object({ data: Type.Array(savedView) });
export const deletedView = Type.Object({ id: uuid(), deleted: Type.Literal(true) });
