import Type, { type Static } from 'typebox';
import {
  clearable,
  defaulting,
  freeText,
  metadata,
  metadataInput,
  metadataPatch,
  nullable,
  timestamp,
  uuid,
} from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { consent } from '../consents/schemas.ts';
import { customer } from '../customers/schemas.ts';
import { couponSnapshot } from '../coupons/schemas.ts';
import { shipping, shippingInput } from '../orders/schemas.ts';
import { paymentMethodSummary } from '../payment-methods/schemas.ts';
import { anchorDay, billingCycle, billingInterval, plan, planCreate } from '../plans/schemas.ts';
import { subscriptionStatuses } from './transitions.ts';
import { choice } from '../../platform/choice.ts';

const date = (description: string) => Type.String({ format: 'date', description, examples: ['2026-03-01'] });

const cadenceParts = {
  interval: Type.Optional(billingInterval),
  interval_count: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.intervalDaysMax,
      description: 'Default: 1 if you change the interval.',
    }),
  ),
};
const cadenceOptions = (title: string, description: string) => ({
  additionalProperties: false,
  title,
  description: `${description} At most ${limits.intervalMonthsMax} months or ${limits.intervalDaysMax} days.`,
});

const cadence = Type.Object(
  { ...cadenceParts, anchor_day: Type.Optional(anchorDay) },
  cadenceOptions(
    'BillingCycleInput',
    'Without `anchor_day` it is `signup_date`; other omitted fields have the value of the plan.',
  ),
);
const cadenceChange = Type.Object(
  { ...cadenceParts, anchor_day: Type.Optional(anchorDay) },
  cadenceOptions('BillingCycleUpdate', 'Omitted fields keep their value.'),
);
export type Cadence = Static<typeof cadence>;

const common = {
  description: Type.Optional(clearable(freeText(limits.descriptionLength))),
  shipping: Type.Optional(clearable(shippingInput)),
  shipping_address_id: Type.Optional(
    uuid({
      description:
        'The `shipping_address.id` of the customer, whose address is copied. If you send `shipping` without it, it is cleared.',
    }),
  ),
};

export const quantity = (description: string) => Type.Integer({ minimum: 1, maximum: limits.quantityMax, description });

export const subscriptionCreate = Type.Object(
  {
    customer_id: uuid(),
    plan_id: uuid(),
    quantity: defaulting(quantity('Seats: the amount of the plan is charged for each.'), 1),
    payment_method_id: Type.Optional(uuid({ description: 'Default: the customer’s default card.' })),
    billing_cycle: Type.Optional(cadence),
    billing_cycles: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.billingCyclesMax,
        description: 'Default: the number of cycles of the plan. 0 means that the subscription never ends.',
      }),
    ),
    start_date: Type.Optional(
      date(
        'Default: today, with the first charge immediately. With a later date, the first charge is at 00:00 UTC of that day.',
      ),
    ),
    end_date: Type.Optional(date('No cycle begins on or after this day.')),
    coupon_code: Type.Optional(Type.String({ minLength: 1, maxLength: limits.textLength })),
    ...common,
    metadata: Type.Optional(metadataInput),
  },
  { additionalProperties: false, title: 'SubscriptionCreate' },
);
export type SubscriptionCreate = Static<typeof subscriptionCreate>;

export const subscriptionUpdate = Type.Object(
  {
    payment_method_id: Type.Optional(uuid()),
    billing_cycle: Type.Optional(cadenceChange),
    ...common,
    metadata: Type.Optional(metadataPatch),
  },
  { additionalProperties: false, title: 'SubscriptionUpdate' },
);
export type SubscriptionUpdate = Static<typeof subscriptionUpdate>;

export const subscriptionStatus = choice(subscriptionStatuses, { title: 'SubscriptionStatus' });

const planSummary = { id: uuid(), name: Type.String(), amount: Type.Integer(), currency: Type.String() };

const scheduledChange = Type.Object(
  {
    plan_id: uuid(),
    plan: Type.Object(planSummary, { title: 'ScheduledPlan' }),
    quantity: Type.Integer(),
    billing_cycle: billingCycle,
    scheduled_at: timestamp(),
  },
  { title: 'ScheduledChange', description: 'The plan from the next renewal on.' },
);

const renewalItem = Type.Object(
  {
    id: uuid(),
    product_id: uuid(),
    quantity: Type.Integer(),
    name: Type.String(),
    sku: Type.String(),
    unit_price: nullable(Type.Integer({ description: 'The price when the product was added.' })),
    total: nullable(Type.Integer()),
  },
  {
    title: 'RenewalItem',
    examples: [
      {
        id: '019c4c21-7000-7e20-8a11-5b6c7d8e9f01',
        product_id: '019c4c1e-9a10-7d20-a1b2-c3d4e5f60718',
        quantity: 2,
        name: 'Tea pot',
        sku: 'tea-pot-6',
        unit_price: 4900,
        total: 9800,
      },
    ],
  },
);

const moment = (description: string) => nullable(timestamp({ description }));

