import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';

const amount = Type.Integer({ minimum: 1, maximum: limits.orderTotalCentsMax });
const currency = Type.String({ format: 'currency', examples: ['usd'] });
const total = Type.Object({ currency, amount }, { additionalProperties: false });

export const bulkRefundCreate = Type.Object(
  {
    orders: Type.Array(
      Type.Object(
        {
          order_id: uuid(),
          amount: Type.Integer({ ...amount, description: 'The remaining balance, as it was shown.' }),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: limits.bulkRefundOrders },
    ),
    totals: Type.Array(total, {
      minItems: 1,
      maxItems: limits.bulkRefundOrders,
      description: 'The sum of each currency, as it was confirmed.',
    }),
  },
  { additionalProperties: false, title: 'BulkRefundCreate' },
);
export type BulkRefundCreate = Static<typeof bulkRefundCreate>;

export const bulkRefund = Type.Object(
  {
    id: uuid(),
    status: choice(['in_progress', 'completed']),
    totals: Type.Array(
      Type.Object({ currency, amount, refunded: Type.Integer(), refused: Type.Integer() }, { title: 'BulkTotal' }),
    ),
    orders: Type.Array(
      Type.Object(
        {
          order_id: uuid(),
          order_number: Type.String(),
          amount,
          currency,
          status: choice(['waiting', 'refunded', 'refused'], {
            description:
              '`refunded` as soon as the processor accepts the refund, like the order itself. If the processor rejects it later, `refused`.',
          }),
          reason: nullable(Type.String()),
        },
        { title: 'BulkRefundOrder' },
      ),
    ),
    created_at: timestamp(),
  },
  { title: 'BulkRefund' },
);
export type BulkRefund = Static<typeof bulkRefund>;
