import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { foundTypes } from './queries.ts';
import { choice } from '../../platform/choice.ts';

const count = Type.Integer({ minimum: 0 });

export const statistics = Type.Object({
  currency: nullable(Type.String()),
  currencies: Type.Array(Type.String()),
  days: Type.Array(
    Type.Object({
      date: Type.String(),
      succeeded_count: count,
      failed_count: count,
      volume: Type.Integer(),
      refunded: Type.Integer(),
    }),
  ),
  totals: Type.Object({
    volume: Type.Integer(),
    refunded: Type.Integer(),
    succeeded_count: count,
    failed_count: count,
    active_subscriptions: nullable(count),
    past_due_subscriptions: nullable(count),
    new_customers: nullable(count),
  }),
  declines: Type.Array(Type.Object({ failure_code: Type.String(), count })),
});
export type Statistics = Static<typeof statistics>;

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