export const subscription = Type.Object(
  {
    id: uuid(),
    status: subscriptionStatus,
    customer_id: uuid(),
    customer: Type.Optional(customer),
    consents: Type.Optional(
      Type.Array(consent, {
        description: 'What the customer agreed to on the checkout page. Only with `expand=consents`.',
      }),
    ),
    plan_id: uuid(),
    plan: Type.Union([
      plan,
      Type.Object(planSummary, {
        title: 'PlanSummary',
        description: 'The plan when it was chosen, with the price of one seat.',
      }),
    ]),
    quantity: Type.Integer({ description: 'Seats. A cycle costs the amount of the plan for each.' }),
    scheduled_change: nullable(scheduledChange),
    renewal_items: Type.Array(renewalItem, { description: 'Products on the order of the next cycle.' }),
    payment_method: paymentMethodSummary,
    coupon: nullable(couponSnapshot),
    description: nullable(Type.String()),
    shipping: nullable(shipping),
    shipping_address_id: nullable(uuid()),
    billing_cycle: billingCycle,
    billing_cycles: Type.Integer({ description: 'Total number of cycles. 0 means that the subscription never ends.' }),
    completed_cycles: Type.Integer({ description: 'Number of paid cycles.' }),
    current_cycle: Type.Integer({ description: 'The latest charged cycle; 0 before the first.' }),
    start_date: date('The day of the first charge.'),
    end_date: nullable(date('No cycle begins on or after this day.')),
    current_period_start: moment('Null before the first charge.'),
    current_period_end: moment('Null before the first charge.'),
    next_billing_at: moment('Time of the next charge; null if there is none.'),
    last_failure_message: nullable(Type.String({ description: 'Why the last charge was declined.' })),
    attempt_count: Type.Integer({ description: 'Number of declined charges of the current cycle.' }),
    next_retry_at: moment('Time of the next retry of a declined charge.'),
    latest_order_id: nullable(uuid()),
    resumes_at: moment('When a paused subscription continues by itself; null if it is paused without an end.'),
    canceled_at: nullable(timestamp()),
    completed_at: nullable(timestamp()),
    livemode: Type.Boolean(),
    metadata,
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  {
    title: 'Subscription',
    examples: [
      {
        id: '019c4c1f-5000-7c00-8d22-3e4f50617283',
        status: 'active',
        customer_id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
        plan_id: '019c4c1e-a000-7b00-8c11-2d3e4f506172',
        plan: {
          id: '019c4c1e-a000-7b00-8c11-2d3e4f506172',
          name: 'Tea of the month',
          amount: 1900,
          currency: 'usd',
        },
        quantity: 1,
        scheduled_change: null,
        renewal_items: [],
        payment_method: { id: '019c4c1e-8000-7c10-9a00-1b2c3d4e5f60', card_last_four: '4242', card_brand: 'visa' },
        coupon: null,
        description: null,
        shipping: null,
        shipping_address_id: null,
        billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 'signup_date' },
        billing_cycles: 0,
        completed_cycles: 1,
        current_cycle: 1,
        start_date: '2026-02-11',
        end_date: null,
        current_period_start: '2026-02-11T09:35:00.000Z',
        current_period_end: '2026-03-11T09:35:00.000Z',
        next_billing_at: '2026-03-11T09:35:00.000Z',
        last_failure_message: null,
        attempt_count: 0,
        next_retry_at: null,
        latest_order_id: '019c4c1f-5001-7d00-9e33-4f5061728394',
        resumes_at: null,
        canceled_at: null,
        completed_at: null,
        livemode: false,
        metadata: {},
        created_at: '2026-02-11T09:35:00.000Z',
        updated_at: '2026-02-11T09:35:00.030Z',
      },
    ],
  },
);
export type Subscription = Static<typeof subscription>;

export const canceledSubscription = Type.Object(
  { id: uuid(), status: Type.Literal('canceled'), canceled_at: timestamp() },
  {
    title: 'CanceledSubscription',
    examples: [
      { id: '019c4c1f-5000-7c00-8d22-3e4f50617283', status: 'canceled', canceled_at: '2026-03-20T10:00:00.000Z' },
    ],
  },
);
export type CanceledSubscription = Static<typeof canceledSubscription>;

export const upcomingBill = Type.Object(
  {
    cycle: Type.Integer(),
    date: timestamp({ description: 'Time of the charge.' }),
    amount: Type.Integer({ description: 'Amount before the discount.' }),
    discount_amount: Type.Integer(),
    total: Type.Integer({ description: 'Amount that will be charged.' }),
    currency: Type.String(),
  },
  { title: 'UpcomingBill' },
);

export const upcomingBills = Type.Object(
  {
    data: Type.Array(upcomingBill),
  },
  {
    title: 'UpcomingBills',
    examples: [
      {
        data: [
          {
            cycle: 2,
            date: '2026-03-11T09:35:00.000Z',
            amount: 1900,
            discount_amount: 0,
            total: 1900,
            currency: 'usd',
          },
        ],
      },
    ],
  },
);
export type UpcomingBills = Static<typeof upcomingBills>;

/** Used only by the dashboard, like the rest of this file. */
export const billPreviewRequest = Type.Object(
  {
    billing_cycle: planCreate.properties.billing_cycle,
    billing_cycles: planCreate.properties.billing_cycles,
    amount: planCreate.properties.amount,
    one_time_amount: planCreate.properties.one_time_amount,
    start_date: Type.Optional(Type.String({ format: 'date' })),
  },
  { additionalProperties: false },
);
export const billPreview = Type.Object({
  data: Type.Array(Type.Object({ cycle: Type.Integer(), at: timestamp(), amount: Type.Integer() })),
});
export type BillPreview = Static<typeof billPreview>;

/** For the dashboard: what happens at the end of the paid period, and after a decline. */
export const renewal = Type.Object({
  ends_at: nullable(timestamp()),
  can_end: Type.Boolean(),
  can_keep: Type.Boolean(),
  dunning: nullable(
    Type.Object({
      declined_at: timestamp(),
      reason: nullable(Type.String()),
      attempts: Type.Integer(),
      attempts_max: Type.Integer(),
      /** Null if the decline is final for this card. */
      next_retry_at: nullable(timestamp()),
      ends_at: nullable(timestamp()),
      afterwards: choice(['failed', 'canceled']),
    }),
  ),
});
export type Renewal = Static<typeof renewal>;
