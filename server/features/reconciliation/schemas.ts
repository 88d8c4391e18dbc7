import { operationKinds } from '../../vault/processors/processor.ts';
import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';

export const reconciliationState = Type.Object({
  restored_at: nullable(
    timestamp({
      description:
        'Since when requests that move money are closed, or only renewals wait, after a restore from a backup.',
    }),
  ),
  waits_for: nullable(
    choice(['comparison', 'second_list', 'processor', 'connection', 'operator'], {
      description: 'What has to happen before they continue.',
    }),
  ),
  data: Type.Array(
    Type.Object({
      reference: uuid(),
      kind: choice(operationKinds),
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
