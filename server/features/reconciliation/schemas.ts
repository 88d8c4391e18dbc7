import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';

export const reconciliationState = Type.Object({
  restored_at: nullable(
    timestamp({ description: 'When the restored state was noticed; subscriptions are not billed while it is set.' }),
  ),
  data: Type.Array(
    Type.Object({
      reference: uuid(),
      kind: choice(['charge', 'refund', 'void']),
      amount: nullable(Type.Integer()),
      currency: nullable(Type.String()),
      card_last_four: nullable(Type.String()),
      processor_transaction_id: Type.String(),
      executed_at: timestamp(),
      order_id: nullable(uuid()),
      subscription_id: nullable(uuid()),
    }),
    { description: 'Operations that the processor executed and that our records do not have, newest first.' },
  ),
});
export type ReconciliationState = Static<typeof reconciliationState>;
