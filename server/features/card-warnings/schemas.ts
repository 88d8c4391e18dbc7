import Type, { type Static } from 'typebox';
import { timestamp } from '../../http/schemas.ts';

export const cardWarnings = Type.Object({
  data: Type.Array(
    Type.Object({
      operation: Type.String({ description: 'Method and path of the call, such as `POST /v1/customers`.' }),
      field: Type.String({ description: 'The name of the field. The value is not kept.' }),
      first_seen_at: timestamp(),
      last_seen_at: timestamp(),
    }),
  ),
});
export type CardWarnings = Static<typeof cardWarnings>;

export const cardWarningsDismiss = Type.Object(
  { seen_by: timestamp({ description: 'The last `last_seen_at` of the list: later ones stay.' }) },
  { additionalProperties: false },
);
