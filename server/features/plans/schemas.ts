import Type, { type Static } from 'typebox';
import { clearable, defaulting, freeText, name, nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';

export const billingInterval = choice(['day', 'month'], { title: 'BillingInterval' });

export const anchorDay = Type.Union([Type.Integer({ minimum: 1, maximum: 31 }), Type.Literal('signup_date')], {
  title: 'AnchorDay',
  description:
    'The day of the month of renewals; in a shorter month, its last day. The first renewal is on the anchor date ' +
    'nearest to the start plus one interval. Ignored for intervals in days.',
});

export const billingCycle = Type.Object(
  {
    interval: billingInterval,
    interval_count: Type.Integer({ minimum: 1, maximum: limits.intervalDaysMax }),
    anchor_day: anchorDay,
  },
  { title: 'BillingCycle', additionalProperties: false },
);

const cents = Type.Integer({ minimum: 0, maximum: limits.amountCentsMax });
const currency = Type.String({ format: 'currency', examples: ['usd'] });
const tier = Type.Object(
  {
    name: name(),
    amount: cents,
    kind: choice(['recurring', 'one_time'], { title: 'PricingTierKind' }),
  },
  { title: 'PricingTier' },
);

/** For the dashboard and the command line; the API has no call that creates plans. */
export const planCreate = Type.Object(
  {
    name: name(),
    plan_code: Type.Optional(Type.String({ minLength: 1, maxLength: limits.textLength, format: 'sku' })),
    description: Type.Optional(clearable(freeText(limits.descriptionLength))),
    amount: cents,
    one_time_amount: defaulting(cents, 0),
    currency,
    billing_cycle: billingCycle,
    billing_cycles: defaulting(Type.Integer({ minimum: 0, maximum: limits.billingCyclesMax }), 0),
    products: Type.Optional(
      Type.Array(
        Type.Object({
          product_id: uuid(),
          quantity: defaulting(Type.Integer({ minimum: 1, maximum: limits.quantityMax }), 1),
        }),
        { maxItems: limits.orderItems },
      ),
    ),
    pricing_tiers: Type.Optional(Type.Array(tier, { maxItems: 20 })),
  },
  { additionalProperties: false },
);
export type PlanCreate = Static<typeof planCreate>;

export const planUpdate = Type.Object(
  {
    name: Type.Optional(name()),
    description: Type.Optional(clearable(freeText(limits.descriptionLength))),
    active: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
export type PlanUpdate = Static<typeof planUpdate>;

export const plan = Type.Object(
  {
    id: uuid({ description: 'The `plan_id` of subscriptions.' }),
    name: Type.String(),
    plan_code: Type.String({ description: 'A short code. It is not the `plan_id`.' }),
    description: nullable(Type.String()),
    amount: Type.Integer({ description: 'Price of each cycle, in the smallest unit of the currency.' }),
    one_time_amount: Type.Integer({ description: 'Setup fee, charged with the first cycle only.' }),
    currency: Type.String(),
    billing_cycle: billingCycle,
    billing_cycles: Type.Integer({ description: 'Number of cycles. 0 means that the subscription never ends.' }),
    products: Type.Array(
      Type.Object({ product_id: uuid(), name: Type.String(), quantity: Type.Integer() }, { title: 'PlanProduct' }),
    ),
    pricing_tiers: Type.Array(tier, { description: 'The parts of the price.' }),
    active: Type.Boolean({
      description: '`false` means archived: existing subscriptions continue, but new ones are not possible.',
    }),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  {
    title: 'Plan',
    examples: [
      {
        id: '019c4c1e-a000-7b00-8c11-2d3e4f506172',
        name: 'Tea of the month',
        plan_code: 'tea-of-the-month',
        description: null,
        amount: 1900,
        one_time_amount: 0,
        currency: 'usd',
        billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 'signup_date' },
        billing_cycles: 0,
        products: [{ product_id: '019c4c1e-9a10-7d20-a1b2-c3d4e5f60718', name: 'Tea pot', quantity: 1 }],
        pricing_tiers: [{ name: 'Tea of the month', amount: 1900, kind: 'recurring' }],
        active: true,
        created_at: '2026-02-11T09:30:00.000Z',
        updated_at: '2026-02-11T09:30:00.000Z',
      },
    ],
  },
);
export type Plan = Static<typeof plan>;
