import Type, { type Static } from 'typebox';
import { timestamp } from '../../http/schemas.ts';

export const cardWarnings = Type.Object({
  data: Type.Array(
    Type.Object({
      operation: Type.String({ description: 'Method and path of the request, for example `POST /v1/customers`.' }),
      field: Type.String({ description: 'The name of the field. The value is not stored.' }),
      first_seen_at: timestamp(),
      last_seen_at: timestamp(),
    }),
  ),
});
export type CardWarnings = Static<typeof cardWarnings>;

export const cardWarningsDismiss = Type.Object(
  { seen_by: timestamp({ description: 'The latest `last_seen_at` of the list. Later warnings stay.' }) },
  { additionalProperties: false },
);
