import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';
import { namedTypes } from './queries.ts';

export const auditEntry = Type.Object({
  id: uuid(),
  action: Type.String({ description: 'The operation, for example `refundOrder`.' }),
  object_id: nullable(Type.String()),
  object: nullable(
    Type.Object(
      { type: choice(namedTypes), name: Type.String() },
      { description: 'The kind and name of the object, if it still exists and you can read it.' },
    ),
  ),
  actor: Type.Object({
    kind: choice(['key', 'member', 'operator']),
    id: nullable(uuid()),
    name: Type.String(),
  }),
  fields: Type.Array(Type.String(), { description: 'Names of the fields in the request.' }),
  address: Type.String(),
  request_id: Type.String(),
  created_at: timestamp(),
});
export type AuditEntry = Static<typeof auditEntry>;
