import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';
import { intervals } from './period.ts';

const date = (): ReturnType<typeof Type.String> => Type.String({ format: 'date' });
const number = nullable(Type.Number());

const figure = Type.Object(
  {
    value: number,
    previous: number,
    series: Type.Array(number, { description: 'One value for each bucket.' }),
    previous_series: Type.Array(number),
  },
  { title: 'Figure' },
);
export type Figure = Static<typeof figure>;

/** Amounts are in the smallest unit of the currency. Rates are parts of 1. */
export const figureNames = [
  'gross_volume',
  'net_volume',
  'refunded',
  'disputed',
  'payments',
  'failed_payments',
  'success_rate',
  'average_order',
  'mrr',
  'new_mrr',
  'expansion',
  'contraction',
  'churned_mrr',
  'active_subscribers',
  'churn',
  'new_customers',
] as const;
export type FigureName = (typeof figureNames)[number];

const bucket = { from: date(), to: date() };

export const statistics = Type.Object({
  time_zone: Type.String(),
  now: timestamp({ description: 'By the clock of the company.' }),
  from: date(),
  to: date(),
  previous_from: date(),
  previous_to: date(),
  interval: choice(intervals),
  intervals: Type.Array(choice(intervals)),
  currency: nullable(Type.String()),
  currencies: Type.Array(Type.String()),
  buckets: Type.Array(
    Type.Object({ ...bucket, unfinished: Type.Boolean({ description: 'Whether it contains today.' }) }),
  ),
  previous_buckets: Type.Array(Type.Object(bucket)),
  figures: Type.Object(Object.fromEntries(figureNames.map((name) => [name, nullable(figure)])) as never, {
    description: 'A figure that the member may not read is null.',
  }),
  declines: nullable(
    Type.Array(
      Type.Object({
        failure_code: Type.String(),
        count: Type.Integer({ minimum: 0 }),
        previous: Type.Integer({ minimum: 0 }),
      }),
    ),
  ),
});
export type Statistics = Omit<Static<typeof statistics>, 'figures'> & {
  figures: Record<FigureName, Figure | null>;
};

const attentionKinds = [
  'agents_asking',
  'disputes_due',
  'authorizations_ending',
  'chargebacks_unmatched',
  'payments_in_doubt',
  'processors_refusing',
  'processors_rejecting',
  'processors_wanting_codes',
  'renewals_waiting',
  'notices_refused',
  'processors_unlinked',
  'processors_failing',
  'endpoints_disabled',
  'endpoints_failing',
  'subscriptions_past_due',
  'cards_expiring',
] as const;

export const attention = Type.Object({
  data: Type.Array(
    Type.Object({
      kind: choice(attentionKinds),
      count: Type.Integer({ minimum: 1 }),
      has_more: Type.Boolean({ description: 'Whether there are more than `count`.' }),
      since: nullable(timestamp({ description: 'Since when, or the next deadline of disputes.' })),
      object_id: nullable(Type.String({ description: 'The object, if there is only one.' })),
    }),
  ),
});
export type Attention = Static<typeof attention>;

const count = Type.Integer({ minimum: 0 });

export const customerValue = Type.Object({
  spend: nullable(
    Type.Array(
      Type.Object({
        currency: Type.String(),
        gross: Type.Integer(),
        refunded: Type.Integer(),
        payments: count,
        failed_payments: count,
      }),
    ),
  ),
  is_partial: Type.Boolean({ description: 'Whether older transactions are left out, because there are too many.' }),
  last_order: nullable(Type.Object({ id: uuid(), order_number: Type.String(), created_at: timestamp() })),
  mrr: nullable(Type.Array(Type.Object({ currency: Type.String(), mrr: Type.Integer() }))),
});
export type CustomerValue = Static<typeof customerValue>;

export const customerSummaries = Type.Object({
  data: Type.Array(
    Type.Object({
      customer_id: uuid(),
      orders: count,
      spend: Type.Array(
        Type.Object({ currency: Type.String(), amount: Type.Integer({ description: 'After refunds.' }) }),
      ),
      is_partial: Type.Boolean({ description: 'Whether older orders are left out, because there are too many.' }),
      last_order_at: nullable(timestamp()),
    }),
  ),
});
export type CustomerSummaries = Static<typeof customerSummaries>;
