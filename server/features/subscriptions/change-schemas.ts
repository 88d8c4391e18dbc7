import Type, { type Static } from 'typebox';
import { defaulting, nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';
import { order } from '../orders/schemas.ts';
import { prorations } from './plan-change.ts';
import { quantity, subscription, upcomingBill } from './schemas.ts';

/** The shapes of changes of plan. */

export const planChangeRequest = Type.Object(
  {
    plan_id: uuid({ description: 'The plan of the subscription itself, to change only `quantity`.' }),
    quantity: Type.Optional(quantity('Default: the quantity of the subscription.')),
    when: choice(['now', 'renewal'], {
      title: 'PlanChangeTime',
      description: '`renewal` is the next cycle, which is charged in full.',
    }),
    proration: Type.Optional(
      choice(prorations, {
        title: 'Proration',
        description:
          'Only with `when: now`. `difference` keeps the dates and charges the difference for the rest of the period. `restart` begins ' +
          'a new period now and credits the unused time. `none` charges nothing until the next renewal. Default: `difference`.',
      }),
    ),
    at: Type.Optional(
      timestamp({ description: 'The `at` of a preview, at most ten minutes old, so that the amounts are the same.' }),
    ),
    expected_amount: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.orderTotalCentsMax,
        description: 'The `amount_due` of a preview. Another amount is refused.',
      }),
    ),
  },
  { additionalProperties: false, title: 'PlanChangeRequest' },
);
export type PlanChangeRequest = Static<typeof planChangeRequest>;

/** A change that the customer may have made on a page. */
export type ShownPlanChange = PlanChangeRequest & { readonly byCustomer?: boolean };

const line = Type.Object(
  {
    type: choice(['charge', 'discount', 'credit'], { title: 'PlanChangeLineType' }),
    description: Type.String(),
    amount: Type.Integer({ description: 'Negative for a discount or a credit.' }),
  },
  { title: 'PlanChangeLine' },
);

const amounts = {
  lines: Type.Array(line),
  amount_due: Type.Integer({ description: 'Amount charged to the card now.' }),
  credit_applied: Type.Integer({ description: 'What the credit of the customer pays now.' }),
  credit_amount: Type.Integer({
    description: 'What is credited beyond what is charged. The change adds it to the credit of the customer.',
  }),
};
const someLines = [
  { type: 'charge', description: 'Large', amount: 1500 },
  { type: 'credit', description: 'Unused time of Small', amount: -500 },
];

export const planChangePreview = Type.Object(
  {
    at: timestamp({ description: 'The time that the amounts are for. Send it with the change.' }),
    ...amounts,
    currency: Type.String(),
    coupon: nullable(
      Type.Object(
        {
          id: uuid(),
          code: Type.String(),
          continues: Type.Boolean({ description: 'Whether it is for the new plan too.' }),
        },
        { title: 'PlanChangeCoupon' },
      ),
    ),
    renewals: Type.Array(upcomingBill, { description: 'The next three renewals after the change.' }),
  },
  {
    title: 'PlanChangePreview',
    examples: [
      {
        at: '2026-02-26T09:35:00.000Z',
        lines: someLines,
        amount_due: 1000,
        credit_applied: 0,
        credit_amount: 0,
        currency: 'usd',
        coupon: null,
        renewals: [
          {
            cycle: 2,
            date: '2026-03-11T09:35:00.000Z',
            amount: 3000,
            discount_amount: 0,
            total: 3000,
            currency: 'usd',
          },
        ],
      },
    ],
  },
);
export type PlanChangePreview = Static<typeof planChangePreview>;

export const planChange = Type.Object(
  {
    status: choice(['applied', 'scheduled', 'declined', 'superseded'], {
      title: 'PlanChangeStatus',
      description:
        'After `declined`, the plan is as before, and retrying the order completes the change. `superseded`: the subscription was ' +
        'canceled while the card was charged; the charge stands.',
    }),
    at: nullable(timestamp({ description: 'The time that the amounts are for; null for a scheduled change.' })),
    ...amounts,
    order: nullable(order),
    subscription,
  },
  {
    title: 'PlanChange',
    examples: [
      {
        status: 'applied',
        at: '2026-02-26T09:35:00.000Z',
        lines: someLines,
        amount_due: 1000,
        credit_applied: 0,
        credit_amount: 0,
        order: (order as { examples?: unknown[] }).examples?.[0],
        subscription: (subscription as { examples?: unknown[] }).examples?.[0],
      },
    ],
  },
);
export type PlanChange = Static<typeof planChange>;

export const renewalItemCreate = Type.Object(
  { product_id: uuid(), quantity: defaulting(quantity('Number of units.'), 1) },
  { additionalProperties: false, title: 'RenewalItemCreate' },
);
export type RenewalItemCreate = Static<typeof renewalItemCreate>;
