import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { foundTypes } from './queries.ts';
import { choice } from '../../platform/choice.ts';

const count = Type.Integer({ minimum: 0 });

export const inDoubt = Type.Object({
  data: Type.Array(
    Type.Object({
      transaction_id: uuid(),
      order_id: uuid(),
      type: Type.String(),
      amount: Type.Integer(),
      currency: Type.String(),
      since: timestamp(),
      age_seconds: count,
      checks: count,
      next_check_at: timestamp(),
    }),
  ),
});
export type InDoubt = Static<typeof inDoubt>;

export const waitingCharges = Type.Object({
  data: Type.Array(
    Type.Object({
      transaction_id: uuid(),
      order_id: uuid(),
      amount: Type.Integer(),
      currency: Type.String(),
      waits_for: nullable(choice(['service', 'credentials', 'connection', 'processor'])),
      next_attempt_at: nullable(timestamp({ description: 'When the service sends it again. Null for a request.' })),
      fails_at: nullable(timestamp({ description: 'When it fails, unless the request is repeated before.' })),
    }),
  ),
});
export type WaitingCharges = Static<typeof waitingCharges>;

export const found = Type.Object({
  data: Type.Array(
    Type.Object({
      type: choice(foundTypes),
      id: Type.String(),
      title: Type.String(),
      subtitle: Type.String(),
    }),
  ),
});
export type Found = Static<typeof found>;
